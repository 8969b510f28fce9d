"""Bulk loading on a real server: transactions, batches, names, and bad rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from knowtrail.graph.errors import InputError
from knowtrail.graph.py2neo import ClientError, Graph, Node, Relationship
from knowtrail.graph.py2neo import bulk as bulk_module
from knowtrail.graph.py2neo.bulk import (
    create_nodes,
    create_relationships,
    merge_nodes,
    merge_relationships,
)
from tests.tiers import amount

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.integration

HOSTILE = st.lists(
    st.sampled_from([
        "`",
        "\\u0060",
        "\\",
        "}) DETACH DELETE n //",
        "'",
        "😀",
        " ",
        "a",
    ]),
    min_size=1,
    max_size=4,
).map("".join)
BY_NAME = {"start_node_key": ("P", "name"), "end_node_key": ("P", "name")}


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a statement take two rows."""
    monkeypatch.setattr(bulk_module, "BATCH", 2)


@pytest.fixture
def pair(graph: Graph) -> tuple[Node, Node]:
    """Return two stored nodes."""
    a, b = Node("P", name="a"), Node("P", name="b")
    graph.create(a | b)
    return a, b


@examples(
    max_examples=amount(4, 15),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(label=HOSTILE, key=HOSTILE, other=HOSTILE, value=HOSTILE, kind=HOSTILE)
def test_hostile_names_are_only_names(
    graph: Graph, label: str, key: str, other: str, value: str, kind: str
) -> None:
    """Labels, types, keys and values stay what they are, however they are given."""
    graph.delete_all()
    graph.create(Node("Bystander"))
    row = {key: value, other: value}

    create_nodes(graph.auto(), [row], labels=[label, "Both"])
    merge_nodes(graph.auto(), [row], (("Both", label), key), preserve=[other])
    merge_nodes(graph.auto(), [list(row.values())], ("Both", key), keys=list(row))
    create_relationships(
        graph.auto(), [(value, row, value)], kind, (label, key), ("Both", key)
    )
    merge_relationships(
        graph.auto(),
        [(value, row, value)],
        (kind, key),
        (label, key),
        ("Both", key),
        preserve=[other],
    )

    (node,) = graph.nodes.match(label, "Both")
    (edge,) = graph.relationships.match()
    assert dict(node) == row
    assert dict(edge) == row
    assert type(edge).__name__ == kind
    assert len(graph.nodes) == 2


def test_transaction_takes_batches(graph: Graph, small_batches: None) -> None:
    """All batches of a transaction take effect together, or not at all."""
    rows = [[i] for i in range(5)]
    with graph.begin() as tx:
        create_nodes(tx, rows, labels="P", keys=["i"])
    tx = graph.begin()
    create_nodes(tx, rows, labels="P", keys=["i"])
    tx.rollback()

    assert graph.nodes.match("P").count() == 5


def test_auto_takes_all_in_one_statement(graph: Graph, small_batches: None) -> None:
    """A transaction of one statement gets one, however many rows there are."""
    tx = graph.auto()

    create_nodes(tx, ({"i": i} for i in range(5)), labels=["P"])

    assert tx.finished()
    assert graph.nodes.match("P").count() == 5


def test_graph_commits_each_batch(graph: Graph, small_batches: None) -> None:
    """What came before a bad row stays, and a generator is read as it goes."""

    def rows() -> Iterator[list[int]]:
        yield from ([i] for i in range(3))
        yield [3, 4]

    with pytest.raises(InputError, match="Row 4 has 2 values for 1 keys"):
        create_nodes(graph, rows(), labels=["P"], keys=["i"])

    assert graph.nodes.match("P").count() == 2


def test_nothing_to_load(graph: Graph) -> None:
    """No rows are no error, in any transaction."""
    with graph.begin() as tx:
        create_nodes(tx, [])
        merge_nodes(tx, [], ("P", "name"))
    create_relationships(graph.auto(), [], "KNOWS")
    merge_relationships(graph, iter([]), "KNOWS")

    assert len(graph.nodes) == 0


def test_null_is_no_property(graph: Graph) -> None:
    """None in a row sets nothing, and takes away in a merge."""
    create_nodes(graph.auto(), [["a", None]], labels=["P"], keys=["name", "age"])
    merge_nodes(graph.auto(), [{"name": "b", "age": 1}], ("P", "name"))
    merge_nodes(graph.auto(), [{"name": "b", "age": None}], ("P", "name"))

    assert [dict(n) for n in graph.nodes.match("P").order_by("_.name")] == [
        {"name": "a"},
        {"name": "b"},
    ]


@pytest.mark.parametrize("as_lists", [False, True])
def test_preserved_properties_of_nodes_stay(graph: Graph, as_lists: bool) -> None:
    """They are set in new nodes, and left alone in those that are there."""
    graph.create(Node("P", name="a", age=1, town="x", other=True))
    rows: list[Any] = [
        {"name": "a", "age": 2, "town": "y"},
        {"name": "b", "age": 3, "town": "z"},
    ]
    keys = ["name", "age", "town"] if as_lists else None
    given_rows = [list(row.values()) for row in rows] if as_lists else rows

    merge_nodes(graph.auto(), given_rows, ("P", "name"), keys=keys, preserve=["age"])

    assert [dict(n) for n in graph.nodes.match("P").order_by("_.name")] == [
        {"name": "a", "age": 1, "town": "y", "other": True},
        {"name": "b", "age": 3, "town": "z"},
    ]


@pytest.mark.parametrize("as_lists", [False, True])
def test_preserved_properties_of_relationships_stay(
    graph: Graph, pair: tuple[Node, Node], as_lists: bool
) -> None:
    """The same for relationships."""
    a, b = pair
    graph.create(Relationship(a, "KNOWS", b, since=1, weight=1))
    detail: Any = [2, 2] if as_lists else {"since": 2, "weight": 2}
    keys = ["since", "weight"] if as_lists else None

    merge_relationships(
        graph.auto(),
        [("a", detail, "b"), ("b", detail, "a")],
        "KNOWS",
        keys=keys,
        preserve="since",
        **BY_NAME,
    )

    found = {edge.start_node["name"]: dict(edge) for edge in graph.match()}
    assert found == {"a": {"since": 1, "weight": 2}, "b": {"since": 2, "weight": 2}}


def test_nodes_themselves_can_be_ends(graph: Graph, pair: tuple[Node, Node]) -> None:
    """Stored nodes, their identities and the numbers of `id()` are understood."""
    a, b = pair
    numbers = [row[0] for row in graph.run("MATCH (n) RETURN id(n) ORDER BY n.name")]

    create_relationships(graph.auto(), [(a, {}, b)], "KNOWS")
    create_relationships(graph.auto(), [(a.identity, None, b.identity)], "KNOWS")
    create_relationships(graph.auto(), [(numbers[0], {}, numbers[1])], "KNOWS")

    assert graph.match((a, b), "KNOWS").count() == 3


def test_ends_that_are_not_there_make_nothing(
    graph: Graph, pair: tuple[Node, Node]
) -> None:
    """A row without both nodes is passed over."""
    rows: list[Any] = [("a", {}, "b"), ("a", {}, "nobody")]

    create_relationships(graph.auto(), rows, "KNOWS", **BY_NAME)

    assert len(graph.relationships) == 1


def test_class_of_relationships_is_a_type(
    graph: Graph, pair: tuple[Node, Node]
) -> None:
    """`Relationship.type` gives what can be created."""
    kind = Relationship.type("LIKES")

    create_relationships(graph.auto(), [("a", {}, "b")], kind, **BY_NAME)
    merge_relationships(graph.auto(), [("a", {}, "b")], (kind,), **BY_NAME)

    assert graph.match(None, kind).count() == 1


def test_broken_constraints_are_the_servers_to_tell(graph: Graph) -> None:
    """What the server refuses is a ClientError, and nothing is stored."""
    graph.schema.create_uniqueness_constraint("Unique", "k")
    try:
        with pytest.raises(ClientError, match="ConstraintValidationFailed"):
            create_nodes(graph.auto(), [[1], [1]], labels=["Unique"], keys=["k"])
        with pytest.raises(ClientError):
            create_nodes(graph.auto(), [[{"a": 1}]], labels=["Unique"], keys=["k"])
    finally:
        graph.schema.drop_uniqueness_constraint("Unique", "k")

    assert len(graph.nodes) == 0


CREATE: tuple[Any, ...] = ("a", {}, "b")


WRONG: list[tuple[Callable[[Any], None], type[Exception], str]] = [
    (lambda tx: create_nodes(tx, [["a"]]), TypeError, "Row 1 is no dictionary"),
    (lambda tx: create_nodes(tx, ["a"], keys=["k"]), TypeError, "no list"),
    (lambda tx: create_nodes(tx, [[1]], keys="k"), ValueError, "one text"),
    (lambda tx: create_nodes(tx, [[1, 1]], keys=["k", "k"]), ValueError, "twice"),
    (lambda tx: create_nodes(tx, [[1]], keys=[""]), ValueError, "be a name"),
    (lambda tx: create_nodes(tx, [{}], labels=[""]), ValueError, "be a name"),
    (lambda tx: create_nodes(tx, [{}], labels=[None]), TypeError, "is text"),  # type: ignore[list-item]
    (lambda tx: merge_nodes(tx, [{}], "P"), ValueError, "label and keys"),
    (lambda tx: merge_nodes(tx, [{}], ("P",)), ValueError, "label and keys"),
    (lambda tx: merge_nodes(tx, [{}], ("P", "")), ValueError, "be a name"),
    (lambda tx: merge_nodes(tx, [{}], ("P", "k")), ValueError, "no value for 'k'"),
    (
        lambda tx: merge_nodes(tx, [[None]], ("P", "k"), keys=["k"]),
        ValueError,
        "no value for 'k'",
    ),
    (
        lambda tx: merge_nodes(tx, [[1]], ("P", "k"), keys=["a"]),
        ValueError,
        "not among the keys",
    ),
    (lambda tx: create_relationships(tx, [(1, 2)], "T"), ValueError, "no triple"),
    (
        lambda tx: create_relationships(tx, [CREATE], ["T"]),
        TypeError,
        "not one type",
    ),
    (lambda tx: create_relationships(tx, [CREATE], ""), ValueError, "be a name"),
    (
        lambda tx: create_relationships(tx, [(1, {}, None)], "T"),
        TypeError,
        "no identity",
    ),
    (
        lambda tx: create_relationships(tx, [(1, {}, 1), ("a", {}, 1)], "T"),
        TypeError,
        "all of them alike",
    ),
    (
        lambda tx: create_relationships(tx, [(Node("P"), {}, Node("P"))], "T"),
        ValueError,
        "not stored",
    ),
    (
        lambda tx: create_relationships(tx, [CREATE], "T", ("P", "a", "b")),
        ValueError,
        "a value for each",
    ),
    (lambda tx: merge_relationships(tx, [CREATE], ()), ValueError, "merge by"),
    (
        lambda tx: merge_relationships(tx, [CREATE], ("T", "k"), **BY_NAME),
        ValueError,
        "no value for 'k'",
    ),
]


def test_bad_rows_are_told_before_they_are_sent(graph: Graph) -> None:
    """The message has the row and what to give."""
    for wrong, kind, message in WRONG:
        with graph.begin() as tx, pytest.raises(kind, match=message) as caught:
            wrong(tx)
        assert isinstance(caught.value, InputError)
    assert len(graph.nodes) == 0

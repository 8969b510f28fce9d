"""Matching on a real server: meaning, hostile names and values, and the plan."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from knowtrail.graph.errors import InputError
from knowtrail.graph.py2neo import (
    ClientError,
    Graph,
    Node,
    NodeMatch,
    Relationship,
    RelationshipMatch,
)
from knowtrail.graph.py2neo.matching import (
    AND,
    CONTAINS,
    EQ,
    GT,
    IN,
    IS_NOT_NULL,
    IS_NULL,
    LIKE,
    OR,
    STARTS_WITH,
    XOR,
)
from tests.tiers import amount

pytestmark = pytest.mark.integration

FRAGMENTS = (
    "`",
    "\\u0060",
    "\\",
    "``) DETACH DELETE _ //",
    "' OR true //",
    "*/ MATCH (x) DELETE x /*",
    "$p0",
    "_.name",
    "😀",
    " ",
    "\n",
    "a",
    "1",
    ")",
    "]->(b) DETACH DELETE b //",
    "{",
    "\\u005C",
    "\\u000A",
)
HOSTILE = st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=4).map("".join)
VALUES = st.one_of(
    HOSTILE,
    st.integers(-(2**63), 2**63 - 1),
    st.booleans(),
    st.floats(allow_nan=False),
    st.lists(HOSTILE, max_size=2),
)
ONE_GRAPH = examples(
    max_examples=amount(6, 25),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@ONE_GRAPH
@given(label=HOSTILE, key=HOSTILE, value=VALUES, other=HOSTILE)
def test_hostile_names_and_values_match_what_they_name(
    graph: Graph, label: str, key: str, value: Any, other: str
) -> None:
    """Whatever stands in a label, key or value, only such a node is found."""
    graph.delete_all()
    wanted = Node(label, "Both", **{key: value})
    graph.create(wanted | Node("Both", other=other) | Node("Bystander"))

    assert graph.nodes.match(label, "Both", **{key: value}).all() == [wanted]
    assert graph.nodes.match("Both").where(**{key: IN([value])}).count() == 1
    assert graph.nodes.match("Both", **{key: IS_NULL()}).count() == 1
    assert len(graph.nodes) == 3


@ONE_GRAPH
@given(name=HOSTILE, key=HOSTILE, value=HOSTILE)
def test_hostile_types_match_what_they_name(
    graph: Graph, name: str, key: str, value: str
) -> None:
    """The same for relationships, by type, class and ends."""
    graph.delete_all()
    a, b = Node("A"), Node("B")
    edge = Relationship(a, name, b, **{key: value})
    graph.create(edge | Relationship(b, "OTHER_TYPE", a))

    assert graph.relationships.match((a, b), name, **{key: value}).all() == [edge]
    assert graph.match({a, b}, type(edge)).count() == 1
    assert graph.match(None, [name, "OTHER_TYPE"]).count() == 2
    assert len(graph.nodes) == 2


PREDICATES = st.recursive(
    st.one_of(
        st.builds(EQ, VALUES),
        st.builds(GT, VALUES),
        st.builds(STARTS_WITH, HOSTILE),
        st.builds(CONTAINS, HOSTILE),
        st.builds(IN, st.lists(VALUES, max_size=3)),
        st.builds(IS_NULL),
        st.builds(IS_NOT_NULL),
    ),
    lambda inner: st.lists(inner, min_size=1, max_size=3).flatmap(
        lambda parts: st.sampled_from([AND, OR, XOR]).map(lambda join: join(*parts))
    ),
    max_leaves=5,
)
PROPERTIES = st.dictionaries(HOSTILE, PREDICATES, max_size=3)
TEXTS = st.lists(
    st.sampled_from([
        "_.a > 1 OR true",
        "true // nothing",
        ("_.b = $mine", {"mine": 1}),
    ]),
    max_size=2,
)
ORDERS = st.lists(st.sampled_from(["_.a", "_.b DESC", "_.c // last"]), max_size=2)
AMOUNTS = st.one_of(st.none(), st.integers(0, 9))


@ONE_GRAPH
@given(
    labels=st.lists(HOSTILE, max_size=3),
    types=st.lists(HOSTILE, max_size=3),
    properties=PROPERTIES,
    texts=TEXTS,
    order=ORDERS,
    skip=AMOUNTS,
    limit=AMOUNTS,
)
def test_every_statement_is_planned_and_reads_only(
    graph: Graph,
    labels: list[str],
    types: list[str],
    properties: dict[str, Any],
    texts: list[Any],
    order: list[str],
    skip: int | None,
    limit: int | None,
) -> None:
    """The server plans what is generated, as one statement that only reads."""
    matches: list[Any] = [
        graph.nodes.match(*labels, **properties),
        graph.relationships.match(None, types).where(**properties),
    ]
    kinds = set()
    for match in matches:
        refined = match.where(*texts).order_by(*order).skip(skip).limit(limit)
        text, parameters = refined._statement()
        summary = graph.run(f"EXPLAIN {text}", parameters).summary()
        assert summary is not None
        kinds.add(summary.query_type)

    assert kinds == {"r"}


def test_texts_stand_in_parentheses(films: Graph) -> None:
    """An OR inside one text does not loosen another, nor does a comment end it."""
    match = films.nodes.match("Person")

    narrowed = match.where("_.born = 1964 OR _.born = 1967 // years", "_.born < 1966")

    assert [node["name"] for node in narrowed] == ["Keanu Reeves"]


def test_text_with_parameters(films: Graph) -> None:
    """A tuple brings the values of its text."""
    match = films.nodes.match("Person", name=STARTS_WITH("H"))

    narrowed = match.where(("_.born > $p0", {"p0": 1962}))

    assert sorted(n["name"] for n in narrowed) == ["Halle Berry", "Helen Hunt"]


def test_conditions_add_up(films: Graph) -> None:
    """A second equality does not replace the first, as it did in py2neo."""
    match = films.nodes.match("Person").where(name="Keanu Reeves")

    assert match.count() == 1
    assert match.where(name="Tom Cruise").count() == 0


def test_refining_leaves_a_match_as_it_was(films: Graph) -> None:
    """A match is immutable, and asks the server anew each time."""
    match = films.nodes.match("Person")
    match.where(born=1964).order_by("_.name").skip(1).limit(1)
    before = match.count()

    films.create(Node("Person", name="New"))

    assert (before, match.count()) == (18, 19)


def test_skip_and_limit_count(films: Graph) -> None:
    """`count`, `len`, `exists` and iteration speak of the same members."""
    match = films.nodes.match("Person").order_by("_.name").skip(16).limit(5)

    assert match.count() == len(match) == len(match.all()) == 2
    assert match.exists()
    assert not match.skip(18).exists()
    assert not match.limit(0)
    assert match.limit(0).first() is None
    assert films.nodes.match("Person").limit(None).count() == 18


def test_first_is_the_first_in_order(films: Graph) -> None:
    """`first` keeps order and skip."""
    first = films.nodes.match("Person").order_by("_.born", "_.name").skip(1).first()

    assert first is not None
    assert first["name"] == "Howard Deutch"


def test_none_tuple_and_list_as_values(graph: Graph) -> None:
    """None is no value, a tuple one of its members, a list itself."""
    graph.run("UNWIND [1, 2, [1, 2], null] AS v CREATE (:V {v: v})")

    assert graph.nodes.match("V", v=None).count() == 1
    assert graph.nodes.match("V", v=(1, 2)).count() == 2
    assert graph.nodes.match("V", v={1}).count() == 1
    assert graph.nodes.match("V", v=[1, 2]).count() == 1


def test_pattern_with_flags(films: Graph) -> None:
    """The flags of a compiled pattern hold on the server."""
    import re

    match = films.nodes.match(name=LIKE(re.compile("keanu r.*", re.IGNORECASE)))

    assert match.count() == 1


def test_nodes_with_no_label_and_many(graph: Graph) -> None:
    """No label matches every node, several all of them."""
    graph.run("CREATE (), (:A), (:A:B)")

    assert graph.nodes.match().count() == 3
    assert graph.nodes.match("A", "B").count() == 1
    assert graph.nodes.match("Unknown").first() is None


def test_ends_of_matched_relationships_are_whole(films: Graph) -> None:
    """The nodes at the ends come along, without another question."""
    edge = films.match(None, "KNOWS").order_by("_.since").first()

    assert edge is not None
    assert not edge.start_node._stale
    assert [node["name"] for node in edge.nodes] == ["Keanu Reeves", "Carrie-Anne Moss"]


def test_a_loop_is_one_relationship(graph: Graph) -> None:
    """In either direction a loop counts once."""
    a = Node("A")
    graph.create(Relationship(a, "SELF", a))

    assert graph.match({a}).count() == 1
    assert graph.match((a, a)).count() == 1
    assert graph.match(set()).count() == 1


def test_identities_of_all(films: Graph) -> None:
    """Iteration of a matcher yields identities, which it then has."""
    edges = films.relationships

    identities = list(edges)

    assert len(identities) == len(edges) == len(set(identities)) == 8
    assert all(identity in edges for identity in identities)
    assert edges[identities[0]].identity == identities[0]
    assert "5:nothing:1" not in edges


def test_numbers_of_old_scripts_are_looked_up(films: Graph) -> None:
    """A whole number is one of the server's `id()`."""
    number = films.evaluate("MATCH (n {name: 'Tom Cruise'}) RETURN id(n)")

    found = films.nodes.get(number)

    assert found is not None
    assert found["name"] == "Tom Cruise"


def test_classes_take_all_at_once(films: Graph) -> None:
    """A match can be made without a matcher."""
    match = NodeMatch(films, {"Person"}, ["_.born < 1960"], ["_.born"], 1, 2)

    assert [node["born"] for node in match] == [1950, 1957]
    assert RelationshipMatch(films, None, "KNOWS", ["_.since > 2000"]).count() == 1
    assert "MATCH (_:Person)" in repr(match)


def _node_elsewhere(graph: Graph) -> Node:
    """Return a node that is stored nowhere."""
    return Node("Person")


WRONG: list[tuple[Any, type[Exception], str]] = [
    (lambda g: g.nodes.match(""), ValueError, "cannot be a name"),
    (lambda g: g.nodes.match(None), TypeError, "is text"),
    (lambda g: g.nodes.match(**{"": 1}), ValueError, "cannot be a name"),
    (lambda g: g.nodes.match().where(""), ValueError, "empty"),
    (lambda g: g.nodes.match().where(1), TypeError, "is no Cypher"),
    (lambda g: g.nodes.match().order_by(""), ValueError, "order by"),
    (lambda g: g.nodes.match().limit(-1), ValueError, "0 or more"),
    (lambda g: g.nodes.match().skip("1"), TypeError, "whole number"),
    (lambda g: g.nodes.match().limit(True), TypeError, "whole number"),
    (lambda g: g.nodes.get(None), TypeError, "no identity"),
    (lambda g: g.match(Node("A")), ValueError, "no sequence or set"),
    (lambda g: g.match("ab"), ValueError, "no sequence or set"),
    (lambda g: g.match(("x",)), TypeError, "joins nodes"),
    (lambda g: g.match((_node_elsewhere(g),)), ValueError, "not of this graph"),
    (lambda g: g.match((None, None, None)), ValueError, "two ends"),
    (lambda g: g.match(None, ""), ValueError, "cannot be a name"),
    (lambda g: g.match(None, 1), TypeError, "is text"),
]


def test_bad_input_is_told_before_the_server_is_asked(session_graph: Graph) -> None:
    """py2neo's kinds of errors, ours besides, with what to do."""
    for wrong, kind, message in WRONG:
        with pytest.raises(kind, match=message) as caught:
            wrong(session_graph)
        assert isinstance(caught.value, InputError)


def test_parameters_of_one_name_have_one_value(session_graph: Graph) -> None:
    """Two texts that give a parameter another value each cannot be joined."""
    match = session_graph.nodes.match()

    with pytest.raises(InputError, match="different values"):
        match.where(("_.a=$x", {"x": 1}), ("_.b=$x", {"x": 2})).all()


def test_wrong_cypher_is_the_servers_to_tell(session_graph: Graph) -> None:
    """What the programmer wrote is passed on as it is."""
    with pytest.raises(ClientError, match="SyntaxError"):
        session_graph.nodes.match().where("this is no Cypher").all()

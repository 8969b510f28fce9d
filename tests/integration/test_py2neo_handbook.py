"""Examples of py2neo's handbook on matching, Cypher and bulk loading, as they stand.

Only the import differs; where the handbook shows numbers as identities, the tests take
them from the nodes.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.graph.py2neo import Graph, Node, NodeMatcher, RelationshipMatcher
from knowtrail.graph.py2neo.bulk import (
    create_nodes,
    create_relationships,
    merge_nodes,
    merge_relationships,
)
from knowtrail.graph.py2neo.cypher import cypher_escape, cypher_join
from knowtrail.graph.py2neo.matching import (
    AND,
    CONTAINS,
    ENDS_WITH,
    GE,
    IN,
    LE,
    LIKE,
    OR,
    STARTS_WITH,
    XOR,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

pytestmark = pytest.mark.integration


FOUR_PEOPLE = """
MATCH (a:Person) RETURN a.name AS name, a.born AS born ORDER BY name LIMIT 4
"""
FIRST = {"name": "Andy Wachowski", "born": 1967}
SHOWN = " Andy Wachowski   | 1967 "


def _names(nodes: Iterable[Any]) -> list[str]:
    """Return the names of nodes in alphabetical order."""
    return sorted(node["name"] for node in nodes)


def test_simple_equality_match(films: Graph) -> None:
    """The first example: by label and property."""
    nodes = NodeMatcher(films)

    keanu = nodes.match("Person", name="Keanu Reeves").first()

    assert repr(keanu) == "Node('Person', born=1964, name='Keanu Reeves')"


def test_matcher_gets_by_identity(films: Graph) -> None:
    """`get` gives None and brackets raise KeyError for what is not there."""
    nodes = NodeMatcher(films)
    keanu = nodes.match("Person", name="Keanu Reeves").first()
    assert keanu is not None
    identity = keanu.identity
    assert identity is not None

    assert nodes.get(identity) == nodes[identity] == keanu
    assert identity in nodes
    assert nodes.get(1_234_567) is None
    with pytest.raises(KeyError):
        nodes[1_234_567]
    assert len(nodes) == len(list(nodes)) == 19


def test_match_where_a_text(films: Graph) -> None:
    """`_` stands for the node in a condition."""
    match = films.nodes.match("Person")

    assert _names(match.where("_.name =~ 'J.*'")) == ["J.T. Walsh"]
    assert _names(match.where(born=1943)) == ["J.T. Walsh"]


def test_match_in_order(films: Graph) -> None:
    """`_` stands for the node in what is ordered by, several fields count."""
    match = films.nodes.match("Person").where("_.name =~ 'K.*'")

    ordered = match.order_by("_.born DESC", "_.name").limit(3)

    assert [node["name"] for node in ordered] == [
        "Kiefer Sutherland",
        "Keanu Reeves",
        "Kelly Preston",
    ]


@pytest.mark.parametrize(
    ("predicates", "names"),
    [
        ({"name": STARTS_WITH("Kevin")}, ["Kevin Bacon", "Kevin Pollak"]),
        ({"name": ENDS_WITH("Wachowski")}, ["Andy Wachowski", "Lana Wachowski"]),
        ({"name": CONTAINS("eve")}, ["Keanu Reeves", "Steve Zahn"]),
        ({"name": LIKE("Ke.*n")}, ["Kelly Preston", "Kevin Bacon"]),
        (
            {"born": IN([1962, 1964])},
            ["Keanu Reeves", "Kelly Preston", "Rosie O'Donnell", "Tom Cruise"],
        ),
        (
            {"born": AND(GE(1964), LE(1966))},
            ["Halle Berry", "Keanu Reeves", "Kiefer Sutherland", "Lana Wachowski"],
        ),
        (
            {"name": OR(STARTS_WITH("H"), ENDS_WITH("h"))},
            [
                "Emile Hirsch",
                "Halle Berry",
                "Helen Hunt",
                "Howard Deutch",
                "Hugo Weaving",
                "J.T. Walsh",
            ],
        ),
        (
            {"name": XOR(STARTS_WITH("H"), ENDS_WITH("h"))},
            ["Emile Hirsch", "Halle Berry", "Helen Hunt", "Hugo Weaving", "J.T. Walsh"],
        ),
    ],
)
def test_predicates(films: Graph, predicates: Any, names: list[str]) -> None:
    """The example of each predicate."""
    assert _names(films.nodes.match("Person", **predicates).all()) == names


def test_relationships_by_nodes_and_type(films: Graph) -> None:
    """A sequence gives the direction, a set gives none."""
    relationships = RelationshipMatcher(films)
    keanu = films.nodes.match("Person", name="Keanu Reeves").first()
    carrie = films.nodes.match("Person", name="Carrie-Anne Moss").first()

    assert len(relationships.match((keanu,), "KNOWS")) == 1
    assert len(relationships.match((keanu, carrie))) == 1
    assert len(relationships.match({keanu, carrie}, "KNOWS")) == 2
    assert len(relationships.match({keanu})) == 3
    first = relationships.match((None, keanu), "KNOWS").first()
    assert first is not None
    assert first.start_node == carrie


def test_relationships_where(films: Graph) -> None:
    """Conditions and equalities as for nodes."""
    match = films.relationships.match(r_type="KNOWS")

    assert [edge["weight"] for edge in match.where("_.weight >= 30")] == [40]
    assert match.where(since=1999).count() == 1
    assert [edge["since"] for edge in match.order_by("_.since DESC")] == [2001, 1999]


def test_graph_match_and_match_one(films: Graph) -> None:
    """The graph's own shorthands."""
    keanu = films.nodes.match("Person", name="Keanu Reeves").first()

    assert films.match((keanu,), r_type="ACTED_IN").count() == 1
    one = films.match_one((keanu,), r_type="ACTED_IN")
    assert one is not None
    assert one.end_node["title"] == "The Matrix"


def test_cursor_examples(films: Graph) -> None:
    """A cursor is moved, iterated and asked for a value."""
    found = []
    cursor = films.run(FOUR_PEOPLE)
    while cursor.forward():
        found.append(cursor.current["name"])  # type: ignore[index]

    assert found == [record["name"] for record in films.run(FOUR_PEOPLE)]
    assert next(films.run(FOUR_PEOPLE))["name"] == found[0]
    assert films.run(FOUR_PEOPLE).data()[0] == FIRST
    name = films.run("MATCH (a) WHERE a.born=$x RETURN a.name", x=1943).evaluate()
    assert name == "J.T. Walsh"


def test_statistics_example(graph: Graph) -> None:
    """`stats` says what a statement did."""
    stats = graph.run("CREATE (a:Person) SET a.name = 'Alice'").stats()

    assert {name: count for name, count in stats.items() if count} == {
        "labels_added": 1,
        "nodes_created": 1,
        "properties_set": 1,
        "contained_updates": True,
    }


def test_frame_example(films: Graph) -> None:
    """A result becomes a frame of pandas, or a table."""
    frame = films.run(FOUR_PEOPLE).to_data_frame()

    assert dict(frame.iloc[0]) == FIRST
    assert len(frame) == 4
    assert repr(films.run(FOUR_PEOPLE).to_table()).splitlines()[2] == SHOWN


def test_escaped_label_in_a_statement(graph: Graph) -> None:
    """A label with spaces is found by a statement made with `cypher_escape`."""
    node = Node("Employee of the Month", name="Al")
    graph.create(node)
    text = "MATCH (a:{label}) RETURN elementId(a)".format(
        label=cypher_escape("Employee of the Month")
    )

    assert graph.evaluate(text) == node.identity


def test_joined_clauses_run(films: Graph) -> None:
    """What `cypher_join` gives is what `run` takes."""
    text, parameters = cypher_join(
        "MATCH (a:Person)", ("WHERE a.born = $born", {"born": 1943}), "RETURN a.name"
    )

    assert films.run(text, parameters).evaluate() == "J.T. Walsh"


def test_create_nodes_examples(graph: Graph) -> None:
    """Lists with keys, then dictionaries that differ, then batches of a stream."""
    g = graph
    keys = ["name", "age"]
    data: list[Any] = [["Alice", 33], ["Bob", 44], ["Carol", 55]]
    create_nodes(g.auto(), data, labels={"Person"}, keys=keys)
    assert g.nodes.match("Person").count() == 3

    data = [
        {"name": "Dave", "age": 66},
        {"name": "Eve", "date_of_birth": "1943-10-01"},
        {"name": "Frank"},
    ]
    create_nodes(g.auto(), data, labels={"Person"})
    assert g.nodes.match("Person").count() == 6

    stream = iter(data)
    while batch := list(islice(stream, 2)):
        create_nodes(g.auto(), batch, labels={"Person"})
    assert g.nodes.match("Person").count() == 9


def test_merge_nodes_example(graph: Graph) -> None:
    """Rows of one name are one node, which has what came last."""
    g = graph
    keys = ["name", "age"]
    data = [["Alice", 33], ["Bob", 44], ["Carol", 55], ["Carol", 66], ["Alice", 77]]

    merge_nodes(g.auto(), data, ("Person", "name"), keys=keys)

    assert g.nodes.match("Person").count() == 3
    alice = g.nodes.match("Person", name="Alice").first()
    assert alice is not None
    assert alice["age"] == 77


@pytest.mark.parametrize(
    ("merge_key", "label"),
    [
        (("Person", "name"), {"Person"}),
        (("Person", "name", "family name"), {"Person"}),
        ((("Person", "Female"), "name"), {"Person", "Female"}),
        ((("Person", "Female"), "name", "family name"), {"Person", "Female"}),
    ],
)
def test_merge_keys_of_nodes(graph: Graph, merge_key: Any, label: set[str]) -> None:
    """Each form of the table of merge keys."""
    data = [{"name": "Alice", "family name": "Smith", "n": 1}]

    merge_nodes(graph.auto(), data, merge_key, labels=["Extra"])
    merge_nodes(graph.auto(), data, merge_key, labels=["Extra"])

    (node,) = graph.nodes.match()
    assert set(node.labels) == label | {"Extra"}
    assert dict(node) == data[0]


def _workplaces(g: Graph) -> list[Any]:
    """Store people and companies; return rows that join them."""
    data: list[Any] = [
        (("Alice", "Smith"), {"since": 1999}, "ACME"),
        (("Bob", "Jones"), {"since": 2002}, "Bob Corp"),
        (("Carol", "Singer"), {"since": 1981}, "The Daily Planet"),
    ]
    people = [{"name": row[0][0], "family name": row[0][1]} for row in data]
    create_nodes(g, people, labels=["Person"])
    create_nodes(g, [[row[2]] for row in data], labels=["Company"], keys=["name"])
    return data


WORK = (
    "MATCH (a:Person)-[r:WORKS_FOR]->(b:Company) "
    "RETURN a.name, r.since, b.name ORDER BY a.name"
)
WORKED = [
    ["Alice", 1999, "ACME"],
    ["Bob", 2002, "Bob Corp"],
    ["Carol", 1981, "The Daily Planet"],
]


def test_create_relationships_by_keys(graph: Graph) -> None:
    """Both ends by the values of their keys."""
    data = _workplaces(graph)

    create_relationships(
        graph.auto(),
        data,
        "WORKS_FOR",
        start_node_key=("Person", "name", "family name"),
        end_node_key=("Company", "name"),
    )

    assert [list(row) for row in graph.run(WORK)] == WORKED


def test_create_relationships_by_identity_and_lists(graph: Graph) -> None:
    """One end by identity, properties as lists with keys."""
    data = _workplaces(graph)
    found = {node["name"]: node.identity for node in graph.nodes.match("Company")}
    rows = [(start, [detail["since"]], found[end]) for start, detail, end in data]

    create_relationships(
        graph.auto(),
        rows,
        "WORKS_FOR",
        start_node_key=("Person", "name", "family name"),
        keys=["since"],
    )

    assert [list(row) for row in graph.run(WORK)] == WORKED


@pytest.mark.parametrize(
    ("merge_key", "count"),
    [
        ("KNOWS", 1),
        (("KNOWS",), 1),
        (("KNOWS", "since"), 2),
        (("KNOWS", "since", "introduced by"), 2),
    ],
)
def test_merge_keys_of_relationships(graph: Graph, merge_key: Any, count: int) -> None:
    """Each form of the table of merge keys."""
    create_nodes(graph.auto(), [["Alice"], ["Bob"]], labels={"Person"}, keys=["name"])
    data = [
        ("Alice", {"since": 1999, "introduced by": "Carol"}, "Bob"),
        ("Alice", {"since": 2001, "introduced by": "Carol"}, "Bob"),
        ("Alice", {"since": 2001, "introduced by": "Carol", "n": 1}, "Bob"),
    ]

    merge_relationships(
        graph.auto(),
        data,
        merge_key,
        start_node_key=("Person", "name"),
        end_node_key=("Person", "name"),
    )

    assert graph.relationships.match(None, "KNOWS").count() == count
    assert graph.relationships.match(None, "KNOWS", n=1, since=2001).count() == 1

"""Examples of py2neo's handbook on graphs, transactions and data, as they stand.

Only the import differs; addresses are those of the test server, and identities are
taken from the entities where the handbook shows numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from knowtrail.graph.py2neo import (
    Graph,
    GraphService,
    Node,
    Path,
    Relationship,
    SystemGraph,
    walk,
)

if TYPE_CHECKING:
    from knowtrail.graph.settings import Settings

pytestmark = pytest.mark.integration


def test_data_introduction(graph: Graph) -> None:
    """Several entities are sent at once as a subgraph."""
    g = graph
    a = Node("Person", name="Alice")
    b = Node("Person", name="Bob")
    c = Node("Person", name="Carol")
    KNOWS = Relationship.type("KNOWS")  # noqa: N806  (as in the handbook)
    ab = KNOWS(a, b)
    ba = KNOWS(b, a)
    ac = KNOWS(a, c)
    ca = KNOWS(c, a)
    bc = KNOWS(b, c)
    cb = KNOWS(c, b)
    friends = ab | ba | ac | ca | bc | cb

    g.create(friends)

    assert a.graph == g
    assert g.exists(friends)
    assert len(g) == 6
    assert friends.nodes == {a, b, c}


def test_transaction_create_example(graph: Graph) -> None:
    """Nodes and relationships are created one after the other, then committed."""
    g = graph
    tx = g.begin()
    a = Node("Person", name="Alice")
    tx.create(a)
    b = Node("Person", name="Bob")
    ab = Relationship(a, "KNOWS", b)
    tx.create(ab)
    tx.commit()

    assert g.exists(ab)


def test_merge_example(graph: Graph) -> None:
    """Two people are merged, then a company that both work for."""
    g = graph
    a = Node("Person", name="Alice", age=33)
    b = Node("Person", name="Bob", age=44)
    KNOWS = Relationship.type("KNOWS")  # noqa: N806  (as in the handbook)
    g.merge(KNOWS(a, b), "Person", "name")
    c = Node("Company", name="ACME")
    c.__primarylabel__ = "Company"
    c.__primarykey__ = "name"
    WORKS_FOR = Relationship.type("WORKS_FOR")  # noqa: N806  (as in the handbook)
    g.merge(WORKS_FOR(a, c) | WORKS_FOR(b, c))

    text = "MATCH (:Person)-[:WORKS_FOR]->(c:Company) RETURN c.name, count(*)"
    assert list(next(g.run(text))) == ["ACME", 2]


def test_relationship_class_example() -> None:
    """A type has a class, and its instances are shown by the names of their nodes."""
    a = Node("Person", name="Alice")
    b = Node("Person", name="Bob")
    WORKS_WITH = Relationship.type("WORKS_WITH")  # noqa: N806  (as in the handbook)
    a_works_with_b = WORKS_WITH(a, b)

    assert str(a_works_with_b) == "(Alice)-[:WORKS_WITH {}]->(Bob)"


def test_path_example() -> None:
    """A path is made of nodes, types, relationships and other paths."""
    alice, bob, carol = Node(name="Alice"), Node(name="Bob"), Node(name="Carol")
    abc = Path(alice, "KNOWS", bob, Relationship(carol, "KNOWS", bob), carol)
    dave, eve = Node(name="Dave"), Node(name="Eve")
    de = Path(dave, "KNOWS", eve)
    abcde = Path(abc, "KNOWS", de)

    assert abc.nodes == (alice, bob, carol)
    assert (len(abc.nodes), len(abc)) == (3, 2)
    assert (len(abcde.nodes), len(abcde)) == (5, 4)
    assert [type(edge).__name__ for edge in abcde.relationships] == ["KNOWS"] * 4


def test_subgraph_example() -> None:
    """Two relationships that share a node are three nodes together."""
    a, b, c = Node(name="Alice"), Node(name="Bob"), Node(name="Carol")
    ab, ac = Relationship(a, "KNOWS", b), Relationship(a, "WORKS_WITH", c)
    s = ab | ac

    assert s.nodes() == frozenset({a, b, c})
    assert s.relationships() == frozenset({ab, ac})


def test_walk_example() -> None:
    """A walk gives nodes and relationships in turn."""
    a, b, c = Node(name="Alice"), Node(name="Bob"), Node(name="Carol")
    ab, ac = Relationship(a, "KNOWS", b), Relationship(a, "WORKS_WITH", c)
    likes = Relationship(b, "LIKES", c)
    w = ab + likes + ac

    assert list(walk(w)) == [a, ab, b, likes, c, ac, a]


def test_path_is_stored(graph: Graph) -> None:
    """A path is created, pulled and found again."""
    path = Path(Node("A", name="a"), "TO", Node("B", name="b"), "TO", Node("C"))
    graph.create(path)
    stored = graph.evaluate("MATCH p = (:A)-[:TO*2]->(:C) RETURN p")

    graph.pull(path)

    assert stored == path
    assert graph.exists(path)


def test_table_example(graph: Graph) -> None:
    """The first example: a table of numbers with their squares."""
    text = "UNWIND range(1, 3) AS n RETURN n, n * n as n_sq"
    table = str(graph.run(text).to_table())

    assert [line.split() for line in table.splitlines() if line.strip()] == [
        ["n", "|", "n_sq"],
        ["---|------"],
        ["1", "|", "1"],
        ["2", "|", "4"],
        ["3", "|", "9"],
    ]


def test_ways_to_name_a_server(graph: Graph, server: Settings) -> None:
    """A URI, a host and port, and a profile come to the same service."""
    profile = graph.service.profile
    graphs = [
        Graph(server.uri, user=server.username, password=server.password),
        Graph(host=profile.host, port=profile.port, auth=profile.auth),
        Graph(profile),
        Graph(profile.uri.replace("bolt", "neo4j"), auth=profile.auth),
    ]
    results = [opened.evaluate("RETURN 1") for opened in graphs]
    for opened in graphs:
        opened.service.close()

    assert results == [1, 1, 1, 1]
    assert graphs[0] == graphs[1] == graphs[2] == graph


def test_service_examples(server: Settings) -> None:
    """A service is opened, shown, and asked for its graphs."""
    gs = GraphService(server.uri, auth=(server.username, server.password))
    with gs:
        default = gs.default_graph
        assert repr(gs) == f"<GraphService uri={gs.uri!r}>"
        assert repr(default) == f"Graph({gs.uri!r})"
        assert repr(gs["neo4j"]) == f"Graph({gs.uri!r}, name='neo4j')"
        assert repr(gs.system_graph) == f"SystemGraph({gs.uri!r})"
        assert isinstance(gs.system_graph, SystemGraph)
        assert "system" in gs.keys()  # noqa: SIM118  (as in the handbook)


def test_call_example(graph: Graph) -> None:
    """A procedure's rows are a cursor, shown as a table."""
    components = graph.call.dbms.components()
    assert components.keys() == ["name", "versions", "edition"]
    assert "Neo4j Kernel" in repr(components)


def test_match_example(graph: Graph) -> None:
    """The friends of one person, by her relationships."""
    alice, bob = Node("Person", name="Alice"), Node("Person", name="Bob")
    graph.create(Relationship(alice, "FRIEND", bob))
    names = [rel.end_node["name"] for rel in graph.match((alice,), r_type="FRIEND")]
    assert names == ["Bob"]
    one = graph.match_one((alice,), "FRIEND")
    assert one is not None
    assert one.end_node == bob


def test_nodes_example(graph: Graph) -> None:
    """Nodes are found by identity and by what they are like, and counted."""
    alice = Node("Person", name="Alice", age=33)
    graph.create(alice | Node("Person", name="Bob", age=33))
    identity = str(alice.identity)
    assert graph.nodes[identity] == alice
    assert graph.nodes.get(identity) == alice
    assert graph.nodes.match("Person", name="Alice").first() == alice
    assert len(graph.nodes) == 2
    assert len(graph.nodes.match("Person", age=33)) == 2

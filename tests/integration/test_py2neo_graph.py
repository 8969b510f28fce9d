"""Graphs, transactions and entities in py2neo's manner, on a real server."""

from __future__ import annotations

import copy
import datetime
import re
import threading
from typing import TYPE_CHECKING, Any

import neo4j.spatial
import neo4j.time
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from knowtrail.graph.py2neo import (
    ClientError,
    Cursor,
    Graph,
    GraphService,
    Node,
    Path,
    Relationship,
    SystemGraph,
    Transaction,
)
from tests.tiers import amount

if TYPE_CHECKING:
    from knowtrail.graph.settings import Settings

pytestmark = pytest.mark.integration

KNOWS = Relationship.type("KNOWS")
IDENTITY = r"[45]:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:\d+"


def _friends() -> tuple[Node, Node, Relationship]:
    """Return two local nodes and what joins them."""
    alice = Node("Person", name="Alice", age=33)
    bob = Node("Person", name="Bob", age=44)
    return alice, bob, KNOWS(alice, bob, since=1999)


def test_create_binds_what_was_local(graph: Graph) -> None:
    """After a creation, graph and identity say where an entity is stored."""
    alice, bob, edge = _friends()
    graph.create(edge)
    assert alice.graph == graph
    assert graph.exists(alice | bob | edge)
    assert len(graph) == 1
    assert graph.evaluate("MATCH (n:Person) RETURN count(n)") == 2


def test_identity_is_the_element_id_of_the_server(graph: Graph) -> None:
    """On every Neo4j line the identity is the text that `elementId` gives."""
    alice, _, edge = _friends()
    graph.create(edge)
    text = "MATCH (n)-[r]->() RETURN elementId(n), elementId(r)"
    assert list(next(graph.run(text))) == [alice.identity, edge.identity]
    assert alice.identity is not None
    assert re.fullmatch(IDENTITY, alice.identity)


def test_create_leaves_bound_entities_alone(graph: Graph) -> None:
    """What is stored is not stored again, nor changed."""
    alice, _, edge = _friends()
    graph.create(edge)
    alice["age"] = 34
    graph.create(edge | Node("Person", name="Carol"))
    ages = graph.run("MATCH (n:Person) RETURN n.age AS age ORDER BY n.name")
    assert [record["age"] for record in ages] == [33, 44, None]


def test_a_relationship_is_created_once_between_two_nodes(graph: Graph) -> None:
    """Creating one of the same type again adds to its properties, as in py2neo."""
    alice, bob, edge = _friends()
    graph.create(edge)
    again = KNOWS(alice, bob, where="Paris")
    graph.create(again)
    assert again.identity == edge.identity
    stored = graph.evaluate("MATCH ()-[r:KNOWS]->() RETURN collect(properties(r))")
    assert stored == [{"since": 1999, "where": "Paris"}]


def test_entities_are_equal_by_what_they_stand_for(graph: Graph) -> None:
    """A node that is read again equals the one that was created."""
    alice, bob, edge = _friends()
    graph.create(edge)
    row = next(graph.run("MATCH (a {name: 'Alice'})-[r]->(b) RETURN a, r, b"))
    assert (row["a"], row["r"], row["b"]) == (alice, edge, bob)
    assert len({row["a"], alice}) == 1
    assert row["a"] != row["b"]


def test_parallel_relationships_stay_apart(graph: Graph) -> None:
    """Two stored relationships of one type between the same nodes are not equal."""
    graph.run("CREATE (a:P)-[:KNOWS]->(b:P), (a)-[:KNOWS]->(b)")
    found = graph.run("MATCH ()-[r:KNOWS]->() RETURN r").to_subgraph()
    assert found is not None
    assert len(found.relationships) == 2


def test_merge_finds_nodes_by_label_and_key(graph: Graph) -> None:
    """A merge gives a stored node the labels and properties of the local one."""
    alice, _, edge = _friends()
    graph.create(alice)
    twin = Node("Person", "Boss", name="Alice", city="Paris")
    graph.merge(twin, "Person", "name")
    graph.pull(alice)
    assert twin == alice
    assert set(alice.labels) == {"Person", "Boss"}
    assert dict(alice) == {"name": "Alice", "age": 33, "city": "Paris"}
    assert edge.identity is None


def test_merge_takes_several_keys(graph: Graph) -> None:
    """All keys together say which node it is."""
    graph.create(Node("Person", first="A", last="B") | Node("Person", first="A"))
    twin = Node("Person", first="A", last="B", age=1)
    graph.merge(twin, "Person", "first", "last")
    other = Node("Person", first="A", last="C")
    graph.merge(other, "Person", ("first", "last"))
    assert len(graph.nodes.match("Person")) == 3


def test_merge_uses_the_nodes_own_label_and_key(graph: Graph) -> None:
    """`__primarylabel__` and `__primarykey__` of a node win over the arguments."""
    alice, bob, edge = _friends()
    graph.merge(edge, "Person", "name")
    company = Node("Company", name="ACME")
    company.__primarylabel__ = "Company"
    company.__primarykey__ = "name"
    works = Relationship.type("WORKS_FOR")
    graph.merge(works(alice, company) | works(bob, company))
    graph.merge(works(alice, company))
    assert len(graph.nodes) == 3
    assert len(graph) == 3


def test_merge_uses_the_label_and_key_of_a_subclass(graph: Graph) -> None:
    """A class of nodes says how they are found, also those of a copy and a path."""

    class Person(Node):
        __primarylabel__ = "Person"
        __primarykey__ = "name"

    class Place(Node):
        __primarylabel__ = "Place"
        __primarykey__ = ("town", "street")

    for age in (33, 34):
        home = Place(town="Paris", street="Rue de Rivoli")
        graph.merge(Path(Person(name="Alice", age=age), "LIVES_IN", home))
    graph.merge(copy.copy(Person("Keeper", name="Alice")))

    (alice,) = graph.nodes.match("Person")
    assert (set(alice.labels), alice["age"]) == ({"Person", "Keeper"}, 34)
    assert graph.nodes.match("Place", town="Paris").count() == 1
    assert len(graph) == 1


def test_push_and_pull_copy_labels_and_properties(graph: Graph) -> None:
    """A push makes the stored ones like the local ones, a pull the other way."""
    alice, _, edge = _friends()
    graph.create(edge)
    alice["age"] = 34
    alice["name"] = None
    alice.labels.add("Employee")
    alice.labels.remove("Person")
    edge["since"] = 2000
    graph.push(edge)
    stored = graph.evaluate("MATCH (n:Employee)-[r]->() RETURN [labels(n), n, r]")
    graph.run("MATCH (n:Employee)-[r]->() SET n:New, n.age = 35, r.since = 2001")
    graph.pull(edge)
    assert stored[0] == ["Employee"]
    assert (dict(stored[1]), dict(stored[2])) == ({"age": 34}, {"since": 2000})
    assert set(alice.labels) == {"Employee", "New"}
    assert (alice["age"], edge["since"]) == (35, 2001)


def test_delete_makes_entities_local(graph: Graph) -> None:
    """A deleted node keeps what it says, and is bound to nothing."""
    alice, bob, edge = _friends()
    graph.create(edge)
    graph.delete(alice)
    assert (alice.graph, alice.identity) == (None, None)
    assert dict(alice) == {"name": "Alice", "age": 33}
    assert not graph.exists(alice)
    assert graph.exists(bob)
    assert not graph.exists(edge)


def test_separate_deletes_relationships_alone(graph: Graph) -> None:
    """The nodes of a relationship stay when it is separated."""
    alice, bob, edge = _friends()
    graph.create(edge)
    graph.separate(edge)
    assert edge.identity is None
    assert graph.exists(alice | bob)
    assert len(graph) == 0
    assert graph


def test_delete_all_leaves_nothing(graph: Graph) -> None:
    """Every node and relationship goes."""
    graph.run("UNWIND range(1, 50) AS n CREATE (:P {n: n})-[:NEXT]->(:P)")
    graph.delete_all()
    assert (len(graph.nodes), len(graph)) == (0, 0)


def test_ends_of_relationships_are_read_when_needed(graph: Graph) -> None:
    """A relationship that comes without its nodes reads them on demand."""
    graph.create(_friends()[2])
    edge = graph.evaluate("MATCH ()-[r:KNOWS]->() RETURN r")
    assert edge.end_node["name"] == "Bob"
    assert set(edge.start_node.labels) == {"Person"}


def test_ends_of_many_relationships_are_read_together(graph: Graph) -> None:
    """The nodes of all relationships of a result come with one statement."""
    graph.run("UNWIND range(1, 20) AS n CREATE (:P {n: n})-[:NEXT]->(:P {n: -n})")
    reads = []

    class Counted(Graph):
        """A graph that counts what it reads."""

        def query(self, *args: Any, **kwargs: Any) -> Cursor:
            """Count, and read."""
            reads.append(args)
            return super().query(*args, **kwargs)

    counted = Counted._of(graph.service, graph.name)
    ends = [row[0].end_node["n"] for row in counted.run("MATCH ()-[r]->() RETURN r")]
    assert sorted(ends) == list(range(-20, 0))
    assert len(reads) == 1


def test_ends_are_read_where_they_are_seen(graph: Graph) -> None:
    """In a transaction, also nodes that it has not committed yet are read."""
    with graph.begin() as tx:
        tx.create(_friends()[2])
        edge = tx.evaluate("MATCH ()-[r:KNOWS]->() RETURN r")
        assert edge.end_node["name"] == "Bob"


def test_a_node_that_is_a_parameter_is_its_properties(graph: Graph) -> None:
    """Also one that has not been read yet."""
    graph.create(_friends()[2])
    edge = graph.evaluate("MATCH ()-[r:KNOWS]->() RETURN r")
    copied = graph.evaluate("CREATE (n:Copy) SET n = $end RETURN n", end=edge.end_node)
    assert dict(copied) == {"name": "Bob", "age": 44}
    assert edge.end_node.copy() == {"name": "Bob", "age": 44}


def test_paths_keep_the_direction_of_their_relationships(graph: Graph) -> None:
    """A path walks relationships either way, and they keep their own ends."""
    graph.run("CREATE (:A {name: 'a'})-[:X]->(:B {name: 'b'})<-[:Y]-(:C {name: 'c'})")
    path = graph.evaluate("MATCH p = (:A)--()--(:C) RETURN p")
    assert isinstance(path, Path)
    assert str(path) == "(a)-[:X {}]->(b)<-[:Y {}]-(c)"
    assert [node["name"] for node in path.nodes] == ["a", "b", "c"]


def test_one_result_has_one_object_for_a_stored_entity(graph: Graph) -> None:
    """A node that stands in many rows is one object, also inside lists and maps."""
    graph.create(_friends()[2])
    rows = graph.run("MATCH (a)-[r]->(b) RETURN a, [b, {r: r}] AS rest").data()
    edge = rows[0]["rest"][1]["r"]
    assert edge.start_node is rows[0]["a"]
    assert edge.end_node is rows[0]["rest"][0]


def test_parameters_are_a_dictionary_or_keywords(graph: Graph) -> None:
    """Keywords win over the dictionary."""
    assert graph.evaluate("RETURN $x", {"x": 1}) == 1
    assert graph.evaluate("RETURN $x", x=2) == 2
    assert graph.evaluate("RETURN $x", {"x": 1}, x=2) == 2
    assert graph.evaluate("RETURN 1 LIMIT 0") is None


def test_values_keep_their_types(graph: Graph) -> None:
    """Temporal and spatial values are those of the driver, there and back."""
    values = {
        "date": neo4j.time.Date(2020, 1, 2),
        "time": neo4j.time.DateTime(2020, 1, 2, 3, 4, 5, 123456789),
        "zoned": neo4j.time.DateTime(
            2020, 1, 2, 3, tzinfo=datetime.timezone(datetime.timedelta(hours=1))
        ),
        "duration": neo4j.time.Duration(months=14, days=3, seconds=4),
        "flat": neo4j.spatial.CartesianPoint((1.0, 2.0)),
        "globe": neo4j.spatial.WGS84Point((1.0, 2.0, 3.0)),
        "bytes": b"abc",
        "list": [1.5, 2.5],
    }
    node = Node("Value", **values)
    graph.create(node)
    stored = graph.nodes.get(str(node.identity))
    assert stored is not None
    assert {key: stored[key] for key in values} == values


def test_native_times_are_taken(graph: Graph) -> None:
    """Dates and times of Python become those of Neo4j."""
    day = datetime.date(2020, 1, 2)
    assert graph.evaluate("RETURN $day", day=day).to_native() == day


def test_a_transaction_takes_effect_as_a_whole(graph: Graph) -> None:
    """Before the commit others see nothing, after it everything."""
    alice, _, edge = _friends()
    tx = graph.begin()
    tx.create(alice)
    tx.create(edge)
    before = len(graph.nodes)
    graph.commit(tx)
    assert before == 0
    assert graph.exists(edge)
    assert tx.finished()
    assert tx.closed


def test_a_rollback_takes_everything_back(graph: Graph) -> None:
    """What had been created is local again, what had been deleted is bound again."""
    alice, bob, edge = _friends()
    graph.create(alice)
    identity = alice.identity
    tx = graph.begin()
    tx.create(edge)
    tx.delete(alice)
    graph.rollback(tx)
    tx.rollback()
    assert (bob.identity, edge.identity) == (None, None)
    assert (alice.identity, alice.graph) == (identity, graph)
    assert graph.exists(alice)


def test_a_block_commits_or_rolls_back(graph: Graph) -> None:
    """A block that ends is committed, one that fails is rolled back."""
    with graph.begin() as tx:
        tx.create(Node("Kept"))
    with pytest.raises(KeyError), graph.begin() as failing:
        _create_and_fail(failing)
    assert len(graph.nodes) == 1
    assert tx.finished()
    assert failing.finished()


def _create_and_fail(tx: Transaction) -> None:
    """Create a node, and fail."""
    tx.create(Node("Lost"))
    raise KeyError


def test_a_read_only_transaction_refuses_to_write(graph: Graph) -> None:
    """The server refuses, and the transaction is finished."""
    tx = graph.begin(readonly=True)
    with pytest.raises(ClientError, match="AccessMode"):
        tx.run("CREATE (:T)")
    assert tx.readonly
    assert tx.closed


def test_an_auto_transaction_is_one_statement(graph: Graph) -> None:
    """It is finished with its statement, also with a creation."""
    tx = graph.auto()
    assert tx.evaluate("RETURN 1") == 1
    assert tx.closed
    other = graph.auto()
    other.create(Node("Person"))
    assert other.closed
    assert len(graph.nodes) == 1


def test_query_reads_and_update_writes(graph: Graph) -> None:
    """A query refuses to write; an update takes statements and functions."""

    def work(tx: Transaction, name: str, age: int = 0) -> None:
        tx.create(Node("Person", name=name, age=age))

    graph.update("CREATE (:Person {name: $name})", {"name": "Alice"})
    graph.update(work, {"name": "Bob", "age": 44})
    graph.update(work, ["Carol"], timeout=10)
    rows = graph.query("MATCH (n:Person) RETURN n.name ORDER BY n.name", timeout=10)
    assert [row[0] for row in rows] == ["Alice", "Bob", "Carol"]
    with pytest.raises(ClientError, match="AccessMode"):
        graph.query("CREATE (:Person)")


def test_a_failing_update_changes_nothing(graph: Graph) -> None:
    """What a function did before it failed is taken back, here and there."""
    node = Node("Person")

    def work(tx: Transaction) -> None:
        tx.create(node)
        tx.run("RETURN 1 / 0")

    with pytest.raises(ClientError, match="ArithmeticError"):
        graph.update(work)
    assert node.identity is None
    assert len(graph.nodes) == 0


def test_update_tries_again_what_may_succeed(graph: Graph) -> None:
    """A transient failure is tried again, by the driver's rules."""
    from neo4j.exceptions import TransientError

    attempts = []

    def work(tx: Transaction) -> None:
        attempts.append(tx)
        tx.create(Node("Person"))
        if len(attempts) < 2:
            raise TransientError

    graph.update(work)
    assert len(attempts) == 2
    assert len(graph.nodes) == 1


def test_a_cursor_tells_of_its_statement(graph: Graph) -> None:
    """Changes, plan, profile and summary come from the server."""
    created = graph.run("CREATE (a:Person) SET a.name = 'Alice'")
    explained = graph.run("EXPLAIN MATCH (n) RETURN n")
    profiled = graph.run("PROFILE MATCH (n) RETURN n")
    stats = created.stats()
    assert (stats.nodes_created, stats["labels_added"]) == (1, 1)
    assert (stats.properties_set, stats["nodes_deleted"]) == (1, 0)
    assert (stats.contained_updates, explained.stats().contained_updates) == (
        True,
        False,
    )
    assert created.plan() is None
    plan = explained.plan()
    assert plan.operator_type.startswith("ProduceResults")  # type: ignore[union-attr]
    assert plan["children"][0].operator_type.startswith("AllNodes")  # type: ignore[index]
    assert explained.profile is None
    assert profiled.profile["dbHits"] >= 0  # type: ignore[index]
    assert created.summary().query_type == "w"  # type: ignore[union-attr]


def test_procedures_are_called_like_functions(graph: Graph) -> None:
    """Attributes, brackets and the call itself name a procedure."""
    graph.create(Node("Person"))
    name = graph.call.dbms.components(keys=["name"]).evaluate()
    assert graph.call["dbms.components"]().evaluate() == name
    assert graph.call("dbms.components").evaluate() == name
    assert "db.labels" in list(graph.call)
    assert "labels" in dir(graph.call.db)
    labels = graph.call.db.labels().data()
    assert {"label": "Person"} in labels


def test_procedures_take_arguments(graph: Graph) -> None:
    """Arguments travel as parameters."""
    rows = graph.call.dbms.listConfig("server.bolt.enabled", keys=["name"])
    assert [row["name"] for row in rows] == ["server.bolt.enabled"]


def test_a_service_describes_itself(graph: Graph, server: Settings) -> None:
    """Version, product, settings and the names of the graphs are there."""
    service = GraphService(server.uri, auth=(server.username, server.password))
    with service:
        assert service.kernel_version >= (5, 26)
        assert str(service.kernel_version) in service.product
        assert service.product.startswith("Neo4j Kernel")
        assert list(service) == ["neo4j", "system"]
        assert service["neo4j"].name == "neo4j"
        assert service.config["server.bolt.enabled"] == "true"
        assert service.system_graph.evaluate("SHOW CURRENT USER YIELD user")
        assert service == graph.service
        with pytest.raises(KeyError, match="does not exist"):
            service["nothing"]


def test_services_are_equal_by_their_address(graph: Graph, server: Settings) -> None:
    """Who speaks, and by which name, does not make another server of it."""
    port = graph.service.profile.port
    graph.create(Node("Person", name="Alice"))
    auth = (server.username, server.password)
    with GraphService(f"neo4j://localhost:{port}", auth=auth) as service:
        assert service == graph.service
        assert hash(service) == hash(graph.service)
        assert {service, graph.service} == {service}
        here, there = (
            each.nodes.match().first() for each in (graph, service.default_graph)
        )
        assert here == there
        assert service != service.uri
        assert service.profile != graph.service.profile


def test_a_graph_without_relationships_is_true(graph: Graph) -> None:
    """Its length counts relationships, and does not make it false."""
    assert len(graph) == 0
    assert graph


def test_the_system_graph_is_opened_by_name(server: Settings) -> None:
    """`SystemGraph` is the graph of databases and users."""
    graph = SystemGraph(server.uri, auth=(server.username, server.password))
    names = graph.run("SHOW DATABASES YIELD name RETURN name").data()
    graph.service.close()
    assert {"name": "system"} in names
    assert graph.name == "system"


def test_no_arguments_mean_our_settings(
    graph: Graph, server: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`Graph()` opens the server that Knowtrail's settings name."""
    monkeypatch.setenv("NEO4J_URI", str(server.uri))
    monkeypatch.setenv("NEO4J_USERNAME", server.username)
    monkeypatch.setenv("NEO4J_PASSWORD", str(server.password))
    opened = Graph()
    with opened.service:
        assert opened.evaluate("RETURN 1") == 1
        assert opened.name == server.database
        assert opened.service == graph.service


def test_threads_share_a_graph(graph: Graph) -> None:
    """Statements of several threads at once all take effect."""

    def work(number: int) -> None:
        for index in range(5):
            graph.create(Node("Person", number=number, index=index))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(graph.nodes) == 30


def test_cursors_and_transactions_hold_no_connection(server: Settings) -> None:
    """One connection is enough for statements one after the other."""
    graph = Graph(
        server.uri, auth=(server.username, server.password), max_connections=1
    )
    with graph.service:
        cursors = [graph.run("UNWIND range(1, 3000) AS n RETURN n") for _ in range(3)]
        for _ in range(3):
            edge = graph.begin().evaluate("CREATE ()-[r:R]->() WITH r RETURN r")
            assert edge.end_node.graph == graph
        assert sum(len(cursor.data()) for cursor in cursors) == 9000


names = st.text(
    st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12
)


@given(names, names, names)
@examples(
    max_examples=amount(4, 15),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_any_name_is_stored_as_it_is(
    graph: Graph, label: str, kind: str, key: str
) -> None:
    """Labels, types and keys with any characters come back as they were."""
    assert _stored_names(graph, label, kind, key) == [([label], {key: 1}, {kind})]


@pytest.mark.parametrize(
    "name",
    [
        "``) DETACH DELETE (n",
        "\\u0060) DETACH DELETE (n",
        "\N{GRINNING FACE} with space",
        *(
            pytest.param(name, marks=pytest.mark.thorough)
            for name in ("a`b", "`", "\\", "1st", "MATCH", "é", "a.b", "$x")
        ),
    ],
)
def test_awkward_names_are_stored_as_they_are(graph: Graph, name: str) -> None:
    """Names that could end an identifier early do not."""
    assert _stored_names(graph, name, name, name) == [([name], {name: 1}, {name})]


def _stored_names(
    graph: Graph, label: str, kind: str, key: str
) -> list[tuple[list[str], dict[str, Any], set[str]]]:
    """Store a label, type and key in every way, and return what is read."""
    graph.delete_all()
    properties: dict[str, Any] = {key: 1}
    node = Node(label, **properties)
    edge = Relationship(node, kind, Node(label, **{key: 2}), **properties)
    graph.merge(edge, label, key)
    graph.push(edge)
    row = graph.run(
        "MATCH (n)-[r]->() WHERE elementId(n) = $id RETURN n, r", id=node.identity
    ).data()
    return [(list(r["n"].labels), dict(r["n"]), r["r"].types()) for r in row]

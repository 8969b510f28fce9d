"""What py2neo's manner refuses, with py2neo's errors, on a real server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.graph.errors import (
    CredentialsError,
    DatabaseError,
    InputError,
    UnavailableError,
)
from knowtrail.graph.py2neo import (
    AuthenticationError,
    ClientError,
    ConnectionUnavailable,
    Graph,
    Node,
    Relationship,
    TransactionFinished,
    UniquenessError,
    UnsupportedValueError,
)

if TYPE_CHECKING:
    from knowtrail.graph.settings import Settings

pytestmark = pytest.mark.integration

PERSON = Node("Person", name="Alice")
CHANGES = ["create", "push", "pull", "delete", "separate", "exists"]


def test_wrong_credentials_are_refused(server: Settings) -> None:
    """The error is what py2neo raised for it in any version, and ours."""
    with pytest.raises(AuthenticationError, match="refused the user name") as caught:
        Graph(server.uri, auth=("neo4j", "not the password"))
    assert isinstance(caught.value, ClientError)
    assert isinstance(caught.value, ConnectionUnavailable)
    assert isinstance(caught.value, CredentialsError)
    assert caught.value.code == "Neo.ClientError.Security.Unauthorized"


def test_no_server_is_said_at_once() -> None:
    """A graph where nothing answers cannot be opened."""
    with pytest.raises(ConnectionUnavailable, match="does not answer") as caught:
        Graph("bolt://127.0.0.1:1")
    assert isinstance(caught.value, UnavailableError)


def test_a_server_without_encryption_is_said(server: Settings) -> None:
    """A secure scheme is not quietly spoken without encryption."""
    address = str(server.uri).partition("://")[2]
    with pytest.raises(ConnectionUnavailable):
        Graph(f"bolt+ssc://{address}", auth=(server.username, server.password))


def test_an_unknown_graph_is_said_by_its_first_statement(server: Settings) -> None:
    """The server knows which databases there are."""
    auth = (server.username, server.password)
    graph = Graph(server.uri, name="nothing", auth=auth)
    with graph.service, pytest.raises(ClientError, match="DatabaseNotFound"):
        graph.run("RETURN 1")


def test_a_bad_statement_is_a_client_error(session_graph: Graph) -> None:
    """The status code of the server is in the error."""
    titles = {
        "BAD": "SyntaxError",
        "  ": "SyntaxError",
        "RETURN $x": "ParameterMissing",
        "RETURN 1 / 0": "ArithmeticError",
        "CALL nothing.there()": "ProcedureNotFound",
    }
    found = {}
    for statement in titles:
        with pytest.raises(ClientError) as caught:
            session_graph.run(statement)
        assert isinstance(caught.value, DatabaseError)
        found[statement] = caught.value.title
    assert found == titles


def test_unsupported_values_are_refused(graph: Graph) -> None:
    """Values without a type of Neo4j are a TypeError, in parameters and properties."""
    for value in (object(), {1, 2}, 1j, [object()], {"a": object()}):
        with pytest.raises(UnsupportedValueError, match="not supported"):
            graph.run("RETURN $value", value=value)
        with pytest.raises(TypeError, match="not supported"):
            graph.create(Node("Person", value=value))
    assert len(graph.nodes) == 0


def test_values_that_are_no_property_are_refused(session_graph: Graph) -> None:
    """Maps and mixed lists may be parameters, and are no properties."""
    for value in ({"a": 1}, [1, "a"], [[1]], [1, None]):
        with pytest.raises(ClientError):
            session_graph.create(Node("Person", value=value))
        assert session_graph.evaluate("RETURN $value", value=value) == value


def test_numbers_of_more_than_64_bits_are_refused(graph: Graph) -> None:
    """Too large a number is a ValueError."""
    with pytest.raises(ValueError, match="64 bits"):
        graph.create(Node("Person", number=2**70))


def test_half_characters_are_refused(graph: Graph) -> None:
    """A lone surrogate cannot be sent, neither in a value nor in a key."""
    with pytest.raises(ValueError, match="half a character"):
        graph.create(Node("Person", name="\ud800"))
    with pytest.raises(ValueError, match="key has half a character"):
        graph.create(Node("Person", **{"\ud800": 1}))


@pytest.mark.parametrize("change", CHANGES)
def test_only_subgraphs_are_stored(session_graph: Graph, change: str) -> None:
    """What is no subgraph is a TypeError for every operation."""
    for thing in (None, 3, "Person", {"name": "Alice"}, [PERSON]):
        with pytest.raises(TypeError, match="give a node, relationship"):
            getattr(session_graph, change)(thing)


def test_merging_needs_a_primary_label_and_key(graph: Graph) -> None:
    """The message of py2neo's ValueError says how to write it."""
    alice = Node("Person", name="Alice")
    for arguments in ((), ("Person",), (None, "name")):
        with pytest.raises(ValueError, match="Primary label and primary key are"):
            graph.merge(alice, *arguments)
    with pytest.raises(InputError, match="is text, not int"):
        graph.merge(alice, "Person", 3)
    assert len(graph.nodes) == 0


def test_merging_needs_a_value_for_the_primary_key(graph: Graph) -> None:
    """A node without the primary key cannot be looked for."""
    with pytest.raises(ClientError, match="null property value for 'name'"):
        graph.merge(Node("Person"), "Person", "name")


def test_merging_needs_one_node_at_most(graph: Graph) -> None:
    """Two stored nodes for one local node are refused, and nothing changes."""
    graph.run("UNWIND [1, 2] AS n CREATE (:Person {name: 'Alice'})")
    with pytest.raises(UniquenessError, match="Several stored ones"):
        graph.merge(Node("Person", name="Alice", age=33), "Person", "name")
    assert graph.evaluate("MATCH (n) WHERE n.age = 33 RETURN count(n)") == 0


@pytest.mark.parametrize("change", ["push", "pull"])
def test_unbound_nodes_are_not_pushed_or_pulled(
    session_graph: Graph, change: str
) -> None:
    """Where nothing is bound there is nothing to copy, and that is said."""
    with pytest.raises(ValueError, match=rf"nothing to {change}.*create or merge"):
        getattr(session_graph, change)(Node("Person"))


@pytest.mark.parametrize("change", ["delete", "separate"])
def test_unbound_nodes_are_not_deleted(session_graph: Graph, change: str) -> None:
    """Deleting what is not stored does nothing, as py2neo's handbook says."""
    node = Node("Person")
    getattr(session_graph, change)(node)
    assert not session_graph.exists(node)


@pytest.mark.parametrize("change", ["push", "pull"])
def test_deleted_entities_are_named(graph: Graph, change: str) -> None:
    """An entity that others deleted is missed when it is to be copied."""
    alice = Node("Person", name="Alice")
    edge = Relationship(alice, "KNOWS", Node("Person"))
    graph.create(edge)
    graph.run("MATCH ()-[r]->() DELETE r")
    with pytest.raises(ClientError, match="it was deleted") as caught:
        getattr(graph, change)(edge)
    assert caught.value.title == "EntityNotFound"
    graph.delete_all()
    with pytest.raises(ClientError, match="it was deleted"):
        getattr(graph, change)(alice)


def test_relationships_of_deleted_nodes_are_refused(graph: Graph) -> None:
    """A relationship needs both of its nodes."""
    alice, bob = Node("Person", name="Alice"), Node("Person", name="Bob")
    graph.create(alice | bob)
    graph.run("MATCH (n {name: 'Bob'}) DELETE n")
    with pytest.raises(ClientError, match="A node at an end"):
        graph.create(Relationship(alice, "KNOWS", bob))
    assert len(graph) == 0


def test_deleting_twice_does_no_harm(graph: Graph) -> None:
    """What others have deleted can still be deleted here."""
    alice = Node("Person")
    graph.create(alice)
    graph.delete_all()
    graph.delete(alice)
    assert alice.identity is None


def test_a_finished_transaction_is_refused(session_graph: Graph) -> None:
    """Nothing can be done in a transaction after its end."""
    tx = session_graph.begin()
    tx.commit()
    arguments: dict[str, list[Any]] = {
        "commit": [],
        "run": ["RETURN 1"],
        "evaluate": ["RETURN 1"],
        "create": [PERSON],
        "merge": [PERSON],
    }
    for wish, given in arguments.items():
        with pytest.raises(TransactionFinished, match="finished transaction") as caught:
            getattr(tx, wish)(*given)
        assert isinstance(caught.value, TypeError)
        assert isinstance(caught.value, InputError)


def test_a_closed_service_is_said(server: Settings) -> None:
    """After its service was closed a graph says so, whatever it is asked."""
    graph = Graph(server.uri, auth=(server.username, server.password))
    graph.service.close()
    with pytest.raises(ConnectionUnavailable, match="was closed"):
        graph.run("RETURN 1")
    with pytest.raises(ConnectionUnavailable, match="was closed"):
        graph.begin()
    with pytest.raises(ConnectionUnavailable, match="was closed"):
        len(graph.nodes)


def test_the_name_of_a_graph_is_text(server: Settings) -> None:
    """A number is refused before the server is asked."""
    with pytest.raises(UnsupportedValueError, match="is text"):
        Graph(server.uri, name=3)  # type: ignore[arg-type]


def test_nothing_is_left_open_after_errors(graph: Graph) -> None:
    """Whatever failed, and however, the server has no transaction of it."""
    failures: list[Any] = [
        lambda: graph.run("BAD"),
        lambda: graph.run("UNWIND [1, 0] AS n RETURN 1 / n"),
        lambda: graph.create(Node("Person", value={"a": 1})),
        lambda: graph.create(Node("Person", value=object())),
        lambda: graph.push(Node("Person")),
        lambda: graph.update(lambda tx: tx.run("BAD")),
        lambda: graph.query("CREATE (:Person)"),
        lambda: graph.begin(readonly=True).create(Node("Person")),
        lambda: graph.begin().run("BAD"),
        lambda: _interrupted(graph),
    ]
    raised = 0
    for failure in failures:
        with pytest.raises(BaseException):  # noqa: B017, PT011  (each another)
            failure()
        raised += 1
    open_ones = graph.run("SHOW TRANSACTIONS YIELD currentQuery").data()
    assert raised == len(failures)
    assert [row["currentQuery"][:17] for row in open_ones] == ["SHOW TRANSACTIONS"]
    assert len(graph.nodes) == 0


def _interrupted(graph: Graph) -> None:
    """Create a node and be interrupted."""
    with graph.begin() as tx:
        tx.create(Node("Person"))
        raise KeyboardInterrupt


def test_a_statement_that_takes_too_long_is_ended(graph: Graph) -> None:
    """The server ends it, and the error says that it timed out."""
    for_ever = "UNWIND range(1, 1000000000) AS n WITH n WHERE n % 3 = 7 "
    with pytest.raises(ClientError, match="TimedOut"):
        graph.query(f"{for_ever} RETURN n", timeout=0.3)
    with pytest.raises(ClientError, match="TimedOut"):
        graph.update(f"{for_ever} CREATE (:Person)", timeout=0.3)


def test_a_failed_statement_finishes_its_transaction(graph: Graph) -> None:
    """After a failure nothing can be run, committed or was kept."""
    tx = graph.begin()
    node = Node("Person")
    tx.create(node)
    with pytest.raises(ClientError):
        tx.run("BAD")
    with pytest.raises(TransactionFinished):
        graph.commit(tx)
    assert node.identity is None
    assert len(graph.nodes) == 0


def test_an_expired_transaction_is_said(graph: Graph) -> None:
    """A transaction that the server ended fails with the server's reason."""
    tx = graph.begin()
    tx.run("CREATE (:Person)")
    rows = graph.run("SHOW TRANSACTIONS YIELD transactionId, currentQuery").data()
    idle = [row["transactionId"] for row in rows if not row["currentQuery"]]
    graph.run("TERMINATE TRANSACTIONS $idle", idle=idle)
    with pytest.raises(DatabaseError, match=r"[Tt]erminated"):
        tx.run("RETURN 1")
    assert tx.finished()
    assert len(graph.nodes) == 0


@pytest.mark.forgets
def test_constraints_are_kept(graph: Graph) -> None:
    """A broken constraint is a client error, and what was local stays so."""
    graph.run(
        "CREATE CONSTRAINT py2neo_once IF NOT EXISTS "
        "FOR (n:Py2neoOnce) REQUIRE n.name IS UNIQUE"
    )
    node = Node("Py2neoOnce", name="Alice")
    graph.create(Node("Py2neoOnce", name="Alice"))
    try:
        with pytest.raises(ClientError, match="ConstraintValidationFailed"):
            graph.create(node)
    finally:
        graph.run("DROP CONSTRAINT py2neo_once")
    assert node.identity is None


def test_names_that_neo4j_refuses_are_refused(graph: Graph) -> None:
    """Empty names and null characters store nothing."""
    for local in (
        Node(""),
        Node("a\0b"),
        Node(**{"": 1}),
        Node("Person") | Node(""),
    ):
        with pytest.raises((ClientError, InputError)):
            graph.create(local)
    assert len(graph.nodes) == 0


def test_an_update_is_text_or_a_function(session_graph: Graph) -> None:
    """Anything else is refused before it is sent."""
    with pytest.raises(TypeError, match="statement or a function"):
        session_graph.update(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="A statement is text"):
        session_graph.run(3)  # type: ignore[arg-type]

"""Graphs: one database of a Neo4j server, in the manner of py2neo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from graph.errors import InputError
from graph.py2neo.errors import (
    ConnectionUnavailable,
    ServiceUnavailable,
    UnsupportedValueError,
    WriteServiceUnavailable,
    translated,
)
from graph.py2neo.parameters import sendable
from graph.py2neo.procedures import ProcedureLibrary
from graph.py2neo.services import GraphService
from graph.py2neo.transactions import Transaction, read_all
from graph.statements import statement

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    import neo4j

    from graph.py2neo.cursors import Cursor
    from graph.py2neo.entities import Node
    from graph.py2neo.matching import (
        NodeMatcher,
        RelationshipMatch,
        RelationshipMatcher,
    )
    from graph.py2neo.profiles import ConnectionProfile
    from graph.py2neo.relationships import Relationship
    from graph.py2neo.schema import Schema
    from graph.py2neo.subgraphs import Subgraph

__all__ = ["Graph", "SystemGraph"]


class Graph:
    """A database of a Neo4j server.

    It may be shared by threads; each statement has a session of its own, closed when
    the statement returns. Statements of one service see its earlier writes.

    Args:
        profile: Address as a URI or profile; see `GraphService` for none.
        name: Name of the database; None for the default of the server.
        settings: Single settings, as `GraphService` takes them.

    Raises:
        ConnectionUnavailable: If nothing answers, or the credentials are refused.
        SettingsError: If a setting is not known.
        TypeError: If the name is no text.

    Example:
        ```python
        graph = Graph("bolt://localhost:7687", auth=("neo4j", "password"))
        graph.create(Node("Person", name="Alice"))
        ```
    """

    def __init__(
        self,
        profile: str | ConnectionProfile | None = None,
        name: str | None = None,
        **settings: Any,
    ) -> None:
        if name is not None and not isinstance(name, str):
            msg = f"The name of a graph is text, not {type(name).__name__}: {name!r}."
            raise UnsupportedValueError(msg)
        self._service = GraphService(profile, **settings)
        self._name = self._service._database if name is None else name
        self._shown = name

    @classmethod
    def _of(cls, service: GraphService, name: str | None) -> Self:
        """Make the handle of a graph of a service that is open."""
        graph = cls.__new__(cls)
        graph._service = service
        graph._name = graph._shown = name
        return graph

    @property
    def service(self) -> GraphService:
        """Return the server that it is a graph of."""
        return self._service

    @property
    def name(self) -> str | None:
        """Return its name, None for the default of the server."""
        return self._name

    @property
    def schema(self) -> Schema:
        """Return its constraints and indexes."""
        from graph.py2neo.schema import Schema

        return Schema(self)

    @property
    def nodes(self) -> NodeMatcher:
        """Return a matcher of its nodes: `graph.nodes.match("Person").first()`."""
        from graph.py2neo.matching import NodeMatcher

        return NodeMatcher(self)

    @property
    def relationships(self) -> RelationshipMatcher:
        """Return a matcher of its relationships."""
        from graph.py2neo.matching import RelationshipMatcher

        return RelationshipMatcher(self)

    @property
    def call(self) -> ProcedureLibrary:
        """Return the procedures of the server: `graph.call.dbms.components()`."""
        return ProcedureLibrary(self)

    def _session(self, *, readonly: bool = False) -> neo4j.Session:
        """Open a session of the driver on this database.

        Raises:
            ConnectionUnavailable: If the service was closed.
        """
        driver = self._service._driver
        if not self._service._closing.alive:
            msg = f"The service {self._service.uri!r} was closed: open a new graph."
            raise ConnectionUnavailable(msg)
        return driver.session(
            database=self._name,
            default_access_mode="READ" if readonly else "WRITE",
            bookmark_manager=driver.execute_query_bookmark_manager,
        )

    def auto(self, readonly: bool = False) -> Transaction:
        """Return a transaction of one statement, committed with it."""
        return Transaction(self, autocommit=True, readonly=readonly)

    def begin(self, readonly: bool = False) -> Transaction:
        """Begin a transaction."""
        return Transaction(self, readonly=readonly)

    def commit(self, tx: Transaction) -> None:
        """Make all of a transaction take effect.

        Raises:
            TransactionFinished: If it is finished.
        """
        tx.commit()

    def rollback(self, tx: Transaction) -> None:
        """Make nothing of a transaction take effect."""
        tx.rollback()

    def run(
        self,
        cypher: str,
        parameters: Mapping[str, Any] | None = None,
        **kwparameters: Any,
    ) -> Cursor:
        """Run a statement, once, in a transaction of its own and return its rows.

        Args:
            cypher: The statement.
            parameters: Its parameters.
            **kwparameters: More of them, which win.

        Raises:
            ClientError: If the server refuses the statement or its data.
            ServiceUnavailable: If the server went away.
            UnsupportedValueError: If a parameter is of a type that Neo4j lacks.
        """
        return self.auto().run(cypher, parameters, **kwparameters)

    def evaluate(
        self,
        cypher: str,
        parameters: Mapping[str, Any] | None = None,
        **kwparameters: Any,
    ) -> Any:
        """Run a statement and return the first value of its first row, or None."""
        return self.run(cypher, parameters, **kwparameters).evaluate()

    def query(
        self,
        cypher: str,
        parameters: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> Cursor:
        """Run a statement that only reads, again where that may help.

        Args:
            cypher: The statement.
            parameters: Its parameters.
            timeout: Seconds that the server gives each attempt.

        Raises:
            ClientError: If the server refuses the statement, or it would write.
            ServiceUnavailable: If the server went away.
        """
        from neo4j import unit_of_work

        @unit_of_work(timeout=timeout)
        def work(tx: neo4j.ManagedTransaction) -> Cursor:
            return read_all(tx.run(cypher, sendable(dict(parameters or {}))), self)

        with (
            translated(self._service.uri),
            self._session(readonly=True) as session,
        ):
            return session.execute_read(work)

    def update(
        self,
        cypher: str | Callable[..., object],
        parameters: Any = None,
        timeout: float | None = None,
    ) -> None:
        """Run a piece of work that writes and returns nothing, again where that helps.

        Args:
            cypher: A statement, or a function of a transaction, which may be called
                more than once.
            parameters: Parameters of the statement; keyword arguments (a dictionary)
                or further arguments (a sequence) of the function.
            timeout: Seconds that the server gives each attempt.

        Raises:
            ClientError: If the server refuses.
            TypeError: If the work is neither text nor function.
            WriteServiceUnavailable: If the server went away.
        """
        from neo4j import unit_of_work
        from neo4j.exceptions import DriverError, Neo4jError

        if not isinstance(cypher, str) and not callable(cypher):
            msg = f"Work is a statement or a function, not {cypher!r}."
            raise TypeError(msg)

        own: list[BaseException] = []

        @unit_of_work(timeout=timeout)
        def work(bolt: neo4j.ManagedTransaction) -> None:
            tx = Transaction._over(self, bolt)
            try:
                _do(tx, cypher, parameters)
                tx._check_open("commit what was rolled back")
            except BaseException as error:
                tx._undo()
                if isinstance(error.__cause__, Neo4jError | DriverError):
                    raise error.__cause__ from None  # for the driver to judge
                own.append(error)
                raise
            tx._finish()

        try:
            with translated(self._service.uri), self._session() as session:
                session.execute_write(work)
        except ServiceUnavailable as error:
            raise WriteServiceUnavailable(str(error)) from error
        except InputError:
            if own:  # an error of the function, not one of the driver
                raise own[-1] from None
            raise

    def create(self, subgraph: Subgraph) -> None:
        """Store all that is local in a subgraph; see `Transaction.create`."""
        with self.begin() as tx:
            tx.create(subgraph)

    def merge(
        self, subgraph: Subgraph, label: str | None = None, *property_keys: Any
    ) -> None:
        """Store a subgraph over what is stored and like it; see `Transaction.merge`.

        Args:
            subgraph: What to store.
            label: Primary label of its nodes.
            property_keys: Property keys that together are their primary key.
        """
        keys: list[Any] = []
        for key in property_keys:
            keys += key if isinstance(key, list | tuple) else [key]
        with self.begin() as tx:
            tx.merge(subgraph, label, tuple(keys))

    def push(self, subgraph: Subgraph) -> None:
        """Change what is stored as it is here; see `Transaction.push`."""
        with self.begin() as tx:
            tx.push(subgraph)

    def pull(self, subgraph: Subgraph) -> None:
        """Change what is here as it is stored; see `Transaction.pull`."""
        with self.begin(readonly=True) as tx:
            tx.pull(subgraph)

    def delete(self, subgraph: Subgraph) -> None:
        """Delete what is stored of a subgraph; see `Transaction.delete`."""
        with self.begin() as tx:
            tx.delete(subgraph)

    def separate(self, subgraph: Subgraph) -> None:
        """Delete the relationships of a subgraph; see `Transaction.separate`."""
        with self.begin() as tx:
            tx.separate(subgraph)

    def exists(self, subgraph: Subgraph) -> bool:
        """Return whether all of a subgraph is stored."""
        with self.begin(readonly=True) as tx:
            return tx.exists(subgraph)

    def delete_all(self) -> None:
        """Delete every node and relationship of the graph, in batches."""
        self.run(statement("py2neo/delete_all_relationships"))
        self.run(statement("py2neo/delete_all"))

    def match(
        self,
        nodes: Collection[Node | None] | None = None,
        r_type: Any = None,
        limit: int | None = None,
    ) -> RelationshipMatch:
        """Return a match of relationships.

        Args:
            nodes: Start and end node in order; a set for either direction; None in
                the place of a node for any.
            r_type: Type or types; None for any.
            limit: The most of them; None for all.
        """
        found = self.relationships.match(nodes, r_type)
        return found if limit is None else found.limit(limit)

    def match_one(
        self, nodes: Collection[Node | None] | None = None, r_type: Any = None
    ) -> Relationship | None:
        """Return one relationship, see `match`; None where there is none."""
        return self.match(nodes, r_type, limit=1).first()

    def __len__(self) -> int:
        """Count the relationships."""
        return len(self.relationships)

    def __bool__(self) -> bool:
        """Return True, also for a graph without relationships."""
        return True

    def __eq__(self, other: object) -> bool:
        """Return whether both are one database of one service."""
        if not isinstance(other, Graph):
            return False
        return self._service == other._service and self._name == other._name

    def __hash__(self) -> int:
        """Return a hash of service and name."""
        return hash((self._service, self._name))

    def __repr__(self) -> str:
        """Return the class with address and name."""
        name = "" if self._shown is None else f", name={self._shown!r}"
        return f"{type(self).__name__}({self._service.uri!r}{name})"


class SystemGraph(Graph):
    """The database that describes a server: its databases, users and rights.

    Args:
        profile: Address as a URI or profile; see `GraphService` for none.
        settings: Single settings, as `GraphService` takes them.
    """

    def __init__(
        self, profile: str | ConnectionProfile | None = None, **settings: Any
    ) -> None:
        super().__init__(profile, "system", **settings)

    def __repr__(self) -> str:
        """Return the class with the address."""
        return f"SystemGraph({self.service.uri!r})"


def _do(tx: Transaction, work: str | Callable[..., object], parameters: Any) -> None:
    """Run a statement, or call a function with a transaction."""
    if isinstance(work, str):
        tx.run(work, parameters)
    elif isinstance(parameters, dict):
        work(tx, **parameters)
    else:
        work(tx, *(parameters or ()))

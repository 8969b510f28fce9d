"""What py2neo has in `py2neo.database`: services, graphs and transactions."""

from __future__ import annotations

import atexit
import logging
import threading
import weakref
from contextlib import AbstractContextManager, ExitStack
from functools import cache, wraps
from inspect import isgenerator
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeAlias, TypeVar

import neo4j
from neo4j.exceptions import DriverError, Neo4jError

from knowtrail.graph.db.driver import driver_options, is_loopback
from knowtrail.graph.db.statements import statement
from knowtrail.graph.errors import InputError
from knowtrail.graph.py2neo.cypher_writing import cypher_escape, sendable
from knowtrail.graph.py2neo.errors import (
    ClientError,
    ConnectionUnavailable,
    ServiceUnavailable,
    UnsupportedValueError,
    WriteServiceUnavailable,
    translated,
)
from knowtrail.graph.py2neo.errors import TransactionFinished as TransactionFinished
from knowtrail.graph.py2neo.matching import NodeMatcher, RelationshipMatcher
from knowtrail.graph.py2neo.profiles import ConnectionProfile, ServiceProfile
from knowtrail.graph.py2neo.transactions import Transaction as Transaction
from knowtrail.graph.py2neo.transactions import Values, read_all
from knowtrail.graph.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from knowtrail.graph.py2neo.cypher import Cursor
    from knowtrail.graph.py2neo.data import Node, Relationship, Subgraph
    from knowtrail.graph.py2neo.matching import RelationshipMatch

P = ParamSpec("P")
R = TypeVar("R")
Ends: TypeAlias = "Collection[Node | None] | None"
Profile: TypeAlias = "str | ConnectionProfile | None"
Work: TypeAlias = "str | Callable[..., object]"
_LOG = logging.getLogger(__name__)
_OPTIONS = {
    "user_agent": "user_agent",
    "max_connections": "max_connection_pool_size",
    "connection_timeout": "connection_timeout",
}
"""Setting of a service -> option of the driver."""


class Version(tuple[int, ...]):
    """A version: its numbers, and the text that it was written as."""

    _text: str

    def __new__(cls, text: str) -> Version:
        """Read a version."""
        numbers = text.partition("-")[0].partition("+")[0].split(".")
        version = super().__new__(cls, (int(n) for n in numbers if n.isdigit()))
        version._text = text
        return version

    def __str__(self) -> str:
        return self._text

    def __reduce__(self) -> tuple[type[Version], tuple[str]]:
        return Version, (self._text,)


class GraphService(AbstractContextManager["GraphService"]):
    """A Neo4j server, and the graphs in it.

    Without a profile and any setting it is the server that Knowtrail's settings name
    (`NEO4J_URI`), or else the managed local server, which is started where it does not
    run. Settings are those of a `ServiceProfile`, and `user_agent`, `max_connections`
    (40) and `connection_timeout` in seconds. It holds one driver, which may be shared
    by threads and is closed with `close`, or when the service is forgotten. Services
    are equal when they speak to one address, whoever speaks.
    """

    def __init__(self, profile: Profile = None, **settings: Any) -> None:
        wishes = {option: settings.pop(name, None) for name, option in _OPTIONS.items()}
        self._database: str | None = None
        self.profile, ours = self._resolve(profile, settings)
        options = {"max_connection_pool_size": 40} | driver_options(ours)
        options |= {name: wish for name, wish in wishes.items() if wish is not None}
        with translated(self.uri):
            self._driver = neo4j.GraphDatabase.driver(
                self.uri, auth=self.profile.auth, **options
            )
        self._closing = weakref.finalize(self, self._driver.close)
        try:
            with translated(self.uri):
                self._driver.verify_connectivity()
        except BaseException as error:
            self.close()
            if isinstance(error, ServiceUnavailable):
                raise ConnectionUnavailable(str(error)) from error
            raise

    def _resolve(
        self, profile: Profile, settings: dict[str, Any]
    ) -> tuple[ServiceProfile, Settings]:
        """Find out where the server is, and start the managed one if it is that."""
        ours = Settings.from_env()
        if profile is None and not settings:
            if ours.uri is None:
                with _LOCK:
                    ours = _managed_server(ours)
            self._database = ours.database
            settings = {"auth": (ours.username, ours.password or "")}
        if profile is None and not {"host", "address"} & set(settings):
            profile = ours.uri
        found = ServiceProfile(profile, **settings)
        user, password = found.auth
        return found, ours.with_server(
            uri=found.uri, username=user, password=password, managed=ours.managed
        )

    def close(self) -> None:
        """Close the driver; nothing can be run any more."""
        self._closing()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def uri(self) -> str:
        """Return the address of the server."""
        return self.profile.uri

    @property
    def default_graph(self) -> Graph:
        """Return the graph that is used where none is named."""
        return Graph._of(self, self._database)

    @property
    def system_graph(self) -> SystemGraph:
        """Return the graph that describes the server."""
        return SystemGraph._of(self, "system")

    def keys(self) -> list[str]:
        """Return the names of all graphs."""
        cursor = self.system_graph.query("SHOW DATABASES YIELD name RETURN name")
        return sorted({record[0] for record in cursor})

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __getitem__(self, name: str | None) -> Graph:
        if name is None:
            return self.default_graph
        if name not in self.keys():
            raise KeyError(f"Graph {name!r} does not exist for service {self.uri!r}.")
        return Graph._of(self, name)

    def _component(self) -> tuple[str, str, str]:
        rows = self.default_graph.call("dbms.components").data()
        row = next((r for r in rows if r["name"].startswith("Neo4j")), rows[0])
        return row["name"], row["versions"][0], row["edition"]

    @property
    def kernel_version(self) -> Version:
        """Return the version of Neo4j in numbers, such as `(5, 26, 30)`."""
        return Version(self._component()[1])

    @property
    def product(self) -> str:
        """Return name, version and edition of the product."""
        name, version, edition = self._component()
        return f"{name} {version} ({edition.title()})"

    @property
    def config(self) -> dict[str, str]:
        """Return the settings of the server by name."""
        text = "SHOW SETTINGS YIELD name, value RETURN name, value"
        return dict(map(tuple, self.default_graph.query(text)))

    def _address(self) -> tuple[str, int]:
        host, port = self.profile.address
        return "localhost" if is_loopback(host) else host.lower(), port

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GraphService) and self._address() == other._address()

    def __hash__(self) -> int:
        return hash(self._address())

    def __repr__(self) -> str:
        return f"<GraphService uri={self.uri!r}>"


_LOCK = threading.Lock()
_HELD = ExitStack()
"""Managed servers, until the process ends."""
atexit.register(_HELD.close)


@cache
def _managed_server(settings: Settings) -> Settings:
    """Join or start the managed server, and return the settings that point to it."""
    from knowtrail.graph.session import served

    _LOG.warning(
        "No address of a server is given: Knowtrail's own in %s is used, and started "
        "where it does not run. Set NEO4J_URI for another.",
        settings.home,
    )
    return _HELD.enter_context(served(settings))


def _alone(
    method: Callable[Concatenate[Transaction, P], R], *, readonly: bool = False
) -> Callable[Concatenate[Graph, P], R]:
    """Return what does as a method of a transaction, in one of its own."""

    @wraps(method)
    def run(self: Graph, /, *args: P.args, **named: P.kwargs) -> R:
        return method(self.auto(readonly=readonly), *args, **named)

    return run


class Graph:
    """A database of a Neo4j server, the default one without a name.

    It takes what `GraphService` does, and may be shared by threads; each statement has
    a session of its own, closed when the statement returns. Statements of one service
    see its earlier writes. A graph is always true, also one without relationships,
    which `len` counts.
    """

    def __init__(
        self, profile: Profile = None, name: str | None = None, **settings: Any
    ) -> None:
        if name is not None and not isinstance(name, str):
            msg = f"The name of a graph is text, not {type(name).__name__}: {name!r}."
            raise UnsupportedValueError(msg)
        self.service = GraphService(profile, **settings)
        self.name = self.service._database if name is None else name
        self._shown = name

    @classmethod
    def _of(cls, service: GraphService, name: str | None) -> Self:
        graph = cls.__new__(cls)
        graph.service = service
        graph.name = graph._shown = name
        return graph

    @property
    def schema(self) -> Schema:
        """Return its constraints and indexes."""
        return Schema(self)

    @property
    def nodes(self) -> NodeMatcher:
        """Return a matcher of its nodes: `graph.nodes.match("Person").first()`."""
        return NodeMatcher(self)

    @property
    def relationships(self) -> RelationshipMatcher:
        """Return a matcher of its relationships."""
        return RelationshipMatcher(self)

    @property
    def call(self) -> ProcedureLibrary:
        """Return the procedures of the server: `graph.call.dbms.components()`."""
        return ProcedureLibrary(self)

    def _session(self, *, readonly: bool = False) -> neo4j.Session:
        driver = self.service._driver
        if not self.service._closing.alive:
            msg = f"The service {self.service.uri!r} was closed: open a new graph."
            raise ConnectionUnavailable(msg)
        return driver.session(
            database=self.name,
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
        """Make all of a transaction take effect."""
        tx.commit()

    def rollback(self, tx: Transaction) -> None:
        """Make nothing of a transaction take effect."""
        tx.rollback()

    run = _alone(Transaction.run)
    evaluate = _alone(Transaction.evaluate)
    create = _alone(Transaction.create)
    push = _alone(Transaction.push)
    pull = _alone(Transaction.pull, readonly=True)
    delete = _alone(Transaction.delete)
    separate = _alone(Transaction.separate)
    exists = _alone(Transaction.exists, readonly=True)

    def query(
        self, cypher: str, parameters: Values = None, timeout: float | None = None
    ) -> Cursor:
        """Run a statement that only reads, again where that may help.

        The server gives each attempt `timeout` seconds.
        """

        @neo4j.unit_of_work(timeout=timeout)
        def work(tx: neo4j.ManagedTransaction) -> Cursor:
            return read_all(tx.run(cypher, sendable(dict(parameters or {}))), self)

        with translated(self.service.uri), self._session(readonly=True) as session:
            return session.execute_read(work)

    def update(
        self, cypher: Work, parameters: Any = None, timeout: float | None = None
    ) -> None:
        """Run a piece of work that writes and returns nothing, again where that helps.

        It is a statement, or a function of a transaction, which may be called more than
        once; where it is a generator, it is run to its end. `parameters` are those of
        the statement, or keyword (a dictionary) or further arguments of the function.
        The server gives each attempt `timeout` seconds.
        """
        if not isinstance(cypher, str) and not callable(cypher):
            raise TypeError(f"Work is a statement or a function, not {cypher!r}.")
        own: list[BaseException] = []

        @neo4j.unit_of_work(timeout=timeout)
        def work(bolt: neo4j.ManagedTransaction) -> None:
            tx = Transaction(self, _bolt=bolt)
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
            with translated(self.service.uri), self._session() as session:
                session.execute_write(work)
        except ServiceUnavailable as error:
            raise WriteServiceUnavailable(str(error)) from error
        except InputError:
            if own:  # an error of the function, not one of the driver
                raise own[-1] from None
            raise

    def merge(
        self, subgraph: Subgraph, label: str | None = None, *property_keys: Any
    ) -> None:
        """Store a subgraph over what is like it; see `Transaction.merge`."""
        keys: list[Any] = []
        for key in property_keys:
            keys += key if isinstance(key, list | tuple) else [key]
        self.auto().merge(subgraph, label, tuple(keys))

    def delete_all(self) -> None:
        """Delete every node and relationship of the graph, in batches."""
        self.run(statement("py2neo/delete_all_relationships"))
        self.run(statement("py2neo/delete_all"))

    def match(
        self, nodes: Ends = None, r_type: Any = None, limit: int | None = None
    ) -> RelationshipMatch:
        """Return a match of relationships, see `RelationshipMatch`."""
        return self.relationships.match(nodes, r_type).limit(limit)

    def match_one(self, nodes: Ends = None, r_type: Any = None) -> Relationship | None:
        """Return one relationship, see `match`; None where there is none."""
        return self.match(nodes, r_type).first()

    def __len__(self) -> int:
        return len(self.relationships)

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return False
        return self.service == other.service and self.name == other.name

    def __hash__(self) -> int:
        return hash((self.service, self.name))

    def __repr__(self) -> str:
        name = "" if self._shown is None else f", name={self._shown!r}"
        return f"{type(self).__name__}({self.service.uri!r}{name})"


class SystemGraph(Graph):
    """The database that describes a server: its databases, users and rights."""

    def __init__(self, profile: Profile = None, **settings: Any) -> None:
        super().__init__(profile, "system", **settings)

    def __repr__(self) -> str:
        return f"SystemGraph({self.service.uri!r})"


def _do(tx: Transaction, work: Work, parameters: Any) -> None:
    if isinstance(work, str):
        tx.run(work, parameters)
        return
    named = isinstance(parameters, dict)
    done = work(tx, **parameters) if named else work(tx, *(parameters or ()))
    if isgenerator(done):
        for _ in done:
            pass


class Schema:
    """The schema as py2neo saw it: labels, types, indexes, uniqueness constraints.

    What is there already, or is to be dropped and is not there, is a `ClientError`.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    @property
    def node_labels(self) -> frozenset[str]:
        """Return the labels that the graph knows, of nodes and of its schema."""
        return frozenset(r[0] for r in self.graph.query(statement("py2neo/labels")))

    @property
    def relationship_types(self) -> frozenset[str]:
        """Return the types that the graph knows, of relationships and of its schema."""
        return frozenset(r[0] for r in self.graph.query(statement("py2neo/types")))

    def create_index(self, label: str, *property_keys: str) -> None:
        """Create an index on one property, or on several together."""
        if not property_keys:
            msg = f"An index on {label!r} needs a property: give at least one key."
            raise InputError(msg)
        keys = ", ".join(f"_.{cypher_escape(key)}" for key in property_keys)
        self.graph.update(f"CREATE INDEX FOR (_:{cypher_escape(label)}) ON ({keys})")

    def create_uniqueness_constraint(self, label: str, property_key: str) -> None:
        """Say that no two nodes of a label have one value of a property."""
        self.graph.update(
            f"CREATE CONSTRAINT FOR (_:{cypher_escape(label)}) "
            f"REQUIRE _.{cypher_escape(property_key)} IS UNIQUE"
        )

    def drop_index(self, label: str, *property_keys: str) -> None:
        """Drop the index on one property, or on several in its order."""
        self._drop("index", "indexes", label, property_keys)

    def drop_uniqueness_constraint(self, label: str, property_key: str) -> None:
        """Drop the uniqueness constraint on a property."""
        self._drop("constraint", "constraints", label, (property_key,))

    def get_indexes(self, label: str) -> list[tuple[str, ...]]:
        """Return the keys of each index on a label, but for those of constraints."""
        return [keys for _, keys in self._listed("indexes", label)]

    def get_uniqueness_constraints(self, label: str) -> list[str]:
        """Return the properties that, each by itself, are unique on a label."""
        found = self._listed("constraints", label)
        return [keys[0] for _, keys in found if len(keys) == 1]

    def _listed(self, what: str, label: str) -> list[tuple[str, tuple[str, ...]]]:
        cypher_escape(label)
        found = self.graph.query(statement(f"py2neo/{what}"), {"label": label})
        return [(name, tuple(keys)) for name, keys in found]

    def _drop(self, what: str, these: str, label: str, keys: tuple[str, ...]) -> None:
        found = (name for name, own in self._listed(these, label) if own == keys)
        name = next(found, None)
        if name is None:
            msg = f"There is no {what} on :{label}({', '.join(keys)})."
            raise ClientError(msg, f"Neo.ClientError.Schema.{what.title()}NotFound")
        self.graph.update(f"DROP {what.upper()} {cypher_escape(name)}")


class ProcedureLibrary:
    """The procedures of a server: `call.db.labels()`, `call["db.labels"]()`."""

    def __init__(self, graph: Graph, name: str = "") -> None:
        self._graph = graph
        self._name = name

    def __getattr__(self, name: str) -> Procedure:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Procedure:
        return Procedure(self._graph, f"{self._name}.{name}".removeprefix("."))

    def __call__(self, procedure: str, *args: Any) -> Cursor:
        """Run a procedure by its name."""
        return self[procedure](*args)

    def __iter__(self) -> Iterator[str]:
        cursor = self._graph.query("SHOW PROCEDURES YIELD name RETURN name")
        return iter([record[0] for record in cursor])

    def __dir__(self) -> list[str]:
        return list(self)


class Procedure(ProcedureLibrary):
    """A procedure, or the beginning of some: `graph.call.dbms.components`."""

    def __dir__(self) -> list[str]:
        start = f"{self._name}."
        names = [n.removeprefix(start) for n in self if n.startswith(start)]
        return sorted({name.split(".")[0] for name in names})

    def __call__(self, *args: Any, keys: Iterable[str] | None = None) -> Cursor:
        """Run the procedure; `keys` are the columns to keep, all without any."""
        name = ".".join(map(cypher_escape, self._name.split(".")))
        values = {f"p{place}": value for place, value in enumerate(args)}
        text = f"CALL {name}({', '.join(f'${key}' for key in values)})"
        if keys is not None:
            columns = ", ".join(map(cypher_escape, keys))
            text += f" YIELD {columns} RETURN {columns}"
        return self._graph.run(text, values)

    def __repr__(self) -> str:
        return f"<Procedure {self._name}>"

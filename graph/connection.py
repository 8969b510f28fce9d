"""Connections to Neo4j: one driver, one database, statements by name.

The driver retries transient errors (deadlocks, leader changes, lost connections)
inside managed transactions, so that every statement written here can run twice.
A driver that the caller made is used and never closed.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from graph.capabilities import Capabilities, capabilities_from
from graph.errors import (
    CredentialsError,
    DatabaseError,
    SettingsError,
    UnavailableError,
)
from graph.statements import statement

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import neo4j

    from graph.settings import Settings

__all__ = ["AsyncConnection", "Connection", "Counters", "translate_errors"]

_SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
_DRIVER_OPTIONS: dict[str, Any] = {
    "user_agent": "knowtrail",
    "connection_timeout": 15,
    "max_transaction_retry_time": 30,
    "notifications_min_severity": "OFF",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """What a write really changed, as the server counted it."""

    nodes_created: int = 0
    nodes_deleted: int = 0
    relationships_created: int = 0
    relationships_deleted: int = 0
    properties_set: int = 0
    labels_added: int = 0

    def __add__(self, other: Counters) -> Counters:
        """Add two counts field by field."""
        return Counters(
            nodes_created=self.nodes_created + other.nodes_created,
            nodes_deleted=self.nodes_deleted + other.nodes_deleted,
            relationships_created=self.relationships_created
            + other.relationships_created,
            relationships_deleted=self.relationships_deleted
            + other.relationships_deleted,
            properties_set=self.properties_set + other.properties_set,
            labels_added=self.labels_added + other.labels_added,
        )

    @property
    def changed(self) -> bool:
        """Return whether anything was written."""
        return self != Counters()

    @classmethod
    def of(cls, summary: neo4j.ResultSummary) -> Counters:
        """Read the counters of a result summary."""
        c = summary.counters
        return cls(
            nodes_created=c.nodes_created,
            nodes_deleted=c.nodes_deleted,
            relationships_created=c.relationships_created,
            relationships_deleted=c.relationships_deleted,
            properties_set=c.properties_set,
            labels_added=c.labels_added,
        )


@contextmanager
def translate_errors(where: str = "Neo4j") -> Iterator[None]:
    """Turn the driver's errors into ours, with one line that says what to do."""
    from neo4j import exceptions as ne

    try:
        yield
    except ne.AuthError as error:
        msg = (
            f"{where} refused the user name or password: check NEO4J_USERNAME and "
            "NEO4J_PASSWORD."
        )
        raise CredentialsError(msg) from error
    except (ne.ServiceUnavailable, ne.SessionExpired, ne.IncompleteCommit) as error:
        detail = _first_line(error)
        msg = f"{where} does not answer ({detail}): check that the server runs."
        raise UnavailableError(msg) from error
    except ne.ConfigurationError as error:
        msg = f"The address of {where} cannot be used: {_first_line(error)}."
        raise SettingsError(msg) from error
    except ne.Neo4jError as error:
        if error.code and error.code.startswith("Neo.ClientError.Security"):
            hint = " Wait ten seconds." if error.code.endswith("RateLimit") else ""
            msg = f"{where} refused: {error.message}{hint}"
            raise CredentialsError(msg) from error
        if error.code == "Neo.ClientError.Database.DatabaseNotFound":
            msg = (
                f"{where} has no such database ({error.message}): check NEO4J_DATABASE."
            )
            raise SettingsError(msg) from error
        msg = f"{where} reported {error.code}: {error.message}"
        raise DatabaseError(msg) from error
    except ne.DriverError as error:
        msg = f"The Neo4j driver failed: {_first_line(error)}."
        raise DatabaseError(msg) from error


def _first_line(error: BaseException) -> str:
    """Return the first line of an error's text, without the resolver's detail."""
    line = (str(error).splitlines() or [type(error).__name__])[0]
    return line.partition(" (resolved to ")[0].rstrip(".:")


def _address(settings: Settings) -> str:
    """Return the server's address.

    Raises:
        SettingsError: If there is none or it cannot be one; a password written into it
            is not repeated.
    """
    uri = settings.uri
    if uri is None:
        msg = "No Neo4j address is set: give --uri or NEO4J_URI."
        raise SettingsError(msg)
    try:
        parts = urlsplit(uri)
        sound = (
            parts.scheme in _SCHEMES
            and bool(parts.hostname)
            and (parts.port is None or parts.port > 0)
        )
    except ValueError:
        sound = False
    if "@" in uri:
        msg = (
            "The Neo4j address has a user name in it: give NEO4J_USERNAME and "
            "NEO4J_PASSWORD instead."
        )
        raise SettingsError(msg)
    if not sound:
        msg = f"The Neo4j address {uri!r} cannot be used: write bolt://HOST:PORT."
        raise SettingsError(msg)
    return uri


def _credentials(settings: Settings) -> tuple[str, str] | None:
    """Return user name and password, None where the server asks for none."""
    if settings.password is None:
        return None
    return settings.username, settings.password


class Connection:
    """A Neo4j database, reached through the official driver.

    Use it as a context manager, or call `close`. Safe to share between threads as
    the driver is; statements of one thread see its earlier writes.

    Example:
        ```python
        with Connection.open(settings) as connection:
            rows = connection.read("corpus/list")
        ```
    """

    def __init__(
        self, driver: neo4j.Driver, *, database: str = "neo4j", owned: bool = False
    ) -> None:
        self.driver = driver
        self.database = database
        self._owned = owned
        self._capabilities: Capabilities | None = None

    @classmethod
    def open(cls, settings: Settings) -> Self:
        """Connect and check that the server answers and accepts the credentials.

        Raises:
            SettingsError: If the settings have no address or password.
            CredentialsError: If user name or password are refused.
            UnavailableError: If nothing answers.
        """
        import neo4j

        uri = _address(settings)
        with translate_errors(f"Neo4j at {uri}"):
            driver = neo4j.GraphDatabase.driver(
                uri, auth=_credentials(settings), **_DRIVER_OPTIONS
            )
            try:
                driver.verify_connectivity()
            except BaseException:
                driver.close()
                raise
        return cls(driver, database=settings.database, owned=True)

    def close(self) -> None:
        """Close the driver, if this connection made it."""
        if self._owned:
            self.driver.close()

    def __enter__(self) -> Self:
        """Return the connection."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connection."""
        self.close()

    @property
    def capabilities(self) -> Capabilities:
        """Say what the server can do; probed once."""
        if self._capabilities is None:
            rows = self.read("schema/components")
            self._capabilities = capabilities_from(rows)
        return self._capabilities

    def vector_statement(self, name: str) -> str:
        """Return the name of the form of a statement that suits the server."""
        return name if self.capabilities.vector_values else f"{name}_lts"

    def read(self, name: str, /, **params: Any) -> list[dict[str, Any]]:
        """Run a stored statement in a read transaction and return its rows."""
        return self.query(statement(name), params)

    def query(
        self, text: str, params: Mapping[str, Any] | None = None
    ) -> list[dict[str, Any]]:
        """Run a Cypher text in a read transaction and return its rows."""
        from neo4j import RoutingControl

        with translate_errors():
            result = self.driver.execute_query(
                text,
                dict(params or {}),
                database_=self.database,
                routing_=RoutingControl.READ,
            )
        return [record.data() for record in result.records]

    def stream(self, name: str, /, **params: Any) -> Iterator[neo4j.Record]:
        """Yield the rows of a stored statement without holding them all."""
        with (
            translate_errors(),
            self.driver.session(
                database=self.database,
                default_access_mode="READ",
                fetch_size=500,
                bookmark_manager=self.driver.execute_query_bookmark_manager,
            ) as session,
        ):
            yield from session.run(statement(name), params)

    def write(self, name: str, /, **params: Any) -> Counters:
        """Run a stored statement in a write transaction and count its changes."""
        return self.write_all([(name, params)])

    def write_all(self, steps: Sequence[tuple[str, Mapping[str, Any]]]) -> Counters:
        """Run stored statements in one write transaction: all of them or none.

        The transaction is retried on transient errors, so each statement must be
        able to run twice.

        Args:
            steps: Statement names with their parameters, in order.

        Returns:
            The summed counters.
        """

        def work(tx: neo4j.ManagedTransaction) -> Counters:
            total = Counters()
            for name, params in steps:
                total += Counters.of(tx.run(statement(name), dict(params)).consume())
            return total

        with (
            translate_errors(),
            self.driver.session(
                database=self.database,
                bookmark_manager=self.driver.execute_query_bookmark_manager,
            ) as session,
        ):
            return session.execute_write(work)

    def run_schema(self, text: str, /, **params: Any) -> Counters:
        """Run a schema command in an auto-commit transaction."""
        with (
            translate_errors(),
            self.driver.session(
                database=self.database,
                bookmark_manager=self.driver.execute_query_bookmark_manager,
            ) as session,
        ):
            return Counters.of(session.run(text, params).consume())


class AsyncConnection:
    """The asynchronous twin of `Connection`, for reading."""

    def __init__(
        self,
        driver: neo4j.AsyncDriver,
        *,
        database: str = "neo4j",
        owned: bool = False,
    ) -> None:
        self.driver = driver
        self.database = database
        self._owned = owned
        self._capabilities: Capabilities | None = None

    @classmethod
    async def open(cls, settings: Settings) -> Self:
        """Connect and check that the server answers and accepts the credentials.

        Raises:
            SettingsError: If the settings have no address or password.
            CredentialsError: If user name or password are refused.
            UnavailableError: If nothing answers.
        """
        import neo4j

        uri = _address(settings)
        with translate_errors(f"Neo4j at {uri}"):
            driver = neo4j.AsyncGraphDatabase.driver(
                uri, auth=_credentials(settings), **_DRIVER_OPTIONS
            )
            try:
                await driver.verify_connectivity()
            except BaseException:
                await driver.close()
                raise
        return cls(driver, database=settings.database, owned=True)

    async def aclose(self) -> None:
        """Close the driver, if this connection made it."""
        if self._owned:
            await self.driver.close()

    async def __aenter__(self) -> Self:
        """Return the connection."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the connection."""
        await self.aclose()

    async def acapabilities(self) -> Capabilities:
        """Say what the server can do; probed once."""
        if self._capabilities is None:
            rows = await self.aread("schema/components")
            self._capabilities = capabilities_from(rows)
        return self._capabilities

    async def aread(self, name: str, /, **params: Any) -> list[dict[str, Any]]:
        """Run a stored statement in a read transaction and return its rows."""
        return await self.aquery(statement(name), params)

    async def aquery(
        self, text: str, params: Mapping[str, Any] | None = None
    ) -> list[dict[str, Any]]:
        """Run a Cypher text in a read transaction and return its rows."""
        from neo4j import RoutingControl

        with translate_errors():
            result = await self.driver.execute_query(
                text,
                dict(params or {}),
                database_=self.database,
                routing_=RoutingControl.READ,
            )
        return [record.data() for record in result.records]

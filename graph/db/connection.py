"""Connections to Neo4j: one driver, one database, statements by name.

Transient errors (deadlocks, leader changes, lost connections) are tried again, those of
writes by the driver, so that every statement written here can run twice. What only
reads commits itself, which takes one round trip.
A driver that the caller made is used and never closed.
"""

from __future__ import annotations

import re
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast

from knowtrail.graph.db.driver import Counters as Counters
from knowtrail.graph.db.driver import (
    credentials,
    driver_options,
    server_address,
    translate_errors,
)
from knowtrail.graph.db.statements import statement
from knowtrail.graph.errors import DatabaseError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence

    import neo4j

    from knowtrail.graph.settings import Settings


D = TypeVar("D", bound="neo4j.Driver | neo4j.AsyncDriver")
_CUT_COMMITS = 3
"""Times that a transaction is run again whose answer to the commit did not come."""


_PULLED = 500
"""Rows that a stream asks for at once; those of the first time are asked for again."""


def _again(retrying: str, seconds: float) -> Any:
    """Return what does again what a lost connection undid, by tenacity's class."""
    import tenacity

    return getattr(tenacity, retrying)(
        retry=tenacity.retry_if_exception(
            lambda error: getattr(error, "is_retryable", bool)()
        ),
        wait=tenacity.wait_random_exponential(multiplier=0.2, max=5),
        stop=tenacity.stop_after_delay(seconds),
        reraise=True,
    )


def _answered(retrying: str) -> Any:
    """Return what runs a write again whose commit was cut; the driver does not."""
    import tenacity
    from neo4j.exceptions import IncompleteCommit

    return getattr(tenacity, retrying)(
        retry=tenacity.retry_if_exception_type(IncompleteCommit),
        stop=tenacity.stop_after_attempt(1 + _CUT_COMMITS),
        reraise=True,
    )


class _Connected(Generic[D]):
    """What both connections are: a database, and the driver that reaches it."""

    retry_seconds = 30.0
    """How long that is tried again which the driver tries once."""

    def __init__(
        self, driver: D, *, database: str = "neo4j", owned: bool = False
    ) -> None:
        self.driver = driver
        self.database = database
        self._owned = owned
        self._capabilities: Capabilities | None = None
        self.before_commits: list[Callable[[neo4j.ManagedTransaction], None]] = []

    def _seeing(self, **options: Any) -> dict[str, Any]:
        bookmarks = self.driver.execute_query_bookmark_manager
        return {"database": self.database, "bookmark_manager": bookmarks, **options}


class Connection(_Connected["neo4j.Driver"]):
    """A Neo4j database, reached through the official driver.

    Use it as a context manager, or call `close`. Safe to share between threads as the
    driver is; statements of one thread see its earlier writes. `asks_for_models` tells
    whether the server may be asked for what its models make.
    """

    asks_for_models = True
    schema_seconds: float | None = None
    """How long a schema command may take, where that is not the server's to say."""

    @classmethod
    def open(cls, settings: Settings) -> Self:
        """Connect and check that the server answers and accepts the credentials.

        Raises:
            SettingsError: If the settings have no address or password.
            CredentialsError: If user name or password are refused.
            UnavailableError: If nothing answers.
        """
        import neo4j

        uri = server_address(settings)
        with translate_errors(f"Neo4j at {uri}"):
            driver = neo4j.GraphDatabase.driver(
                uri, auth=credentials(settings), **driver_options(settings)
            )
            try:
                driver.verify_connectivity()
            except BaseException:
                driver.close()
                raise
        opened = cls(driver, database=settings.database, owned=True)
        opened.retry_seconds = settings.retry_seconds
        opened.place = f"{uri}\0{settings.database}"
        return opened

    def close(self) -> None:
        """Close the driver, if this connection made it."""
        if self._owned:
            self.driver.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @cached_property
    def place(self) -> str:
        """Return what tells the database from those of other servers: its address."""
        with translate_errors():
            return f"{self.driver.get_server_info().address}\0{self.database}"

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
        """Run a stored statement that only reads and return its rows."""
        return self.query(statement(name), params)

    def query(
        self, text: str, params: Mapping[str, Any] | None = None
    ) -> list[dict[str, Any]]:
        """Run a Cypher text that only reads and return its rows."""
        return [record.data() for record in self._records(text, params)]

    def values(self, text: str, params: Mapping[str, Any]) -> list[list[Any]]:
        """Run a Cypher text as `query` does; return the values of each row as they are.

        `query` copies every list, which for vectors takes longer than to read them.
        """
        return [record.values() for record in self._records(text, params)]

    def _records(
        self, text: str, params: Mapping[str, Any] | None
    ) -> list[neo4j.Record]:
        def run() -> list[neo4j.Record]:
            with self.session(default_access_mode="READ") as session:
                return list(session.run(text, dict(params or {})))

        with translate_errors():
            records: list[neo4j.Record] = _again("Retrying", self.retry_seconds)(run)
        return records

    def stream(self, name: str, /, **params: Any) -> Iterator[neo4j.Record]:
        """Yield the rows of a stored statement without holding them all.

        A connection that is lost among the first 500 rows costs nothing.
        """

        def begin() -> tuple[list[neo4j.Record], neo4j.Result]:
            result = sessions.enter_context(
                self.session(default_access_mode="READ", fetch_size=_PULLED)
            ).run(statement(name), params)
            return result.fetch(_PULLED), result

        with translate_errors(), ExitStack() as sessions:
            rows, result = _again("Retrying", self.retry_seconds)(begin)
            yield from rows
            yield from result

    def session(self, **options: Any) -> neo4j.Session:
        """Return a session that sees what earlier ones wrote."""
        return self.driver.session(**self._seeing(**options))

    def write(self, name: str, /, **params: Any) -> Counters:
        """Run a stored statement in a write transaction and count its changes."""
        return self.write_all([(name, params)])

    def write_all(self, steps: Sequence[tuple[str, Mapping[str, Any]]]) -> Counters:
        """Run stored statements, by name with parameters, in one write transaction.

        All of them take effect or none. The transaction is retried on transient errors
        and where the answer to its commit is lost, so each statement must be able to
        run twice. Returns the summed counters of the last run.
        """

        def work(tx: neo4j.ManagedTransaction) -> Counters:
            total = Counters()
            for name, params in steps:
                total += Counters.of(tx.run(statement(name), dict(params)).consume())
            self.check_commit(tx)
            return total

        with translate_errors(), self.session() as session:
            total: Counters = _answered("Retrying")(session.execute_write, work)
        return total

    def check_commit(self, tx: neo4j.ManagedTransaction) -> None:
        """Refuse to commit where the right to write was lost: a transaction's end."""
        for check in tuple(self.before_commits):
            check(tx)

    def run_schema(self, text: str, /, **params: Any) -> Counters:
        """Run a command that can run twice in an auto-commit transaction."""
        import neo4j

        query = neo4j.Query(text, timeout=self.schema_seconds)

        def run() -> Counters:
            with self.session() as session:
                return Counters.of(session.run(query, params).consume())

        with translate_errors():
            counters: Counters = _again("Retrying", self.retry_seconds)(run)
        return counters


class AsyncConnection(_Connected["neo4j.AsyncDriver"]):
    """The asynchronous twin of `Connection`: the same methods with an `a` before."""

    @classmethod
    async def open(cls, settings: Settings) -> Self:
        """Connect as `Connection.open` does."""
        import neo4j

        uri = server_address(settings)
        with translate_errors(f"Neo4j at {uri}"):
            driver = neo4j.AsyncGraphDatabase.driver(
                uri, auth=credentials(settings), **driver_options(settings)
            )
            try:
                await driver.verify_connectivity()
            except BaseException:
                await driver.close()
                raise
        opened = cls(driver, database=settings.database, owned=True)
        opened.retry_seconds = settings.retry_seconds
        return opened

    async def aclose(self) -> None:
        """Close the driver, if this connection made it."""
        if self._owned:
            await self.driver.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def acapabilities(self) -> Capabilities:
        """Say what the server can do; probed once."""
        if self._capabilities is None:
            rows = await self.aread("schema/components")
            self._capabilities = capabilities_from(rows)
        return self._capabilities

    async def aread(self, name: str, /, **params: Any) -> list[dict[str, Any]]:
        """Run a stored statement that only reads and return its rows."""
        return await self.aquery(statement(name), params)

    async def aquery(
        self, text: str, params: Mapping[str, Any] | None = None
    ) -> list[dict[str, Any]]:
        """Run a Cypher text that only reads and return its rows."""
        return [record.data() for record in await self._records(text, params)]

    async def avalues(self, text: str, params: Mapping[str, Any]) -> list[list[Any]]:
        """Run a Cypher text as `aquery` does; return each row's values as they are."""
        return [record.values() for record in await self._records(text, params)]

    async def _records(
        self, text: str, params: Mapping[str, Any] | None
    ) -> list[neo4j.Record]:
        async def run() -> list[neo4j.Record]:
            async with self.session(default_access_mode="READ") as session:
                return [
                    one async for one in await session.run(text, dict(params or {}))
                ]

        with translate_errors():
            records = await _again("AsyncRetrying", self.retry_seconds)(run)
        return cast("list[neo4j.Record]", records)

    async def astream(self, name: str, /, **params: Any) -> AsyncIterator[neo4j.Record]:
        """Yield the rows of a stored statement as `Connection.stream` does."""

        async def begin() -> tuple[list[neo4j.Record], neo4j.AsyncResult]:
            session = await sessions.enter_async_context(
                self.session(default_access_mode="READ", fetch_size=_PULLED)
            )
            result = await session.run(statement(name), params)
            return await result.fetch(_PULLED), result

        with translate_errors():
            async with AsyncExitStack() as sessions:
                rows, result = await _again("AsyncRetrying", self.retry_seconds)(begin)
                for record in rows:
                    yield record
                async for record in result:
                    yield record

    def session(self, **options: Any) -> neo4j.AsyncSession:
        """Return a session that sees what earlier ones wrote."""
        return self.driver.session(**self._seeing(**options))

    async def awrite(self, name: str, /, **params: Any) -> Counters:
        """Run a stored statement in a write transaction and count its changes."""
        return await self.awrite_all([(name, params)])

    async def awrite_all(
        self, steps: Sequence[tuple[str, Mapping[str, Any]]]
    ) -> Counters:
        """Run statements in one write transaction, as `Connection.write_all` does."""

        async def work(tx: neo4j.AsyncManagedTransaction) -> Counters:
            total = Counters()
            for name, params in steps:
                result = await tx.run(statement(name), dict(params))
                total += Counters.of(await result.consume())
            return total

        with translate_errors():
            async with self.session() as session:
                again = _answered("AsyncRetrying")
                return cast("Counters", await again(session.execute_write, work))

    async def arun_schema(self, text: str, /, **params: Any) -> Counters:
        """Run a command as `Connection.run_schema` does."""

        async def run() -> Counters:
            async with self.session() as session:
                result = await session.run(text, params)
                return Counters.of(await result.consume())

        with translate_errors():
            counters: Counters = await _again("AsyncRetrying", self.retry_seconds)(run)
        return counters


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """The version of a server, such as (5, 26, 30), and what follows from it."""

    version: tuple[int, ...]
    edition: str

    @property
    def vector_values(self) -> bool:
        """Return whether vectors travel as single values."""
        return self.version >= (2025, 10)

    @property
    def search(self) -> bool:
        """Return whether the server has the `SEARCH` clause."""
        return self.version >= (2026, 1)

    @property
    def filtered_vector_index(self) -> bool:
        """Return whether a vector index can be filtered inside the search."""
        return self.version >= (2026, 1)

    @property
    def quantization_type(self) -> bool:
        """Return whether `vector.quantization.type` is the option's name."""
        return self.version >= (2026, 6)


def capabilities_from(rows: Sequence[dict[str, Any]]) -> Capabilities:
    """Read capabilities from `dbms.components`; refuse servers older than 5.26."""
    for row in rows:
        if row["name"] == "Neo4j Kernel":
            text = row["version"]
            version = tuple(int(n) for n in re.findall(r"\d+", text)[:3])
            if version < (5, 26):
                msg = f"Neo4j {text} is too old: use 5.26 or a 2026 release."
                raise DatabaseError(msg)
            return Capabilities(version=version, edition=row["edition"])
    raise DatabaseError("The server does not say which version of Neo4j it is.")

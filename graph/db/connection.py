"""Connections to Neo4j: one driver, one database, statements by name.

The driver retries transient errors (deadlocks, leader changes, lost connections)
inside managed transactions, so that every statement written here can run twice.
A driver that the caller made is used and never closed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from knowtrail.graph.db.driver import (
    Counters,
    credentials,
    driver_options,
    server_address,
    translate_errors,
)
from knowtrail.graph.db.statements import statement
from knowtrail.graph.errors import DatabaseError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

    import neo4j

    from knowtrail.graph.settings import Settings

__all__ = [
    "AsyncConnection",
    "Capabilities",
    "Connection",
    "Counters",
    "capabilities_from",
    "translate_errors",
]


class Connection:
    """A Neo4j database, reached through the official driver.

    Use it as a context manager, or call `close`. Safe to share between threads as the
    driver is; statements of one thread see its earlier writes. `asks_for_models` tells
    whether the server may be asked for what its models make.
    """

    asks_for_models = True

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
        return cls(driver, database=settings.database, owned=True)

    def close(self) -> None:
        """Close the driver, if this connection made it."""
        if self._owned:
            self.driver.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
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
        with translate_errors():
            result = self.driver.execute_query(
                text,
                dict(params or {}),
                database_=self.database,
                routing_="r",
            )
        return [record.data() for record in result.records]

    def values(self, text: str, params: Mapping[str, Any]) -> list[list[Any]]:
        """Run a Cypher text as `query` does; return the values of each row as they are.

        `query` copies every list, which for vectors takes longer than to read them.
        """

        def listed(result: neo4j.Result) -> list[list[Any]]:
            return result.values()

        with translate_errors():
            return self.driver.execute_query(
                text,
                dict(params),
                database_=self.database,
                routing_="r",
                result_transformer_=listed,
            )

    def stream(self, name: str, /, **params: Any) -> Iterator[neo4j.Record]:
        """Yield the rows of a stored statement without holding them all."""
        reading = self._session(default_access_mode="READ", fetch_size=500)
        with translate_errors(), reading as session:
            yield from session.run(statement(name), params)

    def _session(self, **options: Any) -> neo4j.Session:
        """Return a session that sees what earlier ones wrote."""
        return self.driver.session(
            database=self.database,
            bookmark_manager=self.driver.execute_query_bookmark_manager,
            **options,
        )

    def write(self, name: str, /, **params: Any) -> Counters:
        """Run a stored statement in a write transaction and count its changes."""
        return self.write_all([(name, params)])

    def write_all(self, steps: Sequence[tuple[str, Mapping[str, Any]]]) -> Counters:
        """Run stored statements, by name with parameters, in one write transaction.

        All of them take effect or none. The transaction is retried on transient errors,
        so each statement must be able to run twice. Returns the summed counters.
        """

        def work(tx: neo4j.ManagedTransaction) -> Counters:
            total = Counters()
            for name, params in steps:
                total += Counters.of(tx.run(statement(name), dict(params)).consume())
            return total

        with translate_errors(), self._session() as session:
            return session.execute_write(work)

    def run_schema(self, text: str, /, **params: Any) -> Counters:
        """Run a schema command in an auto-commit transaction."""
        with translate_errors(), self._session() as session:
            return Counters.of(session.run(text, params).consume())


class AsyncConnection:
    """The asynchronous twin of `Connection`: the same methods with an `a` before."""

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
        return cls(driver, database=settings.database, owned=True)

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
        """Run a stored statement in a read transaction and return its rows."""
        return await self.aquery(statement(name), params)

    async def aquery(
        self, text: str, params: Mapping[str, Any] | None = None
    ) -> list[dict[str, Any]]:
        """Run a Cypher text in a read transaction and return its rows."""
        with translate_errors():
            result = await self.driver.execute_query(
                text,
                dict(params or {}),
                database_=self.database,
                routing_="r",
            )
        return [record.data() for record in result.records]

    async def avalues(self, text: str, params: Mapping[str, Any]) -> list[list[Any]]:
        """Run a Cypher text as `aquery` does; return each row's values as they are."""

        async def listed(result: neo4j.AsyncResult) -> list[list[Any]]:
            return await result.values()

        with translate_errors():
            return await self.driver.execute_query(
                text,
                dict(params),
                database_=self.database,
                routing_="r",
                result_transformer_=listed,
            )

    async def astream(self, name: str, /, **params: Any) -> AsyncIterator[neo4j.Record]:
        """Yield the rows of a stored statement without holding them all."""
        with translate_errors():
            reading = self._session(default_access_mode="READ", fetch_size=500)
            async with reading as session:
                async for record in await session.run(statement(name), params):
                    yield record

    def _session(self, **options: Any) -> neo4j.AsyncSession:
        """Return a session that sees what earlier ones wrote."""
        return self.driver.session(
            database=self.database,
            bookmark_manager=self.driver.execute_query_bookmark_manager,
            **options,
        )

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
            async with self._session() as session:
                return await session.execute_write(work)

    async def arun_schema(self, text: str, /, **params: Any) -> Counters:
        """Run a schema command in an auto-commit transaction."""
        with translate_errors():
            async with self._session() as session:
                result = await session.run(text, params)
                return Counters.of(await result.consume())


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
    msg = "The server does not say which version of Neo4j it is."
    raise DatabaseError(msg)

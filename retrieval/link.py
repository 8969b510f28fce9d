"""The retriever's way to the database, for synchronous and asynchronous calls."""

from __future__ import annotations

import asyncio
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from graph.connection import AsyncConnection, Connection

if TYPE_CHECKING:
    import neo4j

    from graph.settings import Settings

__all__ = ["Link"]


class Link:
    """Connections that are opened when they are needed, and closed if opened here.

    Drivers that a caller gives are used and never closed. A link that was given only
    a synchronous driver has no asynchronous connection.

    Attributes:
        settings: Where the database is, for a link that connects by itself.
    """

    def __init__(
        self,
        *,
        connection: Connection | None = None,
        async_connection: AsyncConnection | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.settings = settings
        self._connection = connection
        self._given_async = async_connection
        self._opened = ExitStack()
        self._opened_async: WeakKeyDictionary[
            asyncio.AbstractEventLoop, AsyncConnection
        ] = WeakKeyDictionary()
        self._lock = threading.Lock()
        self._pointed = settings if settings is not None and settings.uri else None

    @classmethod
    def over(
        cls,
        driver: neo4j.Driver | None,
        async_driver: neo4j.AsyncDriver | None,
        database: str,
    ) -> Link:
        """Return a link over drivers that the caller keeps."""
        return cls(
            connection=Connection(driver, database=database) if driver else None,
            async_connection=(
                AsyncConnection(async_driver, database=database)
                if async_driver
                else None
            ),
        )

    def connection(self) -> Connection | None:
        """Return the synchronous connection; None where only an async one was given.

        Raises:
            SettingsError: If the address or password is missing.
            CredentialsError: If user name or password are refused.
            UnavailableError: If nothing answers.
        """
        with self._lock:
            if self._connection is None and self.settings is not None:
                pointed = self._server()
                self._connection = self._opened.enter_context(Connection.open(pointed))
            return self._connection

    async def aconnection(self) -> AsyncConnection | None:
        """Return the asynchronous connection of the running event loop, if any.

        A driver belongs to the event loop that made it, so each loop has its own.
        """
        if self._given_async is not None:
            return self._given_async
        if self.settings is None:
            return None
        loop = asyncio.get_running_loop()
        if loop in self._opened_async:
            return self._opened_async[loop]
        opened = await AsyncConnection.open(await asyncio.to_thread(self._pointed_to))
        kept = self._opened_async.setdefault(loop, opened)
        if kept is not opened:  # another task of this loop was quicker
            await opened.aclose()
        return kept

    def _pointed_to(self) -> Settings:
        """Do as `_server` does, one thread at a time."""
        with self._lock:
            return self._server()

    def _server(self) -> Settings:
        """Return settings with an address, starting the managed server if need be."""
        if self._pointed is None:
            from graph.cli_session import served

            if self.settings is None:  # pragma: no cover - callers have checked
                raise TypeError
            self._pointed = self._opened.enter_context(served(self.settings))
        return self._pointed

    def close(self) -> None:
        """Close what was opened for synchronous calls; a later call opens it anew."""
        with self._lock:
            self._opened.close()
            if self.settings is not None:
                self._connection = None
                self._pointed = self.settings if self.settings.uri else None

    async def aclose(self) -> None:
        """Close the running event loop's connection, then do as `close` does."""
        opened = self._opened_async.pop(asyncio.get_running_loop(), None)
        if opened is not None:
            await opened.aclose()
        self.close()

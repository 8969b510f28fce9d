"""The retriever's way to the database, for synchronous and asynchronous calls."""

from __future__ import annotations

import asyncio
import threading
import weakref
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from knowtrail.graph.db.connection import AsyncConnection, Connection

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from knowtrail.graph.settings import Settings


class Link:
    """Connections that are opened when they are needed, and closed if opened here.

    Drivers that a caller gives are used and never closed. A link that was given only a
    synchronous driver has no asynchronous connection; one with settings connects by
    itself.
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
        weakref.finalize(self, self._opened.close)  # at exit too
        self._opened_async: dict[
            asyncio.AbstractEventLoop, tuple[AsyncConnection, AsyncGenerator[None]]
        ] = {}
        self._lock = threading.RLock()
        self._pointed = settings if settings is not None and settings.uri else None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as settings; connections are opened anew."""
        return partial(Link, settings=self.settings), ()

    def __deepcopy__(self, memo: dict[int, Any]) -> Link:
        """Copy with what the caller gave; what was opened here is opened anew."""
        return Link(
            connection=None if self.settings else self._connection,
            async_connection=self._given_async,
            settings=self.settings,
        )

    def connection(self) -> Connection | None:
        """Return the synchronous connection; None where only an async one was given."""
        with self._lock:
            if self._connection is None and self.settings is not None:
                pointed = self._server()
                self._connection = self._opened.enter_context(Connection.open(pointed))
            return self._connection

    async def aconnection(self) -> AsyncConnection | None:
        """Return the asynchronous connection of the running event loop, if any.

        A driver belongs to the event loop that made it, so each loop has its own. It
        is closed when `asyncio.run` ends the loop; that of a loop which was closed
        without a word is let go at the next call.
        """
        if self._given_async is not None:
            return self._given_async
        if self.settings is None:
            return None
        loop = asyncio.get_running_loop()
        if loop in self._opened_async:
            return self._opened_async[loop][0]
        for ended in [each for each in self._opened_async if each.is_closed()]:
            del self._opened_async[ended]
        opened = await AsyncConnection.open(await asyncio.to_thread(self._server))
        if loop in self._opened_async:  # another task of this loop was quicker
            await opened.aclose()
            return self._opened_async[loop][0]
        closing = self._until_the_end(loop, opened)
        self._opened_async[loop] = opened, closing
        await anext(closing)
        return opened

    async def _until_the_end(
        self, loop: asyncio.AbstractEventLoop, opened: AsyncConnection
    ) -> AsyncGenerator[None]:
        """Close a connection when the loop closes its asynchronous generators."""
        try:
            yield
        finally:
            self._opened_async.pop(loop, None)
            await opened.aclose()

    def _server(self) -> Settings:
        """Return settings with an address, starting the managed server if need be."""
        with self._lock:
            if self._pointed is None:
                from knowtrail.graph.session import served

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
        opened = self._opened_async.get(asyncio.get_running_loop())
        if opened is not None:
            await opened[1].aclose()
        self.close()

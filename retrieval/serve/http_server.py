"""The process: a socket, the server on it, connections that must ask, a clean end."""

from __future__ import annotations

import asyncio
import errno
import logging
import signal
import socket
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from knowtrail.graph.blocking import Threads
from knowtrail.graph.db.connection import AsyncConnection
from knowtrail.graph.errors import PortInUseError, SettingsError
from knowtrail.retrieval.serve.app import create_app
from knowtrail.retrieval.serve.backend import GraphBackend, TemplateDoor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.serve.guard import Rules

HEAD_SECONDS = 10.0
WRITE_SECONDS = 30.0
MOST_CONNECTIONS = 200


class PatientProtocol(H11Protocol):
    """A connection that is closed where no whole request head comes in time.

    So is one that does not read its answer. Where there are `MOST_CONNECTIONS`, the
    next one takes the place of the one that has been idle longest, so that silent
    clients keep nobody out.
    """

    _head_timer: asyncio.TimerHandle | None = None
    _write_timer: asyncio.TimerHandle | None = None
    _heard = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request head."""
        super().connection_made(transport)
        self._await_head()
        if len(self.connections) >= MOST_CONNECTIONS:
            others: Any = self.connections - {self}
            if idle := [other for other in others if other.is_idle]:
                oldest = min(idle, key=lambda other: other._heard)
                oldest.transport.abort()
                self.connections.discard(oldest)

    def data_received(self, data: bytes) -> None:
        """Read on; the wait ends with a whole head, not with a part of one."""
        super().data_received(data)
        self._await_head()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request head."""
        super().on_response_complete()
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop_waiting()
        self.resume_writing()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Begin to wait for the caller to read."""
        super().pause_writing()
        self._await_reader(0)

    def resume_writing(self) -> None:
        """Write on."""
        if self._write_timer is not None:
            self._write_timer.cancel()
        super().resume_writing()

    def _await_reader(self, before: int) -> None:
        if (unread := self.transport.get_write_buffer_size()) == before:
            self.transport.abort()
            return
        later = self.loop.call_later
        self._write_timer = later(WRITE_SECONDS, self._await_reader, unread)

    @property
    def is_idle(self) -> bool:
        """Return whether no request is being answered."""
        cycle: Any = self.cycle
        return cycle is None or cycle.response_complete

    def _await_head(self) -> None:
        """Wait for a request head, unless one is there or already awaited."""
        if not self.is_idle:
            self._stop_waiting()
        elif self._head_timer is None:
            self._heard = self.loop.time()
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _stop_waiting(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
        self._head_timer = None

    def _give_up(self) -> None:
        self._head_timer = None
        self.transport.abort()


_LOG = logging.getLogger(__name__)
END_SECONDS = 5
LONGEST_HEAD = 256 * 1024
"""Bytes of request line and headers: a question of 10,000 characters, encoded."""

BACKLOG = 128


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens, so that a taken port is known at once.

    Who connects before the server is there waits for it. Port 0 takes a free one.
    Raises `PortInUseError`, or `SettingsError` if this machine has no such address.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind(address)
            bound.listen(BACKLOG)
        except OSError:
            bound.close()
            raise
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise PortInUseError(
                f"Port {port} of {host} is taken by another process: choose another "
                "with --port."
            ) from error
        msg = f"Cannot listen on {host!r} port {port}: {error.strerror or error}."
        raise SettingsError(msg) from error
    return bound


async def serve(
    settings: Settings,
    bound: socket.socket,
    *,
    rules: Rules,
    places: int,
    seconds: float,
    started: Callable[[], None],
) -> None:
    """Serve until SIGTERM or Ctrl-C; then finish what runs, for five seconds.

    So many calls run at once, and each may take so many seconds.
    """
    async with await AsyncConnection.open(settings) as connection:
        backend = GraphBackend(connection, settings)
        door = TemplateDoor(settings)
        app = create_app(
            backend, rules=rules, places=places, seconds=seconds, templates=door
        )
        loading = asyncio.create_task(backend.load_models())
        try:
            await run_app(app, bound, started=started)
        finally:
            loading.cancel()
            with suppress(asyncio.CancelledError):
                await loading
            door.close()


async def run_app(
    app: Any, bound: socket.socket, *, started: Callable[[], None]
) -> None:
    """Answer requests by an ASGI application until SIGTERM or Ctrl-C.

    It is told of no start and end; the socket is closed at the end.
    """
    server = _Server(
        uvicorn.Config(
            app,
            http=PatientProtocol,
            ws="none",
            loop="asyncio",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            h11_max_incomplete_event_size=LONGEST_HEAD,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_graceful_shutdown=END_SECONDS,
        ),
        started,
    )
    loop = asyncio.get_running_loop()
    loop.set_default_executor(Threads(thread_name_prefix="knowtrail-serve"))
    for end in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(end, server.end)
    try:
        await server.serve(sockets=[bound])
    finally:
        bound.close()
        for end in (signal.SIGTERM, signal.SIGINT):  # a thread may be at work still
            loop.remove_signal_handler(end)


class _Server(uvicorn.Server):
    """A server that leaves signals to us, and tells when it has started."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._told = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._told()

    def end(self) -> None:
        """End; the second time at once."""
        self.force_exit = self.should_exit
        self.should_exit = True
        _LOG.info("Stopping")

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the handlers of signals as they are."""
        yield

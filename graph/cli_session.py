"""What commands share: a connection to the right server, progress on stderr."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from graph.connection import Connection

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graph.settings import Settings

__all__ = ["open_connection", "served"]


@contextmanager
def served(settings: Settings, *, stay: bool = False) -> Iterator[Settings]:
    """Yield settings that point to a running server.

    Where no address is given, the managed server of `settings.home` is joined, or
    started with its progress on stderr; unless it is to stay, the last client stops it.
    """
    if settings.uri is not None:
        yield settings
        return
    from graph.progress import progress_bars
    from graph.server import join_server

    with progress_bars() as progress:
        lease = join_server(
            settings.home,
            version=settings.neo4j_version,
            stay=stay,
            heap=settings.heap,
            page_cache=settings.page_cache,
            progress=progress,
        )
    with lease:
        info = lease.info
        yield settings.with_server(
            uri=info.uri, username=info.username, password=info.password
        )


@contextmanager
def open_connection(settings: Settings, *, stay: bool = False) -> Iterator[Connection]:
    """Yield a connection, to the managed server where no address is given."""
    with (
        served(settings, stay=stay) as pointed,
        Connection.open(pointed) as connection,
    ):
        yield connection

"""What commands share: a connection to the right server, progress on stderr."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from knowtrail.graph.db.connection import Connection
from knowtrail.graph.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager


@contextmanager
def served(settings: Settings, *, stay: bool = False) -> Iterator[Settings]:
    """Yield settings that point to a running server.

    Where no address is given, the managed server of `settings.home` is joined, or
    started with its progress on stderr; unless it is to stay, the last client stops it.
    """
    if settings.uri is not None:
        yield settings
        return
    from knowtrail.graph.cli.progress import progress_bars
    from knowtrail.graph.server import join_server

    with progress_bars() as progress:
        lease = join_server(
            settings.home,
            version=settings.neo4j_version,
            stay=stay,
            heap=settings.heap,
            page_cache=settings.page_cache,
            load_csv=settings.load_csv,
            progress=progress,
        )
    with lease:
        info = lease.info
        yield settings.with_server(
            uri=info.uri,
            username=info.username,
            password=info.password,
            managed=True,
        )


@contextmanager
def open_connection(settings: Settings, *, stay: bool = False) -> Iterator[Connection]:
    """Yield a connection, to the managed server where no address is given."""
    with (
        served(settings, stay=stay) as pointed,
        Connection.open(pointed) as connection,
    ):
        yield connection


def connect(**explicit: Any) -> AbstractContextManager[Connection]:
    """Return a connection as a context, as the environment says, as every command.

    Args:
        **explicit: Settings that win over the environment, such as `uri`, `username`
            and `password`, or `home`, the folder of the managed server.

    Raises:
        InputError: If a setting is no good.
    """
    return open_connection(Settings.from_env(**explicit))

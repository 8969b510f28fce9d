"""What commands share: a connection to the right server, progress on stderr."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from knowtrail.graph.db.connection import Connection
from knowtrail.graph.errors import UnavailableError
from knowtrail.graph.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from knowtrail.graph.server.lease import ServerLease

_ENDING_SECONDS = 2.0
"""How long a server that ran out of memory takes to end."""


@contextmanager
def served(settings: Settings, *, stay: bool = False) -> Iterator[Settings]:
    """Yield settings that point to a running server.

    Where no address is given, the managed server of `settings.home` is joined, or
    started with its progress on stderr; unless it is to stay, the last client stops it.
    """
    if settings.uri is not None:
        yield settings
        return
    with joined(settings, stay=stay) as lease:
        info = lease.info
        try:
            yield settings.with_server(
                uri=info.uri,
                username=info.username,
                password=info.password,
                managed=True,
            )
        except UnavailableError as error:
            if not _ran_out_of_memory(settings.home):
                raise
            raise UnavailableError(
                f"The Neo4j server of {settings.home} ran out of memory and ended: "
                "give it more heap (KNOWTRAIL_HEAP), or ask for less at a time."
            ) from error


def _ran_out_of_memory(home: Path) -> bool:
    from knowtrail.graph.server.folder import ServerFolder, read_log
    from knowtrail.graph.server.lease import NO_MEMORY

    folder, until = ServerFolder(home), time.monotonic() + _ENDING_SECONDS
    while folder.is_alive():  # its connections go before it does
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return any(NO_MEMORY in line for line in read_log(home, 50))


def joined(
    settings: Settings, *, stay: bool = False, port: int | None = None
) -> ServerLease:
    """Join or start the managed server of `settings.home`, with progress on stderr."""
    from knowtrail.graph.cli.progress import progress_bars
    from knowtrail.graph.server.lease import join_server

    with progress_bars() as progress:
        return join_server(
            settings.home,
            version=settings.neo4j_version,
            port=port,
            stay=stay,
            heap=settings.heap,
            page_cache=settings.page_cache,
            load_csv=settings.load_csv,
            progress=progress,
        )


@contextmanager
def open_connection(settings: Settings, *, stay: bool = False) -> Iterator[Connection]:
    """Yield a connection, to the managed server where no address is given."""
    with served(settings, stay=stay) as pointed, Connection.open(pointed) as connection:
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

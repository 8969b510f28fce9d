"""Connections of a retriever that connects by itself."""

from __future__ import annotations

import asyncio
import gc
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.graph.errors import UnavailableError
from knowtrail.retrieval.link import Link

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from knowtrail.graph.settings import Settings

pytestmark = pytest.mark.integration


def _open_files() -> int:
    """Return how many files this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def _run_and_close(work: Coroutine[Any, Any, None]) -> None:
    """Run in a loop that is closed without a word to its generators."""
    loop = asyncio.new_event_loop()
    loop.run_until_complete(work)
    loop.close()


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts in /proc")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    "runs", [asyncio.run, pytest.param(_run_and_close, marks=pytest.mark.thorough)]
)
def test_connections_end_with_their_loop(
    server: Settings, runs: Callable[[Coroutine[Any, Any, None]], None]
) -> None:
    """Event loops that have ended leave no socket behind."""
    link = Link(settings=server)

    async def ask() -> None:
        connection = await link.aconnection()
        assert connection is await link.aconnection()
        assert connection is not None
        assert await connection.aquery("RETURN 1 AS x") == [{"x": 1}]

    runs(ask())
    gc.collect()  # what other tests left
    before = _open_files()
    for _ in range(2):
        runs(ask())
        gc.collect()

    assert _open_files() == before
    link._opened_async.clear()
    gc.collect()  # in this test, which knows that the last one is not closed


async def test_closed_link_connects_anew(server: Settings) -> None:
    """A link that was closed in a loop can be used again in it."""
    link = Link(settings=server)
    first = await link.aconnection()
    await link.aclose()
    second = await link.aconnection()
    assert second is not None

    assert second is not first
    assert await second.aquery("RETURN 1 AS x") == [{"x": 1}]
    await link.aclose()


def test_too_many_files_is_the_reason_that_is_told(server: Settings) -> None:
    """Where no file can be opened any more, the server is not said to be silent."""
    resource = pytest.importorskip("resource")
    link = Link(settings=server)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    link.connection()
    link.close()
    with Path(os.devnull).open("rb") as next_one:
        room = next_one.fileno()
    resource.setrlimit(resource.RLIMIT_NOFILE, (room, hard))
    try:
        with pytest.raises(UnavailableError, match="too many open files"):
            link.connection()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

"""The main axes of a corpus in Neo4j: fitted once a version, and kept on its node.

The vectors are streamed and only their sums are held, see
`knowtrail.retrieval.projection`. The axes of all chunks are kept on the Corpus node
with the version that they are of, where that may be written, and in the process. Axes
that are fitted to a question, which the preset `published` wants, are made from sums
that stay in the process.

A corpus that has no version, or that an ingest is at work on, is fitted each time. Of a
version, one caller of a process fits at a time, and the others wait for it. Of a large
corpus, only some documents are read.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from knowtrail.graph.blocking import Blocking
from knowtrail.graph.errors import DatabaseError
from knowtrail.graph.vectors import vector_array
from knowtrail.retrieval.projection import Moments, Projection, fit_projection

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Hashable

    from knowtrail.graph.db.connection import AsyncConnection
    from knowtrail.retrieval.protocols import Vector

_LOG = logging.getLogger(__name__)
SAMPLED = 200_000
"""Chunks of a larger corpus that axes are fitted to, about.

Whole documents, those of the least ids, which are hashes: the same ones each time."""
_BATCH = 1_024
_KEPT = 4
_LOCKS = 64
_ITEMS = ("chunks", "sentences")


class _Kept(dict["Hashable", Any]):
    """The last few values, by what they are of."""

    def put(self, key: Hashable, value: Any) -> None:
        """Keep a value, unless it is of nothing that lasts."""
        if key is None:
            return
        with _KEEPING:
            self[key] = value
            while len(self) > _KEPT:
                del self[next(iter(self))]


_KEEPING = Lock()
_KEPT_AXES = _Kept()
_KEPT_MOMENTS = _Kept()


class _Flights:
    """A lock for each key that somebody fits axes of, to itself what does not last."""

    def __init__(self, made: Callable[[], Any]) -> None:
        self._made = made
        self._locks: dict[Hashable, Any] = {}

    def of(self, key: Hashable) -> Any:
        """Return the lock of a key."""
        if len(self._locks) > _LOCKS:
            self._locks = {k: lock for k, lock in self._locks.items() if lock.locked()}
        new = self._made()
        return new if key is None else self._locks.setdefault(key, new)


_FLIGHTS = _Flights(Lock)
_ASYNC: WeakKeyDictionary[asyncio.AbstractEventLoop, _Flights] = WeakKeyDictionary()


@asynccontextmanager
async def _flight(connection: AsyncConnection, key: Hashable) -> AsyncIterator[None]:
    """Let one caller of a key be here, of the threads or of the loop's tasks."""
    if isinstance(connection, Blocking):
        with _FLIGHTS.of(key):
            yield
        return
    loop = asyncio.get_running_loop()
    async with _ASYNC.setdefault(loop, _Flights(asyncio.Lock)).of(key):
        yield


async def acorpus_projection(
    connection: AsyncConnection, corpus: str, query: Vector | None
) -> Projection:
    """Return the main axes of a corpus, or those fitted to a question too."""
    rows = await connection.aread("retrieval/projection_read", corpus=corpus)
    state = rows[0] if rows else {}
    key = _key(connection.database, corpus, state)
    async with _flight(connection, key):
        if query is not None:
            both: Moments | None = _KEPT_MOMENTS.get(key)
            if both is None:
                both = Moments.none(len(query))
                for items in _ITEMS:
                    both += await _moments(connection, corpus, items, len(query), state)
                _KEPT_MOMENTS.put(key, both)
            return fit_projection(both, query)
        if state.get("axes"):
            return Projection.unpacked(state["axes"])
        axes: Projection | None = _KEPT_AXES.get(key)
        if axes is not None:
            return axes
        axes = fit_projection(await _moments(connection, corpus, "chunks", 0, state))
        _KEPT_AXES.put(key, axes)
        if state.get("version") is not None:
            try:
                await connection.awrite(
                    "retrieval/projection_write",
                    corpus=corpus,
                    version=state["version"],
                    axes=axes.packed().tolist(),
                )
            except DatabaseError as error:
                _LOG.info("The axes of %r stay in this process: %s", corpus, error)
        return axes


async def _moments(
    connection: AsyncConnection,
    corpus: str,
    items: str,
    dimensions: int,
    state: dict[str, Any],
) -> Moments:
    """Return the sums over the vectors of all chunks or sentences."""
    sums, rows = Moments.none(dimensions), list[Any]()
    fast = (await connection.acapabilities()).vector_values
    name = f"retrieval/projection_{items}" + ("" if fast else "_lts")
    async for record in connection.astream(name, corpus=corpus, bound=_bound(state)):
        rows.append(vector_array(record["vector"]))
        if len(rows) == _BATCH:
            sums += Moments.of(np.stack(rows))
            rows.clear()
    return sums + Moments.of(np.stack(rows)) if rows else sums


def _bound(state: dict[str, Any]) -> str | None:
    """Return below which id of a document vectors are read; None reads all."""
    chunks = state.get("chunks") or 0
    return None if chunks <= SAMPLED else f"{int(SAMPLED / chunks * 16**8):08x}"


def _key(database: str, corpus: str, state: dict[str, Any]) -> Hashable:
    """Return what makes a version of a corpus different from any other."""
    if state.get("stamp") is None or state["version"] is None:
        return None
    if state["status"] != "complete":
        return None
    return database, corpus, state["stamp"], state["version"]

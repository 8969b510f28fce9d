"""The reader of a question: the snapshot where it is current, else the database."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from knowtrail.graph.blocking import Blocking
from knowtrail.graph.errors import DatabaseError
from knowtrail.retrieval.driving import Answering
from knowtrail.retrieval.filter_clauses import tests_of
from knowtrail.retrieval.protocols import AnchorRequest
from knowtrail.retrieval.questions import needs_words
from knowtrail.retrieval.readers.cypher import AsyncCypherReader, CypherReader

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from knowtrail.graph.db.connection import AsyncConnection, Connection
    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.corpora import CorpusInfo
    from knowtrail.retrieval.filters import Filter
    from knowtrail.retrieval.protocols import (
        AsyncGraphReader,
        GraphReader,
        Request,
        Response,
    )
    from knowtrail.retrieval.questions import Task
    from knowtrail.retrieval.readers.snapshot import SnapshotReader

_LOG = logging.getLogger(__name__)
MOST_COMPARED = 100_000
"""Chunks of a snapshot up to which all vectors are compared, in some 20 ms."""
_LOOKED_AT = 1000
"""Documents in which the properties of a filter are looked for."""
_TOLD: set[Hashable] = set()
_MOST_TOLD = 1000
ReaderT = TypeVar("ReaderT", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OpenReader(Generic[ReaderT]):
    """A reader, and which one it is: `cypher` or `snapshot`."""

    reader: ReaderT
    name: str


def open_reader(
    connection: Connection,
    corpus: CorpusInfo,
    task: Task,
    *,
    settings: Settings | None = None,
) -> OpenReader[GraphReader]:
    """Return the reader that a task asks for.

    Snapshots are in the home of the settings; without them only a task that insists on
    a snapshot looks for one, and raises `SnapshotError` if none is current.
    """
    return _opened(CypherReader, connection, corpus, task, settings)


class _Indexed:
    """A snapshot that has the database's index find where a walk starts."""

    def __init__(self, snapshot: AsyncGraphReader, index: AsyncGraphReader) -> None:
        self._snapshot = snapshot
        self._index = index

    async def aanswer(self, request: Request) -> Response:
        """Return what the index finds for a vector, and all else of the snapshot."""
        if isinstance(request, AnchorRequest) and not request.words:
            try:
                return await self._index.aanswer(request)
            except DatabaseError as error:  # such as an index that is being built
                _LOG.info("Comparing every vector of the snapshot: %s", error)
                self._index = self._snapshot
        return await self._snapshot.aanswer(request)


def _opened(
    over: Any,
    connection: Connection | AsyncConnection,
    corpus: CorpusInfo,
    task: Task,
    settings: Settings | None,
    answering: Callable[[Any], AsyncGraphReader] | None = None,
) -> OpenReader[Any]:
    if task.algorithm.name == "auto" and task.options.max_hops and not corpus.terms:
        _warn(corpus)
    reader = over(
        connection,
        corpus=corpus.name,
        filter=task.filter,
        state=corpus.state,
        declared=corpus.filters,
    )
    snapshot, same = _snapshot(corpus, task, settings), answering or (lambda one: one)
    if snapshot is None:
        return OpenReader(reader=same(reader), name="cypher")
    found = same(snapshot)
    if answering and task.reader == "auto" and snapshot.compared > MOST_COMPARED:
        found = _Indexed(found, same(reader))
    return OpenReader(reader=found, name="snapshot")


async def open_areader(
    connection: AsyncConnection,
    corpus: CorpusInfo,
    task: Task,
    *,
    settings: Settings | None = None,
) -> OpenReader[AsyncGraphReader]:
    """Do as `open_reader` does, for asynchronous walks.

    A snapshot is opened, and a filter decided for its chunks, in a thread.
    """
    if task.filter is not None:
        await _tell_unknown(connection, corpus, task.filter)
    asked = (corpus, task, settings)
    if isinstance(connection, Blocking):
        return _opened(CypherReader, connection.own, *asked, Answering)
    own = (AsyncCypherReader, connection, *asked, lambda reader: reader)
    return await asyncio.to_thread(_opened, *own)


async def _tell_unknown(
    connection: AsyncConnection, corpus: CorpusInfo, given: Filter
) -> None:
    """Warn of a filter's properties that no node seems to have, or none of that type.

    Once a process and state of a corpus, whatever the values are.
    """
    wanted: dict[str, dict[str, list[Any]]] = {"document": {}, "chunk": {}}
    for test in tests_of(given.clause):
        if test.field.owner in wanted and test.value != []:
            value = test.value if isinstance(test.value, list | tuple) else [test.value]
            wanted[test.field.owner].setdefault(test.field.name, []).extend(value)
    kinds = {
        (owner, name, type(value))
        for owner, fields in wanted.items()
        for name, values in fields.items()
        for value in values
    }
    key = (connection.database, corpus.state, frozenset(kinds))
    if not kinds or key in _TOLD:
        return
    (row,) = await connection.aread(
        "retrieval/filter_fields", corpus=corpus.name, limit=_LOOKED_AT, **wanted
    )
    if len(_TOLD) >= _MOST_TOLD:
        _TOLD.clear()
    if corpus.state is not None:
        _TOLD.add(key)
    for owner in wanted:
        for missing in sorted(row[owner]):
            many = row["looked"] == _LOOKED_AT
            _LOG.warning(
                "The filter asks for %s.%s, which no %s in %scorpus %r has, or none of "
                "that type: check both.",
                *(owner, missing, owner),
                f"the first {_LOOKED_AT:,} documents of " if many else "",
                corpus.name,
            )


@lru_cache(maxsize=16)
def _warn(corpus: CorpusInfo) -> None:
    """Say once a process and state of a corpus that `auto` has no names to follow."""
    _LOG.warning(
        "Corpus %s has no terms, so auto ranks by similarity alone: ingest any of its "
        "documents again with --terms",
        corpus.name,
    )


def _snapshot(
    corpus: CorpusInfo, task: Task, settings: Settings | None
) -> SnapshotReader | None:
    """Return the reader of the corpus's snapshot, where one is wanted and there."""
    able = settings is not None and not needs_words(task.algorithm)
    if task.reader == "cypher" or (task.reader == "auto" and not able):
        return None
    from knowtrail.graph.settings import Settings as Default
    from knowtrail.retrieval.snapshot.folder import need_snapshot, open_snapshot

    home = (settings or Default.from_env()).home
    opening = need_snapshot if task.reader == "snapshot" else open_snapshot
    return opening(
        home, corpus.name, corpus.version, stamp=corpus.stamp, filter=task.filter
    )

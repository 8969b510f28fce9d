"""The reader of a question: the snapshot where it is current, else the database."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from knowtrail.graph.blocking import Blocking
from knowtrail.retrieval.driving import Answering
from knowtrail.retrieval.questions import needs_words
from knowtrail.retrieval.readers.cypher import AsyncCypherReader, CypherReader

if TYPE_CHECKING:
    from knowtrail.graph.db.connection import AsyncConnection, Connection
    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.corpora import CorpusInfo
    from knowtrail.retrieval.protocols import AsyncGraphReader, GraphReader
    from knowtrail.retrieval.questions import Task
    from knowtrail.retrieval.readers.snapshot import SnapshotReader

_LOG = logging.getLogger(__name__)
MOST_COMPARED = 100_000
"""Chunks of a snapshot up to which all vectors are compared, as the index is slower."""
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


def _opened(
    over: Any,
    connection: Connection | AsyncConnection,
    corpus: CorpusInfo,
    task: Task,
    settings: Settings | None,
) -> OpenReader[Any]:
    if task.algorithm.name == "auto" and task.options.max_hops and not corpus.terms:
        _warn(corpus)
    reader = over(
        connection, corpus=corpus.name, filter=task.filter, state=corpus.state
    )
    if (snapshot := _snapshot(corpus, task, settings)) is None:
        return OpenReader(reader=reader, name="cypher")
    if task.reader == "auto" and snapshot.snapshot.facts.chunks > MOST_COMPARED:
        snapshot.index = reader
    return OpenReader(reader=snapshot, name="snapshot")


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
    if isinstance(connection, Blocking):
        opened = open_reader(connection.own, corpus, task, settings=settings)
        return OpenReader(reader=Answering(opened.reader), name=opened.name)
    asked = (AsyncCypherReader, connection, corpus, task, settings)
    return await asyncio.to_thread(_opened, *asked)


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

"""Building a snapshot: documents that did not change are taken from the last one."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from knowtrail.graph.batches import batched_within
from knowtrail.graph.cli.progress import silent
from knowtrail.graph.errors import SnapshotError
from knowtrail.retrieval.snapshot.files import SnapshotWriter
from knowtrail.retrieval.snapshot.folder import (
    build_lock,
    clean,
    new_generation,
    open_generation,
    point_at,
    snapshot_folder,
    unpoint,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from knowtrail.graph.cli.progress import Progress
    from knowtrail.retrieval.snapshot.files import Snapshot, SnapshotFacts
    from knowtrail.retrieval.snapshot.source import (
        CorpusMark,
        CorpusSource,
        DocumentMark,
        StoredDocument,
    )

_CHUNKS = 1000
"""Chunks that are read from the database at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotReport:
    """What building came to: documents read and kept, whether there was a need."""

    facts: SnapshotFacts
    read: int
    kept: int
    built: bool
    seconds: float


def build_snapshot(
    home: Path, source: CorpusSource, *, full: bool = False, progress: Progress = silent
) -> SnapshotReport:
    """Bring the snapshot of a corpus to its current version.

    Readers that are open go on with what they have; new ones take the new snapshot once
    it is whole. A build that is killed leaves the last snapshot in force. Raises
    `SnapshotError` if the corpus is not complete, changes while it is copied, or
    another process builds.
    """
    begin = time.perf_counter()
    mark = source.corpus()
    if not mark.complete:
        raise SnapshotError(
            f"Corpus {mark.corpus!r} is not complete: an ingest is under way or was "
            "interrupted. Let it end, or run it again, then make the snapshot."
        )
    folder = snapshot_folder(home, mark.corpus)
    with build_lock(folder, mark.corpus):
        last = None if full else _usable(folder, mark)
        if last is not None and last.facts.version == mark.version:
            built, facts, read = False, last.facts, 0
        else:
            built = True
            facts, read = _replaced(folder, source, mark, last, progress)
        last = None
        clean(folder)
    return SnapshotReport(
        facts=facts,
        read=read,
        kept=facts.documents - read,
        built=built,
        seconds=time.perf_counter() - begin,
    )


def _replaced(
    folder: Path,
    source: CorpusSource,
    mark: CorpusMark,
    last: Snapshot | None,
    progress: Progress,
) -> tuple[SnapshotFacts, int]:
    """Write a new generation and put it into force, or leave all as it is."""
    generation = new_generation(folder, mark.version)
    try:
        facts, read = _written(generation, source, mark, last, progress)
        if source.corpus() != mark:
            raise SnapshotError(
                f"Corpus {mark.corpus!r} was changed while it was copied: make the "
                "snapshot again."
            )
    except BaseException:
        shutil.rmtree(generation, ignore_errors=True)
        raise
    point_at(folder, generation)
    return facts, read


def _usable(folder: Path, mark: CorpusMark) -> Snapshot | None:
    """Return the last snapshot if documents can be taken from it."""
    try:
        last = open_generation(folder)
        if last is not None:
            last.verify()
    except SnapshotError:
        return None
    if last is None or last.facts.stamp != mark.stamp:
        return None
    return last if last.facts.dimensions == mark.dimensions else None


def _written(
    generation: Path,
    source: CorpusSource,
    mark: CorpusMark,
    last: Snapshot | None,
    progress: Progress,
) -> tuple[SnapshotFacts, int]:
    """Write a generation; return its facts and how many documents were read."""
    marks = sorted(source.marks(), key=lambda m: m.id)
    stored = {} if last is None else dict(last.marks())
    read = sum(m not in stored for m in marks)
    progress("documents", 0, len(marks))
    with SnapshotWriter(generation, mark) as writer:
        for done, block in enumerate(_blocks(source, marks, stored, last), start=1):
            writer.append(block)
            progress("documents", done, len(marks))
        return writer.finish(), read


def _blocks(
    source: CorpusSource,
    marks: Sequence[DocumentMark],
    stored: dict[DocumentMark, int],
    last: Snapshot | None,
) -> Iterator[StoredDocument]:
    """Yield all documents in order, changed ones from the source."""
    new = [mark for mark in marks if mark not in stored]
    changed = batched_within(new, lambda mark: mark.chunks, _CHUNKS)
    fresh: Iterator[StoredDocument] = iter(())
    for mark in marks:
        if last is not None and mark in stored:
            yield last.document(stored[mark])
            continue
        block = next(fresh, None)
        if block is None:
            fresh = source.documents(next(changed))
            block = next(fresh)
        yield block


def delete_snapshot(home: Path, corpus: str) -> bool:
    """Delete the snapshot of a corpus; readers that are open go on."""
    folder = snapshot_folder(home, corpus)
    if not folder.is_dir():
        return False
    with build_lock(folder, corpus):
        there = any(path.is_dir() for path in folder.iterdir())
        unpoint(folder)
        clean(folder)
    return there

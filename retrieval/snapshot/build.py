"""Building a snapshot: documents that did not change are taken from the last one."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from knowtrail.graph.cli.progress import silent
from knowtrail.graph.errors import SnapshotError
from knowtrail.retrieval.snapshot.folder import (
    build_lock,
    clean,
    new_generation,
    open_generation,
    point_at,
    snapshot_folder,
    unpoint,
)
from knowtrail.retrieval.snapshot.layout import GenerationWriter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from knowtrail.graph.cli.progress import Progress
    from knowtrail.retrieval.snapshot.blocks import (
        BlockSource,
        CorpusMark,
        DocumentBlock,
        DocumentMark,
    )
    from knowtrail.retrieval.snapshot.layout import SnapshotFacts
    from knowtrail.retrieval.snapshot.mapped import MappedSnapshot

_CHUNKS = 1000
"""Chunks that are read from the database at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotReport:
    """What building a snapshot came to.

    Attributes:
        facts: What the snapshot holds.
        read: Documents read from the database.
        kept: Documents taken from the last snapshot.
        built: Whether there was anything to do.
        seconds: How long it took.
    """

    facts: SnapshotFacts
    read: int
    kept: int
    built: bool
    seconds: float


def build_snapshot(
    home: Path,
    source: BlockSource,
    *,
    full: bool = False,
    progress: Progress = silent,
) -> SnapshotReport:
    """Bring the snapshot of a corpus to its current version.

    Readers that are open go on with what they have; new ones take the new snapshot
    once it is whole. A build that is killed leaves the last snapshot in force.

    Args:
        home: The home folder.
        source: The corpus.
        full: Read everything anew, whatever the last snapshot holds.
        progress: Told of the documents.

    Returns:
        What was done.

    Raises:
        SnapshotError: If the corpus is not complete, changes while it is copied, or
            another process builds.
        StorageError: If there is no space or no right to write.
    """
    begin = time.perf_counter()
    mark = source.corpus()
    if not mark.complete:
        msg = (
            f"Corpus {mark.corpus!r} is not complete: an ingest is under way or was "
            "interrupted. Let it end, or run it again, then make the snapshot."
        )
        raise SnapshotError(msg)
    folder = snapshot_folder(home, mark.corpus)
    with build_lock(folder, mark.corpus):
        last = None if full else _usable(folder, mark)
        if last is not None and last.facts.version == mark.version:
            clean(folder)
            return SnapshotReport(
                facts=last.facts,
                read=0,
                kept=last.facts.documents,
                built=False,
                seconds=time.perf_counter() - begin,
            )
        facts, read = _replaced(folder, source, mark, last, progress)
        last = None
        clean(folder)
    return SnapshotReport(
        facts=facts,
        read=read,
        kept=facts.documents - read,
        built=True,
        seconds=time.perf_counter() - begin,
    )


def _replaced(
    folder: Path,
    source: BlockSource,
    mark: CorpusMark,
    last: MappedSnapshot | None,
    progress: Progress,
) -> tuple[SnapshotFacts, int]:
    """Write a new generation and put it into force, or leave all as it is."""
    generation = new_generation(folder, mark.version)
    try:
        facts, read = _written(generation, source, mark, last, progress)
        if source.corpus() != mark:
            msg = (
                f"Corpus {mark.corpus!r} was changed while it was copied: make the "
                "snapshot again."
            )
            raise SnapshotError(msg)
    except BaseException:
        shutil.rmtree(generation, ignore_errors=True)
        raise
    point_at(folder, generation)
    return facts, read


def _usable(folder: Path, mark: CorpusMark) -> MappedSnapshot | None:
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
    source: BlockSource,
    mark: CorpusMark,
    last: MappedSnapshot | None,
    progress: Progress,
) -> tuple[SnapshotFacts, int]:
    """Write a generation; return its facts and how many documents were read."""
    marks = sorted(source.marks(), key=lambda m: m.id)
    stored = {} if last is None else dict(last.marks())
    read = sum(m not in stored for m in marks)
    progress("documents", 0, len(marks))
    with GenerationWriter(generation, mark) as writer:
        for done, block in enumerate(_blocks(source, marks, stored, last), start=1):
            writer.append(block)
            progress("documents", done, len(marks))
        return writer.finish(), read


def _blocks(
    source: BlockSource,
    marks: Sequence[DocumentMark],
    stored: dict[DocumentMark, int],
    last: MappedSnapshot | None,
) -> Iterator[DocumentBlock]:
    """Yield all documents in order, changed ones from the source."""
    changed = _batched([m for m in marks if m not in stored])
    fresh: Iterator[DocumentBlock] = iter(())
    for mark in marks:
        if last is not None and mark in stored:
            yield last.block(stored[mark])
            continue
        block = next(fresh, None)
        if block is None:
            fresh = source.blocks(next(changed))
            block = next(fresh)
        yield block


def _batched(marks: Sequence[DocumentMark]) -> Iterator[list[DocumentMark]]:
    """Yield marks in groups of bounded size."""
    batch: list[DocumentMark] = []
    size = 0
    for mark in marks:
        if batch and size + mark.chunks > _CHUNKS:
            yield batch
            batch, size = [], 0
        batch.append(mark)
        size += mark.chunks
    if batch:
        yield batch


def delete_snapshot(home: Path, corpus: str) -> bool:
    """Delete the snapshot of a corpus; readers that are open go on.

    Returns:
        Whether there was one.

    Raises:
        SnapshotError: If another process builds it.
    """
    folder = snapshot_folder(home, corpus)
    if not folder.is_dir():
        return False
    with build_lock(folder, corpus):
        there = any(path.is_dir() for path in folder.iterdir())
        unpoint(folder)
        clean(folder)
    return there

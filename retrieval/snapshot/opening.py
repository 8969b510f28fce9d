"""Finding the snapshot of a corpus, if it is the one that is wanted.

Opened snapshots are kept for the process, so that a question costs no second opening;
a newer generation takes the place of the kept one at the next call.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from graph.errors import SnapshotError
from retrieval.readers.snapshot import SnapshotReader
from retrieval.snapshot.folder import (
    current_generation,
    open_generation,
    snapshot_folder,
)
from retrieval.snapshot.layout import update_hint

if TYPE_CHECKING:
    from pathlib import Path

    from retrieval.filters import Filter
    from retrieval.snapshot.mapped import MappedSnapshot

__all__ = ["forget_snapshots", "need_snapshot", "open_snapshot"]

_LOG = logging.getLogger(__name__)
_MOST_OPEN = 4
_OPEN: dict[Path, MappedSnapshot] = {}
_LOCK = threading.Lock()


def open_snapshot(
    home: Path,
    corpus: str,
    version: int,
    *,
    stamp: str | None = None,
    filter: Filter | None = None,  # noqa: A002 - the word callers know
) -> SnapshotReader | None:
    """Return a reader of a corpus's snapshot, None where none can be used.

    Why a snapshot that is there cannot be used is logged.

    Args:
        home: The home folder.
        corpus: Name of the corpus.
        version: The version that the corpus has now.
        stamp: What tells this corpus from another one of the same name, as
            `CorpusMark.stamp`; None does not look at it.
        filter: What chunks must pass, at the anchor and at every hop.
    """
    if not snapshot_folder(home, corpus).is_dir():
        return None
    try:
        return need_snapshot(home, corpus, version, stamp=stamp, filter=filter)
    except SnapshotError as error:
        _LOG.warning("Walking in the database: %s", error)
        return None


def need_snapshot(
    home: Path,
    corpus: str,
    version: int,
    *,
    stamp: str | None = None,
    filter: Filter | None = None,  # noqa: A002 - the word callers know
) -> SnapshotReader:
    """Return a reader of a corpus's snapshot; takes what `open_snapshot` takes.

    Raises:
        SnapshotError: If there is none, or it is damaged, of another version, or of
            another corpus of the same name; the message says what to do.
    """
    found = _opened(snapshot_folder(home, corpus))
    if found is None:
        msg = f"Corpus {corpus!r} has no snapshot: {update_hint(corpus)}"
        raise SnapshotError(msg)
    facts = found.facts
    if facts.corpus != corpus or (stamp is not None and facts.stamp != stamp):
        msg = (
            f"The snapshot was made of another corpus {facts.corpus!r}, in another "
            f"database or deleted since: {update_hint(corpus)}"
        )
        raise SnapshotError(msg)
    if facts.version != version:
        msg = (
            f"The snapshot of corpus {corpus!r} is of version {facts.version}, the "
            f"corpus of version {version}: {update_hint(corpus)}"
        )
        raise SnapshotError(msg)
    return SnapshotReader(found, filter=filter)


def forget_snapshots() -> None:
    """Close the snapshots that are kept open and that no reader uses."""
    with _LOCK:
        _OPEN.clear()


def _opened(folder: Path) -> MappedSnapshot | None:
    """Return the snapshot in force, from those kept open if it is among them."""
    with _LOCK:
        kept = _OPEN.pop(folder, None)
        if kept is None or current_generation(folder) != kept.folder:
            kept = open_generation(folder)
        if kept is not None:
            while len(_OPEN) >= _MOST_OPEN:
                _OPEN.pop(next(iter(_OPEN)))
            _OPEN[folder] = kept
        return kept

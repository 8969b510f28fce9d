"""The folder of a corpus's snapshots: generations, a pointer, and locks.

```
<home>/snapshots/<key of the corpus>/
    build.lock           held by whoever builds or deletes
    current.json         names the generation in force; replaced by renaming
    <generation>/        the files, and readers.lock, which every reader shares
```

A reader takes the generation that the pointer names and shares its lock for as long as
it is open. A builder writes a new folder, moves the pointer, and removes older folders
that nobody reads; one that is still read goes when the next one is built.

Opened snapshots are kept for the process, so that a question costs no second opening;
a newer generation takes the place of the kept one at the next call.
"""

from __future__ import annotations

import json
import logging
import shutil
import threading
import weakref
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from knowtrail.graph.errors import FilterError, SnapshotError, StorageError
from knowtrail.graph.files import (
    file_digest,
    held_file,
    locking,
    private,
    private_folder,
    whole_file,
)
from knowtrail.ingest.keys import content_key
from knowtrail.ingest.vector_file import storage_errors
from knowtrail.retrieval.readers.snapshot import SnapshotReader
from knowtrail.retrieval.snapshot.files import (
    FACTS,
    Snapshot,
    rebuild_hint,
    update_hint,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from knowtrail.retrieval.filters import Filter

_POINTER = "current.json"
_READERS = "readers.lock"
_TRIES = 20
_LOG = logging.getLogger(__name__)
_MOST_OPEN = 4
_OPEN: dict[Path, Snapshot] = {}
_LOCK = threading.Lock()


def snapshot_folder(home: Path, corpus: str) -> Path:
    """Return where the snapshots of a corpus lie."""
    return home / "snapshots" / content_key("snapshot", corpus)


@contextmanager
def build_lock(folder: Path, corpus: str) -> Iterator[None]:
    """Hold the right to build or delete, among the processes of this machine."""
    with storage_errors(folder):
        private_folder(folder.parent)
        private_folder(folder)
    refusal = SnapshotError(
        f"The snapshot of corpus {corpus!r} is being built by another process: wait "
        "for it."
    )
    with held_file(folder / "build.lock", refusal):
        yield


def new_generation(folder: Path, version: int) -> Path:
    """Make an empty folder for a generation; the build lock must be held."""
    with storage_errors(folder):
        number = 1 + max(
            (
                int(tail)
                for path in folder.iterdir()
                if path.is_dir() and (tail := path.name.rpartition("-")[2]).isdigit()
            ),
            default=0,
        )
        path = folder / f"version-{version}-{number}"
        private_folder(path)
        (path / _READERS).touch(mode=0o600)
    return path


def point_at(folder: Path, generation: Path) -> None:
    """Put a finished generation into force, at once for every new reader."""
    pointer = {"generation": generation.name, "facts": file_digest(generation / FACTS)}
    with whole_file(folder / _POINTER, opener=private) as file:
        json.dump(pointer, file)


def unpoint(folder: Path) -> None:
    """Take the generation in force out of force."""
    (folder / _POINTER).unlink(missing_ok=True)


def current_generation(folder: Path) -> Path | None:
    """Return the generation in force, None where there is none."""
    try:
        pointer = json.loads((folder / _POINTER).read_text("utf-8"))
        generation = folder / str(pointer["generation"])
        wanted = str(pointer["facts"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        msg = f"{folder / _POINTER} is damaged: {rebuild_hint()}"
        raise SnapshotError(msg) from error
    if generation.parent != folder:
        msg = f"{folder / _POINTER} names a place elsewhere: {rebuild_hint()}"
        raise SnapshotError(msg)
    if (generation / FACTS).is_file() and file_digest(generation / FACTS) != wanted:
        msg = f"The description in {generation} is damaged: {rebuild_hint()}"
        raise SnapshotError(msg)
    return generation


def open_generation(folder: Path) -> Snapshot | None:
    """Open the generation in force and keep it for as long as it is used."""
    import portalocker

    for _ in range(_TRIES):
        generation = current_generation(folder)
        if generation is None:
            return None
        try:
            file = (generation / _READERS).open("rb")
        except FileNotFoundError:
            if current_generation(folder) == generation:
                break
            continue  # replaced and removed since the pointer was read
        try:
            flags = portalocker.LockFlags
            with locking(generation):
                portalocker.lock(file, flags.SHARED | flags.NON_BLOCKING)
            opened = Snapshot(generation)
        except (portalocker.AlreadyLocked, FileNotFoundError):
            file.close()
            if current_generation(folder) == generation and not _whole(generation):
                break
            continue
        except BaseException as error:
            file.close()
            if isinstance(error, StorageError):  # the database answers in its place
                raise SnapshotError(str(error)) from error
            raise
        weakref.finalize(opened, file.close)
        return opened
    raise SnapshotError(f"The snapshot in {folder} has lost files: {rebuild_hint()}")


def _whole(generation: Path) -> bool:
    try:
        Snapshot(generation)
    except FileNotFoundError:
        return False
    return True


def clean(folder: Path) -> None:
    """Remove generations that are not in force and not read; needs the build lock.

    What a killed builder left behind goes too.
    """
    try:
        current = current_generation(folder)
    except SnapshotError:
        current = None
    for path in sorted(folder.iterdir()):
        if not path.is_dir() or path == current:
            continue
        lock = path / _READERS
        if not lock.exists():
            shutil.rmtree(path, ignore_errors=True)
            continue
        with suppress(SnapshotError), held_file(lock, SnapshotError("It is read.")):
            shutil.rmtree(path, ignore_errors=True)


def open_snapshot(
    home: Path, corpus: str, version: int, **more: Any
) -> SnapshotReader | None:
    """Return a reader of a corpus's snapshot, None where none can be used.

    Takes what `need_snapshot` takes. Why one that is there cannot be used is logged.
    """
    if not (snapshot_folder(home, corpus) / _POINTER).exists():
        return None
    try:
        return need_snapshot(home, corpus, version, **more)
    except (SnapshotError, FilterError) as error:  # or a filter of too many values
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
    """Return a reader of a corpus's snapshot.

    It must have the version that the corpus has now, and its stamp, as
    `CorpusMark.stamp`, unless that is None. The filter is what chunks must pass, at the
    anchor and at every hop. Raises `SnapshotError`, which says what to do, where there
    is none to use.
    """
    found = _opened(snapshot_folder(home, corpus))
    if found is None:
        raise SnapshotError(f"Corpus {corpus!r} has no snapshot: {update_hint(corpus)}")
    facts = found.facts
    if facts.corpus != corpus or (stamp is not None and facts.stamp != stamp):
        raise SnapshotError(
            f"The snapshot was made of another corpus {facts.corpus!r}, in another "
            f"database or deleted since: {update_hint(corpus)}"
        )
    if facts.version != version:
        raise SnapshotError(
            f"The snapshot of corpus {corpus!r} is of version {facts.version}, the "
            f"corpus of version {version}: {update_hint(corpus)}"
        )
    return SnapshotReader(found, filter=filter)


def forget_snapshots() -> None:
    """Close the snapshots that are kept open and that no reader uses."""
    with _LOCK:
        _OPEN.clear()


def _opened(folder: Path) -> Snapshot | None:
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

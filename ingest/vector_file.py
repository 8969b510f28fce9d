"""Vectors of a whole corpus in a file, mapped into memory while they are compared.

Keys, groups and what is known of each row are held in memory, 40 bytes a vector. The
file stays from one linking to the next, and names the state of the corpus it is of.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import shutil
import sqlite3
from array import array
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Self
from zipfile import BadZipFile

import numpy as np

from knowtrail.graph.errors import StorageError
from knowtrail.graph.files import private_folder, whole_bytes, write_file
from knowtrail.ingest.similarity import vector_number

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path
    from typing import Any

    import numpy.typing as npt

_REFUSED = frozenset({
    *(errno.EACCES, errno.EROFS, errno.EPERM, errno.EIO),
    *(errno.EEXIST, errno.ENOTDIR),
})
"""No right to write, a disk that fails, or a file where a folder should be."""
_FULL = re.compile("full|readonly|read-only|unable to open|disk I/O")
"""In what SQLite says of the same."""

_LOG = logging.getLogger(__name__)

_SPARE = 100_000_000
"""Bytes of a disk that working files leave free."""


@contextmanager
def storage_errors(folder: Path) -> Iterator[None]:
    """Turn a lack of space or rights into one clear error."""
    try:
        yield
    except OSError as error:
        if error.errno in {errno.EFBIG, errno.ENOSPC, errno.EDQUOT}:
            msg = (
                f"No space for working files in {folder}: free some or give another "
                "--work."
            )
        elif error.errno in _REFUSED:
            msg = f"Cannot write working files in {folder}: {error.strerror}."
        else:
            raise
        raise StorageError(msg) from error
    except sqlite3.OperationalError as error:
        if not _FULL.search(str(error)):
            raise
        msg = f"Cannot write working files in {folder} ({error}): free some, or --work."
        raise StorageError(msg) from error


def working_folder(folder: Path) -> Path:
    """Return a folder for working files, made where it is not there.

    Raises:
        StorageError: If it cannot be made.
    """
    with storage_errors(folder):
        private_folder(folder)
    return folder


class VectorFile:
    """Rows of (group, key, vector) in the order in which they arrived.

    Use it as a context manager. It stays in its folder, and `resume` finds it as it was
    kept last. Of each row it also knows the score that a new neighbour has to reach
    (NaN where that is not known). `whole` says that all were being compared with all.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._path = working_folder(folder) / f"{name}.vectors"
        with storage_errors(folder):
            self._file = self._path.open("a+b")
        self._clear()

    def _clear(self) -> None:
        self._keys = bytearray()
        self._groups = array("q")
        self._numbers = array("q")
        self._group_of: dict[str, int] = {}
        self._dimensions = 0
        self.floors = np.empty(0)
        self.whole = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # what did not fit is tried again, and has been told
            self._file.close()

    def __len__(self) -> int:
        return len(self._groups)

    def extend(self, rows: Iterable[tuple[str, str, npt.NDArray[np.float32]]]) -> None:
        """Append (group, key, float32 vector) rows; keys are 32 hexadecimal digits.

        Raises:
            StorageError: If there is no space.
        """
        with storage_errors(self._folder):
            for group, key, vector in rows:
                self._dimensions = len(vector)
                self._file.write(vector.tobytes())
                self._keys += bytes.fromhex(key)
                self._numbers.append(vector_number(vector))
                number = self._group_of.setdefault(group, len(self._group_of))
                self._groups.append(number)
            self._file.flush()
        more = len(self) - len(self.floors)
        self.floors = np.append(self.floors, np.full(more, np.nan))

    def drop(self, rows: npt.NDArray[np.int64]) -> None:
        """Leave rows without a group: they are no neighbours any more."""
        for row in rows.tolist():
            self._groups[row] = -1

    def reserve(self, needed: int) -> None:
        """Check that so many bytes find room, and say how many they are.

        Raises:
            StorageError: If the disk has no room for them.
        """
        free = shutil.disk_usage(self._folder).free
        _LOG.info("%d MB of working files go to %s", needed // 10**6, self._folder)
        if free < needed + _SPARE:
            raise StorageError(
                f"Working files of {needed / 1e6:,.0f} MB do not fit in "
                f"{self._folder}, where {free / 1e6:,.0f} MB are free: free some or "
                "give another --work."
            )

    def keep(self, state: str, *, whole: bool, floors: bool = True) -> None:
        """Note what the vectors are, so that `resume` can tell; with floors or none."""
        self.whole = whole
        with storage_errors(self._folder):
            self._file.flush()
            os.fsync(self._file.fileno())
        with storage_errors(self._folder), whole_bytes(self._beside("rows")) as file:
            np.savez(
                file,
                state=np.array(state),
                dimensions=np.array(self._dimensions),
                keys=np.frombuffer(bytes(self._keys), dtype=np.uint8),
                groups=self.groups,
                numbers=self.numbers,
                names=np.array(self.group_names),
                whole=np.array(whole),
                floors=self.floors if floors else np.full(len(self), np.nan),
            )

    def resume(self, state: str | None) -> bool:
        """Take up what was kept, if it is of this state; else empty the file."""
        with (
            suppress(OSError, EOFError, ValueError, KeyError, BadZipFile),
            np.load(self._beside("rows")) as about,
        ):
            if about["state"] == state and self._restored(about):
                return True
        self.remove()
        self._clear()
        with storage_errors(self._folder):
            self._file.close()
            self._file = self._path.open("a+b")
        return False

    def _restored(self, about: Mapping[str, Any]) -> bool:
        self._keys = bytearray(about["keys"].tobytes())
        self._groups = array("q", about["groups"].tobytes())
        self._numbers = array("q", about["numbers"].tobytes())
        self._group_of = {name: n for n, name in enumerate(about["names"].tolist())}
        self._dimensions = int(about["dimensions"])
        self.floors, self.whole = about["floors"], bool(about["whole"])
        size = 4 * self._dimensions * len(self)
        if self._path.stat().st_size < size or not len(self):
            return False
        self._file.truncate(size)  # what a run added that was killed
        return True

    def remove(self) -> None:
        """Remove the file and all that is kept beside it."""
        for end in ("vectors", "rows", "index", "done"):
            self._beside(end).unlink(missing_ok=True)

    def _beside(self, end: str) -> Path:
        return self._path.with_suffix(f".{end}")

    @property
    def index_path(self) -> Path:
        """Return where an index of the vectors may be kept."""
        return self._beside("index")

    @property
    def done(self) -> int:
        """Return how many rows are dealt with; may be set."""
        try:
            return int(self._beside("done").read_text("utf-8"))
        except (OSError, ValueError):
            return 0

    @done.setter
    def done(self, rows: int) -> None:
        write_file(self._beside("done"), str(rows))

    @property
    def vectors(self) -> npt.NDArray[np.float32]:
        """Return the vectors, memory-mapped, shape (n, dimensions)."""
        if not len(self):
            return np.empty((0, 1), dtype=np.float32)
        return np.memmap(
            self._file, dtype=np.float32, mode="r", shape=(len(self), self._dimensions)
        )

    @property
    def groups(self) -> npt.NDArray[np.int64]:
        """Return the number of each row's group, shape (n,)."""
        return np.array(self._groups, dtype=np.int64)

    @property
    def numbers(self) -> npt.NDArray[np.int64]:
        """Return a number of each row's vector, as of `vector_number`, shape (n,)."""
        return np.array(self._numbers, dtype=np.int64)

    def rows_in(self, groups: Collection[str]) -> npt.NDArray[np.int64]:
        """Return the rows of groups by their names."""
        numbers = [self._group_of[name] for name in groups if name in self._group_of]
        rows: npt.NDArray[np.int64] = np.flatnonzero(np.isin(self.groups, numbers))
        return rows

    def rows_with(self, keys: Collection[str]) -> dict[str, int]:
        """Return the rows that have some keys, those without a group left out."""
        wanted = np.array([int(key[:16], 16) for key in keys], dtype=np.uint64)
        near = np.isin(np.frombuffer(bytes(self._keys), dtype=">u8")[::2], wanted)
        rows = np.flatnonzero(near & (self.groups >= 0)).tolist()
        return {self.key(row): row for row in rows if self.key(row) in keys}

    @property
    def group_names(self) -> list[str]:
        """Return the groups' names by number."""
        return list(self._group_of)

    @property
    def ranks(self) -> npt.NDArray[np.int64]:
        """Return the place of each row's key in sorted order, shape (n,)."""
        halves = np.frombuffer(bytes(self._keys), dtype=">u8").reshape(-1, 2)
        ranks = np.empty(len(self), dtype=np.int64)
        ranks[np.lexsort((halves[:, 1], halves[:, 0]))] = np.arange(len(self))
        return ranks

    def key(self, row: int) -> str:
        """Return the key of a row."""
        return self._keys[16 * row : 16 * row + 16].hex()

"""Vectors of a whole corpus in a file, mapped into memory while they are compared.

Only keys and groups are held in memory, 24 bytes a vector.
"""

from __future__ import annotations

import errno
import json
import logging
import shutil
import tempfile
from array import array
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Self

import numpy as np

from knowtrail.graph.errors import StorageError
from knowtrail.graph.files import private_folder, whole_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    import numpy.typing as npt

_REFUSED = frozenset({
    *(errno.EACCES, errno.EROFS, errno.EPERM),
    *(errno.EEXIST, errno.ENOTDIR),
})
"""No right to write, or a file where a folder should be."""


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

    Use it as a context manager. Without a name the file goes with the process, however
    it ends; with one it is kept, and `resume` finds it, until it is removed.

    Args:
        folder: Where it goes.
        name: What it is called.
    """

    def __init__(self, folder: Path, name: str | None = None) -> None:
        self._folder = folder
        self._named = folder / f"{name}.vectors" if name else None
        working_folder(folder)
        with storage_errors(folder):
            if self._named:
                self._file: IO[bytes] = self._named.open("a+b")
            else:
                self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        self._clear()

    def _clear(self) -> None:
        """Forget all rows."""
        self._keys = bytearray()
        self._groups = array("q")
        self._group_of: dict[str, int] = {}
        self._dimensions = 0

    def __enter__(self) -> Self:
        """Return the file."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file, and so delete it where it has no name."""
        with suppress(OSError):  # what did not fit is tried again, and has been told
            self._file.close()

    def __len__(self) -> int:
        """Return the number of vectors."""
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
                number = self._group_of.setdefault(group, len(self._group_of))
                self._groups.append(number)
            self._file.flush()

    def reserve(self, needed: int) -> None:
        """Check that so many bytes find room, and say how many they are.

        Raises:
            StorageError: If the disk has no room for them.
        """
        free = shutil.disk_usage(self._folder).free
        _LOG.info("%d MB of working files go to %s", needed // 10**6, self._folder)
        if free < needed + _SPARE:
            msg = (
                f"Working files of {needed / 1e6:,.0f} MB do not fit in "
                f"{self._folder}, where {free / 1e6:,.0f} MB are free: free some or "
                "give another --work."
            )
            raise StorageError(msg)

    def keep(self, content: str) -> None:
        """Note beside a named file what it holds, so that `resume` can tell."""
        about = {
            "content": content,
            "dimensions": self._dimensions,
            "keys": self._keys.hex(),
            "groups": self._groups.tolist(),
            "names": self.group_names,
        }
        with whole_file(self._beside("rows")) as file:
            json.dump(about, file)

    def resume(self, content: str) -> bool:
        """Take up what was kept, if it is this content; else empty the file."""
        with suppress(OSError, ValueError, KeyError):
            about = json.loads(self._beside("rows").read_text("utf-8"))
            size = self._beside("vectors").stat().st_size
            if about["content"] == content and about["keys"]:
                self._keys = bytearray.fromhex(about["keys"])
                self._groups = array("q", about["groups"])
                self._group_of = {name: n for n, name in enumerate(about["names"])}
                self._dimensions = about["dimensions"]
                if size == 4 * self._dimensions * len(self):
                    return True
        self.remove()
        self._clear()
        with storage_errors(self._folder):
            self._file.close()
            self._file = self._beside("vectors").open("a+b")
        return False

    def remove(self) -> None:
        """Remove a named file and all that is kept beside it."""
        for end in ("vectors", "rows", "index", "done"):
            self._beside(end).unlink(missing_ok=True)

    def _beside(self, end: str) -> Path:
        """Return the path of a file that belongs to a named one."""
        return (self._named or self._folder).with_suffix(f".{end}")

    @property
    def index_path(self) -> Path | None:
        """Return where an index of the vectors may be kept, None without a name."""
        return self._beside("index") if self._named else None

    @property
    def done(self) -> int:
        """Return how many rows are dealt with; may be set on a named file."""
        try:
            return int(self._beside("done").read_text("utf-8"))
        except (OSError, ValueError):
            return 0

    @done.setter
    def done(self, rows: int) -> None:
        with whole_file(self._beside("done")) as file:
            file.write(str(rows))

    @property
    def vectors(self) -> npt.NDArray[np.float32]:
        """Return the vectors, memory-mapped, shape (n, dimensions)."""
        if not len(self):
            return np.empty((0, 1), dtype=np.float32)
        return np.memmap(
            self._file,
            dtype=np.float32,
            mode="r",
            shape=(len(self), self._dimensions),
        )

    @property
    def groups(self) -> npt.NDArray[np.int64]:
        """Return the number of each row's group, shape (n,)."""
        return np.array(self._groups, dtype=np.int64)

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

"""Vectors of a whole corpus in a file, mapped into memory while they are compared.

The file has no name and goes with the process, however it ends. Only keys and groups
are held in memory, 24 bytes a vector.
"""

from __future__ import annotations

import errno
import tempfile
from array import array
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Self

import numpy as np

from knowtrail.graph.errors import StorageError
from knowtrail.graph.files import private_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    import numpy.typing as npt

_REFUSED = frozenset({
    *(errno.EACCES, errno.EROFS, errno.EPERM),
    *(errno.EEXIST, errno.ENOTDIR),
})
"""No right to write, or a file where a folder should be."""


@contextmanager
def storage_errors(folder: Path) -> Iterator[None]:
    """Turn a lack of space or rights into one clear error."""
    try:
        yield
    except OSError as error:
        if error.errno in {errno.EFBIG, errno.ENOSPC, errno.EDQUOT}:
            msg = f"No space for working files in {folder}: free some or move --home."
        elif error.errno in _REFUSED:
            msg = f"Cannot write working files in {folder}: {error.strerror}."
        else:
            raise
        raise StorageError(msg) from error


class VectorFile:
    """Rows of (group, key, vector) in the order in which they arrived.

    Use it as a context manager; the vectors are gone afterwards.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with storage_errors(folder):
            private_folder(folder)
            self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - see exit
        self._keys = bytearray()
        self._groups = array("q")
        self._group_of: dict[str, int] = {}
        self._dimensions = 0

    def __enter__(self) -> Self:
        """Return the file."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close and so delete the file."""
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

"""Lines of a file that may be compressed, damaged or far too long."""

from __future__ import annotations

import bz2
import gzip
import io
import sys
import zlib
from contextlib import closing
from typing import IO, TYPE_CHECKING, cast

from knowtrail.graph.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STDIN = "-"
_BLOCK = 1 << 16


class BrokenLinesError(Exception):
    """A compressed file breaks off or is corrupt."""


class LineFile:
    """One file, or standard input, read line by line as bytes.

    Compression is told by the first bytes, not by the name. `position` counts bytes
    of the file on disk.
    """

    def __init__(self, path: Path, *, limit: int) -> None:
        """Open a file, `-` for standard input; a line beyond the limit is not kept.

        Raises:
            SourceError: If the file is missing or cannot be opened.
        """
        self._limit = limit
        self._raw: IO[bytes]
        if str(path) == STDIN:
            self._raw = io.BufferedReader(_Unclosed(sys.stdin.buffer), _BLOCK)
        else:
            try:
                self._raw = path.open("rb", buffering=_BLOCK)
            except OSError as error:
                msg = f"Cannot read {path}: {error.strerror}. Check the path."
                raise SourceError(msg) from error
        self.position = 0

    def lines(self) -> Iterator[bytes | None]:
        """Yield every line with its end, None in place of one beyond the limit.

        Raises:
            BrokenLinesError: If the file breaks off or cannot be read on.
        """
        with closing(self._raw), closing(self._decompressed()) as stream:
            while True:
                try:
                    line = self._line(stream)
                except (OSError, EOFError, zlib.error) as error:
                    raise BrokenLinesError(str(error)) from error
                self.position = self._tell()
                if line == b"":
                    return
                yield line

    def _decompressed(self) -> IO[bytes]:
        """Return the stream of the text itself."""
        start = cast("io.BufferedReader", self._raw).peek(3)
        if start.startswith(b"\x1f\x8b"):
            return cast("IO[bytes]", gzip.GzipFile(fileobj=self._raw, mode="rb"))
        if start.startswith(b"BZh"):
            return cast("IO[bytes]", bz2.BZ2File(self._raw, mode="rb"))
        return self._raw

    def _line(self, stream: IO[bytes]) -> bytes | None:
        """Read one line, dropping it as it comes when it is too long."""
        line = stream.readline(self._limit + 1)
        if len(line) <= self._limit or line.endswith(b"\n"):
            return line
        while (rest := stream.readline(_BLOCK)) and not rest.endswith(b"\n"):
            pass
        return None

    def _tell(self) -> int:
        """Return the place in the file on disk; standard input has none."""
        try:
            return self._raw.tell()
        except (OSError, ValueError):
            return self.position


class _Unclosed(io.RawIOBase):
    """Standard input for one reading, left open when the reading ends."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        read = getattr(self._stream, "read1", self._stream.read)
        data = read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

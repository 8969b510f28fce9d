"""Files in pieces, cut between records, and lines, compressed, damaged or too long."""

from __future__ import annotations

import bz2
import gzip
import io
import re
import sys
import zlib
from contextlib import closing, contextmanager
from itertools import pairwise
from typing import IO, TYPE_CHECKING, NamedTuple, cast

from knowtrail.graph.errors import SourceError
from knowtrail.graph.files import disk_errors
from knowtrail.ingest.sources._remote import RawBytes, located, located_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from knowtrail.ingest.sources._remote import AnyPath
    from knowtrail.ingest.sources.dump import DumpFile


UNREAD = "Cannot read {path}: {reason}. Check the path."
_SCANNED = 1 << 18
_PAGE = b"<page>"
_STREAM = b"1AY&SY"
"""The mark of a first block of bzip2; `BZh` and a digit stand before it."""
_COMPRESSED = (b"\x1f\x8b", b"BZh")
_TRIED = 16
"""Streams of bzip2 in a row that begin with no page: no other will."""


class Part(NamedTuple):
    """A piece of a source.

    It goes from `start` to `end` of the `file`, in bytes, or of a list of files; None
    is the end of it. `lines` come before it, `mark` says in which state the file was,
    and `weight` is what it counts in the source's unit.
    """

    file: str
    start: int
    end: int | None
    mark: str
    weight: int
    lines: int = 0


class _FileRange(RawBytes):
    """A range of a file as if it were the whole."""

    def __init__(self, file: IO[bytes], start: int, end: int | None) -> None:
        self._file = file
        self._start = start
        self._end = end
        file.seek(start)

    def close(self) -> None:
        self._file.close()
        super().close()

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(self._start + offset) - self._start

    def tell(self) -> int:
        return self._file.tell() - self._start

    def some(self, most: int) -> bytes:
        if self._end is not None:
            most = min(most, self._end - self._file.tell())
        return self._file.read(most)


def ranged(file: IO[bytes], start: int, end: int | None) -> IO[bytes]:
    """Return a range of an open file, or the file itself where that is all of it."""
    if not start and end is None:
        return file
    return io.BufferedReader(_FileRange(file, start, end))


def unpacked(file: IO[bytes], start: bytes) -> IO[bytes]:
    """Return a file without its compression, which its first bytes show."""
    if start.startswith(_COMPRESSED[0]):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=file, mode="rb"))
    if start.startswith(_COMPRESSED[1]):
        return cast("IO[bytes]", bz2.BZ2File(file, mode="rb"))
    return file


def line_parts(path: AnyPath, size: int) -> Iterator[Part]:
    """Yield pieces of a file of lines of about so many bytes; compressed files whole.

    The file is read once, as its lines are numbered.
    """
    with path.open("rb") as file:
        if file.read(3).startswith(_COMPRESSED):
            yield from _parts(path, [(0, 0)])
            return
        file.seek(0)
        cuts = [(0, 0)]
        place = lines = 0
        while block := file.read(min(_SCANNED, size)):
            cut = block.rfind(b"\n") + 1
            if cut and place + cut - cuts[-1][0] >= size:
                cuts.append((place + cut, lines + block.count(b"\n", 0, cut)))
            place += len(block)
            lines += block.count(b"\n")
    yield from _parts(path, [cut for cut in cuts if cut[0] < max(place, 1)])


def dump_parts(path: AnyPath, size: int, *, utf8: bool) -> Iterator[Part]:
    """Yield pieces of a dump that begin with a page, at least so many bytes apart.

    A bzip2 file is cut between its streams, where it has several that begin with pages;
    one of a single stream, of gzip or in another encoding is read as a whole.
    """
    with path.open("rb") as file:
        magic = file.read(3)
        if not utf8 or magic.startswith(_COMPRESSED[0]):
            cuts = [0]
        elif magic == _COMPRESSED[1]:
            cuts = _cuts(
                file, size // 4 or 1, re.compile(rb"BZh[1-9]" + _STREAM), _paged
            )
        else:
            cuts = _cuts(file, size, re.compile(_PAGE), lambda *_: True)
    yield from _parts(path, [(cut, 0) for cut in cuts])


def _parts(path: AnyPath, cuts: list[tuple[int, int]]) -> Iterator[Part]:
    """Yield the pieces between places in a file, given with the lines before them."""
    status = path.stat()
    mark = f"{status.st_size} {status.st_mtime_ns}"
    file = str(path.absolute())
    size = status.st_size or 0
    for (start, lines), (end, _) in pairwise([*cuts, (size, 0)]):
        open_end = None if end == size else end
        yield Part(file, start, open_end, mark, end - start, lines)


def _cuts(
    file: IO[bytes],
    size: int,
    mark: re.Pattern[bytes],
    fits: Callable[[IO[bytes], int], bool],
) -> list[int]:
    """Return the places of marks that fit and are at least so far apart, and 0."""
    cuts, after, failed = [0], size, 0
    while failed < _TRIED and (found := _next(file, after, mark)) is not None:
        if fits(file, found):
            cuts.append(found)
            after, failed = found + size, 0
        else:
            after, failed = found + 1, failed + 1
    return cuts


def _next(file: IO[bytes], place: int, mark: re.Pattern[bytes]) -> int | None:
    """Return the place of the next mark, None where there is none."""
    while True:
        file.seek(place)
        block = file.read(_SCANNED)
        if found := mark.search(block):
            return place + found.start()
        if len(block) < _SCANNED:
            return None
        place += len(block) - len(_STREAM) - 4


def _paged(file: IO[bytes], place: int) -> bool:
    file.seek(place)
    unpacked, text = bz2.BZ2Decompressor(), b""
    try:
        while not text and not unpacked.eof and (block := file.read(_SCANNED)):
            text = unpacked.decompress(block, 200)
    except OSError:
        return False
    return text.lstrip().startswith(_PAGE)


STDIN = "-"
_BLOCK = 1 << 16


class PathsSource:
    """What sources that read one file after the other have in common.

    They are as long as the files on disk, in bytes; standard input has no length.
    """

    unit = "bytes"

    def __init__(self, paths: Sequence[AnyPath | str]) -> None:
        self._paths = tuple(located_all(paths))
        self._finished = 0
        self._current: DumpFile | LineFile | None = None

    @property
    def size(self) -> int | None:
        """Return the size of all files."""
        try:
            sizes = [path.stat().st_size for path in self._paths]
        except OSError:
            return None
        return sum(size or 0 for size in sizes) if None not in sizes else None

    @property
    def again(self) -> bool:
        """Return whether all files are there, and can be read more than once."""
        return all(str(path) != STDIN and path.is_file() for path in self._paths)

    def _at(self, part: Part) -> AnyPath:
        """Return the file of a piece, with what its text leaves out."""
        same = (path for path in self._paths if str(path) == part.file)
        return next(same, None) or located(part.file)

    @property
    def position(self) -> int:
        """Return how many bytes have been read."""
        return self._finished + (self._current.position if self._current else 0)

    @contextmanager
    def _reading(self, file: DumpFile | LineFile) -> Iterator[None]:
        """Count a file while it is read, and from then on."""
        self._current = file
        try:
            yield
        finally:
            self._finished += file.position
            self._current = None


class BrokenLinesError(Exception):
    """A compressed file breaks off or is corrupt."""


class LineFile:
    """One file, or standard input, read line by line as bytes.

    Compression is told by the first bytes, not by the name. `position` counts bytes
    of the file on disk.
    """

    def __init__(
        self, path: AnyPath, *, limit: int, start: int = 0, end: int | None = None
    ) -> None:
        """Open a file, `-` for standard input; a line beyond the limit is not kept.

        A range that begins behind the start of a file has lines that are uncompressed.

        Raises:
            SourceError: If the file is missing or cannot be opened.
        """
        self._limit = limit
        self._within = bool(start)
        self._raw: IO[bytes]
        if str(path) == STDIN:
            self._raw = io.BufferedReader(_Unclosed(sys.stdin.buffer), _BLOCK)
        else:
            with disk_errors(SourceError, UNREAD, path=path):
                file = path.open("rb", buffering=_BLOCK)
            self._raw = ranged(file, start, end)
        self.position = 0

    def lines(self) -> Iterator[bytes | None]:
        """Yield lines with ends, None for a too long one, until `BrokenLinesError`."""
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
        start = cast("io.BufferedReader", self._raw).peek(3)
        return self._raw if self._within else unpacked(self._raw, start)

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


class _Unclosed(RawBytes):
    """Standard input for one reading, left open when the reading ends."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def some(self, most: int) -> bytes:
        read: Callable[[int], bytes] = getattr(self._stream, "read1", self._stream.read)
        return read(most)

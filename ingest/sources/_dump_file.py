"""Opening a dump file: what kind it is, by its bytes, and its text, in pieces.

Compression and encoding are recognised by content, never by name. Bytes that are not
valid in the encoding become `INVALID`, so that one bad page does not end the file.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import re
import zlib
from typing import TYPE_CHECKING

from knowtrail.graph.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType

INVALID = "\U0010fffe"
"""Stands for bytes that are not text: a code point that no character ever has."""

PIECE = 1 << 16
_BLOCK = 1_000_000
_WRONG_TYPES: tuple[tuple[bytes, str], ...] = (
    (b"PK\x03\x04", "a zip archive"),
    (b"%PDF", "a PDF document"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\xfd7zXZ", "an xz file"),
    (b"\x28\xb5\x2f\xfd", "a zstd file"),
    (b"SQLite format 3", "an SQLite database"),
    (b"\x89PNG", "a picture"),
    (b"\x7fELF", "a program"),
)
_DECLARED = re.compile(rb"""^\s*<\?xml[^>]*?encoding\s*=\s*["']([\w.:-]+)["']""")
_BOMS: tuple[tuple[bytes, str], ...] = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
    (b"<\x00?\x00", "utf-16-le"),
    (b"<\x00m\x00", "utf-16-le"),
    (b"\x00<\x00?", "utf-16-be"),
    (b"\x00<\x00m", "utf-16-be"),
)


class BrokenFileError(Exception):
    """The compressed data ends early or is corrupt; caught by the dump source.

    Where it is corrupt, what was read last may be wrong, too.
    """

    def __init__(self, reason: str, *, corrupt: bool) -> None:
        """Say in a few words what is wrong with the data."""
        super().__init__(reason)
        self.corrupt = corrupt


def _mark_invalid(error: UnicodeError) -> tuple[str, int]:
    """Replace undecodable bytes by `INVALID`."""
    if isinstance(error, UnicodeDecodeError):
        return INVALID, error.end
    raise error


codecs.register_error("knowtrail-invalid", _mark_invalid)


class DumpFile:
    """One open dump file, read as text in pieces of bounded size."""

    def __init__(self, path: Path) -> None:
        """Open an XML file, plain or compressed, and look at its first bytes.

        Raises:
            SourceError: If it is missing, empty or plainly something else.
        """
        self.path = path
        self.bytes_read = 0
        try:
            self._raw = path.open("rb")
        except OSError as error:
            reason = error.strerror or str(error)
            msg = f"The dump {path} cannot be opened ({reason}): check the path."
            raise SourceError(msg) from error
        try:
            self._stream = self._decompressor()
            self._head = self._first_bytes()
        except SourceError:
            self.close()
            raise
        codec = codecs.getincrementaldecoder(self._encoding())
        self._decoder = codec(errors="knowtrail-invalid")

    def __enter__(self) -> DumpFile:
        """Return the file itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the file."""
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._raw.close()

    @property
    def position(self) -> int:
        """Return the place in the file on disk, in bytes."""
        return 0 if self._raw.closed else self._raw.tell()

    def read(self) -> str | None:
        """Return the next piece of text, or None at the end.

        Raises:
            BrokenFileError: If the compressed data ends early or is corrupt.
        """
        data = self._head or self._next_bytes()
        self._head = b""
        self.bytes_read += len(data)
        if data:
            return self._decoder.decode(data)
        return self._decoder.decode(b"", final=True) or None

    @property
    def unchecked(self) -> int:
        """Return how many of the last bytes may not have met their checksum yet.

        Bzip2 gives the bytes of a block before it has compared the block's checksum.
        """
        return _BLOCK if isinstance(self._stream, bz2.BZ2File) else 0

    def find_corruption(self) -> BrokenFileError | None:
        """Read on until the last bytes are checked; return what is wrong with them."""
        left = self.unchecked
        try:
            while left > 0 and (data := self._next_bytes()):
                left -= len(data)
        except BrokenFileError as error:
            return error if error.corrupt else None
        return None

    def _next_bytes(self) -> bytes:
        """Return what one read of the decompressor gives, so that none is lost."""
        try:
            return self._stream.read1(PIECE)
        except (EOFError, OSError, zlib.error) as error:
            raise _broken(error) from error

    def _decompressor(self) -> bz2.BZ2File | gzip.GzipFile | _Plain:
        """Choose the decompressor by the magic bytes."""
        try:
            magic = self._raw.read(16)
            self._raw.seek(0)
        except OSError as error:
            msg = f"The dump {self.path} cannot be read ({error.strerror})."
            raise SourceError(msg) from error
        if not magic:
            msg = f"The dump {self.path} is empty: download it again."
            raise SourceError(msg)
        if magic.startswith(b"BZh"):
            return bz2.BZ2File(self._raw)
        if magic.startswith(b"\x1f\x8b"):
            return gzip.GzipFile(fileobj=self._raw)
        return _Plain(self._raw.read)

    def _first_bytes(self) -> bytes:
        """Read the beginning and refuse what is clearly no dump."""
        try:
            head = self._next_bytes()
        except BrokenFileError as error:
            msg = f"The dump {self.path} is damaged before its first page: {error}."
            raise SourceError(msg) from error
        kind = _kind(head)
        if kind is not None:
            msg = (
                f"{self.path} is {kind}, not a MediaWiki XML dump: give a "
                "pages-articles .xml, .xml.bz2 or .xml.gz file."
            )
            raise SourceError(msg)
        return head

    def _encoding(self) -> str:
        """Return the encoding that the first bytes show, UTF-8 by default."""
        for start, encoding in _BOMS:
            if self._head.startswith(start):
                return encoding
        declared = _DECLARED.match(self._head[:1000])
        if declared is None:
            return "utf-8"
        name = declared.group(1).decode("ascii")
        try:
            info = codecs.lookup(name)
        except LookupError as error:
            self.close()
            msg = f"The dump {self.path} is in an unknown encoding, {name!r}."
            raise SourceError(msg) from error
        return "utf-8" if info.name.startswith("utf-16") else info.name


class _Plain:
    """An uncompressed file with the reading method of the decompressors."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read

    def read1(self, size: int) -> bytes:
        """Return at most `size` bytes."""
        return self._read(size)


def _kind(head: bytes) -> str | None:
    """Name what the bytes are, or return None where they may be a dump."""
    for magic, name in _WRONG_TYPES:
        if head.startswith(magic):
            return name
    start = head[:2000].replace(b"\x00", b"").lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n")
    if not start:
        return "an empty file"
    if start[:1] in {b"{", b"["}:
        return "a JSON file"
    if re.match(rb"<!doctype\s+html|<html", start, re.IGNORECASE):
        return "an HTML page"
    return None if start.startswith(b"<") else "not XML"


def _broken(error: Exception) -> BrokenFileError:
    """Say in words why decompression stopped."""
    if isinstance(error, EOFError):
        return BrokenFileError("the compressed data ends early", corrupt=False)
    return BrokenFileError("the compressed data is corrupt", corrupt=True)

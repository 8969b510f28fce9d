"""Documents from JSON Lines: one object a line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from knowtrail.graph.errors import SourceError
from knowtrail.ingest.keys import content_key
from knowtrail.ingest.records import Damage, Failure, LeftOut, RawDocument
from knowtrail.ingest.sources._lines import STDIN, BrokenLinesError, LineFile
from knowtrail.ingest.sources._record import document_of
from knowtrail.ingest.sources._values import BadValueError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowtrail.ingest.records import Item

MAX_LINE = 20_000_000
"""Longest line in bytes; a longer one fails without being held in memory."""


class JsonlSource:
    """The records of one or more JSON Lines files, in their order.

    A record has `text`, or ready-made `sentences`, and may have `id`, `title`, `url`,
    `language`, `revision`, `categories` (strings), `links` (`start`, `end`, `target`),
    `sections` (`title`, `start`, `level`) and `metadata`; any other key is metadata.
    The id of a record is its `id`, else its title, else a key of line number and path
    of the file, relative to the working folder where it lies below it: records that
    are to be updated one by one, or come from standard input twice, need one of the
    first two.

    A line that cannot be used is a `Failure` titled `file:line`, and the rest goes on;
    blank lines are skipped. Files compressed with gzip or bzip2 are read as they are.
    """

    unit = "bytes"

    def __init__(
        self,
        paths: Sequence[Path | str],
        *,
        language: str = "en",
        max_line: int = MAX_LINE,
    ) -> None:
        """Name the files; nothing is opened yet.

        Args:
            paths: Files; `-` is standard input, which can be read only once.
            language: Language of records that name none.
            max_line: Longest line to accept, in bytes.
        """
        self._paths = tuple(Path(path) for path in paths)
        self._language = language
        self._max_line = max_line
        self._finished = 0
        self._current: LineFile | None = None

    @property
    def name(self) -> str:
        """Return the names of the files."""
        return ", ".join(_name(path) for path in self._paths)

    @property
    def size(self) -> int | None:
        """Return the size of all files in bytes, None with standard input."""
        try:
            return sum(path.stat().st_size for path in self._paths)
        except OSError:
            return None

    @property
    def position(self) -> int:
        """Return how many bytes of the files on disk have been read."""
        return self._finished + (self._current.position if self._current else 0)

    def items(self) -> Iterator[Item]:
        """Check that every file is there, then yield their records.

        Returns:
            Documents, failures and, where a compressed file breaks off, damage. A
            file in which no line is a record raises `SourceError` when it ends,
            unless other files gave some.

        Raises:
            SourceError: If no file was named, or one is missing, empty or a folder.
        """
        if not self._paths:
            msg = "No JSON Lines file was given: name at least one, or - for stdin."
            raise SourceError(msg)
        for path in self._paths:
            _check(path)
        return self._read_all()

    def _read_all(self) -> Iterator[Item]:
        """Yield the records of every file."""
        self._finished = 0
        usable, first = 0, ""
        for path in self._paths:
            for item in self._read(path):
                usable += not isinstance(item, Failure)
                if not first and isinstance(item, Failure):
                    first = f"{item.title}: {item.message}"
                yield item
        if not usable:
            _refuse(self.name, first)

    def _read(self, path: Path) -> Iterator[Item]:
        """Yield the records of one file."""
        self._current = LineFile(path, limit=self._max_line)
        number = 0
        try:
            for number, line in enumerate(self._current.lines(), start=1):
                if line is None or line.strip(b" \t\r\n\xef\xbb\xbf"):
                    yield self._item(line, path, number)
        except BrokenLinesError as error:
            yield Damage(
                message=(
                    f"{_name(path)} breaks off after line {number}: {error}. The lines "
                    f"before were read; get the file again."
                )
            )
        finally:
            self._finished += self._current.position
            self._current = None

    def _item(self, line: bytes | None, path: Path, number: int) -> Item:
        """Return what one line holds."""
        place = f"{_name(path)}:{number}"
        if line is None:
            size = f"{self._max_line:,} bytes"
            return Failure(
                title=place, message=f"the line is longer than {size}: split the text"
            )
        try:
            return self._document(line, path, number, place)
        except BadValueError as error:
            return Failure(title=place, message=str(error))

    def _document(
        self, line: bytes, path: Path, number: int, place: str
    ) -> RawDocument | LeftOut:
        """Decode one line.

        Raises:
            BadValueError: If it is no usable record.
        """
        return document_of(
            decode_line(line, first=number == 1),
            key=content_key(_place(path), number),
            place=place,
            source=_name(path),
            language=self._language,
        )


def decode_line(line: bytes, *, first: bool) -> dict[str, Any]:
    """Return the object of a line.

    Raises:
        BadValueError: If the line is not UTF-8, not JSON or not an object.
    """
    try:
        text = line.decode("utf-8-sig" if first else "utf-8")
    except UnicodeDecodeError as error:
        msg = f"invalid UTF-8 at byte {error.start}: save the file as UTF-8"
        raise BadValueError(msg) from error
    try:
        record = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        msg = f"not JSON: {error.msg} at character {error.pos + 1}"
        raise BadValueError(msg) from error
    except (RecursionError, ValueError) as error:
        msg = f"not usable JSON: {error}"
        raise BadValueError(msg) from error
    if not isinstance(record, dict):
        msg = 'not a JSON object: write one object a line, such as {"text": "..."}'
        raise BadValueError(msg)
    return record


def _refuse_constant(name: str) -> NoReturn:
    """Refuse NaN and infinities, which are not JSON."""
    msg = f"{name} is no JSON number"
    raise ValueError(msg)


def _name(path: Path) -> str:
    """Return what the file is called in messages and keys."""
    return "stdin" if str(path) == STDIN else path.name


def _place(path: Path) -> str:
    """Return what tells the file from others of its name, however it was written."""
    if str(path) == STDIN:
        return _name(path)
    whole, here = path.absolute(), Path.cwd()
    return (whole.relative_to(here) if whole.is_relative_to(here) else whole).as_posix()


def _check(path: Path) -> None:
    """Refuse a file that is not there or has nothing in it."""
    if str(path) == STDIN:
        return
    try:
        empty = not path.stat().st_size
    except OSError as error:
        msg = f"Cannot read {path}: {error.strerror}. Check the path."
        raise SourceError(msg) from error
    if path.is_dir():
        msg = f"{path} is a folder: name the JSON Lines files in it."
        raise SourceError(msg)
    if empty and path.is_file():
        msg = f"{path} is empty: it should have one JSON object a line."
        raise SourceError(msg)


def _refuse(name: str, first: str) -> NoReturn:
    """Say that nothing in the files was a record."""
    if not first:
        msg = f"{name} has no records: it should have one JSON object a line."
    else:
        msg = f"No line of {name} is a usable record. The first: {first}."
    raise SourceError(msg)

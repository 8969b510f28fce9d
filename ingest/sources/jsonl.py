"""Documents from JSON Lines: one object a line."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from knowtrail.graph.errors import InputError, SourceError
from knowtrail.graph.files import disk_errors
from knowtrail.graph.files.lines import no_constant
from knowtrail.graph.models.prompts import whole_characters
from knowtrail.ingest.keys import content_key
from knowtrail.ingest.records import (
    Damage,
    Failure,
    LeftOut,
    Link,
    RawDocument,
    Section,
)
from knowtrail.ingest.sources._lines import (
    STDIN,
    UNREAD,
    BrokenLinesError,
    LineFile,
    PathsSource,
    line_parts,
)
from knowtrail.ingest.sources._remote import RemoteFile
from knowtrail.ingest.sources._values import (
    BadValueError,
    as_text,
    stored_metadata,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from knowtrail.ingest.records import Item
    from knowtrail.ingest.sources._lines import Part
    from knowtrail.ingest.sources._remote import AnyPath

MAX_LINE = 20_000_000
"""Longest line in bytes; a longer one fails without being held in memory."""

KEYS = (
    *("id", "title", "text", "sentences", "url", "language", "revision"),
    *("links", "sections", "categories", "metadata"),
)
"""Keys with a meaning; every other one is metadata."""

_Made = TypeVar("_Made")


class JsonlSource(PathsSource):
    """The records of one or more JSON Lines files, in their order.

    A record has `text`, or ready-made `sentences`, and may have `id`, `title`, `url`,
    `language`, `revision`, `categories` (strings), `links` (`start`, `end`, `target`),
    `sections` (`title`, `start`, `level`) and `metadata`; any other key is metadata.
    The id of a record is its `id`, else its title, else a key of line number and path
    of the file, relative to the working folder where it lies below it, or to its host
    or bucket: records that are to be updated one by one, or come from standard input
    twice, need one of the first two.

    A line that cannot be used is a `Failure` titled `file:line`, and the rest goes on;
    blank lines are skipped. Files compressed with gzip or bzip2 are read as they are.
    """

    def __init__(
        self,
        paths: Sequence[AnyPath | str],
        *,
        language: str = "en",
        max_line: int = MAX_LINE,
    ) -> None:
        """Name files, `-` for standard input, which can be read only once.

        The language is that of records that name none; the longest line is in bytes.
        """
        super().__init__(paths)
        self._language = language
        self._max_line = max_line
        self.name = ", ".join(_name(path) for path in self._paths)
        self._places = {str(path.absolute()): _place(path) for path in self._paths}

    def parts(self, size: int) -> Iterator[Part]:
        """Yield pieces of about so many bytes; `InputError` for standard input."""
        for path in self._paths:
            if str(path) == STDIN:
                raise InputError("Standard input can be read here alone: name a file.")
            yield from line_parts(path, size)

    def part_items(self, part: Part) -> Iterator[Item]:
        """Yield the records of a piece."""
        path = self._at(part)
        file = LineFile(path, limit=self._max_line, start=part.start, end=part.end)
        return self._read(path, file, part.lines)

    def items(self) -> Iterator[Item]:
        """Check that every file is there, then yield their records.

        Where a compressed file breaks off there is damage. Files in which no line is a
        record raise `SourceError` when they end.

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
        self._finished = 0
        usable, first = 0, ""
        for path in self._paths:
            for item in self._read(path, LineFile(path, limit=self._max_line)):
                usable += not isinstance(item, Failure)
                if not first and isinstance(item, Failure):
                    first = f"{item.title}: {item.message}"
                yield item
        if not usable:
            msg = f"{self.name} has no records: it should have one JSON object a line."
            if first:
                msg = f"No line of {self.name} is a usable record. The first: {first}."
            raise SourceError(msg)

    def _read(self, path: AnyPath, file: LineFile, before: int = 0) -> Iterator[Item]:
        number = before
        with self._reading(file):
            try:
                for number, line in enumerate(file.lines(), start=before + 1):
                    if line is None or line.strip(b" \t\r\n\xef\xbb\xbf"):
                        yield self._item(line, path, number)
            except BrokenLinesError as error:
                yield Damage(
                    message=(
                        f"{_name(path)} breaks off after line {number}: {error}. The "
                        "lines before were read; get the file again."
                    )
                )

    def _item(self, line: bytes | None, path: AnyPath, number: int) -> Item:
        place = f"{_name(path)}:{number}"
        if line is None:
            size = f"{self._max_line:,} bytes"
            return Failure(
                title=place, message=f"the line is longer than {size}: split the text"
            )
        try:
            return document_of(
                decode_line(line, first=number == 1),
                key=content_key(self._places[str(path.absolute())], number),
                place=place,
                source=_name(path),
                language=self._language,
            )
        except BadValueError as error:
            return Failure(title=place, message=str(error))


def decode_line(line: bytes, *, first: bool) -> dict[str, Any]:
    """Return the object of a line in UTF-8, or raise `BadValueError`."""
    try:
        text = line.decode("utf-8-sig" if first else "utf-8")
    except UnicodeDecodeError as error:
        msg = f"invalid UTF-8 at byte {error.start}: save the file as UTF-8"
        raise BadValueError(msg) from error
    try:
        record = json.loads(text, parse_constant=no_constant)
    except json.JSONDecodeError as error:
        msg = f"not JSON: {error.msg} at character {error.pos + 1}"
        raise BadValueError(msg) from error
    except (RecursionError, ValueError) as error:
        raise BadValueError(f"not usable JSON: {error}") from error
    if not isinstance(record, dict):
        msg = 'not a JSON object: write one object a line, such as {"text": "..."}'
        raise BadValueError(msg)
    return record


def _name(path: AnyPath) -> str:
    """Return what the file is called in messages and keys."""
    return "stdin" if str(path) == STDIN else path.name


def _place(path: AnyPath) -> str:
    """Return what tells the file from others of its name, however it was written."""
    if str(path) == STDIN:
        return _name(path)
    if isinstance(path, RemoteFile):
        return path.key
    whole, here = path.absolute(), Path.cwd()
    return (whole.relative_to(here) if whole.is_relative_to(here) else whole).as_posix()


def _check(path: AnyPath) -> None:
    if str(path) == STDIN:
        return
    with disk_errors(SourceError, UNREAD, path=path):
        empty = path.stat().st_size == 0
    if path.is_dir():
        raise SourceError(f"{path} is a folder: name the JSON Lines files in it.")
    if empty and path.is_file():
        raise SourceError(f"{path} is empty: it should have one JSON object a line.")


def document_of(
    record: dict[str, Any], *, key: str, place: str, source: str, language: str
) -> RawDocument | LeftOut:
    """Return the document that a record describes, or that its text is blank.

    Where it has neither id nor title, `key` is its id and `place` its title.

    Raises:
        BadValueError: If a value is not what its key asks for.
    """
    identity = _identity(record.get("id"), "id")
    title = (as_text(record.get("title"), "title") or "").strip()
    text, sentences = _text(record)
    if not text.strip():
        return LeftOut(
            title=title or identity or place,
            reason="empty",
            source_id=identity or title or key,
        )
    return RawDocument(
        source_id=identity or title or key,
        title=title or identity or place,
        raw=text,
        sentences=sentences,
        links=_each(record, "links", lambda row: _link(row, len(text))),
        sections=_each(record, "sections", lambda row: _section(row, len(text))),
        categories=_each(record, "categories", partial(_required, name="categories")),
        url=as_text(record.get("url"), "url"),
        source=source,
        revision=_identity(record.get("revision"), "revision"),
        language=as_text(record.get("language"), "language") or language,
        metadata=_metadata(record),
    )


def _identity(value: object, name: str) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    text = as_text(value, name)
    return text.strip() or None if text else None


def _text(record: dict[str, Any]) -> tuple[str, tuple[str, ...] | None]:
    """Return the text and the ready-made sentences it consists of."""
    text = as_text(record.get("text"), "text")
    if record.get("sentences") is None:
        if text is None:
            msg = "it has neither 'text' nor 'sentences': one of them is needed"
            raise BadValueError(msg)
        return text, None
    sentences = _each(record, "sentences", partial(_required, name="sentences"))
    joined = " ".join(sentences)
    if text is not None and text != joined:
        raise BadValueError(
            "'text' is not the join of 'sentences' by one space: give one of the two, "
            "or sentences that make the text"
        )
    return joined, sentences


def _each(
    record: dict[str, Any], name: str, make: Callable[[Any], _Made]
) -> tuple[_Made, ...]:
    """Make something of every member of a list; a missing list is empty."""
    rows = record.get(name)
    if rows is None:
        return ()
    if not isinstance(rows, list):
        raise BadValueError(f"{name!r} is not a list")
    return tuple(make(row) for row in rows)


def _required(value: object, name: str) -> str:
    text = as_text(value, name)
    if text is None:
        raise BadValueError(f"{name!r} has a null in it: leave the member out")
    return text


def _link(row: Any, length: int) -> Link:
    start, end = _offset(row, "links", "start"), _offset(row, "links", "end")
    target = _required(row.get("target"), "links")
    if not start < end <= length or not target.strip():
        raise BadValueError(
            f"a link from {start} to {end} to {target[:40]!r} does not fit a text of "
            f"{length} characters: offsets count characters, the end is exclusive"
        )
    return Link(start=start, end=end, target=target)


def _section(row: Any, length: int) -> Section:
    start, level = _offset(row, "sections", "start"), row.get("level", 2)
    title = _required(row.get("title"), "sections")
    if start > length or isinstance(level, bool) or level not in range(1, 7):
        raise BadValueError(
            f"the section {title[:40]!r} at {start} with level {str(level)[:20]} does "
            f"not fit a text of {length} characters and levels 1 to 6"
        )
    return Section(title=title, start=start, level=level)


def _offset(row: Any, name: str, field: str) -> int:
    """Return a place in the text out of an object."""
    value = row.get(field) if isinstance(row, dict) else None
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        msg = f"a member of {name!r} has no whole number {field!r} of 0 or more"
        raise BadValueError(msg)
    return value


def _metadata(record: dict[str, Any]) -> dict[str, Any]:
    given = record.get("metadata")
    if not isinstance(given, dict | None):
        raise BadValueError("'metadata' is not an object")
    loose = {whole_characters(k): v for k, v in record.items() if k not in KEYS}
    kept = stored_metadata(loose, "the record")
    return kept | stored_metadata(given or {}, "'metadata'")

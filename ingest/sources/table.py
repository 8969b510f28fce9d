"""Rows of a table in a file: CSV whose first line names the columns, or JSON Lines."""

from __future__ import annotations

import csv
from collections import Counter
from typing import TYPE_CHECKING

from knowtrail.graph.errors import SourceError
from knowtrail.graph.files import disk_errors
from knowtrail.ingest.sources._lines import UNREAD, BrokenLinesError, LineFile
from knowtrail.ingest.sources._values import BadValueError
from knowtrail.ingest.sources.jsonl import decode_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LONGEST = 1_000_000
"""Characters of a field of a CSV file, bytes of a line of a JSON file."""

Row = dict[str, str]
"""Column -> text."""


class TableFile:
    """A table in UTF-8; JSON is told by its first character.

    Columns with other values than texts and numbers are `nested`, with where first.
    """

    def __init__(self, path: Path) -> None:
        """Look at the beginning; `SourceError` if it cannot be read."""
        self.path = path
        self.nested: dict[str, str] = {}
        with (
            disk_errors(SourceError, UNREAD, path=path),
            path.open(encoding="utf-8-sig", errors="replace") as file,
        ):
            self._json = file.read(4096).lstrip()[:1] == "{"

    def rows(self) -> Iterator[tuple[str, Row | str]]:
        """Yield each row's place with texts, or what is wrong; or `SourceError`."""
        if self._json:
            yield from self._json_rows()
            return
        before = csv.field_size_limit(_LONGEST)
        line = 1
        try:
            with self.path.open(encoding="utf-8-sig", newline="") as file:
                reader = csv.reader(file, strict=True)
                header = _header(self.path, next(reader, []))
                line = reader.line_num + 1
                for cells in reader:
                    line = reader.line_num + 1
                    place = f"{self.path.name}:{reader.line_num}"
                    if len(cells) > len(header):
                        wrong = f"{len(cells)} cells, but {len(header)} columns"
                        yield place, f"{wrong}: quote cells that have commas"
                    elif any(cell.strip() for cell in cells):
                        yield place, dict(zip(header, cells, strict=False))
        except UnicodeDecodeError as error:
            msg = f"{self.path} is not UTF-8 ({error.reason}): save it as UTF-8."
            raise SourceError(msg) from error
        except csv.Error as error:
            raise SourceError(
                f"{self.path}:{line} is no CSV: {error}. Look for a quote that is not "
                "closed."
            ) from error
        finally:
            csv.field_size_limit(before)

    def _json_rows(self) -> Iterator[tuple[str, Row | str]]:
        lines = LineFile(self.path, limit=_LONGEST).lines()
        try:
            for number, line in enumerate(lines, start=1):
                place = f"{self.path.name}:{number}"
                if line is None:
                    yield place, f"the line is longer than {_LONGEST:,} characters"
                elif line.strip():
                    try:
                        yield place, self._flat(line.rstrip(b"\r\n"), number, place)
                    except BadValueError as error:
                        yield place, str(error)
        except BrokenLinesError as error:
            msg = f"{self.path} breaks off: {error}. Get it again."
            raise SourceError(msg) from error

    def _flat(self, line: bytes, number: int, place: str) -> Row:
        """Return a JSON object's values as texts; take note of columns with others."""
        row: Row = {}
        for name, value in decode_line(line, first=number == 1).items():
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                if value is not None:
                    self.nested.setdefault(name, place)
            else:
                row[name] = str(value)
        return row


def _header(path: Path, cells: list[str]) -> list[str]:
    names = [name.strip() for name in cells]
    twice = [name for name, count in Counter(names).items() if name and count > 1]
    if twice:
        msg = f"{path} has several columns {twice[0]!r}: rename all but one."
        raise SourceError(msg)
    if len(names) == 1 and ";" in names[0]:
        msg = f"{path} has semicolons between its columns: save it with commas."
        raise SourceError(msg)
    return names

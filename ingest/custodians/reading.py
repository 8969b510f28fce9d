"""Rows of a file of institutions: CSV, or JSON with one object a line.

A file is read before anything is made of it: one with a row that cannot be read is
refused, and the towns of its clear addresses and the columns of all its records are
known when institutions are made. No reading holds it in memory.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from graph.errors import InputError, SourceError
from ingest.custodians.columns import columns_of
from ingest.custodians.guessing import Towns
from ingest.custodians.misplaced import Misplaced, moved_address

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["CustodianFile", "bundled_custodians"]

_LONGEST = 1_000_000
"""Characters of a field of a CSV file, or of a line of a JSON file."""

_BODY = "institution_type"
"""Where lists that do not say it have the kind of body that runs an institution."""

Row = dict[str, str]


def bundled_custodians() -> Path:
    """Return the file of invented institutions that comes with Knowtrail."""
    return Path(str(resources.files("ingest.data.heritage") / "custodians.jsonl"))


class CustodianFile:
    """A CSV or JSON Lines file, told apart by its first character.

    Attributes:
        path: Where it is.
        columns: Field of an institution -> column of the file.
        towns: Towns that its clear addresses end with.
        misplaced: What its columns tell of values in the wrong one.
        rows_total: Rows that it has.
    """

    def __init__(self, path: Path, columns: Mapping[str, str] | None = None) -> None:
        """Read the file once.

        Args:
            path: The file, in UTF-8.
            columns: Field -> column, where the names do not say it.

        Raises:
            SourceError: If the file, or one of its rows, cannot be read, or there is
                no row.
            InputError: If a field or column does not exist.
        """
        self.path = path
        self.towns = Towns()
        self.misplaced = Misplaced()
        self.rows_total = 0
        self._line = 1
        self._nested: dict[str, str] = {}
        self._json = self._is_json()
        names = self._read_whole()
        self.columns = columns_of(names, columns or {})
        for column in self.columns.values():
            if column in self._nested:
                self._refuse(f"{self._nested[column]}: {column!r} is no text or number")
        self._learn(self.columns.get("governing_body", _BODY))

    def _read_whole(self) -> list[str]:
        """Read every row once and return the columns.

        Raises:
            SourceError: If a row cannot be read, or there is none.
        """
        names: Counter[str] = Counter()
        broken, first = 0, ""
        for place, row in self._raw():
            if isinstance(row, str):
                broken += 1
                first = first or f"{place}: {row}"
            else:
                self.rows_total += 1
                names.update(row.keys())
        if broken:
            more = f"; {broken:,} rows in all cannot be read" if broken > 1 else ""
            self._refuse(f"{first}{more}")
        if not self.rows_total:
            msg = f"{self.path} has no row."
            raise SourceError(msg)
        return list(dict.fromkeys([*names, *self._nested]))

    def _refuse(self, problem: str) -> NoReturn:
        """Refuse a file.

        Raises:
            SourceError: Always.
        """
        msg = f"{problem}. Nothing was stored: mend the file first."
        raise SourceError(msg)

    def _learn(self, body: str) -> None:
        """Read the file again for what its values tell of each other.

        Args:
            body: Column of the kind of body that runs an institution.
        """
        address, region = self.columns.get("address"), self.columns.get("region")
        towns = address is not None and "city" not in self.columns
        if not towns and region is None:
            return
        for _, row in self._sound():
            if towns:
                self.towns.learn(row.get(address or "", ""))
            if region is not None:
                self.misplaced.learn(row.get(region, ""), row.get(body, ""))

    @property
    def name(self) -> str:
        """Return the name of the file."""
        return self.path.name

    def rows(self) -> Iterator[tuple[str, Row]]:
        """Yield the rows with their place: field of an institution -> text.

        A website that stands in another column is taken; `url_column` says in which.
        """
        for place, row in self._sound():
            told = {
                field: text
                for field, column in self.columns.items()
                if (text := " ".join(row.get(column, "").split()))
            }
            moved = None if told.get("url") else moved_address(row)
            if moved is not None and "url" in self.columns:
                told["url"], told["url_column"] = moved[1], moved[0]
            yield place, told

    def _sound(self) -> Iterator[tuple[str, Row]]:
        """Yield place and row of a file whose rows could be read before.

        Raises:
            SourceError: If one cannot be read any more.
        """
        for place, row in self._raw():
            if isinstance(row, str):
                msg = f"{place}: {row}. The file has changed while it was read."
                raise SourceError(msg)
            yield place, row

    def _is_json(self) -> bool:
        """Return whether the first character opens a JSON object."""
        try:
            with self.path.open(encoding="utf-8-sig", errors="replace") as file:
                return file.read(4096).lstrip()[:1] == "{"
        except OSError as error:
            msg = f"Cannot read {self.path}: {error.strerror}. Check the path."
            raise SourceError(msg) from error

    def _raw(self) -> Iterator[tuple[str, Row | str]]:
        """Yield place and row, or what is wrong with the row.

        Raises:
            SourceError: If the file is not UTF-8 or no CSV at all.
        """
        reader = self._json_rows if self._json else self._csv_rows
        try:
            yield from reader()
        except UnicodeDecodeError as error:
            msg = f"{self.path} is not UTF-8 ({error.reason}): save it as UTF-8."
            raise SourceError(msg) from error
        except csv.Error as error:
            msg = (
                f"{self.path}:{self._line} is no CSV: {error}. Look for a quote that "
                "is not closed."
            )
            raise SourceError(msg) from error

    def _csv_rows(self) -> Iterator[tuple[str, Row | str]]:
        """Yield the rows of a CSV file; the first line names the columns."""
        before = csv.field_size_limit(_LONGEST)
        try:
            with self.path.open(encoding="utf-8-sig", newline="") as file:
                reader = csv.reader(file, strict=True)
                self._line = 1
                header = _header(self.path, next(reader, []))
                self._line = reader.line_num + 1
                for cells in reader:
                    self._line = reader.line_num + 1
                    place = f"{self.name}:{reader.line_num}"
                    if len(cells) > len(header):
                        yield (
                            place,
                            f"{len(cells)} cells, but {len(header)} columns: quote "
                            "cells that have commas",
                        )
                    elif any(cell.strip() for cell in cells):
                        yield place, dict(zip(header, cells, strict=False))
        finally:
            csv.field_size_limit(before)

    def _json_rows(self) -> Iterator[tuple[str, Row | str]]:
        """Yield the objects of a JSON Lines file."""
        with self.path.open(encoding="utf-8-sig") as file:
            number = 0
            while line := file.readline(_LONGEST):
                number += 1
                place = f"{self.name}:{number}"
                if len(line) >= _LONGEST and not line.endswith("\n"):
                    while line and not line.endswith("\n"):
                        line = file.readline(_LONGEST)
                    yield place, f"the line is longer than {_LONGEST:,} characters"
                elif line.strip():
                    try:
                        yield place, self._flat(line, place)
                    except InputError as error:
                        yield place, str(error)

    def _flat(self, line: str, place: str) -> Row:
        """Return a JSON object's values as texts; take note of columns with others.

        Raises:
            InputError: If it is no JSON object.
        """
        try:
            record: Any = json.loads(line.rstrip("\r\n"))
        except json.JSONDecodeError as error:
            msg = f"not JSON: {error.msg} at character {error.pos + 1}"
            raise InputError(msg) from error
        except (ValueError, RecursionError) as error:
            msg = f"not JSON: {error}"
            raise InputError(msg) from error
        if not isinstance(record, dict):
            msg = 'not a JSON object: write {"name": ...} on each line'
            raise InputError(msg)
        row: Row = {}
        for name, value in record.items():
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                if value is not None:
                    self._nested.setdefault(name, place)
            else:
                row[name] = str(value)
        return row


def _header(path: Path, cells: list[str]) -> list[str]:
    """Return the names of the columns.

    Raises:
        SourceError: If two have the same name, or semicolons are between them.
    """
    names = [name.strip() for name in cells]
    twice = [name for name, count in Counter(names).items() if name and count > 1]
    if twice:
        msg = f"{path} has several columns {twice[0]!r}: rename all but one."
        raise SourceError(msg)
    if len(names) == 1 and ";" in names[0]:
        msg = f"{path} has semicolons between its columns: save it with commas."
        raise SourceError(msg)
    return names

"""Tables: whole results, and their text as people and other programs read it."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterable, Sequence
from functools import partialmethod
from html import escape
from itertools import chain
from typing import Any, TextIO

from rich.cells import cell_len

from knowtrail.graph.cli.rows import iso_text, plain_value
from knowtrail.graph.errors import InputError
from knowtrail.graph.py2neo.cypher_writing import cypher_str

_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e]")
_MARKDOWN = re.compile(r"[\\`*_{}\[\]|~]")


class Table(list[Any]):
    """A list of records, or sequences with a value a field, with names of fields.

    Text that is written for people never holds control characters, and in HTML and
    Markdown no mark-up from the data; separated values hold every text as it is.
    """

    def __init__(self, records: Iterable[Any], keys: Iterable[str] | None = None):
        if keys is None and hasattr(records, "keys"):
            keys = records.keys()
        rows = [row if hasattr(row, "keys") else tuple(row) for row in records]
        if keys is None and rows and hasattr(rows[0], "keys"):
            keys = rows[0].keys()
        if keys is None:
            msg = "The fields have no names: give Table(records, keys=[...])."
            raise InputError(msg)
        self._keys = [str(key) for key in keys]
        for number, row in enumerate(rows, start=1):
            if len(row) != len(self._keys):
                raise InputError(
                    f"Record {number} has {len(row)} values for {len(self._keys)} "
                    "fields: give every record a value a field, None where it has none."
                )
        super().__init__(rows)

    def keys(self) -> list[str]:
        """Return the names of the fields."""
        return list(self._keys)

    def field(self, key: int | str) -> dict[str, Any]:
        """Return what is known of the values of a field, by its name or place.

        `type` is the class of the values, or a tuple of them; `numeric` whether all are
        numbers; `optional` whether any is None.
        """
        values = [_values(row, self._keys)[self._place(key)] for row in self]
        types = {type(value) for value in values if value is not None}
        ordered = sorted(types, key=lambda kind: kind.__name__)
        return {
            "type": ordered[0] if len(ordered) == 1 else tuple(ordered),
            "numeric": all(issubclass(k, int | float) and k is not bool for k in types),
            "optional": any(value is None for value in values),
        }

    def _place(self, key: int | str) -> int:
        if isinstance(key, int):
            return range(len(self._keys))[key]
        if key not in self._keys:
            raise KeyError(key)
        return self._keys.index(key)

    def __repr__(self) -> str:
        file = io.StringIO()
        self.write(file, header=True)
        return file.getvalue()

    def _repr_html_(self) -> str:
        file = io.StringIO()
        self.write_html(file, header=True)
        return file.getvalue()

    def write(
        self,
        file: TextIO | None = None,
        header: Any = None,
        skip: int | None = None,
        limit: int | None = None,
        auto_align: bool = True,
        padding: int = 1,
        separator: str = "|",
        newline: str = "\r\n",
    ) -> int:
        """Draw the table with aligned columns; return how many records were written.

        `skip` and `limit` choose the records, `auto_align` sets numbers to the right,
        `padding` is the spaces beside each value. Without a file it goes to standard
        output; so it is with all forms.
        """
        rows = self._rows(skip, limit)
        if not rows and not (header and skip is None and limit is None):
            return 0
        cells = [[_display(value).split("\n") for value in row] for row in rows]
        if header:
            cells.insert(0, [_display(key).split("\n") for key in self._keys])
        columns = zip(*cells, strict=True)
        widths = [max(map(cell_len, chain.from_iterable(cell))) for cell in columns]
        right = self._right(auto_align)
        pad = " " * padding
        out = file or sys.stdout
        for number, row in enumerate(cells):
            for line in range(max(map(len, row), default=0)):
                texts = (
                    pad + _aligned(cell, line, width, to_right) + pad
                    for cell, width, to_right in zip(row, widths, right, strict=True)
                )
                out.write(separator.join(texts) + newline)
            if header and number == 0:
                rules = ("-" * (width + 2 * padding) for width in widths)
                out.write(separator.join(rules) + newline)
        return len(rows)

    def write_html(
        self,
        file: TextIO | None = None,
        header: Any = None,
        skip: int | None = None,
        limit: int | None = None,
        auto_align: bool = True,
    ) -> int:
        """Write the table as an HTML `table`, every text escaped."""
        rows = self._rows(skip, limit)
        sides = ["right" if right else "left" for right in self._right(auto_align)]
        out = file or sys.stdout
        out.write("<table>")
        if header:
            names = (f"<th>{escape(_display(key))}</th>" for key in self._keys)
            out.write(f"<tr>{''.join(names)}</tr>")
        for row in rows:
            cells = (
                f'<td style="text-align:{side}">{escape(_display(value))}</td>'
                for side, value in zip(sides, row, strict=True)
            )
            out.write(f"<tr>{''.join(cells)}</tr>")
        out.write("</table>")
        return len(rows)

    def write_markdown(
        self,
        file: TextIO | None = None,
        skip: int | None = None,
        limit: int | None = None,
        auto_align: bool = True,
    ) -> int:
        """Write the table in Markdown as GitHub reads it; it always has a header."""
        rows = self._rows(skip, limit)
        align = auto_align and bool(rows)
        rules = ["---:" if right else "---" for right in self._right(align)]
        out = file or sys.stdout
        head = (_markdown(key) for key in self._keys)
        for line in (head, rules, *(map(_markdown, row) for row in rows)):
            out.write(f"| {' | '.join(line)} |\n")
        return len(rows)

    def write_separated_values(
        self,
        separator: str,
        file: TextIO | None = None,
        header: Any = None,
        skip: int | None = None,
        limit: int | None = None,
        newline: str = "\r\n",
        quote: str = '"',
    ) -> int:
        """Write a line a record, its values with a separator between them.

        None is an empty field, texts are as they are and quoted where they need it,
        dates and times are in ISO 8601, anything else is as Cypher writes it. A name of
        a style is a header too.
        """
        rows = self._rows(skip, limit)
        out = file or sys.stdout
        for row in ([self._keys] if header else []) + rows:
            fields = (_quoted(_field(value), separator, quote) for value in row)
            out.write(separator.join(fields) + newline)
        return len(rows)

    write_csv = partialmethod(write_separated_values, ",")
    """Write comma-separated values (RFC 4180), see `write_separated_values`."""
    write_tsv = partialmethod(write_separated_values, "\t")
    """Write tab-separated values, see `write_separated_values`."""

    def _right(self, auto_align: bool) -> list[bool]:
        places = range(len(self._keys))
        return [auto_align and self.field(place)["numeric"] for place in places]

    def _rows(self, skip: int | None, limit: int | None) -> list[Sequence[Any]]:
        for name, number in (("skip", skip), ("limit", limit)):
            if number is not None and number < 0:
                raise InputError(f"{name}={number}: give 0 or more.")
        first = skip or 0
        last = None if limit is None else first + limit
        return [_values(row, self._keys) for row in self[first:last]]


def _values(row: Any, keys: Sequence[str]) -> Sequence[Any]:
    if isinstance(row, dict):
        return [row.get(key) for key in keys]
    return tuple(row)


def _text(value: Any) -> str:
    try:
        return cypher_str(value)
    except (TypeError, ValueError):
        return str(plain_value(value))


def _display(value: Any) -> str:
    lines = _text(value).replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", lines)


def _field(value: Any) -> str:
    if value is None:
        return ""
    if hasattr(value, "iso_format"):
        return iso_text(value)
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    return _text(value)


def _quoted(text: str, separator: str, quote: str) -> str:
    if any(mark in text for mark in (separator, quote, "\r", "\n")):
        return quote + text.replace(quote, quote * 2) + quote
    return text


def _markdown(value: Any) -> str:
    marked = _MARKDOWN.sub(lambda found: f"\\{found[0]}", _display(value))
    return escape(marked, quote=False).replace("\n", "<br>")


def _aligned(cell: list[str], line: int, width: int, to_right: bool) -> str:
    text = cell[line] if line < len(cell) else ""
    fill = " " * (width - cell_len(text))
    return fill + text if to_right else text + fill

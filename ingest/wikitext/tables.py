"""Tables as sentences: one for each row, every cell after its column's heading.

A page whose tables say more than its prose is unreadable without them, so there they
are kept; see `knowtrail.ingest.wikitext.blocks` for when. Cells that span rows are
repeated, so that a row can be understood alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from knowtrail.ingest.wikitext.marks import BREAK, MARKS

_OPEN = re.compile(r"[:*#;\s]*\{\|")
_SPAN = re.compile(r"(row|col)span\s*=\s*[\"']?\s*(\d{1,4})", re.IGNORECASE)
_HEADING = re.compile(r"={1,6}[^=].*=\s*$")
_MARKS = re.compile(MARKS)
_SPACES = re.compile(r"\s+")
_BEFORE_BRACKET = re.compile(rf"\s*{BREAK}\s*(?={MARKS}*[(\[])")
_NEW_LINE = re.compile(rf"[\s,;]*(?:{BREAK}|\n[*#:;]*)\s*")
_WORD = re.compile(r"[^\W\d_]{2}")
_MAX_COLUMNS = 100
_MAX_ROWSPAN = 500
_NOTHING = frozenset({"", "-", "–", "—", "−", "n/a", "?", "."})
_UNWANTED = frozenset({"ref", "refs", "ref.", "refs.", "references", "reference",
                       "citation", "image", "flag", "№", "#", "source"})  # fmt: skip


@dataclass(slots=True)
class Cell:
    """A cell: its text and how many rows and columns it covers."""

    header: bool
    text: str
    rows: int = 1
    columns: int = 1


@dataclass(slots=True)
class Table:
    """A table as it was written, row by row."""

    caption: str = ""
    rows: list[list[Cell]] = field(default_factory=list)


def find_tables(text: str) -> list[str | Table]:
    """Split a text into the lines outside tables, joined, and the tables.

    A table inside a table is dropped. A table that is never closed ends at the next
    heading, so that it does not hide the rest of the page.
    """
    if "{|" not in text:
        return [text]
    return _Finder(text.split("\n")).run()


class _Finder:
    """One pass over the lines of a page."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._found: list[str | Table] = []
        self._outside: list[str] = []
        self._table: Table | None = None
        self._depth = 0
        self._last_end = max(
            (n for n, line in enumerate(lines) if line.lstrip().startswith("|}")),
            default=-1,
        )

    def run(self) -> list[str | Table]:
        """Return texts and tables in their order."""
        for number, line in enumerate(self._lines):
            if self._table is None:
                self._line_outside(line)
            elif number > self._last_end and _HEADING.match(line):
                self._close()
                self._outside.append(line)
            else:
                self._line_inside(line.lstrip())
        self._close()
        return self._found

    def _line_outside(self, line: str) -> None:
        """Keep a line, or open a table."""
        if not _OPEN.match(line):
            self._outside.append(line)
            return
        self._found.append("\n".join(self._outside))
        self._outside = []
        self._table, self._depth = Table(), 1

    def _close(self) -> None:
        """End the table, or the page."""
        if self._table is not None:
            self._found.append(self._table)
            self._table = None
        elif self._outside:
            self._found.append("\n".join(self._outside))
            self._outside = []

    def _line_inside(self, line: str) -> None:
        """Take in one line of a table."""
        table = self._table
        if table is None:
            return
        if line.startswith("{|"):
            self._depth += 1
        elif line.startswith("|}"):
            self._depth -= 1
            if self._depth == 0:
                self._close()
                self._outside.append(line[2:])
        elif self._depth == 1:
            _add_line(table, line)


def _add_line(table: Table, line: str) -> None:
    """Add a line that belongs to the table itself."""
    if line.startswith("|+"):
        table.caption = _content(line[2:])[1].strip()
    elif line.startswith("|-"):
        table.rows.append([])
    elif line.startswith(("|", "!")):
        if not table.rows:
            table.rows.append([])
        header = line[0] == "!"
        pieces = re.split(r"\|\||!!", line[1:]) if header else line[1:].split("||")
        table.rows[-1].extend(_cell(piece, header=header) for piece in pieces)
    elif table.rows and table.rows[-1]:
        table.rows[-1][-1].text += f"\n{line}"


def _content(piece: str) -> tuple[str, str]:
    """Split a cell into attributes and content."""
    attributes, bar, content = piece.partition("|")
    return (attributes, content) if bar else ("", piece)


def _cell(piece: str, *, header: bool) -> Cell:
    """Read one cell."""
    attributes, content = _content(piece)
    cell = Cell(header=header, text=content)
    for kind, number in _SPAN.findall(attributes):
        if kind.lower() == "row":
            cell.rows = max(1, min(int(number), _MAX_ROWSPAN))
        else:
            cell.columns = max(1, min(int(number), _MAX_COLUMNS))
    return cell


def layout_text(table: Table) -> str | None:
    """Return the content of a table that only places lists side by side, or None."""
    cells = [cell for row in table.rows for cell in row]
    if any(cell.header for cell in cells):
        return None
    if not any(re.search(r"\n[*#]", cell.text) for cell in cells):
        return None
    return "\n\n".join(cell.text.strip() for cell in cells)


def row_sentences(table: Table) -> list[str]:
    """Return a line for each row that says something.

    Every cell follows the heading of its column: `Year: 1995; Film: Heat.`
    Rows of numbers alone and rows with a single filled cell say nothing, unless that
    cell goes over all columns or the table has only one.
    """
    lines: list[str] = []
    headings: list[str] = []
    grid = _grid(table)
    width = max((len(row) for row, _ in grid), default=0)
    for row, own in grid:
        if row and all(cell is None or cell.header for cell in row):
            headings = _merged([] if lines else headings, row)
            continue
        line, cells = _sentence(row, headings)
        if cells > 1 or (line and own == 1 and (width == 1 or _spans_all(row))):
            lines.append(line)
    return lines


def _grid(table: Table) -> list[tuple[list[Cell | None], int]]:
    """Return rows with spanning cells repeated, and how many cells each has itself."""
    result: list[tuple[list[Cell | None], int]] = []
    pending: dict[int, tuple[int, Cell]] = {}
    for cells in table.rows:
        if not cells:
            continue
        row: list[Cell | None] = []
        queue = list(cells)
        while (queue or len(row) in pending) and len(row) < _MAX_COLUMNS:
            column = len(row)
            if column in pending:
                left, cell = pending.pop(column)
                if left > 1:
                    pending[column] = (left - 1, cell)
                row.append(cell)
                continue
            cell = queue.pop(0)
            for offset in range(min(cell.columns, _MAX_COLUMNS - column)):
                row.append(cell if offset == 0 else None)
                if cell.rows > 1:
                    pending[column + offset] = (cell.rows - 1, cell)
        result.append((row, len(cells)))
    return result


def _merged(above: list[str], row: list[Cell | None]) -> list[str]:
    """Return headings by column, a second heading row over the first."""
    shown: list[str] = []
    for column, cell in enumerate(row):
        text = _plain(_cell_text(cell)) if cell is not None else ""
        if cell is None and column:
            text = shown[-1]
        shown.append(text or (above[column] if column < len(above) else ""))
    return shown


def _sentence(row: list[Cell | None], headings: list[str]) -> tuple[str, int]:
    """Write one row; return it and how many cells it tells of, none without words."""
    parts: list[str] = []
    words = False
    for column, cell in enumerate(row):
        text = "" if cell is None else _cell_text(cell)
        if _plain(text).casefold() in _NOTHING:
            continue
        heading = headings[column] if column < len(headings) else ""
        if heading.casefold().rstrip(":") in _UNWANTED:
            continue
        words = words or _WORD.search(text) is not None
        label = f"{heading.rstrip(':')}: " if heading and len(heading) <= 60 else ""
        parts.append(label + text.rstrip(".;, "))
    return ("; ".join(parts) + ".", len(parts)) if words else ("", 0)


def _spans_all(row: list[Cell | None]) -> bool:
    """Say whether a row is a single cell over several columns."""
    return len(row) > 1 and row[0] is not None and not any(row[1:])


def _cell_text(cell: Cell) -> str:
    """Return a cell's content on one line."""
    text = _BEFORE_BRACKET.sub(" ", cell.text.strip(f"{BREAK}\n*# "))
    text = _NEW_LINE.sub(", ", text)
    return _SPACES.sub(" ", text).strip(" ,")


def _plain(text: str) -> str:
    """Return a text without marks."""
    return _MARKS.sub("", text).strip()

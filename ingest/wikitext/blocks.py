"""Lines of wikitext as paragraphs, lists, headings and tables, in reading order.

A table becomes sentences: one for each row, every cell after its column's heading. A
page whose tables say more than its prose is unreadable without them, so there they are
kept. Cells that span rows are repeated, so that a row can be understood alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from knowtrail.ingest.wikitext.marks import BREAK, MARKS, unguard
from knowtrail.ingest.wikitext.words import WORDS

_OPEN = re.compile(r"[:*#;\s]*\{\|")
_SPAN = re.compile(r"(row|col)span\s*=\s*[\"']?\s*(\d{1,4})", re.IGNORECASE)
_NEXT_HEADING = re.compile(r"={1,6}[^=].*=\s*$")
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
    lines = text.split("\n")
    ends = (n for n, line in enumerate(lines) if line.lstrip().startswith("|}"))
    last_end = max(ends, default=-1)
    found: list[str | Table] = []
    outside: list[str] = []
    table: Table | None = None
    depth = 0
    for number, line in enumerate(lines):
        inside = line.lstrip()
        if table is None and not _OPEN.match(line):
            outside.append(line)
        elif table is None:
            found.append("\n".join(outside))
            outside, table, depth = [], Table(), 1
        elif number > last_end and _NEXT_HEADING.match(line):
            found.append(table)
            outside, table = [line], None
        elif inside.startswith("{|"):
            depth += 1
        elif inside.startswith("|}"):
            depth -= 1
            if depth == 0:
                found.append(table)
                outside, table = [inside[2:]], None
        elif depth == 1:
            _add_line(table, inside)
    if table is not None:
        found.append(table)
    elif outside:
        found.append("\n".join(outside))
    return found


def _add_line(table: Table, line: str) -> None:
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
    attributes, bar, content = piece.partition("|")
    return (attributes, content) if bar else ("", piece)


def _cell(piece: str, *, header: bool) -> Cell:
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
    return len(row) > 1 and row[0] is not None and not any(row[1:])


def _cell_text(cell: Cell) -> str:
    text = _BEFORE_BRACKET.sub(" ", cell.text.strip(f"{BREAK}\n*# "))
    text = _NEW_LINE.sub(", ", text)
    return _SPACES.sub(" ", text).strip(" ,")


def _plain(text: str) -> str:
    return _MARKS.sub("", text).strip()


TABLE_SHARE = 0.5
"""Tables are kept where they hold more than this share of a page's text."""

_HEADING = re.compile(r"(={1,6})(.+?)(=+)\s*$")
_LIST = re.compile(r"[*#:;]+")
_HATNOTE = re.compile(
    r"(?:see also|main articles?|further information|for (?:more|other)[^.]{0,60} see)"
    r"\b",
    re.IGNORECASE,
)
_RULE = re.compile(r"-{4,}")
_SWITCH = re.compile(r"__[A-ZА-Я]{3,30}__")
_STRAY = re.compile(r"\s*(?:\||!(?!\s*$)\s*(?:\w+=|[^|]*!!)|\}\}|\{\|)")
_ENDED = re.compile("[.!?:…。！？։؟।][\"'”’»)\\]]*$")
_CUT = re.compile(r"[\s,;]+$")
_QUOTES = re.compile("'{2,}")
_WIDE = re.compile("[\u3040-\u30ff\u3400-\u9fff]$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A piece of a page, with marks for links; 2 is the top level of headings."""

    kind: Literal["heading", "text", "table"]
    text: str
    level: int = 0


def read_blocks(text: str, language: str) -> list[Block]:
    """Return the pieces of a page (without templates, links, HTML) that a reader reads.

    Sections that hold only references or links are left out, each up to the next
    heading of its own or a higher level; so are tables, except on a page where they are
    more than half of the text.
    """
    blocks: list[Block] = []
    for piece in find_tables(_SWITCH.sub("", text)):
        if isinstance(piece, str):
            blocks.extend(_Lines(piece).run())
        else:
            blocks.extend(_table_blocks(piece))
    return _without_tables(_without_trailing(blocks, language))


def _table_blocks(table: Table) -> list[Block]:
    layout = layout_text(table)
    if layout is not None:
        return _Lines(layout).run()
    lines = [_strip_quotes(line) for line in row_sentences(table)]
    return [Block(kind="table", text="\n".join(lines))] if lines else []


def _without_trailing(blocks: list[Block], language: str) -> list[Block]:
    kept: list[Block] = []
    dropping = 0
    for block in blocks:
        if block.kind == "heading":
            if dropping and block.level > dropping:
                continue
            dropping = block.level if _is_trailing(block.text, language) else 0
        if not dropping:
            kept.append(block)
    return kept


def _is_trailing(title: str, language: str) -> bool:
    """Say whether a section, in English or the wiki's language, only has references."""
    name = " ".join(title.casefold().split()).rstrip(":. ")
    headings = WORDS["trailing_headings"]
    base = language.lower().partition("-")[0]
    return name in headings["en"] or name in headings.get(base, ())


def _without_tables(blocks: list[Block]) -> list[Block]:
    """Leave out tables unless they are most of the page."""
    sizes = {"heading": 0, "text": 0, "table": 0}
    for block in blocks:
        sizes[block.kind] += len(block.text)
    if sizes["table"] > TABLE_SHARE * (sizes["table"] + sizes["text"]):
        return blocks
    return [block for block in blocks if block.kind != "table"]


class _Lines:
    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._blocks: list[Block] = []
        self._current: list[str] = []
        self._kind = ""
        self._term = ""

    def run(self) -> list[Block]:
        for line in self._lines:
            self._line(_strip_quotes(line).rstrip())
        self._flush()
        return self._blocks

    def _line(self, line: str) -> None:
        stripped = line.strip()
        heading = _HEADING.match(line) if line[:1] == "=" else None
        if not _MARKS.sub("", stripped) or _RULE.match(line):
            self._flush()
        elif heading:
            self._heading(heading)
        elif line[0] in "*#:;":
            self._list_line(line)
        elif not _STRAY.match(line):
            self._add("indent" if line[0] == " " else "prose", stripped)

    def _heading(self, match: re.Match[str]) -> None:
        self._flush()
        level = min(len(match[1]), len(match[3]))
        title = _MARKS.sub("", unguard(match[2])).strip().strip("=").strip()
        if title:
            self._blocks.append(Block(kind="heading", text=title, level=level))

    def _list_line(self, line: str) -> None:
        prefix = _LIST.match(line)
        marks = prefix[0] if prefix else ""
        text = line[len(marks) :].strip()
        if not _MARKS.sub("", text):
            return
        if marks.endswith(";"):
            term, colon, definition = text.partition(" : ")
            self._end_term()
            self._term = term.rstrip(" :")
            text = definition if colon else ""
            if not text:
                return
        if self._term:
            text, self._term = f"{self._term}: {text}", ""
            self._add("list", _ended(text))
        elif set(marks) <= {":"}:
            if not _HATNOTE.match(_MARKS.sub("", text)):
                self._add("indent", text)
        else:
            self._add("list", _ended(text))

    def _add(self, kind: str, text: str) -> None:
        self._end_term()
        if self._kind and (kind == "list") != (self._kind == "list"):
            self._flush()
        if kind == "prose" and self._kind == "prose":
            self._current[-1] += f" {text}"
        else:
            self._current.append(text)
        self._kind = kind

    def _end_term(self) -> None:
        if self._term:
            term, self._term = self._term, ""
            self._add("list", _ended(term))

    def _flush(self) -> None:
        self._end_term()
        if self._current:
            self._blocks.append(Block(kind="text", text="\n".join(self._current)))
        self._current, self._kind = [], ""


def _ended(text: str) -> str:
    """Return a list item that ends like a sentence."""
    visible = _MARKS.sub("", text).rstrip()
    if _ENDED.search(visible):
        return text
    stop = "。" if _WIDE.search(visible) else "."
    return _CUT.sub("", text) + stop


def _strip_quotes(line: str) -> str:
    """Remove the apostrophes of bold and italic from a line."""
    # Where both are left open, one apostrophe is meant as such, as MediaWiki reads it:
    # in `l'''amour''` it stays.
    if "''" not in line:
        return line
    runs = [len(match[0]) for match in _QUOTES.finditer(line)]
    bold = sum(1 for run in runs if run in {3, 4} or run >= 5)
    italic = sum(1 for run in runs if run == 2 or run >= 5)
    if bold % 2 and italic % 2:
        line = re.sub(r"(?<=\w)'''(?!')", "\u0001''", line, count=1)
    line = _QUOTES.sub(lambda match: "'" * _literal(len(match[0])), line)
    return line.replace("\u0001", "'")


def _literal(run: int) -> int:
    return 1 if run == 4 else max(0, run - 5)

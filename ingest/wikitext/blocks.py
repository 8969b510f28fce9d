"""Lines of wikitext as paragraphs, lists, headings and tables, in reading order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from knowtrail.ingest.wikitext.languages import is_trailing_heading
from knowtrail.ingest.wikitext.marks import MARKS, unguard
from knowtrail.ingest.wikitext.tables import (
    Table,
    find_tables,
    layout_text,
    row_sentences,
)

TABLE_SHARE = 0.5
"""Tables are kept where they hold more than this share of a page's text."""

_MARKS = re.compile(MARKS)
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
    """Return a table as sentences, or its content where it is only layout."""
    layout = layout_text(table)
    if layout is not None:
        return _Lines(layout).run()
    lines = [_strip_quotes(line) for line in row_sentences(table)]
    return [Block(kind="table", text="\n".join(lines))] if lines else []


def _without_trailing(blocks: list[Block], language: str) -> list[Block]:
    """Leave out sections of references and the like."""
    kept: list[Block] = []
    dropping = 0
    for block in blocks:
        if block.kind == "heading":
            if dropping and block.level > dropping:
                continue
            dropping = block.level if is_trailing_heading(block.text, language) else 0
        if not dropping:
            kept.append(block)
    return kept


def _without_tables(blocks: list[Block]) -> list[Block]:
    """Leave out tables unless they are most of the page."""
    sizes = {"heading": 0, "text": 0, "table": 0}
    for block in blocks:
        sizes[block.kind] += len(block.text)
    if sizes["table"] > TABLE_SHARE * (sizes["table"] + sizes["text"]):
        return blocks
    return [block for block in blocks if block.kind != "table"]


class _Lines:
    """Turns the lines between tables into blocks."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._blocks: list[Block] = []
        self._current: list[str] = []
        self._kind = ""
        self._term = ""

    def run(self) -> list[Block]:
        """Return the blocks in their order."""
        for line in self._lines:
            self._line(_strip_quotes(line).rstrip())
        self._flush()
        return self._blocks

    def _line(self, line: str) -> None:
        """Sort one line."""
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
        """Begin a section."""
        self._flush()
        level = min(len(match[1]), len(match[3]))
        title = _MARKS.sub("", unguard(match[2])).strip().strip("=").strip()
        if title:
            self._blocks.append(Block(kind="heading", text=title, level=level))

    def _list_line(self, line: str) -> None:
        """Add an item, a term, a definition or an indented line."""
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
        """Put a line into the current block, or begin one."""
        self._end_term()
        if self._kind and (kind == "list") != (self._kind == "list"):
            self._flush()
        if kind == "prose" and self._kind == "prose":
            self._current[-1] += f" {text}"
        else:
            self._current.append(text)
        self._kind = kind

    def _end_term(self) -> None:
        """Write a term that has no definition as a line."""
        if self._term:
            term, self._term = self._term, ""
            self._add("list", _ended(term))

    def _flush(self) -> None:
        """End the current block."""
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
    """Remove the apostrophes of bold and italic from a line.

    Where both are left open, one apostrophe is meant as such, as MediaWiki reads it:
    in `l'''amour''` it stays.
    """
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
    """Return how many apostrophes of a run are text."""
    return 1 if run == 4 else max(0, run - 5)

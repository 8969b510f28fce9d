"""Markdown as a person reads it: paragraphs, with headings and links beside them.

Fenced and indented code, images and raw HTML are left out: a sentence of code says
nothing to a reader of answers, and its embedding draws in everything that looks like
code. Code inside a sentence stays. A list item or table row is a paragraph.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ingest.records import Link, Section

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markdown_it.token import Token

__all__ = ["MarkdownPage", "read_markdown"]

_FRONT = re.compile(
    r"---[^\S\n]*\r?\n(.*?)^(?:---|\.\.\.)[^\S\n]*(?:\r?\n|\Z)", re.S | re.M
)
_TITLE = re.compile(r"^title[^\S\n]*:[^\S\n]*([^\s|>&*!{\[%@`].*?)[^\S\n]*\r?$", re.M)
_WIKI = re.compile(r"(!?)\[\[([^\[\]|\n]+)(?:\|([^\[\]\n]+))?\]\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkdownPage:
    """What a Markdown file says.

    Attributes:
        title: From the front matter, else the first heading, else None.
        text: Paragraphs separated by a blank line, without headings.
        links: Places in the text and where they lead: an address as it is written,
            or for `[[Page]]` the page's name behind `wiki:`.
        sections: Headings, without the one of level 1 that is the title.
    """

    title: str | None
    text: str
    links: tuple[Link, ...]
    sections: tuple[Section, ...]


def read_markdown(source: str) -> MarkdownPage:
    """Read CommonMark with tables, YAML front matter and `[[wiki]]` links.

    Args:
        source: The text of the file.

    Returns:
        Its title, text, links and sections.
    """
    from markdown_it import MarkdownIt

    front = _FRONT.match(source)
    body = source[front.end() :] if front else source
    reader = _Reader()
    reader.read(MarkdownIt("commonmark").enable("table").parse(body))
    headings = reader.sections
    title = _front_title(front[1]) if front else None
    if headings and headings[0].level == 1:
        title = title or headings[0].title
        headings = headings[1:]
    text = "".join(reader.parts)
    return MarkdownPage(
        title=title or (headings[0].title if headings else None),
        text=text,
        links=tuple(reader.links),
        sections=tuple(
            Section(title=s.title, level=s.level, start=min(s.start, len(text)))
            for s in headings
        ),
    )


def _front_title(front: str) -> str | None:
    """Return the title of front matter where it is one plain or quoted line."""
    found = _TITLE.search(front)
    if found is None:
        return None
    value = found[1]
    if value[0] in "\"'":
        closed = len(value) > 1 and value[-1] == value[0]
        value = value[1:-1] if closed else ""
    else:
        value = value.split(" #", 1)[0]
    return value.strip() or None


class _Reader:
    """Turns the parser's tokens into text, counting where everything lands."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.links: list[Link] = []
        self.sections: list[Section] = []
        self._length = 0

    def read(self, tokens: Sequence[Token]) -> None:
        """Read all tokens of a page."""
        cells = 0
        for before, token in zip([None, *tokens], tokens, strict=False):
            if token.type == "tr_open":
                cells = 0
            if token.type != "inline" or before is None:
                continue
            pieces = list(_pieces(token.children or []))
            if before.type == "heading_open":
                self._heading(int(before.tag[1]), pieces)
            elif before.type in {"th_open", "td_open"}:
                cells += self._paragraph(pieces, glue=" | " if cells else "\n\n")
            else:
                self._paragraph(pieces, glue="\n\n")

    def _heading(self, level: int, pieces: Sequence[tuple[str, str]]) -> None:
        """Note a heading; its section begins with the next paragraph."""
        title = " ".join("".join(text for text, _ in pieces).split())
        if title:
            start = self._length + 2 if self._length else 0
            self.sections.append(Section(title=title, start=start, level=level))

    def _paragraph(self, pieces: Sequence[tuple[str, str]], *, glue: str) -> bool:
        """Append a paragraph or a cell; return whether it had any text."""
        if not any(text.strip() for text, _ in pieces):
            return False
        if self._length:
            self._append(glue)
        for text, target in pieces:
            start = self._length
            self._append(text)
            if target and text:
                self.links.append(Link(start=start, end=self._length, target=target))
        return True

    def _append(self, text: str) -> None:
        self.parts.append(text)
        self._length += len(text)


def _pieces(tokens: Sequence[Token]) -> Iterator[tuple[str, str]]:
    """Yield (text, address it links to or "") of a paragraph."""
    target, linked = "", ""
    for token in tokens:
        if token.type == "link_open":
            target, linked = str(token.attrs.get("href", "")), ""
        elif token.type == "link_close":
            yield linked, target
            target = ""
        else:
            text = " " if token.type in {"softbreak", "hardbreak"} else token.content
            if token.type in {"image", "html_inline"}:
                continue
            if target:
                linked += text
            elif token.type == "text":
                yield from _wiki_links(text)
            else:
                yield text, ""


def _wiki_links(text: str) -> Iterator[tuple[str, str]]:
    """Part `[[Page|words]]` links from the text around them."""
    end = 0
    for found in _WIKI.finditer(text):
        yield text[end : found.start()], ""
        end = found.end()
        if not found[1]:
            page = found[2].strip()
            yield (found[3] or page.split("#", 1)[0] or page).strip(), f"wiki:{page}"
    yield text[end:], ""

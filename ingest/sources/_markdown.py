"""Markdown as a person reads it: paragraphs, with headings and links beside them.

Fenced and indented code, images and raw HTML are left out; code inside a sentence
stays.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from knowtrail.ingest.records import Link
from knowtrail.ingest.sources._page import Page, PageWriter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markdown_it.token import Token

    from knowtrail.ingest.sources._page import Piece

_FRONT = re.compile(
    r"---[^\S\n]*\r?\n(.*?)^(?:---|\.\.\.)[^\S\n]*(?:\r?\n|\Z)", re.S | re.M
)
_TITLE = re.compile(r"^title[^\S\n]*:[^\S\n]*([^\s|>&*!{\[%@`].*?)[^\S\n]*\r?$", re.M)
_WIKI = re.compile(r"(!?)\[\[([^\[\]|\n]+)(?:\|([^\[\]\n]+))?\]\]")


def read_markdown(source: str) -> Page:
    """Read CommonMark with tables, YAML front matter and `[[wiki]]` links."""
    from markdown_it import MarkdownIt

    front = _FRONT.match(source)
    body = source[front.end() :] if front else source
    writer = PageWriter()
    _read(writer, MarkdownIt("commonmark").enable("table").parse(body))
    return writer.page(_front_title(front[1]) if front else None)


def read_text(source: str) -> Page:
    """Read plain text, which stays as it is, with the `[[wiki]]` links in it."""
    found = (m for m in _WIKI.finditer(source) if not m[1])
    links = [
        Link(start=m.start(words), end=m.end(words), target=f"wiki:{m[2].strip()}")
        for m in found
        for words in [3 if m[3] else 2]
    ]
    return Page(title=None, text=source, links=tuple(links))


def _read(writer: PageWriter, tokens: Sequence[Token]) -> None:
    """Read all tokens of a page."""
    cells = 0
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.type == "tr_open":
            cells = 0
        if token.type != "inline" or before is None:
            continue
        pieces = list(_pieces(token.children or []))
        if before.type == "heading_open":
            writer.heading(int(before.tag[1]), pieces)
        elif before.type in {"th_open", "td_open"}:
            cells += writer.paragraph(pieces, glue=" | " if cells else "\n\n")
        else:
            writer.paragraph(pieces)


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


def _pieces(tokens: Sequence[Token]) -> Iterator[Piece]:
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


def _wiki_links(text: str) -> Iterator[Piece]:
    """Part `[[Page|words]]` links from the text around them."""
    end = 0
    for found in _WIKI.finditer(text):
        yield text[end : found.start()], ""
        end = found.end()
        if not found[1]:
            page = found[2].strip()
            yield (found[3] or page.split("#", 1)[0] or page).strip(), f"wiki:{page}"
    yield text[end:], ""

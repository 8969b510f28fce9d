"""HTML, and reStructuredText by way of it, as a person reads them.

Of a web page the part that it marks as its content is read, without navigation,
forms and code blocks.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from knowtrail.ingest.sources._page import Page, PageWriter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowtrail.ingest.sources._page import Piece

_SKIPPED = frozenset({
    "audio", "button", "canvas", "footer", "form", "head", "iframe", "math", "nav",
    "noscript", "object", "pre", "script", "select", "style", "svg", "template",
    "video",
})  # fmt: skip
_BLOCKS = frozenset({
    "address", "article", "aside", "blockquote", "body", "caption", "dd", "details",
    "div", "dl", "dt", "fieldset", "figcaption", "figure", "header", "hr", "html", "li",
    "main", "ol", "p", "section", "summary", "table", "tbody", "td", "tfoot", "th",
    "thead", "tr", "ul",
})  # fmt: skip
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_CONTENT = ("//main", "//*[@role='main']", "//article", "//body")
"""Where the content of a page is; the first that stands there once."""
_SPACES = re.compile(r"[ \t\n\r\f]+")
_ROLE = re.compile(r":[A-Za-z][\w.:+-]*:`~?([^`<]+?)(?:\s*<[^`<>]*>)?`")
"""`:doc:`words <place>``: what only Sphinx can resolve, and its words."""
_RST: dict[str, Any] = {
    "_disable_config": True,
    "embed_stylesheet": False,
    "file_insertion_enabled": False,
    "halt_level": 5,
    "line_length_limit": 10_000_000,
    "math_output": "LaTeX",
    "output_encoding": "unicode",
    "raw_enabled": False,
    "report_level": 5,
    "stylesheet_path": "",
    "syntax_highlight": "none",
    "warning_stream": False,
}
"""Nothing is read but the text itself, and its mistakes are passed over."""


def read_rst(source: str) -> Page:
    """Read reStructuredText; directives that docutils does not know are left out."""
    from docutils.core import publish_string

    plain = _ROLE.sub(r"\1", source)
    return read_html(publish_string(plain, writer="html5", settings_overrides=_RST))


def read_html(source: str) -> Page:
    """Read HTML of any version, however it is broken; its encoding is known before."""
    from lxml import etree

    parser = etree.HTMLParser(
        encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True
    )
    root = etree.fromstring(source.encode("utf-8", "replace"), parser)
    if root is None:
        return Page(title=None, text="")
    found = [each for path in _CONTENT if len(each := root.xpath(path)) == 1]
    reader = _Reader()
    reader.read(found[0][0] if found else root)
    title = " ".join("".join(root.xpath("//head/title//text()")).split())
    return reader.writer.page(title or None, root.get("lang") or None)


class _Reader:
    """Turns elements into paragraphs."""

    def __init__(self) -> None:
        self.writer = PageWriter()
        self._pieces: list[Piece] = []
        self._target = ""
        self._cells = 0
        self._in_cell = False

    def read(self, content: Any) -> None:
        """Read an element and all below it."""
        from lxml import etree

        walker = etree.iterwalk(content, events=("start", "end"))
        for event, element in walker:
            if event == "start":
                if _is_skipped(element):
                    walker.skip_subtree()
                else:
                    self._begin(element)
            else:
                self._end(element)
                if element is not content:
                    self._add(element.tail)
        self._flush()

    def _begin(self, element: Any) -> None:
        """Begin an element; the text before a block ends there."""
        tag = element.tag
        if tag in _BLOCKS or tag in _HEADINGS:
            self._flush()
        if tag == "tr":
            self._cells = 0
        elif tag in {"td", "th"}:
            self._in_cell = True
        elif tag == "a":
            self._target = element.get("href") or ""
        self._add(element.text)

    def _end(self, element: Any) -> None:
        """End an element."""
        tag = element.tag
        if tag in _HEADINGS:
            self.writer.heading(int(tag[1]), self._pieces)
            self._pieces.clear()
        elif tag in _BLOCKS or tag in _SKIPPED:
            self._flush()
        elif tag in {"br", "img"}:
            self._add(" ")
        if tag == "a":
            self._target = ""
        elif tag in {"td", "th"}:
            self._in_cell = False

    def _add(self, text: str | None) -> None:
        if text:
            self._pieces.append((text, self._target))

    def _flush(self) -> None:
        """End a paragraph; of a row all cells are one."""
        glue = " | " if self._in_cell and self._cells else "\n\n"
        wrote = self.writer.paragraph(_squeezed(self._pieces), glue=glue)
        self._cells += wrote and self._in_cell
        self._pieces.clear()


def _is_skipped(element: Any) -> bool:
    """Say whether an element holds nothing to read."""
    tag, kind = element.tag, element.get("class") or ""
    if tag == "aside":
        return "admonition" not in kind
    return tag in _SKIPPED or "headerlink" in kind or element.get("hidden") is not None


def _squeezed(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Yield pieces with one space where there are several, and none at the ends."""
    merged: list[Piece] = []
    spaced = True
    for text, target in pieces:
        squeezed = _SPACES.sub(" ", text)
        squeezed = squeezed.lstrip(" ") if spaced else squeezed
        if not squeezed:
            continue
        spaced = squeezed.endswith(" ")
        if target and merged and merged[-1][1] == target:
            squeezed = merged.pop()[0] + squeezed
        merged.append((squeezed, target))
    if merged:
        merged[-1] = (merged[-1][0].rstrip(" "), merged[-1][1])
    yield from merged

"""Files of all forms as a person reads them: text, with headings and links beside it.

Code blocks, pictures and what only serves a screen are left out of all: a sentence of
code says nothing to a reader of answers, and its embedding draws in everything that
looks like code; code inside a sentence stays. A list item or table row is a paragraph.
Of a web page the part that it marks as its content is read, without navigation.
"""

from __future__ import annotations

import io
import logging
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from knowtrail.graph.files.packaged import packaged
from knowtrail.ingest.records import Link, Section

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from markdown_it.token import Token


Piece = tuple[str, str]
"""A text, and the address that it links to or ""."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a file says.

    The title is what the file calls itself, else its first heading, else None;
    paragraphs of the text are separated by a blank line, without headings. Links are
    places in it and where they lead: an address as it is written, or for `[[Page]]` the
    page's name behind `wiki:`.
    """

    title: str | None
    text: str
    links: tuple[Link, ...] = ()
    sections: tuple[Section, ...] = ()
    language: str | None = None


class PageWriter:
    """Puts a page together, counting where everything lands."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._links: list[Link] = []
        self._sections: list[Section] = []
        self._length = 0

    def heading(self, level: int, pieces: Sequence[Piece]) -> None:
        """Note a heading; its section begins with the next paragraph."""
        title = " ".join("".join(text for text, _ in pieces).split())
        if title:
            start = self._length + 2 if self._length else 0
            self._sections.append(Section(title=title, start=start, level=level))

    def paragraph(self, pieces: Iterable[Piece], *, glue: str = "\n\n") -> bool:
        """Append a paragraph or a cell; return whether it had any text."""
        pieces = list(pieces)
        if not any(text.strip() for text, _ in pieces):
            return False
        if self._length:
            self._append(glue)
        for text, target in pieces:
            start = self._length
            self._append(text)
            if target and text:
                self._links.append(Link(start=start, end=self._length, target=target))
        return True

    def page(self, title: str | None = None, language: str | None = None) -> Page:
        """Return what was put together, with title and language where it has them."""
        headings = self._sections
        if headings and headings[0].level == 1:
            title = title or headings[0].title
            headings = headings[1:]
        text = "".join(self._parts)
        return Page(
            title=title or (headings[0].title if headings else None),
            text=text,
            links=tuple(self._links),
            sections=tuple(
                Section(title=s.title, level=s.level, start=min(s.start, len(text)))
                for s in headings
            ),
            language=language,
        )

    def _append(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)


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
        elif token.type not in {"image", "html_inline"}:
            text = " " if token.type in {"softbreak", "hardbreak"} else token.content
            if target:
                linked += text
            elif token.type == "text":
                yield from _wiki_links(text)
            else:
                yield text, ""


def _wiki_links(text: str) -> Iterator[Piece]:
    end = 0
    for found in _WIKI.finditer(text):
        yield text[end : found.start()], ""
        end = found.end()
        if not found[1]:
            page = found[2].strip()
            yield (found[3] or page.split("#", 1)[0] or page).strip(), f"wiki:{page}"
    yield text[end:], ""


_TOLD = packaged(__package__, "pages.toml")
_SKIPPED, _BLOCKS = frozenset(_TOLD["skipped"]), frozenset(_TOLD["blocks"])
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_CONTENT = ("//main", "//*[@role='main']", "//article", "//body")
"""Where the content of a page is; the first that stands there once."""
_SPACES = re.compile(r"[ \t\n\r\f]+")
_ROLE = re.compile(r":[A-Za-z][\w.:+-]*:`~?([^`<]+?)(?:\s*<[^`<>]*>)?`")
"""`:doc:`words <place>``: what only Sphinx can resolve, and its words."""


def read_rst(source: str) -> Page:
    """Read reStructuredText; directives that docutils does not know are left out.

    Raises:
        PageError: If docutils fails on it.
    """
    from docutils.core import publish_string

    plain = _ROLE.sub(r"\1", source)
    try:
        html = publish_string(plain, writer="html5", settings_overrides=_TOLD["rst"])
    except (RecursionError, MemoryError, ImportError):
        raise
    except Exception as error:  # such as a KeyError for an undefined substitution
        raise PageError(f"docutils fails on it ({_told(error)})") from error
    return read_html(html)


def _told(error: Exception) -> str:
    """Return what an error says, on one line and not without end."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


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
    def __init__(self) -> None:
        self.writer = PageWriter()
        self._pieces: list[Piece] = []
        self._target = ""
        self._cells = 0
        self._in_cell = False

    def read(self, content: Any) -> None:
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


_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u00ad\u2010]\n(?=[^\W\d_])")


class PageError(ValueError):
    """A file of which nothing can be read; the message says why."""


def read_pdf(data: bytes) -> Page:
    """Read the text that a PDF file holds; pages become sections.

    Words parted at the end of a line are joined. Pictures are not looked at.

    Raises:
        PageError: If it is no PDF, locked, or has pictures of text alone.
    """
    from pypdf import PdfReader

    # What it mends by itself is no news to who reads the text.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise PageError("it is locked: save it without its password")
        texts = [page.extract_text() for page in reader.pages]
        title = str(reader.metadata.title or "") if reader.metadata else ""
    except PageError:
        raise
    except Exception as error:  # broken files make it raise anything
        raise PageError(f"it cannot be read as PDF ({_told(error)})") from error
    sections, parts, length = [], [], 0
    for number, text in enumerate(texts, start=1):
        kept = _HYPHEN.sub("", text).strip()
        sections.append(Section(title=f"Page {number}", start=length))
        if kept:
            parts.append(kept + "\n")
            length += len(kept) + 1
    if texts and not parts:
        msg = "it has pictures and no text: have its text recognised (OCR) first"
        raise PageError(msg)
    return Page(
        title=title.strip() or None, text="".join(parts), sections=tuple(sections)
    )

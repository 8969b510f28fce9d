"""The XML of a dump, read with expat: pages out, bounded memory, no entity tricks.

A document type declaration is refused, and with it every entity that a file could
define. Only the fields that an ingest needs are kept, each up to a limit.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from xml.parsers import expat

if TYPE_CHECKING:
    from collections.abc import Iterator

FIELD_LIMIT = 10_000
TOKEN_LIMIT = 2_000_000
_ENDS = frozenset({
    expat.errors.XML_ERROR_NO_ELEMENTS,
    expat.errors.XML_ERROR_UNCLOSED_TOKEN,
    expat.errors.XML_ERROR_PARTIAL_CHAR,
    expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
})  # fmt: skip
_PAGE_FIELDS: dict[tuple[str, ...], str] = {
    ("page", "title"): "title",
    ("page", "ns"): "ns",
    ("page", "id"): "id",
    ("page", "revision", "id"): "revision",
    ("page", "revision", "text"): "text",
}
_SITE_FIELDS: dict[tuple[str, ...], str] = {
    ("siteinfo", "dbname"): "dbname",
    ("siteinfo", "base"): "base",
}


class ForbiddenXmlError(Exception):
    """The file is no dump, or uses what no dump needs; nothing of it is used."""


class BrokenXmlError(Exception):
    """The XML breaks off or is not well formed from here on."""


@dataclass(slots=True)
class Site:
    """What the head of a dump says about its wiki."""

    language: str = ""
    dbname: str = ""
    base: str = ""


@dataclass(slots=True)
class Page:
    """One page of a dump; the text is cut at the limit, its length is the whole one."""

    title: str = ""
    ns: str = "0"
    id: str = ""
    revision: str = ""
    text: str = ""
    length: int = 0
    redirect: str | None = None


@dataclass(slots=True)
class _Field:
    """Text of the element that is being read."""

    name: str
    limit: int
    pieces: list[str] = field(default_factory=list)
    length: int = 0

    def add(self, data: str) -> None:
        """Keep a piece unless the limit is passed; count it anyway."""
        if self.length < self.limit:
            self.pieces.append(data[: self.limit - self.length])
        self.length += len(data)


class PageReader:
    """Turns pieces of XML text into pages; the title is that of the page being read."""

    def __init__(self, *, max_page_chars: int) -> None:
        """Prepare a parser; of a longer wikitext than that only the length is kept."""
        self.site = Site()
        self.started = False
        self._limit = max_page_chars
        self._path: list[str] = []
        self._page: Page | None = None
        self._field: _Field | None = None
        self._done: deque[Page] = deque()
        self._fed = 0
        self._parser = self._new_parser()

    @property
    def title(self) -> str:
        """Return the title of the unfinished page, if there is one."""
        return "" if self._page is None else self._page.title

    @property
    def line(self) -> int:
        """Return the line of the XML where the parser stands."""
        return self._parser.CurrentLineNumber

    def feed(self, text: str | None) -> Iterator[Page]:
        """Parse a piece and yield the pages that it completes.

        Args:
            text: The next piece, or None at the end of the file.

        Raises:
            BrokenXmlError: After the last complete page, where the XML is broken.
            ForbiddenXmlError: For a document type declaration or a foreign root.
        """
        problem: BrokenXmlError | None = None
        try:
            self._parser.Parse(text or "", text is None)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            if text is None and reason in _ENDS:
                reason = "the XML ends early"
            problem = BrokenXmlError(f"{reason}, line {error.lineno}")
        else:
            problem = self._oversized(text or "")
        while self._done:
            yield self._done.popleft()
        if problem is not None:
            raise problem

    def _oversized(self, text: str) -> BrokenXmlError | None:
        """Notice one tag or comment that the parser would keep whole in memory."""
        self._fed += len(text.encode("utf-8", "surrogatepass"))
        if self._fed - max(self._parser.CurrentByteIndex, 0) <= TOKEN_LIMIT:
            return None
        return BrokenXmlError(f"a single tag is longer than {TOKEN_LIMIT:,} bytes")

    def _new_parser(self) -> expat.XMLParserType:
        """Return an expat parser wired to this reader."""
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.buffer_size = 1 << 16
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._data
        parser.StartDoctypeDeclHandler = self._doctype
        return parser

    def _doctype(self, name: str, *_: object) -> None:
        """Refuse a document type declaration."""
        msg = f"it declares a document type ({name}), which dumps never do"
        raise ForbiddenXmlError(msg)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        """Open an element."""
        tag = tag.rpartition(":")[2]
        if not self.started:
            self._root(tag, attributes)
            return
        self._path.append(tag)
        if len(self._path) > 100:
            msg = "its elements are nested more than 100 deep"
            raise ForbiddenXmlError(msg)
        if self._path == ["page"]:
            self._page = Page()
        elif self._path == ["page", "redirect"] and self._page is not None:
            self._page.redirect = attributes.get("title", "")
        name = self._field_name()
        if name is not None:
            limit = self._limit if name == "text" else FIELD_LIMIT
            self._field = _Field(name, limit)

    def _root(self, tag: str, attributes: dict[str, str]) -> None:
        """Check the outermost element."""
        if tag != "mediawiki":
            msg = f"its outermost element is <{tag[:40]}>, not <mediawiki>"
            raise ForbiddenXmlError(msg)
        self.started = True
        self.site.language = attributes.get("xml:lang", "")

    def _field_name(self) -> str | None:
        """Return the field that the current element fills, if any."""
        path = tuple(self._path)
        return _PAGE_FIELDS.get(path) or _SITE_FIELDS.get(path)

    def _data(self, data: str) -> None:
        """Keep text of a wanted element."""
        if self._field is not None:
            self._field.add(data)

    def _end(self, _tag: str) -> None:
        """Close an element."""
        if self._field is not None and self._field_name() == self._field.name:
            self._store(self._field)
            self._field = None
        if self._path == ["page"] and self._page is not None:
            self._done.append(self._page)
            self._page = None
        if self._path:
            self._path.pop()

    def _store(self, done: _Field) -> None:
        """Put a finished field where it belongs."""
        text = "".join(done.pieces)
        if done.name in {"dbname", "base"}:
            setattr(self.site, done.name, text.strip())
        elif self._page is not None:
            if done.name == "text":
                self._page.length = done.length
                self._page.text = text
            else:
                setattr(self._page, done.name, text.strip())

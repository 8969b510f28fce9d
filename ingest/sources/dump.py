"""MediaWiki XML dumps, read page by page in bounded memory.

Compression and encoding are recognised by content, never by name. Bytes that are not
valid in the encoding become `INVALID`, so that one bad page does not end the file.

The XML is read with expat itself: `mwxml` stops at a dump without a `<siteinfo>`, which
real excerpts lack, keeps whole pages of any size, and accepts entity declarations. Here
a document type declaration is refused, and with it every entity that a file could
define. Only the fields that an ingest needs are kept, each up to a limit.
"""

from __future__ import annotations

import bz2
import codecs
import re
import zlib
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast
from urllib.parse import quote, urlsplit
from xml.parsers import expat

from knowtrail.graph.errors import SourceError
from knowtrail.graph.files import disk_errors, text_encoding
from knowtrail.ingest.keys import normalise_title
from knowtrail.ingest.records import Damage, Failure, LeftOut, RawDocument, RawRedirect
from knowtrail.ingest.sources._lines import PathsSource, dump_parts, ranged, unpacked
from knowtrail.ingest.wikitext import is_disambiguation, redirect_target

if TYPE_CHECKING:
    import io
    from collections.abc import Iterator, Sequence

    from knowtrail.ingest.records import Item
    from knowtrail.ingest.sources._lines import Part
    from knowtrail.ingest.sources._remote import AnyPath


INVALID = "\U0010fffe"
"""Stands for bytes that are not text: a code point that no character ever has."""

PIECE = 1 << 16
_BLOCK = 1_000_000
_WRONG_TYPES: tuple[tuple[bytes, str], ...] = (
    (b"PK\x03\x04", "a zip archive"),
    (b"%PDF", "a PDF document"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\xfd7zXZ", "an xz file"),
    (b"\x28\xb5\x2f\xfd", "a zstd file"),
    (b"SQLite format 3", "an SQLite database"),
    (b"\x89PNG", "a picture"),
    (b"\x7fELF", "a program"),
)
_DECLARED = re.compile(rb"""^\s*<\?xml[^>]*?encoding\s*=\s*["']([\w.:-]+)["']""")
_BOMS: tuple[tuple[bytes, str], ...] = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
    (b"<\x00?\x00", "utf-16-le"),
    (b"<\x00m\x00", "utf-16-le"),
    (b"\x00<\x00?", "utf-16-be"),
    (b"\x00<\x00m", "utf-16-be"),
)


class BrokenFileError(Exception):
    """The compressed data ends early or is corrupt; caught by the dump source.

    Where it is corrupt, what was read last may be wrong, too.
    """

    def __init__(self, reason: str, *, corrupt: bool) -> None:
        super().__init__(reason)
        self.corrupt = corrupt


def _mark_invalid(error: UnicodeError) -> tuple[str, int]:
    if isinstance(error, UnicodeDecodeError):
        return INVALID, error.end
    raise error


codecs.register_error("knowtrail-invalid", _mark_invalid)


class DumpFile:
    """One open dump file, read as text in pieces of bounded size."""

    def __init__(
        self, path: AnyPath, *, start: int = 0, end: int | None = None
    ) -> None:
        """Open an XML file, plain or compressed, and look at its first bytes.

        A range begins and ends between pages, or between the streams of bzip2 that
        pages lie in; it is read with the head of the file before it, and an end.

        Raises:
            SourceError: If it is missing, empty or plainly something else.
        """
        self.path = path
        self.bytes_read = 0
        self._start = start
        self._before = _head(path) if start else ""
        self._after = "" if end is None else "</mediawiki>"
        told = "The dump {path} cannot be opened ({reason}): check the path."
        with disk_errors(SourceError, told, path=path):
            self._raw = ranged(path.open("rb"), start, end)
        try:
            self._stream = self._decompressor()
            self._head = self._first_bytes()
        except SourceError:
            self.close()
            raise
        self.encoding = self._encoding()
        codec = codecs.getincrementaldecoder(self.encoding)
        self._decoder = codec(errors="knowtrail-invalid")

    def __enter__(self) -> DumpFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._raw.close()

    @property
    def position(self) -> int:
        """Return the place in the file on disk, in bytes."""
        return 0 if self._raw.closed else self._start + self._raw.tell()

    def read(self) -> str | None:
        """Return the next piece, None at the end, or raise `BrokenFileError`."""
        if self._before:
            text, self._before = self._before, ""
            return text
        data = self._head or self._next_bytes()
        self._head = b""
        self.bytes_read += len(data)
        if data:
            return self._decoder.decode(data)
        text = self._decoder.decode(b"", final=True) + self._after
        self._after = ""
        return text or None

    @property
    def unchecked(self) -> int:
        """Return how many of the last bytes may not have met their checksum yet.

        Bzip2 gives the bytes of a block before it has compared the block's checksum.
        """
        return _BLOCK if isinstance(self._stream, bz2.BZ2File) else 0

    def find_corruption(self) -> BrokenFileError | None:
        """Read on until the last bytes are checked; return what is wrong with them."""
        left = self.unchecked
        try:
            while left > 0 and (data := self._next_bytes()):
                left -= len(data)
        except BrokenFileError as error:
            return error if error.corrupt else None
        return None

    def _next_bytes(self) -> bytes:
        """Return what one read of the decompressor gives, so that none is lost."""
        try:
            return self._stream.read1(PIECE)
        except (EOFError, OSError, zlib.error) as error:
            raise _broken(error) from error

    def _decompressor(self) -> io.BufferedReader:
        told = "The dump {path} cannot be read ({reason})."
        with disk_errors(SourceError, told, path=self.path):
            magic = self._raw.read(16)
            self._raw.seek(0)
        if not magic:
            raise SourceError(f"The dump {self.path} is empty: download it again.")
        return cast("io.BufferedReader", unpacked(self._raw, magic))

    def _first_bytes(self) -> bytes:
        try:
            head = self._next_bytes()
        except BrokenFileError as error:
            msg = f"The dump {self.path} is damaged before its first page: {error}."
            raise SourceError(msg) from error
        kind = _kind(head)
        if kind is not None:
            raise SourceError(
                f"{self.path} is {kind}, not a MediaWiki XML dump: give a "
                "pages-articles .xml, .xml.bz2 or .xml.gz file."
            )
        return head

    def _encoding(self) -> str:
        """Return the encoding that the first bytes show, UTF-8 by default."""
        for start, encoding in _BOMS:
            if self._head.startswith(start):
                return encoding
        declared = _DECLARED.match(self._head[:1000])
        if declared is None:
            return "utf-8"
        name = declared.group(1).decode("ascii")
        try:
            known = text_encoding(name)
        except LookupError as error:
            self.close()
            msg = f"The dump {self.path} is in an unknown encoding, {name!r}."
            raise SourceError(msg) from error
        return "utf-8" if known.startswith("utf-16") else known


def _head(path: AnyPath) -> str:
    text = ""
    with DumpFile(path) as file:
        while "<page>" not in text and (piece := file.read()) is not None:
            text += piece
    return text.partition("<page>")[0]


def _kind(head: bytes) -> str | None:
    for magic, name in _WRONG_TYPES:
        if head.startswith(magic):
            return name
    start = head[:2000].replace(b"\x00", b"").lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n")
    if not start:
        return "an empty file"
    if start[:1] in {b"{", b"["}:
        return "a JSON file"
    if re.match(rb"<!doctype\s+html|<html", start, re.IGNORECASE):
        return "an HTML page"
    return None if start.startswith(b"<") else "not XML"


def _broken(error: Exception) -> BrokenFileError:
    if isinstance(error, EOFError):
        return BrokenFileError("the compressed data ends early", corrupt=False)
    return BrokenFileError("the compressed data is corrupt", corrupt=True)


FIELD_LIMIT = 10_000
TOKEN_LIMIT = 2_000_000
_ENDS = frozenset({
    expat.errors.XML_ERROR_NO_ELEMENTS,
    expat.errors.XML_ERROR_UNCLOSED_TOKEN,
    expat.errors.XML_ERROR_PARTIAL_CHAR,
    expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
})  # fmt: skip
_FIELDS: dict[tuple[str, ...], str] = {
    ("siteinfo", "dbname"): "dbname",
    ("siteinfo", "base"): "base",
    ("page", "title"): "title",
    ("page", "ns"): "ns",
    ("page", "id"): "id",
    ("page", "revision", "id"): "revision",
    ("page", "revision", "text"): "text",
}
"""Path of an element -> the field of the site or page that is its text."""


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


class PageReader:
    """Turns pieces of XML text into pages; the title is that of the page being read."""

    def __init__(self, *, max_page_chars: int) -> None:
        """Prepare a parser; of a longer wikitext than that only the length is kept."""
        self.site = Site()
        self.started = False
        self._limit = max_page_chars
        self._path: list[str] = []
        self._page: Page | None = None
        self._field: str | None = None
        self._pieces: list[str] = []
        self._length = 0
        self._done: deque[Page] = deque()
        self._fed = 0
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.buffer_size = 1 << 16
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._data
        self._parser.StartDoctypeDeclHandler = self._doctype

    @property
    def title(self) -> str:
        """Return the title of the unfinished page, if there is one."""
        return "" if self._page is None else self._page.title

    def feed(self, text: str | None) -> Iterator[Page]:
        """Parse a piece, None at the end; yield the pages that it completes.

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

    def _doctype(self, name: str, *_: object) -> None:
        msg = f"it declares a document type ({name}), which dumps never do"
        raise ForbiddenXmlError(msg)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition(":")[2]
        if not self.started:
            self._root(tag, attributes)
            return
        self._path.append(tag)
        if len(self._path) > 100:
            raise ForbiddenXmlError("its elements are nested more than 100 deep")
        if self._path == ["page"]:
            self._page = Page()
        elif self._path == ["page", "redirect"] and self._page is not None:
            self._page.redirect = attributes.get("title", "")
        if (name := _FIELDS.get(tuple(self._path))) is not None:
            self._field, self._pieces, self._length = name, [], 0

    def _root(self, tag: str, attributes: dict[str, str]) -> None:
        if tag != "mediawiki":
            msg = f"its outermost element is <{tag[:40]}>, not <mediawiki>"
            raise ForbiddenXmlError(msg)
        self.started = True
        self.site.language = attributes.get("xml:lang", "")

    def _data(self, data: str) -> None:
        """Keep a piece of a field unless its limit is passed; count it anyway."""
        if self._field is not None:
            limit = self._limit if self._field == "text" else FIELD_LIMIT
            if self._length < limit:
                self._pieces.append(data[: limit - self._length])
            self._length += len(data)

    def _end(self, _tag: str) -> None:
        if self._field and _FIELDS.get(tuple(self._path)) == self._field:
            owner = self._page if self._path[0] == "page" else self.site
            text = "".join(self._pieces)
            setattr(owner, self._field, text if self._field == "text" else text.strip())
            if isinstance(owner, Page) and self._field == "text":
                owner.length = self._length
            self._field = None
        if self._path == ["page"] and self._page is not None:
            self._done.append(self._page)
            self._page = None
        if self._path:
            self._path.pop()


_PROJECT = re.compile(
    r"(?:wiki(?:books|news|quote|source|versity|voyage)?|wiktionary)$"
)
_PLAIN_IN_URL = ";@$!*(),/~:"
_TITLE_LIMIT = 1_000


class DumpSource(PathsSource):
    """The pages of one or more dump files, in their order.

    A damaged file gives its complete pages and then one `Damage`; the files after it
    are still read. Redirects of every namespace are given, since articles link to them.
    Memory is bounded: a page longer than the limit is never kept.
    """

    def __init__(
        self,
        paths: Sequence[AnyPath | str],
        *,
        namespaces: Sequence[int] = (0,),
        keep_disambiguation: bool = False,
        max_page_chars: int = 5_000_000,
    ) -> None:
        """Name XML files, plain or compressed by bzip2 or gzip, here or at addresses.

        Namespace 0 holds the articles.
        """
        super().__init__(paths)
        self.name = ", ".join(path.name for path in self._paths)
        self._namespaces = sorted({str(number) for number in namespaces})
        self._keep_disambiguation = keep_disambiguation
        self._max_page_chars = max_page_chars

    def items(self) -> Iterator[Item]:
        """Check every file's beginning, then yield the pages of all.

        Raises:
            SourceError: If there is no file, or one is missing, empty, of another
                type, or declares entities.
        """
        if not self._paths:
            raise SourceError("No dump file was given: name at least one.")
        for path in self._paths:
            self._probe(path)
        return self._read_all()

    def parts(self, size: int) -> Iterator[Part]:
        """Yield pieces of about so many bytes of XML, each for a process to read."""
        for path in self._paths:
            with DumpFile(path) as file:
                utf8 = file.encoding in {"utf-8", "utf-8-sig"}
            yield from dump_parts(path, size, utf8=utf8)

    def part_items(self, part: Part) -> Iterator[Item]:
        """Yield the pages of a piece."""
        with DumpFile(self._at(part), start=part.start, end=part.end) as file:
            yield from self._read(file)

    def _probe(self, path: AnyPath) -> None:
        """Read a file up to its outermost element; refuse what is no dump."""
        reader = PageReader(max_page_chars=self._max_page_chars)
        with DumpFile(path) as file:
            try:
                while not reader.started:
                    for _ in reader.feed(file.read()):
                        break
            except (BrokenXmlError, BrokenFileError, ForbiddenXmlError) as error:
                if not reader.started or isinstance(error, ForbiddenXmlError):
                    raise _not_a_dump(path, error) from error

    def _read_all(self) -> Iterator[Item]:
        self._finished = 0
        for path in self._paths:
            with DumpFile(path) as file, self._reading(file):
                yield from self._read(file)

    def _read(self, file: DumpFile) -> Iterator[Item]:
        """Yield the items of one file, and its damage where it has any."""
        # Pages wait until the bytes they came from have met their checksum.
        reader = PageReader(max_page_chars=self._max_page_chars)
        waiting: deque[tuple[int, Page]] = deque()
        count, last = 0, ""
        damage: Exception | None = None
        text: str | None = ""
        while text is not None and damage is None:
            try:
                text = file.read()
                for page in reader.feed(text):
                    waiting.append((file.bytes_read, page))
            except ForbiddenXmlError as error:
                raise _not_a_dump(file.path, error) from error
            except (BrokenXmlError, BrokenFileError) as error:
                broken = isinstance(error, BrokenFileError)
                damage = error if broken else file.find_corruption() or error
                if isinstance(damage, BrokenFileError) and damage.corrupt:
                    break
            ended = text is None or damage is not None
            checked = file.bytes_read - (0 if ended else file.unchecked)
            while waiting and waiting[0][0] <= checked:
                page = waiting.popleft()[1]
                count, last = count + 1, page.title
                yield self._item(page, reader.site, file.path.name)
        if damage is not None:
            where = "" if waiting else reader.title
            yield Damage(message=_damage(file, count, last, where, damage))

    def _item(self, page: Page, site: Site, source: str) -> Item:
        problem = self._problem(page)
        if problem is not None:
            title = page.title[:_TITLE_LIMIT].replace(INVALID, "\ufffd")
            return Failure(title=title, message=problem)
        identity = _identity(page, site)
        target = page.redirect
        if target is None:
            target = redirect_target(page.text)
        if target is not None and (target := normalise_title(target, fragment=True)):
            return RawRedirect(
                title=page.title, target=target, source=source, source_id=identity
            )
        if page.ns not in self._namespaces:
            return LeftOut(title=page.title, reason="namespace")
        if not page.text.strip():
            return LeftOut(title=page.title, reason="empty", source_id=identity)
        if not self._keep_disambiguation and is_disambiguation(page.text):
            return LeftOut(
                title=page.title, reason="disambiguation", source_id=identity
            )
        return RawDocument(
            source_id=identity,
            title=page.title,
            raw=page.text,
            markup="wikitext",
            url=_url(page.title, site.base),
            source=source,
            revision=page.revision or None,
            language=_language(site),
        )

    def _problem(self, page: Page) -> str | None:
        if not page.title or not page.id:
            return f"Page {page.id or '?'} has no title or no id."
        if len(page.title) > _TITLE_LIMIT:
            return f"Page {page.id} has a title of {len(page.title)} characters."
        if page.length > self._max_page_chars:
            return (
                f"{page.title!r} has {page.length:,} characters, more than the limit "
                f"of {self._max_page_chars:,}."
            )
        if INVALID in page.text or INVALID in page.title:
            title = page.title.replace(INVALID, "\ufffd")
            return f"{title!r} holds bytes that are not valid text (encoding)."
        return None


def _identity(page: Page, site: Site) -> str:
    """Return the page's id with its wiki, since two wikis count alike."""
    host = None
    with suppress(ValueError):  # it is no address
        host = urlsplit(site.base).hostname
    return f"{host}/{page.id}" if host else page.id


def _url(title: str, base: str) -> str | None:
    """Return a page's address, from that of the wiki's main page."""
    folder, found, _ = base.partition("/wiki/")
    if not found:
        folder, found, _ = base.rpartition("/")
    if not found or "://" not in base:
        return None
    return folder + found + quote(title.replace(" ", "_"), safe=_PLAIN_IN_URL)


def _language(site: Site) -> str:
    if site.language:
        return site.language
    return _PROJECT.sub("", site.dbname).replace("_", "-") or "en"


def _not_a_dump(path: AnyPath, error: Exception) -> SourceError:
    return SourceError(
        f"{path} is not a usable MediaWiki XML dump: {error}. Give a pages-articles "
        "file."
    )


def _damage(
    file: DumpFile, pages: int, last: str, inside: str, error: Exception
) -> str:
    """Say where a file breaks off: behind so many pages, in or after which."""
    where = f"after {pages} complete page{'' if pages == 1 else 's'}"
    if last:
        where += f", the last one {last[:100]!r}"
    if inside:
        where += f", inside {inside[:100]!r}"
    return (
        f"{file.path.name} is damaged {where}: {error} (byte {file.position:,} of the "
        f"file, about {file.bytes_read:,} of the XML). The rest was not read: download "
        "the file again."
    )

"""MediaWiki XML dumps, read page by page.

The XML is read with expat itself: `mwxml` stops at a dump without a `<siteinfo>`, which
real excerpts lack, keeps whole pages of any size, and accepts entity declarations.
"""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from knowtrail.graph.errors import SourceError
from knowtrail.ingest.keys import normalise_title
from knowtrail.ingest.records import Damage, Failure, LeftOut, RawDocument, RawRedirect
from knowtrail.ingest.sources._dump_file import INVALID, BrokenFileError, DumpFile
from knowtrail.ingest.sources._dump_xml import (
    BrokenXmlError,
    ForbiddenXmlError,
    Page,
    PageReader,
    Site,
)
from knowtrail.ingest.wikitext import is_disambiguation, redirect_target

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from knowtrail.ingest.records import Item

_PROJECT = re.compile(
    r"(?:wiki|wiktionary|wikibooks|wikinews|wikiquote|wikisource|wikiversity|wikivoyage)"
    r"$"
)
_PLAIN_IN_URL = ";@$!*(),/~:"
_TITLE_LIMIT = 1_000


class DumpSource:
    """The pages of one or more dump files, in their order.

    A damaged file gives its complete pages and then one `Damage`; the files after it
    are still read. Redirects of every namespace are given, since articles link to them.
    Memory is bounded: a page longer than the limit is never kept.
    """

    unit = "bytes"

    def __init__(
        self,
        paths: Sequence[Path],
        *,
        namespaces: Sequence[int] = (0,),
        keep_disambiguation: bool = False,
        max_page_chars: int = 5_000_000,
    ) -> None:
        """Name the files; nothing is opened yet.

        Args:
            paths: XML files, plain or compressed with bzip2 or gzip.
            namespaces: Numbers of the namespaces to read; 0 holds the articles.
            keep_disambiguation: Read disambiguation pages as documents.
            max_page_chars: Longest wikitext to accept, in characters.
        """
        self._paths = tuple(paths)
        self._namespaces = frozenset(str(number) for number in namespaces)
        self._keep_disambiguation = keep_disambiguation
        self._max_page_chars = max_page_chars
        self._finished = 0
        self._current: DumpFile | None = None

    @property
    def name(self) -> str:
        """Return the names of the files."""
        return ", ".join(path.name for path in self._paths)

    @property
    def size(self) -> int | None:
        """Return the size of all files on disk, in bytes."""
        try:
            return sum(path.stat().st_size for path in self._paths)
        except OSError:
            return None

    @property
    def position(self) -> int:
        """Return how many bytes of the files on disk have been read."""
        current = self._current
        return self._finished + (0 if current is None else current.position)

    def items(self) -> Iterator[Item]:
        """Check every file's beginning, then yield the pages of all.

        Raises:
            SourceError: If there is no file, or one is missing, empty, of another
                type, or declares entities.
        """
        if not self._paths:
            msg = "No dump file was given: name at least one."
            raise SourceError(msg)
        for path in self._paths:
            self._probe(path)
        return self._read_all()

    def _probe(self, path: Path) -> None:
        """Read a file up to its outermost element; refuse what is no dump."""
        reader = PageReader(max_page_chars=self._max_page_chars)
        with DumpFile(path) as file:
            try:
                while not reader.started:
                    text = file.read()
                    for _ in reader.feed(text):
                        break
            except (BrokenXmlError, BrokenFileError, ForbiddenXmlError) as error:
                if not reader.started or isinstance(error, ForbiddenXmlError):
                    raise _not_a_dump(path, error) from error

    def _read_all(self) -> Iterator[Item]:
        """Yield the items of every file."""
        self._finished = 0
        for path in self._paths:
            with DumpFile(path) as file:
                self._current = file
                try:
                    yield from self._read(file)
                finally:
                    self._finished += file.position
                    self._current = None

    def _read(self, file: DumpFile) -> Iterator[Item]:
        """Yield the items of one file, and its damage where it has any.

        Pages wait until the bytes they came from have met their checksum.
        """
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
                damage = _first_cause(file, error)
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
        """Decide what a page is."""
        problem = self._problem(page)
        if problem is not None:
            title = page.title[:_TITLE_LIMIT].replace(INVALID, "\ufffd")
            return Failure(title=title, message=problem)
        identity = _identity(page, site)
        target = page.redirect
        if target is None:
            target = redirect_target(page.text)
        if target is not None and normalise_title(target):
            target = normalise_title(target)
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
        return _document(page, site, source)

    def _problem(self, page: Page) -> str | None:
        """Say why a page cannot be used, if so."""
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
    host = urlsplit(site.base).hostname
    return f"{host}/{page.id}" if host else page.id


def _document(page: Page, site: Site, source: str) -> RawDocument:
    """Return the raw document of an article."""
    return RawDocument(
        source_id=_identity(page, site),
        title=page.title,
        raw=page.text,
        markup="wikitext",
        url=_url(page.title, site.base),
        source=source,
        revision=page.revision or None,
        language=_language(site),
    )


def _url(title: str, base: str) -> str | None:
    """Return a page's address, from that of the wiki's main page."""
    folder, found, _ = base.partition("/wiki/")
    if not found:
        folder, found, _ = base.rpartition("/")
    if not found or "://" not in base:
        return None
    return folder + found + quote(title.replace(" ", "_"), safe=_PLAIN_IN_URL)


def _language(site: Site) -> str:
    """Return the wiki's language, English where the dump does not say."""
    if site.language:
        return site.language
    return _PROJECT.sub("", site.dbname).replace("_", "-") or "en"


def _not_a_dump(path: Path, error: Exception) -> SourceError:
    """Return the error for a file that is no dump."""
    return SourceError(
        f"{path} is not a usable MediaWiki XML dump: {error}. Give a pages-articles "
        "file."
    )


def _first_cause(file: DumpFile, error: Exception) -> Exception:
    """Return the corruption behind an error of the XML, if there is one."""
    if isinstance(error, BrokenFileError):
        return error
    return file.find_corruption() or error


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

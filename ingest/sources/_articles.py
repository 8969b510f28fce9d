"""Answers of the MediaWiki API as documents, redirects and failures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from knowtrail.graph.errors import SourceError
from knowtrail.ingest.records import Failure, LeftOut, RawDocument, RawRedirect
from knowtrail.ingest.sources._values import repaired

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowtrail.ingest.records import Item
    from knowtrail.ingest.sources._mediawiki import MediaWikiApi

_MOST_HOPS = 10
_MOST_CHARS = 5_000_000
_SEPARATOR = "\x1f"
_PARAMETERS = {
    "prop": "revisions|info|pageprops",
    "rvprop": "ids|content",
    "rvslots": "main",
    "inprop": "url",
    "ppprop": "disambiguation",
    "redirects": "1",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What one title led to: redirects and the article, or why there is none.

    Nothing where the article was given before.
    """

    items: tuple[Item, ...]
    is_article: bool = False


class _Answer:
    """The parts of one answer, put together."""

    def __init__(self) -> None:
        self.moved: dict[str, str] = {}
        self.redirects: dict[str, str] = {}
        self.pages: dict[str, dict[str, Any]] = {}
        self.elsewhere: set[str] = set()

    def add(self, part: dict[str, Any]) -> None:
        """Add one part; continuations bring what is missing of pages."""
        self.moved.update(_pairs(part, "normalized"))
        self.redirects.update(_pairs(part, "redirects"))
        self.elsewhere.update(str(row.get("title")) for row in _rows(part, "interwiki"))
        for page in _rows(part, "pages"):
            self.pages.setdefault(str(page.get("title")), {}).update(page)

    def follow(self, title: str) -> tuple[str, list[tuple[str, str]]]:
        """Return where a title leads, and the redirects on the way."""
        title = self.moved.get(title, title)
        hops: list[tuple[str, str]] = []
        while title in self.redirects and len(hops) < _MOST_HOPS:
            hops.append((title, self.redirects[title]))
            title = self.redirects[title]
        return title, hops


class ArticleReader:
    """Reads articles of one wiki, each once for as long as the reader lives."""

    def __init__(
        self,
        api: MediaWikiApi,
        *,
        source: str,
        language: str,
        keep_disambiguation: bool = False,
    ) -> None:
        """Take the wiki and what its documents have in common."""
        self._api = api
        self._source = source
        self._language = language
        self._keep_disambiguation = keep_disambiguation
        self._given: dict[str, bool] = {}
        self._redirects: set[str] = set()

    def read(self, titles: Sequence[str]) -> list[Found]:
        """Return what each title leads to, in order."""
        answer = _Answer()
        joined = _SEPARATOR.join([
            "",
            *(repaired(t).replace(_SEPARATOR, " ") for t in titles),
        ])
        for part in self._api.query({"titles": joined, **_PARAMETERS}):
            answer.add(part)
        return [self._found(repaired(title), answer) for title in titles]

    def search(self, topic: str, count: int) -> Iterator[str]:
        """Yield titles of articles on a topic, the most relevant first."""
        parameters = {
            "list": "search",
            "srsearch": repaired(topic),
            "srnamespace": "0",
            "srlimit": str(min(count, 50)),
            "srinfo": "",
            "srprop": "",
        }
        for part in self._api.query(parameters):
            for row in _rows(part, "search"):
                yield str(row.get("title"))

    def suggestion(self, title: str) -> str:
        """Return ": did you mean ...?" for a title that leads nowhere."""
        parameters = {
            "list": "search",
            "srsearch": repaired(title),
            "srlimit": "3",
            "srinfo": "suggestion",
            "srprop": "",
        }
        try:
            part = next(self._api.query(parameters), {})
        except SourceError:
            return ""
        info = part.get("searchinfo")
        guess = info.get("suggestion") if isinstance(info, dict) else None
        near = [str(row.get("title")) for row in _rows(part, "search")][:3]
        names = dict.fromkeys([str(guess)] * bool(guess) + near)
        return f": did you mean {', '.join(names)}?" if names else ": check the words"

    def _found(self, title: str, answer: _Answer) -> Found:
        """Return what one title of an answer leads to."""
        last, hops = answer.follow(title)
        page = answer.pages.get(last)
        if page is None or not page.get("pageid") or page.get("missing"):
            return Found(items=(self._lost(title, last, page, answer),))
        redirects = [
            RawRedirect(title=start, target=end, source=self._source)
            for start, end in hops
            if start not in self._redirects
        ]
        self._redirects.update(start for start, _ in hops)
        identity = f"{self._source}/{page['pageid']}"
        if identity in self._given:
            return Found(items=tuple(redirects), is_article=self._given[identity])
        item = self._article(page, identity)
        self._given[identity] = isinstance(item, RawDocument)
        return Found(items=(*redirects, item), is_article=self._given[identity])

    def _lost(
        self, title: str, last: str, page: dict[str, Any] | None, answer: _Answer
    ) -> Failure:
        """Say why a title has no page."""
        if last in answer.elsewhere or title in answer.elsewhere:
            message = "this title belongs to another wiki: choose its language"
        elif page is not None and page.get("invalid"):
            reason = str(page.get("invalidreason", "it has forbidden characters"))
            message = f"this is no title of a page: {reason}"
        elif last != title and title not in answer.moved:
            message = f"it redirects to {last!r}, which does not exist"
        else:
            message = f"no page has this title{self.suggestion(title)}"
        return Failure(title=title, message=message)

    def _article(self, page: dict[str, Any], identity: str) -> Item:
        """Return the document of a page, or why it is none."""
        from knowtrail.ingest.wikitext import is_disambiguation, redirect_target

        title = repaired(str(page["title"]))
        revision = next(_rows(page, "revisions"), {})
        slots = revision.get("slots")
        main = slots.get("main") if isinstance(slots, dict) else None
        text = main.get("content") if isinstance(main, dict) else None
        if page.get("ns", 0) != 0:
            return LeftOut(title=title, reason="namespace")
        if not isinstance(text, str) or not isinstance(main, dict):
            return Failure(title=title, message="the wiki gave no text of this page")
        if main.get("contentmodel", "wikitext") != "wikitext":
            kind = main.get("contentmodel")
            return Failure(title=title, message=f"the page is {kind}, not wikitext")
        if len(text) > _MOST_CHARS:
            message = f"the page is longer than {_MOST_CHARS:,} characters"
            return Failure(title=title, message=message)
        if not text.strip():
            return LeftOut(title=title, reason="empty", source_id=identity)
        if target := redirect_target(text):
            return RawRedirect(
                title=title, target=target, source=self._source, source_id=identity
            )
        props = page.get("pageprops")
        marked = isinstance(props, dict) and "disambiguation" in props
        if not self._keep_disambiguation and (marked or is_disambiguation(text)):
            return LeftOut(title=title, reason="disambiguation", source_id=identity)
        url = page.get("canonicalurl") or page.get("fullurl")
        number = revision.get("revid")
        return RawDocument(
            source_id=identity,
            title=title,
            raw=repaired(text),
            markup="wikitext",
            url=None if url is None else str(url),
            source=self._source,
            revision=None if number is None else str(number),
            language=self._language,
        )


def _rows(part: dict[str, Any], name: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of a list in an answer."""
    rows = part.get(name)
    yield from (
        (row for row in rows if isinstance(row, dict)) if isinstance(rows, list) else ()
    )


def _pairs(part: dict[str, Any], name: str) -> Iterator[tuple[str, str]]:
    """Yield (from, to) of a list in an answer."""
    for row in _rows(part, name):
        yield str(row.get("from")), str(row.get("to"))

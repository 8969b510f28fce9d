"""Articles of a live Wikipedia, by title or by topic."""

from __future__ import annotations

import re
import unicodedata
from contextlib import closing
from dataclasses import KW_ONLY, dataclass, fields
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from knowtrail.graph.batches import batched, batched_within
from knowtrail.graph.errors import SettingsError, SourceError
from knowtrail.ingest.records import Damage, Failure
from knowtrail.ingest.sources._mediawiki import ApiWishes, ArticleReader, MediaWikiApi

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from knowtrail.ingest.records import Item

_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-z]+)*|simple")
_TITLES_AT_ONCE = 10
_TITLE_BYTES = 1_500


@dataclass(eq=False, repr=False)
class WikipediaSource(ApiWishes):
    """Articles by title, then those that a search finds for each topic.

    Redirects are followed and reported, an article is given once however it was
    found, disambiguation pages are left out, and a title that does not exist is a
    `Failure` with near titles. Where the network fails after some articles came, the
    reading ends with a `Damage`.

    The id of an article is its page id, as in a dump of the same wiki.

    The language is Wikipedia's code, such as `bg`; `api_url` is that of another wiki.
    The contact, an address or e-mail for the wiki's operators, goes into the user
    agent. The other options are those of `MediaWikiApi`. Nothing is asked before
    `items` are.

    Raises:
        SettingsError: If the language is no code, the address none of the web, or a
            number out of range.
    """

    titles: Iterable[str] = ()
    topics: Iterable[str] = ()
    articles_per_topic: int = 5
    _: KW_ONLY
    language: str = "en"
    api_url: str | None = None
    keep_disambiguation: bool = False

    def __post_init__(self) -> None:
        self.titles, self.topics = tuple(self.titles), tuple(self.topics)
        if not _LANGUAGE.fullmatch(self.language):
            msg = f"{self.language!r} is no language of Wikipedia: write a code such as"
            raise SettingsError(f"{msg} en.")
        if min(self.articles_per_topic, self.attempts) < 1 or self.interval < 0:
            raise SettingsError(
                f"articles_per_topic {self.articles_per_topic}, attempts "
                f"{self.attempts} and interval {self.interval} must be at least 1, 1 "
                "and 0."
            )
        self._url = self.api_url or f"https://{self.language}.wikipedia.org/w/api.php"
        self.name = _host(self._url)
        self.size: int | None = len(self.titles)
        self.size += len(self.topics) * self.articles_per_topic
        self.position = 0

    def items(self) -> Iterator[Item]:
        """Yield articles, a few asked for at a time; `SourceError` without any."""
        if not any(title.strip() for title in (*self.titles, *self.topics)):
            raise SourceError("Nothing to read from Wikipedia: name titles or topics.")
        return self._read_all()

    def _read_all(self) -> Iterator[Item]:
        """Yield all items; a failure after the first is damage, not an error."""
        self.position = 0
        begun = False
        wishes = {one.name: getattr(self, one.name) for one in fields(ApiWishes)}
        api = MediaWikiApi(self._url, **wishes)
        with closing(api):
            pages = ArticleReader(
                api,
                source=self.name,
                language="en" if self.language == "simple" else self.language,
                keep_disambiguation=self.keep_disambiguation,
            )
            try:
                for item in self._each(pages):
                    begun = True
                    yield item
            except SourceError as error:
                if not begun:
                    raise
                yield Damage(message=f"{self.name} broke off. {error}")

    def _each(self, pages: ArticleReader) -> Iterator[Item]:
        for batch in _batches(_named(self.titles)):
            for found in pages.read(batch):
                self.position += 1
                yield from found.items
        for topic in _named(self.topics):
            yield from self._topic(pages, topic)

    def _topic(self, pages: ArticleReader, topic: str) -> Iterator[Item]:
        """Yield articles that the search finds, until there are enough of them."""
        wanted = self.articles_per_topic
        hits = islice(pages.search(topic, wanted), 3 * wanted + 10)
        articles = 0
        while batch := list(islice(hits, min(wanted - articles, _TITLES_AT_ONCE))):
            for found in pages.read(batch):
                articles += found.is_article
                self.position += found.is_article
                yield from found.items
        if not articles:
            message = f"the search found no article{pages.suggestion(topic)}"
            yield Failure(title=topic, message=message)
        self.position += wanted - articles


def _host(url: str) -> str:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not parts.hostname:
        msg = f"{url!r} is no address of an api.php: begin it with https://."
        raise SettingsError(msg)
    return parts.hostname


def _named(values: Iterable[str]) -> list[str]:
    composed = (unicodedata.normalize("NFC", value).strip() for value in values)
    return list(dict.fromkeys(value for value in composed if value))


def _batches(titles: Sequence[str]) -> Iterator[list[str]]:
    """Group titles so that an address stays short enough for every server."""
    for some in batched(titles, _TITLES_AT_ONCE):
        yield from batched_within(
            some, lambda title: len(title.encode("utf-8", "replace")), _TITLE_BYTES
        )

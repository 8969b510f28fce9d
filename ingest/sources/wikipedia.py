"""Articles of a live Wikipedia, by title or by topic."""

from __future__ import annotations

import re
import time
import unicodedata
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from knowtrail.graph.errors import SettingsError, SourceError
from knowtrail.ingest.records import Damage, Failure
from knowtrail.ingest.sources._mediawiki import CONTACT, ArticleReader, MediaWikiApi

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import httpx

    from knowtrail.ingest.records import Item

_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-z]+)*|simple")
_TITLES_AT_ONCE = 10
_TITLE_BYTES = 1_500


class WikipediaSource:
    """Articles by title, then those that a search finds for each topic.

    Redirects are followed and reported, an article is given once however it was
    found, disambiguation pages are left out, and a title that does not exist is a
    `Failure` with near titles. Where the network fails after some articles came, the
    reading ends with a `Damage`.

    The id of an article is its page id, as in a dump of the same wiki.
    """

    def __init__(
        self,
        titles: Sequence[str] = (),
        topics: Sequence[str] = (),
        articles_per_topic: int = 5,
        *,
        language: str = "en",
        api_url: str | None = None,
        client: httpx.Client | None = None,
        contact: str = CONTACT,
        interval: float = 0.2,
        attempts: int = 5,
        seconds: float = 30.0,
        keep_disambiguation: bool = False,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Say what to read; nothing is asked yet.

        The language is Wikipedia's code, such as `bg`; `api_url` is that of another
        wiki. The contact, an address or e-mail for the wiki's operators, goes into the
        user agent. The other options are those of `MediaWikiApi`.

        Raises:
            SettingsError: If the language is no code, the address none of the web, or
                a number out of range.
        """
        if not _LANGUAGE.fullmatch(language):
            msg = f"{language!r} is no language of Wikipedia: write a code such as en."
            raise SettingsError(msg)
        _check_numbers(articles_per_topic, attempts, interval)
        self._titles = tuple(titles)
        self._topics = tuple(topics)
        self._per_topic = articles_per_topic
        self._language = "en" if language == "simple" else language
        self._url = api_url or f"https://{language}.wikipedia.org/w/api.php"
        self.name = _host(self._url)
        self.size: int | None = len(self._titles) + len(self._topics) * self._per_topic
        self._keep_disambiguation = keep_disambiguation
        self._client = client
        self._options: dict[str, Any] = {
            "contact": contact,
            "interval": interval,
            "attempts": attempts,
            "seconds": seconds,
            "sleep": sleep,
        }
        self.position = 0

    def items(self) -> Iterator[Item]:
        """Yield articles, a few asked for at a time; `SourceError` without any."""
        if not any(title.strip() for title in (*self._titles, *self._topics)):
            raise SourceError("Nothing to read from Wikipedia: name titles or topics.")
        return self._read_all()

    def _read_all(self) -> Iterator[Item]:
        """Yield all items; a failure after the first is damage, not an error."""
        self.position = 0
        begun = False
        api = MediaWikiApi(self._url, client=self._client, **self._options)
        with closing(api):
            pages = ArticleReader(
                api,
                source=self.name,
                language=self._language,
                keep_disambiguation=self._keep_disambiguation,
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
        for batch in _batches(_named(self._titles)):
            for found in pages.read(batch):
                self.position += 1
                yield from found.items
        for topic in _named(self._topics):
            yield from self._topic(pages, topic)

    def _topic(self, pages: ArticleReader, topic: str) -> Iterator[Item]:
        """Yield articles that the search finds, until there are enough of them."""
        wanted = self._per_topic
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


def _batches(titles: Iterable[str]) -> Iterator[list[str]]:
    """Group titles so that an address stays short enough for every server."""
    batch: list[str] = []
    for title in titles:
        size = sum(len(t.encode("utf-8", "replace")) for t in (*batch, title))
        if batch and (len(batch) == _TITLES_AT_ONCE or size > _TITLE_BYTES):
            yield batch
            batch = []
        batch.append(title)
    if batch:
        yield batch


def _check_numbers(articles_per_topic: int, attempts: int, interval: float) -> None:
    if min(articles_per_topic, attempts) < 1 or interval < 0:
        raise SettingsError(
            f"articles_per_topic {articles_per_topic}, attempts {attempts} and "
            f"interval {interval} must be at least 1, 1 and 0."
        )

"""A polite client of the MediaWiki action API, and the articles in its answers.

One request at a time, a pause between requests, `maxlag`, and retries that wait as
long as the server asks. Responses are bounded in size.
"""

from __future__ import annotations

import json
import logging
import time
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from knowtrail.graph.busy import BusyError, asked_pause, pause_noted, retry_after
from knowtrail.graph.errors import SourceError, UnreachableError
from knowtrail.graph.models.prompts import whole_characters
from knowtrail.ingest.records import Failure, LeftOut, RawDocument, RawRedirect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import httpx
    from tenacity import RetryCallState

    from knowtrail.ingest.records import Item


_LOG = logging.getLogger(__name__)

CONTACT = ""
MAX_RESPONSE = 64_000_000
_LONGEST_WAIT = 120.0
_MAXLAG = 5
_BUSY_STATUS = {429, 500, 502, 503, 504}
_BUSY_CODES = {"maxlag", "ratelimited", "readonly", "internal_api_error_DBQueryError"}
_MOST_CONTINUATIONS = 1_000


def user_agent(contact: str = CONTACT) -> str:
    """Return the name that servers see: the product, its version and a contact."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        number = version("knowtrail")
    except PackageNotFoundError:
        number = "0"
    return f"knowtrail/{number} ({contact})" if contact else f"knowtrail/{number}"


@dataclass(eq=False, repr=False, kw_only=True)
class ApiWishes:
    """How a wiki is asked: what `MediaWikiApi` and `WikipediaSource` both take."""

    client: httpx.Client | None = None
    contact: str = CONTACT
    interval: float = 0.2
    attempts: int = 5
    seconds: float = 30.0
    sleep: Callable[[float], None] = time.sleep


@dataclass(eq=False, repr=False)
class MediaWikiApi(ApiWishes):
    """Asks one wiki at the address of an api.php; nothing is asked at first.

    A client that is given is left open by `close`. The interval is the least number of
    seconds from one request to the next; `seconds` limits connecting, and each pause of
    the server, `max_response` the bytes of a response, decompressed.
    """

    url: str
    _: KW_ONLY
    max_response: int = MAX_RESPONSE
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        import httpx

        self._client = self.client or httpx.Client(
            timeout=httpx.Timeout(self.seconds, connect=min(10.0, self.seconds))
        )
        self._headers = {"User-Agent": user_agent(self.contact)}
        self._next = 0.0

    def close(self) -> None:
        """Close the client, unless the caller brought it."""
        if self.client is None:
            self._client.close()

    def query(self, parameters: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        """Yield `query` of each response, with continuations, or `SourceError`."""
        fixed = {
            "action": "query",
            "format": "json",
            "formatversion": "2",
            "maxlag": str(_MAXLAG),
        }
        more: dict[str, str] = {}
        for _ in range(_MOST_CONTINUATIONS):
            answer = self._get({**fixed, **parameters, **more})
            part = answer.get("query", {})
            if not isinstance(part, dict):
                msg = f"{self.url} gave a query that is no object: check the address."
                raise SourceError(msg)
            yield part
            following = answer.get("continue")
            if not isinstance(following, dict) or not following:
                return
            before, more = more, {k: str(v) for k, v in following.items()}
            if more == before:
                break
        msg = f"{self.url} continues one answer without end: nothing more was read."
        raise SourceError(msg)

    def _get(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        from tenacity import Retrying, retry_if_exception_type

        retrying = Retrying(
            retry=retry_if_exception_type(BusyError),
            stop=partial(_gives_up, self.attempts),
            wait=_wait,
            sleep=self.sleep,
            before_sleep=pause_noted(_LOG, self.url),
            reraise=True,
        )
        try:
            return retrying(self._once, parameters)
        except BusyError as error:
            raise UnreachableError(
                f"No answer from {self.url}: {error}. Check the network and the "
                f"address, or try again later."
            ) from error

    def _once(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        import httpx

        if (pause := self._next - self.clock()) > 0:
            self.sleep(pause)
        self._next = self.clock() + self.interval
        try:
            with self._client.stream(
                "GET", self.url, params=dict(parameters), headers=self._headers
            ) as response:
                self._check_status(response)
                body = self._body(response)
                after = retry_after(response.headers)
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            msg = f"{self.url!r} is no address of an api.php: {error}."
            raise SourceError(msg) from error
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise BusyError(str(error) or type(error).__name__) from error
        return self._answer(body, after)

    def _check_status(self, response: httpx.Response) -> None:
        """Tell a busy server from one that refuses."""
        status = response.status_code
        after = retry_after(response.headers)
        if status in _BUSY_STATUS:
            msg = f"status {status} {response.reason_phrase}".strip()
            raise BusyError(msg, after=after)
        if status != 200:
            raise SourceError(
                f"{self.url} answered {status} {response.reason_phrase}: check that "
                f"this is the address of a wiki's api.php that you may use."
            )

    def _body(self, response: httpx.Response) -> bytes:
        body = bytearray()
        for part in response.iter_bytes():
            body += part
            if len(body) > self.max_response:
                raise SourceError(
                    f"{self.url} answered with more than {self.max_response:,} "
                    f"bytes: ask for fewer articles at once."
                )
        return bytes(body)

    def _answer(self, body: bytes, after: float | None) -> dict[str, Any]:
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError) as error:
            msg = f"an answer that is not JSON ({body[:40]!r})"
            raise BusyError(msg, after=after) from error
        if not isinstance(answer, dict):
            msg = f"{self.url} gave no JSON object: check that it is an api.php."
            raise SourceError(msg)
        refusal = answer.get("error")
        if isinstance(refusal, dict):
            code, info = refusal.get("code"), str(refusal.get("info", ""))[:200]
            if code in _BUSY_CODES:
                raise BusyError(f"{code}: {info}", after=after)
            raise SourceError(f"{self.url} refused the request ({code}): {info}")
        return answer


def _wait(state: RetryCallState) -> float:
    """Return the next pause: 1, 2, 4... seconds, or more if the server asks."""
    return max(float(2 ** (state.attempt_number - 1)), asked_pause(state) or 0.0)


def _gives_up(attempts: int, state: RetryCallState) -> bool:
    """Stop after so many attempts, or when asked for too long a pause."""
    too_long = (asked_pause(state) or 0.0) > _LONGEST_WAIT
    return too_long or state.attempt_number >= attempts


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


@dataclass
class _Answer:
    moved: dict[str, str] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    pages: dict[str, dict[str, Any]] = field(default_factory=dict)
    elsewhere: set[str] = field(default_factory=set)

    def add(self, part: dict[str, Any]) -> None:
        """Add one part; continuations bring what is missing of pages."""
        self.moved.update(_pairs(part, "normalized"))
        self.redirects.update(_pairs(part, "redirects"))
        self.elsewhere.update(str(row.get("title")) for row in _rows(part, "interwiki"))
        for page in _rows(part, "pages"):
            self.pages.setdefault(str(page.get("title")), {}).update(page)

    def follow(self, title: str) -> tuple[str, list[tuple[str, str]]]:
        title = self.moved.get(title, title)
        hops: list[tuple[str, str]] = []
        while title in self.redirects and len(hops) < _MOST_HOPS:
            hops.append((title, self.redirects[title]))
            title = self.redirects[title]
        return title, hops


@dataclass(eq=False, repr=False)
class ArticleReader:
    """Reads articles of one wiki, each once for as long as the reader lives."""

    api: MediaWikiApi
    _: KW_ONLY
    source: str
    language: str
    keep_disambiguation: bool = False
    _given: dict[str, bool] = field(default_factory=dict, init=False)
    _redirects: set[str] = field(default_factory=set, init=False)

    def read(self, titles: Sequence[str]) -> list[Found]:
        """Return what each title leads to, in order."""
        answer = _Answer()
        joined = _SEPARATOR.join([
            "",
            *(whole_characters(t).replace(_SEPARATOR, " ") for t in titles),
        ])
        for part in self.api.query({"titles": joined, **_PARAMETERS}):
            answer.add(part)
        return [self._found(whole_characters(title), answer) for title in titles]

    def search(self, topic: str, count: int) -> Iterator[str]:
        """Yield titles of articles on a topic, the most relevant first."""
        parameters = {
            "list": "search",
            "srsearch": whole_characters(topic),
            "srnamespace": "0",
            "srlimit": str(min(count, 50)),
            "srinfo": "",
            "srprop": "",
        }
        for part in self.api.query(parameters):
            for row in _rows(part, "search"):
                yield str(row.get("title"))

    def suggestion(self, title: str) -> str:
        """Return ": did you mean ...?" for a title that leads nowhere."""
        parameters = {
            "list": "search",
            "srsearch": whole_characters(title),
            "srlimit": "3",
            "srinfo": "suggestion",
            "srprop": "",
        }
        try:
            part = next(self.api.query(parameters), {})
        except SourceError:
            return ""
        info = part.get("searchinfo")
        guess = info.get("suggestion") if isinstance(info, dict) else None
        near = [str(row.get("title")) for row in _rows(part, "search")][:3]
        names = dict.fromkeys([str(guess)] * bool(guess) + near)
        return f": did you mean {', '.join(names)}?" if names else ": check the words"

    def _found(self, title: str, answer: _Answer) -> Found:
        last, hops = answer.follow(title)
        page = answer.pages.get(last)
        if page is None or not page.get("pageid") or page.get("missing"):
            return Found(items=(self._lost(title, last, page, answer),))
        redirects = [
            RawRedirect(title=start, target=end, source=self.source)
            for start, end in hops
            if start not in self._redirects
        ]
        self._redirects.update(start for start, _ in hops)
        identity = f"{self.source}/{page['pageid']}"
        if identity in self._given:
            return Found(items=tuple(redirects), is_article=self._given[identity])
        item = self._article(page, identity)
        self._given[identity] = isinstance(item, RawDocument)
        return Found(items=(*redirects, item), is_article=self._given[identity])

    def _lost(
        self, title: str, last: str, page: dict[str, Any] | None, answer: _Answer
    ) -> Failure:
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
        from knowtrail.ingest.wikitext import is_disambiguation, redirect_target

        title = whole_characters(str(page["title"]))
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
                title=title, target=target, source=self.source, source_id=identity
            )
        props = page.get("pageprops")
        marked = isinstance(props, dict) and "disambiguation" in props
        if not self.keep_disambiguation and (marked or is_disambiguation(text)):
            return LeftOut(title=title, reason="disambiguation", source_id=identity)
        url = page.get("canonicalurl") or page.get("fullurl")
        number = revision.get("revid")
        return RawDocument(
            source_id=identity,
            title=title,
            raw=whole_characters(text),
            markup="wikitext",
            url=None if url is None else str(url),
            source=self.source,
            revision=None if number is None else str(number),
            language=self.language,
        )


def _rows(part: dict[str, Any], name: str) -> Iterator[dict[str, Any]]:
    rows = part.get(name)
    listed = rows if isinstance(rows, list) else ()
    return (row for row in listed if isinstance(row, dict))


def _pairs(part: dict[str, Any], name: str) -> Iterator[tuple[str, str]]:
    for row in _rows(part, name):
        yield str(row.get("from")), str(row.get("to"))

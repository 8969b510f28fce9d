"""Live Wikipedia as a source, against a local server that speaks MediaWiki's API."""

from __future__ import annotations

import gzip
import json
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest

from knowtrail.graph.errors import SettingsError, SourceError, UnreachableError
from knowtrail.ingest.prepare import parse
from knowtrail.ingest.records import Damage, Failure, LeftOut, RawDocument, RawRedirect
from knowtrail.ingest.sources._mediawiki import MediaWikiApi
from knowtrail.ingest.sources.wikipedia import WikipediaSource

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass
class Wiki:
    """Pages of a small wiki, and what goes wrong before it answers."""

    texts: dict[str, str] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    props: dict[str, dict[str, str]] = field(default_factory=dict)
    suggestion: str | None = None
    texts_at_once: int = 50
    faults: list[tuple[int, dict[str, str], bytes]] = field(default_factory=list)
    delay: float = 0.0
    requests: list[dict[str, str]] = field(default_factory=list)
    agents: list[str] = field(default_factory=list)
    times: list[tuple[float, float]] = field(default_factory=list)
    url: str = ""

    def page(self, title: str) -> dict[str, Any]:
        """Return a page without its text."""
        if "<" in title:
            reason = 'The requested page title contains invalid characters: "<".'
            return {"title": title, "invalidreason": reason, "invalid": True}
        namespace = 1 if title.startswith("Talk:") else 0
        if title not in self.texts:
            return {"ns": namespace, "title": title, "missing": True}
        number = 100 + list(self.texts).index(title)
        return {"pageid": number, "ns": namespace, "title": title}

    def titles(self, asked: dict[str, str]) -> dict[str, Any]:
        """Answer a query by titles."""
        query: dict[str, Any] = {}
        names = asked["titles"].removeprefix("\x1f").split("\x1f")
        pages: dict[str, dict[str, Any]] = {}
        for name in names:
            if name.startswith("de:"):
                query.setdefault("interwiki", []).append({"title": name, "iw": "de"})
                continue
            title = name.replace("_", " ")
            title = title[:1].upper() + title[1:]
            if title != name:
                row = {"fromencoded": False, "from": name, "to": title}
                query.setdefault("normalized", []).append(row)
            while title in self.redirects:
                row = {"from": title, "to": self.redirects[title]}
                if row not in query.setdefault("redirects", []):
                    query["redirects"].append(row)
                title = self.redirects[title]
            pages[title] = self.page(title)
        query["pages"] = list(pages.values())
        return self._with_texts(query, asked)

    def _with_texts(
        self, query: dict[str, Any], asked: dict[str, str]
    ) -> dict[str, Any]:
        """Add texts to as many pages as one answer has room for."""
        real = [page for page in query["pages"] if "pageid" in page]
        start = int(asked.get("rvcontinue", "0"))
        for page in real[start : start + self.texts_at_once]:
            main = {
                "contentmodel": "wikitext",
                "contentformat": "text/x-wiki",
                "content": self.texts[page["title"]],
            }
            revision = {"revid": page["pageid"] * 10, "parentid": 0}
            page["revisions"] = [{**revision, "slots": {"main": main}}]
        for page in real if start == 0 else []:
            page["canonicalurl"] = f"https://en.wiki.test/wiki/{page['pageid']}"
            if page["title"] in self.props:
                page["pageprops"] = self.props[page["title"]]
        if start + self.texts_at_once < len(real):
            following = str(start + self.texts_at_once)
            more = {"rvcontinue": following, "continue": "||info|pageprops"}
            return {"continue": more, "query": query}
        return {"batchcomplete": True, "query": query}

    def search(self, asked: dict[str, str]) -> dict[str, Any]:
        """Answer a search."""
        words = asked["srsearch"].lower()
        found = [t for t, text in self.texts.items() if words in f"{t} {text}".lower()]
        start, limit = int(asked.get("sroffset", "0")), int(asked["srlimit"])
        rows = [self.page(title) for title in found[start : start + limit]]
        query: dict[str, Any] = {"search": rows}
        if asked.get("srinfo") == "suggestion" and self.suggestion:
            query["searchinfo"] = {"suggestion": self.suggestion}
        answer: dict[str, Any] = {"batchcomplete": True, "query": query}
        if start + limit < len(found):
            answer["continue"] = {"sroffset": start + limit, "continue": "-||"}
        return answer


def _handler(wiki: Wiki) -> type[BaseHTTPRequestHandler]:
    """Return a handler that answers for the wiki."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            begin = time.monotonic()
            asked = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
            wiki.requests.append(asked)
            wiki.agents.append(self.headers["User-Agent"])
            time.sleep(wiki.delay)
            status, headers, body = 200, {"Content-Type": "application/json"}, b""
            if wiki.faults:
                status, headers, body = wiki.faults.pop(0)
            else:
                answer = wiki.titles if "titles" in asked else wiki.search
                body = json.dumps(answer(asked)).encode()
            wiki.times.append((begin, time.monotonic()))
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return Handler


@pytest.fixture
def wiki() -> Iterator[Wiki]:
    """Yield a wiki that answers on this machine."""
    wiki = Wiki()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(wiki))
    wiki.url = f"http://127.0.0.1:{server.server_port}/w/api.php"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield wiki
    server.shutdown()
    server.server_close()
    thread.join()


@dataclass
class Naps:
    """Notes how long was to be waited, and does not."""

    seconds: list[float] = field(default_factory=list)

    def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def _source(wiki: Wiki, *args: Any, **options: Any) -> WikipediaSource:
    return WikipediaSource(
        *args, **{"api_url": wiki.url, "interval": 0.0, "sleep": Naps()} | options
    )


def _read(wiki: Wiki, *args: Any, **options: Any) -> list[Any]:
    return list(_source(wiki, *args, **options).items())


MAXLAG = json.dumps({
    "error": {"code": "maxlag", "info": "Waiting for db1: 6 seconds lagged", "lag": 6}
}).encode()


def test_article_by_title(wiki: Wiki) -> None:
    """Wikitext, page id, revision and address arrive; the text is parsed as usual."""
    wiki.texts = {
        "Nile": "The '''Nile''' is a [[river]] in Africa.\n\n[[Category:Rivers]]"
    }

    (found,) = _read(wiki, ["Nile"])

    assert found == RawDocument(
        source_id="127.0.0.1/100",
        title="Nile",
        raw=wiki.texts["Nile"],
        markup="wikitext",
        url="https://en.wiki.test/wiki/100",
        source="127.0.0.1",
        revision="1000",
    )
    parsed = parse(found)
    assert parsed.text == "The Nile is a river in Africa."
    assert (parsed.links[0].target.lower(), parsed.categories) == ("river", ("Rivers",))


def test_requests_are_polite(wiki: Wiki) -> None:
    """Every request names the product and a contact, and gives way to others."""
    wiki.texts = {"Nile": "x"}

    _read(wiki, ["Nile"], ["x"], contact="https://example.org/me")

    assert len(wiki.requests) >= 2
    assert {asked["maxlag"] for asked in wiki.requests} == {"5"}
    assert {asked["formatversion"] for asked in wiki.requests} == {"2"}
    assert all(agent.startswith("knowtrail/") for agent in wiki.agents)
    assert all("(https://example.org/me)" in agent for agent in wiki.agents)


def test_requests_come_one_by_one_and_not_too_fast(wiki: Wiki) -> None:
    """The pause is from one request's beginning to the next one's."""
    wiki.texts = {f"Page {i}": "x" for i in range(35)}

    _read(wiki, list(wiki.texts), interval=0.4, sleep=time.sleep)

    begins = [begin for begin, _ in wiki.times]
    ends = [end for _, end in wiki.times]
    assert len(begins) == 4
    # Less than the interval: a busy machine notes a beginning late.
    assert all(b - a >= 0.2 for a, b in pairwise(begins))
    assert all(b >= a for a, b in zip(ends, begins[1:], strict=False))


def test_redirects_and_normalised_titles_are_followed(wiki: Wiki) -> None:
    """Each hop is reported once, and the article comes once."""
    wiki.texts = {"Nile": "A river."}
    wiki.redirects = {"River Nile": "Nile", "The Nile": "River Nile"}

    found = _read(wiki, ["the_Nile", "nile", "River Nile"])

    assert [i for i in found if isinstance(i, RawRedirect)] == [
        RawRedirect(title="The Nile", target="River Nile", source="127.0.0.1"),
        RawRedirect(title="River Nile", target="Nile", source="127.0.0.1"),
    ]
    assert [i.title for i in found if isinstance(i, RawDocument)] == ["Nile"]


@pytest.mark.parametrize(
    ("title", "message"),
    [
        ("Nlie", "no page has this title: did you mean nile, Nlie delta?"),
        ("nowhere at all", "no page has this title: did you mean nile?"),
        ("a<b", "invalid characters"),
        ("de:Nil", "belongs to another wiki"),
        ("Gone", "redirects to 'Nothing', which does not exist"),
    ],
)
def test_title_without_a_page_fails_with_the_reason(
    wiki: Wiki, title: str, message: str
) -> None:
    """The other titles are read."""
    wiki.texts = {"Nile": "A river.", "Nlie delta": "Mud."}
    wiki.redirects = {"Gone": "Nothing"}
    wiki.suggestion = "nile"

    failure, document = _read(wiki, [title, "Nile"])

    assert isinstance(failure, Failure)
    assert failure.title == title
    assert message in failure.message
    assert document.title == "Nile"


def test_pages_that_are_no_articles_are_left_out(wiki: Wiki) -> None:
    """Disambiguation by page property or template, other namespaces, empty pages."""
    wiki.texts = {"A": "x", "B": "x may be\n{{disambig}}", "Talk:C": "x", "D": " "}
    wiki.props = {"A": {"disambiguation": ""}}

    found = _read(wiki, list(wiki.texts))

    assert found == [
        LeftOut(title="A", reason="disambiguation", source_id="127.0.0.1/100"),
        LeftOut(title="B", reason="disambiguation", source_id="127.0.0.1/101"),
        LeftOut(title="Talk:C", reason="namespace"),
        LeftOut(title="D", reason="empty", source_id="127.0.0.1/103"),
    ]


def test_disambiguation_pages_are_kept_on_demand(wiki: Wiki) -> None:
    """The option makes documents of them."""
    wiki.texts = {"A": "x"}
    wiki.props = {"A": {"disambiguation": ""}}

    (found,) = _read(wiki, ["A"], keep_disambiguation=True)

    assert isinstance(found, RawDocument)


def test_topics_give_so_many_different_articles(wiki: Wiki) -> None:
    """Pages left out do not count, and an article found twice comes once."""
    wiki.texts = {f"River {i}": "water" for i in range(8)} | {"Lake": "water, still"}
    wiki.props = {"River 1": {"disambiguation": ""}}
    source = _source(wiki, [], ["river", "water", "still", "river"], 3)

    found = list(source.items())

    left_out = LeftOut(
        title="River 1", reason="disambiguation", source_id="127.0.0.1/101"
    )
    titles = [i.title for i in found if isinstance(i, RawDocument)]
    assert titles == ["River 0", "River 2", "River 3", "Lake"]
    assert found.count(left_out) == 1
    assert source.position <= (source.size or 0)


def test_search_goes_on_where_it_stopped(wiki: Wiki) -> None:
    """More articles than one answer lists are asked for in turn."""
    wiki.texts = {f"River {i}": "x" for i in range(120)}

    found = _read(wiki, [], ["river"], 110)

    assert [i.title for i in found] == [f"River {i}" for i in range(110)]
    assert max(int(r.get("sroffset", "0")) for r in wiki.requests) == 100


def test_topic_without_articles_fails(wiki: Wiki) -> None:
    """The failure names the topic and what the search suggests."""
    wiki.suggestion = "rivers"

    (found,) = _read(wiki, [], ["rvers"])

    assert found == Failure(
        title="rvers", message="the search found no article: did you mean rivers?"
    )


def test_answer_in_parts_is_put_together(wiki: Wiki) -> None:
    """Texts that did not fit the first answer come with its continuation."""
    wiki.texts = {f"Page {i}": f"Text {i}." for i in range(7)}
    wiki.props = {"Page 6": {"disambiguation": ""}}
    wiki.texts_at_once = 3

    found = _read(wiki, list(wiki.texts))

    assert [getattr(i, "raw", i) for i in found] == [
        *(f"Text {i}." for i in range(6)),
        LeftOut(title="Page 6", reason="disambiguation", source_id="127.0.0.1/106"),
    ]
    assert found[5].url == "https://en.wiki.test/wiki/105"
    assert [r.get("rvcontinue") for r in wiki.requests] == [None, "3", "6"]


def test_busy_server_is_asked_again(wiki: Wiki) -> None:
    """Waits double, and are longer where the server asks for it."""
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    wiki.texts = {"Nile": "x"}
    wiki.faults = [
        (200, {"Retry-After": "5", "X-Database-Lag": "6"}, MAXLAG),
        (429, {"Retry-After": later}, b"slow down"),
        (503, {"Retry-After": "soon"}, b""),
        (200, {}, b'{"query": {"pages": ['),
    ]
    naps = Naps()

    (found,) = _read(wiki, ["Nile"], sleep=naps)

    assert found.title == "Nile"
    assert naps.seconds[0] == 5
    assert 25 < naps.seconds[1] <= 30
    assert naps.seconds[2:] == [4, 8]


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ((200, {"Retry-After": "5"}, MAXLAG), "maxlag: Waiting for db1"),
        ((502, {}, b""), "status 502"),
        ((200, {}, b"<html>"), r"not JSON \(b'<html>'\)"),
    ],
)
def test_server_that_stays_busy_is_given_up(
    wiki: Wiki, fault: tuple[int, dict[str, str], bytes], message: str
) -> None:
    """After so many attempts the error says what the last answer was."""
    wiki.faults = [fault] * 9

    with pytest.raises(SourceError, match=message):
        _read(wiki, ["Nile"], attempts=3)

    assert len(wiki.requests) == 3


def test_very_long_pause_is_not_waited_for(wiki: Wiki) -> None:
    """A server that asks for an hour is an error at once."""
    wiki.faults = [(429, {"Retry-After": "3600"}, b"")] * 9

    with pytest.raises(SourceError, match="status 429"):
        _read(wiki, ["Nile"])

    assert len(wiki.requests) == 1


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ((404, {}, b"no"), "answered 404 Not Found"),
        ((301, {"Location": "https://example.org/"}, b""), "answered 301"),
        ((403, {}, b""), "that you may use"),
        ((200, {}, b"[]"), "no JSON object"),
        ((200, {}, b'{"query": []}'), "no object"),
        (
            (200, {}, b'{"error": {"code": "badvalue", "info": "Unknown value"}}'),
            r"refused the request \(badvalue\): Unknown value",
        ),
    ],
)
def test_refusal_is_not_tried_again(
    wiki: Wiki, fault: tuple[int, dict[str, str], bytes], message: str
) -> None:
    """What will not change by waiting is an error at once."""
    wiki.faults = [fault]

    with pytest.raises(SourceError, match=message):
        _read(wiki, ["Nile"])

    assert len(wiki.requests) == 1


def test_break_after_some_articles_is_damage(wiki: Wiki) -> None:
    """What came before stays usable."""
    wiki.texts = {f"Page {i}": "x" for i in range(15)}
    source = _source(wiki, list(wiki.texts), attempts=2)
    reading = source.items()
    first = [next(reading) for _ in range(10)]
    wiki.faults = [(500, {}, b"")] * 9

    (damage,) = list(reading)

    assert len({item.source_id for item in first}) == 10
    assert isinstance(damage, Damage)
    assert "status 500" in damage.message


def test_no_network(wiki: Wiki) -> None:
    """A wiki that cannot be reached is one clear error."""
    with pytest.raises(UnreachableError, match=r"127\.0\.0\.1:9/.*Check the network"):
        _read(wiki, ["Nile"], api_url="http://127.0.0.1:9/w/api.php", attempts=2)


@pytest.mark.parametrize(
    "url", ["ftp://x/api.php", "api.php", "http://[::1/", "http://:x", "http://a:b/"]
)
def test_wrong_address(url: str) -> None:
    """An address that is none is refused before anything is asked."""
    with pytest.raises(SettingsError, match="begin it with https"):
        WikipediaSource(["Nile"], api_url=url)


def test_slow_server_ends_in_an_error(wiki: Wiki) -> None:
    """The time limit holds for every attempt."""
    wiki.delay = 0.5

    with pytest.raises(SourceError, match="timed out"):
        _read(wiki, ["Nile"], seconds=0.05, attempts=2)


def test_large_answer_is_not_held(wiki: Wiki) -> None:
    """The limit holds for what a compressed answer becomes."""
    bomb = gzip.compress(b"[" * 50_000_000)
    wiki.faults = [(200, {"Content-Encoding": "gzip"}, bomb)]
    api = MediaWikiApi(wiki.url, interval=0.0, max_response=1_000_000)

    with pytest.raises(SourceError, match="more than 1,000,000 bytes"):
        next(api.query({"titles": "A"}))

    api.close()


def test_answer_that_never_ends_is_cut(wiki: Wiki) -> None:
    """The same continuation twice would go on for ever."""
    body = b'{"query": {"pages": []}, "continue": {"rvcontinue": "1"}}'
    wiki.faults = [(200, {}, body)] * 9

    with pytest.raises(SourceError, match="without end"):
        _read(wiki, ["Nile"])


def test_odd_answers_fail_for_their_page_only(wiki: Wiki) -> None:
    """Hidden text, other content and missing parts are failures."""
    pages = [
        {"pageid": 1, "ns": 0, "title": "A"},
        {"pageid": 2, "ns": 0, "title": "B", "revisions": [{"slots": None}]},
        {
            "pageid": 3,
            "ns": 0,
            "title": "C",
            "revisions": [
                {"slots": {"main": {"content": "{}", "contentmodel": "json"}}}
            ],
        },
        "nonsense",
    ]
    wiki.faults = [(200, {}, json.dumps({"query": {"pages": pages}}).encode())]

    found = _read(wiki, ["A", "B", "C", "D"])

    assert [type(item) for item in found] == [Failure] * 4
    assert "json, not wikitext" in found[2].message


def test_callers_client_is_used_and_left_open(wiki: Wiki) -> None:
    """It may carry a proxy or a certificate of its own."""
    wiki.texts = {"Nile": "x"}
    with httpx.Client(headers={"X-Own": "yes"}) as client:
        _read(wiki, ["Nile"], client=client)

        assert not client.is_closed
    assert wiki.agents[0].startswith("knowtrail/")


def test_second_reading_begins_again(wiki: Wiki) -> None:
    """Items may be asked for twice."""
    wiki.texts = {"Nile": "x"}
    source = _source(wiki, iter(["Nile"]), topics=iter(()))

    first = list(source.items())
    assert first
    assert list(source.items()) == first
    assert (source.size, source.position) == (1, 1)


def test_settings_are_checked() -> None:
    """Wrong settings are refused before anything is asked."""
    with pytest.raises(SettingsError, match="no language of Wikipedia"):
        WikipediaSource(["A"], language="en.evil.example/")
    with pytest.raises(SettingsError, match="articles_per_topic 0"):
        WikipediaSource(["A"], articles_per_topic=0)
    with pytest.raises(SourceError, match="name titles or topics"):
        WikipediaSource([" "]).items()


@pytest.mark.parametrize(
    ("language", "host"),
    [("bg", "bg.wikipedia.org"), ("simple", "simple.wikipedia.org")],
)
def test_language_chooses_the_wiki(language: str, host: str) -> None:
    """The host is the name of the source."""
    assert WikipediaSource(["A"], language=language).name == host

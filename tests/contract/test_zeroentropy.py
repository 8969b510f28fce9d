"""ZeroEntropy's reranking interface, as its public reference describes it.

The service itself is not asked: a local server answers as the reference says.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import TYPE_CHECKING, Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from knowtrail.graph.errors import ModelError, SettingsError
from knowtrail.graph.settings import Settings
from knowtrail.retrieval.rerank import achecked_scores, checked_scores, load_reranker
from knowtrail.retrieval.rerank.zeroentropy import ZeroEntropyReranker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEY = "ze-secret-1234567890"


class Service:
    """Scores documents by their length, and what goes wrong before it does."""

    def __init__(self, server: HTTPServer) -> None:
        self.url = server.url_for("/v1/models/rerank")
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.faults: list[Response] = []
        self.pauses: list[float] = []
        self.now = self.most = 0
        self.hold = 0.0
        self._lock = threading.Lock()
        server.expect_request("/v1/models/rerank", method="POST").respond_with_handler(
            self.answer
        )

    def answer(self, request: Request) -> Response:
        """Answer a request, best first, as the reference shows."""
        import json
        import time

        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)
            self.requests.append(request.get_json())
            self.keys.append(request.headers.get("Authorization"))
            fault = self.faults.pop(0) if self.faults else None
        time.sleep(self.hold)
        with self._lock:
            self.now -= 1
        if fault is not None:
            return fault
        documents = request.get_json()["documents"]
        results = [
            {"index": place, "relevance_score": len(text) / 100}
            for place, text in enumerate(documents)
        ]
        results.sort(key=lambda result: -result["relevance_score"])
        answer = {"results": results, "total_bytes": 1, "total_tokens": 1}
        return Response(json.dumps(answer), content_type="application/json")

    def reranker(self, **options: Any) -> ZeroEntropyReranker:
        """Return a reranker that asks this service and does not wait."""

        async def sleep(seconds: float) -> None:
            self.pauses.append(seconds)

        return ZeroEntropyReranker(
            "zerank-2", key=KEY, url=self.url, sleep=sleep, **options
        )


@pytest.fixture(scope="module")
def server() -> Iterator[HTTPServer]:
    """Yield a local server that answers many at once."""
    with HTTPServer(host="127.0.0.1", threaded=True) as server:
        yield server


@pytest.fixture
def service(server: HTTPServer) -> Service:
    """Return a service that works."""
    server.clear()
    return Service(server)


async def test_a_request_has_the_documented_form(service: Service) -> None:
    """Model, query and documents as JSON, the key in a header."""
    await service.reranker().score("q", ["a", "bbb"])

    assert service.requests == [
        {"model": "zerank-2", "query": "q", "documents": ["a", "bbb"]}
    ]
    assert service.keys == [f"Bearer {KEY}"]


async def test_scores_come_in_the_order_of_the_documents(service: Service) -> None:
    """The service answers best first."""
    scores = await achecked_scores(service.reranker(), "q", ["a", "ccc", "bb"])

    assert scores == [0.01, 0.03, 0.02]


async def test_the_synchronous_way_works_beside_a_running_loop(
    service: Service,
) -> None:
    """As in a notebook."""
    reranker = service.reranker()

    first = await reranker.score("q", ["a"])

    assert checked_scores(reranker, "q", ["a"]) == first


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
async def test_a_busy_service_is_asked_again(service: Service, status: int) -> None:
    """Later each time, until it answers."""
    service.faults = [Response("busy", status=status)] * 3

    scores = await service.reranker().score("q", ["a"])

    assert scores == [0.01]
    assert len(service.requests) == 4
    assert all(0 <= pause <= 30 for pause in service.pauses)


@pytest.mark.parametrize(("told", "waited"), [("3", 3.0), ("9999", 30.0)])
async def test_the_service_says_when_it_can(
    service: Service, told: str, waited: float
) -> None:
    """What `Retry-After` says is waited for, within reason."""
    service.faults = [Response("busy", status=429, headers={"Retry-After": told})]

    await service.reranker().score("q", ["a"])

    assert service.pauses == [waited]


async def test_a_service_that_stays_busy_is_given_up(service: Service) -> None:
    """The message says how often it was tried and why that failed."""
    service.faults = [Response("busy", status=429)] * 3

    with pytest.raises(ModelError, match="after 3 tries: status 429"):
        await service.reranker(attempts=3).score("q", ["a"])


async def test_an_address_where_nobody_answers_is_given_up() -> None:
    """A refused connection is tried again too."""
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    reranker = ZeroEntropyReranker(
        "zerank-2", key=KEY, url="http://127.0.0.1:9/", attempts=2, sleep=sleep
    )

    with pytest.raises(ModelError, match=r"No answer from http://127\.0\.0\.1:9/"):
        await reranker.score("q", ["a"])
    assert len(pauses) == 1


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_key_is_not_tried_again(service: Service, status: int) -> None:
    """It is the user's to mend."""
    service.faults = [Response("no", status=status)]

    with pytest.raises(SettingsError, match="check ZEROENTROPY_API_KEY"):
        await service.reranker().score("q", ["a"])
    assert len(service.requests) == 1


async def test_a_refused_request_is_told(service: Service) -> None:
    """What the service says stands in the message, without the key."""
    service.faults = [Response(f"no such model, {KEY}", status=422)]

    with pytest.raises(ModelError, match="no such model, ") as raised:
        await service.reranker().score("q", ["a"])
    assert KEY not in str(raised.value)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("{}", "another form"),
        ('{"results": [{"index": 0}]}', "another form"),
        ("[]", "another form"),
        ('{"results": []}', "0 scores for 2"),
        ('{"results": [{"index": 5, "relevance_score": 1}]}', "1 scores for 2"),
        (
            '{"results": [{"index": 0, "relevance_score": 1},'
            ' {"index": 7, "relevance_score": 1}]}',
            "another form",
        ),
        (
            '{"results": [{"index": 0, "relevance_score": NaN},'
            ' {"index": 1, "relevance_score": 1}]}',
            "gave nan for document 0",
        ),
        ("<html>", "not JSON"),
    ],
)
async def test_a_broken_answer_is_found_out(
    service: Service, answer: str, said: str
) -> None:
    """No document gets the score of another, or none."""
    service.faults = [Response(answer, content_type="application/json")] * 2

    with pytest.raises(ModelError, match=said):
        await achecked_scores(service.reranker(attempts=2), "q", ["a", "b"])


async def test_at_most_64_requests_are_under_way(service: Service) -> None:
    """However many queries are scored at once."""
    service.hold = 0.05
    reranker = service.reranker()

    await asyncio.gather(*(reranker.score("q", ["a"]) for _ in range(100)))

    assert 1 < service.most <= 64
    assert reranker.concurrency == 64


async def test_many_documents_are_sent_in_several_requests(service: Service) -> None:
    """A request stays below the service's limit, and the scores keep their order."""
    documents = ["x" * (1_000_000 + n) for n in range(6)]

    scores = await service.reranker().score("q", documents)

    assert [len(r["documents"]) for r in service.requests] == [4, 2]
    assert scores == [len(text) / 100 for text in documents]


async def test_the_key_is_in_no_log_and_no_repr(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    """Not even where everything is logged."""
    caplog.set_level(logging.DEBUG)
    service.faults = [Response("busy", status=500)]
    reranker = service.reranker()

    await reranker.score("q", ["a"])

    assert "asking again" in caplog.text
    assert KEY not in caplog.text
    assert KEY not in repr(reranker)
    assert KEY not in repr(Settings(zeroentropy_key=KEY))


def test_without_a_key_nothing_is_sent() -> None:
    """The message says what to set."""
    with pytest.raises(SettingsError, match="set ZEROENTROPY_API_KEY"):
        load_reranker("zeroentropy:zerank-2", settings=Settings())


def test_the_key_comes_from_the_settings() -> None:
    """From the variable that the service's own client reads."""
    settings = Settings.from_env(env={"ZEROENTROPY_API_KEY": KEY})

    reranker = load_reranker("zeroentropy:zerank-2", settings=settings)

    assert reranker.fingerprint == "zeroentropy:zerank-2"


def test_a_file_is_annotated_by_the_service(service: Service, tmp_path: Path) -> None:
    """One request a query."""
    source = tmp_path / "queries.jsonl"
    source.write_text(
        '{"query": {"id": "q", "query": "?"}, "documents": '
        '[{"id": "a", "content": "long"}, {"id": "b", "content": "x"}]}\n'
    )

    service.reranker().annotate_sync(source, tmp_path / "out.jsonl")

    assert '"score": 0.04' in (tmp_path / "out.jsonl").read_text()
    assert len(service.requests) == 1

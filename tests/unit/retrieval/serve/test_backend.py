"""What answers all requests: procedures, and questions by templates."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.graph.db import connection
from knowtrail.graph.errors import (
    InputError,
    ModelError,
    UnavailableError,
    UnknownCorpusError,
)
from knowtrail.graph.settings import Settings
from knowtrail.retrieval import corpora
from knowtrail.retrieval.serve import backend
from knowtrail.retrieval.serve.backend import NOT_LOADED, GraphBackend, TemplateDoor
from knowtrail.retrieval.serve.gate import Gate
from knowtrail.retrieval.specificity import live_pipeline
from knowtrail.retrieval.specificity.class_scores import FilteredClasses
from knowtrail.retrieval.specificity.monitoring import metrics

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import httpx


class Connection:
    """A database with one corpus."""

    async def aread(self, name: str, **params: Any) -> list[dict[str, Any]]:
        """Return the corpus."""
        return [
            {
                "name": "birds",
                "embedder": "m",
                "query_prompt": "",
                "dimensions": 2,
                "version": 1,
                "stamp": "s",
                "complete": True,
                "terms": True,
            }
        ]


@pytest.mark.parametrize(
    "error", [ModelError("No model in /home/ann/models."), OSError("/home/ann/models")]
)
def test_model_that_does_not_load_is_told_without_its_place(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loading ends without an error of its own; who asks sees no path."""

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(backend, "aground", fail)
    served = GraphBackend(Connection(), Settings(home=tmp_path))  # type: ignore[arg-type]

    async def load() -> dict[str, str]:
        await served.load_models()
        return await served.readiness()

    assert asyncio.run(load()) == {
        "database": "ok",
        "corpus": "ok",
        "model": NOT_LOADED,
    }


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (TimeoutError(), "no answer yet: waited 2 s for its corpora"),
        (UnavailableError("bolt://10.0.0.1 does not answer."), "no answer"),
    ],
)
async def test_a_database_that_is_slow_is_told_apart(
    error: Exception, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From one that cannot be reached; neither is ready."""

    async def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(backend, "acorpora", fail)
    served = GraphBackend(Connection(), Settings(home=tmp_path))  # type: ignore[arg-type]

    ready = await served.readiness()

    assert (ready["database"], ready["corpus"]) == (said, "unknown")


@pytest.mark.parametrize(
    ("given", "most"), [({}, 8), ({"timeLimit": 1.5}, 1.5), ({"timeLimit": 900}, 8)]
)
async def test_a_comparison_ends_in_what_is_left_of_the_time_of_its_call(
    given: dict[str, Any],
    most: float,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Waiting for a place counts; a longer time of the caller's own is cut."""
    told: list[Any] = []

    async def acall(_name: str, _connection: Any, _values: Any, options: Any, **_: Any):
        told.append(options["timeLimit"])
        return []

    monkeypatch.setattr(backend, "acall", acall)
    served = GraphBackend(Connection(), Settings(home=tmp_path))  # type: ignore[arg-type]
    gate = Gate(places=1, seconds=10)

    async def compare() -> None:
        async with gate.place():
            await served.call("compare", {}, given)
            await asyncio.sleep(1)

    await asyncio.gather(compare(), compare())

    first, second = told
    assert most - 0.1 <= first <= most
    assert second == first if most < 5 else second <= first - 0.7


async def test_a_wrong_time_limit_is_left_to_who_refuses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not replaced by a right one."""
    served = GraphBackend(Connection(), Settings(home=tmp_path))  # type: ignore[arg-type]

    async with Gate(places=1, seconds=10).place():
        with pytest.raises(InputError, match="timeLimit"):
            await served.call("compare", {"question": "Ice?"}, {"timeLimit": "long"})


def test_models_are_loaded_when_the_database_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was away, and then a corpus was gone between two questions."""
    errors = [UnavailableError("Away."), UnknownCorpusError("Gone.")]

    async def once(*_: object, **__: object) -> None:
        if errors:
            raise errors.pop()

    monkeypatch.setattr(backend, "aground", once)
    monkeypatch.setattr(backend, "CORPUS_SECONDS", 0)
    served = GraphBackend(Connection(), Settings(home=tmp_path))  # type: ignore[arg-type]

    async def load() -> str:
        await served.load_models()
        return (await served.readiness())["model"]

    assert (asyncio.run(load()), errors) == ("ok", [])


class _Slow:
    """An embedder whose model takes as long to load as it is told."""

    name = "m"

    def __init__(self) -> None:
        self.loaded = threading.Event()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return vectors once the model is there."""
        assert self.loaded.wait(10)
        return [[1.0, 0.0] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return a vector once the model is there."""
        return self.embed_documents([text])[0]


@pytest.mark.timeout(30)
def test_it_is_ready_only_when_the_model_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An embedder that is known and has embedded nothing yet is still loading."""
    slow = _Slow()
    monkeypatch.setattr(corpora, "loaded_embedder", lambda *_: slow)
    served = GraphBackend(Connection(), Settings(home=tmp_path))  # type: ignore[arg-type]

    async def load() -> list[str]:
        loading = asyncio.create_task(served.load_models())
        await asyncio.wait([loading], timeout=0.5)
        before = await served.readiness()
        slow.loaded.set()
        await loading
        return [before["model"], (await served.readiness())["model"]]

    assert asyncio.run(load()) == ["loading", "ok"]


async def test_metrics_are_shown_to_prometheus(
    client: Callable[..., httpx.AsyncClient],
) -> None:
    """The four metrics are there in the text format."""
    metrics().classified("none")
    kept = FilteredClasses(kept={"Archive": 0.9}, dropped={"Museum": 0}, threshold=0.5)
    metrics().filtered("archive_search", kept)
    async with client() as asking:
        answer = await asking.get("/metrics")

    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert "specificity_template_classifications_total{" in answer.text
    assert "specificity_classes_before_filter_bucket{" in answer.text
    assert "specificity_classes_after_filter_bucket{" in answer.text
    assert "specificity_threshold{" in answer.text


async def test_metrics_need_the_key_where_there_is_one(
    client: Callable[..., httpx.AsyncClient],
) -> None:
    """What was asked is nobody else's to count."""
    from knowtrail.retrieval.serve.guard import Rules

    async with client(rules=Rules(keys={"": "k" * 32})) as asking:
        answer = await asking.get("/metrics")

    assert answer.status_code == 401


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "no question"),
        ({"question": 3}, "give a text"),
        ({"question": "Archives?", "where": "x"}, "Unknown parameter 'where'"),
        ({"question": "Archives?", "k": "many"}, "k is 'many'"),
        ({"question": "Archives?", "k": "9" * 5_000}, "give a number from 1 to 1000"),
        ({"question": "Archives?", "corpus": ["uk"]}, 'corpus is ["uk"]'),
        ({"question": "Archives?", "language": 1}, "language is 1"),
    ],
)
async def test_bad_requests_are_refused(
    client: Callable[..., httpx.AsyncClient], body: dict[str, object], said: str
) -> None:
    """The message names the parameter; no database is asked for."""
    door = TemplateDoor(Settings(uri="neo4j://127.0.0.1:9"))
    async with client(templates=door) as asking:
        answer = await asking.post("/templates", json=body)

    assert answer.status_code == 400
    assert said in answer.json()["detail"]


async def test_without_a_door_there_are_no_templates(
    client: Callable[..., httpx.AsyncClient],
) -> None:
    """The route is there only where something answers."""
    async with client() as asking:
        answer = await asking.get("/templates?question=Archives")

    assert answer.status_code == 404


async def test_openapi_has_the_parameters_that_are_known(
    client: Callable[..., httpx.AsyncClient],
) -> None:
    """What is described is what is taken, by GET and by POST."""
    door = TemplateDoor(Settings(uri="neo4j://127.0.0.1:9"))
    async with client(templates=door) as asking:
        path = (await asking.get("/openapi.json")).json()["paths"]["/templates"]
        refused = await asking.get("/templates?question=a&other=1")

    body = path["post"]["requestBody"]["content"]["application/json"]["schema"]
    names = [one["name"] for one in path["get"]["parameters"]]
    assert sorted(names) == sorted(body["properties"])
    assert str(sorted(names)) in refused.json()["detail"]
    assert {"4XX", "5XX"} <= set(path["get"]["responses"])


def test_nobody_waits_for_names_that_are_read_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who asks meanwhile is answered by the names that were read before."""
    reading, read, opened = threading.Event(), threading.Event(), iter("abc")

    def opening(*_: object, **__: object) -> SimpleNamespace:
        name = next(opened)
        if name == "b":
            reading.set()
            assert read.wait(10)
        result = SimpleNamespace(as_dict=lambda: {"by": name})

        async def answer(*_: object, **__: object) -> SimpleNamespace:
            return result

        return SimpleNamespace(aforward=answer)

    monkeypatch.setattr(live_pipeline, "open_pipeline", opening)
    monkeypatch.setattr(connection.Connection, "open", lambda _: None)
    monkeypatch.setattr(backend, "FRESH_SECONDS", 0.0)
    door = TemplateDoor(Settings(uri="neo4j://127.0.0.1:9"))

    def ask() -> dict[str, Any]:
        return asyncio.run(door.answered({"question": "Archives?"}, "me"))

    first = ask()
    with ThreadPoolExecutor(1) as other:
        renewing = other.submit(ask)
        assert reading.wait(10)
        meanwhile = ask()
        read.set()

    assert (first, meanwhile) == ({"by": "a"}, {"by": "a"})
    assert renewing.result() == {"by": "b"}
    assert ask() == {"by": "c"}

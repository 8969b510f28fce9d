"""Templates and their metrics over HTTP: what is checked before anything is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from graph.settings import Settings
from retrieval.serve.templates import TemplateDoor
from retrieval.specificity.monitoring import metrics

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx

pytestmark = pytest.mark.asyncio


async def test_metrics_are_shown_to_prometheus(
    client: Callable[..., httpx.AsyncClient],
) -> None:
    """The four metrics are there in the text format."""
    metrics().classified("none")
    metrics().filtered("archive_search", before=3, after=1, threshold=0.5)
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
    from retrieval.serve.guard import Rules

    async with client(rules=Rules(key="k" * 32)) as asking:
        answer = await asking.get("/metrics")

    assert answer.status_code == 401


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "no question"),
        ({"question": 3}, "give a text"),
        ({"question": "Archives?", "where": "x"}, "Unknown parameter 'where'"),
        ({"question": "Archives?", "k": "many"}, "k is 'many'"),
        ({"question": "Archives?", "corpus": ["uk"]}, "corpus is \"['uk']\""),
        ({"question": "Archives?", "language": 1}, "language is '1'"),
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

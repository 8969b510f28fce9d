"""The picture of a walk: whole, self-contained, and not to be broken out of."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.retrieval.algorithms import QueryTraversal
from knowtrail.retrieval.driving import run
from knowtrail.retrieval.picture import walk_html
from knowtrail.retrieval.protocols import WalkOptions
from knowtrail.retrieval.walk import Walk
from tests.conformance import random_graph, random_query
from tests.memory_reader import MemoryReader

if TYPE_CHECKING:
    from knowtrail.retrieval.walk import ChunkText

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<!-- <script>",
    "\"quoted\" 'single' `tick` ${x} \\u003c \\",
    "\U0001f9ed \u202eright to left \u05e9\u05dc\u05d5\u05dd \u2028 line",
    "",
)


@pytest.fixture
def walk() -> Walk:
    """Return a walk over a made-up graph."""
    trail = run(
        MemoryReader(random_graph(4)),
        QueryTraversal().walk(random_query(4), WalkOptions(max_sentences=20)),
    )
    return Walk(
        algorithm="query_traversal",
        question="What is said?",
        corpus="small",
        steps=trail.steps,
        stop_reason=trail.stop_reason,
        milliseconds=1.5,
    )


def neighbours() -> dict[str, ChunkText]:
    """Return every chunk of that graph."""
    return {chunk.id: chunk for chunk in random_graph(4).chunks}


def data_of(page: str) -> dict[str, Any]:
    """Read the page's data as a browser does: up to the end of the script element."""
    (text,) = re.findall(
        r'<script type="application/json" id="walk">(.*?)</script', page, re.DOTALL
    )
    data: dict[str, Any] = json.loads(text)
    return data


def test_the_page_has_the_whole_walk(walk: Walk) -> None:
    """Every step, sentence and considered chunk is in the page's data."""
    data = data_of(walk_html(walk, neighbours()))

    assert [step["id"] for step in data["steps"]] == [s.chunk.id for s in walk.steps]
    assert [len(step["sentences"]) for step in data["steps"]] == [
        len(step.sentences) for step in walk.steps
    ]
    assert [[c["id"] for c in step["considered"]] for step in data["steps"]] == [
        [c.id for c in step.considered] for step in walk.steps
    ]
    assert [step["hop"] for step in data["steps"]] == [s.hop > 0 for s in walk.steps]
    assert data["legend"].startswith("arrows: hops")


def test_candidates_without_a_cosine_are_not_drawn(walk: Walk) -> None:
    """The axis has cosines; `auto` ranks by other numbers, such as -7.5."""
    ranked = replace(walk, algorithm="auto")

    data = data_of(walk_html(ranked, neighbours()))

    assert any(step.considered for step in ranked.steps)
    assert [step["considered"] for step in data["steps"]] == [[] for _ in walk.steps]


def test_a_document_has_one_colour(walk: Walk) -> None:
    """Steps of a document share its colour, and no two documents here share one."""
    data = data_of(walk_html(walk, neighbours()))

    pairs = {(step["document"], step["color"]) for step in data["steps"]}
    assert len(pairs) == len({d for d, _ in pairs}) == len({c for _, c in pairs})
    assert [d["title"] for d in data["documents"]] == list(walk.documents)


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_can_become_markup(walk: Walk, text: str) -> None:
    """Whatever titles and texts hold, it stays data and comes back as it was."""
    step = walk.steps[0]
    hostile = replace(
        walk,
        question=text,
        steps=(replace(step, chunk=replace(step.chunk, title=text, text=text)),),
    )

    page = walk_html(hostile)

    data = data_of(page)
    assert (data["question"], data["steps"][0]["title"]) == (text, text)
    assert page.count("<script") == walk_html(walk).count("<script") == 2


def test_the_page_needs_no_network(walk: Walk) -> None:
    """Nothing is loaded, and a policy in the page forbids to load."""
    page = walk_html(walk, neighbours())

    frame = page.replace(json.dumps(data_of(page)), "")
    assert "default-src 'none'" in page
    assert not re.search(r"\b(src|href)\s*=|@import|url\((?!#)", frame)
    assert set(re.findall(r"https?://[^\s\"']+", frame)) == {
        "http://www.w3.org/2000/svg"
    }


def test_a_walk_without_steps_has_a_page(walk: Walk) -> None:
    """An empty walk says why it ended."""
    data = data_of(walk_html(replace(walk, steps=(), stop_reason="no_anchor")))

    assert data["steps"] == []
    assert "the corpus has no chunk yet" in data["about"]

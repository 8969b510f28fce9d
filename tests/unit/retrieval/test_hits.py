"""Cutting a walk into hits, and filling them up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.retrieval.algorithms import ALGORITHMS, BasicRetrieval, QueryTraversal
from knowtrail.retrieval.driving import run
from knowtrail.retrieval.hits import searching
from knowtrail.retrieval.protocols import ExpandRequest, WalkOptions
from tests.conformance import random_graph, random_query
from tests.memory_reader import MemoryReader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowtrail.retrieval.hits import Granularity
    from knowtrail.retrieval.protocols import Vector
    from tests.memory_reader import MemoryGraph


def small(draw: Any, chunk: Any) -> MemoryGraph:
    """Return a walk a -> b -> c (c brings nothing new) beside d and e."""
    return draw({
        "a": chunk(angle=0, sentences={"s1": 80, "s2": 70}, to=("b",)),
        "b": chunk(angle=10, sentences={"s2": 70, "s3": 80}, to=("c",)),
        "c": chunk(angle=20, sentences={"s3": 80}),
        "d": chunk(angle=30, sentences={"s1": 80, "s4": 80}),
        "e": chunk(angle=40, sentences={"s5": 80}),
    })


def test_a_hit_has_the_new_sentences_of_its_chunk(
    draw: Any, chunk: Any, question: Vector
) -> None:
    """A visited chunk with no new sentence makes no hit, and stays in the path."""
    walking = searching(QueryTraversal(), question, WalkOptions())

    trail, hits = run(MemoryReader(small(draw, chunk)), walking)

    assert [[s.id for s in hit.sentences] for hit in hits] == [["s1", "s2"], ["s3"]]
    assert [step.chunk.id for step in trail.steps] == ["a", "b", "c"]
    assert [hit.path for hit in hits] == [("a",), ("a", "b")]
    assert hits[1].text == "Text of s."


def test_a_walk_that_ends_early_is_filled_up_from_the_ranking(
    draw: Any, chunk: Any, question: Vector
) -> None:
    """The filled hits follow by similarity, without hop, with new sentences only."""
    walking = searching(QueryTraversal(), question, WalkOptions(), k=4)

    _, hits = run(MemoryReader(small(draw, chunk)), walking)

    assert [hit.chunk.id for hit in hits] == ["a", "b", "d", "e"]
    assert [hit.hop for hit in hits] == [0, 1, None, None]
    assert [s.id for s in hits[2].sentences] == ["s4"]
    assert hits[2].path == ("d",)


def test_k_takes_the_place_of_the_sentence_budget(
    draw: Any, chunk: Any, question: Vector
) -> None:
    """One hit is asked for, one is returned whole, although one sentence was wanted."""
    walking = searching(QueryTraversal(), question, WalkOptions(max_sentences=1), k=1)

    trail, hits = run(MemoryReader(small(draw, chunk)), walking)

    assert [len(hit.sentences) for hit in hits] == [2]
    assert trail.stop_reason == "chunk_limit"


def test_a_hit_can_be_a_sentence(draw: Any, chunk: Any, question: Vector) -> None:
    """Each sentence is a hit with its own score; k counts sentences."""
    walking = searching(
        QueryTraversal(), question, WalkOptions(), k=4, granularity="sentence"
    )

    _, hits = run(MemoryReader(small(draw, chunk)), walking)

    assert [hit.sentences[0].id for hit in hits] == ["s1", "s2", "s3", "s4"]
    assert [hit.score for hit in hits] == [hit.sentences[0].score for hit in hits]
    assert [hit.filled for hit in hits] == [False, False, False, True]


def test_without_edges_a_path_is_the_chunk_alone(
    draw: Any, chunk: Any, question: Vector
) -> None:
    """basic_retrieval walks no edge, so its hits share no path."""
    walking = searching(BasicRetrieval(), question, WalkOptions())

    _, hits = run(MemoryReader(small(draw, chunk)), walking)

    assert [hit.path for hit in hits] == [("a",), ("b",), ("d",), ("e",)]
    assert {hit.hop for hit in hits} == {0}


@pytest.mark.parametrize("granularity", ["chunk", "sentence"])
@pytest.mark.parametrize("name", ["basic_retrieval", "kg_traversal", "query_traversal"])
def test_what_a_walk_has_opened_is_not_asked_for_again(
    monkeypatch: pytest.MonkeyPatch, name: str, granularity: Granularity
) -> None:
    """Filling up takes the chunks that were opened before, and opens each once."""
    reader = MemoryReader(random_graph(3, sentences=[60] * 3))
    asked: list[str] = []
    plain = reader.expand

    def noted(ids: Sequence[str], *, neighbours: bool = True) -> Any:
        asked.extend(ids)
        return plain(ids, neighbours=neighbours)

    monkeypatch.setattr(reader, "expand", noted)
    walk, options = ALGORITHMS[name], WalkOptions()
    query = random_query(3)

    run(reader, searching(walk, query, options, k=500, granularity=granularity))

    assert len(asked) == len(set(asked)) > 10


def test_many_results_take_few_round_trips() -> None:
    """More chunks are fetched at once the more are wanted."""
    graph = random_graph(3, sentences=[60] * 3)
    reader = MemoryReader(graph)
    walking = searching(BasicRetrieval(), random_query(3), WalkOptions(), k=50)
    asked: list[int] = []

    def counted() -> Any:
        answer = None
        while True:
            try:
                request = walking.send(answer)  # type: ignore[arg-type]
            except StopIteration as done:
                return done.value
            if isinstance(request, ExpandRequest):
                asked.append(len(request.chunk_ids))
            answer = yield request

    _, hits = run(reader, counted())

    assert len(hits) == 50
    assert max(asked) <= 32
    assert len(asked) <= 6

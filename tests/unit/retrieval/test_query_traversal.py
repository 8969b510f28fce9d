"""`query_traversal` on graphs worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.retrieval.algorithms import QueryTraversal
from knowtrail.retrieval.driving import run
from knowtrail.retrieval.protocols import WalkOptions
from tests.memory_reader import MemoryReader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knowtrail.retrieval.protocols import Vector, Visit
    from knowtrail.retrieval.walk import Trail
    from tests.memory_reader import MemoryGraph


def walk(graph: MemoryGraph, question: Vector, **options: Any) -> Trail:
    """Walk over a graph in memory."""
    walking = QueryTraversal().walk(question, WalkOptions(**options))
    return run(MemoryReader(graph), walking)


def visited(trail: Trail) -> list[str]:
    """Return the ids of the steps' chunks."""
    return [step.chunk.id for step in trail.steps]


def test_it_goes_to_the_nearest_unvisited_neighbour(
    draw: Any, chunk: Any, question: Vector
) -> None:
    """From a, b is nearer to the question than c; from b there is only the way back."""
    graph = draw({
        "a": chunk(angle=0, sentences={"a1": 80}, to=("c", "b")),
        "b": chunk(angle=20, sentences={"b1": 80}, to=("a",)),
        "c": chunk(angle=30, sentences={"c1": 80}),
    })

    trail = walk(graph, question)

    assert visited(trail) == ["a", "b"]
    assert [step.hop for step in trail.steps] == [0, 1]
    assert trail.stop_reason == "no_unvisited_chunk"


def test_edges_are_followed_in_their_direction(
    draw: Any, chunk: Any, question: Vector
) -> None:
    """An edge that only comes in leads nowhere."""
    graph = draw({
        "a": chunk(angle=0, sentences={"a1": 80}),
        "b": chunk(angle=20, sentences={"b1": 80}, to=("a",)),
    })

    trail = walk(graph, question)

    assert visited(trail) == ["a"]
    assert trail.stop_reason == "no_connections"


def test_it_stops_early_after_eight_sentences(
    draw: Any, chunk: Any, question: Vector
) -> None:
    """With eight sentences, one at 5 degrees beats the next chunk at 40."""
    four = {f"a{i}": 5 for i in range(4)}
    graph = draw({
        "a": chunk(angle=0, sentences=four, to=("b",)),
        "b": chunk(angle=30, sentences={f"b{i}": 70 for i in range(4)}, to=("c",)),
        "c": chunk(angle=40, sentences={"c1": 0}),
    })

    trail = walk(graph, question)

    assert visited(trail) == ["a", "b"]
    assert trail.stop_reason == "early_stop"


def test_it_does_not_stop_early_with_seven_sentences(
    draw: Any, chunk: Any, question: Vector
) -> None:
    """Seven sentences, however good, do not end the walk."""
    graph = draw({
        "a": chunk(angle=0, sentences={f"a{i}": 1 for i in range(7)}, to=("b",)),
        "b": chunk(angle=70, sentences={"b1": 80}),
    })

    assert visited(walk(graph, question)) == ["a", "b"]


def test_the_stop_looks_at_unvisited_chunks_only(
    draw: Any, chunk: Any, question: Vector
) -> None:
    """The anchor, nearer than any sentence, does not keep the walk going."""
    graph = draw({
        "a": chunk(angle=0, sentences={f"a{i}": 10 for i in range(4)}, to=("b",)),
        "b": chunk(angle=30, sentences={f"b{i}": 70 for i in range(4)}, to=("a", "c")),
        "c": chunk(angle=40, sentences={"c1": 0}),
    })

    assert walk(graph, question).stop_reason == "early_stop"


def test_the_last_chunk_of_a_walk_has_been_read(
    draw: Any, chunk: Any, question: Vector
) -> None:
    """There is no chunk that was chosen and not read."""
    graph = draw({
        "a": chunk(angle=0, sentences={"a1": 80, "a2": 80}, to=("b",)),
        "b": chunk(angle=10, sentences={"b1": 80, "b2": 80}, to=("c",)),
        "c": chunk(angle=20, sentences={"c1": 80}),
    })

    trail = walk(graph, question, max_sentences=3)

    assert visited(trail) == ["a", "b"]
    assert [s.id for s in trail.steps[-1].sentences] == ["b1"]
    assert trail.stop_reason == "sentence_limit"


@pytest.mark.parametrize(("most", "reached"), [(0, 1), (1, 2), (3, 4)])
def test_the_hop_limit_counts_edges(
    draw: Any, chunk: Any, question: Vector, most: int, reached: int
) -> None:
    """A walk of n hops has visited n + 1 chunks."""
    drawn = {
        f"c{i}": chunk(angle=i, sentences={f"s{i}": 80}, to=(f"c{i + 1}",))
        for i in range(5)
    }
    drawn["c5"] = chunk(angle=9, sentences={"s5": 80})

    trail = walk(draw(drawn), question, max_hops=most)

    assert len(trail.steps) == reached
    assert trail.stop_reason == "max_hops"


def test_a_visited_chunk_without_new_sentences_stays_a_step(
    draw: Any, chunk: Any, question: Vector
) -> None:
    """It was walked through, so it is part of the path."""
    graph = draw({
        "a": chunk(angle=0, sentences={"s1": 80, "s2": 80}, to=("b",)),
        "b": chunk(angle=10, sentences={"s2": 80}, to=("c",)),
        "c": chunk(angle=20, sentences={"s3": 80}),
    })

    trail = walk(graph, question)

    assert visited(trail) == ["a", "b", "c"]
    assert trail.steps[1].sentences == ()


def test_a_chunk_deleted_during_the_walk_is_passed_over(
    draw: Any, chunk: Any, question: Vector
) -> None:
    """Where the best neighbour is gone, the walk takes the next best."""
    graph = draw({
        "a": chunk(angle=0, sentences={"a1": 80}, to=("gone", "c")),
        "gone": chunk(angle=5, sentences={"g1": 80}),
        "c": chunk(angle=30, sentences={"c1": 80}),
    })

    class Forgetful(MemoryReader):
        def expand(
            self, chunk_ids: Sequence[str], *, neighbours: bool = True
        ) -> Mapping[str, Visit]:
            known = [i for i in chunk_ids if i != "gone"]
            return super().expand(known, neighbours=neighbours)

    trail = run(Forgetful(graph), QueryTraversal().walk(question, WalkOptions()))

    assert visited(trail) == ["a", "c"]

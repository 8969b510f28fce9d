"""`kg_traversal` on graphs worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from knowtrail.retrieval.algorithms import KgTraversal, algorithm
from knowtrail.retrieval.driving import run
from knowtrail.retrieval.protocols import WalkOptions
from tests.memory_reader import MemoryReader

if TYPE_CHECKING:
    from knowtrail.retrieval.protocols import Vector
    from knowtrail.retrieval.walk import Trail
    from tests.memory_reader import MemoryGraph


def walk(graph: MemoryGraph, question: Vector, **options: Any) -> Trail:
    """Walk over a graph in memory."""
    walking = KgTraversal().walk(question, WalkOptions(**options))
    return run(MemoryReader(graph), walking)


def visited(trail: Trail) -> list[str]:
    """Return the ids of the steps' chunks."""
    return [step.chunk.id for step in trail.steps]


def test_it_follows_the_current_chunk_not_the_question(
    draw: Any, chunk: Any, question: Vector
) -> None:
    """From a at 20 degrees, c at 38 is nearer than b at 0, where the question is."""
    graph = draw({
        "a": chunk(angle=1, sentences={"a1": 80}, to=("b", "c")),
        "b": chunk(angle=-20, sentences={"b1": 80}),
        "c": chunk(angle=21, sentences={"c1": 80}),
    })

    assert visited(walk(graph, question)) == ["a", "c"]


def test_chunks_that_share_a_sentence_are_left_out(
    draw: Any, chunk: Any, question: Vector
) -> None:
    """The overlapping window is the most similar one, and is passed over."""
    graph = draw({
        "a": chunk(angle=0, sentences={"s1": 80, "s2": 80}, to=("b", "c")),
        "b": chunk(angle=5, sentences={"s2": 80, "s3": 80}),
        "c": chunk(angle=40, sentences={"s4": 80}),
    })

    trail = walk(graph, question)

    assert visited(trail) == ["a", "c"]
    assert [c.id for c in trail.steps[0].considered] == ["c"]
    assert trail.stop_reason == "no_connections"


def test_it_stops_where_every_neighbour_overlaps(
    draw: Any, chunk: Any, question: Vector
) -> None:
    """There are neighbours, and none that may be read."""
    graph = draw({
        "a": chunk(angle=0, sentences={"s1": 80}, to=("b",)),
        "b": chunk(angle=5, sentences={"s1": 80}),
    })

    trail = walk(graph, question)

    assert visited(trail) == ["a"]
    assert trail.stop_reason == "all_candidates_overlap"


def test_it_stops_where_similarity_no_longer_rises(
    draw: Any, chunk: Any, question: Vector
) -> None:
    """30 degrees to b, 20 on to c, and 20 on to d, which is no more similar."""
    graph = draw({
        "a": chunk(angle=0, sentences={"a1": 80}, to=("b",)),
        "b": chunk(angle=30, sentences={"b1": 80}, to=("c",)),
        "c": chunk(angle=50, sentences={"c1": 80}, to=("d",)),
        "d": chunk(angle=75, sentences={"d1": 80}),
    })

    trail = walk(graph, question)

    assert visited(trail) == ["a", "b", "c"]
    assert trail.stop_reason == "no_more_similar"


def test_equal_texts_in_two_places_are_two_sentences(
    draw: Any, chunk: Any, question: Vector
) -> None:
    """By identity the other document can be read; by text, as published, it cannot."""
    graph = draw({
        "a": chunk(angle=0, sentences={"s1": 80}, to=("b",)),
        "b": chunk(angle=5, sentences={"s2": 80}, document="e"),
    })
    published = algorithm("kg_traversal", published=True)

    theirs = run(MemoryReader(graph), published.walk(question, WalkOptions()))

    assert visited(walk(graph, question)) == ["a", "b"]
    assert visited(theirs) == ["a"]
    assert theirs.stop_reason == "all_candidates_overlap"


def test_a_published_walk_ends_where_there_are_no_edges(
    draw: Any, chunk: Any, question: Vector
) -> None:
    """No texts of neighbours are asked for where there are none."""
    graph = draw({"a": chunk(angle=0, sentences={"a1": 80})})
    published = algorithm("kg_traversal", published=True)

    trail = run(MemoryReader(graph), published.walk(question, WalkOptions()))

    assert trail.stop_reason == "no_connections"

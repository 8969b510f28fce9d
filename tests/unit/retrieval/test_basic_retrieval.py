"""`basic_retrieval` on graphs worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from knowtrail.retrieval.algorithms import BasicRetrieval
from knowtrail.retrieval.driving import run
from knowtrail.retrieval.protocols import WalkOptions
from tests.memory_reader import MemoryReader

if TYPE_CHECKING:
    from knowtrail.retrieval.protocols import Vector
    from knowtrail.retrieval.walk import Trail
    from tests.memory_reader import MemoryGraph


def walk(graph: MemoryGraph, question: Vector, **options: Any) -> Trail:
    """Walk over a graph in memory."""
    walking = BasicRetrieval().walk(question, WalkOptions(**options))
    return run(MemoryReader(graph), walking)


def visited(trail: Trail) -> list[str]:
    """Return the ids of the steps' chunks."""
    return [step.chunk.id for step in trail.steps]


def found(trail: Trail) -> list[str]:
    """Return the ids of the sentences, in order."""
    return [s.id for step in trail.steps for s in step.sentences]


def test_chunks_come_by_similarity_until_all_are_read(
    draw: Any, chunk: Any, question: Vector
) -> None:
    """The nearest chunk comes first, whatever its place in the document."""
    graph = draw({
        "far": chunk(angle=60, sentences={"f1": 80}),
        "near": chunk(angle=10, sentences={"n1": 80, "n2": 80}),
    })

    trail = walk(graph, question)

    assert visited(trail) == ["near", "far"]
    assert found(trail) == ["n1", "n2", "f1"]
    assert trail.stop_reason == "chunks_exhausted"


def test_it_stops_when_a_sentence_beats_the_next_chunk(
    draw: Any, chunk: Any, question: Vector
) -> None:
    """After five sentences, a sentence at 5 degrees beats a chunk at 20."""
    graph = draw({
        "a": chunk(angle=10, sentences={"a1": 5, "a2": 50, "a3": 50}),
        "b": chunk(angle=12, sentences={"b1": 50, "b2": 50}),
        "c": chunk(angle=20, sentences={"c1": 0}),
    })

    trail = walk(graph, question)

    assert visited(trail) == ["a", "b"]
    assert trail.stop_reason == "early_stop"


def test_it_does_not_stop_before_five_sentences(
    draw: Any, chunk: Any, question: Vector
) -> None:
    """With four sentences even a perfect one does not end the walk."""
    graph = draw({
        "a": chunk(angle=10, sentences={"a1": 0, "a2": 50, "a3": 50, "a4": 50}),
        "b": chunk(angle=60, sentences={"b1": 50}),
    })

    assert visited(walk(graph, question)) == ["a", "b"]


def test_an_equal_sentence_does_not_stop_it(
    draw: Any, chunk: Any, question: Vector
) -> None:
    """The stop is strict: a sentence as near as the next chunk lets it go on."""
    five = {"a1": 20, "a2": 50, "a3": 50, "a4": 50, "a5": 50}
    graph = draw({
        "a": chunk(angle=10, sentences=five),
        "b": chunk(angle=20, sentences={"b1": 50}),
    })

    assert visited(walk(graph, question)) == ["a", "b"]


def test_a_chunk_without_new_sentences_makes_no_step(
    draw: Any, chunk: Any, question: Vector
) -> None:
    """Windows that overlap wholly with what was read are passed over."""
    graph = draw({
        "a": chunk(angle=10, sentences={"s1": 80, "s2": 80, "s3": 80}),
        "b": chunk(angle=20, sentences={"s2": 80, "s3": 80}),
        "c": chunk(angle=30, sentences={"s3": 80, "s4": 80}),
    })

    trail = walk(graph, question)

    assert visited(trail) == ["a", "c"]
    assert [s.id for s in trail.steps[1].sentences] == ["s4"]


def test_the_output_is_cut_at_the_budget(
    draw: Any, chunk: Any, question: Vector
) -> None:
    """The last chunk gives only as many sentences as are still wanted."""
    graph = draw({
        "a": chunk(angle=10, sentences={"a1": 80, "a2": 80, "a3": 80}),
        "b": chunk(angle=20, sentences={"b1": 80, "b2": 80, "b3": 80}),
    })

    trail = walk(graph, question, max_sentences=4)

    assert found(trail) == ["a1", "a2", "a3", "b1"]
    assert trail.stop_reason == "sentence_limit"


def test_equal_texts_in_two_places_are_two_sentences(
    draw: Any, chunk: Any, question: Vector
) -> None:
    """Sentences are told apart by id; `x1` and `x2` have one text."""
    graph = draw({
        "a": chunk(angle=10, sentences={"x1": 80}),
        "b": chunk(angle=20, sentences={"x2": 80}, document="e"),
    })

    trail = walk(graph, question)

    assert found(trail) == ["x1", "x2"]
    assert len({s.text for step in trail.steps for s in step.sentences}) == 1


def test_ties_go_by_chunk_id(draw: Any, chunk: Any, question: Vector) -> None:
    """Of chunks at one angle the smaller id comes first."""
    graph = draw({
        "z": chunk(angle=10, sentences={"z1": 80}),
        "b": chunk(angle=10, sentences={"b1": 80}),
    })

    assert visited(walk(graph, question)) == ["b", "z"]


def test_an_empty_graph_has_no_anchor(draw: Any, chunk: Any, question: Vector) -> None:
    """Where nothing passes there are no steps, and the reason says so."""
    graph = draw({"a": chunk(angle=10, sentences={"a1": 1})})
    nothing = MemoryReader(graph)
    nothing._passing = []

    trail = run(nothing, BasicRetrieval().walk(question, WalkOptions()))

    assert (trail.steps, trail.stop_reason) == ((), "no_anchor")


def test_more_hits_are_asked_for_where_the_first_do_not_do(
    draw: Any, chunk: Any, question: Vector
) -> None:
    """Sixty windows with one sentence between them are read past the first fifty."""
    drawn = {
        f"c{i:02}": chunk(angle=10 + i / 10, sentences={"same": 80}) for i in range(60)
    }
    drawn["z"] = chunk(angle=45, sentences={"other": 80})

    trail = walk(draw(drawn), question)

    assert visited(trail) == ["c00", "z"]

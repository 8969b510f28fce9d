"""The three triangulations on graphs worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from knowtrail.retrieval.algorithms import algorithm
from knowtrail.retrieval.driving import run
from knowtrail.retrieval.protocols import WalkOptions
from tests.conformance import random_graph, random_query
from tests.memory_reader import MemoryReader

if TYPE_CHECKING:
    from knowtrail.retrieval.protocols import Vector
    from knowtrail.retrieval.walk import Trail
    from tests.memory_reader import MemoryGraph

NAMES = ("triangulation_average", "triangulation_geometric_3d", "triangulation_fulldim")


def walk(
    name: str, graph: MemoryGraph, question: Vector, *, published: bool = False
) -> Trail:
    """Walk over a graph in memory."""
    walking = algorithm(name, published=published).walk(question, WalkOptions())
    return run(MemoryReader(graph), walking)


def visited(trail: Trail) -> list[str]:
    """Return the ids of the steps' chunks."""
    return [step.chunk.id for step in trail.steps]


@pytest.fixture
def fork(draw: Any, chunk: Any) -> MemoryGraph:
    """Return an anchor at 30 degrees with a neighbour on either side."""
    graph: MemoryGraph = draw({
        "a": chunk(angle=30, sentences={"a1": 80}, to=("far", "near", "beyond")),
        "near": chunk(angle=31, sentences={"n1": 80}),
        "far": chunk(angle=60, sentences={"f1": 80}),
        "beyond": chunk(angle=-50, sentences={"b1": 80}),
    })
    return graph


def test_the_average_is_that_of_three_cosines(
    fork: MemoryGraph, question: Vector
) -> None:
    """31 degrees wins: cos 30, cos 31 and cos 1, whose mean is the walk's score."""
    trail = walk("triangulation_average", fork, question)

    expected = np.cos(np.radians([30, 31, 1])).mean()
    assert visited(trail) == ["a", "near"]
    assert trail.score == pytest.approx(expected)


def test_the_centroid_decides_in_the_full_space(
    fork: MemoryGraph, question: Vector
) -> None:
    """-50 degrees balances 30: that centroid is nearest to the question."""
    trail = walk("triangulation_fulldim", fork, question)

    angles = np.radians([0, 30, -50])
    centroid = np.array([np.cos(angles).mean(), np.sin(angles).mean()])
    assert visited(trail) == ["a", "beyond"]
    assert trail.score == pytest.approx(float(np.linalg.norm(centroid - [1, 0])))


def test_two_dimensions_are_the_same_reduced_to_three(
    fork: MemoryGraph, question: Vector
) -> None:
    """Axes only turn the plane, so that distances and the walk stay."""
    full = walk("triangulation_fulldim", fork, question)

    reduced = walk("triangulation_geometric_3d", fork, question)

    assert visited(reduced) == visited(full)
    assert reduced.score == pytest.approx(full.score)
    assert reduced.counts["explainedVariance"] == pytest.approx(1)


def test_a_sentence_stops_the_average_early(
    draw: Any, chunk: Any, question: Vector
) -> None:
    """Eight sentences, one at the question itself, and only a poor chunk left."""
    graph = draw({
        "a": chunk(
            angle=0,
            sentences={**{f"a{i}": 50 for i in range(7)}, "best": 0},
            to=("b",),
        ),
        "b": chunk(angle=70, sentences={"b1": 80}),
    })

    trail = walk("triangulation_average", graph, question)

    assert visited(trail) == ["a"]
    assert trail.stop_reason == "early_stop"


@pytest.mark.parametrize("name", NAMES[1:])
def test_geometric_walks_know_no_early_stop(
    draw: Any, chunk: Any, question: Vector, name: str
) -> None:
    """However good a sentence is, they go on to the dead end."""
    graph = draw({
        "a": chunk(angle=0, sentences={f"a{i}": 0 for i in range(9)}, to=("b",)),
        "b": chunk(angle=70, sentences={"b1": 80}, to=("a",)),
    })

    trail = walk(name, graph, question)

    assert visited(trail) == ["a", "b"]
    assert trail.stop_reason == "sentence_limit"


@pytest.mark.parametrize("name", NAMES)
def test_only_the_preset_stops_at_a_sentence(
    draw: Any, chunk: Any, question: Vector, name: str
) -> None:
    """One sentence better than the neighbour ends a published walk at its anchor."""
    graph = draw({
        "a": chunk(angle=0, sentences={"a1": 0}, to=("b",)),
        "b": chunk(angle=70, sentences={"b1": 80}),
    })

    ours = walk(name, graph, question)
    published = walk(name, graph, question, published=True)

    assert visited(ours) == ["a", "b"]
    assert visited(published) == ["a"]
    assert published.stop_reason == "sentence_is_best"


def test_axes_are_those_of_the_corpus_or_of_the_question() -> None:
    """The preset fits them to the question too, which changes what they explain."""
    graph, query = random_graph(4), 30 * random_query(5)

    ours = walk("triangulation_geometric_3d", graph, query)
    published = walk("triangulation_geometric_3d", graph, query, published=True)

    kept = MemoryReader(graph).projection().explained.sum()
    assert ours.counts["explainedVariance"] == pytest.approx(kept)
    assert published.counts["explainedVariance"] != pytest.approx(kept, abs=0.01)


@pytest.mark.parametrize("name", NAMES)
def test_a_walk_without_a_hop_has_no_score(
    draw: Any, chunk: Any, question: Vector, name: str
) -> None:
    """The score is one of hops, and there was none."""
    graph = draw({"a": chunk(angle=0, sentences={"a1": 80})})

    trail = walk(name, graph, question)

    assert trail.score is None
    assert trail.stop_reason == "no_connections"

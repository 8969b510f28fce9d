"""Looking ahead, and starting from several anchors, on graphs worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.graph.errors import InputError
from knowtrail.retrieval.algorithms import (
    ALGORITHMS,
    DETERMINISTIC,
    ORDERED,
    QueryTraversal,
    algorithm,
)
from knowtrail.retrieval.driving import run
from knowtrail.retrieval.protocols import WalkOptions
from tests.memory_reader import MemoryReader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knowtrail.retrieval.protocols import Vector, Visit
    from knowtrail.retrieval.walk import Trail
    from tests.memory_reader import MemoryGraph

HOPPING = [n for n in DETERMINISTIC if n not in (*ORDERED, "basic_retrieval")]


def walk(graph: MemoryGraph, question: Vector, **options: Any) -> Trail:
    """Walk over a graph in memory."""
    walking = QueryTraversal().walk(question, WalkOptions(**options))
    return run(MemoryReader(graph), walking)


def visited(trail: Trail) -> list[str]:
    """Return the ids of the steps' chunks."""
    return [step.chunk.id for step in trail.steps]


@pytest.fixture
def detour(draw: Any, chunk: Any) -> MemoryGraph:
    """Return a graph where the second best neighbour leads to better chunks."""
    graph: MemoryGraph = draw({
        "a": chunk(angle=0, sentences={"a1": 80}, to=("greedy", "patient", "poor")),
        "greedy": chunk(angle=20, sentences={"g1": 80}, to=("bad",)),
        "patient": chunk(angle=30, sentences={"p1": 80}, to=("good",)),
        "poor": chunk(angle=70, sentences={"q1": 80}, to=("best",)),
        "bad": chunk(angle=80, sentences={"b1": 80}),
        "good": chunk(angle=6, sentences={"c1": 80}, to=("end",)),
        "best": chunk(angle=1, sentences={"d1": 80}),
        "end": chunk(angle=80, sentences={"e1": 80}),
    })
    return graph


@pytest.mark.parametrize(
    ("depth", "beam", "expected"),
    [
        (0, 3, ["a", "greedy", "bad"]),
        (1, 3, ["a", "patient", "good", "end"]),
        (1, 1, ["a", "greedy", "bad"]),
        (2, 3, ["a", "patient", "good", "end"]),
        (3, 3, ["a", "patient", "good", "end"]),
    ],
)
def test_the_best_path_begins_with_the_next_chunk(
    detour: MemoryGraph, question: Vector, depth: int, beam: int, expected: list[str]
) -> None:
    """One step ahead shows what comes after; a beam of one is a greedy walk."""
    trail = walk(detour, question, lookahead=depth, beam=beam)

    assert visited(trail) == expected


def test_a_dead_end_is_as_good_as_its_steps(
    draw: Any, chunk: Any, question: Vector
) -> None:
    """A short path is neither punished nor favoured: the mean decides."""
    graph = draw({
        "a": chunk(angle=0, sentences={"a1": 80}, to=("short", "long")),
        "short": chunk(angle=20, sentences={"s1": 80}),
        "long": chunk(angle=15, sentences={"l1": 80}, to=("bad",)),
        "bad": chunk(angle=85, sentences={"b1": 80}),
    })

    assert visited(walk(graph, question, lookahead=1))[1] == "short"


def test_a_path_does_not_come_back(draw: Any, chunk: Any, question: Vector) -> None:
    """Neither the anchor nor the path's own chunks count as further steps."""
    graph = draw({
        "a": chunk(angle=0, sentences={"a1": 80}, to=("b", "c")),
        "b": chunk(angle=30, sentences={"b1": 80}, to=("a",)),
        "c": chunk(angle=29, sentences={"c1": 80}, to=("d",)),
        "d": chunk(angle=60, sentences={"d1": 80}, to=("c", "a")),
    })

    trail = walk(graph, question, lookahead=3)

    assert visited(trail) == ["a", "b"]


def test_chunks_deleted_while_looking_ahead_are_passed_over(
    detour: MemoryGraph, question: Vector
) -> None:
    """The walk takes what is still there."""

    class Forgetful(MemoryReader):
        def expand(
            self, chunk_ids: Sequence[str], *, neighbours: bool = True
        ) -> Mapping[str, Visit]:
            known = [i for i in chunk_ids if i not in {"patient", "greedy"}]
            return super().expand(known, neighbours=neighbours)

    options = WalkOptions(lookahead=2, beam=2)

    trail = run(Forgetful(detour), QueryTraversal().walk(question, options))

    assert visited(trail) == ["a", "poor", "best"]


@pytest.mark.parametrize(
    ("lookahead", "looked"), [(1, "1 further step"), (2, "2 further steps")]
)
@pytest.mark.parametrize("name", HOPPING)
def test_every_step_says_how_it_was_chosen(
    detour: MemoryGraph, question: Vector, name: str, lookahead: int, looked: str
) -> None:
    """The anchor is one; the others name the rule and the look ahead."""
    walking = ALGORITHMS[name].walk(question, WalkOptions(lookahead=lookahead))

    steps = run(MemoryReader(detour), walking).steps

    assert steps[0].reason == "anchor"
    assert steps[1].reason.endswith(f"{looked} looked at")


@pytest.fixture
def three(draw: Any, chunk: Any) -> MemoryGraph:
    """Return three documents, the first of which holds the two nearest chunks."""
    graph: MemoryGraph = draw({
        "a1": chunk(angle=0, sentences={"s1": 80, "s2": 80}, to=("a2",)),
        "a2": chunk(angle=5, sentences={"s3": 80, "s4": 80}, to=("a3",)),
        "a3": chunk(angle=6, sentences={"s5": 80, "s6": 80}),
        "b1": chunk(angle=20, sentences={"t1": 80, "t2": 80}, to=("b2",), document="b"),
        "b2": chunk(angle=30, sentences={"t3": 80, "t4": 80}, document="b"),
        "c1": chunk(angle=40, sentences={"u1": 80, "u2": 80}, document="c"),
    })
    return graph


def test_anchors_are_spread_over_documents(
    three: MemoryGraph, question: Vector
) -> None:
    """The best chunk of each document comes before the second best of the first."""
    trail = walk(three, question, anchors=3, max_hops=0)

    assert visited(trail) == ["a1", "b1", "c1"]
    assert [step.hop for step in trail.steps] == [0, 0, 0]


def test_more_anchors_than_documents_take_the_next_best(
    three: MemoryGraph, question: Vector
) -> None:
    """After each document's best chunk the others come by similarity."""
    trail = walk(three, question, anchors=4, max_hops=0)

    assert visited(trail) == ["a1", "b1", "c1", "a2"]


def test_each_anchor_gets_its_share_of_the_sentences(
    three: MemoryGraph, question: Vector
) -> None:
    """Of eight, three for the first, which takes four; then two for each other."""
    trail = walk(three, question, anchors=3, max_sentences=8)

    assert visited(trail) == ["a1", "a2", "b1", "c1"]
    assert [step.hop for step in trail.steps] == [0, 1, 0, 0]
    assert trail.stop_reason == "sentence_limit"


def test_an_anchor_that_was_walked_over_is_not_started_from(
    three: MemoryGraph, question: Vector
) -> None:
    """The fourth anchor, a2, is reached from the first."""
    trail = walk(three, question, anchors=4, max_sentences=None)

    assert visited(trail) == ["a1", "a2", "a3", "b1", "b2", "c1"]


def test_an_anchor_that_is_gone_is_replaced(
    three: MemoryGraph, question: Vector
) -> None:
    """The best chunk left of a document of its own takes its place."""

    class Forgetful(MemoryReader):
        gone = frozenset({"b1"})

        def expand(
            self, chunk_ids: Sequence[str], *, neighbours: bool = True
        ) -> Mapping[str, Visit]:
            known = [i for i in chunk_ids if i not in self.gone]
            return super().expand(known, neighbours=neighbours)

    reader = Forgetful(three)
    some = run(reader, QueryTraversal().walk(question, WalkOptions(anchors=3)))
    reader.gone = frozenset({"a1", "b1", "c1"})
    none = run(reader, QueryTraversal().walk(question, WalkOptions(anchors=3)))

    assert [s.chunk.id for s in some.steps if s.hop == 0] == ["a1", "b2", "c1"]
    assert [s.chunk.id for s in none.steps if s.hop == 0] == ["a2", "b2"]


@pytest.mark.parametrize("options", [{"anchors": 2}, {"lookahead": 1}])
@pytest.mark.parametrize("name", HOPPING)
def test_the_preset_has_no_place_for_them(
    three: MemoryGraph, question: Vector, name: str, options: dict[str, Any]
) -> None:
    """The published code knows neither, and nobody should believe it does."""
    walker = algorithm(name, published=True)

    with pytest.raises(InputError, match="published"):
        run(MemoryReader(three), walker.walk(question, WalkOptions(**options)))

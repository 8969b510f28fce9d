"""What holds for every walk on every graph, tried on made-up ones."""

from __future__ import annotations

import asyncio
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from knowtrail.graph.errors import InputError
from knowtrail.retrieval.algorithms import (
    ALGORITHMS,
    DETERMINISTIC,
    ORDERED,
    PUBLISHED_ALGORITHMS,
    algorithm,
)
from knowtrail.retrieval.algorithms.rules import OWN, PUBLISHED
from knowtrail.retrieval.cosine import cosines, ranked
from knowtrail.retrieval.driving import arun, run
from knowtrail.retrieval.hits import searching
from knowtrail.retrieval.protocols import WalkOptions
from tests.cases import each
from tests.conformance import ScriptedModel, random_graph, random_query
from tests.memory_reader import MemoryReader

if TYPE_CHECKING:
    from knowtrail.retrieval.walk import Trail

SEEDS = st.integers(min_value=0, max_value=10_000)
NAMES = st.sampled_from(sorted(ALGORITHMS))
DEPTHS = st.integers(min_value=0, max_value=3)
BEAMS = st.integers(min_value=1, max_value=4)
PLAIN = st.builds(
    WalkOptions,
    max_sentences=st.one_of(st.none(), st.integers(min_value=1, max_value=15)),
    max_hops=st.integers(min_value=0, max_value=25),
    question=st.just("Which way?"),
)
AHEAD = st.builds(replace, PLAIN, lookahead=DEPTHS, beam=BEAMS)
OPTIONS = st.builds(replace, AHEAD, anchors=st.integers(min_value=1, max_value=6))
MODEL: Any = ScriptedModel()
HOPPING = [n for n in DETERMINISTIC if n not in (*ORDERED, "basic_retrieval")]


def walked(name: str, seed: int, options: WalkOptions, **published: bool) -> Trail:
    """Return a walk over a made-up graph."""
    walking = algorithm(name, **published).walk(random_query(seed), options)
    return run(MemoryReader(random_graph(seed)), walking, MODEL)


@given(SEEDS, NAMES, OPTIONS)
def test_no_walk_breaks_its_budgets(seed: int, name: str, options: WalkOptions) -> None:
    """No chunk twice, no sentence twice, no budget exceeded."""
    trail = walked(name, seed, options)

    chunks = [step.chunk.id for step in trail.steps]
    sentences = [s.id for step in trail.steps for s in step.sentences]
    assert len(set(chunks)) == len(chunks)
    assert len(set(sentences)) == len(sentences)
    assert options.max_sentences is None or len(sentences) <= options.max_sentences
    assert sum(step.hop > 0 for step in trail.steps) <= options.max_hops
    if name in HOPPING:
        assert sum(step.hop == 0 for step in trail.steps) <= options.anchors


@given(SEEDS, NAMES, OPTIONS)
def test_every_hop_follows_an_edge(seed: int, name: str, options: WalkOptions) -> None:
    """A step with a hop is a neighbour of the step before it, one hop further.

    For `auto` a neighbour is a chunk that shares a name.
    """
    graph = random_graph(seed)

    trail = walked(name, seed, options)

    pairs = [
        (one, two)
        for one, two in zip(trail.steps, trail.steps[1:], strict=False)
        if two.hop > 0
    ]
    assert all(two.hop == one.hop + 1 for one, two in pairs)
    ids = [(one.chunk.id, two.chunk.id) for one, two in pairs]
    if name == "auto":
        assert all(set(graph.names[a]) & set(graph.names[b]) for a, b in ids)
        return
    assert all(two in graph.edges[one] for one, two in ids)
    assert all(two.chunk.id in {c.id for c in one.considered} for one, two in pairs)


@given(SEEDS, NAMES, OPTIONS, st.booleans())
def test_a_walk_can_be_repeated(
    seed: int, name: str, options: WalkOptions, published: bool
) -> None:
    """The same question on the same graph gives the same walk."""
    published = published and name in PUBLISHED_ALGORITHMS
    if published:
        options = replace(options, anchors=1, lookahead=0)

    assert walked(name, seed, options, published=published) == walked(
        name, seed, options, published=published
    )


@given(SEEDS, NAMES, AHEAD)
def test_the_stop_reason_is_true(seed: int, name: str, options: WalkOptions) -> None:
    """What the walk says of its end can be seen in the graph."""
    graph = random_graph(seed)

    trail = walked(name, seed, options)

    last = trail.steps[-1]
    visited = {step.chunk.id for step in trail.steps}
    sentences = [s for step in trail.steps for s in step.sentences]
    around = graph.edges[last.chunk.id]
    seen = {s.id for s in sentences}
    holds: dict[str, Any] = {
        "sentence_limit": lambda: len(sentences) == options.max_sentences,
        "max_hops": lambda: (
            sum(step.hop > 0 for step in trail.steps) == options.max_hops
        ),
        "no_connections": lambda: not around,
        "no_unvisited_chunk": lambda: around and set(around) <= visited,
        "all_candidates_overlap": lambda: all(
            seen & {s.id for s in graph.sentences[chunk_id]} for chunk_id in around
        ),
        "no_more_similar": lambda: last.hop > 0,
        "model_stopped": lambda: trail.counts["modelCalls"] > last.hop,
        "chunks_exhausted": lambda: (
            {s.id for of in graph.sentences.values() for s in of} == seen
        ),
        "early_stop": lambda: (
            len(sentences) >= getattr(ALGORITHMS[name], "early_stop_after", 99)
        ),
    }
    assert holds[trail.stop_reason]()


@given(SEEDS, st.sampled_from(HOPPING), AHEAD, st.integers(min_value=2, max_value=6))
def test_no_budget_is_lost_between_anchors(
    seed: int, name: str, options: WalkOptions, anchors: int
) -> None:
    """Every anchor is walked from while there is budget, in documents of their own."""
    graph = random_graph(seed)
    options = replace(options, anchors=anchors)

    trail = walked(name, seed, options)

    starts = [step.chunk for step in trail.steps if step.hop == 0]
    found = sum(len(step.sentences) for step in trail.steps)
    hops = len(trail.steps) - len(starts)
    if trail.stop_reason == "sentence_limit":
        assert found == options.max_sentences
    elif trail.stop_reason == "max_hops":
        assert hops == options.max_hops
    else:
        assert trail.stop_reason == "anchors_exhausted"
        assert found != options.max_sentences
        assert hops < options.max_hops
        assert len(starts) == anchors or len(trail.steps) == len(graph.chunks)
    documents = {chunk.document_id for chunk in graph.chunks}
    walked_in: set[str] = set()
    for step in trail.steps:
        home = step.chunk.document_id
        assert step.hop > 0 or home not in walked_in or walked_in == documents
        walked_in.add(home)


@given(SEEDS, PLAIN)
def test_published_rules_without_their_switches_are_ours(
    seed: int, options: WalkOptions
) -> None:
    """With every switch off, the preset's algorithms walk as those of ours do."""
    off = replace(
        PUBLISHED, **{f.name: False for f in fields(PUBLISHED) if f.type == "bool"}
    )
    assert replace(off, early_stop=True) == OWN
    walker: Any = algorithm("query_traversal", published=True)
    walking = replace(walker, rules=replace(off, early_stop=True)).walk(
        random_query(seed), options
    )

    trail = run(MemoryReader(random_graph(seed)), walking)

    assert trail == walked("query_traversal", seed, options)


@given(SEEDS, PLAIN)
def test_published_walks_start_as_ours_do(seed: int, options: WalkOptions) -> None:
    """The preset reads later: until ours stops, both are at the same chunks."""
    ours = walked("query_traversal", seed, options)

    published = walked("query_traversal", seed, options, published=True)

    length = min(len(ours.steps), len(published.steps))
    assert [s.chunk for s in ours.steps[:length]] == [
        s.chunk for s in published.steps[:length]
    ]
    assert published.steps[0].sentences == ours.steps[0].sentences[:10]


@given(SEEDS, NAMES, DEPTHS, st.integers(min_value=1, max_value=40))
def test_synchronous_and_asynchronous_walks_are_equal(
    seed: int, name: str, depth: int, k: int
) -> None:
    """Both drivers answer the same requests."""
    reader = MemoryReader(random_graph(seed))
    query = random_query(seed)
    options = WalkOptions(lookahead=depth, anchors=1 + depth, question="Which way?")

    def walking() -> Any:
        return searching(ALGORITHMS[name], query, options, k=k)

    assert run(reader, walking(), MODEL) == asyncio.run(arun(reader, walking(), MODEL))


@given(SEEDS, st.sampled_from(["geometric_3d", "average"]))
def test_published_walks_are_equal_asynchronously(seed: int, name: str) -> None:
    """Homes and fitted axes come from both drivers alike."""
    reader = MemoryReader(random_graph(seed))

    def walking() -> Any:
        walker = algorithm(f"triangulation_{name}", published=True)
        return walker.walk(random_query(seed), WalkOptions(max_sentences=None))

    assert run(reader, walking()) == asyncio.run(arun(reader, walking()))


@given(SEEDS, st.sampled_from(HOPPING), DEPTHS, BEAMS)
def test_looking_ahead_costs_a_trip_a_level(
    seed: int, name: str, depth: int, beam: int
) -> None:
    """Each hop asks once for each further level, for as many chunks as the beam has."""

    class Counting(MemoryReader):
        asked: ClassVar[list[int]] = []

        def expand(self, chunk_ids: Any, *, neighbours: bool = True) -> Any:
            self.asked.append(len(chunk_ids))
            return super().expand(chunk_ids, neighbours=neighbours)

    Counting.asked = []
    options = WalkOptions(max_sentences=None, lookahead=depth, beam=beam)

    trail = run(
        Counting(random_graph(seed)),
        ALGORITHMS[name].walk(random_query(seed), options),
    )

    hops = len(trail.steps) - 1
    assert len(Counting.asked) <= 1 + hops * max(1, depth)
    assert max(Counting.asked) <= max(1, beam)


@given(
    SEEDS,
    NAMES,
    st.integers(min_value=1, max_value=40),
    st.sampled_from(["chunk", "sentence"]),
)
@example(2026, "auto", 28, "sentence")  # `auto` leaves out two that say little
def test_k_hits_come_back_while_there_are_sentences(
    seed: int, name: str, k: int, granularity: Any
) -> None:
    """There are k hits unless every sentence of the graph has been returned."""
    graph = random_graph(seed)
    query = random_query(seed)
    every = {s.id for of in graph.sentences.values() for s in of}

    _, hits = run(
        MemoryReader(graph),
        searching(
            ALGORITHMS[name],
            query,
            WalkOptions(question="Which way?"),
            k=k,
            granularity=granularity,
        ),
        MODEL,
    )

    returned = [s.id for hit in hits for s in hit.sentences]
    assert len(set(returned)) == len(returned)
    assert len(hits) == k or set(returned) == every
    assert all(hit.sentences for hit in hits)
    assert [hit.filled for hit in hits] == sorted(hit.filled for hit in hits)
    assert all((hit.hop is None) == hit.filled for hit in hits)


@given(SEEDS)
def test_a_cosine_does_not_depend_on_the_rows_beside_it(seed: int) -> None:
    """A row alone, and the same row among others, give the same bits."""
    graph = random_graph(seed)
    query = random_query(seed)

    together = cosines(query, graph.vectors)
    alone = [float(cosines(query, row[None, :])[0]) for row in graph.vectors]

    assert together.tolist() == alone


def test_a_zero_vector_has_cosine_zero() -> None:
    """Nothing is divided by zero."""
    assert cosines(np.zeros(2), np.ones((1, 2))).tolist() == [0.0]
    assert cosines(np.ones(2), np.zeros((1, 2))).tolist() == [0.0]


def test_equal_scores_are_ordered_by_id() -> None:
    """Ties do not hang on the order in which a reader returns chunks."""
    assert ranked(["c", "a", "b"], np.array([0.5, 0.5, 0.9])) == [2, 1, 0]


@each(
    "given_options",
    [
        {"max_sentences": 0},
        {"max_sentences": 2.5},
        {"max_sentences": True},
        {"max_hops": -1},
        {"max_hops": None},
        {"max_chunks": 10**9},
        {"anchors": 0},
        {"anchors": 21},
        {"lookahead": 4},
        {"lookahead": -1},
        {"beam": 0},
        {"beam": None},
    ],
)
def test_budgets_out_of_range_are_refused(given_options: dict[str, Any]) -> None:
    """The message names the option and the range."""
    with pytest.raises(InputError, match=f"{next(iter(given_options))} is"):
        WalkOptions(**given_options)

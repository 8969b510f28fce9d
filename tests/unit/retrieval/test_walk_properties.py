"""What holds for every walk on every graph, tried on made-up ones."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph.errors import InputError
from retrieval.algorithms import ALGORITHMS
from retrieval.conformance import random_graph, random_query
from retrieval.cosine import cosines, ranked
from retrieval.driving import arun, run
from retrieval.hits import searching
from retrieval.protocols import WalkOptions
from retrieval.readers.memory import MemoryReader

SEEDS = st.integers(min_value=0, max_value=10_000)
NAMES = st.sampled_from(sorted(ALGORITHMS))
BUDGETS = st.one_of(st.none(), st.integers(min_value=1, max_value=15))
HOPS = st.integers(min_value=0, max_value=25)


def options(budget: int | None, hops: int) -> WalkOptions:
    """Return the options of a try."""
    return WalkOptions(max_sentences=budget, max_hops=hops)


@settings(max_examples=80, deadline=None)
@given(SEEDS, NAMES, BUDGETS, HOPS)
def test_no_walk_breaks_its_budgets(
    seed: int, name: str, budget: int | None, hops: int
) -> None:
    """No chunk twice, no sentence twice, no budget exceeded."""
    reader = MemoryReader(random_graph(seed))
    walking = ALGORITHMS[name].walk(random_query(seed), options(budget, hops))

    trail = run(reader, walking)

    chunks = [step.chunk.id for step in trail.steps]
    sentences = [s.id for step in trail.steps for s in step.sentences]
    assert len(set(chunks)) == len(chunks)
    assert len(set(sentences)) == len(sentences)
    assert budget is None or len(sentences) <= budget
    assert max(step.hop for step in trail.steps) <= hops


@settings(max_examples=80, deadline=None)
@given(SEEDS, NAMES, BUDGETS, HOPS)
def test_the_stop_reason_is_true(
    seed: int, name: str, budget: int | None, hops: int
) -> None:
    """What the walk says of its end can be seen in the graph."""
    graph = random_graph(seed)
    walking = ALGORITHMS[name].walk(random_query(seed), options(budget, hops))

    trail = run(MemoryReader(graph), walking)

    last = trail.steps[-1]
    visited = {step.chunk.id for step in trail.steps}
    sentences = [s for step in trail.steps for s in step.sentences]
    around = graph.edges[last.chunk.id]
    holds = {
        "sentence_limit": lambda: len(sentences) == budget,
        "max_hops": lambda: last.hop == hops,
        "no_connections": lambda: not around,
        "no_unvisited_chunk": lambda: around and set(around) <= visited,
        "chunks_exhausted": lambda: (
            {s.id for of in graph.sentences.values() for s in of}
            == {s.id for s in sentences}
        ),
        "early_stop": lambda: len(sentences) >= ALGORITHMS[name].early_stop_after,
    }
    assert holds[trail.stop_reason]()


@settings(max_examples=30, deadline=None)
@given(SEEDS, NAMES, st.integers(min_value=1, max_value=40))
def test_synchronous_and_asynchronous_walks_are_equal(
    seed: int, name: str, k: int
) -> None:
    """Both drivers answer the same requests."""
    reader = MemoryReader(random_graph(seed))
    query = random_query(seed)

    def walking() -> Any:
        return searching(ALGORITHMS[name], query, WalkOptions(), k=k)

    assert run(reader, walking()) == asyncio.run(arun(reader, walking()))


@settings(max_examples=60, deadline=None)
@given(
    SEEDS,
    NAMES,
    st.integers(min_value=1, max_value=40),
    st.sampled_from(["chunk", "sentence"]),
)
def test_k_hits_come_back_while_there_are_sentences(
    seed: int, name: str, k: int, granularity: Any
) -> None:
    """There are k hits unless every sentence of the graph has been returned."""
    graph = random_graph(seed)
    query = random_query(seed)
    every = {s.id for of in graph.sentences.values() for s in of}

    _, hits = run(
        MemoryReader(graph),
        searching(ALGORITHMS[name], query, WalkOptions(), k=k, granularity=granularity),
    )

    returned = [s.id for hit in hits for s in hit.sentences]
    assert len(set(returned)) == len(returned)
    assert len(hits) == k or set(returned) == every
    assert all(hit.sentences for hit in hits)
    assert [hit.filled for hit in hits] == sorted(hit.filled for hit in hits)
    assert all((hit.hop is None) == hit.filled for hit in hits)


@settings(max_examples=50, deadline=None)
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


@pytest.mark.parametrize(
    "given_options",
    [
        {"max_sentences": 0},
        {"max_sentences": 2.5},
        {"max_sentences": True},
        {"max_hops": -1},
        {"max_hops": None},
        {"max_chunks": 10**9},
    ],
)
def test_budgets_out_of_range_are_refused(given_options: dict[str, Any]) -> None:
    """The message names the option and the range."""
    with pytest.raises(InputError, match=f"{next(iter(given_options))} is"):
        WalkOptions(**given_options)

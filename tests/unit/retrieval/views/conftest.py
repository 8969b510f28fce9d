"""A walk over a made-up graph, with the vectors that its pictures need."""

from __future__ import annotations

import numpy as np
import pytest

from knowtrail.retrieval.algorithms import QueryTraversal
from knowtrail.retrieval.driving import run
from knowtrail.retrieval.protocols import WalkOptions
from knowtrail.retrieval.views.reading import Passage, Passages
from knowtrail.retrieval.walk import Walk
from tests.conformance import random_graph, random_query
from tests.memory_reader import MemoryReader

SEED = 4


@pytest.fixture
def walk() -> Walk:
    """Return a walk through several documents."""
    trail = run(
        MemoryReader(random_graph(SEED)),
        QueryTraversal().walk(random_query(SEED), WalkOptions(max_sentences=20)),
    )
    return Walk(
        algorithm="query_traversal",
        question="What is said?",
        corpus="small",
        steps=trail.steps,
        stop_reason=trail.stop_reason,
        milliseconds=1.5,
    )


@pytest.fixture
def visited(walk: Walk) -> Passages:
    """Return all chunks of the documents of the walk, in its order."""
    graph = random_graph(SEED)
    order = list(dict.fromkeys(s.chunk.document_id for s in walk.steps))
    rows = sorted(
        (n for n, chunk in enumerate(graph.chunks) if chunk.document_id in order),
        key=lambda n: (
            order.index(graph.chunks[n].document_id),
            graph.chunks[n].index,
        ),
    )
    return Passages(
        rows=tuple(
            Passage(
                id=graph.chunks[n].id,
                document=graph.chunks[n].document_id,
                title=graph.chunks[n].title,
                index=graph.chunks[n].index,
                text=graph.chunks[n].text,
            )
            for n in rows
        ),
        vectors=np.asarray(graph.vectors[rows], dtype=np.float32),
    )

"""Chains of two chunks: one found for the question, and one that it leads to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from knowtrail.retrieval.algorithms.auto_words import forms, stems
from knowtrail.retrieval.rerank.bm25 import words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from knowtrail.retrieval.algorithms.auto_graph import LocalGraph
    from knowtrail.retrieval.protocols import Vector

FIRSTS = 20
"""Chunks that a chain may begin with."""
READ = 100
"""Chunks whose words are compared with the question's, beside the first ones."""
SHARED = 0.5
"""What a name that is the title of neither document is worth beside one that is."""
WORTH = 4.0
"""What the rarest name, or all words that were missing, are worth: e ** 4 in rank."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Chained:
    """Scores of chunks with the chunk that each is best reached from.

    `before` is the row of that one, -1 where there is none, or where the chain begins
    with a chunk of a lower base; `term` the column of the best term that links the two,
    or -1.
    """

    scores: Vector
    before: npt.NDArray[np.int64]
    term: npt.NDArray[np.int64]

    @classmethod
    def without(cls, scores: Vector) -> Chained:
        """Return scores of chunks that no chain leads to."""
        none = np.full(len(scores), -1, dtype=np.int64)
        return cls(scores=scores, before=none, term=none)


def chained(
    graph: LocalGraph,
    base: Vector,
    *,
    question: str,
    names: Sequence[str],
    gate: float,
    text_of: Callable[[str], str],
    anchors: frozenset[str],
    rarity: bool,
    coverage: bool,
) -> Chained:
    """Return for each chunk its base plus the best chain that ends in it.

    A chain leads from `a` to a chunk that shares with it a term that the question
    lacks. It is worth base(a) less the highest base, plus the gate times WORTH times
    the rarity of the best such term, plus the same times the share of the question's
    words missing in `a` that the chunk has. A chain never takes anything away.
    `rarity` and `coverage` are whether these two parts count.
    """
    order = np.lexsort((np.arange(len(base)), -base))
    firsts = order[:FIRSTS]
    links, terms = _links(graph, firsts, frozenset(names))
    links[np.arange(len(firsts)), firsts] = 0.0
    linked = links > 0
    worth = gate * WORTH
    gains = (base[firsts] - base.max())[:, None] + worth * links * rarity
    gains[~linked] = -np.inf
    if coverage:
        hope = base + np.maximum(gains.max(axis=0) + worth, 0.0)
        read = np.lexsort((np.arange(len(base)), -hope))[:READ]
        covered = _coverage(graph, firsts, read, question, text_of, anchors)
        gains[:, read] += worth * covered
    best, columns = gains.argmax(axis=0), np.arange(len(base))
    gained = gains[best, columns]
    led = (gained > 0) & (base[firsts[best]] > base)
    return Chained(
        scores=base + np.maximum(gained, 0.0),
        before=np.where(led, firsts[best], -1),
        term=np.where(led, terms[best, columns], -1),
    )


def _links(
    graph: LocalGraph, firsts: npt.NDArray[np.int64], known: frozenset[str]
) -> tuple[Vector, npt.NDArray[np.int64]]:
    """Return rarity, 0 to 1, and column of the best new term that two chunks share."""
    # Both have shape (firsts, chunks). A term that is the title of neither document has
    # `SHARED` of its rarity.
    by_term = np.argsort(graph.term, kind="stable")
    chunks, titled = graph.chunk[by_term], graph.titled[by_term]
    starts = np.searchsorted(graph.term[by_term], np.arange(len(graph.names) + 1))
    of_chunk = np.searchsorted(graph.chunk, np.arange(len(graph.ids) + 1))
    rarity = _rarity(graph)
    links = np.zeros((len(firsts), len(graph.ids)))
    terms = np.full(links.shape, -1, dtype=np.int64)
    for place, first in enumerate(firsts.tolist()):
        edges = slice(of_chunk[first], of_chunk[first + 1])
        columns = graph.term[edges].tolist()
        own = dict(zip(columns, graph.titled[edges].tolist(), strict=True))
        for column in sorted(columns, key=lambda c: (rarity[c], -c)):
            if rarity[column] > 0 and graph.names[column] not in known:
                found = slice(starts[column], starts[column + 1])
                rows = chunks[found]
                leads = own[column] | titled[found]
                worth = rarity[column] * np.where(leads, 1.0, SHARED)
                better = worth >= links[place, rows]
                links[place, rows[better]] = worth[better]
                terms[place, rows[better]] = column
    return links, terms


def _rarity(graph: LocalGraph) -> list[float]:
    """Return for each term its idf as a share of the greatest there can be."""
    most = graph.idf + np.log(graph.counts)
    rarity: list[float] = (graph.idf / np.maximum(most, 1e-12)).tolist()
    return rarity


def _coverage(
    graph: LocalGraph,
    firsts: npt.NDArray[np.int64],
    read: npt.NDArray[np.int64],
    question: str,
    text_of: Callable[[str], str],
    anchors: frozenset[str],
) -> Vector:
    """Return which share of the words that a first chunk lacks the others have."""
    # Words weigh by how few of the chunks that were reached through names have them:
    # the anchors would not do, they were chosen for these words. Shape (firsts, read).
    asked = sorted(set(stems(question)))
    known = forms(asked)
    has = {
        row: np.array([word in found for word in asked], dtype=np.float64)
        for row in {*firsts.tolist(), *read.tolist()}
        for found in (set(map(known.get, words(text_of(graph.ids[row])))),)
    }
    others = [has[row] for row in read.tolist() if graph.ids[row] not in anchors]
    counts = np.sum(others, axis=0) if others else np.zeros(len(asked))
    weights = np.array([
        math.log((len(others) + 2) / (count + 1)) for count in counts.tolist()
    ])
    there = np.array([has[row] for row in read.tolist()]).reshape(len(read), -1)
    missing = weights * (1 - np.array([has[row] for row in firsts.tolist()]))
    total = missing.sum(axis=1, keepdims=True)
    shares: Vector = np.einsum("fw,rw->fr", missing, there) / np.maximum(total, 1e-12)
    return shares

"""`hybrid` and `mmr`: chunks in other orders than that of their cosines."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from knowtrail.retrieval.algorithms.asking import Ranking
from knowtrail.retrieval.algorithms.harvest import Harvest, take_ranked

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from knowtrail.retrieval.protocols import Vector, Walking, WalkOptions
    from knowtrail.retrieval.walk import RankedChunk, Trail

CONSTANT = 60
"""What is added to places before they are inverted: Cormack and others, 2009."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hybrid:
    """Take chunks that are near the question or have its words, best first.

    The `pool` chunks nearest to the question and the `pool` with the best BM25 for its
    words are fused by their places: each ranking gives a chunk 1 / (60 + place), and
    the sum is what it is ranked by (reciprocal rank fusion), ties by cosine. Both are
    found by indexes of the database, in one round trip. Rarity of words is counted
    over all corpora of the database. Scores of steps are cosines all the same; the
    score of the walk is their mean.
    """

    name: ClassVar[str] = "hybrid"
    needs_words: ClassVar[bool] = True
    pool: int = 100

    def walk(self, query: Vector, options: WalkOptions) -> Walking[Trail]:
        """Rank chunks and take them until a budget is used up."""
        ranking = Ranking(query, k=self.pool // 10, wanted=options.max_chunks)
        by_words = (yield from ranking.read(words=options.question)).by_words
        near = [hit.id for hit in ranking.ranked]
        both = dict(fused((near[: self.pool], by_words[: self.pool])))
        places = {chunk_id: place for place, chunk_id in enumerate(near)}
        order = sorted(near, key=lambda i: (-both.get(i, 0.0), places[i]))
        worded = {chunk_id: n for n, chunk_id in enumerate(by_words, start=1)}
        reasons = {
            i: f"number {places[i] + 1} by nearness"
            + (f", number {worded[i]} by words" if i in worded else "")
            for i in order
        }
        return (yield from _taken(ranking, order, options, reasons))


def fused(rankings: Iterable[Sequence[str]]) -> list[tuple[str, float]]:
    """Return ids by sums of 1 / (60 + place), see `CONSTANT`; ties by id."""
    scores: defaultdict[str, float] = defaultdict(float)
    for ranking in rankings:
        for place, name in enumerate(ranking, start=1):
            scores[name] += 1 / (CONSTANT + place)
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Mmr:
    """Take chunks that are near the question and unlike those taken before.

    Of the `pool` chunks nearest to the question, the one comes next for which
    `balance` times its cosine to the question, less the rest times its highest cosine
    to a chunk taken before, is greatest (maximal marginal relevance, Carbonell and
    Goldstein, 1998), ties by cosine; farther chunks follow by cosine. Scores of steps
    are cosines; the score of the walk is their mean.
    """

    name: ClassVar[str] = "mmr"
    balance: float = 0.8
    pool: int = 50

    def walk(self, query: Vector, options: WalkOptions) -> Walking[Trail]:
        """Rank chunks and take them until a budget is used up."""
        ranking = Ranking(query, k=max(1, self.pool // 10), wanted=options.max_chunks)
        yield from ranking.read()
        near = ranking.ranked[: self.pool]
        order = [hit.id for hit in diverse(near, ranking.vectors, self.balance)]
        return (yield from _taken(ranking, order, options, {}))


def diverse(
    near: Sequence[RankedChunk], vectors: Mapping[str, Vector], balance: float
) -> list[RankedChunk]:
    """Return chunks in the order of `Mmr`."""
    if not near:
        return []
    rows = np.stack([vectors[hit.id] for hit in near])
    lengths = np.sqrt(np.vecdot(rows, rows))
    unit = rows / np.maximum(lengths, 1e-300)[:, None]
    scores = balance * np.array([hit.score for hit in near])
    closest = np.zeros(len(near))
    order: list[int] = []
    for _ in near:
        value = scores - (1 - balance) * closest
        value[order] = -np.inf
        order.append(int(np.argmax(value)))
        likeness = np.vecdot(unit, unit[order[-1]])
        closest = np.maximum(closest, likeness) if len(order) > 1 else likeness
    return [near[place] for place in order]


def _taken(
    ranking: Ranking, order: list[str], options: WalkOptions, reasons: dict[str, str]
) -> Walking[Trail]:
    """Take chunks in an order, then the nearest others, until a budget is used up."""
    harvest = Harvest(ranking.query, options)
    scores = {hit.id: hit for hit in ranking.ranked}
    ranking.reorder([scores[chunk_id] for chunk_id in order])
    first = ranking.ranked
    stop = yield from take_ranked(harvest, ranking, reasons=reasons)
    return harvest.trail(stop, first, score_of="steps")

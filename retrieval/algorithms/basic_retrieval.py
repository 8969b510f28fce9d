"""`basic_retrieval`: chunks by similarity alone, the control for the walks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from retrieval.algorithms.asking import Ranking
from retrieval.algorithms.harvest import Harvest

if TYPE_CHECKING:
    from retrieval.protocols import Vector, Walking, WalkOptions
    from retrieval.walk import Trail

__all__ = ["BasicRetrieval"]

_SURE_PLACES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class BasicRetrieval:
    """Take the chunks nearest to the question, best first; follow no edge.

    Before a chunk is taken, and once `early_stop_after` sentences are there, the
    walk stops if its best sentence is strictly nearer to the question than that
    chunk. A chunk without new sentences is passed over and makes no step.

    The description and the published code agree on this rule. They differ from each
    other, and this from the code, in details: the code counts a sentence once per
    text and scores a repeated text by its first place in the graph, while here each
    place is its own sentence; its best cosine starts at 0, here at the first
    sentence; it breaks ties by insertion, here by chunk id.
    """

    name: ClassVar[str] = "basic_retrieval"
    early_stop_after: int = 5

    def walk(self, query: Vector, options: WalkOptions) -> Walking[Trail]:
        """Rank chunks and take them until a budget or the early stop."""
        harvest = Harvest(query, options)
        ranking = Ranking(query, k=_SURE_PLACES)
        while (hit := (yield from ranking.next())) is not None:
            enough = harvest.found >= self.early_stop_after
            if enough and harvest.best > hit.score:
                return harvest.trail("early_stop", ranking.ranked)
            visit = yield from ranking.visit(hit)
            if visit is None or not harvest.new_sentences(visit):
                continue
            harvest.gather(visit, score=hit.score, hop=0)
            if reason := harvest.full():
                return harvest.trail(reason, ranking.ranked)
        if not ranking.ranked:
            return harvest.trail("no_anchor")
        return harvest.trail("chunks_exhausted", ranking.ranked)

"""`basic_retrieval`: chunks by similarity alone, the control for the walks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from knowtrail.retrieval.algorithms.asking import Ranking
from knowtrail.retrieval.algorithms.harvest import Harvest, take_ranked
from knowtrail.retrieval.algorithms.rules import OWN, Rules

if TYPE_CHECKING:
    from knowtrail.retrieval.protocols import Vector, Walking, WalkOptions
    from knowtrail.retrieval.walk import RankedChunk, Trail

_SURE_PLACES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class BasicRetrieval:
    """Take the chunks nearest to the question, best first; follow no edge.

    Before a chunk is taken, and once `early_stop_after` sentences are there, the
    walk stops if its best sentence is strictly nearer to the question than that
    chunk. A chunk without new sentences is passed over and makes no step. The score
    of the walk is the mean cosine of its chunks.

    The description and the published code agree on this rule. The code, and the preset
    `published`, differ in details: they count a sentence once per text, their best
    cosine starts at 0, here at the first sentence, and ties go by insertion, here by
    chunk id.
    """

    name: ClassVar[str] = "basic_retrieval"
    early_stop_after: int = 5
    rules: Rules = OWN

    def walk(self, query: Vector, options: WalkOptions) -> Walking[Trail]:
        """Rank chunks and take them until a budget or the early stop."""
        harvest = Harvest(query, options, self.rules)
        ranking = Ranking(
            query, k=_SURE_PLACES, rules=self.rules, wanted=options.max_chunks
        )

        def early(hit: RankedChunk) -> bool:
            enough = self.rules.early_stop and harvest.found >= self.early_stop_after
            return enough and harvest.best > hit.score

        stop = yield from take_ranked(harvest, ranking, early=early)
        return harvest.trail(stop, ranking.ranked, score_of="steps")

"""`query_traversal`: from chunk to chunk, always towards the question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from knowtrail.retrieval.algorithms.best_first import Way, best_first
from knowtrail.retrieval.algorithms.hops import Position, Sight, hop_walk
from knowtrail.retrieval.algorithms.rules import OWN, Rules

if TYPE_CHECKING:
    from knowtrail.retrieval.protocols import Vector, Walking, WalkOptions
    from knowtrail.retrieval.walk import StopReason, Trail


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTraversal:
    """Go to the unvisited neighbour that is nearest to the question.

    The walk starts at the anchor, the chunk nearest to the question, and takes all
    sentences of each chunk when it gets there. Once `early_stop_after` sentences are
    there it stops if the best of them is strictly nearer to the question than the
    best unvisited neighbour. The score of the walk is the mean cosine of its
    sentences.

    The description takes the best chunk over all that are unvisited; the published
    code, and this one, over the out-neighbours of the current chunk. The description
    lets a sentence be the next node; in the code that can never add anything, so
    sentences are no candidates here. The code, and the preset `published`, take a
    chunk's sentences one hop late, so that the last chunk is often named and not read,
    and compare the stop with the best neighbour even where that one was visited; here
    a chunk is read on arrival and the stop looks at unvisited ones, as the description
    says. They count sentences by text, this by identity; their ties go by the stored
    order, these by chunk id.
    """

    name: ClassVar[str] = "query_traversal"
    early_stop_after: int = 8
    rules: Rules = OWN

    def walk(self, query: Vector, options: WalkOptions) -> Walking[Trail]:
        """Walk greedily towards the question."""
        way = Way(measure=_nearness, reason="nearest to the question", stop=self._stop)
        choose = best_first(way, options, self.rules)
        return hop_walk(query, options, choose, rules=self.rules)

    def _stop(
        self, position: Position, rows: list[int], measures: Vector
    ) -> Walking[StopReason | None]:
        """Stop where a sentence found beats every chunk left."""
        enough = position.harvest.found >= self.early_stop_after
        if not (self.rules.early_stop and enough and rows):
            return None
        beaten = position.harvest.best > float(measures[rows].max())
        return "early_stop" if beaten else None
        yield


def _nearness(sight: Sight) -> Vector:
    return sight.scores

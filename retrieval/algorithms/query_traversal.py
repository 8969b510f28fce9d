"""`query_traversal`: from chunk to chunk, always towards the question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from retrieval.algorithms.hops import Position, hop_walk
from retrieval.cosine import ranked
from retrieval.walk import RankedChunk, StopReason

if TYPE_CHECKING:
    from retrieval.protocols import Vector, Walking, WalkOptions
    from retrieval.walk import Trail

__all__ = ["QueryTraversal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTraversal:
    """Go to the unvisited neighbour that is nearest to the question.

    The walk starts at the anchor, the chunk nearest to the question, and takes all
    sentences of each chunk when it gets there. Once `early_stop_after` sentences are
    there it stops if the best of them is strictly nearer to the question than the
    best unvisited neighbour.

    The description takes the best chunk over all that are unvisited; the published
    code, and this one, over the out-neighbours of the current chunk. The description
    lets a sentence be the next node; in the code that can never add anything, so
    sentences are no candidates here. The code takes a chunk's sentences one hop late,
    so that its last chunk is often named and not read, and compares its stop with
    the best neighbour even where that one was visited; here a chunk is read on
    arrival and the stop looks at unvisited ones, as the description says. The code
    counts sentences by text, this by identity, and ties go by chunk id.
    """

    name: ClassVar[str] = "query_traversal"
    early_stop_after: int = 8

    def walk(self, query: Vector, options: WalkOptions) -> Walking[Trail]:
        """Walk greedily towards the question."""
        return hop_walk(query, options, self._choose)

    def _choose(self, position: Position) -> RankedChunk | StopReason:
        """Name the neighbour nearest to the question, unless a sentence beats it."""
        ids = position.candidates.ids
        first = ranked(ids, position.scores)[0]
        score = float(position.scores[first])
        if position.found >= self.early_stop_after and position.best > score:
            return "early_stop"
        return RankedChunk(id=ids[first], score=score)

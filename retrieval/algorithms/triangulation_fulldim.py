"""`triangulation_fulldim`: by triangles in the space of the embedder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from retrieval.algorithms.hops import hop_walk
from retrieval.algorithms.rules import OWN, Rules
from retrieval.algorithms.triangles import sentence_stop, tightness
from retrieval.algorithms.ways import Way, best_first

if TYPE_CHECKING:
    from retrieval.protocols import Vector, Walking, WalkOptions
    from retrieval.walk import Trail

__all__ = ["TriangulationFulldim"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TriangulationFulldim:
    """Go where question, current and next chunk have their centroid by the question.

    Distances are Euclidean between the vectors as they are stored: with vectors of
    different lengths the lengths matter. There is no early stop: the walk ends at a
    budget, a dead end or the hop cap. The score of the walk is the mean distance of
    the centroids of its hops, the less the better.

    The description says no more than this. The published code, and the preset
    `published`, let the sentences of the current chunk compete with its neighbours,
    visited or not, and end the walk where a sentence wins, which is often at once;
    they read chunks one hop late, count sentences by text, order ties as they are
    stored, and report the mean of the best distances of each hop.
    """

    name: ClassVar[str] = "triangulation_fulldim"
    rules: Rules = OWN

    def walk(self, query: Vector, options: WalkOptions) -> Walking[Trail]:
        """Walk by centroids."""
        way = Way(
            measure=tightness,
            reason="centroid nearest to the question",
            stop=sentence_stop(tightness),
        )
        choose = best_first(way, options, self.rules)
        return hop_walk(query, options, choose, rules=self.rules, score_of="distances")

"""`triangulation_geometric_3d`: by triangles along the corpus's three main axes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from retrieval.algorithms.asking import ask_projection
from retrieval.algorithms.hops import Sight, hop_walk
from retrieval.algorithms.rules import OWN, Rules
from retrieval.algorithms.triangles import centroids, sentence_stop
from retrieval.algorithms.ways import Measure, Way, best_first

if TYPE_CHECKING:
    from retrieval.projection import Projection
    from retrieval.protocols import Vector, Walking, WalkOptions
    from retrieval.walk import Trail

__all__ = ["TriangulationGeometric3D"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TriangulationGeometric3D:
    """Do as `triangulation_fulldim` does, with vectors reduced to three dimensions.

    The axes are those along which the corpus's chunk vectors vary most. They are
    fitted once for each version of the corpus and kept; the question is projected as
    the chunks are, and a filter does not change them. The anchor is found with the
    whole vectors. The score of the walk is the mean distance of the centroids of its
    hops in the reduced space; `counts` tells which share of the variance it keeps.

    The description fits the axes to question and chunks. The published code, and the
    preset `published`, fit them to the question, all chunks and all sentences anew for
    each question, which costs a pass over the corpus; and they differ from these rules
    in all that `triangulation_fulldim` names.
    """

    name: ClassVar[str] = "triangulation_geometric_3d"
    rules: Rules = OWN

    def walk(self, query: Vector, options: WalkOptions) -> Walking[Trail]:
        """Ask for the axes, then walk by centroids of projected vectors."""
        self.rules.check(options)
        projection = yield from ask_projection(query if self.rules.refit else None)
        measure = _projected(projection)
        way = Way(
            measure=measure,
            reason="centroid nearest to the question in 3-D",
            stop=sentence_stop(measure),
        )
        choose = best_first(way, options, self.rules)
        trail = yield from hop_walk(
            query, options, choose, rules=self.rules, score_of="distances"
        )
        explained = round(float(projection.explained.sum()), 9)
        return replace(trail, counts={**trail.counts, "explainedVariance": explained})


def _projected(projection: Projection) -> Measure:
    """Return the measure of triangles in the reduced space."""

    def measure(sight: Sight) -> Vector:
        if not len(sight.vectors):
            return np.empty(0)
        corners = projection.points(np.stack([sight.query, sight.here]))
        return centroids(corners[0], corners[1], projection.points(sight.vectors))

    return measure

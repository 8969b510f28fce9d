"""Triangulations: hops by the triangle of question, current chunk and candidate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from knowtrail.retrieval.algorithms.asking import ask_homes, ask_projection
from knowtrail.retrieval.algorithms.best_first import Measure, Way, best_first
from knowtrail.retrieval.algorithms.hops import Position, Sight, hop_walk
from knowtrail.retrieval.algorithms.rules import OWN, Rules
from knowtrail.retrieval.cosine import cosines

if TYPE_CHECKING:
    from knowtrail.retrieval.algorithms.best_first import Stop
    from knowtrail.retrieval.projection import Projection
    from knowtrail.retrieval.protocols import Vector, Walking, WalkOptions
    from knowtrail.retrieval.walk import StopReason, Trail


def tightness(sight: Sight) -> Vector:
    """Return how near centroids in all dimensions are to the question, negated."""
    return centroids(sight.query, sight.here, sight.vectors)


def centroids(query: Vector, here: Vector, vectors: Vector) -> Vector:
    """Return how near the centroids of triangles are to the question, negated.

    Of question and current chunk, shape (d,), and each candidate, shape (n, d): the
    negative Euclidean distance of the question and their centroid.
    """
    apart = (query + here + vectors) / 3.0 - query
    distances: Vector = np.sqrt((apart * apart).sum(axis=1))
    return -distances


def sentence_stop(measure: Measure) -> Stop:
    """Return the stop at a sentence that scores better than every neighbour.

    It is a rule of the published code alone, see `Rules.sentence_ends`: the sentences
    of the current chunk compete with its neighbours, visited or not. Among equal
    scores the nearer to the question wins, and then the chunk. The best score of each
    hop is noted, as that is what the code reports.
    """

    def stop(
        position: Position, rows: list[int], measures: Vector
    ) -> Walking[StopReason | None]:
        sentences = position.visit.sentences
        if not position.harvest.rules.sentence_ends or not sentences:
            return None
        vectors = np.stack([s.vector for s in sentences])
        near = cosines(position.query, vectors)
        own = measure(position.sight(vectors, near))
        best = max(zip(own.tolist(), near.tolist(), strict=True))
        chunks = [(float(measures[i]), float(position.scores[i])) for i in rows]
        position.harvest.measured.append(max([best, *chunks])[0])
        return "sentence_is_best" if not chunks or best > max(chunks) else None
        yield

    return stop


@dataclass(frozen=True, slots=True, kw_only=True)
class TriangulationAverage:
    """Go where question, current chunk and next chunk are most alike on average.

    A candidate's score is the mean of three cosines: question and current chunk,
    question and candidate, current chunk and candidate. A sentence that was found is
    scored in the same way. Once `early_stop_after` sentences are there the walk stops
    if the best of them scores strictly better than the best unvisited neighbour. The
    score of the walk is the mean score of the chunks it went to.

    The description approximates the cosine of a sentence and the current chunk from
    scores that are at hand; here it is computed. The published code, and the preset
    `published`, take the cosine of the current chunk and the first chunk that holds
    the sentence instead. They also end a walk at a chunk one of whose sentences (then
    with the question's cosine twice) scores better than every neighbour, whether
    visited or not and however few sentences were found: the description knows no such
    stop, and neither do these rules. They read chunks one hop late, compare with
    visited neighbours too, count sentences by text, order ties as they are stored, and
    report the mean of the best scores of each hop.
    """

    name: ClassVar[str] = "triangulation_average"
    early_stop_after: int = 8
    rules: Rules = OWN

    def walk(self, query: Vector, options: WalkOptions) -> Walking[Trail]:
        """Walk by averages."""
        way = Way(
            measure=_average,
            reason="best average of question and chunk before",
            stop=self._stop,
        )
        choose = best_first(way, options, self.rules)
        return hop_walk(query, options, choose, rules=self.rules, score_of="hops")

    def _stop(
        self, position: Position, rows: list[int], measures: Vector
    ) -> Walking[StopReason | None]:
        """Stop where a sentence scores better than every chunk left."""
        ended = yield from sentence_stop(_sentence_average)(position, rows, measures)
        enough = position.harvest.found >= self.early_stop_after
        if self.rules.early_stop and enough and rows:
            best = yield from _best_found(position)
            if best > float(measures[rows].max()):
                return "early_stop"
        return ended


def _average(sight: Sight) -> Vector:
    alike = cosines(sight.here, sight.vectors)
    averages: Vector = (sight.nearness + sight.scores + alike) / 3.0
    return averages


def _sentence_average(sight: Sight) -> Vector:
    """Return the published code's mean for sentences of the current chunk."""
    averages: Vector = (sight.nearness + sight.scores + sight.scores) / 3.0
    return averages


def _best_found(position: Position) -> Walking[float]:
    harvest, here = position.harvest, position.here
    vectors = np.stack([s.vector for s in harvest.sentences])
    if harvest.rules.home_chunks:
        homes = yield from ask_homes(tuple(s.id for s in harvest.sentences))
        vectors = np.stack([homes.get(s.id, s.vector) for s in harvest.sentences])
    alike = cosines(here, vectors)
    return float(((position.nearness + np.array(harvest.scores) + alike) / 3.0).max())


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

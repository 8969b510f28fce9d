"""`triangulation_average`: towards chunks near both the question and the last chunk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from retrieval.algorithms.asking import ask_homes
from retrieval.algorithms.hops import Position, Sight, hop_walk
from retrieval.algorithms.rules import OWN, Rules
from retrieval.algorithms.triangles import sentence_stop
from retrieval.algorithms.ways import Way, best_first
from retrieval.cosine import cosines

if TYPE_CHECKING:
    from retrieval.protocols import Vector, Walking, WalkOptions
    from retrieval.walk import StopReason, Trail

__all__ = ["TriangulationAverage"]


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
    """Return the mean of the three cosines."""
    alike = cosines(sight.here, sight.vectors)
    averages: Vector = (sight.nearness + sight.scores + alike) / 3.0
    return averages


def _sentence_average(sight: Sight) -> Vector:
    """Return the published code's mean for sentences of the current chunk."""
    averages: Vector = (sight.nearness + sight.scores + sight.scores) / 3.0
    return averages


def _best_found(position: Position) -> Walking[float]:
    """Return the best score of a sentence found."""
    harvest, here = position.harvest, position.here
    vectors = np.stack([s.vector for s in harvest.sentences])
    if harvest.rules.home_chunks:
        homes = yield from ask_homes(tuple(s.id for s in harvest.sentences))
        vectors = np.stack([homes.get(s.id, s.vector) for s in harvest.sentences])
    alike = cosines(here, vectors)
    return float(((position.nearness + np.array(harvest.scores) + alike) / 3.0).max())

"""`kg_traversal`: from chunk to the chunk most like it, whatever was asked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from knowtrail.retrieval.algorithms.best_first import Way, best_first
from knowtrail.retrieval.algorithms.hops import Position, hop_walk
from knowtrail.retrieval.algorithms.rules import OWN, Rules
from knowtrail.retrieval.cosine import cosines

if TYPE_CHECKING:
    from knowtrail.retrieval.protocols import Vector, Walking, WalkOptions
    from knowtrail.retrieval.walk import StopReason, Trail


@dataclass(frozen=True, slots=True, kw_only=True)
class KgTraversal:
    """Go to the neighbour most similar to the current chunk, away from what was read.

    The question chooses the anchor and nothing else. Candidates are the unvisited
    out-neighbours that hold no sentence already found, which leaves overlapping
    windows out and makes the walk explore. From the second hop on it stops where the
    best candidate is no more similar to the current chunk than that one was to the
    chunk before it: similarity must rise, so that walks are short. The score of the
    walk is the mean cosine of its sentences to the question.

    Description and published code agree on these rules, and the code reads a chunk on
    arrival here as it does nowhere else. The code, and the preset `published`, know a
    sentence by its text, so that a chunk is left out also for a sentence that was
    found elsewhere in the same words; here it is known by identity. Their ties go by
    the stored order, these by chunk id. The code calls its last stop an early one,
    here it is `no_more_similar`.
    """

    name: ClassVar[str] = "kg_traversal"
    rules: Rules = OWN

    def walk(self, query: Vector, options: WalkOptions) -> Walking[Trail]:
        """Walk along the strongest similarities."""
        rules = replace(self.rules, late_reading=False, visited_too=False)
        way = Way(
            measure=lambda sight: cosines(sight.here, sight.vectors),
            reason="most similar to the chunk before",
            stop=self._stop,
            apart=True,
        )
        self.rules.check(options)
        choose = best_first(way, options, rules)
        return hop_walk(query, options, choose, rules=rules, apart=True)

    def _stop(
        self, position: Position, rows: list[int], measures: Vector
    ) -> Walking[StopReason | None]:
        """Stop where similarity no longer rises."""
        if not self.rules.early_stop or position.previous is None:
            return None
        fallen = float(measures[rows].max()) <= position.previous
        return "no_more_similar" if fallen else None
        yield

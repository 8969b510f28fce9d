"""What a walk has gathered so far, and when that is enough."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from retrieval.cosine import cosines, ranked
from retrieval.walk import FoundSentence, RankedChunk, Step, StopReason, Trail

if TYPE_CHECKING:
    from retrieval.protocols import (
        Candidates,
        StoredSentence,
        Vector,
        Visit,
        WalkOptions,
    )

__all__ = ["Harvest", "scored"]


def scored(query: Vector, sentences: list[StoredSentence]) -> tuple[FoundSentence, ...]:
    """Return sentences with their cosines to the question."""
    if not sentences:
        return ()
    scores = cosines(query, np.stack([s.vector for s in sentences]))
    return tuple(
        FoundSentence(
            id=s.id,
            text=s.text,
            index=s.index,
            start_char=s.start_char,
            end_char=s.end_char,
            score=float(score),
        )
        for s, score in zip(sentences, scores, strict=True)
    )


class Harvest:
    """Steps and sentences of a walk that is under way.

    A sentence counts once, by its id: two windows share the node of a sentence, while
    equal texts in two places are two sentences.

    Attributes:
        steps: The steps so far.
        visited: Ids of the chunks visited, or found to be gone.
        found: How many sentences have been found, before any cut.
        best: The highest cosine of a sentence found; -inf before the first.
    """

    def __init__(self, query: Vector, options: WalkOptions) -> None:
        self.query = query
        self.options = options
        self.steps: list[Step] = []
        self.visited: set[str] = set()
        self.found = 0
        self.best = float("-inf")
        self._seen: set[str] = set()
        self._fruitful = 0

    def new_sentences(self, visit: Visit) -> list[StoredSentence]:
        """Return those sentences of a chunk that have not been found yet."""
        return [s for s in visit.sentences if s.id not in self._seen]

    def gather(self, visit: Visit, *, score: float, hop: int) -> None:
        """Add a visited chunk and its new sentences as the next step.

        Args:
            visit: The chunk.
            score: Its cosine to the question.
            hop: Edges followed to it.
        """
        sentences = scored(self.query, self.new_sentences(visit))
        room = self.options.max_sentences
        kept = sentences if room is None else sentences[: max(0, room - self.found)]
        self.visited.add(visit.chunk.id)
        self._seen.update(s.id for s in sentences)
        self._fruitful += bool(kept)
        self.found += len(sentences)
        self.best = max(self.best, *(s.score for s in sentences), self.best)
        self.steps.append(
            Step(
                index=len(self.steps),
                hop=hop,
                chunk=visit.chunk,
                score=score,
                sentences=kept,
            )
        )

    def consider(self, candidates: Candidates, scores: Vector) -> None:
        """Note at the last step which chunks the walk could go to from it."""
        considered = tuple(
            RankedChunk(id=candidates.ids[i], score=float(scores[i]))
            for i in ranked(candidates.ids, scores)
        )
        self.steps[-1] = replace(self.steps[-1], considered=considered)

    def full(self) -> StopReason | None:
        """Return which budget is used up, or None."""
        options = self.options
        if options.max_sentences is not None and self.found >= options.max_sentences:
            return "sentence_limit"
        if options.max_chunks is not None and self._fruitful >= options.max_chunks:
            return "chunk_limit"
        return None

    def trail(
        self, stop_reason: StopReason, ranking: tuple[RankedChunk, ...] = ()
    ) -> Trail:
        """Return the walk as it stands, ended for a reason."""
        return Trail(steps=tuple(self.steps), stop_reason=stop_reason, ranking=ranking)

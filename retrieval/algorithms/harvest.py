"""What a walk has gathered so far, and when that is enough."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from knowtrail.retrieval.algorithms.asking import ask_elapsed, ask_visits
from knowtrail.retrieval.algorithms.rules import OWN, Rules
from knowtrail.retrieval.cosine import cosines, ranked
from knowtrail.retrieval.protocols import Later
from knowtrail.retrieval.walk import FoundSentence, RankedChunk, Step, StopReason, Trail

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from knowtrail.retrieval.algorithms.asking import Ranking
    from knowtrail.retrieval.protocols import (
        StoredSentence,
        Vector,
        Visit,
        Walking,
        WalkOptions,
    )

ScoreOf: TypeAlias = Literal["sentences", "steps", "hops", "distances"]
"""What a walk's score is the mean of: cosines of its sentences or of its steps, or
what the algorithm measured at each hop, negated where that is a distance."""


def scored(query: Vector, sentences: list[StoredSentence]) -> tuple[FoundSentence, ...]:
    """Return sentences with their cosines to the question."""
    if not sentences:
        return ()
    scores = cosines(query, np.stack([s.vector for s in sentences])).tolist()
    return tuple(
        FoundSentence(
            id=s.id,
            text=s.text,
            index=s.index,
            start_char=s.start_char,
            end_char=s.end_char,
            score=score,
        )
        for s, score in zip(sentences, scores, strict=True)
    )


class Harvest:
    """Steps and sentences of a walk that is under way, with its budgets and rules.

    A sentence counts once, by its id: two windows share the node of a sentence, while
    equal texts in two places are two sentences (but see `Rules.by_text`). `seen` has
    the keys of the sentences found, before any cut, `scores` their cosines, `best` the
    highest of these; `visited` has chunks found to be gone too.
    """

    def __init__(self, query: Vector, options: WalkOptions, rules: Rules = OWN) -> None:
        self.query = query
        self.options = options
        self.rules = rules
        self.hops = 0
        self.visited: set[str] = set()
        self.seen: set[str] = set()
        self.sentences: list[StoredSentence] = []
        self.scores: list[float] = []
        self.best = 0.0 if rules.from_zero else float("-inf")
        self.measured: list[float] = []
        self.counts: dict[str, Any] = {}
        self.fruitful = 0
        self._steps: list[Step] = []
        self._opened: dict[str, Visit] = {}
        self._elapsed = 0.0

    @property
    def found(self) -> int:
        """Return how many sentences have been found, before any cut."""
        return len(self.sentences)

    def new_sentences(self, visit: Visit) -> list[StoredSentence]:
        """Return those sentences of a chunk that have not been found yet."""
        new = {self.rules.key(s): s for s in reversed(visit.sentences)}
        return [
            s
            for s in visit.sentences
            if self.rules.key(s) not in self.seen and new[self.rules.key(s)] is s
        ]

    def open(self, chunk_ids: Sequence[str]) -> Walking[dict[str, Visit]]:
        """Return chunks with their neighbours, asking once for those not yet opened.

        Chunks that are gone count as visited, so that nobody goes there.
        """
        wanted = tuple(i for i in chunk_ids if i not in self._opened)
        if wanted:
            self._opened.update((yield from ask_visits(wanted)))
        opened = {i: self._opened[i] for i in chunk_ids if i in self._opened}
        self.visited.update(i for i in chunk_ids if i not in opened)
        return opened

    def arrive(
        self, visit: Visit, *, score: float, hop: int, reason: str
    ) -> Walking[None]:
        """Add a chunk as the next step, which has not been read yet."""
        elapsed = yield from ask_elapsed()
        self.visited.add(visit.chunk.id)
        self.hops += hop > 0
        step = Step(
            index=len(self._steps),
            hop=hop,
            chunk=visit.chunk,
            score=score,
            sentences=(),
            reason=reason,
            milliseconds=1000 * (elapsed - self._elapsed),
        )
        self._steps.append(step)
        self._elapsed = elapsed

    @property
    def last(self) -> tuple[str, int] | None:
        """Return chunk id and hop of the last step; None before the first."""
        if not self._steps:
            return None
        return self._steps[-1].chunk.id, self._steps[-1].hop

    @property
    def documents(self) -> set[str]:
        """Return the ids of the documents of the steps."""
        return {step.chunk.document_id for step in self._steps}

    def step_of(self, chunk_id: str) -> int | None:
        """Return the number of the step that visited a chunk; None for none."""
        ids = [step.chunk.id for step in self._steps]
        return ids.index(chunk_id) if chunk_id in ids else None

    def read(
        self, visit: Visit, *, most: int | None = None, least: float = 0.0
    ) -> None:
        """Take the new sentences of the chunk of the last step, at most so many.

        Those nearest to the question are taken. Each but the nearest must have the
        least share of the best cosine of all sentences so far.
        """
        new = self.new_sentences(visit)
        found = scored(self.query, new)
        nearest = sorted(range(len(new)), key=lambda i: (-found[i].score, i))[:most]
        bound = least * max([self.best, *(s.score for s in found)], default=0.0)
        kept_places = [
            i
            for i in nearest
            if not least or i == nearest[0] or found[i].score >= bound
        ]
        new = [new[i] for i in sorted(kept_places)]
        found = tuple([found[i] for i in sorted(kept_places)])
        room = self.options.max_sentences
        kept = found if room is None else found[: max(0, room - self.found)]
        self.seen.update(map(self.rules.key, new))
        self.sentences += new
        self.scores += [s.score for s in found]
        self.best = max(self.best, *(s.score for s in found), self.best)
        self.fruitful += bool(kept)
        self._steps[-1] = replace(self._steps[-1], sentences=kept)

    def consider(self, ids: Sequence[str], scores: Vector) -> None:
        """Note at the last step which chunks the walk could go to from it.

        Neither ids nor scores may change afterwards.
        """
        later = Later(partial(_ordered, ids, scores), len(ids))
        self._steps[-1] = replace(self._steps[-1], considered=later)

    def full(self, enough: int | None, chunks: int | None) -> StopReason | None:
        """Return which budget is used up, or None."""
        if enough is not None and self.found >= enough:
            return "sentence_limit"
        if chunks is not None and self.fruitful >= chunks:
            return "chunk_limit"
        return None

    def trail(
        self,
        stop_reason: StopReason,
        ranking: tuple[RankedChunk, ...] = (),
        *,
        score_of: ScoreOf = "sentences",
    ) -> Trail:
        """Return the walk as it stands, ended for a reason."""
        scores = {
            "sentences": [s.score for step in self._steps for s in step.sentences],
            "steps": [step.score for step in self._steps],
            "hops": self.measured,
            "distances": [-m for m in self.measured],
        }[score_of]
        return Trail(
            steps=tuple(self._steps),
            stop_reason=stop_reason,
            ranking=ranking,
            counts=dict(self.counts),
            score=float(np.mean(scores)) if scores else None,
        )


def take_ranked(
    harvest: Harvest,
    ranking: Ranking,
    *,
    reasons: Mapping[str, str] | None = None,
    early: Callable[[RankedChunk], bool] = lambda _: False,
) -> Walking[StopReason]:
    """Take the chunks of a ranking, with reasons by id, until it is enough.

    A chunk without new sentences is passed over; `early` says of the next one whether
    the walk stops before it.
    """
    options = harvest.options
    while (hit := (yield from ranking.next())) is not None:
        if early(hit):
            return "early_stop"
        visit = yield from ranking.visit(hit)
        if visit is None or not harvest.new_sentences(visit):
            continue
        reason = (reasons or {}).get(hit.id, "nearest to the question")
        yield from harvest.arrive(visit, score=hit.score, hop=0, reason=reason)
        harvest.read(visit)
        if stop := harvest.full(options.max_sentences, options.max_chunks):
            return stop
    return "chunks_exhausted" if ranking.ranked else "no_anchor"


def _ordered(ids: Sequence[str], scores: Vector) -> tuple[RankedChunk, ...]:
    """Return chunks by descending score, ties by id."""
    values = scores.tolist()
    return tuple([RankedChunk(id=ids[i], score=values[i]) for i in ranked(ids, scores)])

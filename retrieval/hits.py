"""What a search returns: a walk cut into hits, filled up where it ended early."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, TypeAlias

from knowtrail.retrieval.algorithms.asking import Ranking, keeping
from knowtrail.retrieval.algorithms.harvest import scored

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowtrail.retrieval.protocols import (
        Algorithm,
        Vector,
        Visit,
        Walking,
        WalkOptions,
    )
    from knowtrail.retrieval.walk import ChunkText, FoundSentence, Trail

Granularity: TypeAlias = Literal["chunk", "sentence"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One result: a chunk with its new sentences, or one of these.

    Attributes:
        chunk: The chunk.
        sentences: Its sentences that no earlier hit has; never empty.
        score: Cosine of the chunk, or of the sentence where a hit is a sentence.
        hop: Edges followed from the anchor; None for a filled hit.
        path: Ids of the chunks from the anchor to this one.
        filled: Whether it comes from the anchor ranking, after the walk's end.
        rerank_score: What a reranker gave it, which then says its place; None where
            none was asked.
    """

    chunk: ChunkText
    sentences: tuple[FoundSentence, ...]
    score: float
    hop: int | None
    path: tuple[str, ...]
    filled: bool = False
    rerank_score: float | None = None

    @property
    def text(self) -> str:
        """Return the new sentences, with what stands between them in the document."""
        parts = [self.sentences[0].text]
        begin = self.chunk.start_char
        for one, after in pairwise(self.sentences):
            between = self.chunk.text[one.end_char - begin : after.start_char - begin]
            parts += [between if after.index == one.index + 1 else " ", after.text]
        return "".join(parts)


def searching(
    algorithm: Algorithm,
    query: Vector,
    options: WalkOptions,
    *,
    k: int | None = None,
    granularity: Granularity = "chunk",
) -> Walking[tuple[Trail, tuple[Hit, ...]]]:
    """Walk, and cut the walk into hits.

    A walk that ends with less than `k`, which takes the place of the sentence budget,
    is filled up from the anchor ranking, with chunks that have a sentence not yet
    returned: there are fewer only where the corpus has no more. None returns the walk
    as it is.
    """
    by_sentence = granularity == "sentence"
    if k is not None:
        options = replace(
            options,
            max_sentences=k if by_sentence else None,
            max_chunks=None if by_sentence else k,
        )
    opened: dict[str, Visit] = {}
    walk = algorithm.walk(query, options)
    trail = yield from (walk if k is None else keeping(walk, opened))
    hits = [
        hit for whole in _walked(trail) for hit in _cut(whole, by_sentence=by_sentence)
    ]
    if k is not None and trail.ranking:
        seen = {s.id for step in trail.steps for s in step.sentences}
        known, complete = trail.ranking, trail.stop_reason == "chunks_exhausted"
        # A walk may leave out what a chunk says beside the question: that comes last.
        for walked in (trail.steps, ()):
            ranking = Ranking(
                query,
                known=known,
                complete=complete,
                wanted=(k - len(hits)) // (3 if by_sentence else 1),
                opened=opened,
            )
            ranking.skip(step.chunk.id for step in walked)
            while len(hits) < k and (best := (yield from ranking.next())) is not None:
                visit = yield from keeping(ranking.visit(best), opened)
                said = () if visit is None else visit.sentences
                new = [s for s in said if s.id not in seen]
                if visit is None or not new:
                    continue
                seen.update(s.id for s in new)
                whole = Hit(
                    chunk=visit.chunk,
                    sentences=scored(query, new),
                    score=best.score,
                    hop=None,
                    path=(visit.chunk.id,),
                    filled=True,
                )
                hits += _cut(whole, by_sentence=by_sentence)
            known, complete = ranking.ranked, ranking.complete
    return trail, tuple(hits if k is None else hits[:k])


def _walked(trail: Trail) -> Iterator[Hit]:
    """Yield a hit for each step with a new sentence."""
    path: list[str] = []
    for step in trail.steps:
        path = [*(path if step.hop else []), step.chunk.id]
        if step.sentences:
            yield Hit(
                chunk=step.chunk,
                sentences=step.sentences,
                score=step.score,
                hop=step.hop,
                path=tuple(path),
            )


def _cut(hit: Hit, *, by_sentence: bool) -> list[Hit]:
    if not by_sentence:
        return [hit]
    return [replace(hit, sentences=(s,), score=s.score) for s in hit.sentences]

"""Reranking as the last stage of a search: more candidates, another order, a cut."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from knowtrail.graph.errors import InputError, check_whole
from knowtrail.graph.telemetry import span
from knowtrail.retrieval.rerank.base import BaseReranker, load_reranker
from knowtrail.retrieval.rerank.order import (
    MOST_CANDIDATES,
    achecked_scores,
    best_first,
    checked_scores,
    reranker_name,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.hits import Hit
    from knowtrail.retrieval.questions import Task

OPEN = ("bm25", "embedding")
"""Rerankers that whoever calls a procedure may name.

A name can make the server read a file, load a model of gigabytes or pay a service. So
only those without a model of their own are open to everyone, and the one that the
server's settings name.
"""

CANDIDATES = 50
_SLOW_TO_LOAD = ("cross-encoder:", "zeroentropy:")
_LOADING = threading.Lock()


def check_open(name: str, settings: Settings | None) -> None:
    """Refuse a reranker that a caller of a procedure may not name."""
    own = None if settings is None else settings.reranker
    allowed = [*OPEN, *([own] if own else [])]
    if name not in allowed:
        raise InputError(
            f"rerank is {name[:80]!r}: use one of {', '.join(allowed)}. Another one "
            "must be named in the server's settings (KNOWTRAIL_RERANKER)."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reranked:
    """What reranking did to a search: how many hits were scored, and in what time."""

    name: str
    candidates: int
    milliseconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """How so many hits of a search are reranked.

    Without a reranker by the cosines that hits bring along, which are those of the
    corpus's own vectors.
    """

    name: str
    reranker: BaseReranker | None
    candidates: int


def stage_of(
    rerank: str | BaseReranker | None,
    candidates: int,
    *,
    k: int | None = None,
    settings: Settings | None = None,
    embedder: Embedder | None = None,
) -> Stage | None:
    """Return the stage that a caller asks for, before anything is searched.

    As many hits are scored as are wanted (`k`), where that is more.
    """
    if rerank is None:
        return None
    check_whole("rerank_candidates", candidates, 1, MOST_CANDIDATES)
    if k is not None and k > MOST_CANDIDATES:
        msg = f"k is {str(k)[:80]}: with rerank, give at most {MOST_CANDIDATES}."
        raise InputError(msg)
    candidates = max(candidates, k or 0)
    if rerank == "embedding":
        return Stage(name="embedding", reranker=None, candidates=candidates)
    if not isinstance(rerank, BaseReranker):
        if not isinstance(rerank, str):
            msg = f"rerank is {str(rerank)[:80]!r}: give a name or a BaseReranker."
            raise InputError(msg)
        rerank = _named(rerank, settings, embedder)
    return Stage(name=reranker_name(rerank), reranker=rerank, candidates=candidates)


def _named(
    name: str, settings: Settings | None, embedder: Embedder | None
) -> BaseReranker:
    """Load a reranker; one that takes long is loaded once a process."""
    if name.startswith(_SLOW_TO_LOAD):
        with _LOADING:
            return _kept(name, settings)
    return load_reranker(name, settings=settings, embedder=embedder)


@lru_cache(maxsize=4)
def _kept(name: str, settings: Settings | None) -> BaseReranker:
    return load_reranker(name, settings=settings)


async def arerank_hits(
    stage: Stage | None, task: Task, hits: Sequence[Hit], *, blocks: bool = False
) -> tuple[tuple[Hit, ...], Reranked | None]:
    """Return the best hits in the reranker's order; without a stage as they are.

    A chunk is scored by its whole text. Each hit then has those of its sentences that
    no better hit has; a chunk of which none is left is left out. It waits for nothing
    where it blocks.
    """
    if stage is None:
        return tuple(hits), None
    begin = time.perf_counter()
    texts = [h.text if task.granularity == "sentence" else h.chunk.text for h in hits]
    with span("rerank", model=stage.name, candidates=len(hits)):
        if stage.reranker is None:
            scores = [hit.score for hit in hits]
        elif blocks:
            scores = checked_scores(stage.reranker, task.question, texts)
        else:
            scores = await achecked_scores(stage.reranker, task.question, texts)
    took = (time.perf_counter() - begin) * 1000
    told = Reranked(name=stage.name, candidates=len(hits), milliseconds=took)
    return _ordered(task, hits, scores), told


def _ordered(
    task: Task, hits: Sequence[Hit], scores: Sequence[float]
) -> tuple[Hit, ...]:
    by_sentence = task.granularity == "sentence"
    ids = [h.sentences[0].id if by_sentence else h.chunk.id for h in hits]
    ranked = [
        replace(hits[place], rerank_score=scores[place])
        for place in best_first(scores, ids)
    ]
    found = ranked if by_sentence else _cut_anew(ranked)
    if task.k is not None:
        return tuple(found[: task.k])
    return tuple(_within(found, task.options.max_sentences))


def _cut_anew(ranked: Sequence[Hit]) -> list[Hit]:
    """Give each chunk those of its sentences that no better one has."""
    # Every sentence of a candidate stands in one of the candidates, if not in its own
    # hit then in that of an earlier one which overlaps with it.
    known = {(h.chunk.document_id, s.index): s for h in ranked for s in h.sentences}
    found = []
    for hit in ranked:
        chunk = hit.chunk
        places = range(chunk.first_sentence, chunk.last_sentence + 1)
        taken = (known.pop((chunk.document_id, place), None) for place in places)
        if sentences := tuple(s for s in taken if s is not None):
            found.append(replace(hit, sentences=sentences))
    return found


def _within(hits: Sequence[Hit], most: int | None) -> list[Hit]:
    """Return the first hits that have so many sentences, the last one cut."""
    if most is None:
        return list(hits)
    found = []
    for hit in hits:
        if most <= 0:
            break
        found.append(replace(hit, sentences=hit.sentences[:most]))
        most -= len(hit.sentences)
    return found

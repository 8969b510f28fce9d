"""Answer a question from a corpus: check, embed, walk, cut into hits."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from knowtrail.graph.blocking import Blocking, at_once, blocking, in_thread
from knowtrail.graph.errors import InputError
from knowtrail.retrieval.corpora import aground
from knowtrail.retrieval.driving import arun, walk_span
from knowtrail.retrieval.hits import Hit, searching
from knowtrail.retrieval.questions import WalkSettings, check_question
from knowtrail.retrieval.readers.opening import open_areader
from knowtrail.retrieval.rerank.stage import (
    CANDIDATES,
    Reranked,
    arerank_hits,
    stage_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowtrail.graph.db.connection import AsyncConnection, Connection
    from knowtrail.graph.models.language_models import LanguageModel
    from knowtrail.retrieval.corpora import Ground
    from knowtrail.retrieval.hits import Granularity
    from knowtrail.retrieval.protocols import AsyncGraphReader
    from knowtrail.retrieval.questions import Task
    from knowtrail.retrieval.readers.opening import OpenReader
    from knowtrail.retrieval.rerank.base import BaseReranker
    from knowtrail.retrieval.rerank.stage import Stage
    from knowtrail.retrieval.walk import Walk


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """A walk and the hits that were made of it.

    Attributes:
        walk: The walk itself.
        hits: One for each result, in the order of the walk, filled ones last; or in
            the order of the reranker.
        reranked: What the reranker did; None where none was asked.
    """

    walk: Walk
    hits: tuple[Hit, ...]
    reranked: Reranked | None = None


class SearchSettings(WalkSettings, total=False):
    """What can be asked of a search.

    Attributes:
        k: Hits wanted; takes the place of `max_sentences`, and a walk that ends
            earlier is filled up from the anchor ranking. None: the walk as it is.
        granularity: Whether a hit is a `chunk`, as by default, or a `sentence`.
        rerank: A reranker or its name (`load_reranker`), for another order of hits.
        rerank_candidates: Hits that it chooses from, 50, or `k` where that is more.
        score_threshold: The least cosine of a hit, from -1 to 1; hits below are left
            out before the reranker sees them.
        vector: The question's vector, where the caller has it: nothing is embedded,
            and the question may be empty.
    """

    k: int | None
    granularity: Granularity
    rerank: str | BaseReranker | None
    rerank_candidates: int
    score_threshold: float | None
    vector: Sequence[float] | None


def search(
    connection: Connection, question: str, **asked: Unpack[SearchSettings]
) -> SearchResult:
    """Answer a question with chunks found by an algorithm; nothing is recorded.

    Args:
        connection: The database; it is left open.
        question: At most 10,000 characters.
        **asked: `corpus`, `k`, reranker, budgets, filter and the rest, see
            `SearchSettings`.

    Returns:
        The walk and its hits; no hits where nothing passes the filter.

    Raises:
        InputError: If question, algorithm, corpus, filter or a number is no good.
        CorpusDriftError: If the corpus was embedded with another model.
        DatabaseError: If the database fails.
    """
    return at_once(asearch(blocking(connection), question, **asked))


async def asearch(
    connection: AsyncConnection, question: str, **asked: Unpack[SearchSettings]
) -> SearchResult:
    """Do as `search` does, without blocking; see there.

    An embedder without `aembed_query` runs in a thread.
    """
    rest: dict[str, Any] = {"embedder": None, "settings": None, **asked}
    settings, model = rest.pop("settings"), rest.pop("model", None)
    place = {name: rest.pop(name, None) for name in ("embedder", "corpus", "vector")}
    least, rerank = rest.pop("score_threshold", None), rest.pop("rerank", None)
    candidates = rest.pop("rerank_candidates", CANDIDATES)
    check_threshold(least)

    def checked() -> tuple[Task, Stage | None]:
        task = check_question(question, embedded=place["vector"] is not None, **rest)
        more = {"k": task.k, "settings": settings, "embedder": place["embedder"]}
        return task, stage_of(rerank, candidates, **more)

    task, stage = await in_thread(connection, checked)
    start = await aground(connection, question=question, settings=settings, **place)
    opened = await open_areader(connection, start.corpus, task, settings=settings)
    model = task.language_model(model, settings)
    blocks = isinstance(connection, Blocking)
    return await asearched(
        opened, start, task, stage=stage, least=least, model=model, blocks=blocks
    )


async def asearched(
    opened: OpenReader[AsyncGraphReader],
    start: Ground,
    task: Task,
    *,
    stage: Stage | None = None,
    least: float | None = None,
    model: LanguageModel | None = None,
    blocks: bool = False,
) -> SearchResult:
    """Walk over an open reader, and return the hits with at least so much cosine.

    A `stage` puts them in its order, in a thread unless the caller `blocks`.
    """
    walking = searching(
        task.algorithm,
        start.query,
        task.options,
        k=task.k if stage is None else stage.candidates,
        granularity=task.granularity,
    )
    begin = time.perf_counter()
    with walk_span(task, start, opened.name):
        trail, hits = await arun(opened.reader, walking, model)
    seconds = time.perf_counter() - begin
    near = [hit for hit in hits if least is None or hit.score >= least]
    best, reranked = await arerank_hits(stage, task, near, blocks=blocks)
    used: dict[str, str | int | None] = {}
    if stage is not None:
        used = {"rerank": stage.name, "rerankCandidates": stage.candidates}
    used |= {"k": task.k, "granularity": task.granularity, "reader": opened.name}
    walk = task.walk(start.corpus.name, trail, seconds, **used)
    return SearchResult(walk=walk, hits=best, reranked=reranked)


def check_threshold(given: float | None) -> None:
    """Refuse a least cosine that is none.

    Raises:
        InputError: If it is no number from -1 to 1.
    """
    number = isinstance(given, int | float) and not isinstance(given, bool)
    if given is not None and not (number and -1 <= given <= 1):
        msg = f"score_threshold is {str(given)[:80]}: give a cosine from -1 to 1."
        raise InputError(msg)

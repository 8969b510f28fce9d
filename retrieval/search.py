"""Answer a question from a corpus: check, embed, walk, cut into hits."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

from knowtrail.graph.errors import InputError
from knowtrail.retrieval.algorithms import DEFAULT_ALGORITHM
from knowtrail.retrieval.corpora import CorpusInfo, acorpora, aground, corpora, ground
from knowtrail.retrieval.driving import arun, run, walk_span
from knowtrail.retrieval.hits import Hit, searching
from knowtrail.retrieval.questions import Task, WalkSettings, check_question
from knowtrail.retrieval.readers.opening import open_areader, open_reader
from knowtrail.retrieval.rerank.stage import (
    CANDIDATES,
    Reranked,
    Stage,
    arerank_hits,
    rerank_hits,
    stage_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowtrail.graph.db.connection import AsyncConnection, Connection
    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.graph.models.language_models import LanguageModel
    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.hits import Granularity
    from knowtrail.retrieval.protocols import Algorithm, Vector, Walking
    from knowtrail.retrieval.rerank.base import BaseReranker
    from knowtrail.retrieval.walk import Trail, Walk

__all__ = [
    "CorpusInfo",
    "SearchResult",
    "SearchSettings",
    "Task",
    "acorpora",
    "asearch",
    "check_question",
    "corpora",
    "search",
]


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
    connection: Connection,
    question: str,
    *,
    embedder: Embedder | None = None,
    corpus: str | None = None,
    algorithm: str | Algorithm = DEFAULT_ALGORITHM,
    model: LanguageModel | None = None,
    settings: Settings | None = None,
    **asked: Unpack[SearchSettings],
) -> SearchResult:
    """Answer a question with chunks found by an algorithm; nothing is recorded.

    Args:
        connection: The database; it is left open.
        question: At most 10,000 characters.
        embedder: The model that the corpus was embedded with; None loads the one
            of the settings, or else the one that the corpus names, once a process.
        corpus: Name of the corpus; may be left out where there is only one.
        algorithm: Name of the algorithm, or one of your own (an `Algorithm`).
        model: The language model of `llm_guided_traversal`; None loads that of the
            settings.
        settings: Where embedder, language model and snapshots are found.
        **asked: `k`, reranker, budgets, filter and the rest, see `SearchSettings`.

    Returns:
        The walk and its hits; no hits where nothing passes the filter.

    Raises:
        InputError: If question, algorithm, corpus, filter or a number is no good.
        CorpusDriftError: If the corpus was embedded with another model.
        DatabaseError: If the database fails.
    """
    task, stage, least, vector = _checked(
        question, algorithm, asked, settings, embedder
    )
    start = ground(
        connection, embedder, question, corpus=corpus, settings=settings, vector=vector
    )
    opened = open_reader(connection, start.corpus, task, settings=settings)
    asking = task.language_model(model, settings)
    begin = time.perf_counter()
    with walk_span(task, start, opened.name):
        walking = searching_for(task, start.query, stage)
        trail, hits = run(opened.reader, walking, asking)
    seconds = time.perf_counter() - begin
    hits, reranked = rerank_hits(stage, task, _above(least, hits))
    result = result_of(
        task, start.corpus.name, trail, hits, seconds, reader=opened.name, stage=stage
    )
    return replace(result, reranked=reranked)


async def asearch(
    connection: AsyncConnection,
    question: str,
    *,
    embedder: Embedder | None = None,
    corpus: str | None = None,
    algorithm: str | Algorithm = DEFAULT_ALGORITHM,
    model: LanguageModel | None = None,
    settings: Settings | None = None,
    **asked: Unpack[SearchSettings],
) -> SearchResult:
    """Do as `search` does, without blocking; see there.

    An embedder without `aembed_query` runs in a thread.
    """
    task, stage, least, vector = await asyncio.to_thread(
        _checked, question, algorithm, asked, settings, embedder
    )
    start = await aground(
        connection, embedder, question, corpus=corpus, settings=settings, vector=vector
    )
    opened = await open_areader(connection, start.corpus, task, settings=settings)
    asking = task.language_model(model, settings)
    begin = time.perf_counter()
    with walk_span(task, start, opened.name):
        walking = searching_for(task, start.query, stage)
        trail, hits = await arun(opened.reader, walking, asking)
    seconds = time.perf_counter() - begin
    hits, reranked = await arerank_hits(stage, task, _above(least, hits))
    result = result_of(
        task, start.corpus.name, trail, hits, seconds, reader=opened.name, stage=stage
    )
    return replace(result, reranked=reranked)


def _checked(
    question: str,
    algorithm: str | Algorithm,
    asked: SearchSettings,
    settings: Settings | None,
    embedder: Embedder | None,
) -> tuple[Task, Stage | None, float | None, Sequence[float] | None]:
    """Return task, reranking, least cosine and vector of what is asked."""
    rest: dict[str, Any] = dict(asked)
    vector, least = rest.pop("vector", None), rest.pop("score_threshold", None)
    rerank = rest.pop("rerank", None)
    candidates = rest.pop("rerank_candidates", CANDIDATES)
    check_threshold(least)
    task = check_question(
        question, algorithm=algorithm, embedded=vector is not None, **rest
    )
    stage = stage_of(rerank, candidates, k=task.k, settings=settings, embedder=embedder)
    return task, stage, least, vector


def check_threshold(given: float | None) -> None:
    """Refuse a least cosine that is none.

    Raises:
        InputError: If it is no number from -1 to 1.
    """
    number = isinstance(given, int | float) and not isinstance(given, bool)
    if given is not None and not (number and -1 <= given <= 1):
        msg = f"score_threshold is {str(given)[:80]}: give a cosine from -1 to 1."
        raise InputError(msg)


def _above(threshold: float | None, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
    """Return the hits with at least a cosine."""
    return tuple(hit for hit in hits if threshold is None or hit.score >= threshold)


def searching_for(
    task: Task, query: Vector, stage: Stage | None = None
) -> Walking[tuple[Trail, tuple[Hit, ...]]]:
    """Return the walk of a task that ends with hits, to be run over a reader.

    Args:
        task: The checked question.
        query: Its vector.
        stage: What chooses among the hits afterwards, and how many it wants.
    """
    return searching(
        task.algorithm,
        query,
        task.options,
        k=task.k if stage is None else stage.candidates,
        granularity=task.granularity,
    )


def result_of(
    task: Task,
    corpus: str,
    trail: Trail,
    hits: tuple[Hit, ...],
    seconds: float,
    *,
    reader: str | None = None,
    stage: Stage | None = None,
) -> SearchResult:
    """Return the outcome of a search with what it was made from."""
    used: dict[str, str | int | None] = {}
    if stage is not None:
        used = {"rerank": stage.name, "rerankCandidates": stage.candidates}
    walk = task.walk(
        corpus,
        trail,
        seconds,
        k=task.k,
        granularity=task.granularity,
        reader=reader,
        **used,
    )
    return SearchResult(walk=walk, hits=hits)

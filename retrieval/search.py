"""Answer a question from a corpus: check, embed, walk, cut into hits."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Unpack

from knowtrail.retrieval.algorithms import DEFAULT_ALGORITHM
from knowtrail.retrieval.corpora import CorpusInfo, acorpora, aground, corpora, ground
from knowtrail.retrieval.driving import arun, run
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


def search(
    connection: Connection,
    question: str,
    *,
    embedder: Embedder | None = None,
    corpus: str | None = None,
    algorithm: str | Algorithm = DEFAULT_ALGORITHM,
    k: int | None = None,
    granularity: Granularity = "chunk",
    rerank: str | BaseReranker | None = None,
    rerank_candidates: int = CANDIDATES,
    model: LanguageModel | None = None,
    settings: Settings | None = None,
    **asked: Unpack[WalkSettings],
) -> SearchResult:
    """Answer a question with chunks found by an algorithm; nothing is recorded.

    Args:
        connection: The database; it is left open.
        question: At most 10,000 characters.
        embedder: The model that the corpus was embedded with; None loads the one
            of the settings, or else the one that the corpus names, once a process.
        corpus: Name of the corpus; may be left out where there is only one.
        algorithm: Name of the algorithm, or one of your own (an `Algorithm`).
        k: Hits wanted; takes the place of `max_sentences`, and a walk that ends
            earlier is filled up from the anchor ranking. None: the walk as it is.
        granularity: Whether a hit is a chunk or a sentence.
        rerank: A reranker or its name (`load_reranker`), for another order of hits.
        rerank_candidates: Hits that it chooses from, `k` where that is more.
        model: The language model of `llm_guided_traversal`; None loads that of the
            settings.
        settings: Where embedder, language model and snapshots are found.
        **asked: Budgets, filter and the rest, see `WalkSettings`.

    Returns:
        The walk and its hits; no hits where nothing passes the filter.

    Raises:
        InputError: If question, algorithm, corpus, filter or a number is no good.
        CorpusDriftError: If the corpus was embedded with another model.
        DatabaseError: If the database fails.
    """
    task = check_question(
        question, algorithm=algorithm, k=k, granularity=granularity, **asked
    )
    stage = stage_of(
        rerank, rerank_candidates, k=k, settings=settings, embedder=embedder
    )
    start = ground(connection, embedder, question, corpus=corpus, settings=settings)
    opened = open_reader(connection, start.corpus, task, settings=settings)
    asking = task.language_model(model, settings)
    begin = time.perf_counter()
    trail, hits = run(opened.reader, searching_for(task, start.query, stage), asking)
    seconds = time.perf_counter() - begin
    hits, reranked = rerank_hits(stage, task, hits)
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
    k: int | None = None,
    granularity: Granularity = "chunk",
    rerank: str | BaseReranker | None = None,
    rerank_candidates: int = CANDIDATES,
    model: LanguageModel | None = None,
    settings: Settings | None = None,
    **asked: Unpack[WalkSettings],
) -> SearchResult:
    """Do as `search` does, without blocking; see there.

    An embedder without `aembed_query` runs in a thread.
    """
    task = check_question(
        question, algorithm=algorithm, k=k, granularity=granularity, **asked
    )
    stage = await asyncio.to_thread(
        stage_of, rerank, rerank_candidates, k=k, settings=settings, embedder=embedder
    )
    start = await aground(
        connection, embedder, question, corpus=corpus, settings=settings
    )
    opened = await open_areader(connection, start.corpus, task, settings=settings)
    asking = task.language_model(model, settings)
    begin = time.perf_counter()
    walking = searching_for(task, start.query, stage)
    trail, hits = await arun(opened.reader, walking, asking)
    seconds = time.perf_counter() - begin
    hits, reranked = await arerank_hits(stage, task, hits)
    result = result_of(
        task, start.corpus.name, trail, hits, seconds, reader=opened.name, stage=stage
    )
    return replace(result, reranked=reranked)


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

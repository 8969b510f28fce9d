"""Answer a question from a corpus: check, embed, walk, cut into hits."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

from knowtrail.graph.blocking import Blocking, at_once, blocking, in_thread
from knowtrail.graph.errors import InputError
from knowtrail.retrieval.corpora import aground
from knowtrail.retrieval.driving import arun, walk_span
from knowtrail.retrieval.hits import Hit, searching
from knowtrail.retrieval.questions import Task, WalkSettings, check_question
from knowtrail.retrieval.readers.opening import open_areader
from knowtrail.retrieval.rerank.stage import (
    CANDIDATES,
    Reranked,
    Stage,
    arerank_hits,
    stage_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowtrail.graph.db.connection import AsyncConnection, Connection
    from knowtrail.graph.models.language_models import LanguageModel
    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.hits import Granularity
    from knowtrail.retrieval.protocols import Vector, Walking
    from knowtrail.retrieval.rerank.base import BaseReranker
    from knowtrail.retrieval.walk import Trail, Walk


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
    plan = await in_thread(connection, _planned, question, asked)
    start = await aground(connection, question=question, **plan.ground)
    task, settings = plan.task, plan.settings
    opened = await open_areader(connection, start.corpus, task, settings=settings)
    model = task.language_model(plan.model, settings)
    begin = time.perf_counter()
    with walk_span(task, start, opened.name):
        trail, hits = await arun(opened.reader, plan.walking(start.query), model)
    seconds = time.perf_counter() - begin
    blocks = isinstance(connection, Blocking)
    best = await arerank_hits(plan.stage, task, plan.near(hits), blocks=blocks)
    name, corpus = opened.name, start.corpus.name
    return plan.result(corpus, trail, *best, seconds=seconds, reader=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A checked search; `ground` is what `corpora.ground` takes, by name."""

    task: Task
    stage: Stage | None = None
    least: float | None = None
    ground: dict[str, Any] = field(default_factory=dict)
    model: LanguageModel | None = None
    settings: Settings | None = None

    def walking(self, query: Vector) -> Walking[tuple[Trail, tuple[Hit, ...]]]:
        """Return the walk that ends with hits, to be run over a reader."""
        task, stage = self.task, self.stage
        return searching(
            task.algorithm,
            query,
            task.options,
            k=task.k if stage is None else stage.candidates,
            granularity=task.granularity,
        )

    def near(self, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
        """Return the hits with at least the cosine that is asked for."""
        return tuple(h for h in hits if self.least is None or h.score >= self.least)

    def result(
        self,
        corpus: str,
        trail: Trail,
        hits: tuple[Hit, ...],
        reranked: Reranked | None = None,
        *,
        seconds: float,
        reader: str | None = None,
    ) -> SearchResult:
        """Return the outcome with what it was made from."""
        task, stage = self.task, self.stage
        used: dict[str, str | int | None] = {}
        if stage is not None:
            used = {"rerank": stage.name, "rerankCandidates": stage.candidates}
        used |= {"k": task.k, "granularity": task.granularity, "reader": reader}
        walk = task.walk(corpus, trail, seconds, **used)
        return SearchResult(walk=walk, hits=hits, reranked=reranked)


def _planned(question: str, asked: SearchSettings) -> Plan:
    rest: dict[str, Any] = {"embedder": None, "settings": None, **asked}
    settings, model = rest.pop("settings"), rest.pop("model", None)
    place = {name: rest.pop(name, None) for name in ("embedder", "corpus", "vector")}
    least, rerank = rest.pop("score_threshold", None), rest.pop("rerank", None)
    candidates = rest.pop("rerank_candidates", CANDIDATES)
    check_threshold(least)
    task = check_question(question, embedded=place["vector"] is not None, **rest)
    stage = stage_of(
        rerank, candidates, k=task.k, settings=settings, embedder=place["embedder"]
    )
    return Plan(
        task=task,
        stage=stage,
        least=least,
        ground=place | {"settings": settings},
        model=model,
        settings=settings,
    )


def check_threshold(given: float | None) -> None:
    """Refuse a least cosine that is none.

    Raises:
        InputError: If it is no number from -1 to 1.
    """
    number = isinstance(given, int | float) and not isinstance(given, bool)
    if given is not None and not (number and -1 <= given <= 1):
        msg = f"score_threshold is {str(given)[:80]}: give a cosine from -1 to 1."
        raise InputError(msg)

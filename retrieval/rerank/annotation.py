"""Scores for a file of queries: kept as they come, written when all are there.

Beside the target stands, while the work goes on, a file `.NAME.scores.jsonl` with one
line a query: a key made of the reranker, the query and its documents, and the scores.
A run finds there what an earlier one has scored, so that nothing is computed or paid
for twice; what belongs to another reranker or to changed texts has another key.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from knowtrail.graph.cli.progress import silent
from knowtrail.graph.errors import InputError
from knowtrail.graph.files.journal import State
from knowtrail.ingest.keys import content_key
from knowtrail.retrieval.rerank.datasets import (
    AnnotatedDocument,
    AnnotatedQueryDocuments,
    QueryDocuments,
    read_queries,
    write_annotated,
)
from knowtrail.retrieval.rerank.order import achecked_scores

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowtrail.graph.cli.progress import Progress
    from knowtrail.retrieval.rerank.base import BaseReranker

STAGE = "Scoring queries"


async def annotate(
    reranker: BaseReranker,
    source: str | Path,
    target: str | Path,
    *,
    document_limit: int | None = None,
    progress: Progress | None = None,
) -> int:
    """Score every document of a file; see `BaseReranker.annotate`."""
    if document_limit is not None and document_limit < 1:
        raise InputError(
            f"The document limit is {document_limit}: give 1 or more, or leave it out."
        )
    await asyncio.to_thread(_check_places, Path(source), Path(target))
    path = scores_path(target)
    with await asyncio.to_thread(
        State, path.parent, name=path.name, sync_seconds=1.0
    ) as kept:
        items = (_limited(item, document_limit) for item in read_queries(source))
        await _score_all(reranker, items, kept, progress or silent)
        done = (
            _annotated(item, kept.get(_key(reranker, item)))
            for item in (_limited(one, document_limit) for one in read_queries(source))
        )
        count = await asyncio.to_thread(write_annotated, target, done)
        await asyncio.to_thread(kept.remove)
    return count


def scores_path(target: str | Path) -> Path:
    """Return where the scores are kept while a target is being made."""
    path = Path(target)
    return path.with_name(f".{path.name[:200]}.scores.jsonl")


def _limited(item: QueryDocuments, limit: int | None) -> QueryDocuments:
    return QueryDocuments(query=item.query, documents=item.documents[:limit])


async def _score_all(
    reranker: BaseReranker,
    items: Iterator[QueryDocuments],
    kept: State,
    progress: Progress,
) -> None:
    """Score what is not known, as many queries at once as the reranker takes."""
    # Where one fails or this is cancelled, those under way end first and are kept.
    running: set[asyncio.Task[None]] = set()
    done = 0

    async def one(item: QueryDocuments, key: str) -> None:
        texts = [document.content for document in item.documents]
        kept.put(key, await achecked_scores(reranker, item.query.query, texts))

    try:
        for item in items:
            key = _key(reranker, item)
            if key not in kept:
                running.add(asyncio.create_task(one(item, key)))
            if len(running) >= max(1, reranker.concurrency):
                running = await left(running, asyncio.FIRST_COMPLETED)
            done += 1
            progress(STAGE, done, None)
        while running:
            running = await left(running, asyncio.FIRST_EXCEPTION)
    finally:
        if running:
            await asyncio.gather(*running, return_exceptions=True)


async def left(running: set[asyncio.Task[None]], when: str) -> set[asyncio.Task[None]]:
    """Wait for tasks; return those that are not done, or raise what one has raised."""
    # Unlike gather, wait leaves the tasks alone where this one is cancelled.
    done, waiting = await asyncio.wait(running, return_when=when)
    for task in done:
        task.result()
    return waiting


def _annotated(item: QueryDocuments, scores: list[float]) -> AnnotatedQueryDocuments:
    return AnnotatedQueryDocuments(
        query=item.query,
        documents=tuple(
            AnnotatedDocument(
                id=document.id,
                content=document.content,
                metadata=document.metadata,
                score=score,
            )
            for document, score in zip(item.documents, scores, strict=True)
        ),
    )


def _key(reranker: BaseReranker, item: QueryDocuments) -> str:
    """Return what tells a query's scores from all others."""
    texts = (document.content for document in item.documents)
    return content_key(reranker.fingerprint, item.query.query, *texts)


def _check_places(source: Path, target: Path) -> None:
    """Refuse places of which it is known before the work that they are no good."""
    if not source.exists():
        msg = f"There is no file {source}: give queries with documents as JSON Lines."
        raise InputError(msg)
    if not target.absolute().parent.is_dir():
        msg = f"There is no folder {target.absolute().parent}: make it, or choose."
        raise InputError(msg)
    if target.is_dir():
        raise InputError(f"{target} is a folder: name a file.")

"""Scores for a file of queries: kept as they come, written when all are there.

Beside the target stands, while the work goes on, a file `.NAME.scores.jsonl` with one
line a query: a key made of the reranker, the query and its documents, and the scores.
A run finds there what an earlier one has scored, so that nothing is computed or paid
for twice; what belongs to another reranker or to changed texts has another key. A line
that was cut by a crash is passed over.
"""

from __future__ import annotations

import asyncio
import json
import math
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from knowtrail.graph.cli.progress import silent
from knowtrail.graph.errors import InputError, StorageError
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
    from collections.abc import Callable, Iterator

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
        msg = (
            f"The document limit is {document_limit}: give 1 or more, or leave it out."
        )
        raise InputError(msg)
    await asyncio.to_thread(_check_places, Path(source), Path(target))
    kept = scores_path(target)
    known = await asyncio.to_thread(_read_scores, kept)
    with _appending(kept) as keep:
        await _score_all(
            reranker,
            (_limited(item, document_limit) for item in read_queries(source)),
            known=known,
            keep=keep,
            progress=progress or silent,
        )
    done = (
        _annotated(item, known[_key(reranker, item)])
        for item in (_limited(item, document_limit) for item in read_queries(source))
    )
    count = await asyncio.to_thread(write_annotated, target, done)
    await asyncio.to_thread(kept.unlink, missing_ok=True)
    return count


def scores_path(target: str | Path) -> Path:
    """Return where the scores are kept while a target is being made."""
    path = Path(target)
    return path.with_name(f".{path.name[:200]}.scores.jsonl")


def _limited(item: QueryDocuments, limit: int | None) -> QueryDocuments:
    """Return a query with its first documents, in the order of the file."""
    return QueryDocuments(query=item.query, documents=item.documents[:limit])


async def _score_all(
    reranker: BaseReranker,
    items: Iterator[QueryDocuments],
    *,
    known: dict[str, list[float]],
    keep: Callable[[str, list[float]], None],
    progress: Progress,
) -> None:
    """Score what is not known, as many queries at once as the reranker takes.

    Where one fails or this is cancelled, those under way end first and are kept.
    """
    running: set[asyncio.Task[None]] = set()
    done = 0

    async def one(item: QueryDocuments, key: str) -> None:
        texts = [document.content for document in item.documents]
        known[key] = await achecked_scores(reranker, item.query.query, texts)
        keep(key, known[key])

    try:
        for item in items:
            key = _key(reranker, item)
            if key not in known:
                running.add(asyncio.create_task(one(item, key)))
            if len(running) >= max(1, reranker.concurrency):
                ended, running = await asyncio.wait(
                    running, return_when=asyncio.FIRST_COMPLETED
                )
                for task in ended:
                    task.result()
            done += 1
            progress(STAGE, done, None)
        # Unlike gather, wait leaves the tasks alone where this one is cancelled.
        while running:
            ended, running = await asyncio.wait(
                running, return_when=asyncio.FIRST_EXCEPTION
            )
            for task in ended:
                task.result()
    finally:
        if running:
            await asyncio.gather(*running, return_exceptions=True)


def _annotated(item: QueryDocuments, scores: list[float]) -> AnnotatedQueryDocuments:
    """Return a query with its scores."""
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
        msg = f"{target} is a folder: name a file."
        raise InputError(msg)


def _read_scores(path: Path) -> dict[str, list[float]]:
    """Return what an earlier run has scored; lines that are no good are left out."""
    known: dict[str, list[float]] = {}
    try:
        text = path.read_text("utf-8", errors="replace")
    except FileNotFoundError:
        return known
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror}. Remove it to begin anew."
        raise StorageError(msg) from error
    for line in text.splitlines():
        try:
            row = json.loads(line)
            scores = [float(score) for score in row["scores"]]
        except (ValueError, KeyError, TypeError):
            continue
        if all(math.isfinite(score) for score in scores):
            known[str(row["key"])] = scores
    return known


@contextmanager
def _appending(path: Path) -> Iterator[Callable[[str, list[float]], None]]:
    """Yield a function that adds one query's scores to a file, at once."""

    def write(text: str) -> None:
        try:
            file.write(text)
            file.flush()
        except OSError as error:
            raise _unwritable(path, error) from error

    try:
        file = path.open("a", encoding="utf-8")
    except OSError as error:
        raise _unwritable(path, error) from error
    with file:
        write("\n" if file.tell() else "")  # ends a line that a crash cut
        yield lambda key, scores: write(
            json.dumps({"key": key, "scores": scores}) + "\n"
        )


def _unwritable(path: Path, error: OSError) -> StorageError:
    """Return the error of a file that cannot be written."""
    return StorageError(f"{path} cannot be written: {error.strerror or error}.")

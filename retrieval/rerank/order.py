"""Checked scores of a reranker, and the order they give, the same for every user."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar, runtime_checkable

from knowtrail.graph.errors import InputError, ModelError

MOST_CANDIDATES = 1_000
"""Documents that a search or a compressor lets a reranker score for a question."""


_T = TypeVar("_T")
_HALVES = re.compile(r"[\ud800-\udfff]")


@runtime_checkable
class Scoring(Protocol):
    """What gives documents scores: any `BaseReranker`."""

    name: str

    async def score(self, query: str, documents: Sequence[str]) -> list[float]:
        """Return one finite number a document."""
        ...

    def score_sync(self, query: str, documents: Sequence[str]) -> list[float]:
        """Do as `score` does where nothing is awaited."""
        ...


def finished(work: Coroutine[Any, Any, _T]) -> _T:
    """Return what a coroutine returns, also inside a running loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1, thread_name_prefix="knowtrail-async") as pool:
        return pool.submit(asyncio.run, work).result()


def reranker_name(reranker: Scoring) -> str:
    """Return what results call a reranker: its name, or else its class's."""
    return reranker.name or type(reranker).__name__


def checked_scores(
    reranker: Scoring, query: str, documents: Sequence[str]
) -> list[float]:
    """Return the scores of documents; raise `ModelError` unless they are finite."""
    query, texts = _texts(query, documents)
    if not texts:
        return []
    return _checked(reranker, reranker.score_sync(query, texts), len(texts))


async def achecked_scores(
    reranker: Scoring, query: str, documents: Sequence[str]
) -> list[float]:
    """Do as `checked_scores` does, without blocking; see there."""
    query, texts = _texts(query, documents)
    if not texts:
        return []
    return _checked(reranker, await reranker.score(query, texts), len(texts))


def _texts(query: object, documents: Sequence[object]) -> tuple[str, list[str]]:
    """Return query and documents, which must be texts, without half characters."""
    if isinstance(documents, str):
        raise InputError("The documents are one text: give a list of texts.")
    for where, value in [("query", query), *enumerate(documents)]:
        if not isinstance(value, str):
            what = where if where == "query" else f"document {where}"
            raise InputError(f"The {what} is {str(value)[:80]!r}: give a text.")
    asked, *texts = (_HALVES.sub("\ufffd", str(text)) for text in (query, *documents))
    return asked, texts


def _checked(reranker: Scoring, scores: Sequence[float], n: int) -> list[float]:
    name = reranker_name(reranker)
    if len(scores) != n:
        raise ModelError(
            f"The reranker {name} gave {len(scores)} scores for {n} documents: it must "
            "give one each."
        )
    numbers = [float(score) for score in scores]
    for place, number in enumerate(numbers):
        if not math.isfinite(number):
            raise ModelError(
                f"The reranker {name} gave {number} for document {place}: mend the "
                "model or leave that document out."
            )
    return numbers


def best_first(scores: Sequence[float], ids: Sequence[str | None]) -> list[int]:
    """Return places by falling score.

    Equal scores go by id, so that the order never depends on what came first; those
    without an id follow in the order in which they came.
    """
    return sorted(
        range(len(scores)),
        key=lambda place: (-scores[place], ids[place] is None, ids[place] or "", place),
    )

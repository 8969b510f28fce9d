"""Checked scores of a reranker, and the order they give, the same for every user."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from knowtrail.graph.errors import InputError, ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def reranker_name(reranker: Scoring) -> str:
    """Return what results call a reranker: its name, or else its class's."""
    return reranker.name or type(reranker).__name__


def checked_scores(
    reranker: Scoring, query: str, documents: Sequence[str]
) -> list[float]:
    """Return the scores of documents, checked; none where there are no documents.

    Raises:
        InputError: If a text is none.
        ModelError: If a score is missing or no finite number.
    """
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
        msg = "The documents are one text: give a list of texts."
        raise InputError(msg)
    for where, value in [("query", query), *enumerate(documents)]:
        if not isinstance(value, str):
            what = where if where == "query" else f"document {where}"
            msg = f"The {what} is {str(value)[:80]!r}: give a text."
            raise InputError(msg)
    asked, *texts = (_HALVES.sub("\ufffd", str(text)) for text in (query, *documents))
    return asked, texts


def _checked(reranker: Scoring, scores: Sequence[float], n: int) -> list[float]:
    """Return scores as floats."""
    name = reranker_name(reranker)
    if len(scores) != n:
        msg = (
            f"The reranker {name} gave {len(scores)} scores for {n} documents: it must "
            "give one each."
        )
        raise ModelError(msg)
    numbers = [float(score) for score in scores]
    for place, number in enumerate(numbers):
        if not math.isfinite(number):
            msg = (
                f"The reranker {name} gave {number} for document {place}: mend the "
                "model or leave that document out."
            )
            raise ModelError(msg)
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

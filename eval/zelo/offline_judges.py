"""Judges without a language model: rerankers, and functions.

A reranker scores all candidates of a query once; its judgement on two is the difference
of their scores, squashed into [-1, 1] by tanh. Which one it prefers is certain; by how
much depends on the scale, which is why a fit by votes (the default) looks at the sign
alone.
"""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING

from knowtrail.eval.zelo.judgements import Answer, Price
from knowtrail.graph.errors import KnowtrailError
from knowtrail.retrieval.rerank.order import achecked_scores, reranker_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from knowtrail.eval.zelo.judgements import Matchup
    from knowtrail.retrieval.rerank.base import BaseReranker
    from knowtrail.retrieval.rerank.datasets import Document, Query

SCALES = {"embedding": 0.1, "bm25": 2.0, "cross-encoder": 2.0}
"""Difference of scores that counts as clear (tanh 1 = 0.76), by kind of reranker."""

_REMEMBERED = 64
_FREE = Price()


def squashed(difference: float, scale: float) -> float:
    """Return a difference of scores in [-1, 1]; equal scores give 0."""
    return math.tanh(difference / scale)


class FunctionJudge:
    """A function that says which of two documents answers a query better.

    Attributes:
        concurrency: 1, as a function is called in the loop itself.
    """

    def __init__(
        self,
        name: str,
        function: Callable[[Query, Document, Document], float | None],
        *,
        fingerprint: str | None = None,
    ) -> None:
        """Name a judge.

        The function takes the query and two documents, and returns a score in [-1, 1],
        below 0 for the first one; None is a failure, and so is an exception. Where it
        changes, it gets another fingerprint, which otherwise is the name.
        """
        self.name = name
        self.fingerprint = fingerprint or f"function:{name}"
        self.concurrency = 1
        self.price: Price | None = Price()
        self._function = function

    async def judge(self, matchup: Matchup) -> Answer:
        """Ask the function; where it raises, the judgement fails, to be made again.

        Raises:
            KnowtrailError: If the function says by it that it cannot judge at all.
        """
        try:
            score = self._function(matchup.query, matchup.left, matchup.right)
            return Answer(score=None if score is None else float(score))
        except KnowtrailError:
            raise
        except Exception as error:  # functions are anybody's, and one pair is one pair
            return Answer(error=f"{type(error).__name__}: {error}", came=False)

    def expected(self, matchup: Matchup) -> tuple[int, int]:
        """Return no tokens."""
        return 0, 0


class RerankerJudge:
    """A reranker as a judge; the candidates of a query are scored once together.

    Attributes:
        concurrency: Judgements side by side; they wait for the same scores.
        price: Nothing, but for rerankers that others run, whose price nobody knows.
    """

    def __init__(
        self,
        reranker: BaseReranker,
        *,
        name: str | None = None,
        scale: float | None = None,
        price: Price | None = _FREE,
    ) -> None:
        """Wrap a reranker, which scores nothing yet.

        The scale is the difference of scores that counts as clear; None takes one that
        suits the kind of reranker.
        """
        self.name = name or reranker_name(reranker)
        kind = reranker_name(reranker).partition(":")[0]
        self._scale = scale or SCALES.get(kind, 1.0)
        self.fingerprint = f"reranker:{reranker.fingerprint}:{self._scale:g}"
        self.concurrency = 256
        self.price = price
        self._reranker = reranker
        self._loop: asyncio.AbstractEventLoop | None = None
        self._scoring = asyncio.Semaphore()
        self._known: dict[tuple[str, ...], asyncio.Task[dict[str, float]]] = {}

    async def judge(self, matchup: Matchup) -> Answer:
        """Compare the scores of two documents.

        Raises:
            ModelError: If the reranker has no score for every document.
        """
        scores = await self._scores(matchup)
        left, right = scores[matchup.left.id], scores[matchup.right.id]
        return Answer(
            score=squashed(right - left, self._scale),
            reasoning=f"{self.name} scores A {left:.4g} and B {right:.4g}.",
        )

    def expected(self, matchup: Matchup) -> tuple[int, int]:
        """Return no tokens."""
        return 0, 0

    async def _scores(self, matchup: Matchup) -> dict[str, float]:
        """Return the scores of all candidates, by id."""
        if self._loop is not asyncio.get_running_loop():
            self._loop = asyncio.get_running_loop()
            self._scoring = asyncio.Semaphore(max(1, self._reranker.concurrency))
            self._known.clear()
        texts = (text for d in _candidates(matchup) for text in (d.id, d.content))
        key = (matchup.query.query, *texts)
        if key not in self._known:
            while len(self._known) >= _REMEMBERED:
                self._known.pop(next(iter(self._known)))
            self._known[key] = asyncio.ensure_future(self._scored(matchup))
        return await asyncio.shield(self._known[key])

    async def _scored(self, matchup: Matchup) -> dict[str, float]:
        """Score the candidates of a query."""
        documents = _candidates(matchup)
        async with self._scoring:
            scores = await achecked_scores(
                self._reranker,
                matchup.query.query,
                [document.content for document in documents],
            )
        return {d.id: s for d, s in zip(documents, scores, strict=True)}


def _candidates(matchup: Matchup) -> tuple[Document, ...]:
    """Return the documents that are scored together."""
    return matchup.candidates or (matchup.left, matchup.right)

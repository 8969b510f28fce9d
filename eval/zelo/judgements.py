"""What is judged and what a judge says of it.

A score lies in [-1, 1]: below 0 the left document (A) answers the query better, above
0 the right one (B). A judge is shown left and right in a random order, drawn for each
judgement and judge from its content, so that nothing else changes the draw; what it
says is turned back at once, and its reasoning, which speaks of the order it saw, then
begins with `(SWAPPED)`. A judgement that failed has no score.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from knowtrail.eval.zelo.battles import Battles
from knowtrail.ingest.keys import content_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from knowtrail.retrieval.rerank.datasets import Document, Query

SWAPPED = "(SWAPPED)\n"
"""What the reasoning begins with where the judge saw the documents the other way."""

_COIN = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Matchup:
    """Two documents of a query in the order in which they are shown.

    Attributes:
        left: The first document, A.
        right: The second, B.
        repetition: How often the query had this pair, in this order, before.
        candidates: All documents of the query that are judged.
    """

    query: Query
    left: Document
    right: Document
    repetition: int = 0
    candidates: tuple[Document, ...] = ()

    def turned(self) -> Matchup:
        """Return the same with left and right changed."""
        return replace(self, left=self.right, right=self.left)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a judge said of documents in the order in which it saw them.

    Attributes:
        score: From -1, the first is better, to 1; None where it failed.
        came: Whether the judge answered at all; an answer may be of no use.
        prompt_tokens: Tokens sent, of all attempts.
        shortened: Whether a document was shortened to fit.
    """

    score: float | None = None
    reasoning: str = ""
    error: str | None = None
    came: bool = True
    prompt_tokens: int = 0
    completion_tokens: int = 0
    shortened: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What tokens cost, in USD a million."""

    prompt: float = 0.0
    completion: float = 0.0

    def of(self, prompt_tokens: float, completion_tokens: float) -> float:
        """Return the price of tokens in USD."""
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1e6


class Judge(Protocol):
    """Says which of two documents answers a query better.

    One that may only be asked so fast has its limits as `pace`, an
    `knowtrail.eval.zelo.chat_judges. Pace`; an estimate looks at them.

    Attributes:
        name: What results call it; different in an ensemble.
        fingerprint: What its answers depend on, such as model and prompt: a judgement
            of a judge with the same fingerprint is not asked for again.
        concurrency: How many judgements may be under way.
        price: What its tokens cost; None where nobody knows.
    """

    name: str
    fingerprint: str
    concurrency: int
    price: Price | None

    async def judge(self, matchup: Matchup) -> Answer:
        """Judge documents in the order in which they are given.

        Failures of one judgement are told in the answer.

        Raises:
            KnowtrailError: If no judgement can be had, such as without a valid key.
        """
        ...

    def expected(self, matchup: Matchup) -> tuple[int, int]:
        """Return the tokens of prompt and answer that a judgement is likely to take."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement(Answer):
    """One judge on one pair, turned back to the order of the pair.

    The score is below 0 for the left document, A; the reasoning begins with `(SWAPPED)`
    where the judge saw the other order.

    Attributes:
        repetition: How often the query had the pair before.
        cost: What it cost in USD, as far as the price is known.
    """

    query_id: str
    left_id: str
    right_id: str
    judge: str
    repetition: int = 0
    swapped: bool = False
    cost: float = 0.0


def swaps(matchup: Matchup, judge: str, *, seed: int = 0) -> bool:
    """Return whether a judge is shown the pair the other way round.

    It is as likely as not, for each pair and judge by itself.
    """
    key = content_key(
        "zelo-swap",
        seed,
        matchup.query.id,
        matchup.left.id,
        matchup.right.id,
        matchup.repetition,
        judge,
    )
    return bool(int(key, 16) % _COIN)


def judgement_of(
    matchup: Matchup, judge: Judge, answer: Answer, *, swapped: bool
) -> Judgement:
    """Return an answer as a judgement on the pair.

    A score that is no number in [-1, 1] is a failure: it is not taken for another.
    """
    score, error = answer.score, answer.error
    if score is not None and not (math.isfinite(score) and -1 <= score <= 1):
        score, error = None, f"The score {score!r} is not in [-1, 1]."
    if score is None and error is None:
        error = "The judge gave no score."
    if swapped and score is not None:
        score = 0.0 - score
    price = judge.price or Price()
    said = {
        **asdict(answer),
        "score": score,
        "error": error,
        "reasoning": SWAPPED + answer.reasoning if swapped else answer.reasoning,
    }
    return Judgement(
        **said,
        query_id=matchup.query.id,
        left_id=matchup.left.id,
        right_id=matchup.right.id,
        repetition=matchup.repetition,
        judge=judge.name,
        swapped=swapped,
        cost=price.of(answer.prompt_tokens, answer.completion_tokens),
    )


def battles_of(
    ids: Sequence[str],
    judgements: Iterable[Judgement],
    judges: Sequence[str],
    *,
    failed: float = math.nan,
) -> Battles:
    """Return the judgements of one query as battles to be fitted."""
    number = {name: i for i, name in enumerate(ids)}
    column = {name: i for i, name in enumerate(judges)}
    rows: dict[tuple[int, int, int], list[float]] = {}
    for one in judgements:
        place = (number[one.left_id], number[one.right_id], one.repetition)
        row = rows.setdefault(place, [math.nan] * len(judges))
        row[column[one.judge]] = failed if one.score is None else one.score
    pairs = sorted(rows)
    return Battles.of(
        len(ids),
        np.array([left for left, _, _ in pairs], dtype=np.intp),
        np.array([right for _, right, _ in pairs], dtype=np.intp),
        np.array([rows[p] for p in pairs], dtype=np.float64).reshape(-1, len(judges)),
        judges=tuple(judges),
    )

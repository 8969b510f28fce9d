"""What a run would ask and cost, worked out before anything is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eval.zelo.composing import pairs_of
from eval.zelo.journal import JOURNAL, Journal, judgement_key
from retrieval.rerank.datasets import read_queries

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from eval.zelo.judgements import Judge
    from eval.zelo.pairs import PairSettings

__all__ = ["Estimate", "JudgeEstimate", "estimate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeEstimate:
    """What one judge would be asked.

    Attributes:
        judge: Its name.
        judgements: Judgements to be made.
        known: Judgements that the working folder has.
        prompt_tokens: Tokens to be sent, by an estimate on the safe side.
        completion_tokens: Tokens of answers, as the configuration expects them.
        cost: Their price in USD; None where it is not known.
    """

    judge: str
    judgements: int = 0
    known: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a run would ask.

    Attributes:
        queries: Queries of the source.
        documents: Documents that would be judged.
        pairs: Pairs of them.
        judges: What each judge would be asked.
        spent: What the working folder's judgements cost already.
    """

    queries: int
    documents: int
    pairs: int
    judges: tuple[JudgeEstimate, ...]
    spent: float = 0.0

    @property
    def inferences(self) -> int:
        """Return how many judgements would be made."""
        return sum(judge.judgements for judge in self.judges)

    @property
    def cost(self) -> float | None:
        """Return the price in USD; None where that of a judge is not known."""
        costs = [judge.cost for judge in self.judges]
        return None if None in costs else sum(c for c in costs if c is not None)


def estimate(
    source: Path,
    judges: Sequence[Judge],
    pairs: PairSettings,
    *,
    folder: Path | None = None,
    retry_failed: bool = False,
) -> Estimate:
    """Return what a run would ask and cost; nothing is asked or written.

    Pairs that adaptive rounds have not chosen yet count as the mean of those chosen.

    Args:
        source: Queries with documents.
        judges: Who would be asked.
        pairs: Which pairs.
        folder: A working folder, whose judgements need not be made again.
        retry_failed: Whether answers of no use are asked for again.

    Raises:
        InputError: If the source is no good.
    """
    there = folder is not None and (folder / JOURNAL).is_file()
    journal = Journal.to_read(folder) if there and folder is not None else None
    counts = {judge.name: [0.0, 0.0, 0.0, 0.0] for judge in judges}
    queries = documents = planned = 0
    try:
        for item in read_queries(source):
            taken = pairs.considered(item.documents)
            number = pairs.planned(len(taken))
            queries += 1
            documents += len(taken)
            planned += number
            matches = list(pairs_of(journal, pairs, judges, item.query, taken))
            # Rounds that are still to be chosen, as often as those that are.
            further = number / len(matches) - 1 if matches else 0.0
            for match in matches:
                for judge in judges:
                    count = counts[judge.name]
                    known = journal is not None and journal.settled(
                        judgement_key(match, judge), retry_failed=retry_failed
                    )
                    count[1] += known
                    if share := further + (not known):
                        prompt, answer = judge.expected(match)
                        count[0] += share
                        count[2] += share * prompt
                        count[3] += share * answer
        spent = journal.spent if journal else 0.0
    finally:
        if journal:
            journal.close()
    return Estimate(
        queries=queries,
        documents=documents,
        pairs=planned,
        judges=tuple(_judge_estimate(judge, counts[judge.name]) for judge in judges),
        spent=spent,
    )


def _judge_estimate(judge: Judge, counts: list[float]) -> JudgeEstimate:
    """Return what one judge would be asked."""
    judgements, known, prompt, answer = (round(count) for count in counts)
    return JudgeEstimate(
        judge=judge.name,
        judgements=judgements,
        known=known,
        prompt_tokens=prompt,
        completion_tokens=answer,
        cost=None if judge.price is None else judge.price.of(prompt, answer),
    )

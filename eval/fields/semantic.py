"""Fields whose meaning counts: equal ones at once, the rest by a judge."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from eval.fields.comparators import same
from eval.fields.specs import ComparatorResult

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eval.fields.specs import BatchItem

__all__ = ["FakeJudge", "Judge", "JudgeItem", "SemanticBatchComparator"]

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class JudgeItem:
    """One pair for a judge.

    Attributes:
        path: Where the pair comes from, for context.
        gold: The value as it should be, after the transforms.
        extracted: The extracted value, after the transforms.
    """

    path: str
    gold: Any
    extracted: Any


class Judge(Protocol):
    """Says of pairs of values whether they mean the same."""

    def judge_batch(self, items: list[JudgeItem]) -> Sequence[float | None]:
        """Return 1, 0, or None for no verdict, one an item and in order."""
        ...


class SemanticBatchComparator:
    """Scores free text by meaning; register an instance, as "semantic" for example.

    Values that are equal and of one type cost no judgement. All others of a record go
    to the judge together. What the judge does not answer is a batch error of that field
    alone, never a score.
    """

    is_batch = True
    problem = ""
    """Why the last call has no verdict for some fields; empty where nobody knows."""

    def __init__(self, judge: Judge, name: str = "semantic") -> None:
        """Keep the judge.

        Args:
            judge: `ModelJudge`, or anything else with `judge_batch`.
            name: What results say they were made by.
        """
        self.judge = judge
        self.name = name

    def __call__(self, items: list[BatchItem]) -> list[ComparatorResult | None]:
        """Score the fields of one record.

        Args:
            items: Its fields that name this comparator.
        """
        self.problem = ""
        results: list[ComparatorResult | None] = [None] * len(items)
        open_places: list[int] = []
        for index, item in enumerate(items):
            if same(item.gold_compared, item.extracted_compared):
                results[index] = ComparatorResult(1.0, self.name, "exact")
            else:
                open_places.append(index)
        if not open_places:
            return results
        verdicts = self._verdicts([items[index] for index in open_places])
        for index, verdict in zip(open_places, verdicts, strict=False):
            results[index] = self._result(verdict)
        return results

    def _verdicts(self, items: list[BatchItem]) -> list[Any]:
        asked = [
            JudgeItem(item.path, item.gold_compared, item.extracted_compared)
            for item in items
        ]
        try:
            verdicts = self.judge.judge_batch(asked)
        except Exception as error:  # the equal ones of the record are kept
            _LOG.warning("The judge failed for %d fields: %s", len(asked), error)
            self.problem = f"the judge failed: {error}"
            return []
        if not isinstance(verdicts, list | tuple):
            _LOG.warning("The judge gave %s, no list.", type(verdicts).__name__)
            self.problem = f"the judge gave {type(verdicts).__name__}, no list"
            return []
        return list(verdicts)

    def _result(self, verdict: Any) -> ComparatorResult | None:
        """Return a verdict as a result, None where it is no number."""
        if not isinstance(verdict, int | float) or not math.isfinite(verdict):
            return None
        reason = "judge match" if verdict >= 1 else "judge mismatch"
        return ComparatorResult(float(verdict), self.name, reason)


class FakeJudge:
    """A judge for tests and examples, which asks nobody.

    Attributes:
        calls: The items of every call.
    """

    def __init__(
        self,
        responses: Mapping[tuple[str, str], float | None] | None = None,
        default_score: float | None = None,
    ) -> None:
        """Keep the answers.

        Args:
            responses: Texts of gold and extracted value to the verdict.
            default_score: The verdict of other pairs; None compares their texts without
                regard to case and to white space at the ends.
        """
        self.responses = dict(responses or {})
        self.default_score = default_score
        self.calls: list[list[JudgeItem]] = []

    def judge_batch(self, items: list[JudgeItem]) -> list[float | None]:
        """Return the verdicts that were given for such pairs.

        Args:
            items: The pairs.
        """
        self.calls.append(list(items))
        return [self._verdict(str(item.gold), str(item.extracted)) for item in items]

    def _verdict(self, gold: str, extracted: str) -> float | None:
        if (gold, extracted) in self.responses:
            return self.responses[gold, extracted]
        if self.default_score is not None:
            return self.default_score
        return float(gold.strip().lower() == extracted.strip().lower())

"""Precision, recall and F1 of records, and their sums over a run of any length."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from knowtrail.eval.fields.paths import schema_path
from knowtrail.eval.fields.results import (
    BATCH_ERROR,
    HALLUCINATION,
    MATCH,
    MISMATCH,
    OMISSION,
    SCORED,
    FieldAggregation,
    RecordResult,
    RunResult,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from knowtrail.eval.fields.results import FieldResult

OTHER_PATHS = "(other paths)"
"""Where an accumulator with a limit puts the results of further paths."""


def tally(results: Iterable[FieldResult]) -> tuple[float, int, int]:
    """Return the sum of scores, and the fields for precision and for recall.

    Args:
        results: Results of a record, or of one element.
    """
    scores: list[float] = []
    extracted = gold = 0
    for result in results:
        status = result.status
        if status in (MATCH, MISMATCH):
            scores.append(result.score)
        elif status == OMISSION:
            gold += 1
        elif status == HALLUCINATION:
            extracted += 1
    return math.fsum(scores), len(scores) + extracted, len(scores) + gold


def precision_recall_f1(
    score: float, extracted: int, gold: int
) -> tuple[float, float, float]:
    """Return precision, recall and F1; what has nothing to count is 1.

    Args:
        score: Sum of the scores of fields that both sides have.
        extracted: Fields that were extracted.
        gold: Fields that gold has.
    """
    precision = score / extracted if extracted else 1.0
    recall = score / gold if gold else 1.0
    if not extracted and not gold:
        return 1.0, 1.0, 1.0
    total = precision + recall
    return precision, recall, 2 * precision * recall / total if total else 0.0


def build_record_result(
    record_id: str | int,
    field_results: list[FieldResult],
    gold: Any,
    extracted: Any,
    *,
    by_position: dict[str, int] | None = None,
) -> RecordResult:
    """Return a record's result with its metrics.

    Args:
        record_id: Which record.
        field_results: Its settled results.
        gold: The record as it should be.
        extracted: The record as it was extracted.
        by_position: Arrays that were too large to be paired by what fits best.
    """
    return RecordResult(
        record_id,
        field_results,
        gold,
        extracted,
        *precision_recall_f1(*tally(field_results)),
        by_position or {},
    )


def build_run_result(records: Sequence[RecordResult]) -> RunResult:
    """Return the result of a run.

    Args:
        records: Results of its records.
    """
    run = RunAccumulator()
    for record in records:
        run.add(record)
    return run.result(records)


class _Path:
    """Counts of one path."""

    __slots__ = (
        "hallucinations",
        "matches",
        "mismatches",
        "omissions",
        "ones",
        "parts",
    )

    def __init__(self) -> None:
        self.matches = self.mismatches = self.omissions = self.hallucinations = 0
        self.ones = 0
        self.parts: list[float] = []

    def add(self, status: str, score: float) -> None:
        if status == MATCH:
            self.matches += 1
        elif status == MISMATCH:
            self.mismatches += 1
        elif status == OMISSION:
            self.omissions += 1
        else:
            self.hallucinations += 1
        if score == 1.0:
            self.ones += 1
        elif score:
            _add_exactly(self.parts, score)

    def aggregation(self) -> FieldAggregation:
        total = self.matches + self.mismatches + self.omissions + self.hallucinations
        return FieldAggregation(
            math.fsum((self.ones, *self.parts)) / total,
            self.matches,
            self.mismatches,
            self.omissions,
            self.hallucinations,
        )


def _add_exactly(parts: list[float], number: float) -> None:
    """Add to floats whose sum is exact, and which stay few."""
    kept = 0
    for part in parts:
        larger, smaller = (part, number) if abs(part) > abs(number) else (number, part)
        total = larger + smaller
        if lost := smaller - (total - larger):
            parts[kept] = lost
            kept += 1
        number = total
    parts[kept:] = [number]


class RunAccumulator:
    """Sums up records one by one; keeps none of them.

    Means are exact until they are asked for, so that the order of the records does not
    matter. Memory grows with the number of different paths only, and with a limit not
    even with those.
    """

    def __init__(self, *, path_limit: int | None = None) -> None:
        """Start with nothing.

        Args:
            path_limit: How many paths are counted one by one; the results of others
                are counted together, under `OTHER_PATHS`. None is no limit.
        """
        self._limit = path_limit
        self._sums = [Fraction(0)] * 3
        self._counts = dict.fromkeys((*SCORED, BATCH_ERROR), 0)
        self._records = 0
        self._by_position: Counter[str] = Counter()
        self._by_path: dict[str, _Path] = {}
        self._by_schema_path: dict[str, _Path] = {}

    def add(self, record: RecordResult) -> None:
        """Count one record.

        Args:
            record: Its result.
        """
        self._records += 1
        for index, value in enumerate((record.precision, record.recall, record.f1)):
            self._sums[index] += Fraction(value)
        self._by_position.update(record.by_position)
        counts = self._counts
        for result in record.field_results:
            status = result.status
            if status in SCORED:
                counts[status] += 1
                path, score = result.path, result.score
                self._at(self._by_path, path).add(status, score)
                self._at(self._by_schema_path, schema_path(path)).add(status, score)
            elif status == BATCH_ERROR:
                counts[status] += 1

    def _at(self, paths: dict[str, _Path], path: str) -> _Path:
        """Return the counts of a path."""
        found = paths.get(path)
        if found is None:
            if self._limit is not None and len(paths) >= self._limit:
                return paths.setdefault(OTHER_PATHS, _Path())
            found = paths[path] = _Path()
        return found

    def result(self, records: Sequence[RecordResult] = ()) -> RunResult:
        """Return the result of everything that was added.

        Args:
            records: What the result has as its records.
        """
        means = [float(total / (self._records or 1)) for total in self._sums]
        if not self._records:
            means = [1.0, 1.0, 1.0]
        counts = self._counts
        return RunResult(
            records=records,
            mean_precision=means[0],
            mean_recall=means[1],
            mean_f1=means[2],
            total_records=self._records,
            total_fields=sum(counts[status] for status in SCORED),
            total_omissions=counts[OMISSION],
            total_hallucinations=counts[HALLUCINATION],
            total_batch_errors=counts[BATCH_ERROR],
            per_field={p: at.aggregation() for p, at in self._by_path.items()},
            per_schema_path={
                p: at.aggregation() for p, at in self._by_schema_path.items()
            },
            by_position=dict(self._by_position),
        )

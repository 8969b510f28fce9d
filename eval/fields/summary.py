"""The numbers of a run, with intervals; two systems on the same gold, compared."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np

from eval.corrections import corrected
from eval.fields.metrics import tally
from eval.statistics import (
    bootstrap_intervals,
    compare_paired,
    ratio_f1,
    ratio_precision,
    ratio_recall,
)
from graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from eval.fields.results import RecordResult
    from eval.statistics import Comparison, Interval, Statistic

__all__ = ["METRICS", "RunNumbers", "compare_runs", "run_intervals"]


def _mean_precision(means: NDArray[np.float64]) -> NDArray[np.float64]:
    return means[:, 3]


def _mean_recall(means: NDArray[np.float64]) -> NDArray[np.float64]:
    return means[:, 4]


def _mean_f1(means: NDArray[np.float64]) -> NDArray[np.float64]:
    return means[:, 5]


METRICS: dict[str, Statistic] = {
    "precision": _mean_precision,
    "recall": _mean_recall,
    "f1": _mean_f1,
    "micro_precision": ratio_precision,
    "micro_recall": ratio_recall,
    "micro_f1": ratio_f1,
}
"""Name to statistic: means over the records, and ratios over all fields at once."""

_COLUMNS = 6


class RunNumbers:
    """Six numbers a record, from which every metric and its interval follow.

    They are the sum of scores, the fields extracted, those of gold, and the record's
    precision, recall and F1: 48 bytes a record.
    """

    def __init__(self, records: Iterable[RecordResult] = ()) -> None:
        """Take records.

        Args:
            records: Results of records.
        """
        self._numbers = array("d")
        for record in records:
            self.add(record)

    def add(self, record: RecordResult) -> None:
        """Take one record.

        Args:
            record: Its result.
        """
        self._numbers.extend((
            *tally(record.field_results),
            record.precision,
            record.recall,
            record.f1,
        ))

    def __len__(self) -> int:
        """Return how many records there are."""
        return len(self._numbers) // _COLUMNS

    @property
    def rows(self) -> NDArray[np.float64]:
        """The numbers, one row a record."""
        return np.array(self._numbers, dtype=np.float64).reshape(-1, _COLUMNS)


def run_intervals(
    numbers: RunNumbers, *, level: float = 0.95, resamples: int = 2000, seed: int = 0
) -> dict[str, Interval]:
    """Return every metric of `METRICS` with its bootstrap interval over the records.

    Args:
        numbers: The run, of one record at least.
        level: Share of resamples inside.
        resamples: How many.
        seed: Seed of the drawing.

    Raises:
        InputError: If there is no record.
    """
    if not len(numbers):
        msg = "A run without a record has no numbers: give one record at least."
        raise InputError(msg)
    return bootstrap_intervals(
        numbers.rows, METRICS, level=level, resamples=resamples, seed=seed
    )


def compare_runs(
    first: RunNumbers,
    second: RunNumbers,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> dict[str, tuple[Comparison, float]]:
    """Compare two systems on the same gold records, metric by metric.

    Args:
        first: The first system.
        second: The second, on the same records in the same order.
        level: Share of resamples inside the interval of the difference.
        resamples: How many resamples and random swaps.
        seed: Seed of the drawing.

    Returns:
        Name to the comparison and its p-value corrected by Holm for all metrics.

    Raises:
        InputError: If the runs have different numbers of records, or none.
    """
    rows = first.rows, second.rows
    found = {
        name: compare_paired(
            *rows, statistic, level=level, resamples=resamples, seed=seed
        )
        for name, statistic in METRICS.items()
    }
    adjusted = corrected([comparison.p_value for comparison in found.values()])
    return {
        name: (comparison, float(p_value))
        for (name, comparison), p_value in zip(found.items(), adjusted, strict=True)
    }

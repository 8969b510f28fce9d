"""Formats side by side on the same samples: differences, intervals, p-values."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from eval.corrections import corrected
from eval.skn.measures import MEASURES, scored
from eval.skn.metrics import DIGITS, RESAMPLES, SEED
from eval.statistics import compare_paired

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eval.statistics import Comparison

__all__ = ["Difference", "compare_pipelines"]

FULL = "skn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Two pipelines compared by one metric.

    Attributes:
        metric: The metric.
        first: Pipeline that is compared with.
        second: Pipeline that is compared.
        first_value: The metric of the first.
        second_value: The metric of the second.
        difference: Second less first.
        low: Lower end of its 95 % interval, over paired resamples of samples; None for
            one sample.
        high: Upper end.
        p_value: Of the paired permutation test.
        p_corrected: The same by Holm's method, over all tests of the model.
        better: The pipeline that the metric speaks for; empty for neither.
        n: How many samples.
    """

    metric: str
    first: str
    second: str
    first_value: float
    second_value: float
    difference: float
    low: float | None
    high: float | None
    p_value: float
    p_corrected: float
    better: str
    n: int

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)


def compare_pipelines(
    rows: Sequence[dict[str, Any]], pipelines: Sequence[str]
) -> tuple[Difference, ...]:
    """Compare pipelines with the first one, and ablated ones with the whole.

    Args:
        rows: Judged rows.
        pipelines: Their names, the baseline first.

    Returns:
        A difference for each pair and main metric; none for one pipeline.
    """
    pairs = [(pipelines[0], other) for other in pipelines[1:]]
    if FULL in pipelines:
        known = {frozenset(pair) for pair in pairs}
        pairs += [
            (FULL, other)
            for other in pipelines
            if other != FULL and frozenset((FULL, other)) not in known
        ]
    tested = []
    samples = {v: [scored(row, v) for row in rows] for v in pipelines}
    for first, second in pairs:
        for measure in MEASURES:
            one, two = measure.rows(samples[first]), measure.rows(samples[second])
            if not measure.main or not len(one):
                continue
            found = compare_paired(
                one,
                two,
                measure.statistic,
                resamples=RESAMPLES,
                method="percentile",
                seed=SEED,
            )
            tested.append((measure.name, measure.better, first, second, found))
    p_values = corrected([found.p_value for *_, found in tested])
    return tuple(
        _difference(*test, float(p)) for test, p in zip(tested, p_values, strict=True)
    )


def _difference(
    metric: str,
    better: str,
    first: str,
    second: str,
    found: Comparison,
    p_corrected: float,
) -> Difference:
    """Return a comparison, rounded."""
    interval = found.difference
    won = ""
    if abs(interval.value) >= 10**-DIGITS:
        won = second if (interval.value > 0) == (better == "higher") else first
    return Difference(
        metric=metric,
        first=first,
        second=second,
        first_value=round(found.first, DIGITS),
        second_value=round(found.second, DIGITS),
        difference=round(interval.value, DIGITS),
        low=_end(interval.low),
        high=_end(interval.high),
        p_value=round(found.p_value, DIGITS),
        p_corrected=round(p_corrected, DIGITS),
        better=won,
        n=found.n,
    )


def _end(value: float) -> float | None:
    """Return an end of an interval; None where there is none."""
    return round(value, DIGITS) if value == value else None

"""What the benchmark measures, as functions of plain numbers.

Every metric of a pipeline is a `Statistic` of rows, one a sample, as in
`eval.statistics`: so its interval resamples samples, and two pipelines are compared on
the samples they share. Calibration error and F1 are such functions too: the mean of
each bin, or of each count, is a column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eval.skn.abstention import abstains
from eval.statistics import Statistic, first_mean
from graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "BINS",
    "DIGITS",
    "RESAMPLES",
    "SEED",
    "abstention_counts",
    "abstention_metrics",
    "abstention_rows",
    "accuracy",
    "bootstrap_ci",
    "bootstrap_rows",
    "calibration_rows",
    "expected_calibration_error",
    "mean",
    "normalized_hallucination",
    "summed_gaps",
    "token_estimate",
]

BINS = 10
DIGITS = 4
RESAMPLES = 1_000
SEED = 42
_CELLS = 2_000_000


def mean(values: Sequence[float]) -> float:
    """Return the mean; of nothing it is 0.

    Args:
        values: Any numbers.
    """
    return float(np.mean(values)) if len(values) else 0.0


def accuracy(correct: Sequence[bool]) -> float:
    """Return the share of correct answers; of none it is 0.

    Args:
        correct: One verdict for each answerable sample.
    """
    return mean([float(one) for one in correct])


def _bins(confidences: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the bin of each confidence; the last takes 1 as well."""
    edges = np.linspace(0.0, 1.0, BINS + 1)
    placed: NDArray[np.intp] = np.searchsorted(edges, confidences, side="right") - 1
    return np.clip(placed, 0, BINS - 1)


def calibration_rows(confidences: ArrayLike, correct: ArrayLike) -> NDArray[np.float64]:
    """Return n x 10 rows whose `summed_gaps` are the calibration error.

    A row has correctness less confidence in the column of its bin, and 0 elsewhere:
    the column means then are what each bin adds, up to their sign.

    Args:
        confidences: n numbers from 0 to 1.
        correct: As many truth values.

    Raises:
        InputError: If there are not as many of each, or a confidence is outside 0..1.
    """
    sure = np.asarray(confidences, dtype=np.float64).reshape(-1)
    right = np.asarray(correct, dtype=np.float64).reshape(-1)
    if sure.shape != right.shape:
        msg = (
            f"{sure.size} confidences and {right.size} verdicts: give as many of each."
        )
        raise InputError(msg)
    if not ((sure >= 0) & (sure <= 1)).all():
        bad = sure[~((sure >= 0) & (sure <= 1))][0]
        msg = f"A confidence is {bad}: give numbers from 0 to 1."
        raise InputError(msg)
    rows = np.zeros((sure.size, BINS))
    rows[np.arange(sure.size), _bins(sure)] = right - sure
    return rows


def summed_gaps(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the calibration error of column means of `calibration_rows`."""
    total: NDArray[np.float64] = np.abs(means).sum(axis=1)
    return total


def expected_calibration_error(
    confidences: Sequence[float], correct: Sequence[bool]
) -> float:
    """Return how far confidence and correctness are apart, over ten equal bins.

    Source: M. P. Naeini et al., Obtaining Well Calibrated Probabilities Using Bayesian
    Binning, 2015. A bin takes its lower edge, the last both; edges are those of
    `numpy.linspace`, so 0.3, 0.6 and 0.7 lie just below one.

    Args:
        confidences: One for each answerable sample, from 0 to 1.
        correct: As many verdicts.

    Returns:
        0 for perfect calibration, and for no samples.

    Raises:
        InputError: As `calibration_rows`.
    """
    rows = calibration_rows(list(confidences), list(correct))
    return float(summed_gaps(rows.mean(axis=0, keepdims=True))[0]) if len(rows) else 0.0


def normalized_hallucination(fabricated: int, total: int) -> float:
    """Return the share of claims that are made up.

    Args:
        fabricated: Claims that the source does not have.
        total: All claims; less than 1 counts as 1.
    """
    return fabricated / max(total, 1)


def abstention_counts(
    answerable: Iterable[bool], abstained: Iterable[bool]
) -> dict[str, int]:
    """Return how often refusing was right; the unanswerable are the positives.

    Args:
        answerable: Whether each sample has an answer.
        abstained: Whether it was refused.
    """
    counts = dict.fromkeys(_COUNTS, 0)
    for can, refused in zip(answerable, abstained, strict=True):
        counts[_COUNTS[2 * int(can) + int(can == refused)]] += 1
    return counts


_COUNTS = ("true_positives", "false_negatives", "true_negatives", "false_positives")
"""By 2 x answerable + (answerable == abstained)."""


def abstention_metrics(rows: Iterable[Mapping[str, object]]) -> dict[str, float]:
    """Return precision, recall and F1 of refusing, rounded, with their counts.

    Args:
        rows: Objects with `answerable`, and `abstained` or else an `answer` that is
            searched for phrases.

    Returns:
        0 where there is nothing to divide by.
    """
    listed = list(rows)
    counts = abstention_counts(
        (bool(row["answerable"]) for row in listed),
        (
            bool(row["abstained"])
            if row.get("abstained") is not None
            else abstains(str(row.get("answer", "")))
            for row in listed
        ),
    )
    hits = counts["true_positives"]
    precision = _ratio(hits, hits + counts["false_positives"])
    recall = _ratio(hits, hits + counts["false_negatives"])
    f1 = _ratio(2 * precision * recall, precision + recall)
    return {
        "precision": round(precision, DIGITS),
        "recall": round(recall, DIGITS),
        "f1": round(f1, DIGITS),
        "true_positives": hits,
        "false_positives": counts["false_positives"],
        "false_negatives": counts["false_negatives"],
        "true_negatives": counts["true_negatives"],
    }


def _ratio(top: float, bottom: float) -> float:
    """Divide; by nothing it is 0."""
    return top / bottom if bottom else 0.0


def abstention_rows(
    answerable: Sequence[bool], abstained: Sequence[bool]
) -> NDArray[np.float64]:
    """Return n x 3 rows (hit, refused, unanswerable).

    Args:
        answerable: Whether each sample has an answer.
        abstained: Whether it was refused.
    """
    can = np.asarray(answerable, dtype=bool)
    refused = np.asarray(abstained, dtype=bool)
    return np.column_stack([refused & ~can, refused, ~can]).astype(np.float64)


def token_estimate(text: str) -> int:
    """Return the published estimate of tokens: a quarter of the characters.

    Args:
        text: Any text; the least estimate is 1.
    """
    return max(1, len(text) // 4)


def bootstrap_ci(
    values: Sequence[float], n_bootstrap: int = RESAMPLES, ci: float = 0.95
) -> dict[str, float]:
    """Return the mean of values with its percentile bootstrap interval.

    The generator starts from seed 42 in every call, so equal values give equal
    intervals.

    Args:
        values: One number for each sample.
        n_bootstrap: How many times as many values are drawn with replacement.
        ci: Share of the drawn means inside the interval.

    Returns:
        `mean`, `ci_low`, `ci_high` and `std` (of the drawn means), each rounded to
        four digits; zeros for no values.

    Raises:
        InputError: If a number is not finite, or an option is out of range.
    """
    return bootstrap_rows(
        np.asarray(values, dtype=np.float64).reshape(-1, 1),
        first_mean,
        n_bootstrap=n_bootstrap,
        ci=ci,
    )


def bootstrap_rows(
    rows: NDArray[np.float64],
    statistic: Statistic,
    *,
    n_bootstrap: int = RESAMPLES,
    ci: float = 0.95,
) -> dict[str, float]:
    """Return any metric with its interval, as `bootstrap_ci` does for a mean.

    Args:
        rows: n x k numbers, a row for each sample.
        statistic: Function of the column means.
        n_bootstrap: How many times n rows are drawn with replacement.
        ci: Share of the drawn metrics inside the interval.

    Returns:
        As `bootstrap_ci`; `mean` is the metric of the rows themselves.

    Raises:
        InputError: If a number is not finite, or an option is out of range.
    """
    if not 1 <= n_bootstrap <= 1_000_000 or not 0 < ci < 1:
        msg = (
            f"{n_bootstrap} resamples at level {ci}: choose 1 to 1,000,000, and a "
            "level between 0 and 1 such as 0.95."
        )
        raise InputError(msg)
    if not np.isfinite(rows).all():
        msg = "Some values are not finite numbers: leave them out."
        raise InputError(msg)
    if not len(rows):
        return dict.fromkeys(("mean", "ci_low", "ci_high", "std"), 0.0)
    means = _resampled_means(rows, n_bootstrap)
    drawn = statistic(means)
    tail = 100 * (1 - ci) / 2
    low, high = np.percentile(drawn, [tail, 100 - tail])
    value = statistic(rows.mean(axis=0, keepdims=True))[0]
    found = {"mean": value, "ci_low": low, "ci_high": high, "std": drawn.std()}
    return {name: round(float(number), DIGITS) for name, number in found.items()}


def _resampled_means(
    rows: NDArray[np.float64], n_bootstrap: int
) -> NDArray[np.float64]:
    """Return the column means of each resample, in blocks of bounded size."""
    rng = np.random.default_rng(SEED)
    most = max(1, _CELLS // rows.size)
    blocks = []
    for start in range(0, n_bootstrap, most):
        size = (min(most, n_bootstrap - start), len(rows))
        blocks.append(rows[rng.integers(0, len(rows), size=size)].mean(axis=1))
    return np.concatenate(blocks)

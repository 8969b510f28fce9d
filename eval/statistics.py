"""How sure a measured number is: intervals and paired comparisons.

Everything works on *rows*, one for each record (or question, or pair): an array of n
numbers, or n x k numbers. A *statistic* is a function of the k column means; so the
mean itself, and ratios of sums such as micro-averaged precision, are resampled by one
matrix product instead of a loop:

    weights (resamples x n)  @  rows (n x k)  ->  means (resamples x k)  ->  statistic

Records are what is drawn, never single fields: fields of one record are not
independent. All randomness comes from the seed, so the same rows give the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING, Literal

import numpy as np

from graph.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "EXACT",
    "RESAMPLES",
    "Comparison",
    "Interval",
    "Method",
    "Statistic",
    "bootstrap_interval",
    "bootstrap_intervals",
    "compare_paired",
    "first_mean",
    "ratio_f1",
    "ratio_precision",
    "ratio_recall",
]

Statistic = Callable[["NDArray[np.float64]"], "NDArray[np.float64]"]
"""Takes m x k column means and returns m numbers."""

Method = Literal["bca", "percentile"]

RESAMPLES = 2000
_CELLS = 4_000_000
"""Most weights held at once, so that memory does not grow with the records."""
EXACT = 12
"""Up to so many records every swap is tried instead of random ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A number with the range in which resampling finds it.

    Attributes:
        value: The statistic of the rows themselves.
        low: Lower end; NaN where fewer than two rows leave nothing to resample.
        high: Upper end, or NaN.
        level: Share of resamples inside, such as 0.95.
        n: How many rows there were.
    """

    value: float
    low: float
    high: float
    level: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two systems on the same records.

    Attributes:
        first: Statistic of the first system.
        second: Statistic of the second system.
        difference: Second minus first, with its interval over paired resamples.
        p_value: How often a random swap of the two systems on each record makes a
            difference at least as large, from the permutation test.
        exact: Whether every swap was tried.
        n: How many records there were.
    """

    first: float
    second: float
    difference: Interval
    p_value: float
    exact: bool
    n: int


def first_mean(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of the first column: the statistic of rows of one number."""
    return means[:, 0]


def ratio_precision(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return micro-averaged precision of rows (score, produced, expected).

    Like all three, it is 1 where there is nothing to divide by.
    """
    return _ratio(means[:, 0], means[:, 1])


def ratio_recall(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return micro-averaged recall of rows (score, produced, expected)."""
    return _ratio(means[:, 0], means[:, 2])


def ratio_f1(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return micro-averaged F1 of rows (score, produced, expected)."""
    return _ratio(2 * means[:, 0], means[:, 1] + means[:, 2])


def _ratio(
    top: NDArray[np.float64], bottom: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Divide; nothing by nothing is 1."""
    return np.divide(top, bottom, out=np.ones_like(top), where=bottom != 0)


def bootstrap_interval(
    rows: ArrayLike,
    statistic: Statistic = first_mean,
    *,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    method: Method = "bca",
    seed: int = 0,
) -> Interval:
    """Return a statistic of the rows with its bootstrap interval.

    Args:
        rows: n numbers, or n x k numbers.
        statistic: Function of the column means.
        level: Share of resamples inside the interval, between 0 and 1.
        resamples: How many times n rows are drawn with replacement.
        method: `bca` corrects bias and skewness; `percentile` takes the quantiles as
            they are. BCa falls back to them where all rows say the same.
        seed: Seed of the drawing.

    Returns:
        The interval; its ends are NaN for one row.

    Raises:
        InputError: If there is no row, a number is not finite, or an option is out of
            range.
    """
    (found,) = bootstrap_intervals(
        rows,
        {"": statistic},
        level=level,
        resamples=resamples,
        method=method,
        seed=seed,
    ).values()
    return found


def bootstrap_intervals(
    rows: ArrayLike,
    statistics: Mapping[str, Statistic],
    *,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    method: Method = "bca",
    seed: int = 0,
) -> dict[str, Interval]:
    """Return several statistics of the same rows, each as `bootstrap_interval` does.

    The rows are drawn once for all of them.

    Args:
        rows: n numbers, or n x k numbers.
        statistics: Name to function of the column means.
        level: Share of resamples inside each interval.
        resamples: How many times n rows are drawn with replacement.
        method: As in `bootstrap_interval`.
        seed: Seed of the drawing.

    Raises:
        InputError: As `bootstrap_interval`.
    """
    table = _table(rows)
    _check_options(level, resamples, method)
    n = len(table)
    means = None if n < 2 else _resampled_means(table, resamples, seed)
    found = {}
    for name, statistic in statistics.items():
        value = float(statistic(table.mean(axis=0, keepdims=True))[0])
        low = high = nan
        if means is not None:
            low, high = _ends(
                table, statistic, statistic(means), value, level=level, method=method
            )
        found[name] = Interval(value=value, low=low, high=high, level=level, n=n)
    return found


def _table(rows: ArrayLike) -> NDArray[np.float64]:
    """Return rows as an n x k array, checked."""
    try:
        table = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"The rows are not numbers of one shape: {error}."
        raise InputError(msg) from error
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2 or table.size == 0:
        msg = f"The rows have shape {table.shape}: give n numbers or n x k, n >= 1."
        raise InputError(msg)
    if not np.isfinite(table).all():
        bad = int(np.flatnonzero(~np.isfinite(table).all(axis=1))[0])
        msg = f"Row {bad} is not finite ({table[bad].tolist()}): leave such rows out."
        raise InputError(msg)
    return table


def _check_options(level: float, resamples: int, method: str) -> None:
    """Refuse options that give no interval."""
    if not 0 < level < 1:
        msg = f"level is {level}: choose one between 0 and 1, such as 0.95."
        raise InputError(msg)
    if not 1 <= resamples <= 1_000_000:
        msg = f"resamples is {resamples}: choose 1 to 1,000,000."
        raise InputError(msg)
    if method not in {"bca", "percentile"}:
        msg = f"No interval method {method!r}: use 'bca' or 'percentile'."
        raise InputError(msg)


def _blocks(total: int, n: int) -> Iterator[int]:
    """Yield sizes that sum to `total`, each few enough to hold their weights."""
    most = max(1, _CELLS // n)
    while total > 0:
        yield min(most, total)
        total -= most


def _resampled_means(
    table: NDArray[np.float64], resamples: int, seed: int
) -> NDArray[np.float64]:
    """Return the column means of each resample."""
    rng = np.random.default_rng(seed)
    n = len(table)
    blocks = []
    for size in _blocks(resamples, n):
        drawn = rng.integers(0, n, size=(size, n))
        drawn += np.arange(size)[:, None] * n
        counts = np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n)
        blocks.append(counts @ table / n)
    return np.concatenate(blocks)


def _ends(
    table: NDArray[np.float64],
    statistic: Statistic,
    drawn: NDArray[np.float64],
    value: float,
    *,
    level: float,
    method: Method,
) -> tuple[float, float]:
    """Return the ends of an interval from the resampled statistics."""
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    if method == "bca":
        tails = _bca_tails(table, statistic, drawn, value, tails)
    low, high = np.quantile(drawn, tails)
    return float(low), float(high)


def _bca_tails(
    table: NDArray[np.float64],
    statistic: Statistic,
    drawn: NDArray[np.float64],
    value: float,
    tails: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the tails moved by bias and acceleration, as they are where undefined."""
    from scipy.special import ndtr, ndtri

    near = np.abs(drawn - value) <= _rounding(table)
    below = float(((drawn < value) & ~near).mean() + near.mean() / 2)
    if not 0 < below < 1:
        return tails
    n = len(table)
    left_out = statistic((table.sum(axis=0) - table) / (n - 1))
    spread = left_out.mean() - left_out
    scale = float((spread**2).sum())
    acceleration = (
        0.0 if scale <= 1e-24 else float((spread**3).sum()) / (6 * scale**1.5)
    )
    bias = float(ndtri(below))
    moved = bias + ndtri(tails)
    divisor = 1 - acceleration * moved
    if (divisor <= 0).any():
        return tails
    shifted: NDArray[np.float64] = ndtr(bias + moved / divisor)
    return shifted


def compare_paired(
    first: ArrayLike,
    second: ArrayLike,
    statistic: Statistic = first_mean,
    *,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    method: Method = "bca",
    seed: int = 0,
) -> Comparison:
    """Compare two systems that answered the same records, in the same order.

    The interval draws records and takes both systems' rows of each; the test swaps
    the two systems' rows of each record at random, or in all ways where there are at
    most twelve records. The p-value is two-sided, and never 0.

    Args:
        first: Rows of the first system.
        second: Rows of the second system, the same shape.
        statistic: Function of the column means.
        level: Share of resamples inside the interval.
        resamples: How many resamples, and how many random swaps.
        method: As in `bootstrap_interval`.
        seed: Seed of the drawing.

    Returns:
        Both values, the difference with its interval, and the p-value.

    Raises:
        InputError: If the shapes differ, or as `bootstrap_interval` raises.
    """
    one, two = _table(first), _table(second)
    if one.shape != two.shape:
        msg = f"The systems have rows of shapes {one.shape} and {two.shape}: pair them."
        raise InputError(msg)
    columns = one.shape[1]

    def difference(means: NDArray[np.float64]) -> NDArray[np.float64]:
        return statistic(means[:, columns:]) - statistic(means[:, :columns])

    both = np.hstack([one, two])
    interval = bootstrap_interval(
        both, difference, level=level, resamples=resamples, method=method, seed=seed
    )
    return Comparison(
        first=float(statistic(one.mean(axis=0, keepdims=True))[0]),
        second=float(statistic(two.mean(axis=0, keepdims=True))[0]),
        difference=interval,
        p_value=_swap_test(one, two, statistic, interval.value, resamples, seed),
        exact=len(one) <= EXACT,
        n=len(one),
    )


def _swap_test(
    one: NDArray[np.float64],
    two: NDArray[np.float64],
    statistic: Statistic,
    seen: float,
    resamples: int,
    seed: int,
) -> float:
    """Return the share of swaps with at least the difference that was seen."""
    n = len(one)
    total = one.sum(axis=0) + two.sum(axis=0)
    change = two - one
    least = abs(seen) - _rounding(np.vstack([one, two]))
    extreme = tried = 0
    for swaps in _swaps(n, resamples, seed):
        sums = one.sum(axis=0) + swaps @ change
        differences = statistic((total - sums) / n) - statistic(sums / n)
        extreme += int((np.abs(differences) >= least).sum())
        tried += len(swaps)
    # All swaps include the one that was seen; of random ones it is added.
    return extreme / tried if n <= EXACT else (extreme + 1) / (tried + 1)


def _rounding(table: NDArray[np.float64]) -> float:
    """Return how far apart equal numbers may come out; far below any real difference.

    Rounding makes ties look like differences, and errors grow with the numbers.
    """
    return 1e-12 * max(1.0, float(np.abs(table).max()))


def _swaps(n: int, resamples: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Yield blocks of rows of zeros and ones: whether each record is swapped."""
    if n <= EXACT:
        numbers = np.arange(2**n)[:, None]
        yield ((numbers >> np.arange(n)) & 1).astype(np.float64)
        return
    rng = np.random.default_rng([seed, 1])
    for size in _blocks(resamples, n):
        yield rng.integers(0, 2, size=(size, n)).astype(np.float64)

"""How sure a measured number is: intervals and paired comparisons.

Everything works on *rows*, one for each record (or question, or pair): an array of n
numbers, or n x k numbers. A *statistic* is a function of the k column means; so the
mean itself, and ratios of sums such as micro-averaged precision, are resampled by one
matrix product instead of a loop:

    weights (resamples x n)  @  rows (n x k)  ->  means (resamples x k)  ->  statistic

Records are what is drawn, never single fields: fields of one record are not
independent. Where rows themselves belong together, as turns of a conversation do, whole
clusters of them are drawn. All randomness comes from the seed, so the same rows give
the same numbers.

Where all rows say the same, each resample does too, and its interval has no width,
though few rows prove little. One rule holds for every statistic that has bounds, such
as a share from 0 to 1: of n records all alike, as many others as Clopper and Pearson's
exact interval for 0 of n allows for could have the least, or the greatest, value there
is. Twenty perfect records so have [0.832, 1]. Without bounds, nothing says how far
others may be, and the interval is the value alone.

One rule for families of tests holds in every report: all differences in one metric,
between however many systems or in however many fields, are a family, whose p-values are
corrected together by Holm's method. Different metrics are different questions: of many,
one is to be chosen before one looks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

import numpy as np

from knowtrail.graph.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Statistic = Callable[["NDArray[np.float64]"], "NDArray[np.float64]"]
"""Takes m x k column means and returns m numbers."""

Method = Literal["bca", "percentile"]

Bounds = tuple[float, float]
"""The least and the greatest value that a statistic can have."""

SHARE: Bounds = (0.0, 1.0)
"""Bounds of shares, and of means of them."""

RESAMPLES = 2000
_CELLS = 4_000_000
"""Most weights held at once, so that memory does not grow with the records."""
EXACT = 12
"""Up to so many records every swap is tried instead of random ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A number with the range in which resampling finds it.

    Attributes:
        low: Lower end; NaN where fewer than two rows, or clusters, leave nothing to
            resample.
        level: Share of resamples inside, such as 0.95.
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
        difference: Second minus first, with its interval over paired resamples.
        p_value: How often a random swap of the two systems on each record makes a
            difference at least as large, from the permutation test.
        exact: Whether every swap was tried.
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
    return divided(means[:, 0], means[:, 1], nothing=1.0)


def ratio_recall(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return micro-averaged recall of rows (score, produced, expected)."""
    return divided(means[:, 0], means[:, 2], nothing=1.0)


def ratio_f1(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return micro-averaged F1 of rows (score, produced, expected)."""
    return divided(2 * means[:, 0], means[:, 1] + means[:, 2], nothing=1.0)


def divided(
    top: NDArray[np.float64], bottom: NDArray[np.float64], *, nothing: float = 0.0
) -> NDArray[np.float64]:
    """Divide counts; by 0 it is `nothing`."""
    return np.divide(top, bottom, out=np.full_like(top, nothing), where=bottom != 0)


class Drawing(TypedDict, total=False):
    """How resamples are drawn, and what is made of them.

    Attributes:
        level: Share of resamples inside the interval, between 0 and 1; 0.95 without it.
        resamples: How many times n rows are drawn with replacement; `RESAMPLES`.
        method: `bca`, the default, corrects bias and skewness; `percentile` takes the
            quantiles as they are. BCa falls back to them where all rows say the same.
        seed: Seed of the drawing; 0.
        bounds: Those of the statistic, for rows that all say the same; see the module.
    """

    level: float
    resamples: int
    method: Method
    seed: int
    bounds: Bounds | None


def bootstrap_interval(
    rows: ArrayLike,
    statistic: Statistic = first_mean,
    *,
    clusters: Sequence[object] | None = None,
    **how: Unpack[Drawing],
) -> Interval:
    """Return a statistic of n numbers, or n x k, with its bootstrap interval.

    `clusters` are what each row belongs to; rows of equal ones are drawn together. None
    draws each row by itself.

    Raises:
        InputError: If there is no row, a number is not finite, an option is out of
            range, or there are not as many clusters as rows.
    """
    return bootstrap_intervals(rows, {"": statistic}, clusters=clusters, **how)[""]


def bootstrap_intervals(
    rows: ArrayLike,
    statistics: Mapping[str, Statistic],
    *,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    method: Method = "bca",
    seed: int = 0,
    bounds: Bounds | None = None,
    clusters: Sequence[object] | None = None,
) -> dict[str, Interval]:
    """Return several statistics of the same rows, each as `bootstrap_interval` does.

    The rows are drawn once for all of them; the bounds are those of each.
    """
    table = _table(rows)
    _check_options(level, resamples, method)
    sums, sizes = _clustered(table, clusters)
    n = len(sums)
    means = None if n < 2 else resampled_means(sums, sizes, resamples, seed)
    found = {}
    for name, statistic in statistics.items():
        value = float(statistic(table.mean(axis=0, keepdims=True))[0])
        low = high = nan
        if means is not None:
            drawn, tails = statistic(means), np.array([1 - level, 1 + level]) / 2
            if method == "bca":
                tails = _bca_tails(sums, sizes, statistic, drawn, value, tails)
            low, high = map(float, np.quantile(drawn, tails))
            if bounds is not None and high - low <= _rounding(table):
                low, high = exact_ends(value, bounds, level, n)
        found[name] = Interval(
            value=value, low=low, high=high, level=level, n=len(table)
        )
    return found


def exact_ends(
    value: float, bounds: Bounds, level: float, n: int
) -> tuple[float, float]:
    """Return the ends of an interval of n records, or clusters, that all say `value`.

    See the module.
    """
    others = 1 - ((1 - level) / 2) ** (1 / n)
    low, high = (value + others * (bound - value) for bound in bounds)
    return low, high


def wilson_interval(hits: int, n: int, *, level: float = 0.95) -> Interval:
    """Return a share of n independent cases with its score interval (Wilson 1927)."""
    from scipy.stats import binomtest

    found = binomtest(hits, n).proportion_ci(level, method="wilson")
    low, high = float(found.low), float(found.high)
    return Interval(value=hits / n, low=low, high=high, level=level, n=n)


def _clustered(
    table: NDArray[np.float64], clusters: Sequence[object] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sums of what is drawn together, and how many rows each has."""
    if clusters is None:
        return table, np.ones(len(table))
    if len(clusters) != len(table):
        msg = f"There are {len(clusters)} clusters for {len(table)} rows: give as many."
        raise InputError(msg)
    numbers = {cluster: place for place, cluster in enumerate(dict.fromkeys(clusters))}
    places = [numbers[cluster] for cluster in clusters]
    sums = np.zeros((len(numbers), table.shape[1]))
    np.add.at(sums, places, table)
    return sums, np.bincount(places).astype(np.float64)


def _table(rows: ArrayLike) -> NDArray[np.float64]:
    """Return rows as an n x k array, checked."""
    try:
        table = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"The rows are not numbers of one shape: {error}.") from error
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
    if not 0 < level < 1:
        raise InputError(f"level is {level}: choose one between 0 and 1, such as 0.95.")
    if not 1 <= resamples <= 1_000_000:
        raise InputError(f"resamples is {resamples}: choose 1 to 1,000,000.")
    if method not in {"bca", "percentile"}:
        raise InputError(f"No interval method {method!r}: use 'bca' or 'percentile'.")


def resample_blocks(total: int, n: int) -> Iterator[int]:
    """Yield how many of `total` resamples of n rows memory holds at once.

    To draw in such blocks draws the same as at once.
    """
    most = max(1, _CELLS // n)
    while total > 0:
        yield min(most, total)
        total -= most


def resampled_means(
    sums: NDArray[np.float64], sizes: NDArray[np.float64], resamples: int, seed: int
) -> NDArray[np.float64]:
    """Return the column means of resamples of rows, or of sums of so many rows."""
    rng = np.random.default_rng(seed)
    n = len(sums)
    blocks = []
    for size in resample_blocks(resamples, n):
        drawn = rng.integers(0, n, size=(size, n))
        drawn += np.arange(size)[:, None] * n
        counts = np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n)
        blocks.append(counts @ sums / (counts @ sizes)[:, None])
    return np.concatenate(blocks)


def _bca_tails(
    sums: NDArray[np.float64],
    sizes: NDArray[np.float64],
    statistic: Statistic,
    drawn: NDArray[np.float64],
    value: float,
    tails: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the tails moved by bias and acceleration, as they are where undefined."""
    from scipy.special import ndtr, ndtri

    near = np.abs(drawn - value) <= _rounding(sums)
    below = float(((drawn < value) & ~near).mean() + near.mean() / 2)
    if not 0 < below < 1:
        return tails
    left_out = statistic((sums.sum(axis=0) - sums) / (sizes.sum() - sizes)[:, None])
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
    **how: Unpack[Drawing],
) -> Comparison:
    """Compare two systems that answered the same records, in the same order.

    The interval draws records and takes both systems' rows of each; the test swaps
    the two systems' rows of each record at random, or in all ways where there are at
    most twelve records. The p-value is two-sided, and never 0. There are as many random
    swaps as resamples.

    Raises:
        InputError: If the shapes differ, or as `bootstrap_interval` raises.
        TypeError: For `clusters`: the test would not know them.
    """
    if "clusters" in how:
        raise TypeError("compare_paired takes no clusters: its test swaps records.")
    one, two = _table(first), _table(second)
    if one.shape != two.shape:
        msg = f"The systems have rows of shapes {one.shape} and {two.shape}: pair them."
        raise InputError(msg)
    columns = one.shape[1]

    def difference(means: NDArray[np.float64]) -> NDArray[np.float64]:
        return statistic(means[:, columns:]) - statistic(means[:, :columns])

    if bounds := how.get("bounds"):
        span = bounds[1] - bounds[0]
        how["bounds"] = (-span, span)
    interval = bootstrap_interval(np.hstack([one, two]), difference, **how)
    drawn = how.get("resamples", RESAMPLES), how.get("seed", 0)
    return Comparison(
        first=float(statistic(one.mean(axis=0, keepdims=True))[0]),
        second=float(statistic(two.mean(axis=0, keepdims=True))[0]),
        difference=interval,
        p_value=_swap_test(one, two, statistic, interval.value, *drawn),
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
    """Return how far apart equal numbers may be; far below any real difference."""
    # Rounding makes ties look like differences, and errors grow with the numbers.
    return 1e-12 * max(1.0, float(np.abs(table).max()))


def _swaps(n: int, resamples: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Yield blocks of rows of zeros and ones: whether each record is swapped."""
    if n <= EXACT:
        numbers = np.arange(2**n)[:, None]
        yield ((numbers >> np.arange(n)) & 1).astype(np.float64)
        return
    rng = np.random.default_rng([seed, 1])
    for size in resample_blocks(resamples, n):
        yield rng.integers(0, 2, size=(size, n)).astype(np.float64)


Correction = Literal["benjamini-hochberg", "holm", "none"]


def corrected(
    p_values: ArrayLike, *, method: Correction = "holm"
) -> NDArray[np.float64]:
    """Return p-values adjusted for how many tests there are, in the order given.

    `holm` bounds the chance of any false alarm, `benjamini-hochberg` the expected share
    of false ones among the alarms; `none` changes nothing.
    """
    given = np.asarray(p_values, dtype=np.float64).reshape(-1)
    if given.size and not ((given >= 0) & (given <= 1)).all():
        raise InputError(f"p-values must be from 0 to 1: {given.tolist()}.")
    if method not in {"holm", "benjamini-hochberg", "none"}:
        msg = f"No correction {method!r}: use 'holm' or 'benjamini-hochberg'."
        raise InputError(msg)
    if method == "none" or not given.size:
        return given.copy()
    order = np.argsort(given, kind="stable")
    ranked, m = given[order], len(given)
    if method == "holm":
        adjusted = np.maximum.accumulate(ranked * np.arange(m, 0, -1))
    else:
        scaled = ranked * m / np.arange(1, m + 1)
        adjusted = np.minimum.accumulate(scaled[::-1])[::-1]
    result = np.empty(m)
    result[order] = np.minimum(adjusted, 1.0)
    return np.maximum(result, given)  # a product and its share may round below


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A system less another, by one metric, on the records that both have.

    Attributes:
        found: Both values and their difference with its interval.
        p_value: That of the permutation test, corrected; see the module.
    """

    name: str
    base: str
    metric: str
    found: Comparison
    p_value: float


def corrected_differences(
    tests: Iterable[tuple[str, str, str, Comparison]],
) -> tuple[Difference, ...]:
    """Return comparisons with their p-values corrected, in the order given."""
    given = list(tests)
    adjusted = [0.0] * len(given)
    for metric in dict.fromkeys(test[2] for test in given):
        family = [place for place, test in enumerate(given) if test[2] == metric]
        p_values = corrected([given[place][3].p_value for place in family])
        for place, p_value in zip(family, p_values, strict=True):
            adjusted[place] = float(p_value)
    return tuple(
        Difference(name=name, base=base, metric=metric, found=found, p_value=p_value)
        for (name, base, metric, found), p_value in zip(given, adjusted, strict=True)
    )


def compare_systems(
    values: Mapping[str, Mapping[str, Mapping[Any, float]]],
    base: str,
    *,
    metrics: Sequence[str],
    seed: int = 0,
) -> tuple[Difference, ...]:
    """Return each system less one of them, metric by metric; all are shares.

    Values are system -> metric -> record -> number; a record may lack it.
    """
    tests = []
    for metric in metrics:
        first = values[base].get(metric, {})
        for name, found in values.items():
            second = found.get(metric, {})
            both = [record for record in first if record in second]
            if name == base or not both:
                continue
            one, two = ([side[record] for record in both] for side in (first, second))
            pair = compare_paired(one, two, seed=seed, bounds=SHARE)
            tests.append((name, base, metric, pair))
    return corrected_differences(tests)

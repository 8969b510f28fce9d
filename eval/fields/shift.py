"""Shift: whether the values of a field come from elsewhere than they did before.

| what a field holds | test | of |
|---|---|---|
| numbers | Kolmogorov-Smirnov | the numbers |
| a few values | chi-square | how often each one occurs |
| free text | Kolmogorov-Smirnov | its length in characters |
| anything that some records lack | chi-square | how often it is there |

Values of one record are not independent. So where a record has several values of a
field, as in an array, all of them make up the statistic, and its p-value comes from
permuting whole records between the sides. That holds however alike the values of a
record are, and however many it has, and unlike one value in place of each array it
sees every change in what the array holds. Such a p-value is at least 1 in 10,001.

All p-values of a comparison are corrected together, since among a hundred fields five
would seem to have shifted by chance. With few records a test finds nothing: that
nothing has shifted does not follow from it.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from knowtrail.eval.fields.paths import category, leaves
from knowtrail.eval.statistics import corrected
from knowtrail.graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

    Statistic = Callable[[Floats, Floats], Floats]

Aspect = Literal["length", "numbers", "presence", "values"]

_FREE_TEXT = 0.5
"""Fields of which more values than this share are different are free text."""
_KINDS = 20
"""Fields with no more different values than this never are."""
_EXPECTED = 5.0
"""Rarer values are counted together, as the chi-square test needs."""
_PERMUTATIONS = 10_000
_ENOUGH = 100
"""So many permutations as extreme as the data end the search: p is known well enough
(Besag and Clifford, Sequential Monte Carlo p-values, 1991)."""
_CUTS = 200
_CELLS = 100_000
"""How much of all permutations is held at once."""
_ROUNDING = 1e-9
_LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class FieldShift:
    """One test of one field; `adjusted` is corrected for all tests."""

    field: str
    aspect: Aspect
    test: str
    statistic: float
    p_value: float
    adjusted: float
    shifted: bool
    before: int
    after: int


@dataclass(slots=True)
class _Side:
    values: list[Any] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)


_Test = tuple[str, float, float]
"""Name, statistic, p-value."""


def shifts(before: Iterable[Any], after: Iterable[Any]) -> tuple[FieldShift, ...]:
    """Compare the values of every field in two sets of records.

    There is one result for each test that could be made, the smallest p-value first. A
    field that has one value everywhere has none. Corrected p-values below 0.05 count as
    a shift.
    """
    old, old_count = _collected(before)
    new, new_count = _collected(after)
    if not old_count or not new_count:
        msg = f"Shift needs records on both sides: there are {old_count}, {new_count}."
        raise InputError(msg)
    tests: list[tuple[str, Aspect, _Test | None, int, int]] = []
    for path in dict.fromkeys([*old, *new]):
        left, right = old.get(path, _Side()), new.get(path, _Side())
        there = [[len(left.sizes), old_count - len(left.sizes)]]
        there.append([len(right.sizes), new_count - len(right.sizes)])
        aspect, test = _value_test(left, right)
        tests += [
            (path, "presence", _table_test(there), old_count, new_count),
            (path, aspect, test, len(left.values), len(right.values)),
        ]
    found = [(one, one[2]) for one in tests if one[2] is not None]
    p_values = corrected([test[2] for _, test in found], method="benjamini-hochberg")
    results = [
        FieldShift(path, aspect, *test, float(p), bool(p < _LEVEL), old, new)
        for ((path, aspect, _, old, new), test), p in zip(found, p_values, strict=True)
    ]
    return tuple(sorted(results, key=lambda r: (r.p_value, r.field, r.aspect)))


def _collected(records: Iterable[Any]) -> tuple[dict[str, _Side], int]:
    """Return the values of every field, without nulls, and how many records."""
    fields: dict[str, _Side] = {}
    count = 0
    for record in records:
        count += 1
        sizes: Counter[str] = Counter()
        for path, value in leaves(record):
            if value is not None:
                fields.setdefault(path, _Side()).values.append(value)
                sizes[path] += 1
        for path, size in sizes.items():
            fields[path].sizes.append(size)
    return fields, count


def _value_test(left: _Side, right: _Side) -> tuple[Aspect, _Test | None]:
    """Return what was compared of the values of two sides, and the test."""
    if not left.values or not right.values:
        return "values", None
    both, start = [*left.values, *right.values], len(left.values)
    sizes = [*left.sizes, *right.sizes]
    several, records = max(sizes) > 1, len(left.sizes)
    counts = Counter(map(category, left.values)), Counter(map(category, right.values))
    order = sorted(counts[0] | counts[1])
    numeric = all(_is_number(value) for value in both)
    if numeric or len(order) > max(_KINDS, _FREE_TEXT * len(both)):
        aspect: Aspect = "numbers" if numeric else "length"
        numbers = [float(v) if numeric else float(len(str(v))) for v in both]
        if several:
            return aspect, _permuted_distance(np.array(numbers), sizes, records)
        return aspect, _distance_test(numbers[:start], numbers[start:])
    if several:
        places = {kind: place for place, kind in enumerate(order)}
        kinds = np.array([places[category(value)] for value in both])
        return "values", _permuted_table(kinds, sizes, records)
    return "values", _table_test([[side[kind] for kind in order] for side in counts])


def _is_number(value: Any) -> bool:
    try:
        return (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and math.isfinite(value)
        )
    except OverflowError:
        return False


def _distance_test(left: list[float], right: list[float]) -> _Test | None:
    """Compare two sets of numbers, None where all are equal."""
    from scipy import stats

    if len({*left, *right}) < 2:
        return None
    result = stats.ks_2samp(left, right)
    return "kolmogorov-smirnov", float(result.statistic), float(result.pvalue)


def _permuted_distance(numbers: Floats, sizes: list[int], records: int) -> _Test | None:
    """Do as `_distance_test` does where records have several numbers, at some cuts."""
    cuts = np.unique(numbers)
    if len(cuts) < 2:
        return None
    if len(cuts) > _CUTS:
        cuts = np.unique(np.quantile(numbers, np.linspace(0, 1, _CUTS)))
    kinds = np.searchsorted(cuts, numbers)

    def distance(first: Floats, other: Floats) -> Floats:
        one, two = np.cumsum(first, axis=1), np.cumsum(other, axis=1)
        found: Floats = np.abs(one / one[:, -1:] - two / two[:, -1:]).max(axis=1)
        return found

    return _permuted("kolmogorov-smirnov", distance, kinds, sizes, records)


def _permuted_table(
    kinds: NDArray[np.int64], sizes: list[int], records: int
) -> _Test | None:
    """Do as `_table_test` does where records have several values."""
    if not kinds.any():
        return None

    def squares(first: Floats, other: Floats) -> Floats:
        totals = first + other
        share = first.sum(axis=1, keepdims=True) / totals.sum(axis=1, keepdims=True)
        off = (first - totals * share) ** 2 / totals
        found: Floats = off.sum(axis=1) / (share * (1 - share))[:, 0]
        return found

    return _permuted("chi-square", squares, kinds, sizes, records)


def _permuted(
    name: str,
    statistic: Statistic,
    kinds: NDArray[np.int64],
    sizes: list[int],
    records: int,
) -> _Test:
    """Compare the statistic with what it is when records change sides."""
    from scipy.sparse import csr_array

    owners = np.repeat(np.arange(len(sizes)), sizes)
    counts = csr_array((np.ones(len(kinds)), (owners, kinds))).T
    totals = counts.sum(axis=1)
    sides = np.zeros((1, len(sizes)))
    sides[:, :records] = 1

    def found(drawn: Floats) -> Floats:
        first = (counts @ drawn.T).T
        return statistic(first, totals - first)

    seen = float(found(sides)[0])
    least, extreme, tried = seen - _ROUNDING * max(1.0, seen), 0, 0
    rng = np.random.default_rng(0)
    most = max(1, _CELLS // max(counts.shape))
    while tried < _PERMUTATIONS:
        size = min(most, _PERMUTATIONS - tried)
        drawn = rng.permuted(np.repeat(sides, size, axis=0), axis=1)
        places = np.flatnonzero(found(drawn) >= least)
        if extreme + len(places) >= _ENOUGH:
            last = tried + int(places[_ENOUGH - extreme - 1]) + 1
            return f"{name}, records permuted", seen, _ENOUGH / last
        extreme += len(places)
        tried += size
    return f"{name}, records permuted", seen, (extreme + 1) / (tried + 1)


def _table_test(rows: list[list[int]]) -> _Test | None:
    """Compare two rows of counts, None where there is nothing to compare."""
    from scipy import stats

    columns = _pooled(list(zip(*rows, strict=True)))
    if len(columns) < 2:
        return None
    table = list(zip(*columns, strict=True))
    expected = stats.contingency.expected_freq(table)
    if len(columns) == 2 and expected.min() < _EXPECTED:
        odds, p_value = stats.fisher_exact(table)
        return "fisher-exact", float(odds), float(p_value)
    result = stats.chi2_contingency(table)
    return "chi-square", float(result.statistic), float(result.pvalue)


def _pooled(columns: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    columns = sorted((c for c in columns if sum(c)), key=sum)
    rows = [sum(row) for row in zip(*columns, strict=True)]
    least = min(rows, default=0) / (sum(rows) or 1)
    while len(columns) > 2 and sum(columns[0]) * least < _EXPECTED:
        merged = tuple(map(sum, zip(*columns[:2], strict=True)))
        columns = sorted([merged, *columns[2:]], key=sum)
    return columns

"""Shift: whether the values of a field come from elsewhere than they did before.

| what a field holds | test | of |
|---|---|---|
| numbers | Kolmogorov-Smirnov | the numbers |
| a few values | chi-square | how often each one occurs |
| free text | Kolmogorov-Smirnov | its length in characters |
| anything that some records lack | chi-square | how often it is there |

All p-values of a comparison are corrected together, since among a hundred fields five
would seem to have shifted by chance. With few records a test finds nothing: that
nothing has shifted does not follow from it.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from eval.corrections import corrected
from eval.fields.leaves import leaves
from graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eval.corrections import Correction

__all__ = ["FieldShift", "shifts"]

Aspect = Literal["length", "numbers", "presence", "values"]

_FREE_TEXT = 0.5
"""Fields of which more values than this share are different are free text."""
_KINDS = 20
"""Fields with no more different values than this never are."""
_EXPECTED = 5.0
"""Rarer values are counted together, as the chi-square test needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldShift:
    """One test of one field.

    Attributes:
        field: Its schema path.
        aspect: What was compared: `numbers`, `values`, `length` or `presence`.
        test: `kolmogorov-smirnov`, `chi-square` or `fisher-exact`.
        statistic: The test's statistic; the odds ratio for `fisher-exact`.
        p_value: Its p-value alone.
        adjusted: Its p-value corrected for all tests of the comparison.
        shifted: Whether that is below the level.
        before: How many values there were before.
        after: How many there are now.
    """

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
    """The values of one field on one side."""

    values: list[Any] = field(default_factory=list)
    records: int = 0


_Test = tuple[str, float, float]
"""Name, statistic, p-value."""


def shifts(
    before: Iterable[Any],
    after: Iterable[Any],
    *,
    level: float = 0.05,
    correction: Correction = "benjamini-hochberg",
) -> tuple[FieldShift, ...]:
    """Compare the values of every field in two sets of records.

    Args:
        before: The records to compare with.
        after: The records in question.
        level: Corrected p-values below it count as a shift.
        correction: How p-values are corrected.

    Returns:
        One result for each test that could be made, the smallest p-value first. A field
        that has one value everywhere has none.

    Raises:
        InputError: If one side has no record.
    """
    old, old_count = _collected(before)
    new, new_count = _collected(after)
    if not old_count or not new_count:
        msg = f"Shift needs records on both sides: there are {old_count}, {new_count}."
        raise InputError(msg)
    found: list[tuple[str, Aspect, _Test, int, int]] = []
    for path in dict.fromkeys([*old, *new]):
        left, right = old.get(path, _Side()), new.get(path, _Side())
        there = [[left.records, old_count - left.records]]
        there.append([right.records, new_count - right.records])
        if test := _table_test(there):
            found.append((path, "presence", test, old_count, new_count))
        aspect, values = _value_test(left.values, right.values)
        if values:
            sizes = len(left.values), len(right.values)
            found.append((path, aspect, values, *sizes))
    adjusted = corrected([test[2] for _, _, test, _, _ in found], method=correction)
    results = [
        FieldShift(
            field=path,
            aspect=aspect,
            test=name,
            statistic=statistic,
            p_value=p_value,
            adjusted=float(fixed),
            shifted=bool(fixed < level),
            before=n_before,
            after=n_after,
        )
        for (path, aspect, (name, statistic, p_value), n_before, n_after), fixed in zip(
            found, adjusted, strict=True
        )
    ]
    return tuple(sorted(results, key=lambda r: (r.p_value, r.field, r.aspect)))


def _collected(records: Iterable[Any]) -> tuple[dict[str, _Side], int]:
    """Return the values of every field, without nulls, and how many records there are.

    Memory grows with the values; numbers and texts are kept as they are.
    """
    fields: dict[str, _Side] = {}
    count = 0
    for record in records:
        count += 1
        present: set[str] = set()
        for path, value in leaves(record):
            if value is None:
                continue
            side = fields.setdefault(path, _Side())
            side.values.append(value)
            if path not in present:
                present.add(path)
                side.records += 1
    return fields, count


def _value_test(left: list[Any], right: list[Any]) -> tuple[Aspect, _Test | None]:
    """Return what was compared of two lists of values, and the test."""
    if not left or not right:
        return "values", None
    if all(_is_number(value) for value in (*left, *right)):
        return "numbers", _distance_test(left, right)
    counts = Counter(map(_category, left)), Counter(map(_category, right))
    kinds = len(counts[0] | counts[1])
    if kinds > max(_KINDS, _FREE_TEXT * (len(left) + len(right))):
        lengths = [[len(str(value)) for value in side] for side in (left, right)]
        return "length", _distance_test(*lengths)
    order = sorted(counts[0] | counts[1])
    return "values", _table_test([[side[kind] for kind in order] for side in counts])


def _is_number(value: Any) -> bool:
    """Return whether a value is a finite number that a float can hold."""
    try:
        return (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and math.isfinite(value)
        )
    except OverflowError:
        return False


def _category(value: Any) -> str:
    """Return a value as a category: equal JSON is the same one."""
    return json.dumps(value, ensure_ascii=False, default=str)


def _distance_test(left: list[Any], right: list[Any]) -> _Test | None:
    """Compare two sets of numbers, None where all are equal."""
    from scipy import stats

    if len({*left, *right}) < 2:
        return None
    result = stats.ks_2samp(
        [float(value) for value in left], [float(value) for value in right]
    )
    return "kolmogorov-smirnov", float(result.statistic), float(result.pvalue)


def _table_test(rows: list[list[int]]) -> _Test | None:
    """Compare two rows of counts, None where there is nothing to compare."""
    from scipy import stats

    columns = _pooled(list(zip(*rows, strict=True)))
    if len(columns) < 2:
        return None
    table = list(zip(*columns, strict=True))
    if len(columns) == 2 and _least_expected(columns) < _EXPECTED:
        odds, p_value = stats.fisher_exact(table)
        return "fisher-exact", float(odds), float(p_value)
    result = stats.chi2_contingency(table)
    return "chi-square", float(result.statistic), float(result.pvalue)


def _pooled(columns: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the columns with rare ones added up, and empty ones left out."""
    columns = sorted((c for c in columns if sum(c)), key=sum)
    rows = [sum(row) for row in zip(*columns, strict=True)]
    least = min(rows, default=0) / (sum(rows) or 1)
    while len(columns) > 2 and sum(columns[0]) * least < _EXPECTED:
        merged = tuple(map(sum, zip(*columns[:2], strict=True)))
        columns = sorted([merged, *columns[2:]], key=sum)
    return columns


def _least_expected(columns: list[tuple[int, ...]]) -> float:
    """Return the smallest count that chance would give a cell."""
    rows = [sum(row) for row in zip(*columns, strict=True)]
    least: float = min(map(sum, columns)) * min(rows) / sum(rows)
    return least

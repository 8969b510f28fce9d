"""Coefficients of agreement between annotators, beyond what chance would give.

| coefficient | annotators | values | missing values |
|---|---|---|---|
| Cohen's kappa | two | categories | none |
| Fleiss' kappa | two or more | categories | none |
| Krippendorff's alpha | two or more | categories or numbers | any |

1 is perfect agreement, 0 what chance gives. None stands where a coefficient is not
defined: where there is nothing to compare, or where all values are the same.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Literal, TypeVar

from knowtrail.graph.errors import InputError

Level = Literal["interval", "nominal"]
T = TypeVar("T")


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Return Cohen's kappa of two annotators.

    Raises:
        InputError: If they judged different numbers of units.
    """
    if len(first) != len(second):
        msg = f"Cohen's kappa needs pairs: {len(first)} and {len(second)} values."
        raise InputError(msg)
    n = len(first)
    if not n:
        return None
    seen = sum(a == b for a, b in zip(first, second, strict=True)) / n
    left, right = Counter(first), Counter(second)
    chance = sum(left[value] * right[value] for value in left) / n**2
    return None if chance == 1 else (seen - chance) / (1 - chance)


def fleiss_kappa(units: Sequence[Sequence[Hashable]]) -> float | None:
    """Return Fleiss' kappa.

    Raises:
        InputError: If units have different numbers of categories, or fewer than two.
    """
    if not units:
        return None
    raters = len(units[0])
    if raters < 2 or any(len(unit) != raters for unit in units):
        msg = "Fleiss' kappa needs the same number of values for all units, 2 or more."
        raise InputError(msg)
    totals: Counter[Hashable] = Counter()
    pairs = 0
    for unit in units:
        counts = Counter(unit)
        totals.update(counts)
        pairs += sum(count * (count - 1) for count in counts.values())
    n = len(units)
    seen = pairs / (n * raters * (raters - 1))
    chance = sum(count**2 for count in totals.values()) / (n * raters) ** 2
    return None if chance == 1 else (seen - chance) / (1 - chance)


def krippendorff_alpha(
    units: Sequence[Sequence[Hashable | None]], *, level: Level = "nominal"
) -> float | None:
    """Return Krippendorff's alpha.

    Args:
        units: The values that each unit was given; None is a missing one.
        level: `nominal` for categories, which are equal or not; `interval` for numbers,
            which differ by the square of their distance.

    Raises:
        InputError: If `level` is unknown, or a value at `interval` is no finite number.
    """
    pairable = [
        values
        for unit in units
        if len(values := [v for v in unit if v is not None]) > 1
    ]
    if level == "nominal":
        return _alpha(pairable, _differing)
    if level == "interval":
        return _alpha([list(map(_number, unit)) for unit in pairable], _squares)
    raise InputError(f"No level {level!r}: use 'nominal' or 'interval'.")


def _alpha(units: Sequence[list[T]], apart: Callable[[list[T]], float]) -> float | None:
    """Return alpha; `apart` says how far all ordered pairs of values are in sum."""
    flat = [value for unit in units for value in unit]
    if not flat:
        return None
    seen = math.fsum(apart(unit) / (len(unit) - 1) for unit in units)
    chance = apart(flat) / (len(flat) - 1)
    return None if chance == 0 else 1 - seen / chance


def _differing(values: list[Hashable]) -> float:
    """Return how many of all ordered pairs are not equal."""
    return len(values) ** 2 - sum(n**2 for n in Counter(values).values())


def _number(value: Hashable) -> float:
    if isinstance(value, int | float) and math.isfinite(value):
        return float(value)
    msg = f"{value!r:.80} is no finite number, which the level 'interval' needs."
    raise InputError(msg)


def _squares(values: list[float]) -> float:
    """Return the sum of squared distances of all ordered pairs."""
    mean = math.fsum(values) / len(values)
    return 2 * len(values) * math.fsum((value - mean) ** 2 for value in values)

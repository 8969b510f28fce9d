"""Intervals of measures that are the same for all questions, by Clopper and Pearson."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eval.statistics import Interval

__all__ = ["widened"]

_NARROW = 1e-12
"""Width of an interval that comes from rounding alone."""


def widened(found: Interval, least: float = 0.0) -> Interval:
    """Return an interval that also says how sure it is where all questions are alike.

    Then there is nothing to resample, and the bootstrap interval has no width. In its
    place comes what the mean would be if as many questions as Clopper and Pearson's
    exact interval allows for had the least, or the greatest, value that there is.

    Args:
        found: Mean of a measure from `least` to 1, with its bootstrap interval.
        least: The least value: -1 for a difference of measures from 0 to 1.
    """
    if found.n < 2 or not found.high - found.low < _NARROW:
        return found
    others = 1 - ((1 - found.level) / 2) ** (1 / found.n)
    return replace(
        found,
        low=found.value + others * (least - found.value),
        high=found.value + others * (1 - found.value),
    )

"""P-values of many tests at once, corrected for how many there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from graph.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Correction", "corrected"]

Correction = Literal["benjamini-hochberg", "holm", "none"]


def corrected(
    p_values: ArrayLike, *, method: Correction = "holm"
) -> NDArray[np.float64]:
    """Return p-values adjusted for how many tests there are, in the order given.

    Args:
        p_values: One for each test, each from 0 to 1.
        method: `holm` bounds the chance of any false alarm, `benjamini-hochberg` the
            expected share of false ones among the alarms; `none` changes nothing.

    Raises:
        InputError: If a p-value is not from 0 to 1, or the method is unknown.
    """
    given = np.asarray(p_values, dtype=np.float64).reshape(-1)
    if given.size and not ((given >= 0) & (given <= 1)).all():
        msg = f"p-values must be from 0 to 1: {given.tolist()}."
        raise InputError(msg)
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

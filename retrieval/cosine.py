"""Cosines in float64, the same to the last bit from every reader."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowtrail.retrieval.protocols import Vector

_LEAST = 5e-324
"""The least number above 0: what a zero vector's product, 0, is divided by."""


def cosines(query: Vector, vectors: Vector) -> Vector:
    """Return the cosine of a vector and each row of a matrix.

    Each row is summed by itself, so that a row's cosine does not depend on which rows
    stand beside it, as it can with a matrix product; a zero vector has cosine 0.

    Args:
        query: Vector of shape (d,).
        vectors: Matrix of shape (n, d).

    Returns:
        The n cosines.
    """
    if not len(vectors):
        return np.zeros(0)
    dots: Vector = np.vecdot(vectors, query)
    lengths = np.sqrt(np.vecdot(vectors, vectors))
    result: Vector = dots / np.maximum(lengths * math.sqrt(query @ query), _LEAST)
    return result


def ranked(ids: Sequence[str], scores: Vector) -> list[int]:
    """Return positions by descending score, ties by id."""
    keys = list(zip((-scores).tolist(), ids, strict=True))
    return sorted(range(len(keys)), key=keys.__getitem__)

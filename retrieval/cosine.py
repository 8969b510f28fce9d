"""Cosines in float64, the same to the last bit from every reader."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retrieval.protocols import Vector

__all__ = ["cosines", "ranked"]


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
    dots = (vectors * query).sum(axis=1)
    norms = np.sqrt((vectors * vectors).sum(axis=1)) * np.sqrt((query * query).sum())
    result: Vector = np.divide(dots, norms, out=np.zeros_like(dots), where=norms > 0)
    return result


def ranked(ids: Sequence[str], scores: Vector) -> list[int]:
    """Return positions by descending score, ties by id."""
    values = scores.tolist()
    return sorted(range(len(ids)), key=lambda i: (-values[i], ids[i]))

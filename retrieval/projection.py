"""Three main axes of many vectors, from sums that can be added up as they stream.

`Moments` are the count, the sum and the sum of outer products of vectors: those of two
parts add up to those of the whole, so that a corpus is read once, in batches, and a
question can be added without reading it again. `fit_projection` finds the axes along
which the vectors vary most, which is what a principal component analysis does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

AXES = 3
_LEAST = 1e-12
"""Variance that an axis must have, of the mean square length of the vectors: what is
less is left over from rounding, and depends on the order in which they were summed."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Projection:
    """An affine map of vectors to points in space.

    Attributes:
        mean: Mean of the vectors it was fitted to, shape (d,), float64.
        components: The axes, orthonormal, shape (3, d); where the vectors vary along
            fewer than three, the missing ones are zero.
        explained: Which share of the variance each axis holds, shape (3,).
    """

    mean: npt.NDArray[np.float64]
    components: npt.NDArray[np.float64]
    explained: npt.NDArray[np.float64]

    def packed(self) -> npt.NDArray[np.float64]:
        """Return mean, axes and shares end to end, as they are kept."""
        return np.concatenate((self.mean, self.components.ravel(), self.explained))

    @classmethod
    def unpacked(cls, kept: npt.ArrayLike) -> Self:
        """Return what was packed."""
        values = np.asarray(kept, dtype=np.float64)
        rows = values[:-AXES].reshape(1 + AXES, -1)
        return cls(mean=rows[0], components=rows[1:], explained=values[-AXES:])

    def points(self, vectors: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return vectors of shape (n, d) as points of shape (n, 3).

        Each row is summed by itself, so that a point does not depend on the others.
        """
        centred = np.atleast_2d(vectors) - self.mean
        return np.stack(
            [(centred * axis).sum(axis=1) for axis in self.components], axis=1
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Moments:
    """Sums over vectors.

    Attributes:
        count: How many vectors there are.
        total: Their sum, shape (d,), float64.
        outer: Sum of their outer products, shape (d, d), float64.
    """

    count: int
    total: npt.NDArray[np.float64]
    outer: npt.NDArray[np.float64]

    @classmethod
    def none(cls, dimensions: int) -> Self:
        """Return the sums over no vector."""
        return cls(
            count=0,
            total=np.zeros(dimensions),
            outer=np.zeros((dimensions, dimensions)),
        )

    @classmethod
    def of(cls, vectors: npt.NDArray[np.floating]) -> Self:
        """Return the sums over the rows of a matrix of shape (n, d)."""
        rows = np.asarray(vectors, dtype=np.float64)
        return cls(count=len(rows), total=rows.sum(axis=0), outer=rows.T @ rows)

    def __add__(self, other: Moments) -> Moments:
        """Return the sums over both."""
        if not self.count:
            return other
        return Moments(
            count=self.count + other.count,
            total=self.total + other.total,
            outer=self.outer + other.outer,
        )


def fit_projection(
    moments: Moments, query: npt.NDArray[np.float64] | None = None
) -> Projection:
    """Return the axes along which vectors vary most.

    The sign of an axis, which is arbitrary, is fixed by its largest component, which
    is made positive. Without vectors, or all of them equal, the axes hold no variance
    and every point is the origin.

    Args:
        moments: Sums over the vectors.
        query: One further vector to fit to, of shape (d,).
    """
    if query is not None:
        moments += Moments.of(query[None, :])
    dimensions = len(moments.total)
    mean = moments.total / max(1, moments.count)
    components = np.zeros((AXES, dimensions))
    explained = np.zeros(AXES)
    covariance = moments.outer / max(1, moments.count) - np.outer(mean, mean)
    values, axes = np.linalg.eigh(covariance)
    whole = float(np.clip(values, 0.0, None).sum())
    least = _LEAST * float(np.trace(moments.outer)) / max(1, moments.count)
    for place in range(min(AXES, dimensions)):
        axis = axes[:, -1 - place]
        if float(values[-1 - place]) > least:
            largest = int(np.argmax(np.abs(axis)))
            components[place] = axis if axis[largest] > 0 else -axis
            explained[place] = float(values[-1 - place]) / whole
    return Projection(mean=mean, components=components, explained=explained)

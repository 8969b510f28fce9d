"""The matrix of similarities of many chunks, as many cells as a picture can show.

The mean cosine of a block of cells is the product of the mean unit vectors of its rows
and columns. So a matrix of any number of chunks is made at the size of the picture:
the whole one is never held.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Matrix: TypeAlias = NDArray[np.float32]

MAX_CELLS = 800
"""Cells on a side; more than this a screen does not show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A run of neighbouring chunks of one document, of which `first` is the number."""

    document: str
    title: str
    first: int
    length: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Grid:
    """A square matrix of cosines, float32; where chunks are `pooled`, of means.

    `starts` are the cells at which each segment begins, and the end.
    """

    values: Matrix
    segments: tuple[Segment, ...]
    starts: tuple[int, ...]
    pooled: int

    def place(self, document: str, index: int) -> float | None:
        """Return where a chunk lies, in cells from the middle of the first; or None."""
        for segment, start in zip(self.segments, self.starts, strict=False):
            offset = index - segment.first
            if segment.document == document and 0 <= offset < segment.length:
                return start + (offset + 0.5) / self.pooled - 0.5
        return None

    def span(self, cell: int) -> tuple[Segment, int, int]:
        """Return the segment of a cell, and its first and last chunk there."""
        place = max(i for i, start in enumerate(self.starts[:-1]) if start <= cell)
        segment = self.segments[place]
        first = segment.first + (cell - self.starts[place]) * self.pooled
        last = min(first + self.pooled, segment.first + segment.length) - 1
        return segment, first, last


def similarity_grid(
    vectors: Matrix, segments: Sequence[Segment], *, most: int = MAX_CELLS
) -> Grid:
    """Compare chunks, one a row in the order of the segments, none of them zero.

    Where there are more than `most`, neighbouring chunks of a segment share a cell,
    which then has their mean.
    """
    lengths = [segment.length for segment in segments]
    pooled = least_stride(lengths, most)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cells: list[Matrix] = []
    starts, at = [0], 0
    for length in lengths:
        rows = units[at : at + length]
        bounds = range(0, length, pooled)
        cells.extend(rows[i : i + pooled].mean(axis=0) for i in bounds)
        starts.append(starts[-1] + len(bounds))
        at += length
    means = np.asarray(cells, dtype=np.float32)
    return Grid(
        values=np.clip(means @ means.T, -1.0, 1.0),
        segments=tuple(segments),
        starts=tuple(starts),
        pooled=pooled,
    )


def least_stride(lengths: Sequence[int], most: int) -> int:
    """Return the least n so that every n-th of all runs are so many at most."""
    low, high = 1, max([*lengths, 1])
    while low < high:
        middle = (low + high) // 2
        if sum(-(-length // middle) for length in lengths) <= most:
            high = middle
        else:
            low = middle + 1
    return low

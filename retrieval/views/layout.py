"""Where things stand in a picture: headings, cells, ticks, labels that keep apart.

The mean cosine of a block of cells is the product of the mean unit vectors of its rows
and columns. So a matrix of any number of chunks is made at the size of the picture:
the whole one is never held.
"""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from knowtrail.retrieval.views.labels import cut, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Matrix: TypeAlias = npt.NDArray[np.float32]


MAX_CELLS = 800
"""Cells on a side; more than this a screen does not show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """What stands above a picture: a title or question, and what is seen."""

    title: str
    about: str

    def title_lines(self, columns: int) -> list[str]:
        """Return `title` in at most two lines, cut."""
        first = textwrap.wrap(cut(self.title, 2 * columns - 8), columns) or [""]
        return [cut(line, columns) for line in first[:2]]

    def lines(self, columns: int) -> list[str]:
        """Return `about` in lines of at most so many columns."""
        return textwrap.wrap(plain(self.about), columns)


def pooling(grid: Grid) -> str:
    """Say how many chunks share a cell; empty where each has its own."""
    n = grid.pooled
    return (
        ""
        if n == 1
        else f" Each cell is the mean of {n} \N{MULTIPLICATION SIGN} {n} chunks."
    )


def rows_of(panels: int) -> tuple[int, int]:
    """Return rows and columns for a number of panels."""
    columns = min(panels, 4)
    return math.ceil(panels / columns), columns


def spread(places: Sequence[float], gap: float, side: float) -> list[float]:
    """Move labels, ascending, apart along a side, as little as may be.

    The gap shrinks where they do not fit.
    """
    gap = min(gap, side / max(1, len(places)))
    moved: list[float] = []
    for place in places:
        moved.append(
            max(place, moved[-1] + gap) if moved else max(place, gap / 2 - 0.5)
        )
    limit = side - 0.5 - gap / 2
    for n in range(len(moved) - 1, -1, -1):
        moved[n] = min(moved[n], limit)
        limit = moved[n] - gap
    return moved


def numbers_beside(
    places: Sequence[float],
    gap: float,
    side: float,
    hops: Sequence[tuple[float, float]] = (),
) -> list[tuple[float, float]]:
    """Return where the numbers of ascending places on a diagonal stand, in the matrix.

    A number stands on its place, or as near to it as it covers no other number; it
    covers another place, or a hop (from start to end, along the row of its start), only
    where it must.
    """
    turns = np.arange(16) * np.pi / 8
    around = np.stack([np.cos(turns), np.sin(turns)], axis=1)
    rings = np.concatenate([radius * gap * around for radius in np.arange(1, 13, 0.5)])
    beside = np.concatenate([np.zeros((1, 2)), rings])
    half = 0.45 * gap
    corners = [(end, start) for start, end in hops]
    lines = np.array([
        line
        for start, end in hops
        for low, high in [sorted((start, end))]
        for line in ((low, start, high, start), (end, low, end, high))
    ]).reshape(-1, 4)
    stands: list[tuple[float, float]] = []
    for place in places:
        at = place + beside
        inside = np.all((at > gap / 4 - 0.5) & (at < side - 0.5 - gap / 4), axis=1)
        at = at[inside | (np.arange(len(at)) == 0)]
        points = [*corners, *((other, other) for other in places if other != place)]
        crossed = np.all(
            (at[:, None] - half < lines[:, 2:]) & (at[:, None] + half > lines[:, :2]),
            axis=2,
        ).sum(axis=1)
        crossed[0] = 0
        cost = (
            np.hypot(*(at - place).T) / gap
            + np.abs((at - place).sum(axis=1)) / gap / 2  # along the diagonal
            + 100 * _near(at, stands, gap)
            + 10 * _near(at, points, half)
            + 2 * crossed
        )
        x, y = at[int(cost.argmin())]
        stands.append((float(x), float(y)))
    return stands


def _near(
    at: npt.NDArray[np.float64], points: Sequence[tuple[float, float]], reach: float
) -> npt.NDArray[np.int64]:
    """Count the points in the square around each place."""
    away = np.abs(at[:, None] - np.array(points).reshape(-1, 2)).max(axis=2)
    counts: npt.NDArray[np.int64] = (away < reach).sum(axis=1)
    return counts


def ticks(grid: Grid, *, most: int = 10) -> tuple[list[float], list[str]]:
    """Return places and names of about `most` ticks for the chunks of each document."""
    side = len(grid.values)
    whole = max(1, math.ceil(side * grid.pooled / most))
    power = 10 ** math.floor(math.log10(whole))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= whole)
    places: list[float] = []
    names = []
    for segment in grid.segments:
        last = segment.first + segment.length
        for index in range(-(-segment.first // step) * step, last, step):
            place = grid.place(segment.document, index)
            if place is None or (places and place - places[-1] < 0.2 * side / most):
                continue
            places.append(place)
            names.append(str(index))
    return places, names


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

"""Where things stand in a picture: headings, ticks, labels that keep apart."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from knowtrail.retrieval.views.labels import cut, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from knowtrail.retrieval.views.grid import Grid


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

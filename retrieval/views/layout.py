"""Where things stand in a picture: headings, ticks, labels that keep apart."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from retrieval.views.labels import cut, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retrieval.views.grid import Grid

__all__ = ["Heading", "pooling", "rows_of", "spread", "ticks"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """What stands above a picture.

    Attributes:
        title: Title or question.
        about: What is seen, in a sentence or two.
    """

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
    """Move labels apart along a side, as little as may be.

    Args:
        places: Where they should stand, ascending.
        gap: Distance to keep.
        side: Length of the side; the gap shrinks where they do not fit.
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


def ticks(grid: Grid, *, most: int = 10) -> tuple[list[float], list[str]]:
    """Return places and names of ticks for the chunks of one document."""
    side = len(grid.values)
    whole = max(1, math.ceil(side * grid.pooled / most))
    power = 10 ** math.floor(math.log10(whole))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= whole)
    first = grid.segments[0].first
    last = grid.segments[-1].first + grid.segments[-1].length
    document = grid.segments[0].document
    places, names = [], []
    for index in range(-(-first // step) * step, last, step):
        place = grid.place(document, index)
        if place is not None:
            places.append(place)
            names.append(str(index))
    return places, names

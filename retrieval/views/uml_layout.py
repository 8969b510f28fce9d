"""Where the boxes of a class diagram stand: kinds below their parent, in columns.

A parent stands above its kinds, which are indented below it; a list of kinds that is
too long goes on in further columns beside the first. How long is too long is tried
out, and the whole picture that fits a screen best is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

GAP = 10
"""Between two boxes above each other."""
DROP = 14
"""From the left edge of a parent to the line that leads down to its kinds."""
INDENT = 16
"""From that line to the kinds."""
TRUNK = 18
"""From a parent to the line that leads to further columns."""
BELOW_TRUNK = 10
BESIDE = 22
"""Between two columns."""
_SHAPE = 1.5
"""Width to height of a screen or a page on its side."""
_STEP = 1.12
"""Each limit that is tried is so many times the one before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a box stands: its left and upper edge, and where the line to it runs.

    The line comes down at x = `line` (None without one) from height `trunk`, which it
    reaches from the parent's first column.
    """

    x: float
    y: float
    line: float | None = None
    trunk: float = 0.0

    def moved(self, x: float, y: float) -> Place:
        """Return the place as far away as that."""
        line = None if self.line is None else self.line + x
        return Place(x=self.x + x, y=self.y + y, line=line, trunk=self.trunk + y)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    width: float
    height: float
    places: Mapping[str, Place]


def lay_out(
    heights: Mapping[str, float],
    children: Mapping[str | None, Sequence[str]],
    *,
    width: float,
) -> dict[str, Place]:
    """Return the place of each box of a height; the first at (0, 0), no two overlap.

    `children` are the kinds of each class, in order; those of None are roots.
    """
    layer = _Layer(heights, children, width)
    layouts = (layer.roots(limit) for limit in _limits(heights))
    best = min(layouts, key=lambda b: (max(b.width / _SHAPE, b.height), b.width))
    return dict(best.places)


def _limits(heights: Mapping[str, float]) -> Iterator[float]:
    """Yield the heights of columns that are tried, up to one column of all."""
    limit = 2 * max(heights.values(), default=1.0)
    total = sum(height + GAP + TRUNK for height in heights.values())
    while limit < total:
        yield limit
        limit *= _STEP
    yield total


class _Layer:
    """Lays out a tree for one limit after the other."""

    def __init__(
        self,
        heights: Mapping[str, float],
        children: Mapping[str | None, Sequence[str]],
        width: float,
    ) -> None:
        self._heights = heights
        self._children = children
        self._width = width

    def roots(self, limit: float) -> _Block:
        """Return the whole tree."""
        roots = [self._block(name, limit) for name in self._children.get(None, ())]
        places: dict[str, Place] = {}
        right = bottom = 0.0
        for column in _columns(roots, limit):
            left = right + BESIDE if places else 0.0
            top = 0.0
            for block in column:
                places |= {n: p.moved(left, top) for n, p in block.places.items()}
                right = max(right, left + block.width)
                top += block.height + GAP
            bottom = max(bottom, top - GAP)
        return _Block(width=right, height=bottom, places=places)

    def _block(self, name: str, limit: float) -> _Block:
        height = self._heights[name]
        places = {name: Place(x=0, y=0)}
        kinds = self._children.get(name, ())
        left_over = max(limit - height - GAP, 1.0)
        blocks = [self._block(kind, left_over) for kind in kinds]
        columns = _columns(blocks, left_over)
        start = height + (GAP if len(columns) < 2 else TRUNK + BELOW_TRUNK)
        left, right, bottom = float(DROP), self._width, height
        names = iter(kinds)
        for column in columns:
            top = start
            for block in column:
                kind = next(names)
                x = left + INDENT
                places |= {n: p.moved(x, top) for n, p in block.places.items()}
                places[kind] = Place(x=x, y=top, line=left, trunk=height + TRUNK)
                right = max(right, x + block.width)
                bottom = max(bottom, top + block.height)
                top += block.height + GAP
            left = right + BESIDE
        return _Block(width=right, height=bottom, places=places)


def _columns(blocks: Sequence[_Block], limit: float) -> list[list[_Block]]:
    """Return the blocks in columns of at most that height, of heights much alike."""
    columns = _filled(blocks, limit)
    low, high = 0.0, max([limit, *(block.height for block in blocks)])
    while len(columns) > 1 and high - low > 1:
        middle = (low + high) / 2
        tried = _filled(blocks, middle)
        fits = len(tried) <= len(columns) and all(_height(c) <= middle for c in tried)
        low, high = (low, middle) if fits else (middle, high)
    return _filled(blocks, high)


def _filled(blocks: Sequence[_Block], limit: float) -> list[list[_Block]]:
    """Return the blocks in columns, each as full as the limit allows."""
    columns: list[list[_Block]] = []
    for block in blocks:
        if columns and _height([*columns[-1], block]) <= limit:
            columns[-1].append(block)
        else:
            columns.append([block])
    return columns


def _height(column: Sequence[_Block]) -> float:
    return sum(block.height + GAP for block in column) - GAP

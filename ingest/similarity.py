"""Most similar vectors by blocked exact products, in bounded memory.

Candidates come from float32 matrix products over tiles; their cosines are then
computed again in float64, pair by pair, and rounded. A score so depends on its two
vectors alone, never on the tile it fell into, and ties are broken by id: the same
vectors give the same edges in whatever order they arrived. Of equal vectors only the
first by id can be among the best, so any number of them costs what a few do.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]
    Ints = npt.NDArray[np.int64]

SCORE_DECIMALS = 6
ROWS = 512
COLUMNS = 4096
_PAIRS = 1024
"""Scored at a time, few enough that their memory is used again."""
_MOST_PAIRS = 1 << 19
"""Pairs that are kept before they are scored: many where vectors are nearly equal."""
SLACK = 2e-5
"""More than float32 products of unit vectors can be off."""
_NEVER = np.float32(-4.0)
"""Below any score."""


def cosines(vectors: Floats, rows: Ints, columns: Ints) -> npt.NDArray[np.float64]:
    """Return the cosine of each (row, column) pair in float64, rounded."""
    out = np.empty(len(rows), dtype=np.float64)
    for start in range(0, len(rows), _PAIRS):
        part = slice(start, start + _PAIRS)
        a = np.asarray(vectors[rows[part]], dtype=np.float64)
        b = np.asarray(vectors[columns[part]], dtype=np.float64)
        dots = np.einsum("ij,ij->i", a, b)
        lengths = np.sqrt(np.einsum("ij,ij->i", a, a) * np.einsum("ij,ij->i", b, b))
        out[part] = dots / lengths
    return np.round(out, SCORE_DECIMALS)


def vector_number(vector: Floats) -> int:
    """Return a number that equal vectors share, and others hardly ever."""
    digest = hashlib.blake2b(vector.tobytes(), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)


@dataclass(eq=False, repr=False, kw_only=True)
class Comparison:
    """Vectors to compare with all; those of a group below 0 are nobody's neighbours.

    They have shape (n, dimensions), float32, no row zero; they may be memory-mapped.
    Groups (documents), ids that order equal scores, and numbers that equal vectors
    share have shape (n,). Neighbours come from the own group, the vector itself left
    out, or from all the others; `top` is 1 or more.
    """

    method = "exact"
    recall = 1.0

    vectors: Floats
    groups: Ints
    ids: Ints
    numbers: Ints
    top: int
    threshold: float
    same_group: bool = False

    def __post_init__(self) -> None:
        self.columns = self.few(np.flatnonzero(self.groups >= 0))
        self.order: Ints = np.arange(len(self.groups))

    def __getstate__(self) -> dict[str, Any]:
        """Leave vectors in their file, which has to be where this is unpickled."""
        state = dict(vars(self))
        if isinstance(self.vectors, np.memmap):
            state["vectors"] = self.vectors.filename, self.vectors.shape
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if isinstance(self.vectors, tuple):
            path, shape = self.vectors
            self.vectors = np.memmap(path, dtype=np.float32, mode="r", shape=shape)

    def few(self, rows: Ints) -> Ints:
        """Return those rows that can be among the best: few of many equal vectors."""
        equal, groups, ids = self.numbers, self.groups, self.ids
        if len(np.unique(equal[rows])) == len(rows):
            return rows
        order = rows[np.lexsort((ids[rows], groups[rows], equal[rows]))]
        kept = _first(order, self.top + 1, equal, groups)
        if not self.same_group:
            order = kept[np.lexsort((ids[kept], equal[kept]))]
            kept = _first(order, 2 * self.top + 2, equal)
        return np.sort(kept)

    def blocks(self, first: int) -> Iterator[Best]:
        """Yield the neighbours of the vectors from one on, by blocks of rows."""
        for start in range(first, len(self.vectors), ROWS):
            stop = min(start + ROWS, len(self.vectors))
            best = self.best(np.arange(start, stop))
            best.start, best.stop = start, stop
            yield best

    def best(
        self,
        rows: Ints,
        columns: Ints | None = None,
        floors: npt.NDArray[np.float64] | None = None,
    ) -> Best:
        """Return the best of the columns, or of all, for some rows, as `among` does."""
        columns = self.columns if columns is None else columns
        best = Best(self.top)
        for start in range(0, len(rows) if len(columns) else 0, ROWS):
            part = rows[start : start + ROWS]
            best.append(self.among(part, [(np.arange(len(part)), columns)], floors))
        return best

    def entered(self, rows: Ints, floors: npt.NDArray[np.float64]) -> Best:
        """Return which of some new rows may be among the best of others.

        Floors are the scores that one has to reach for each vector, shape (n,);
        infinite for vectors that are not asked.
        """
        asked = np.flatnonzero((floors < np.inf) & (self.groups >= 0))
        return self.best(asked, self.few(rows), floors)

    def among(
        self,
        rows: Ints,
        tiles: Iterable[tuple[Ints, Ints]],
        floors: npt.NDArray[np.float64] | None = None,
    ) -> Best:
        """Return the best for some rows of tiles: places of rows, and columns.

        No pair is in two tiles. Floors are the least scores by vector, shape (n,).
        """
        least = np.full(len(rows), self.threshold)
        if floors is not None:
            least = np.maximum(least, floors[rows])
        near = _Nearest(self, rows, least.astype(np.float32))
        for places, columns in tiles:
            for left in range(0, len(columns), COLUMNS):
                others = columns[left : left + COLUMNS]
                vectors = unit_vectors(self.vectors[others])
                for start in range(0, len(places), ROWS):
                    near.look(places[start : start + ROWS], others, vectors)
        return near.settle()

    def apart(self, rows: Ints, columns: Ints) -> npt.NDArray[np.bool_]:
        """Return which pairs, shape (rows, columns), are no neighbours."""
        apart: npt.NDArray[np.bool_]
        apart = (self.groups[rows, None] == self.groups[columns]) != self.same_group
        if self.same_group:
            apart |= rows[:, None] == columns
        return apart

    def together(self, found: Iterable[Best]) -> Best:
        """Return the best of several."""
        every, best = Best(self.top), Best(self.top)
        for part in found:
            every.append(part)
        best.add(every.rows, every.columns, every.scores, self.threshold, self.ids)
        return best


def _first(order: Ints, most: int, *keys: Ints) -> Ints:
    """Return the first rows of each run of equal keys."""
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = np.any([key[order[1:]] != key[order[:-1]] for key in keys], axis=0)
    starts = np.flatnonzero(new)
    places: Ints = np.arange(len(order)) - starts[np.cumsum(new) - 1]
    first: Ints = order[places < most]
    return first


def unit_vectors(vectors: Floats) -> Floats:
    """Scale vectors in memory to length one, in place, and return them."""
    block: Floats = np.asarray(vectors)  # not a file's type, which is slower
    block /= np.sqrt(np.einsum("ij,ij->i", block, block))[:, None]
    return block


class _Nearest:
    """The pairs that may be among the best of some rows, by float32 products."""

    def __init__(self, compared: Comparison, rows: Ints, floors: Floats) -> None:
        self._compared, self._rows, self._floors = compared, rows, floors
        self._block = unit_vectors(compared.vectors[rows])
        self._tops = np.full((len(rows), compared.top), _NEVER, dtype=np.float32)
        self._found: list[tuple[Ints, Ints, Floats]] = []
        self._count, self.best = 0, Best(compared.top)

    def look(self, places: Ints, columns: Ints, vectors: Floats) -> None:
        """Note pairs of rows at some places with columns, of which these are."""
        products = self._block[places] @ vectors.T
        rise = products.max(axis=1) >= self._floors[places] - SLACK
        places, products = places[rise], products[rise]
        if not len(places):
            return
        products[self._compared.apart(self._rows[places], columns)] = _NEVER
        top, tops = self._compared.top, [self._tops[places], products]
        if len(columns) > top:
            tops[1] = np.partition(products, -top, axis=1)[:, -top:]
        self._tops[places] = np.partition(np.hstack(tops), -top, axis=1)[:, -top:]
        least = self._tops[places].min(axis=1)
        self._floors[places] = np.maximum(self._floors[places], least)
        near, far = np.nonzero(products >= self._floors[places, None] - SLACK)
        self._found.append((places[near], columns[far], products[near, far]))
        self._count += len(near)
        if self._count > _MOST_PAIRS:
            self.settle()

    def settle(self) -> Best:
        """Score the pairs found so far, and return the best."""
        if self._found:
            found = map(np.concatenate, zip(*self._found, strict=True))
            places, columns, products = found
            still = products >= self._floors[places] - SLACK
            rows, columns = self._rows[places[still]], columns[still]
            compared = self._compared
            scores = cosines(compared.vectors, rows, columns)
            self.best.add(rows, columns, scores, compared.threshold, compared.ids)
        self._count, self._found = 0, []
        return self.best


class Best:
    """The best pairs so far of some rows, sorted by row and rank.

    Rows, columns and scores (cosines rounded to six decimals) have shape (pairs,);
    those of a block are of the rows from start to stop in the order searched.
    """

    start = stop = 0

    def __init__(self, top: int) -> None:
        self._top = top
        self.rows: Ints = np.empty(0, dtype=np.int64)
        self.columns: Ints = np.empty(0, dtype=np.int64)
        self.scores: npt.NDArray[np.float64] = np.empty(0, dtype=np.float64)

    def add(
        self,
        rows: Ints,
        columns: Ints,
        scores: npt.NDArray[np.float64],
        threshold: float,
        ids: Ints,
    ) -> None:
        """Merge pairs and keep the best of each row; ties go to the smaller id."""
        kept = scores >= threshold
        rows = np.concatenate([self.rows, rows[kept]])
        columns = np.concatenate([self.columns, columns[kept]])
        scores = np.concatenate([self.scores, scores[kept]])
        order = np.lexsort((ids[columns], -scores, rows))
        rows, columns, scores = rows[order], columns[order], scores[order]
        first = np.searchsorted(rows, rows, side="left")
        best = np.arange(len(rows)) - first < self._top
        self.rows, self.columns, self.scores = rows[best], columns[best], scores[best]

    def append(self, other: Best) -> None:
        """Take in the best of rows that come after these."""
        self.rows = np.concatenate([self.rows, other.rows])
        self.columns = np.concatenate([self.columns, other.columns])
        self.scores = np.concatenate([self.scores, other.scores])

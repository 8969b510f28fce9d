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
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]
    Ints = npt.NDArray[np.int64]

SCORE_DECIMALS = 6
ROWS = 512
COLUMNS = 4096
_PAIRS = 16384
SLACK = 2e-5
"""More than float32 products of unit vectors can be off."""
_NEVER = np.float32(-4.0)
"""Below any score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """Best columns of a block of rows, sorted by row and rank.

    Attributes:
        start: First row of the block.
        stop: Row after its last.
        rows: Row of each pair, shape (pairs,).
        columns: Column of each pair, shape (pairs,).
        scores: Cosine of each pair rounded to six decimals, shape (pairs,).
    """

    start: int
    stop: int
    rows: Ints
    columns: Ints
    scores: npt.NDArray[np.float64]


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


def top_neighbours(
    vectors: Floats,
    *,
    groups: Ints,
    ids: Ints,
    top: int,
    threshold: float,
    same_group: bool,
    start: int = 0,
) -> Iterator[Neighbours]:
    """Yield the most similar vectors of each vector, block by block.

    Args:
        vectors: Shape (n, dimensions), float32, no row zero; may be memory-mapped.
        groups: Group of each vector (its document), shape (n,).
        ids: Distinct integers that order equal scores, shape (n,).
        top: How many neighbours a vector keeps.
        threshold: Least cosine kept.
        same_group: Whether neighbours come from the vector's own group (itself left
            out) or from all the others.
        start: First row whose neighbours are wanted.

    Yields:
        Blocks of up to 512 rows, in order.
    """
    count = len(vectors)
    if top == 0:
        return
    columns = neighbour_columns(
        vectors, groups=groups, ids=ids, top=top, same_group=same_group
    )
    for first in range(start, count, ROWS):
        stop = min(first + ROWS, count)
        best = exact_best(
            vectors,
            rows=np.arange(first, stop),
            columns=columns,
            groups=groups,
            ids=ids,
            top=top,
            threshold=threshold,
            same_group=same_group,
        )
        yield best.block(first, stop)


def exact_best(
    vectors: Floats,
    *,
    rows: Ints,
    columns: Ints,
    groups: Ints,
    ids: Ints,
    top: int,
    threshold: float,
    same_group: bool,
) -> Best:
    """Return the best of the columns for some rows, by products with all of them."""
    block = unit_vectors(vectors[rows])
    best = Best(top)
    for left in range(0, len(columns), COLUMNS):
        part = columns[left : left + COLUMNS]
        allowed = (groups[rows, None] == groups[None, part]) == same_group
        allowed &= rows[:, None] != part
        scores = np.where(allowed, block @ unit_vectors(vectors[part]).T, _NEVER)
        near, far = _candidates(scores, top, threshold)
        near, far = rows[near], part[far]
        best.add(near, far, cosines(vectors, near, far), threshold, ids)
    return best


def entered_lists(
    vectors: Floats,
    *,
    rows: Ints,
    floors: npt.NDArray[np.float64],
    groups: Ints,
    ids: Ints,
    top: int,
    threshold: float,
) -> Best:
    """Return which of some rows may be among the best of vectors of other groups.

    Args:
        vectors: Shape (n, dimensions).
        rows: The rows that are new among them.
        floors: Score that one has to reach for each vector, shape (n,); infinite for
            vectors that are not asked.
        groups: Group of each vector.
        ids: Integers that order equal scores.
        top: How many a vector keeps at most.
        threshold: Least cosine kept.
    """
    best = Best(top)
    asked = np.flatnonzero(floors < np.inf)
    rows = rows[
        neighbour_columns(
            vectors[rows], groups=groups[rows], ids=ids[rows], top=top, same_group=False
        )
    ]
    for left in range(0, len(asked), COLUMNS):
        part = asked[left : left + COLUMNS]
        block = unit_vectors(vectors[part])
        floor = np.maximum(floors[part, None], threshold).astype(np.float32)
        for start in range(0, len(rows), ROWS):
            some = rows[start : start + ROWS]
            allowed = groups[part, None] != groups[None, some]
            scores = np.where(allowed, block @ unit_vectors(vectors[some]).T, _NEVER)
            near, far = _candidates(scores, top, floor)
            near, far = part[near], some[far]
            best.add(near, far, cosines(vectors, near, far), threshold, ids)
    return best


def neighbour_columns(
    vectors: Floats, *, groups: Ints, ids: Ints, top: int, same_group: bool
) -> Ints:
    """Return the rows that can be among the best of any: few of many equal vectors."""
    numbers: dict[bytes, int] = {}
    equal = np.fromiter(
        (
            numbers.setdefault(
                hashlib.blake2b(vector.tobytes(), digest_size=16).digest(), len(numbers)
            )
            for vector in vectors
        ),
        dtype=np.int64,
        count=len(vectors),
    )
    kept: Ints = np.arange(len(vectors))
    if len(numbers) == len(vectors):
        return kept
    kept = _first(np.lexsort((ids, groups, equal)), top + 1, equal, groups)
    if not same_group:
        kept = _first(kept[np.lexsort((ids[kept], equal[kept]))], 2 * top + 2, equal)
    return np.sort(kept)


def _first(order: Ints, most: int, *keys: Ints) -> Ints:
    """Return the first rows of each run of equal keys."""
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = np.any([key[order[1:]] != key[order[:-1]] for key in keys], axis=0)
    starts = np.flatnonzero(new)
    places: Ints = np.arange(len(order)) - starts[np.cumsum(new) - 1]
    first: Ints = order[places < most]
    return first


def unit_vectors(vectors: Floats) -> Floats:
    """Return the vectors scaled to length one, as an array in memory."""
    block = np.array(vectors, dtype=np.float32)
    block /= np.linalg.norm(block, axis=1, keepdims=True)
    return block


def _candidates(scores: Floats, top: int, least: float | Floats) -> tuple[Ints, Ints]:
    """Return the pairs of a tile that may belong to the best, with some slack."""
    floor = np.maximum(np.full((len(scores), 1), _NEVER / 2, dtype=np.float32), least)
    if scores.shape[1] > top:
        kth = np.partition(scores, -top, axis=1)[:, -top, None]
        floor = np.maximum(floor, kth)
    rows, columns = np.nonzero(scores >= floor - SLACK)
    return rows.astype(np.int64), columns.astype(np.int64)


class Best:
    """The best pairs so far of some rows, sorted by row and rank."""

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

    def block(self, start: int, stop: int) -> Neighbours:
        """Return the pairs as those of a block of rows."""
        return Neighbours(
            start=start,
            stop=stop,
            rows=self.rows,
            columns=self.columns,
            scores=self.scores,
        )

"""Most similar vectors of large corpora, by cells of near vectors.

k-means finds the centres of the cells. A vector is compared with those of the cells
whose centres are nearest to it, of as many as a sample needs, as `similarity` does it.
So an edge that is found has the score and the rank of an exact search, and the share of
edges that are found is measured.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING
from warnings import catch_warnings, simplefilter
from zipfile import BadZipFile

import numpy as np

from knowtrail.graph.files import whole_bytes
from knowtrail.ingest.similarity import Best, unit_vectors
from knowtrail.ingest.vector_file import storage_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import Any

    import numpy.typing as npt

    from knowtrail.ingest.similarity import Comparison, Floats, Ints

EXACT_VECTORS = 50_000
"""Vectors up to which all pairs are compared: some 100 CPU seconds."""

SAMPLE = 1000
"""Rows whose neighbours are searched exactly too, to measure recall."""

LEAST_RECALL = 0.99
"""Share of the edges of an exact search that a corpus must have."""

_AIM = 0.995
"""Share at which the sample stops asking for more cells."""

_WORN_SHARE = 16
"""Cells are made anew where more than one vector in so many came after them."""

_FEW = 8
"""Rows with fewer than so many times the wanted near them are compared with all."""

_NOWHERE = 1e-6
"""Below this length a centre, of vectors that cancel out, has no direction."""

_KEPT = ("numbers", "near", "made", "centres", "recall")
ROWS = 32_768
"""Rows of a block: many, for few tiles; some seconds of work, for a kill undoes it."""

_PART = 4096
"""Rows compared with all centres at a time."""

_CELLS_OF_ROWS = 1 << 22
"""Cells near to the rows of a block, all told: where many are near rows are fewer."""

_TRAINED = 64
"""Training vectors a cell."""
_STEPS = 5
"""Steps of k-means, after which centres hardly move."""


def search_neighbours(
    exact: Comparison, path: Path | None = None, anew: Callable[[], None] = lambda: None
) -> Comparison | NeighbourIndex:
    """Return what searches the vectors of other groups, exactly while that is cheap.

    Cells are kept in a file, and found there again where they are of the first of these
    vectors; before others are kept, `anew` is called. The neighbours are equal for
    equal vectors.
    """
    if np.count_nonzero(exact.groups >= 0) <= EXACT_VECTORS:
        return exact
    return NeighbourIndex(exact, path, anew)


class NeighbourIndex:
    """The vectors that can be neighbours, by the cell whose centre is nearest.

    The method names the number of cells, and of those that each is compared with; the
    recall is the share of the exact neighbours of a sample that this finds. `kept` says
    that the cells were found in a file, `order` has the rows as the blocks have them.
    """

    def __init__(
        self, exact: Comparison, path: Path | None, anew: Callable[[], None]
    ) -> None:
        self._exact, self._groups = exact, exact.groups
        alive = np.flatnonzero(exact.groups >= 0)
        alive = alive[np.argsort(exact.ids[alive])]
        about = _opened(path, exact.numbers)
        self.kept = bool(about)
        self._about = about or {"made": len(exact.numbers), "centres": self._trained()}
        centres, old = self._about["centres"], len(self._about.get("numbers", ()))
        if not self.kept:
            self._look_enough(alive)
        self.recall = float(self._about["recall"])
        near = self._about["near"]
        self._near = np.full(
            (len(exact.numbers), near.shape[1]), -1, np.min_scalar_type(-len(centres))
        )
        self._near[:old] = near
        new = alive[self._near[alive, 0] < 0]
        for start in range(0, len(new), _PART):
            part = new[start : start + _PART]
            self._near[part] = self._nearest(part, near.shape[1])
        self._cells = self._near[:, 0]
        self.order: Ints = alive[np.argsort(self._cells[alive], kind="stable")]
        self._members = self._by_cell(exact.columns)
        self._sizes = np.bincount(self._cells[alive], minlength=len(centres))
        pairs = self._groups[alive] * len(centres) + self._cells[alive]
        self._pairs, self._counts = np.unique(pairs, return_counts=True)
        self.method = f"{len(centres)} cells, {near.shape[1]} compared"
        if not self.kept:
            anew()
        if path is not None and old < len(self._near):
            self._about |= {"near": self._near, "numbers": exact.numbers}
            with storage_errors(path.parent), whole_bytes(path) as file:
                np.savez(file, **self._about)

    def _trained(self) -> Floats:
        """Return the centres of cells."""
        from sklearn.cluster import KMeans
        from sklearn.exceptions import ConvergenceWarning
        from threadpoolctl import threadpool_limits

        columns, vectors = self._exact.columns, self._exact.vectors
        columns = columns[np.argsort(self._exact.ids[columns])]
        cells = 1 << max(0, round(np.log2(4 * len(columns) ** 0.5)) - 1)
        cells = min(cells, max(1, len(np.unique(self._exact.numbers[columns])) // 39))
        kmeans = KMeans(
            cells,
            init="random",
            n_init=1,
            max_iter=_STEPS,
            tol=0,
            copy_x=False,
            random_state=0,
        )
        some = vectors[_some(columns, _TRAINED * cells, 0)]
        with threadpool_limits(1), catch_warnings():  # whose sums come in one order
            simplefilter("ignore", ConvergenceWarning)  # of vectors that are alike
            kmeans.fit(unit_vectors(some))
        centres: Floats = kmeans.cluster_centers_
        centres[np.linalg.norm(centres, axis=1) < _NOWHERE] = some[0]
        return unit_vectors(centres)

    def _nearest(self, rows: Ints, count: int) -> Ints:
        """Return the cells nearest to each row, shape (rows, count), nearest first."""
        centres = self._about["centres"]
        products = unit_vectors(self._exact.vectors[rows]) @ centres.T
        near = np.argpartition(products, -count, axis=1)[:, -count:]
        ranks = np.argsort(-np.take_along_axis(products, near, axis=1), axis=1)
        nearest: Ints = np.take_along_axis(near, ranks, axis=1)
        return nearest

    def _look_enough(self, alive: Ints) -> None:
        """Look in as many near cells as a sample needs; note its recall."""
        rows = np.sort(_some(alive, SAMPLE, 1))
        exact, cells = self._exact.best(rows), len(self._about["centres"])
        wanted, wanting = np.unique(exact.columns, return_inverse=True)
        ranks = np.argsort(self._nearest(rows, cells), axis=1)
        own = self._nearest(wanted, 1)[wanting, 0]
        places = np.sort(ranks[np.searchsorted(rows, exact.rows), own])
        most = places[int(_AIM * len(places))] if len(places) else 0
        self._about["near"] = np.empty((0, most + 1), dtype=np.int64)  # of no row yet
        self._about["recall"] = np.mean(places <= most) if len(places) else 1.0

    def blocks(self, first: int) -> Iterator[Best]:
        """Yield the neighbours of the vectors from a place of the order on."""
        for start in range(first, len(self.order), ROWS):
            stop = min(start + ROWS, len(self.order))
            best = self.best(self.order[start:stop])
            best.start, best.stop = start, stop
            yield best

    def best(self, rows: Ints) -> Best:
        """Return the best of the cells near each row."""
        return self._found(rows, self._members)

    def entered(self, rows: Ints, floors: npt.NDArray[np.float64]) -> Best:
        """Return which of some new rows may be among the best of others.

        As `Comparison.entered`, of the cells near each of the others.
        """
        new = rows[self._groups[rows] >= 0]
        asked = self.order[floors[self.order] < np.inf]
        return self._found(asked, self._by_cell(self._exact.few(new)), floors)

    def _by_cell(self, rows: Ints) -> tuple[Ints, Ints]:
        """Return the rows sorted by cell and id, and where each cell starts."""
        rows = self.order[np.isin(self.order, rows)]
        bounds = np.arange(len(self._about["centres"]) + 1)
        return rows, np.searchsorted(self._cells[rows], bounds)

    def _found(
        self,
        rows: Ints,
        members: tuple[Ints, Ints],
        floors: npt.NDArray[np.float64] | None = None,
    ) -> Best:
        """Return the best members of the cells near each row."""
        columns, starts = members
        filled = np.diff(starts) > 0
        rows = rows[self._groups[rows] >= 0]
        rows = rows[np.argsort(self._cells[rows], kind="stable")]
        found, alone = [], [rows[:0]]
        size = max(_PART, min(ROWS, _CELLS_OF_ROWS // self._near.shape[1]))
        for start in range(0, len(rows), size):
            part = rows[start : start + size]
            few = self._lonely(part)
            alone.append(part[few])
            part = part[~few & filled[self._near[part]].any(axis=1)]
            found.append(self._exact.among(part, self._tiles(part, members), floors))
        few = np.concatenate(alone)
        if len(few):  # no row of the largest group has a neighbour in it
            groups, sizes = np.unique(self._groups[self.order], return_counts=True)
            largest = groups[sizes.argmax()]
            inside = self._groups[few] == largest
            others = columns[self._groups[columns] != largest]
            found.append(self._exact.best(few[inside], others, floors))
            found.append(self._exact.best(few[~inside], columns, floors))
        return self._exact.together(found)

    def _lonely(self, rows: Ints) -> npt.NDArray[np.bool_]:
        """Return which rows have few of other groups in the cells near them."""
        near = self._near[rows].astype(np.int64)
        pairs = self._groups[rows, None] * len(self._sizes) + near
        places = np.searchsorted(self._pairs, pairs).clip(max=len(self._pairs) - 1)
        own = np.where(self._pairs[places] == pairs, self._counts[places], 0)
        others: Ints = (self._sizes[near] - own).sum(axis=1)
        return others < _FEW * self._exact.top

    def _tiles(
        self, rows: Ints, members: tuple[Ints, Ints]
    ) -> Iterator[tuple[Ints, Ints]]:
        """Yield places of rows near to a cell, and its members; own cells first."""
        columns, starts = members
        for near in np.split(self._near[rows], [1], axis=1):
            places = np.argsort(near, axis=None, kind="stable")
            cells, sizes = np.unique(near, return_counts=True)
            parts = np.split(places // near.shape[1], np.cumsum(sizes)[:-1])
            for cell, part in zip(cells.tolist(), parts, strict=False):
                yield part, columns[starts[cell] : starts[cell + 1]]


def _opened(path: Path | None, numbers: Ints) -> dict[str, Any] | None:
    """Return what is kept of the first of such vectors, if that is not worn."""
    with suppress(OSError, EOFError, ValueError, KeyError, BadZipFile):
        if path is not None:
            with path.open("rb") as opened, np.load(opened) as file:
                about = {name: file[name] for name in _KEPT}
            count = len(about["near"])
            same = np.array_equal(about["numbers"], numbers[:count])
            if same and (len(numbers) - about["made"]) * _WORN_SHARE <= len(numbers):
                return about
    return None


def _some(rows: Ints, count: int, seed: int) -> Ints:
    chosen = np.random.default_rng(seed).choice
    count = min(count, len(rows))
    return rows[np.sort(chosen(len(rows), count, replace=False))]

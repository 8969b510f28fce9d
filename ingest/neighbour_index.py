"""Most similar vectors of large corpora, by cells of near vectors.

k-means finds the centres of the cells. The vectors of a cell are compared with those of
the cells nearest to it, of as many as a sample of rows needs, as `similarity` does it.
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

_KEPT = ("numbers", "cells", "made", "centres", "near", "recall")
_ROWS = 8192
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
        self._about = about or {
            "numbers": exact.numbers[:0],
            "cells": np.empty(0, dtype=np.int64),
            "made": len(exact.numbers),
            "centres": self._trained(),
        }
        centres, old = self._about["centres"], len(self._about["cells"])
        self._cells = np.full(len(exact.numbers), -1, dtype=np.int64)
        self._cells[:old] = self._about["cells"]
        new = alive[self._cells[alive] < 0]
        for start in range(0, len(new), _ROWS):
            part = new[start : start + _ROWS]
            products = unit_vectors(exact.vectors[part]) @ centres.T
            self._cells[part] = products.argmax(axis=1)
        self.order: Ints = alive[np.argsort(self._cells[alive], kind="stable")]
        bounds = np.arange(len(centres) + 1)
        self._starts = np.searchsorted(self._cells[self.order], bounds)
        if not self.kept:
            self._compare_enough(alive)
            anew()
        self.recall = float(self._about["recall"])
        self.method = f"{len(centres)} cells, {self._about['near'].shape[1]} compared"
        if path is not None and old < len(self._cells):
            self._about |= {"cells": self._cells, "numbers": exact.numbers}
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

    def _compare_enough(self, alive: Ints) -> None:
        """Take as many near cells as a sample needs; note its recall."""
        exact = self._exact.best(np.sort(_some(alive, SAMPLE, 1)))
        own, wanted = self._cells[exact.rows], self._cells[exact.columns]
        near = self._about["centres"] @ self._about["centres"].T
        np.fill_diagonal(near, 2.0)  # the own cell is the first
        closer = near[own] >= near[own, wanted][:, None]
        places = np.sort(np.count_nonzero(closer, axis=1))
        count = places[int(_AIM * len(places))] if len(places) else 1
        self._about["near"] = np.array([
            np.argsort(-row, kind="stable")[:count].copy() for row in near
        ])
        self._about["recall"] = np.mean(places <= count) if len(places) else 1.0

    def blocks(self, first: int) -> Iterator[Best]:
        """Yield the neighbours of the vectors from a place of the order on."""
        for start in range(first, len(self.order), _ROWS):
            stop = min(start + _ROWS, len(self.order))
            best = self.best(self.order[start:stop])
            best.start, best.stop = start, stop
            yield best

    def best(self, rows: Ints) -> Best:
        """Return the best of the cells near each row."""
        can = np.zeros(len(self._cells), dtype=np.bool_)
        can[self._exact.columns] = True
        return self._exact.together(
            self._exact.best(part, around[can[around]])
            for part, around in self._by_cell(rows, self._about["near"])
        )

    def entered(self, rows: Ints, floors: npt.NDArray[np.float64]) -> Best:
        """Return which of some new rows may be among the best of others.

        As `Comparison.entered`, of the cells that each is near to.
        """
        near = self._about["near"]
        cells = np.unique(self._cells[rows[self._groups[rows] >= 0]]).tolist()
        nearer = {cell: np.flatnonzero((near == cell).any(axis=1)) for cell in cells}
        return self._exact.together(
            self._exact.entered(part, floors, around)
            for part, around in self._by_cell(rows, nearer)
        )

    def _by_cell(
        self, rows: Ints, near: Ints | dict[int, Ints]
    ) -> Iterator[tuple[Ints, Ints]]:
        """Yield rows and whom to compare them with: those of cells near, or all."""
        left = []
        rows = rows[self._groups[rows] >= 0]
        rows = rows[np.argsort(self._cells[rows], kind="stable")]
        ends = np.flatnonzero(np.diff(self._cells[rows])) + 1
        for part in np.split(rows, ends) if len(rows) else ():
            around = np.concatenate([
                self.order[self._starts[cell] : self._starts[cell + 1]]
                for cell in near[int(self._cells[part[0]])].tolist()
            ])
            groups, sizes = np.unique(self._groups[around], return_counts=True)
            own = sizes[np.searchsorted(groups, self._groups[part])]
            few = len(around) - own < _FEW * self._exact.top
            left.append(part[few])
            yield part[~few], around
        few = np.concatenate([rows[:0], *left])
        if len(few):  # no row of the largest group has a neighbour in it
            groups, sizes = np.unique(self._groups[self.order], return_counts=True)
            largest = groups[sizes.argmax()]
            inside = self._groups[few] == largest
            yield few[~inside], self.order
            yield few[inside], self.order[self._groups[self.order] != largest]


def _opened(path: Path | None, numbers: Ints) -> dict[str, Any] | None:
    """Return what is kept of the first of such vectors, if that is not worn."""
    with suppress(OSError, EOFError, ValueError, KeyError, BadZipFile):
        if path is not None:
            with path.open("rb") as opened, np.load(opened) as file:
                about = {name: file[name] for name in _KEPT}
            same = np.array_equal(about["numbers"], numbers[: len(about["numbers"])])
            if same and (len(numbers) - about["made"]) * _WORN_SHARE <= len(numbers):
                return about
    return None


def _some(rows: Ints, count: int, seed: int) -> Ints:
    chosen = np.random.default_rng(seed).choice
    count = min(count, len(rows))
    return rows[np.sort(chosen(len(rows), count, replace=False))]

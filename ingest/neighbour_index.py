"""Most similar vectors of large corpora, by an approximate index.

An inverted file of faiss proposes candidates, probing as many cells as a sample of
rows needs; their scores are worked out as `similarity` does it. So an edge that is
found has the score and the rank of an exact search, and the share of edges that are
found is measured.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from knowtrail.graph.errors import StorageError
from knowtrail.ingest.similarity import SLACK, unit_vectors

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy.typing as npt

    from knowtrail.ingest.similarity import Best, Comparison, Floats, Ints

    Bools = npt.NDArray[np.bool_]

EXACT_VECTORS = 50_000
"""Vectors up to which all pairs are compared: some 100 CPU seconds."""

SAMPLE = 1000
"""Rows whose neighbours are searched exactly too, to measure recall."""

LEAST_RECALL = 0.99
"""Share of the edges of an exact search that a corpus must have."""

_AIM = 0.995
"""Share at which the sample stops asking for more probes."""

_ROWS = 8192
_MOST_FETCHED = 1024
_TRAINED = 64
"""Training vectors a cell."""


def search_neighbours(
    exact: Comparison, kept: Path | None = None, inside: Bools | None = None
) -> Comparison | NeighbourIndex:
    """Return what searches the vectors of other groups, exactly while that is cheap.

    An approximate index is kept in a file, and found there again where it has the rows
    that are `inside`. The neighbours are equal for equal vectors.
    """
    if np.count_nonzero(exact.groups >= 0) <= EXACT_VECTORS:
        return exact
    return NeighbourIndex(exact, kept, inside)


class NeighbourIndex:
    """An inverted file of the vectors that can be neighbours.

    The method names the number of its cells and of those probed; the recall is the
    share of the exact neighbours of a sample that it finds, None for one that was kept.
    Rows that came after it was made, which are not `inside`, are compared with all.
    """

    def __init__(
        self, exact: Comparison, kept: Path | None, inside: Bools | None
    ) -> None:
        self._exact = exact
        self._file: Any = None
        self._groups, self._threshold = exact.groups, exact.threshold
        self.recall: float | None = None
        opened = None
        if inside is not None and kept is not None:
            opened = _opened(kept, int(np.count_nonzero(inside)))
        if inside is not None and opened is not None:
            self.inside, self._file = inside, opened
        else:
            self.inside = np.zeros(len(exact.vectors), dtype=np.bool_)
            self.inside[exact.columns] = True
            self._make(kept)
        there = self.inside[exact.columns]
        self._indexed, self._later = exact.columns[there], exact.columns[~there]
        self.method = f"ivf {self._file.nlist} cells, {self._file.nprobe} probed"

    def _make(self, kept: Path | None) -> None:
        import faiss

        columns, vectors = self._exact.columns, self._exact.vectors
        columns = columns[np.argsort(self._exact.ids[columns])]
        cells = 1 << max(0, round(np.log2(4 * len(columns) ** 0.5)) - 1)
        cells = min(cells, max(1, len(columns) // 39))
        dimensions = vectors.shape[1]
        self._file = faiss.IndexIVFFlat(
            faiss.IndexFlatIP(dimensions), dimensions, cells, faiss.METRIC_INNER_PRODUCT
        )
        self._file.train(unit_vectors(vectors[_some(columns, _TRAINED * cells, 0)]))
        for start in range(0, len(columns), _ROWS):
            part = columns[start : start + _ROWS]
            self._file.add_with_ids(unit_vectors(vectors[part]), part)
        self._indexed, self._later = columns, columns[:0]
        self._probe_enough()
        if kept is not None:
            draft = kept.with_suffix(".draft")
            try:
                faiss.write_index(self._file, str(draft))
                with draft.open("rb") as file:
                    os.fsync(file.fileno())
            except (OSError, RuntimeError) as error:
                draft.unlink(missing_ok=True)
                raise StorageError(
                    f"The index of vectors could not be written to {draft}: make room "
                    "there or give another --work."
                ) from error
            draft.replace(kept)

    def _probe_enough(self) -> None:
        """Probe more cells until a sample has its neighbours; note its recall."""
        alive = np.flatnonzero(self._groups >= 0)
        alive = alive[np.argsort(self._exact.ids[alive])]
        rows = np.sort(_some(alive, SAMPLE, 1))
        exact = _pairs(self._exact.best(rows))
        self._file.nprobe = min(8, self._file.nlist)
        while True:
            found = _pairs(self.best(rows))
            self.recall = len(exact & found) / len(exact) if exact else 1.0
            if self.recall >= _AIM or self._file.nprobe == self._file.nlist:
                return
            self._file.nprobe = min(2 * self._file.nprobe, self._file.nlist)

    def blocks(self, first: int) -> Iterator[Best]:
        """Yield the neighbours of the vectors from one on, by blocks of rows."""
        for start in range(first, len(self._groups), _ROWS):
            stop = min(start + _ROWS, len(self._groups))
            best = self.best(np.arange(start, stop))
            best.start, best.stop = start, stop
            yield best

    def best(self, rows: Ints) -> Best:
        """Return the best that the index has; more are fetched for those in need.

        Rows whose own group fills all that may be fetched are compared with all.
        """
        best = self._exact.best(rows, self._later)
        top, fetched = self._exact.top, 4 * self._exact.top
        while len(rows):
            last = fetched >= _MOST_FETCHED
            scores, columns, least = self._nearest(rows, fetched)
            allowed = scores >= self._threshold - SLACK
            kth = np.sort(np.where(allowed, scores, -2.0), axis=1)[:, -top]
            floor = np.maximum(kth, self._threshold) - SLACK
            enough = (least < floor) | (last & (kth > -2.0))
            near, far = np.nonzero((scores >= floor[:, None]) & enough[:, None])
            self._exact.add(best, rows[near], columns[near, far])
            rows = rows[~enough]
            if last:
                break
            fetched = min(4 * fetched, _MOST_FETCHED)
        found = self._exact.best(rows, self._indexed)
        self._exact.add(best, found.rows, found.columns)
        return best

    def entered(self, rows: Ints, floors: npt.NDArray[np.float64]) -> Best:
        """Return which of some new rows may be among the best of others.

        As `Comparison.entered`, of the nearest that the index finds for each.
        """
        outside = np.flatnonzero((self._groups >= 0) & ~self.inside)  # equal ones, too
        best = self._exact.entered(rows, floors, outside)
        for start in range(0, len(rows), SAMPLE):
            part = rows[start : start + SAMPLE]
            scores, columns, _ = self._nearest(part, _MOST_FETCHED)
            least = np.maximum(floors[columns], self._threshold) - SLACK
            near, far = np.nonzero(scores >= least)
            self._exact.add(best, columns[near, far], part[near])
            # Dead rows and those of the own group take places: then all are compared.
            found, allowed = columns >= 0, scores > -2.0
            crowded = 2 * allowed.sum(axis=1) < found.sum(axis=1)
            if crowded.any():
                more = self._exact.entered(part[crowded], floors, self._indexed)
                self._exact.add(best, more.rows, more.columns)
        return best

    def _nearest(self, rows: Ints, count: int) -> tuple[Floats, Ints, Floats]:
        """Return scores and rows of the nearest, and the least score of each."""
        # The scores of those that are no neighbours are -2.
        scores, columns = self._file.search(
            unit_vectors(self._exact.vectors[rows]), count
        )
        groups = self._groups[columns]
        allowed = (columns >= 0) & (groups >= 0) & (groups != self._groups[rows, None])
        return np.where(allowed, scores, np.float32(-2.0)), columns, scores[:, -1]


def _opened(path: Path, rows: int) -> Any:
    """Return an index of so many rows; None where it is missing, cut or another."""
    import faiss

    try:
        index: Any = faiss.read_index(str(path), faiss.IO_FLAG_MMAP)
        size = path.stat().st_size
    except (OSError, RuntimeError):
        return None
    least = index.ntotal * (4 * index.d + 8) + 4 * index.nlist * index.d
    return index if index.ntotal == rows and size >= least else None


def _some(rows: Ints, count: int, seed: int) -> Ints:
    chosen = np.random.default_rng(seed).choice
    count = min(count, len(rows))
    return rows[np.sort(chosen(len(rows), count, replace=False))]


def _pairs(best: Best) -> set[tuple[int, int]]:
    return set(zip(best.rows.tolist(), best.columns.tolist(), strict=True))

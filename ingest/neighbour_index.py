"""Most similar vectors of large corpora, by an approximate index.

An inverted file of faiss proposes candidates, probing as many cells as a sample of
rows needs; their scores are worked out as `similarity` does it. So an edge that is
found has the score and the rank of an exact search, and the share of edges that are
found is measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from knowtrail.ingest.similarity import (
    SLACK,
    Best,
    cosines,
    exact_best,
    neighbour_columns,
    top_neighbours,
    unit_vectors,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from knowtrail.ingest.similarity import Floats, Ints, Neighbours

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


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbourSearch:
    """A search for the neighbours of all vectors in other groups.

    Attributes:
        method: `exact`, or `ivf` with the number of its cells and of those probed.
        recall: Share of the exact neighbours of a sample that it finds.
        blocks: The neighbours, by blocks of rows in order.
    """

    method: str
    recall: float
    blocks: Iterator[Neighbours]


def search_neighbours(
    vectors: Floats,
    *,
    groups: Ints,
    ids: Ints,
    top: int,
    threshold: float,
    start: int = 0,
    kept: Path | None = None,
) -> NeighbourSearch:
    """Search the most similar vectors of other groups, exactly while that is cheap.

    Args:
        vectors: Shape (n, dimensions), float32, no row zero; may be memory-mapped.
        groups: Group of each vector (its document), shape (n,).
        ids: Distinct integers that order equal scores, shape (n,).
        top: How many neighbours a vector keeps.
        threshold: Least cosine kept.
        start: First row whose neighbours are wanted.
        kept: Where an approximate index is kept, and found again.

    Returns:
        How it is done, and the neighbours; equal for equal vectors.
    """
    if len(vectors) <= EXACT_VECTORS or top == 0:
        blocks = top_neighbours(
            vectors,
            groups=groups,
            ids=ids,
            top=top,
            threshold=threshold,
            same_group=False,
            start=start,
        )
        return NeighbourSearch(method="exact", recall=1.0, blocks=blocks)
    index = _Index(vectors, groups, ids, top, threshold)
    index.fill(kept)
    recall = index.probe_enough()
    method = f"ivf {index.cells} cells, {index.probes} probed"
    return NeighbourSearch(method=method, recall=recall, blocks=index.blocks(start))


class _Index:
    """An inverted file of the vectors that can be neighbours."""

    def __init__(
        self, vectors: Floats, groups: Ints, ids: Ints, top: int, threshold: float
    ) -> None:
        self._vectors, self._groups, self._ids = vectors, groups, ids
        self._top, self._threshold = top, threshold
        columns = neighbour_columns(
            vectors, groups=groups, ids=ids, top=top, same_group=False
        )
        self._columns = columns[np.argsort(ids[columns])]
        self.cells = 1 << max(0, round(np.log2(4 * len(columns) ** 0.5)) - 1)
        self.cells = min(self.cells, max(1, len(columns) // 39))
        self.probes = min(8, self.cells)
        self._file: Any = None

    def fill(self, kept: Path | None) -> None:
        """Make the index, or read the one that was kept."""
        import faiss

        if kept is not None and kept.exists():
            self._file = faiss.read_index(str(kept))
            return
        dimensions = self._vectors.shape[1]
        self._file = faiss.IndexIVFFlat(
            faiss.IndexFlatIP(dimensions),
            dimensions,
            self.cells,
            faiss.METRIC_INNER_PRODUCT,
        )
        trained = self._some(self._columns, _TRAINED * self.cells, 0)
        self._file.train(unit_vectors(self._vectors[trained]))
        for start in range(0, len(self._columns), _ROWS):
            part = self._columns[start : start + _ROWS]
            self._file.add(unit_vectors(self._vectors[part]))
        if kept is not None:
            draft = kept.with_suffix(".draft")
            faiss.write_index(self._file, str(draft))
            draft.replace(kept)

    @staticmethod
    def _some(rows: Ints, count: int, seed: int) -> Ints:
        """Return some of the rows, in their order."""
        chosen = np.random.default_rng(seed).choice
        count = min(count, len(rows))
        return rows[np.sort(chosen(len(rows), count, replace=False))]

    def probe_enough(self) -> float:
        """Probe more cells until a sample has its neighbours; return its recall."""
        rows = np.sort(self._some(np.argsort(self._ids), SAMPLE, 1))
        exact = self._pairs(self._exact(rows))
        while True:
            self._file.nprobe = self.probes
            found = self._pairs(self._best(rows))
            recall = len(exact & found) / len(exact) if exact else 1.0
            if recall >= _AIM or self.probes == self.cells:
                return recall
            self.probes = min(2 * self.probes, self.cells)

    @staticmethod
    def _pairs(best: Best) -> set[tuple[int, int]]:
        """Return the (row, column) pairs."""
        return set(zip(best.rows.tolist(), best.columns.tolist(), strict=True))

    def blocks(self, first: int) -> Iterator[Neighbours]:
        """Yield the neighbours of the vectors from one on, by blocks of rows."""
        for start in range(first, len(self._vectors), _ROWS):
            stop = min(start + _ROWS, len(self._vectors))
            yield self._best(np.arange(start, stop)).block(start, stop)

    def _exact(self, rows: Ints) -> Best:
        """Return the best of all columns for some rows."""
        return exact_best(
            self._vectors,
            rows=rows,
            columns=self._columns,
            groups=self._groups,
            ids=self._ids,
            top=self._top,
            threshold=self._threshold,
            same_group=False,
        )

    def _best(self, rows: Ints) -> Best:
        """Return the best that the index has; more are fetched for those in need.

        Rows whose own group fills all that may be fetched are compared with all.
        """
        best = Best(self._top)
        fetched = 4 * self._top
        while len(rows):
            last = fetched >= _MOST_FETCHED
            scores, found = self._file.search(
                unit_vectors(self._vectors[rows]), fetched
            )
            columns = self._columns[found]
            allowed = (found >= 0) & (self._groups[columns] != self._groups[rows, None])
            allowed &= scores >= self._threshold - SLACK
            kth = np.sort(np.where(allowed, scores, -2.0), axis=1)[:, -self._top]
            floor = np.maximum(kth, self._threshold) - SLACK
            enough = (scores[:, -1] < floor) | (last & (kth > -2.0))
            near, far = np.nonzero(allowed & enough[:, None])
            self._add(best, rows[near], columns[near, far])
            rows = rows[~enough]
            if last:
                break
            fetched = min(4 * fetched, _MOST_FETCHED)
        for start in range(0, len(rows), SAMPLE):
            exact = self._exact(rows[start : start + SAMPLE])
            self._add(best, exact.rows, exact.columns)
        return best

    def _add(self, best: Best, rows: Ints, columns: Ints) -> None:
        """Score pairs and keep the best."""
        scores = cosines(self._vectors, rows, columns)
        best.add(rows, columns, scores, self._threshold, self._ids)

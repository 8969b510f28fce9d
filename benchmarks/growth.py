"""The search for similar chunks at several sizes: CPU seconds, recall, peak memory.

Vectors are generated: documents of 30 chunks drift around subjects that 20 documents
share. The other side compares all pairs for a thousand rows; its time is scaled.
Sizes run in turn in one process, the smallest first, so the peak is the largest's.
"""

from __future__ import annotations

import resource
import time
from typing import TYPE_CHECKING

import numpy as np
from measure import Table
from sample import DIMENSIONS, OPTIONS

from knowtrail.ingest.neighbour_index import SAMPLE, search_neighbours
from knowtrail.ingest.similarity import exact_best

if TYPE_CHECKING:
    import argparse

    import numpy.typing as npt

CHUNKS = 30


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--sizes", type=int, nargs="+", help="(10000 100000)")


def run(given: argparse.Namespace) -> None:
    """Measure each size and print the table."""
    table = Table(
        title=f"growth: {OPTIONS.inter_top_x} neighbours of each chunk",
        columns=(
            "chunks", "method", "recall", "CPU s", "CPU us a chunk",
            "CPU s of all pairs", "peak MiB",
        ),
    )  # fmt: skip
    sizes = given.sizes or ([2000] if given.small else [10_000, 100_000])
    for size in sorted(sizes):
        table.add(f"{size:,}", *_measured(size))
    table.print()


def _measured(size: int) -> tuple[str, ...]:
    """Return the cells of one size."""
    vectors, groups = _generated(size)
    ids = np.random.default_rng(2).permutation(size)
    top, threshold = OPTIONS.inter_top_x, OPTIONS.inter_threshold
    start = time.process_time()
    search = search_neighbours(
        vectors, groups=groups, ids=ids, top=top, threshold=threshold
    )
    for _ in search.blocks:
        pass
    took = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    start = time.process_time()
    exact_best(
        vectors,
        rows=np.arange(SAMPLE),
        columns=np.arange(size),
        groups=groups,
        ids=ids,
        top=top,
        threshold=threshold,
        same_group=False,
    )
    exact = (time.process_time() - start) * size / SAMPLE
    return (
        search.method,
        f"{search.recall:.2%}",
        f"{took:.1f}",
        f"{took / size * 1e6:.0f}",
        f"{exact:.0f}",
        f"{peak:.0f}",
    )


def _generated(
    size: int,
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Return vectors and the document of each; the seed is fixed."""
    generator = np.random.default_rng(1)

    def normal(count: int) -> npt.NDArray[np.float32]:
        return generator.standard_normal((count, DIMENSIONS), dtype=np.float32)

    documents = size // CHUNKS + 1
    groups = np.arange(size) // CHUNKS
    subjects = normal(documents // 20 + 1)
    means = subjects[generator.integers(len(subjects), size=documents)]
    means += np.float32(0.8) * normal(documents)
    return means[groups] + np.float32(1.2) * normal(size), groups

"""The approximate search of large corpora finds the exact neighbours, or nearly."""

from __future__ import annotations

import numpy as np
import pytest

from knowtrail.ingest import neighbour_index
from knowtrail.ingest.neighbour_index import search_neighbours
from knowtrail.ingest.similarity import top_neighbours


def pairs(blocks):
    """Return {(row, column): score} of the yielded blocks."""
    return {
        (row, column): score
        for block in blocks
        for row, column, score in zip(
            block.rows.tolist(),
            block.columns.tolist(),
            block.scores.tolist(),
            strict=True,
        )
    }


def corpus(count=3000, documents=100):
    """Return vectors that drift around the subjects of their documents."""
    rng = np.random.default_rng(2)
    groups = rng.integers(0, documents, count)
    subjects = rng.standard_normal((documents // 5, 16))
    vectors = subjects[groups % len(subjects)] + rng.standard_normal((count, 16))
    return vectors.astype(np.float32), groups, rng.permutation(count)


def searched(vectors, groups, ids, threshold=0.3):
    """Search five neighbours of each vector."""
    return search_neighbours(
        vectors, groups=groups, ids=ids, top=5, threshold=threshold
    )


@pytest.fixture(autouse=True)
def _approximate(monkeypatch):
    """Let every corpus be a large one."""
    monkeypatch.setattr(neighbour_index, "EXACT_VECTORS", 10)


def test_nearly_all_exact_neighbours_are_found_with_their_scores():
    """Recall over all is what the sample says; scores are those of all pairs."""
    vectors, groups, ids = corpus()

    search = searched(vectors, groups, ids)

    found = pairs(search.blocks)
    exact = pairs(
        top_neighbours(
            vectors, groups=groups, ids=ids, top=5, threshold=0.3, same_group=False
        )
    )
    common = found.keys() & exact.keys()
    assert search.method.startswith("ivf ")
    assert len(common) >= 0.99 * len(exact)
    assert search.recall == pytest.approx(len(common) / len(exact), abs=0.005)
    assert all(found[pair] == exact[pair] for pair in common)


def test_order_of_arrival_changes_nothing():
    """The same vectors in another order have the same neighbours."""
    vectors, groups, ids = corpus()
    order = np.random.default_rng(4).permutation(len(vectors))

    first = pairs(searched(vectors, groups, ids).blocks)
    second = pairs(searched(vectors[order], groups[order], ids[order]).blocks)

    assert {(order[a], order[b]): s for (a, b), s in second.items()} == first


def test_vectors_of_one_large_group_have_their_neighbours():
    """Rows whose nearest thousands are their own group's are compared with all."""
    rng = np.random.default_rng(6)
    vectors = np.ones((2000, 8)) + 0.01 * rng.standard_normal((2000, 8))
    vectors[1990:] += rng.standard_normal((10, 8))
    groups = np.zeros(2000, dtype=np.int64)
    groups[1990:] = np.arange(1, 11)

    search = searched(vectors.astype(np.float32), groups, np.arange(2000), -1.0)

    assert search.recall == 1.0
    assert {row for row, _ in pairs(search.blocks)} == set(range(2000))


def test_equal_vectors_take_the_smallest_ids():
    """Thousands of equal vectors have the first by id as their neighbours."""
    vectors = np.ones((3000, 8), dtype=np.float32)

    found = pairs(searched(vectors, np.arange(3000), np.arange(3000)).blocks)

    assert {column for _, column in found} == set(range(6))
    assert len(found) == 15_000

"""Blocked products give the exact neighbours, whatever the order of the vectors."""

from __future__ import annotations

import numpy as np
import pytest

from knowtrail.ingest import similarity
from tests.neighbours import top_neighbours


def brute_force(vectors, groups, ids, top, threshold, same_group):
    """Return {row: [(column, score)]} by plain loops over all pairs."""
    unit = vectors.astype(np.float64)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    scores = np.round(unit @ unit.T, 6)
    out = {}
    for i in range(len(unit)):
        pairs = [
            (-scores[i, j], ids[j], j)
            for j in range(len(unit))
            if i != j
            and (groups[i] == groups[j]) == same_group
            and scores[i, j] >= threshold
        ]
        out[i] = [(j, -s) for s, _, j in sorted(pairs)[:top]]
    return out


def as_lists(blocks):
    """Return {row: [(column, score)]} of the yielded blocks."""
    out = {}
    for block in blocks:
        for row in range(block.start, block.stop):
            mine = block.rows == row
            out[row] = list(
                zip(
                    block.columns[mine].tolist(),
                    block.scores[mine].tolist(),
                    strict=True,
                )
            )
    return out


@pytest.mark.parametrize("same_group", [True, False])
def test_neighbours_equal_brute_force(same_group, monkeypatch):
    """Tiles smaller than the data give what plain loops give."""
    monkeypatch.setattr(similarity, "ROWS", 7)
    monkeypatch.setattr(similarity, "COLUMNS", 11)
    rng = np.random.default_rng(3)
    vectors = rng.standard_normal((60, 8)).astype(np.float32)
    groups = rng.integers(0, 6, 60)
    ids = rng.permutation(60)

    found = as_lists(
        top_neighbours(
            vectors, groups=groups, ids=ids, top=4, threshold=0.1, same_group=same_group
        )
    )

    expected = brute_force(vectors, groups, ids, 4, 0.1, same_group)
    assert {k: [j for j, _ in v] for k, v in found.items()} == {
        k: [j for j, _ in v] for k, v in expected.items()
    }
    assert (
        max(
            abs(a[1] - b[1])
            for k in found
            for a, b in zip(found[k], expected[k], strict=True)
        )
        <= 1e-6
    )


def test_equal_vectors_are_ordered_by_id(monkeypatch):
    """Many exact ties over several tiles keep the smallest ids."""
    monkeypatch.setattr(similarity, "COLUMNS", 5)
    vectors = np.ones((40, 4), dtype=np.float32)
    ids = np.arange(40)[::-1].copy()

    (block,) = top_neighbours(
        vectors,
        groups=np.arange(40),
        ids=ids,
        top=3,
        threshold=0.3,
        same_group=False,
    )

    assert ids[block.columns[block.rows == 20]].tolist() == [0, 1, 2]


def test_order_of_vectors_does_not_matter():
    """A permutation of the input gives the same edges and scores to the last digit."""
    rng = np.random.default_rng(5)
    vectors = rng.standard_normal((900, 16)).astype(np.float32)
    vectors[100:110] = vectors[7]
    groups = rng.integers(0, 40, 900)
    order = rng.permutation(900)
    options = {"top": 5, "threshold": 0.2, "same_group": False}

    straight = as_lists(
        top_neighbours(vectors, groups=groups, ids=np.arange(900), **options)
    )
    shuffled = as_lists(
        top_neighbours(
            vectors[order], groups=groups[order], ids=order.astype(np.int64), **options
        )
    )

    assert straight == {
        int(order[row]): [(int(order[j]), s) for j, s in pairs]
        for row, pairs in shuffled.items()
    }


def test_nearly_equal_vectors_fill_no_memory(monkeypatch):
    """Of pairs that float32 cannot tell apart few are kept, and the best are found."""
    monkeypatch.setattr(similarity, "ROWS", 50)
    monkeypatch.setattr(similarity, "COLUMNS", 50)
    rng = np.random.default_rng(7)
    vectors = np.ones((600, 8)) + 1e-5 * rng.standard_normal((600, 8))
    given = {"groups": np.arange(600), "ids": rng.permutation(600)}
    given |= {"top": 3, "threshold": 0.3, "same_group": False}
    vectors = vectors.astype(np.float32)
    everything = as_lists(top_neighbours(vectors, **given))
    monkeypatch.setattr(similarity, "_MOST_PAIRS", 4000)
    kept = []
    settle = similarity._Nearest.settle

    def settled(self):
        kept.append(sum(len(part[0]) for part in self._found))
        return settle(self)

    monkeypatch.setattr(similarity._Nearest, "settle", settled)

    found = as_lists(top_neighbours(vectors, **given))

    assert found == everything
    assert sum(kept) > 300_000
    assert max(kept) <= 4000 + 50 * 50


@pytest.mark.parametrize("same_group", [True, False])
def test_equal_vectors_among_others_equal_brute_force(same_group):
    """Leaving equal vectors out as candidates changes no neighbour."""
    rng = np.random.default_rng(5)
    vectors = rng.standard_normal((6, 8)).astype(np.float32)[rng.integers(0, 6, 90)]
    groups = rng.integers(0, 5, 90)
    ids = rng.permutation(90)

    found = as_lists(
        top_neighbours(
            vectors, groups=groups, ids=ids, top=3, threshold=0, same_group=same_group
        )
    )

    expected = brute_force(vectors, groups, ids, 3, 0, same_group)
    assert {k: [j for j, _ in v] for k, v in found.items()} == {
        k: [j for j, _ in v] for k, v in expected.items()
    }


def test_many_equal_vectors_have_few_candidates():
    """Of a thousand equal vectors as many are compared as one can have neighbours."""
    vectors = np.ones((1000, 4), dtype=np.float32)

    compared = similarity.Comparison(
        vectors=vectors,
        groups=np.arange(1000),
        ids=np.arange(1000)[::-1],
        numbers=np.zeros(1000, dtype=np.int64),
        top=5,
        threshold=0.3,
    )

    assert compared.columns.tolist() == list(range(988, 1000))

"""The approximate search of large corpora finds the exact neighbours, or nearly."""

from __future__ import annotations

import numpy as np
import pytest

from knowtrail.ingest import neighbour_index
from knowtrail.ingest.neighbour_index import search_neighbours
from knowtrail.ingest.similarity import Comparison, vector_number
from tests.neighbours import top_neighbours


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
    return search_neighbours(compared(vectors, groups, ids, threshold))


def compared(vectors, groups, ids, threshold=0.3):
    """Return what compares all with all, for five neighbours."""
    numbers = np.array([vector_number(vector) for vector in vectors])
    return Comparison(
        vectors=vectors,
        groups=groups,
        ids=ids,
        numbers=numbers,
        top=5,
        threshold=threshold,
    )


@pytest.fixture(autouse=True)
def _approximate(monkeypatch):
    """Let every corpus be a large one."""
    monkeypatch.setattr(neighbour_index, "EXACT_VECTORS", 10)


def test_nearly_all_exact_neighbours_are_found_with_their_scores():
    """Recall over all is what the sample says; scores are those of all pairs."""
    vectors, groups, ids = corpus()

    search = searched(vectors, groups, ids)

    found = pairs(search.blocks(0))
    exact = pairs(
        top_neighbours(
            vectors, groups=groups, ids=ids, top=5, threshold=0.3, same_group=False
        )
    )
    common = found.keys() & exact.keys()
    assert search.method.endswith(" compared")
    assert 0.99 * len(exact) <= len(common) < len(exact)
    assert search.recall == pytest.approx(len(common) / len(exact), abs=0.005)
    assert all(found[pair] == exact[pair] for pair in common)


def test_order_of_arrival_changes_nothing():
    """The same vectors in another order have the same neighbours."""
    vectors, groups, ids = corpus()
    order = np.random.default_rng(4).permutation(len(vectors))

    first = pairs(searched(vectors, groups, ids).blocks(0))
    second = pairs(searched(vectors[order], groups[order], ids[order]).blocks(0))

    assert {(order[a], order[b]): s for (a, b), s in second.items()} == first


def test_vectors_of_one_large_group_have_their_neighbours():
    """Rows near which all are of their own group are compared with all."""
    rng = np.random.default_rng(6)
    vectors = np.ones((2000, 8)) + 0.01 * rng.standard_normal((2000, 8))
    vectors[1990:] += rng.standard_normal((10, 8))
    groups = np.zeros(2000, dtype=np.int64)
    groups[1990:] = np.arange(1, 11)

    search = searched(vectors.astype(np.float32), groups, np.arange(2000), -1.0)

    assert search.recall == 1.0
    assert {row for row, _ in pairs(search.blocks(0))} == set(range(2000))


def test_rows_with_few_others_near_them_are_compared_with_all():
    """Where one cell alone is near, a small one hides nothing, and a large one does."""
    exact = compared(*corpus())
    search = search_neighbours(exact)
    search._near = search._near[:, :1]
    sizes = np.bincount(search._cells)
    small = np.flatnonzero(search._cells == sizes.argmin())
    large = np.flatnonzero(search._cells == sizes.argmax())

    assert sizes.min() < neighbour_index._FEW * exact.top < sizes.max() / 2
    assert share_found(search.best(small), exact.best(small)) == 1.0
    assert share_found(search.best(large), exact.best(large)) < 1.0


def test_equal_vectors_take_the_smallest_ids():
    """A hundred thousand equal vectors have the first by id as their neighbours."""
    count = 100_000
    vectors = np.ones((count, 8), dtype=np.float32)

    found = pairs(searched(vectors, np.arange(count), np.arange(count)).blocks(0))

    assert {column for _, column in found} == set(range(6))
    assert len(found) == 5 * count


def test_a_kept_index_knows_what_came_and_went(tmp_path):
    """Later rows are found, gone ones are not, and new ones enter lists of others."""
    vectors, groups, ids = corpus()
    first = search_neighbours(
        compared(vectors[:2900], groups[:2900], ids[:2900]), tmp_path / "kept"
    )
    groups[:50] = -1
    exact = compared(vectors, groups, ids)
    kept = search_neighbours(exact, tmp_path / "kept")
    rows, floors = np.arange(2900, 3000), np.full(3000, 0.7)
    floors[rows] = np.inf

    found, wanted = kept.best(np.arange(50, 3000)), exact.best(np.arange(50, 3000))
    entered, entering = kept.entered(rows, floors), exact.entered(rows, floors)

    assert (first.kept, kept.kept, kept.recall) == (False, True, first.recall)
    assert found.columns.min() >= 50
    assert share_found(found, wanted) >= 0.99
    assert len(entering.rows) > 100
    assert share_found(entered, entering) >= 0.99


def test_blocks_go_on_from_any_place_of_a_kept_order(tmp_path, monkeypatch):
    """What is left after some blocks is what a kept index goes on with."""
    monkeypatch.setattr(neighbour_index, "ROWS", 700)
    arguments = corpus()
    whole = search_neighbours(compared(*arguments), tmp_path / "kept")
    blocks = list(whole.blocks(0))

    again = search_neighbours(compared(*arguments), tmp_path / "kept")
    rest = list(again.blocks(blocks[1].stop))

    assert again.order.tolist() == whole.order.tolist()
    assert sorted(whole.order.tolist()) == list(range(3000))
    assert pairs(rest) == pairs(blocks[2:])
    assert set(pairs(rest)) < set(pairs(blocks))


@pytest.mark.parametrize("how", ["cut", "of other rows", "gone", "worn", "older"])
def test_an_index_that_cannot_be_used_is_made_anew(tmp_path, how):
    vectors, groups, ids = corpus()
    kept = tmp_path / "kept"
    few = slice(2800 if how == "worn" else 3000)
    search_neighbours(compared(vectors[few], groups[few], ids[few]), kept)
    if how == "cut":
        kept.write_bytes(kept.read_bytes()[: -kept.stat().st_size // 4])
    elif how == "gone":
        kept.unlink()
    elif how == "of other rows":
        vectors[7] += 1
    elif how == "older":  # whose cells, not rows, had cells near to them
        with np.load(kept) as file:
            about = dict(file)
        about["near"] = about["near"][: len(about["centres"])]
        with kept.open("wb") as file:
            np.savez(file, **about)

    search = search_neighbours(compared(vectors, groups, ids), kept)

    assert not search.kept
    assert search.recall >= 0.99
    assert search_neighbours(compared(vectors, groups, ids), kept).kept


def test_new_rows_enter_lists_of_equal_and_crowded_ones(tmp_path):
    """Equal vectors beyond the first few, and rows behind many of the own group."""
    vectors, groups, ids = corpus()
    vectors[:50] = vectors[0]
    vectors[100:400] = vectors[0] + 0.01
    vectors[2999] = vectors[0] + 0.02
    groups[:50], groups[100:400], groups[2999] = 200, 201, 201
    first = compared(vectors[:2999], groups[:2999], ids[:2999])
    search_neighbours(first, tmp_path / "kept")
    exact = compared(vectors, groups, ids)
    search = search_neighbours(exact, tmp_path / "kept")
    floors = np.full(3000, 0.7)
    floors[2999] = np.inf

    entered = search.entered(np.array([2999]), floors)

    assert search.kept
    assert set(range(50)) <= set(entered.rows.tolist())
    wanted = exact.entered(np.array([2999]), floors)
    assert set(entered.rows.tolist()) == set(wanted.rows.tolist())


def share_found(found, wanted):
    """Return the share of the pairs that were found."""
    there = set(zip(found.rows.tolist(), found.columns.tolist(), strict=True))
    pairs = set(zip(wanted.rows.tolist(), wanted.columns.tolist(), strict=True))
    return len(pairs & there) / len(pairs)


def test_a_centre_without_direction_draws_not_all_vectors(monkeypatch):
    """Those of a cell may cancel out; then the cell has another centre."""

    class Cancelled:
        """k-means whose first cell has its centre nowhere."""

        cluster_centers_ = np.eye(16, dtype=np.float32)[:2] * [[0], [1]]

        def __init__(self, *_, **__):
            """Take all options."""

        def fit(self, _):
            """Find what is found always."""

    monkeypatch.setattr("sklearn.cluster.KMeans", Cancelled)

    search = searched(*corpus())

    assert set(search._cells) == {0, 1}
    assert search.recall >= 0.99


def test_one_document_alone_has_no_neighbours():
    vectors, groups, ids = corpus(200)

    search = searched(vectors, np.zeros_like(groups), ids)

    assert pairs(search.blocks(0)) == {}


def test_new_rows_enter_lists_of_all_cells_that_they_are_near_to():
    """As in a search of all: a cell may be near to one that is not near to it."""
    exact = compared(*corpus())
    search = search_neighbours(exact)
    search._near = search._near[:, :2]
    new = np.arange(0, 3000, 30)
    floors = np.full(3000, 0.3)
    floors[new] = np.inf

    found = pairs([search.best(np.setdiff1d(np.arange(3000), new))])
    entered = pairs([search.entered(new, floors)])

    wanted = {pair for pair in found if pair[1] in set(new.tolist())}
    few = {row for row, _ in wanted - entered.keys()}
    assert len(wanted) > 100
    assert len(few) < 0.05 * len(wanted)


def test_what_was_done_is_forgotten_before_new_cells_are_kept(tmp_path):
    told = []
    kept = tmp_path / "kept"

    for _ in range(2):
        search_neighbours(compared(*corpus()), kept, lambda: told.append(kept.exists()))

    assert told == [False]

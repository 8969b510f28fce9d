"""The matrix that a picture can show: exact where it fits, means where it does not."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowtrail.retrieval.views.layout import Segment, similarity_grid, spread, ticks


def segments(lengths: list[int]) -> list[Segment]:
    """Return a segment of each length."""
    return [
        Segment(document=f"d{n}", title=f"Title {n}", first=2 * n, length=length)
        for n, length in enumerate(lengths)
    ]


def vectors(count: int, seed: int = 0) -> np.ndarray:
    """Return made-up vectors."""
    generator = np.random.default_rng(seed)
    return generator.standard_normal((count, 8)).astype(np.float32)


def test_small_matrix_has_the_cosines() -> None:
    """Where all chunks fit, a cell is the cosine of its two chunks."""
    rows = vectors(9)

    grid = similarity_grid(rows, segments([5, 4]))

    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    assert grid.pooled == 1
    assert np.allclose(grid.values, units @ units.T, atol=1e-6)


def test_large_matrix_has_the_means_of_its_blocks() -> None:
    """A cell of a pooled matrix is the mean cosine of the chunks below it."""
    rows = vectors(24)

    grid = similarity_grid(rows, segments([12, 12]), most=8)

    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    blocks = (units @ units.T).reshape(8, 3, 8, 3).mean(axis=(1, 3))
    assert grid.pooled == 3
    assert np.allclose(grid.values, blocks, atol=1e-6)


def test_long_document_fits() -> None:
    """A document of 15,000 chunks has a matrix that a screen can show."""
    grid = similarity_grid(vectors(15_000), segments([15_000]))

    assert 700 <= len(grid.values) <= 800
    assert grid.values.nbytes < 3_000_000


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.integers(6, 60))
def test_every_chunk_has_a_place(lengths: list[int], most: int) -> None:
    """The cell at a chunk's place spans that chunk."""
    grid = similarity_grid(vectors(sum(lengths)), segments(lengths), most=most)

    placed = [
        (segment.document, index, grid.place(segment.document, index))
        for segment in grid.segments
        for index in range(segment.first, segment.first + segment.length)
    ]
    spans = [(d, i, grid.span(round(at))) for d, i, at in placed if at is not None]
    assert len(spans) == sum(lengths)
    assert all(s.document == d and a <= i <= b for d, i, (s, a, b) in spans)


def test_unknown_chunk_has_no_place() -> None:
    """A chunk of another document, or beyond the end, is not in the matrix."""
    grid = similarity_grid(vectors(5), segments([5]))

    assert grid.place("other", 0) is None
    assert grid.place("d0", 5) is None
    assert grid.place("d0", -1) is None


@given(st.lists(st.floats(0, 99), min_size=1, max_size=12), st.floats(0.1, 9))
def test_labels_keep_apart_and_in_order(places: list[float], gap: float) -> None:
    """Labels are at least the gap apart, inside the side, in the given order."""
    gap = min(gap, 100 / len(places))

    moved = spread(sorted(places), gap, 100)

    assert all(b - a >= gap - 1e-6 for a, b in pairwise(moved))
    assert -0.5 - 1e-6 <= moved[0] <= moved[-1] <= 99.5 + 1e-6


@pytest.mark.parametrize("length", [1, 7, 48, 999, 12_345])
def test_ticks_are_few_and_name_chunks(length: int) -> None:
    """A side has at most a dozen ticks, each at the chunk that it names."""
    grid = similarity_grid(vectors(length), segments([length]))

    places, names = ticks(grid)

    assert 1 <= len(names) <= 12
    assert places == [grid.place("d0", int(name)) for name in names]

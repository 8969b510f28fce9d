"""Main axes from sums."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowtrail.retrieval.projection import AXES, Moments, fit_projection

SEEDS = st.integers(min_value=0, max_value=10_000)


def vectors(seed: int, count: int = 40, dimensions: int = 7) -> np.ndarray:
    """Return vectors that vary by different amounts along each dimension."""
    generator = np.random.default_rng(seed)
    spread = generator.uniform(0.1, 4, dimensions)
    return generator.standard_normal((count, dimensions)) * spread + 3


@given(SEEDS)
def test_axes_are_those_of_a_singular_value_decomposition(seed: int) -> None:
    """Distances between points are those along the exact main axes."""
    rows = vectors(seed)
    centred = rows - rows.mean(axis=0)
    _, values, axes = np.linalg.svd(centred, full_matrices=False)

    projection = fit_projection(Moments.of(rows))

    exact = np.abs(centred @ axes[:AXES].T)
    shares = (values**2 / (values**2).sum())[:AXES]
    assert np.abs(projection.points(rows)) == pytest.approx(exact, abs=1e-9)
    assert projection.explained == pytest.approx(shares, abs=1e-9)


@given(SEEDS, st.integers(min_value=0, max_value=40))
def test_sums_of_parts_are_those_of_the_whole(seed: int, cut: int) -> None:
    """It does not matter in which parts vectors come."""
    rows = vectors(seed)

    parts = Moments.of(rows[:cut]) + Moments.of(rows[cut:])

    whole = Moments.of(rows)
    assert parts.count == whole.count
    assert parts.total == pytest.approx(whole.total)
    assert parts.outer == pytest.approx(whole.outer)


def test_a_question_is_one_more_vector() -> None:
    """Axes fitted to a question are those of the vectors with it among them."""
    rows, query = vectors(1), 20 * np.ones(7)

    projection = fit_projection(Moments.of(rows), query)

    together = fit_projection(Moments.of(np.vstack([query, rows])))
    assert projection.components == pytest.approx(together.components)
    assert projection.mean == pytest.approx(together.mean)


def test_the_largest_component_of_an_axis_is_positive() -> None:
    """Which fixes the sign that a decomposition leaves open."""
    components = fit_projection(Moments.of(-vectors(2))).components

    assert [axis[np.argmax(np.abs(axis))] > 0 for axis in components] == [True] * AXES


def test_a_point_does_not_depend_on_the_rows_beside_it() -> None:
    """A row alone, and the same row among others, give the same bits."""
    rows = vectors(3)
    projection = fit_projection(Moments.of(rows))

    alone = [projection.points(row[None, :])[0].tolist() for row in rows]

    assert projection.points(rows).tolist() == alone


@pytest.mark.parametrize("dimensions", [0, 1, 2])
def test_missing_axes_are_zero(dimensions: int) -> None:
    """Vectors of fewer than three dimensions have points all the same."""
    rows = vectors(4, dimensions=dimensions)

    projection = fit_projection(Moments.of(rows))

    assert projection.points(rows).shape == (len(rows), AXES)
    assert not projection.components[dimensions:].any()


@pytest.mark.parametrize("moments", [Moments.none(4), Moments.of(np.ones((3, 4)))])
def test_without_variance_there_are_no_axes(moments: Moments) -> None:
    """No vectors, or equal ones, explain nothing and divide by nothing."""
    projection = fit_projection(moments)

    assert projection.explained.tolist() == [0.0] * AXES
    assert not projection.components.any()


@given(SEEDS, st.integers(min_value=1, max_value=3), st.integers(0, 3))
def test_axes_without_variance_are_none(seed: int, kinds: int, cut: int) -> None:
    """What rounding leaves is no axis: else it would depend on how sums were made."""
    rows = np.random.default_rng(seed).standard_normal((kinds, 64))
    rows = np.vstack([rows, rows[:1], rows[:1]])
    query = np.ones((1, 64))

    whole = fit_projection(Moments.of(rows))
    parts = fit_projection(Moments.of(rows[:cut]) + Moments.of(rows[cut:]))

    assert np.count_nonzero(whole.explained) == kinds - 1
    assert parts.points(query) == pytest.approx(whole.points(query), abs=1e-9)
    assert whole.explained.sum() == pytest.approx(float(kinds > 1))

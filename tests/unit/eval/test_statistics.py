"""Intervals, paired comparisons and corrections for many tests."""

from __future__ import annotations

from math import comb, isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from knowtrail.eval.fields.results import RecordResult
from knowtrail.eval.fields.runs import RunNumbers, run_intervals
from knowtrail.eval.skn.metrics import bootstrap_rows
from knowtrail.eval.statistics import (
    SHARE,
    bootstrap_interval,
    compare_paired,
    corrected,
    first_mean,
    ratio_f1,
    ratio_precision,
    ratio_recall,
)
from knowtrail.graph.errors import InputError
from tests.cases import each

SCORES = np.random.default_rng(7).beta(5, 2, size=80)


@pytest.mark.parametrize(("method", "theirs"), [("bca", "BCa"), ("percentile",) * 2])
def test_interval_of_a_mean_is_that_of_scipy(method: str, theirs: str) -> None:
    """Both methods agree with scipy's bootstrap up to the noise of drawing."""
    ours = bootstrap_interval(SCORES, method=method, resamples=20_000)  # type: ignore[arg-type]
    reference = stats.bootstrap(
        (SCORES,), np.mean, n_resamples=20_000, method=theirs, rng=1
    ).confidence_interval

    assert ours.value == pytest.approx(SCORES.mean())
    assert (ours.low, ours.high) == pytest.approx(
        (reference.low, reference.high), abs=0.002
    )


@pytest.mark.parametrize("n", [3, 12])
def test_no_p_value_is_zero_whatever_the_size_of_the_numbers(n: int) -> None:
    """The swap that was seen counts, rounded as it may be."""
    rng = np.random.default_rng(0)

    found = [
        compare_paired(first, first + rng.random(n) * 1e6, resamples=2).p_value
        for first in rng.random((100, n)) * 1e6
    ]

    assert min(found) >= 2 / 2**n


def test_interval_of_a_ratio_is_that_of_scipy() -> None:
    """A ratio of sums is resampled by records, skewed as it may be."""
    rng = np.random.default_rng(3)
    made = rng.integers(1, 40, size=60)
    right = rng.binomial(made, 0.9)

    ours = bootstrap_interval(
        np.stack([right, made, made], axis=1), ratio_precision, resamples=20_000
    )
    reference = stats.bootstrap(
        (right, made),
        lambda r, m, axis=-1: r.sum(axis) / m.sum(axis),
        paired=True,
        n_resamples=20_000,
        method="BCa",
        rng=1,
    ).confidence_interval

    assert ours.value == pytest.approx(right.sum() / made.sum())
    assert (ours.low, ours.high) == pytest.approx(
        (reference.low, reference.high), abs=0.002
    )


def test_interval_covers_the_truth_as_often_as_it_says() -> None:
    """Of 300 samples of 40, about 95 % have the true mean inside."""
    rng = np.random.default_rng(11)
    inside = [
        found.low <= 0.8 <= found.high
        for found in (
            bootstrap_interval(rng.binomial(20, 0.8, size=40) / 20, resamples=500)
            for _ in range(300)
        )
    ]

    assert 0.91 <= np.mean(inside) <= 0.98


def test_the_same_seed_gives_the_same_interval() -> None:
    """Nothing is random but by the seed."""
    first, again = bootstrap_interval(SCORES), bootstrap_interval(SCORES)

    assert first == again
    assert bootstrap_interval(SCORES, seed=1) != first


def test_equal_rows_without_bounds_have_no_width() -> None:
    """Nothing says how far other records may be: the interval is a point."""
    found = bootstrap_interval([1.0] * 20)

    assert (found.value, found.low, found.high) == (1.0, 1.0, 1.0)


def test_equal_rows_are_not_certain() -> None:
    """Shares have the ends that Clopper and Pearson's interval of 0 of n allows for."""
    none, whole, part = (
        bootstrap_interval([value] * 12, bounds=SHARE) for value in (0.0, 1.0, 0.2)
    )
    mixed = bootstrap_interval([0.0, 1.0] * 6, bounds=SHARE)
    alike = compare_paired([0.5] * 12, [0.5] * 12, bounds=SHARE).difference

    assert (none.low, none.high) == (0, pytest.approx(0.2646, abs=1e-4))
    assert (whole.low, whole.high) == (pytest.approx(0.7354, abs=1e-4), 1)
    assert part.low < part.value < part.high
    assert mixed == bootstrap_interval([0.0, 1.0] * 6)
    assert alike.low == -alike.high == -none.high


def test_twenty_perfect_records_are_as_sure_whatever_measured_them() -> None:
    """Extraction, retrieval, rankings, answers and formats have one rule."""
    record = RecordResult(
        record_id=1,
        field_results=[],
        gold={},
        extracted={},
        precision=1.0,
        recall=1.0,
        f1=1.0,
    )
    found = run_intervals(RunNumbers([record] * 20))
    told = bootstrap_rows(np.ones((20, 1)), first_mean, bounds=SHARE)

    ends = {(round(one.low, 4), one.high) for one in found.values()}
    assert ends == {(0.8316, 1.0)}
    assert (told["ci_low"], told["ci_high"]) == (0.8316, 1.0)


def test_rows_of_a_cluster_are_drawn_together() -> None:
    """Five turns that say the same are no more than one."""
    rng = np.random.default_rng(0)
    scores = rng.random(12)
    clusters = np.repeat(np.arange(12), 5).tolist()

    one = bootstrap_interval(scores)
    five = bootstrap_interval(np.repeat(scores, 5), clusters=clusters)
    alike = bootstrap_interval([1.0] * 60, bounds=SHARE, clusters=clusters)

    assert (five.low, five.high) == pytest.approx((one.low, one.high))
    assert five.n == 60
    assert alike.low == bootstrap_interval([1.0] * 12, bounds=SHARE).low
    with pytest.raises(InputError, match="2 clusters for 3 rows"):
        bootstrap_interval([1.0] * 3, clusters=["a", "b"])


def test_one_row_has_no_interval() -> None:
    """There is nothing to resample, and nothing is pretended."""
    found = bootstrap_interval([0.5])

    assert (found.value, found.n) == (0.5, 1)
    assert isnan(found.low)
    assert isnan(found.high)


@pytest.mark.thorough
def test_many_rows_are_drawn_in_blocks() -> None:
    """A hundred thousand records do not need a matrix of all resamples."""
    rows = np.random.default_rng(0).random(100_000)

    found = bootstrap_interval(rows, resamples=100)

    assert found.low < found.value < found.high
    assert found.high - found.low < 0.01


@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)),
        min_size=2,
        max_size=12,
    )
)
def test_ratios_stay_in_range(parts: list[tuple[int, int, int]]) -> None:
    """Precision, recall and F1 of any records are from 0 to 1, and so are the ends."""
    rows = np.array([(right, right + p, right + r) for right, p, r in parts])

    for statistic in (ratio_precision, ratio_recall, ratio_f1):
        found = bootstrap_interval(rows, statistic, resamples=50)
        assert 0 <= found.low <= found.high <= 1
        assert 0 <= found.value <= 1


def test_ratios_without_a_divisor() -> None:
    """Who says nothing has said nothing wrong, and found nothing."""
    nothing, silent = np.array([[0.0, 0, 0]]), np.array([[0.0, 0, 3]])

    found = [
        float(statistic(rows)[0])
        for rows in (nothing, silent)
        for statistic in (ratio_precision, ratio_recall, ratio_f1)
    ]

    assert found == [1, 1, 1, 1, 0, 0]


@each(
    ("rows", "options", "message"),
    [
        ([], {}, "give n numbers"),
        ([[[1.0]]], {}, "give n numbers"),
        ([1.0, float("nan")], {}, "Row 1 is not finite"),
        ([[1.0], [1.0, 2.0]], {}, "not numbers of one shape"),
        (["a"], {}, "not numbers"),
        ([1.0], {"level": 1.0}, "level is 1.0"),
        ([1.0], {"resamples": 0}, "resamples is 0"),
        ([1.0], {"method": "t"}, "No interval method 't'"),
    ],
)
def test_bad_rows_and_options_are_refused(
    rows: list[float], options: dict[str, float], message: str
) -> None:
    """One line says what is wrong."""
    with pytest.raises(InputError, match=message):
        bootstrap_interval(rows, **options)  # type: ignore[arg-type]


def test_swaps_of_few_records_are_all_tried() -> None:
    """Ten records of which nine improve: the sign test counted by hand."""
    first = [0.0] * 10
    second = [1.0] * 9 + [0.0]

    found = compare_paired(first, second)

    assert found.exact
    assert found.p_value == pytest.approx(2 * 2 / 2**10)
    assert found.difference.value == pytest.approx(0.9)


def test_p_value_is_that_of_scipy() -> None:
    """Random swaps of many records agree with scipy's permutation test."""
    rng = np.random.default_rng(5)
    first = rng.random(50)
    second = first + rng.normal(0.03, 0.1, size=50)

    ours = compare_paired(first, second, resamples=20_000)
    reference = stats.permutation_test(
        (first, second),
        lambda a, b, axis=-1: b.mean(axis) - a.mean(axis),
        permutation_type="samples",
        n_resamples=20_000,
        rng=1,
    )

    assert not ours.exact
    assert ours.p_value == pytest.approx(reference.pvalue, abs=0.01)


def test_a_pair_is_surer_than_two_samples() -> None:
    """A small gain on every record is found although the records differ widely."""
    first = np.linspace(0, 0.9, 40)

    found = compare_paired(first, first + 0.02 + 0.01 * np.sin(np.arange(40)))

    assert 0 < found.difference.low < found.difference.high < 0.05
    assert found.p_value < 0.01


def test_equal_systems_do_not_differ() -> None:
    """The p-value of no difference is 1."""
    found = compare_paired(SCORES, SCORES)

    assert (found.difference.value, found.p_value) == (0, 1)


def test_a_ratio_is_compared_too() -> None:
    """Rows of several columns are swapped whole."""
    made = np.array([[1.0, 2, 2], [2, 2, 2]] * 8)
    better = np.array([[2.0, 2, 2], [2, 2, 2]] * 8)

    found = compare_paired(made, better, ratio_f1)

    assert (found.first, found.second) == (0.75, 1.0)
    assert found.p_value < 0.02


def test_chance_of_a_false_alarm_is_as_stated() -> None:
    """Of 200 comparisons of equals, about one in twenty is below 0.05."""
    rng = np.random.default_rng(2)
    alarms = [
        compare_paired(rng.random(20), rng.random(20), resamples=200).p_value <= 0.05
        for _ in range(200)
    ]

    assert np.mean(alarms) <= 0.1


def test_systems_of_different_records_are_refused() -> None:
    """Without pairs there is no paired comparison."""
    with pytest.raises(InputError, match="pair them"):
        compare_paired([1.0, 2.0], [1.0])


def test_a_paired_comparison_takes_no_clusters() -> None:
    """Its p-value would not know those of its interval."""
    with pytest.raises(TypeError, match="no clusters"):
        compare_paired([1.0, 2.0], [1.0, 3.0], clusters=[1, 1])  # type: ignore[call-arg]


def test_holm_of_a_worked_example() -> None:
    """The four p-values of Holm's procedure step by step."""
    found = corrected([0.01, 0.04, 0.03, 0.005])

    assert found.tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_benjamini_hochberg_is_that_of_scipy(p_values: list[float]) -> None:
    """The adjusted p-values are scipy's."""
    ours = corrected(p_values, method="benjamini-hochberg")

    assert ours.tolist() == pytest.approx(
        stats.false_discovery_control(p_values).tolist()
    )


@given(st.lists(st.floats(0, 1), max_size=30))
def test_corrections_never_lower_a_p_value(p_values: list[float]) -> None:
    """Holm is the strictest, no correction the laxest."""
    none, rate, holm = (
        corrected(p_values, method=method)  # type: ignore[arg-type]
        for method in ("none", "benjamini-hochberg", "holm")
    )

    assert none.tolist() == p_values
    assert bool((none <= rate + 1e-12).all())
    assert bool((rate <= holm + 1e-12).all())


@pytest.mark.parametrize(
    ("p_values", "method"), [([1.2], "holm"), ([float("nan")], "holm"), ([0.1], "x")]
)
def test_bad_p_values_are_refused(p_values: list[float], method: str) -> None:
    """A p-value is from 0 to 1, a correction has a name."""
    with pytest.raises(InputError):
        corrected(p_values, method=method)  # type: ignore[arg-type]


def test_exact_swaps_count_every_subset() -> None:
    """With three gains among twelve, the p-value is that of the binomial."""
    found = compare_paired([0.0] * 12, [1.0] * 12)

    assert found.p_value == pytest.approx(2 * comb(12, 12) / 2**12)

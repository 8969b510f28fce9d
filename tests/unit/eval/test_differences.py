"""Systems against each other, and the one rule by which p-values are corrected."""

from __future__ import annotations

import pytest

from knowtrail.eval.statistics import (
    compare_paired,
    compare_systems,
    corrected_differences,
)

ONE, TWO = [0.0] * 8, [1.0] * 7 + [0.0]


def test_the_differences_in_one_metric_are_a_family() -> None:
    """Three systems cost a factor of three; another metric costs nothing."""
    found = compare_paired(ONE, TWO)
    tests = [(name, "base", "recall", found) for name in "abc"]

    told = corrected_differences([*tests, ("a", "base", "f1", found)])

    assert [one.name for one in told] == ["a", "b", "c", "a"]
    assert [one.p_value for one in told] == pytest.approx(
        [3 * found.p_value] * 3 + [found.p_value]
    )


def test_systems_are_compared_on_the_records_that_both_have() -> None:
    """A record without a number counts for neither; a system may have none."""
    records = {
        "base": {"recall": dict(enumerate(ONE))},
        "better": {"recall": dict(enumerate(TWO[:6])) | {99: 0.0}},
        "other": {"recall": {100: 1.0}},
    }

    (one,) = compare_systems(records, "base", metrics=["recall", "f1"])

    assert (one.name, one.base, one.metric) == ("better", "base", "recall")
    assert (one.found.n, one.found.difference.value) == (6, 1.0)
    assert one.p_value == one.found.p_value

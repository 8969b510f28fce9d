"""Results of an experiment by group, with the interval of their difference."""

from __future__ import annotations

import itertools
import json
import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from knowtrail.eval.specificity.measures import (
    SpecificityResults,
    difference_interval,
    read_results,
)
from knowtrail.graph.errors import InputError, SourceError
from knowtrail.retrieval.specificity.monitoring import SpecificityExperiment

if TYPE_CHECKING:
    from pathlib import Path


def test_sessions_are_counted_in_their_group() -> None:
    """The group is that which the experiment deals, and means are by session."""
    results = SpecificityResults(SpecificityExperiment(traffic_split=0.5))
    groups = {f"s{n}": results.log_result(f"s{n}", float(n % 2)) for n in range(40)}
    results.log_result("s0", 1.0)

    table = results.table()

    assert groups["s0"] == SpecificityExperiment(traffic_split=0.5).group("s0")
    assert table.control_sessions == list(groups.values()).count("control")
    assert table.treatment_sessions == list(groups.values()).count("treatment")
    assert 0.5 in results.session_means(groups["s0"])


def test_difference_is_treatment_minus_control() -> None:
    """The sign says whether filtering helps."""
    results = SpecificityResults(SpecificityExperiment(traffic_split=0.5))
    for number in range(60):
        group = results.experiment.group(f"s{number}")
        results.log_result(f"s{number}", 0.9 if group == "treatment" else 0.4)

    table = results.table()

    assert table.difference is not None
    assert table.difference.value == pytest.approx(0.5)
    assert (table.control, table.treatment) == (pytest.approx(0.4), pytest.approx(0.9))


def test_one_group_alone_has_no_difference() -> None:
    """Without control sessions there is nothing to compare with."""
    results = SpecificityResults(SpecificityExperiment(traffic_split=1.0))
    results.log_result("s", 0.5)

    table = results.table()

    assert (table.control, table.difference, table.treatment) == (None, None, 0.5)


@pytest.mark.parametrize("score", [math.nan, math.inf, True])
def test_score_that_is_no_number_is_refused(score: float) -> None:
    """A quality is a finite number."""
    with pytest.raises(InputError, match="finite number"):
        SpecificityResults().log_result("s", score)


def test_interval_is_welchs() -> None:
    """For many sessions it is as wide as the normal distribution says."""
    rng = np.random.default_rng(1)
    first = rng.normal(0.4, 0.1, 200).tolist()
    second = rng.normal(0.5, 0.2, 300).tolist()

    found = difference_interval(first, second)

    width = 2 * 1.96 * math.sqrt(0.01 / 200 + 0.04 / 300)
    assert found.low < 0.1 < found.high
    assert found.high - found.low == pytest.approx(width, rel=0.1)
    assert found.value == pytest.approx((found.low + found.high) / 2, abs=0.003)


@pytest.mark.thorough
def test_interval_is_the_one_of_all_resamples() -> None:
    """All resamples of five members can be drawn; chance comes near to them."""
    first, second = [1.0, 2.0, 4.0, 4.5, 9.0], [2.0, 4.0, 6.0, 8.0, 10.0]

    def squared(rows: np.ndarray) -> np.ndarray:
        return np.asarray(rows.var(axis=1, ddof=1) / 5)

    one = np.array(list(itertools.product(first, repeat=5)))
    other = np.array(list(itertools.product(second, repeat=5)))
    value = np.mean(second) - np.mean(first)
    off = (other.mean(axis=1)[:, None] - one.mean(axis=1)[None] - value).ravel()
    error = np.sqrt(squared(other)[:, None] + squared(one)[None]).ravel()
    some = error > 1e-9
    below, above = np.quantile(off[some] / error[some], [0.05, 0.95])
    own = math.sqrt(squared(np.array([first]))[0] + squared(np.array([second]))[0])

    found = difference_interval(first, second, level=0.9, resamples=100_000)

    assert found.value == pytest.approx(value)
    assert found.low == pytest.approx(value - above * own, rel=0.02)
    assert found.high == pytest.approx(value - below * own, rel=0.02)
    assert found == difference_interval(first, second, level=0.9, resamples=100_000)


@pytest.mark.thorough
@pytest.mark.parametrize("size", [5, 10])
def test_interval_of_few_sessions_is_wide_enough(size: int) -> None:
    """It holds the true difference 95 times in a hundred, also for few sessions."""
    rng = np.random.default_rng(size)
    times = 1000
    held = 0
    for _ in range(times):
        found = difference_interval(
            rng.normal(0, 1, size).tolist(),
            rng.normal(0.3, 2, size).tolist(),
            resamples=500,
        )
        held += found.low <= 0.3 <= found.high

    assert held / times >= 0.935


@pytest.mark.parametrize(
    ("first", "second"),
    [([0.2], [0.5, 0.6]), ([0.1, 0.2, 0.3, 0.4], [0.5] * 9), ([0.1] * 9, [0.2] * 9)],
)
def test_interval_of_too_little_has_no_ends(
    first: list[float], second: list[float]
) -> None:
    """Fewer than five sessions, or sessions that are all alike, tell no spread."""
    found = difference_interval(first, second)

    assert found.value == pytest.approx(np.mean(second) - np.mean(first))
    assert (math.isnan(found.low), math.isnan(found.high)) == (True, True)


@pytest.mark.parametrize(
    ("first", "level"), [([], 0.95), ([0.1, 0.2], 0.0), ([0.1, 0.2], 1.0)]
)
def test_impossible_interval_is_refused(first: list[float], level: float) -> None:
    """A group without members and a level out of range are mistakes."""
    with pytest.raises(InputError):
        difference_interval(first, [0.1, 0.2], level=level)


def test_results_are_read_from_a_file(tmp_path: Path) -> None:
    """One session and quality a line."""
    path = tmp_path / "results.jsonl"
    path.write_text('{"session": "a", "quality": 1}\n\n{"session": "b", "quality": 0}')

    results = read_results(path, traffic_split=1.0)

    assert results.session_means("treatment") == [1.0, 0.0]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", ", line 1 is no JSON"),
        ('{"session": "a"}', "no 'quality'"),
        ('{"session": "a", "quality": "good"}', ", line 1 is no result"),
        ("7", ", line 1 is no result"),
    ],
)
def test_unusable_results_are_refused(tmp_path: Path, line: str, reason: str) -> None:
    """The message names file and line."""
    path = tmp_path / "results.jsonl"
    path.write_text(line, encoding="utf-8")

    with pytest.raises(SourceError, match=reason):
        read_results(path)
    with pytest.raises(SourceError, match="cannot be read"):
        read_results(tmp_path / "none.jsonl")


def test_a_group_that_was_dealt_otherwise_is_refused(tmp_path: Path) -> None:
    """Sessions of an experiment of another name are not dealt anew in silence."""
    used = SpecificityExperiment(name="autumn")
    path = tmp_path / "results.jsonl"
    rows = [
        {"session": str(n), "quality": n % 2, "group": used.group(str(n))}
        for n in range(20)
    ]
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")

    assert len(read_results(path, name="autumn").session_means("control")) > 0
    with pytest.raises(SourceError, match="give the name and the share"):
        read_results(path)


def test_groups_that_were_not_noted_are_told() -> None:
    """A session is unchecked until a group is known for it."""
    results = SpecificityResults()
    for session in ("a", "b", "c"):
        results.log_result(session, 0.5)
    results.log_result("a", 0.7, group=results.experiment.group("a"))

    results.check_group("b", results.experiment.group("b"))

    assert (results.sessions, results.unchecked) == (("a", "b", "c"), ("c",))

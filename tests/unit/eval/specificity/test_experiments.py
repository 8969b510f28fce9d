"""Results of an experiment by group, with the interval of their difference."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from eval.specificity import SpecificityResults, difference_interval, read_results
from graph.errors import InputError, SourceError
from retrieval.specificity.experiment import SpecificityExperiment

if TYPE_CHECKING:
    from pathlib import Path


def test_sessions_are_counted_in_their_group() -> None:
    """The group is that which the experiment deals, and means are by session."""
    results = SpecificityResults(SpecificityExperiment(traffic_split=0.5))
    groups = {f"s{n}": results.log_result(f"s{n}", float(n % 2)) for n in range(40)}
    results.log_result("s0", 1.0)

    table = results.table(resamples=100)

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

    table = results.table(resamples=100)

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


def test_interval_holds_the_true_difference() -> None:
    """It is about as wide as theory says, and the same for the same seed."""
    rng = np.random.default_rng(1)
    first = rng.normal(0.4, 0.1, 200).tolist()
    second = rng.normal(0.5, 0.1, 300).tolist()

    found = difference_interval(first, second, seed=3)

    width = 2 * 1.96 * math.sqrt(0.01 / 200 + 0.01 / 300)
    assert found.low < 0.1 < found.high
    assert found.high - found.low == pytest.approx(width, rel=0.15)
    assert found == difference_interval(first, second, seed=3)


def test_interval_of_single_members_has_no_ends() -> None:
    """One session leaves nothing to draw."""
    found = difference_interval([0.2], [0.5, 0.6])

    assert found.value == pytest.approx(0.35)
    assert math.isnan(found.low)


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
        ("{", ":1 is no result"),
        ('{"session": "a"}', "no 'quality'"),
        ('{"session": "a", "quality": "good"}', ":1 is no result"),
        ("7", ":1 is no result"),
    ],
)
def test_unusable_results_are_refused(tmp_path: Path, line: str, reason: str) -> None:
    """The message names file and line."""
    path = tmp_path / "results.jsonl"
    path.write_text(line, encoding="utf-8")

    with pytest.raises(SourceError, match=reason):
        read_results(path)
    with pytest.raises(SourceError, match="Cannot read"):
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

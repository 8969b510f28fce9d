"""The numbers of a run, and two runs compared."""

from __future__ import annotations

import pytest

from knowtrail.eval.fields import annotate_xeval, evaluate, infer_schema
from knowtrail.eval.fields.runs import (
    RunNumbers,
    compare_runs,
    run_intervals,
    run_metrics,
    stored_record,
)
from knowtrail.graph.errors import InputError

GOLD = [{"a": n, "b": "x"} for n in range(12)]
GOOD = [{"a": n if n != 3 else 0, "b": "x"} for n in range(12)]
POOR = [{"a": 0, "b": "x"} if n % 2 else {"a": n, "c": 1} for n in range(12)]
SCHEMA = annotate_xeval(infer_schema(GOLD))


def test_intervals_are_about_the_means_of_the_run() -> None:
    """The values are those that `evaluate` reports; micro ones count fields."""
    result = evaluate(GOLD, POOR, SCHEMA)

    found = run_intervals(RunNumbers(result.records))

    assert found["precision"].value == pytest.approx(result.mean_precision)
    assert found["recall"].value == pytest.approx(result.mean_recall)
    assert found["f1"].value == pytest.approx(result.mean_f1)
    assert found["micro_precision"].value == pytest.approx(12 / 24)
    assert found["micro_recall"].value == pytest.approx(12 / 24)
    assert all(one.low <= one.value <= one.high for one in found.values())


def test_two_systems_are_compared_metric_by_metric() -> None:
    """The better one is found, and that it is no chance."""
    good = RunNumbers(evaluate(GOLD, GOOD, SCHEMA).records)
    poor = RunNumbers(evaluate(GOLD, POOR, SCHEMA).records)

    found = compare_runs(poor, good)

    assert found["f1"].difference.low > 0
    assert found["f1"].p_value < 0.05
    assert len(found) == 6


def test_a_run_without_records_has_no_numbers() -> None:
    """There is nothing to resample."""
    with pytest.raises(InputError, match="without a record"):
        run_intervals(RunNumbers())


@pytest.mark.parametrize(("level", "kept"), [("failures", 2), ("all", 3)])
def test_a_level_decides_which_fields_are_kept(level: str, kept: int) -> None:
    """Fields that are right go with `all` only; the numbers are kept by both."""
    (record,) = evaluate([GOLD[1]], [{"a": 1, "c": 2}], SCHEMA).records

    found = stored_record(record, level=level, judges=["x"])  # type: ignore[arg-type]

    assert len(found.fields) == kept
    assert found.scores["precision"] == 0.5
    assert found.judges == ["x"]


def test_metrics_of_a_run_are_the_whole_and_every_field() -> None:
    """With intervals for the whole, and counts for fields."""
    result = evaluate(GOLD, GOOD, SCHEMA)

    found = list(run_metrics(result, run_intervals(RunNumbers(result.records))))

    field = next(metric for metric in found if metric.path == "a")
    assert len(found) == 6 + 2
    assert (field.name, field.n, field.counts["mismatches"]) == ("field_score", 12, 1)
    assert found[0].low is not None

"""Section 13: post-processors."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from knowtrail.eval.fields import (
    FieldResult,
    NullHandling,
    annotate_xeval,
    evaluate,
    propagate_batch_errors,
    reclassify_nulls,
)
from tests.cases import each


def _result(gold: Any, extracted: Any, status: str = "mismatch") -> FieldResult:
    return FieldResult("a", 0.5, "exact", "raw", "raw", status, "old", gold, extracted)


DEFAULT, BLANK = NullHandling(), NullHandling(absent_values=[None, "", 0])
COUNTED = NullHandling(both_absent_skip=False)


@each(
    ("gold", "extracted", "config", "expected"),
    [
        (None, None, DEFAULT, ("skipped", 0.0, "both absent")),
        (None, None, COUNTED, ("match", 1.0, "both absent (counted as match)")),
        (None, "x", DEFAULT, ("hallucination", 0.0, "gold is absent")),
        ("x", None, DEFAULT, ("omission", 0.0, "extracted is absent")),
        ("x", "y", DEFAULT, ("mismatch", 0.5, "old")),
        ("", None, BLANK, ("skipped", 0.0, "both absent")),
        (False, "x", BLANK, ("mismatch", 0.5, "old")),
        (0.0, "x", BLANK, ("mismatch", 0.5, "old")),
        (0, "x", BLANK, ("hallucination", 0.0, "gold is absent")),
    ],
)
def test_nulls(
    gold: Any, extracted: Any, config: NullHandling, expected: tuple[str, float, str]
) -> None:
    """Absent values are told by type and value, after the transforms."""
    results = [_result(gold, extracted)]

    assert reclassify_nulls(results, config) is results
    assert (results[0].status, results[0].score, results[0].reason) == expected


def test_absent_value_may_be_the_object_itself() -> None:
    """NaN equals nothing, but it is itself."""
    nan = float("nan")
    results = [_result(nan, "x")]
    reclassify_nulls(results, NullHandling(absent_values=[nan]))

    assert results[0].status == "hallucination"


@pytest.mark.parametrize(
    "status", ["skipped", "batch_error", "omission", "hallucination"]
)
def test_nulls_leave_what_is_settled(status: str) -> None:
    """Results that are no comparison stay."""
    results = [_result(None, None, status)]
    reclassify_nulls(results, DEFAULT)

    assert (results[0].status, results[0].reason) == (status, "old")


def _evaluate(
    schema: dict[str, Any], gold: Any, extracted: Any, config: NullHandling
) -> Any:
    schema = annotate_xeval({"type": "object", "properties": schema})
    process = partial(reclassify_nulls, config=config)
    (record,) = evaluate([gold], [extracted], schema, post_process=process).records
    return [(result.path, result.status) for result in record.field_results]


ARRAY = {"type": "array", "items": {"type": "string"}}


@pytest.mark.parametrize(
    ("gold", "extracted", "expected"),
    [
        ({"t": []}, {"t": []}, [("t", "match")]),
        ({"t": ["a"]}, {"t": "a"}, [("t", "mismatch")]),
        ({"t": "n/a"}, {"t": "n/a"}, [("t", "match")]),
        ({"t": None}, {"t": ["a"]}, [("t[-1]", "hallucination")]),
    ],
)
def test_containers_are_judged_by_their_own_value(
    gold: Any, extracted: Any, expected: list[tuple[str, str]]
) -> None:
    """A container of a wrong type does not drop out of the metrics."""
    assert _evaluate({"t": ARRAY}, gold, extracted, DEFAULT) == expected


def test_empty_container_may_be_absent() -> None:
    """Where an empty array counts as nothing, two of them are skipped."""
    config = NullHandling(absent_values=[None, []])

    assert _evaluate({"t": ARRAY}, {"t": []}, {"t": []}, config) == [("t", "skipped")]


def test_null_and_missing_stay_apart_where_settled() -> None:
    """A missing key is an omission, null on both sides is skipped."""
    string = {"type": "string"}
    found = _evaluate(
        {"a": string, "b": string},
        {"a": None, "b": None},
        {"b": None},
        DEFAULT,
    )

    assert found == [("a", "omission"), ("b", "skipped")]


def _of(comparator: str, status: str) -> FieldResult:
    return FieldResult("a", 1.0, comparator, 1, 1, status, "old")


def test_errors_spread_within_a_comparator() -> None:
    """One failure taints every comparison by the same name in the record."""
    results = [
        _of("semantic", "match"),
        _of("semantic", "batch_error"),
        _of("semantic", "omission"),
        _of("semantic", "hallucination"),
        _of("semantic", "skipped"),
        _of("exact", "match"),
        _of("", "match"),
    ]

    assert propagate_batch_errors(results) is results
    assert [result.status for result in results] == [
        "batch_error",
        "batch_error",
        "omission",
        "hallucination",
        "batch_error",
        "match",
        "match",
    ]
    assert [result.score for result in results[:2]] == [0.0, 0.0]
    assert all("tainted" in str(result.reason) for result in results[:2])


def test_container_results_are_never_tainted() -> None:
    """They have no comparator."""
    results = [_of("", "batch_error"), _of("", "match")]
    propagate_batch_errors(results)

    assert [result.status for result in results] == ["batch_error", "match"]

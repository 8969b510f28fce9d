"""Section 7: comparators that score one field."""

from __future__ import annotations

import math
from typing import Any

import pytest

from knowtrail.eval.fields import (
    ComparatorNotFoundError,
    ComparatorResult,
    compare_exact,
    compare_numeric,
    compare_oneof,
    evaluate,
    get_comparator,
    register,
)
from knowtrail.eval.fields.comparators import is_batch
from tests.cases import each

NAN, INF = math.nan, math.inf


@each(
    ("gold", "extracted", "score"),
    [
        ("a", "a", 1),
        ("a", "A", 0),
        (1, 1.0, 0),
        (True, 1, 0),
        (None, None, 1),
        (None, "", 0),
        (NAN, NAN, 0),
        ([1], [1.0], 1),
        ({"a": True}, {"a": 1}, 1),
        ([1, 2], [2, 1], 0),
    ],
)
def test_exact(gold: Any, extracted: Any, score: float) -> None:
    """Type and value are equal; inside of containers Python's equality holds."""
    result = compare_exact(gold, extracted, {})

    assert result == ComparatorResult(score, "exact", None if score else "mismatch")


@each(
    ("gold", "extracted", "reason"),
    [
        (1, 1.0, None),
        (1, 2, "values differ without tolerance"),
        (None, None, None),
        (None, 0, "type_error"),
        (0, None, "type_error"),
        (" 1e3 ", 1000, None),
        ("1_000", 1000, None),
        (True, 1, None),
        ("1,000", 1000, "type_error"),
        ("", 0, "type_error"),
        ([1], [1], "type_error"),
        ("abc", "abc", "type_error"),
        (NAN, NAN, None),
        ("nan", NAN, None),
        (NAN, 1, "type_error"),
        (1, NAN, "type_error"),
        (INF, "inf", None),
        (INF, -INF, "values differ without tolerance"),
        (10**400, 10**400, None),
        (10**400, 10**400 + 1, "values differ without tolerance"),
        (10**400, 1.5, "values differ without tolerance"),
        (2**53, 2**53 + 1, "values differ without tolerance"),
    ],
)
def test_numeric_without_tolerance(
    gold: Any, extracted: Any, reason: str | None
) -> None:
    """Numbers are equal as floats, integers as they are."""
    expected = ComparatorResult(0.0 if reason else 1.0, "numeric", reason)

    assert compare_numeric(gold, extracted, {}) == expected
    assert compare_numeric(gold, extracted, {"tolerance": None}) == expected
    assert compare_numeric(gold, extracted, {"tolerance": {}}) == expected
    assert compare_numeric(gold, extracted, {"other": 1}) == expected


@each(
    ("gold", "extracted", "tolerance", "reason"),
    [
        (100, 101, {"rel": 0.01}, None),
        (100, 102, {"rel": 0.01}, "relative error exceeds 0.01"),
        (-100, -101, {"rel": 0.01}, None),
        (101, 100, {"rel": 0.0099}, "relative error exceeds 0.0099"),
        (0, 0.5, {"rel": 0.5}, None),
        (0, 0.6, {"rel": 0.5}, "relative error exceeds 0.5"),
        (1, 1.5, {"abs": 0.5}, None),
        (1, 1.6, {"abs": 0.5}, "absolute error exceeds 0.5"),
        (100, 101, {"rel": 0.01, "abs": 0.5}, "absolute error exceeds 0.5"),
        (100, 103, {"rel": 0.01, "abs": 0.5}, "relative error exceeds 0.01"),
        (100, 101, {"rel": None, "abs": 1}, None),
        (1, 2, {"other": 5}, "values differ without tolerance"),
        (None, None, {"rel": 1}, None),
        (NAN, NAN, {"rel": 1}, None),
        (INF, INF, {"rel": 0.1, "abs": 1}, None),
        (INF, 5, {"rel": 0.1}, "relative error exceeds 0.1"),
        (5, INF, {"rel": 0.1}, "relative error exceeds 0.1"),
        (INF, -INF, {"abs": 3}, "absolute error exceeds 3"),
        (10**400, 10**400 + 5, {"rel": 0.1}, None),
        (10**400, 1, {"abs": 3}, "absolute error exceeds 3"),
        (10**400, INF, {"abs": 3}, "absolute error exceeds 3"),
    ],
)
def test_numeric_tolerance(
    gold: Any, extracted: Any, tolerance: dict[str, Any], reason: str | None
) -> None:
    """Relative to gold, absolute, or both; bounds included."""
    result = compare_numeric(gold, extracted, {"tolerance": tolerance})

    assert result == ComparatorResult(0.0 if reason else 1.0, "numeric", reason)


@pytest.mark.parametrize("tolerance", [0.1, [], {"rel": "x"}, {"abs": True}])
def test_numeric_refuses_tolerance(tolerance: Any) -> None:
    """A tolerance that is none is an error, not a score."""
    with pytest.raises(TypeError):
        compare_numeric(1, 1, {"tolerance": tolerance})


@pytest.mark.parametrize(
    ("gold", "extracted", "values", "score"),
    [
        ("x", "a", ["a", "b"], 1),
        ("a", "c", ["a", "b"], 0),
        ("c", "c", ["a"], 0),
        ("x", True, [1], 1),
        (None, None, [], 0),
    ],
)
def test_oneof(gold: Any, extracted: Any, values: list[Any], score: float) -> None:
    """Only the list counts."""
    reason = None if score else "no match in values"

    assert compare_oneof(gold, extracted, {"values": values}) == ComparatorResult(
        score, "oneof", reason
    )


@pytest.mark.parametrize("params", [{}, {"values": "ab"}, {"values": ("a",)}])
def test_oneof_needs_a_list(params: dict[str, Any]) -> None:
    """Without a list there is no score."""
    with pytest.raises(TypeError, match="needs 'values'"):
        compare_oneof("a", "a", params)


def _half(gold: Any, extracted: Any, params: dict[str, Any]) -> ComparatorResult:
    return ComparatorResult(params.get("score", 0.5), "inner name")


def test_register() -> None:
    """A registered comparator is found by its name."""
    register("half", _half)

    assert get_comparator("half") is _half


@pytest.mark.parametrize(
    ("name", "fn", "overwrite", "error", "told"),
    [
        ("exact", None, True, TypeError, "callable"),
        ("exact", _half, True, ValueError, "Cannot overwrite built-in"),
        ("half", _half, False, ValueError, "already registered"),
        ("", _half, False, TypeError, "not empty"),
    ],
)
def test_register_refuses(
    name: str, fn: Any, overwrite: bool, error: type[Exception], told: str
) -> None:
    """What cannot be called, built-in names and names taken are refused."""
    register("half", _half)

    with pytest.raises(error, match=told):
        register(name, fn, overwrite=overwrite)


def test_register_overwrites_when_told() -> None:
    """A custom comparator can be replaced."""
    register("half", lambda gold, extracted, params: ComparatorResult(1.0, "x"))
    register("half", _half, overwrite=True)

    assert get_comparator("half") is _half


def test_is_batch_takes_names() -> None:
    """The built-in comparators score one field at a time."""
    assert not is_batch("exact")
    assert not is_batch(_half)


def test_unknown_comparator_is_a_key_error() -> None:
    """The message lists what is known."""
    with pytest.raises(ComparatorNotFoundError, match="exact, numeric, oneof"):
        get_comparator("x")


def _run(params: dict[str, Any]) -> Any:
    register("half", _half, overwrite=True)
    schema = {"type": "string", "x-eval-compare": {"half": params}}
    return evaluate(["a"], ["a"], schema)


@pytest.mark.parametrize(
    ("score", "status"),
    [(1, "match"), (0.5, "mismatch"), (0, "mismatch"), (2.0, "mismatch")],
)
def test_status_of_score(score: float, status: str) -> None:
    """Only a score of exactly 1 is a match; the name is the schema's."""
    (result,) = _run({"score": score}).records[0].field_results

    assert (result.status, result.score, result.comparator) == (status, score, "half")


@pytest.mark.parametrize("score", [NAN, INF, None, "1"])
def test_score_that_is_no_number_is_told(score: Any) -> None:
    """A score that would poison every mean is refused with record and path."""
    with pytest.raises(TypeError, match=r"Record 0, <root>: .*no finite number"):
        _run({"score": score})


def test_comparator_must_return_a_result() -> None:
    """A bare number is told."""
    register("bare", lambda gold, extracted, params: 1.0)  # type: ignore[arg-type, return-value]

    with pytest.raises(TypeError, match="must return a ComparatorResult"):
        evaluate(["a"], ["a"], {"type": "string", "x-eval-compare": "bare"})


def test_comparator_may_skip() -> None:
    """A comparator may say that a field is not to be scored."""
    register("skips", lambda *_: ComparatorResult(1.0, "skips", "no use", skip=True))
    run = evaluate(["a"], ["a"], {"type": "string", "x-eval-compare": "skips"})
    (result,) = run.records[0].field_results

    assert (result.status, result.score, result.reason) == ("skipped", 0.0, "no use")


def test_what_a_comparator_raises_is_passed_on_with_a_note() -> None:
    """The error is the comparator's own; record and path are noted on it."""

    def fails(gold: Any, extracted: Any, params: dict[str, Any]) -> ComparatorResult:
        raise ZeroDivisionError

    register("fails", fails)
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "x-eval-compare": "fails"}},
    }

    with pytest.raises(ZeroDivisionError) as caught:
        evaluate([{"a": 1}], [{"a": 1}], schema)
    assert caught.value.__notes__ == ["while scoring a by 'fails'", "in record 0"]

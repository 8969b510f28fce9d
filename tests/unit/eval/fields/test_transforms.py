"""Section 8: transforms."""

from __future__ import annotations

from typing import Any

import pytest

from knowtrail.eval.fields import (
    SchemaError,
    TransformNotFoundError,
    evaluate,
    get_transform,
    parse_eval_schema,
    register_transform,
    transform_lowercase,
    transform_type_convert,
)
from tests.cases import each

NAMES = (
    "lowercase",
    "strip",
    "normalize_whitespace",
    "sort_tokens",
    "round_digits",
    "type_convert",
)


@pytest.mark.parametrize("name", NAMES)
def test_none_stays(name: str) -> None:
    """None comes out of every built-in one, before its parameters are looked at."""
    assert get_transform(name)(None, {}) is None


@each(
    ("name", "value", "params", "expected"),
    [
        ("lowercase", "ÀB", {}, "àb"),
        ("strip", " a b\n", {}, "a b"),
        ("normalize_whitespace", " a \n\t b ", {}, "a b"),
        ("sort_tokens", "b a  B", {}, "B a b"),
        ("round_digits", 2.345, {"digits": 1}, 2.3),
        ("round_digits", 0.5, {"digits": 0}, 0.0),
        ("round_digits", 1250, {"digits": -2}, 1200),
        ("round_digits", 2.345, {"digits": "1"}, 2.3),
        ("round_digits", True, {"digits": 0}, 1),
        ("type_convert", "1.5", {"to": "float"}, 1.5),
        ("type_convert", 3.9, {"to": "int"}, 3),
        ("type_convert", 3, {"to": "str"}, "3"),
        ("type_convert", " TRUE ", {"to": "bool"}, True),
        ("type_convert", 0, {"to": "bool"}, False),
        ("type_convert", False, {"to": "bool"}, False),
    ],
)
def test_transforms(
    name: str, value: Any, params: dict[str, Any], expected: Any
) -> None:
    """Each does what its name says."""
    found = get_transform(name)(value, params)

    assert (found, type(found)) == (expected, type(expected))


@each(
    ("name", "value", "params", "told"),
    [
        ("lowercase", 1, {}, "takes text"),
        ("strip", [], {}, "takes text"),
        ("normalize_whitespace", 1, {}, "takes text"),
        ("sort_tokens", 1, {}, "takes text"),
        ("round_digits", "1", {"digits": 1}, "takes a number"),
        ("round_digits", 1, {}, "requires 'digits'"),
        ("type_convert", 1, {}, "requires 'to'"),
        ("type_convert", "3.0", {"to": "int"}, "Cannot convert"),
        ("type_convert", 1.0, {"to": "bool"}, "Cannot convert"),
        ("type_convert", float("inf"), {"to": "int"}, "Cannot convert"),
    ],
)
def test_wrong_types(name: str, value: Any, params: dict[str, Any], told: str) -> None:
    """A value or parameter of the wrong type is a TypeError."""
    with pytest.raises(TypeError, match=told):
        get_transform(name)(value, params)


def test_unknown_target_is_a_value_error() -> None:
    """There are four targets."""
    with pytest.raises(ValueError, match="must be one of"):
        transform_type_convert("x", {"to": "date"})


def _schema(*transforms: Any) -> dict[str, Any]:
    leaf = {"type": "string", "x-eval-compare": "exact"}
    return {
        "type": "object",
        "properties": {"a": {**leaf, "x-eval-transform": [*transforms]}},
    }


def test_chain_from_left_to_right_on_both_sides() -> None:
    """Both values go through the chain; the raw ones are kept."""
    run = evaluate(
        [{"a": " B a"}], [{"a": "A  b"}], _schema("lowercase", "sort_tokens")
    )
    (result,) = run.records[0].field_results

    assert result.status == "match"
    assert (result.gold_value, result.gold_compared) == (" B a", "a b")
    assert (result.extracted_value, result.extracted_compared) == ("A  b", "a b")


def test_custom_transform_sees_null() -> None:
    """A custom transform may make something of null."""
    register_transform("blank", lambda value, params: "" if value is None else value)
    run = evaluate([{"a": None}], [{"a": ""}], _schema("blank"))

    assert run.mean_f1 == 1.0


def test_wrong_value_ends_the_evaluation_with_place() -> None:
    """The error names record and path."""
    with pytest.raises(TypeError, match="Record 1, a: transform 'strip' takes text"):
        evaluate([{"a": "x"}] * 2, [{"a": "x"}, {"a": 5}], _schema("strip"))


def test_structural_container_is_not_transformed() -> None:
    """Transforms belong to what a comparator scores."""
    schema = _schema()
    schema["x-eval-transform"] = ["lowercase"]

    assert evaluate([{"a": "X"}], [{"a": "X"}], schema).mean_f1 == 1.0


@pytest.mark.parametrize(
    ("name", "fn", "error", "told"),
    [
        ("strip", transform_lowercase, ValueError, "built-in"),
        ("x", None, TypeError, "callable"),
        ("taken", transform_lowercase, ValueError, "already registered"),
        ("", transform_lowercase, TypeError, "not empty"),
    ],
)
def test_register_refuses(
    name: str, fn: Any, error: type[Exception], told: str
) -> None:
    """What cannot be called, and names that are taken, are refused."""
    register_transform("taken", transform_lowercase)

    with pytest.raises(error, match=told):
        register_transform(name, fn)


def test_custom_transform_may_check_its_parameters() -> None:
    """Its error is a schema error with the path, before any record is seen."""

    class Cut:
        def __call__(self, value: Any, params: dict[str, Any]) -> Any:
            return value[: params["length"]]

        def check_params(self, params: dict[str, Any]) -> None:
            int(params["length"])

    register_transform("cut", Cut())

    with pytest.raises(SchemaError, match="a: params of transform 'cut': 'length'"):
        parse_eval_schema(_schema("cut"))
    assert parse_eval_schema(_schema({"cut": {"length": 2}}))


def test_unknown_transform_is_a_key_error() -> None:
    """The message lists what is known."""
    with pytest.raises(TransformNotFoundError, match="lowercase"):
        get_transform("x")

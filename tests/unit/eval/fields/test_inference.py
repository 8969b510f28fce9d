"""Section 2: schemas made from values."""

from __future__ import annotations

from typing import Any

import pytest

from knowtrail.eval.fields import NestingError, infer_schema
from knowtrail.graph.errors import InputError
from tests.cases import each

STRING = {"type": "string"}
CASES: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "any values": ([1, 2], {"type": "integer"}),
    "booleans first": ([True, 1], {"type": "boolean"}),
    "integer stays": ([1, 2.5], {"type": "integer"}),
    "number stays": ([2.5, 1], {"type": "number"}),
    "first that is not null": ([None, "x"], STRING),
    "all null": ([None, None], STRING),
    "no JSON type": ([(1, 2)], STRING),
    "keys united and sorted": (
        [{"b": 1}, None, {"a": "x"}],
        {"type": "object", "properties": {"a": STRING, "b": {"type": "integer"}}},
    ),
    "only the objects": (
        [{"a": 1}, "x"],
        {"type": "object", "properties": {"a": {"type": "integer"}}},
    ),
    "elements pooled": (
        [{"t": [None]}, {"t": [1, 2]}],
        {
            "type": "object",
            "properties": {"t": {"type": "array", "items": {"type": "integer"}}},
        },
    ),
    "no element": ([[]], {"type": "array", "items": STRING}),
    "null elements": ([[None]], {"type": "array", "items": STRING}),
    "arrays of arrays": (
        [[[1]], [[2, 3], []]],
        {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
    ),
    "empty object": ([{}], {"type": "object", "properties": {}}),
}


@each(("values", "expected"), CASES)
def test_infers(values: list[Any], expected: dict[str, Any]) -> None:
    """The type is the first value's; containers are united."""
    assert infer_schema(values) == expected


def test_properties_are_sorted() -> None:
    """The order of properties does not depend on the records."""
    schema = infer_schema([{"b": 1, "a": 1}])

    assert list(schema["properties"]) == ["a", "b"]


def test_no_value_is_refused() -> None:
    """There is nothing to infer from."""
    with pytest.raises(ValueError, match="at least one value"):
        infer_schema([])


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ([1, "x"], "<root>"),
        ([{"a": [1, True]}], "a[]"),
        ([{"a.b": 1}, {"a.b": "x"}], '["a.b"]'),
    ],
)
def test_warns_of_several_kinds(
    values: list[Any], place: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Values of several kinds at one place are told."""
    infer_schema(values)

    assert f"Polymorphic field at '{place}'" in caplog.text


def test_numbers_are_one_family(caplog: pytest.LogCaptureFixture) -> None:
    """Integers and other numbers are no surprise."""
    infer_schema([1, 2.5])

    assert caplog.text == ""


def test_key_that_is_no_text_is_refused() -> None:
    """Such an object did not come from JSON."""
    with pytest.raises(TypeError, match="key 1 is no text"):
        infer_schema([{1: "a", "b": 2}])


def test_deep_values_are_refused() -> None:
    """A clear error instead of a RecursionError."""
    value: Any = 1
    for _ in range(5_000):
        value = [value]

    with pytest.raises(NestingError, match="levels"):
        infer_schema([value])


def test_value_that_holds_itself_is_refused() -> None:
    """A cycle is too deep as well."""
    value: dict[str, Any] = {}
    value["self"] = value

    with pytest.raises(InputError, match="holds itself"):
        infer_schema([value])


@pytest.mark.parametrize("values", [{"a": 1}, "text", b"bytes"])
def test_one_value_in_place_of_many(values: Any) -> None:
    """Its keys or characters would pass for the values."""
    with pytest.raises(TypeError, match="values must be a list of records, not one"):
        infer_schema(values)

"""Section 4: default comparators."""

from __future__ import annotations

from typing import Any

import pytest

from knowtrail.eval.fields import (
    NestingError,
    SchemaError,
    annotate_xeval,
    parse_eval_schema,
    parse_xeval_entry,
    reset_type_defaults,
    set_type_default,
)
from tests.cases import each

LEAVES: dict[str, tuple[dict[str, Any], Any]] = {
    "string": ({"type": "string"}, "exact"),
    "number": ({"type": "number"}, "numeric"),
    "integer": ({"type": "integer"}, "numeric"),
    "boolean": ({"type": "boolean"}, "exact"),
    "null": ({"type": "null"}, "exact"),
    "no type": ({}, "exact"),
    "object without properties": ({"type": "object", "properties": {}}, "exact"),
    "array without items": ({"type": "array"}, "exact"),
    "several types": ({"type": ["integer", "number"]}, "exact"),
    "type or null": ({"type": ["integer", "null"]}, "numeric"),
    "several types have no children": (
        {"type": ["object", "string"], "properties": {"a": {"type": "string"}}},
        "exact",
    ),
    "properties that are no schemas": (
        {"type": "object", "properties": {"a": True}},
        "exact",
    ),
    "its own": ({"type": "string", "x-eval-compare": "x"}, "x"),
    "skipped": ({"type": "string", "x-eval-skip": True}, None),
    "not skipped": ({"type": "string", "x-eval-skip": False}, None),
}


@each(("schema", "expected"), LEAVES)
def test_leaf(schema: dict[str, Any], expected: str | None) -> None:
    """A leaf gets the comparator of its type, in place."""
    assert annotate_xeval(schema) is schema
    assert schema.get("x-eval-compare") == expected


def test_containers_are_left_alone() -> None:
    """Only leaves are annotated, whatever the containers' types."""
    schema = annotate_xeval({
        "properties": {"t": {"items": {"type": "string"}}, "n": {"type": "number"}}
    })

    assert schema == {
        "properties": {
            "t": {"items": {"type": "string", "x-eval-compare": "exact"}},
            "n": {"type": "number", "x-eval-compare": "numeric"},
        }
    }


def test_skip_false_without_comparator_fails_to_parse() -> None:
    """A key that says nothing is told."""
    with pytest.raises(SchemaError, match="run annotate_xeval first"):
        parse_eval_schema(annotate_xeval({"type": "string", "x-eval-skip": False}))


@pytest.mark.parametrize(
    ("kind", "schema"),
    [
        ("string", {"type": "string"}),
        ("multi", {"type": ["string", "integer"]}),
        ("object", {"type": "object"}),
        ("array", {"type": "array"}),
    ],
)
def test_defaults_can_be_changed(kind: str, schema: dict[str, Any]) -> None:
    """A default serves until it is reset, and is not shared between leaves."""
    set_type_default(kind, {"oneof": {"values": []}})
    first = annotate_xeval(dict(schema))["x-eval-compare"]
    second = annotate_xeval(dict(schema))["x-eval-compare"]
    reset_type_defaults()

    assert first == second == {"oneof": {"values": []}}
    assert first is not second
    assert annotate_xeval(dict(schema))["x-eval-compare"] == "exact"


@pytest.mark.parametrize(
    ("kind", "comparator", "error"),
    [
        ("", "exact", ValueError),
        (1, "exact", ValueError),
        ("string", "", ValueError),
        ("string", {"a": {}, "b": {}}, ValueError),
        ("string", {"a": 1}, ValueError),
        ("string", {1: {}}, TypeError),
        ("string", 5, TypeError),
    ],
)
def test_wrong_defaults(kind: Any, comparator: Any, error: type[Exception]) -> None:
    """A default of no known shape is refused; registration is not looked at."""
    with pytest.raises(error):
        set_type_default(kind, comparator)


@pytest.mark.parametrize(
    ("entry", "expected"),
    [("exact", ("exact", {})), ({"a": {"b": 1}}, ("a", {"b": 1}))],
)
def test_entries(entry: Any, expected: tuple[str, dict[str, Any]]) -> None:
    """An entry is a name, or a name with parameters."""
    assert parse_xeval_entry(entry) == expected


@each(
    ("entry", "error"),
    [
        ("", ValueError),
        ({}, ValueError),
        ({"a": {}, "b": {}}, ValueError),
        ({"": {}}, TypeError),
        ({1: {}}, TypeError),
        ({"a": []}, ValueError),
        (None, TypeError),
        (["a"], TypeError),
    ],
)
def test_wrong_entries(entry: Any, error: type[Exception]) -> None:
    """Other shapes are refused."""
    with pytest.raises(error):
        parse_xeval_entry(entry)


def test_schema_is_an_object() -> None:
    """Nothing else can be annotated."""
    with pytest.raises(TypeError, match="must be an object, not list"):
        annotate_xeval([])  # type: ignore[arg-type]


def test_deep_schema_is_refused() -> None:
    """A schema that holds itself is a clear error."""
    schema: dict[str, Any] = {"type": "array"}
    schema["items"] = schema

    with pytest.raises(NestingError, match="holds itself"):
        annotate_xeval(schema)

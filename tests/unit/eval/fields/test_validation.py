"""Section 6: gold records checked against their schema."""

from __future__ import annotations

from typing import Any

import pytest

from knowtrail.eval.fields import (
    GoldValidationError,
    SchemaError,
    annotate_xeval,
    validate_gold,
)


def _schema(**extra: Any) -> dict[str, Any]:
    element = {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "q": {"type": "number"}},
    }
    return annotate_xeval({
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "s": {"type": "array", "items": element},
            "o": {"type": "object"},
            "m": {"type": ["string", "integer"]},
            **extra,
        },
    })


FULL = {"a": "x", "s": [{"n": 1, "q": 1.5}], "o": {"any": 1}, "m": 1}


def _full(**changes: Any) -> dict[str, Any]:
    return {**FULL, **changes}


def test_schema_is_parsed_first() -> None:
    """A schema that cannot be used is told before any record."""
    with pytest.raises(SchemaError):
        validate_gold([{"zz": 1}], {"type": "string"})


@pytest.mark.parametrize(
    ("record", "path"),
    [
        (_full(zz=1), "zz"),
        (_full(s=[{"n": 1, "q": 1, "zz": 1}]), "s[].zz"),
        (_full(s=[{"n": 1, "q": 1, "z.z": 1}], zz=1), 's[]["z.z"]'),
    ],
    ids=["top", "nested", "nested before outer"],
)
def test_extra_fields_are_errors(record: dict[str, Any], path: str) -> None:
    """A field that the schema lacks is told with record and schema path."""
    with pytest.raises(GoldValidationError) as caught:
        validate_gold([FULL, record], _schema())

    assert (caught.value.record_id, caught.value.path) == (1, path)


def test_first_error_ends_it() -> None:
    """The first record that does not fit is the one that is told."""
    with pytest.raises(GoldValidationError, match="record 0"):
        validate_gold([_full(x=1), _full(y=1)], _schema())


@pytest.mark.parametrize(
    "record", [None, _full(a=None), _full(s=None), _full(s=[None]), _full(o={"x": [1]})]
)
def test_null_and_opaque_values_are_accepted(record: Any) -> None:
    """Null is accepted anywhere, an object without properties may hold anything."""
    assert validate_gold([record], _schema()) is None


def test_container_with_comparator_is_not_inspected() -> None:
    """A container that is scored as one value may hold anything."""
    schema = _schema()
    schema["properties"]["s"]["x-eval-compare"] = "exact"

    assert validate_gold([_full(s=[{"zz": 1}])], schema) is None


def test_skipped_container_is_inspected() -> None:
    """Skipping says nothing about what gold may hold."""
    schema = _schema()
    schema["properties"]["s"]["x-eval-skip"] = True

    with pytest.raises(GoldValidationError, match="zz"):
        validate_gold([_full(s=[{"n": 1, "q": 1, "zz": 1}])], schema)


@pytest.mark.parametrize("identifier", [{}, {"id": True}, {"id": None}, {"id": 1.5}])
def test_wrong_ids(identifier: dict[str, Any]) -> None:
    """An id is there, and is text or an integer."""
    with pytest.raises(GoldValidationError, match="record 0"):
        validate_gold([_full(**identifier)], _schema(), id_field="id")


def test_id_field_is_exempt_at_the_top_only() -> None:
    """The id need not be in the schema; below, it must be."""
    validate_gold([_full(id="r1"), _full(id="r1")], _schema(), id_field="id")
    with pytest.raises(GoldValidationError) as caught:
        validate_gold(
            [_full(id="r1", s=[{"n": 1, "q": 1, "id": 2}])], _schema(), id_field="id"
        )

    assert (caught.value.record_id, caught.value.path) == ("r1", "s[].id")


@pytest.mark.parametrize(
    ("record", "told"),
    [
        (_full(s="x"), "s is string, not the schema-declared type array"),
        (_full(s=["x"]), "s[] is string, not the schema-declared type object"),
        (_full(m=[1]), "m is array, not the schema-declared type string or"),
        ({key: FULL[key] for key in "aso"}, "missing field 'm'"),
    ],
)
def test_warns(
    record: dict[str, Any], told: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Wrong containers, undeclared types and missing fields are told."""
    validate_gold([record], _schema())

    assert told in caplog.text


def test_missing_fields_can_be_silent(caplog: pytest.LogCaptureFixture) -> None:
    """Gold may lack fields on purpose."""
    validate_gold([{}], _schema(), warn_missing=False)

    assert caplog.text == ""


def test_wrong_leaf_is_silent(caplog: pytest.LogCaptureFixture) -> None:
    """Only strict types look at leaves."""
    validate_gold([_full(a=1)], _schema())

    assert caplog.text == ""


@pytest.mark.parametrize(
    "record",
    [
        _full(a=1),
        _full(s={}),
        _full(s=[{"n": True, "q": 1}]),
        _full(s=["x"]),
        _full(m=1, k=5),
        [],
    ],
)
def test_strict_types(record: Any) -> None:
    """Every value has a declared type, in skipped places and elements too."""
    schema = _schema(k={"type": "string", "x-eval-skip": True})

    with pytest.raises(GoldValidationError, match="not the schema-declared type"):
        validate_gold([record], schema, strict_types=True)


@pytest.mark.parametrize("record", [_full(s=[{"n": 1.5, "q": 2}]), _full(a=None), FULL])
def test_strict_types_accept(record: Any) -> None:
    """Integers and other numbers are one; null is exempt."""
    assert validate_gold([record], _schema(), strict_types=True) is None


def test_one_record_in_place_of_many() -> None:
    """Its keys are no records, and must not pass for checked ones."""
    with pytest.raises(TypeError, match="gold must be a list of records, not one dict"):
        validate_gold({"unknown": 1}, _schema())

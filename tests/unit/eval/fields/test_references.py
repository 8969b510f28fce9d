"""Section 3: references and combinations resolved."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from knowtrail.eval.fields import NestingError, SchemaError, parse_eval_schema
from knowtrail.eval.fields import resolve_schema_references as resolve
from tests.cases import each

STRING, INTEGER = {"type": "string"}, {"type": "integer"}


def _of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "reference": (
        {**_of(a={"$ref": "#/$defs/x"}), "$defs": {"x": STRING}},
        _of(a=STRING),
    ),
    "definitions stay": (
        {**_of(a={"$ref": "#/definitions/x"}), "definitions": {"x": STRING}},
        {**_of(a=STRING), "definitions": {"x": STRING}},
    ),
    "reference through a reference": (
        {
            **_of(a={"$ref": "#/$defs/x"}),
            "$defs": {"x": _of(b={"$ref": "#/$defs/y"}), "y": INTEGER},
        },
        _of(a=_of(b=INTEGER)),
    ),
    "reference by $id": (
        {
            **_of(a={"$ref": "thing.json"}),
            "$id": "https://example.org/all.json",
            "$defs": {"x": {"$id": "thing.json", "type": "string"}},
        },
        {
            **_of(a={"$id": "thing.json", "type": "string"}),
            "$id": "https://example.org/all.json",
        },
    ),
    "reference by $anchor": (
        {**_of(a={"$ref": "#here"}), "$defs": {"x": {"$anchor": "here", **STRING}}},
        _of(a={"$anchor": "here", **STRING}),
    ),
    "pointer into a list": (
        {
            **_of(a={"$ref": "#/$defs/x/anyOf/1"}),
            "$defs": {"x": {"anyOf": [1, STRING]}},
        },
        _of(a=STRING),
    ),
    "branch that is no schema": (
        _of(a={"anyOf": [True, STRING], "allOf": [True]}),
        _of(a={"anyOf": [True, STRING]}),
    ),
    "escaped pointer": (
        {**_of(a={"$ref": "#/$defs/x~1y%20z"}), "$defs": {"x/y z": STRING}},
        _of(a=STRING),
    ),
    "keys beside a reference win": (
        {
            **_of(a={"$ref": "#/$defs/x", "x-eval-skip": True, "title": "own"}),
            "$defs": {"x": {"type": "string", "title": "its"}},
        },
        _of(a={"type": "string", "title": "own", "x-eval-skip": True}),
    ),
    "root is a reference": (
        {"$ref": "#/$defs/x", "$defs": {"x": _of(a=STRING)}},
        _of(a=STRING),
    ),
    "null branch": (
        _of(a={"anyOf": [STRING, {"type": "null"}], "description": "d"}),
        _of(a={"type": "string", "description": "d"}),
    ),
    "null branch written None": (
        _of(a={"anyOf": [STRING, {"type": None}]}),
        _of(a=STRING),
    ),
    "branch wins over siblings": (
        _of(
            a={
                "title": "outer",
                "anyOf": [{"type": "string", "title": "in"}, {"type": "null"}],
            }
        ),
        _of(a={"type": "string", "title": "in"}),
    ),
    "nullable reference keeps its description": (
        {
            **_of(
                a={
                    "anyOf": [{"$ref": "#/$defs/x"}, {"type": "null"}],
                    "description": "d",
                }
            ),
            "$defs": {"x": STRING},
        },
        _of(a={"type": "string", "description": "d"}),
    ),
    "null with more is no null branch": (
        _of(a={"anyOf": [STRING, {"type": "null", "title": "none"}]}),
        _of(a={"anyOf": [STRING, {"type": "null", "title": "none"}]}),
    ),
    "no branch left": (_of(a={"anyOf": [{"type": "null"}]}), _of(a={"anyOf": []})),
    "allOf, first wins": (
        {
            "allOf": [
                {**_of(a=STRING), "title": "one", "required": ["a"]},
                {**_of(a=INTEGER, b=INTEGER), "title": "two", "required": ["b"]},
            ]
        },
        {**_of(a=STRING, b=INTEGER), "title": "one", "required": ["a"]},
    ),
    "own keys before allOf": (
        {**_of(c=STRING), "title": "own", "allOf": [{**_of(a=STRING), "title": "x"}]},
        {**_of(c=STRING, a=STRING), "title": "own"},
    ),
    "allOf in properties and items": (
        _of(a={"type": "array", "items": {"allOf": [_of(b=STRING)]}}),
        _of(a={"type": "array", "items": _of(b=STRING)}),
    ),
    "allOf in allOf": (
        {
            "allOf": [
                {"title": "one", "allOf": [{**_of(a=STRING), "title": "deep"}]},
                {"title": "two", "allOf": [_of(a=INTEGER, b=STRING)]},
            ]
        },
        {**_of(a=STRING, b=STRING), "title": "one"},
    ),
    "allOf beside a reference and behind it": (
        _of(x={"$ref": "#/$defs/x", "allOf": [_of(a=STRING)]})
        | {"$defs": {"x": {"allOf": [_of(a=INTEGER, b=STRING)]}}},
        _of(x=_of(a=STRING, b=STRING)),
    ),
    "anyOf of types": (
        _of(
            a={
                "anyOf": [
                    {"type": "integer", "title": "t"},
                    STRING,
                    {"type": "integer", "title": "u"},
                ]
            }
        ),
        _of(a={"type": ["integer", "string"]}),
    ),
    "integer and number": (
        _of(a={"anyOf": [INTEGER, {"type": "number"}]}),
        _of(a={"type": ["integer", "number"]}),
    ),
    "same type twice": (
        _of(
            a={
                "anyOf": [
                    {"type": "string", "title": "t"},
                    {"type": "string", "title": "u"},
                ]
            }
        ),
        _of(
            a={
                "anyOf": [
                    {"type": "string", "title": "t"},
                    {"type": "string", "title": "u"},
                ]
            }
        ),
    ),
    "branch without a type": (
        _of(a={"anyOf": [STRING, {"enum": [1]}]}),
        _of(a={"anyOf": [STRING, {"enum": [1]}]}),
    ),
    "allOf in anyOf stays": (
        _of(a={"anyOf": [{"allOf": [STRING]}, INTEGER]}),
        _of(a={"anyOf": [{"allOf": [STRING]}, INTEGER]}),
    ),
    "untouched": (
        _of(
            a={"oneOf": [STRING, {"type": "null"}], "if": {}, "nullable": True},
            b={"type": ["string", "null"], "enum": ["x"], "const": 1, "format": "date"},
        ),
        _of(
            a={"oneOf": [STRING, {"type": "null"}], "if": {}, "nullable": True},
            b={"type": ["string", "null"], "enum": ["x"], "const": 1, "format": "date"},
        ),
    ),
    "properties of such names": (
        _of(anyOf=STRING, allOf=STRING, **{"$ref": STRING}),
        _of(anyOf=STRING, allOf=STRING, **{"$ref": STRING}),
    ),
    "data is no schema": (
        _of(a={"type": "object", "default": {"$ref": "#/nowhere"}}),
        _of(a={"type": "object", "default": {"$ref": "#/nowhere"}}),
    ),
    "cycle that nothing uses": (
        {**_of(a=STRING), "$defs": {"x": _of(x={"$ref": "#/$defs/x"})}},
        _of(a=STRING),
    ),
}


@each(("schema", "expected"), CASES)
def test_resolves(schema: dict[str, Any], expected: dict[str, Any]) -> None:
    """What can be said without references and combinations is."""
    before = copy.deepcopy(schema)

    resolved = resolve(schema)

    assert resolved == expected
    assert schema == before


def test_copies_are_apart() -> None:
    """Two uses of one definition can be annotated differently."""
    resolved = resolve({
        **_of(a={"$ref": "#/$defs/x"}, b={"$ref": "#/$defs/x"}),
        "$defs": {"x": STRING},
    })
    resolved["properties"]["a"]["x-eval-skip"] = True

    assert "x-eval-skip" not in resolved["properties"]["b"]


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "cycle": (
        {**_of(a={"$ref": "#/$defs/x"}), "$defs": {"x": _of(b={"$ref": "#/$defs/x"})}},
        "a.b: .*comes back to itself",
    ),
    "root cycle": ({"$ref": "#"}, "comes back to itself"),
    "recursive root": (
        {"$ref": "#/$defs/x", "$defs": {"x": _of(b={"$ref": "#/$defs/x"})}},
        "comes back to itself",
    ),
    "no schema": (["x"], "must be an object, not list"),  # type: ignore[dict-item]
    "beyond a list": (
        {**_of(a={"$ref": "#/$defs/x/anyOf/5"}), "$defs": {"x": {"anyOf": [1]}}},
        "points to nothing",
    ),
    "unknown anchor": (_of(a={"$ref": "#here"}), "points to nothing"),
    "nowhere": (_of(a={"$ref": "#/$defs/x"}), "a: .*points to nothing"),
    "remote": (_of(a={"$ref": "https://example.org/x.json"}), "nothing is fetched"),
    "file": (_of(a={"$ref": "other.json#/x"}), "nothing is fetched"),
    "through what is no schema": (
        {**_of(a={"$ref": "#/$defs/x/y/z"}), "$defs": {"x": {"y": "text"}}},
        "points to nothing|no schema",
    ),
    "no JSON": (_of(a={"enum": {1, 2}}), "no JSON"),
}


@each(("schema", "told"), REFUSED)
def test_refuses(schema: dict[str, Any], told: str) -> None:
    """References that cannot be followed are clear errors with the path."""
    with pytest.raises(SchemaError, match=told):
        resolve(schema)


def test_growth_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """References that double at every level end in an error, not in no memory."""
    monkeypatch.setattr("knowtrail.eval.fields.schema._MAX_NODES", 10_000)
    defs: dict[str, Any] = {
        f"d{n}": _of(a={"$ref": f"#/$defs/d{n + 1}"}, b={"$ref": f"#/$defs/d{n + 1}"})
        for n in range(40)
    }
    schema = {"$ref": "#/$defs/d0", "$defs": {**defs, "d40": STRING}}

    with pytest.raises(SchemaError, match="grow to more than"):
        resolve(schema)


def test_depth_is_told() -> None:
    """A schema that is too deep is a clear error."""
    schema: dict[str, Any] = STRING
    for _ in range(3_000):
        schema = {"type": "array", "items": schema}

    with pytest.raises(NestingError, match="nested too deep"):
        resolve(schema)


def test_warnings(caplog: pytest.LogCaptureFixture) -> None:
    """What is not handled, and what anyOf loses, is told."""
    resolve(_of(a={"anyOf": [{"type": "string", "enum": ["x"]}, INTEGER]}))

    assert "Not handled" in caplog.text
    assert "dropped are enum" in caplog.text


def test_titles_are_dropped_silently(caplog: pytest.LogCaptureFixture) -> None:
    """Nobody scores by title or description."""
    resolve(_of(a={"anyOf": [{"type": "string", "title": "t"}, INTEGER]}))

    assert "dropped" not in caplog.text


def test_anyof_that_stays_fails_to_parse() -> None:
    """What could not be collapsed is told when the schema is parsed."""
    with pytest.raises(SchemaError, match="a: Missing or invalid 'type'"):
        parse_eval_schema(resolve(_of(a={"anyOf": [STRING, {"enum": [1]}]})))

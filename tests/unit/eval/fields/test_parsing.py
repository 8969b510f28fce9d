"""Section 5: eval schemas read and checked."""

from __future__ import annotations

from typing import Any

import pytest

from knowtrail.eval.fields import (
    ComparatorResult,
    ComparatorSpec,
    NestingError,
    SchemaError,
    SchemaNode,
    TransformSpec,
    iter_schema,
    parse_eval_schema,
    register,
)
from tests.cases import each

LEAF = {"type": "string", "x-eval-compare": "exact"}


def _leaf(**keys: Any) -> dict[str, Any]:
    return {**LEAF, **{f"x-eval-{key}": value for key, value in keys.items()}}


def _array(align: Any, **keys: Any) -> dict[str, Any]:
    items = {"type": "object", "properties": {"id": LEAF}}
    return {"type": "array", "items": items, "x-eval-align": align, **keys}


def _in(schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"f": schema}}


REFUSED: dict[str, tuple[Any, str]] = {
    "key that is no text": ({**LEAF, 1: 2}, "key 1 must be text"),
    "skip": (_leaf(skip=1), "x-eval-skip must be"),
    "no type, before what it is compared by": (
        {"x-eval-compare": "unknown", "x-eval-transform": ["unknown"]},
        "Missing or invalid 'type'",
    ),
    "align on a leaf": (_leaf(align={"ordered": True}), "is for arrays"),
    "align on several types": (
        {**LEAF, "type": ["array", "string"], "x-eval-align": {"ordered": True}},
        "is for arrays",
    ),
    "align is no object": (_array("hungarian"), "must be an object"),
    "align says nothing": (_array({}), "needs 'ordered' or 'match_by'"),
    "ordered": (_array({"ordered": 1}), "'ordered' must be"),
    "ordered false alone": (_array({"ordered": False}), "say 'match_by'"),
    "match_by empty": (_array({"match_by": ""}), "'match_by' must be text"),
    "match_by number": (_array({"match_by": 3}), "'match_by' must be text"),
    "match_by ordered": (_array({"match_by": "ordered"}), "'hungarian' or 'key_field'"),
    "key_field without key": (_array({"match_by": "key_field"}), "needs 'key'"),
    "key empty": (_array({"match_by": "key_field", "key": ""}), "'key' must be text"),
    "key_field without items": (
        {
            "type": "array",
            "x-eval-compare": "exact",
            "x-eval-align": {"match_by": "key_field", "key": "id"},
        },
        "requires 'items'",
    ),
    "key_field of no objects": (
        _array({"match_by": "key_field", "key": "id"}, items=LEAF),
        "requires items type 'object'",
    ),
    "compare": (_leaf(compare=3), "invalid x-eval-compare"),
    "compare two keys": (_leaf(compare={"a": {}, "b": {}}), "exactly one key"),
    "compare params": (
        _leaf(compare={"exact": []}),
        "params for 'exact' must be a dict",
    ),
    "unknown comparator": (_leaf(compare="x"), "Unknown comparator: 'x'"),
    "unknown comparator, skipped": (
        _leaf(compare="x", skip=True),
        "Unknown comparator: 'x'",
    ),
    "transform": (_leaf(transform="strip"), "x-eval-transform must be a list"),
    "transform item": (_leaf(transform=[1]), "invalid x-eval-transform"),
    "unknown transform": (_leaf(transform=["x"]), "Unknown transform: 'x'"),
    "no type": ({"x-eval-compare": "exact"}, "Missing or invalid 'type'"),
    "type is no text": ({**LEAF, "type": 1}, "Missing or invalid 'type'"),
    "only null": ({**LEAF, "type": ["null"]}, "Missing or invalid 'type'"),
    "not annotated": ({"type": "string"}, "run annotate_xeval first"),
    "exact with params": (_leaf(compare={"exact": {"a": 1}}), "unknown parameters"),
    "tolerance": (_leaf(compare={"numeric": {"tolerance": 0.1}}), "must be an object"),
    "tolerance below 0": (
        _leaf(compare={"numeric": {"tolerance": {"rel": -1}}}),
        "0 or more",
    ),
    "tolerance NaN": (
        _leaf(compare={"numeric": {"tolerance": {"abs": float("nan")}}}),
        "0 or more",
    ),
    "tolerance misspelt": (
        _leaf(compare={"numeric": {"tolerance": {"relative": 1}}}),
        "unknown parameters",
    ),
    "oneof without values": (_leaf(compare="oneof"), "needs 'values'"),
    "oneof text": (_leaf(compare={"oneof": {"values": "a"}}), "needs 'values'"),
    "no digits": (_leaf(transform=["round_digits"]), "requires 'digits'"),
    "digits": (_leaf(transform=[{"round_digits": {"digits": "x"}}]), "give an integer"),
    "digits beyond all": (
        _leaf(transform=[{"round_digits": {"digits": -1_000_000_000}}]),
        "is beyond 1000 places",
    ),
    "no target": (_leaf(transform=["type_convert"]), "requires 'to'"),
    "target": (_leaf(transform=[{"type_convert": {"to": "date"}}]), "must be one of"),
    "strip with params": (_leaf(transform=[{"strip": {"x": 1}}]), "unknown parameters"),
}


@each(("schema", "told"), REFUSED)
def test_refuses(schema: Any, told: str) -> None:
    """What could not be scored is refused with its path, before any record is seen."""
    with pytest.raises(SchemaError, match=told) as caught:
        parse_eval_schema(_in(schema))

    assert caught.value.path == "f"
    assert str(caught.value).startswith("f: ")


@pytest.mark.parametrize("schema", [None, [], "x"])
def test_schema_is_an_object(schema: Any) -> None:
    """Nothing else can be parsed."""
    with pytest.raises(SchemaError, match="Eval schema must be an object"):
        parse_eval_schema(schema)


def test_tree() -> None:
    """Paths, types, comparators, transforms and alignment are in the nodes."""
    root = parse_eval_schema({
        "type": "object",
        "properties": {
            "a": {"type": "object", "properties": {"b": _leaf(transform=["strip"])}},
            "s": _array({"match_by": "hungarian"}),
            "m": {**LEAF, "type": ["string", "null", "integer"]},
            "n": {**LEAF, "type": ["string", "null"], "x-eval-skip": True},
        },
    })

    assert [node.path for node in iter_schema(root)] == [
        "", "a", "a.b", "s", "s[]", "s[].id", "m", "n",
    ]  # fmt: skip
    nodes = {node.path: node for node in iter_schema(root)}
    assert nodes["a.b"].transforms == [TransformSpec("strip")]
    assert nodes["s"].align == {"match_by": "hungarian"}
    assert (nodes["m"].json_type, nodes["m"].allowed_types) == (
        "multi",
        ["string", "integer"],
    )
    assert nodes["n"] == SchemaNode(
        "n", "string", comparator=ComparatorSpec("exact"), skip=True
    )


def test_root_array() -> None:
    """The root may be an array."""
    root = parse_eval_schema({"type": "array", "items": _in(LEAF)})

    assert [node.path for node in iter_schema(root)] == ["", "[]", "[].f"]


@pytest.mark.parametrize("key", ["a.b", "a[0]", 'say "x"', "", "[]"])
def test_odd_keys_have_paths_of_their_own(key: str) -> None:
    """A key with a dot, bracket or quote is written so that it is no path."""
    root = parse_eval_schema({"type": "object", "properties": {key: LEAF}})

    assert root.children[0].path.startswith('["')
    assert root.children[0].key == key


ACCEPTED: dict[str, Any] = {
    "any type": {**LEAF, "type": "date"},
    "match_by null": _array({"match_by": None}),
    "ordered and match_by": _array({"ordered": True, "match_by": "hungarian"}),
    "tolerance null": _leaf(compare={"numeric": {"tolerance": None}}),
    "tolerance empty": _leaf(compare={"numeric": {"tolerance": {}}}),
    "skipped without comparator": {"type": "string", "x-eval-skip": True},
    "property that is no schema": {**LEAF, "type": "object", "properties": {"a": True}},
}


@pytest.mark.parametrize("schema", ACCEPTED.values(), ids=ACCEPTED)
def test_accepts(schema: Any) -> None:
    """What is odd but has one meaning is accepted."""
    assert parse_eval_schema(_in(schema)).children[0].path == "f"


WARNED: dict[str, tuple[Any, str]] = {
    "unknown key": (_leaf(compair="exact"), "Unknown x-eval key"),
    "numeric on text": (_leaf(compare="numeric"), "'numeric' on type 'string'"),
    "exact on a number": ({**LEAF, "type": "number"}, "'exact' on type 'number'"),
    "key not found": (
        _array({"match_by": "key_field", "key": "name"}),
        "key 'name' not found",
    ),
    "no properties": (
        _array(
            {"match_by": "key_field", "key": "name"},
            items={"type": "object", "x-eval-compare": "exact"},
        ),
        "no 'properties'",
    ),
}


@pytest.mark.parametrize(("schema", "told"), WARNED.values(), ids=WARNED)
def test_warns(schema: Any, told: str, caplog: pytest.LogCaptureFixture) -> None:
    """What is probably a mistake is told."""
    parse_eval_schema(_in(schema))

    assert told in caplog.text


def test_custom_comparator_may_check_its_parameters() -> None:
    """Its error is a schema error with the path."""

    def compare(gold: Any, extracted: Any, params: dict[str, Any]) -> ComparatorResult:
        return ComparatorResult(1.0, "dates")

    def check(params: dict[str, Any]) -> None:
        msg = "give formats"
        raise ValueError(msg)

    compare.check_params = check  # type: ignore[attr-defined]
    register("dates", compare)

    with pytest.raises(SchemaError, match="f: params of comparator 'dates': give for"):
        parse_eval_schema(_in(_leaf(compare="dates")))


def test_deep_schema_is_refused() -> None:
    """A schema that holds itself is a clear error."""
    schema: dict[str, Any] = {"type": "array"}
    schema["items"] = schema

    with pytest.raises(NestingError, match="levels"):
        parse_eval_schema(schema)

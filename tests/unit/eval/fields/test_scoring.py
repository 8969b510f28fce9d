"""Section 9: objects, containers and missing values."""

from __future__ import annotations

from typing import Any

import pytest

from knowtrail.eval.fields import (
    SchemaNode,
    annotate_xeval,
    parse_eval_schema,
    score_record,
)
from tests.cases import each

STRING = {"type": "string"}
ARRAY = {"type": "array", "items": STRING}
OBJECT = {"type": "object", "properties": {"x": STRING, "y": STRING}}


def _of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _score(schema: dict[str, Any], gold: Any, extracted: Any) -> list[tuple[str, str]]:
    node = parse_eval_schema(annotate_xeval(schema))
    return [(r.path, r.status) for r in score_record(node, gold, extracted)]


M, X, O, H, S = "match", "mismatch", "omission", "hallucination", "skipped"  # noqa: E741
CASES: dict[str, tuple[dict[str, Any], Any, Any, list[tuple[str, str]]]] = {
    "both have it": (_of(a=STRING), {"a": "x"}, {"a": "x"}, [("a", M)]),
    "different": (_of(a=STRING), {"a": "x"}, {"a": "y"}, [("a", X)]),
    "only gold": (
        _of(a=STRING, b=STRING),
        {"a": "x", "b": ""},
        {"b": ""},
        [("a", O), ("b", M)],
    ),
    "only extracted": (_of(a=STRING), {}, {"a": "x"}, [("a", H)]),
    "neither": (_of(a=STRING, b=STRING), {"b": "x"}, {"b": "x"}, [("b", M)]),
    "outside the schema, sorted": (
        _of(b=STRING),
        {"b": "x", "z": 1},
        {"z": 1, "b": "x", "c": {"d": 1}},
        [("b", M), ("c", H), ("z", H)],
    ),
    "outside the schema in gold alone": (
        _of(b=STRING),
        {"b": "x", "z": 1},
        {"b": "x"},
        [("b", M)],
    ),
    "order of the schema": (
        _of(b=STRING, a=STRING),
        {"a": "x", "b": "x"},
        {"a": "x", "b": "x"},
        [("b", M), ("a", M)],
    ),
    "two empty objects": (_of(o=OBJECT), {"o": {}}, {"o": {}}, [("o", M)]),
    "two empty records": (_of(a=STRING), {}, {}, [("", M)]),
    "two empty arrays": (_of(t=ARRAY), {"t": []}, {"t": []}, [("t", M)]),
    "skipped, absent on both sides": (
        _of(a={**OBJECT, "x-eval-skip": True}, b=STRING),
        {"b": "x"},
        {"b": "x"},
        [("a", S), ("b", M)],
    ),
    "skipped is not descended": (
        _of(a={**OBJECT, "x-eval-skip": True}),
        {"a": {"x": "1"}},
        {"a": {"zz": 2}},
        [("a", S)],
    ),
    "null and null": (_of(a=STRING), {"a": None}, {"a": None}, [("a", M)]),
    "null and value": (_of(a=STRING), {"a": None}, {"a": "x"}, [("a", X)]),
    "null and missing": (
        _of(a=STRING, b=STRING),
        {"a": None, "b": ""},
        {"b": ""},
        [("a", O), ("b", M)],
    ),
    "array and text": (_of(t=ARRAY), {"t": ["a"]}, {"t": "a"}, [("t", X)]),
    "object and text": (_of(o=OBJECT), {"o": {"x": "a"}}, {"o": "a"}, [("o", X)]),
    "same wrong type": (_of(o=OBJECT), {"o": "n/a"}, {"o": "n/a"}, [("o", M)]),
    "array and null": (
        _of(t=ARRAY),
        {"t": ["a", "b"]},
        {"t": None},
        [("t[0]", O), ("t[1]", O)],
    ),
    "null and array": (
        _of(t=ARRAY),
        {"t": None},
        {"t": ["a", "b"]},
        [("t[-1]", H), ("t[-2]", H)],
    ),
    "object and null": (
        _of(o=OBJECT),
        {"o": {"x": "a", "zz": 1}},
        {"o": None},
        [("o.x", O)],
    ),
    "null and object": (_of(o=OBJECT), {"o": None}, {"o": {"y": "a"}}, [("o.y", H)]),
    "missing array": (
        _of(t=ARRAY, a=STRING),
        {"t": ["a", "b"]},
        {},
        [("t[0]", O), ("t[1]", O)],
    ),
    "missing array in gold": (
        _of(t=ARRAY),
        {},
        {"t": ["a", "b"]},
        [("t[-1]", H), ("t[-2]", H)],
    ),
    "missing object": (
        _of(o=OBJECT, a=STRING),
        {"o": {"x": "1", "zz": 2}, "a": ""},
        {"a": ""},
        [("o.x", O), ("a", M)],
    ),
    "missing and skipped inside": (
        _of(o=_of(x={**STRING, "x-eval-skip": True}, y=STRING)),
        {"o": {"x": "1", "y": "2"}},
        {"zz": 1},
        [("o.y", O), ("zz", H)],
    ),
    "indices of gold, -1 and on of the rest": (
        _of(
            s={
                "type": "array",
                "items": _of(n=STRING, b={"type": "array", "items": OBJECT}),
            }
        ),
        {"s": [{"n": "a", "b": [{"x": "1"}]}]},
        {"s": [{"n": "a", "b": [{"x": "1"}, {"x": "2"}]}, {"n": "b"}, {"n": "c"}]},
        [
            ("s[0].n", M),
            ("s[0].b[0].x", M),
            ("s[0].b[-1].x", H),
            ("s[-1].n", H),
            ("s[-2].n", H),
        ],
    ),
    "pairs, then omissions": (
        _of(t=ARRAY),
        {"t": ["a", "b", "c"]},
        {"t": ["a", "x"]},
        [("t[0]", M), ("t[1]", X), ("t[2]", O)],
    ),
    "unknown key of an element": (
        _of(s={"type": "array", "items": OBJECT}),
        {"s": [{"x": "1"}]},
        {"s": [{"x": "1", "zz": 1}]},
        [("s[0].x", M), ("s[0].zz", H)],
    ),
    "unmatched empty element": (
        _of(s={"type": "array", "items": OBJECT}),
        {"s": [{}]},
        {"s": []},
        [],
    ),
    "container with comparator is one field": (
        {**_of(a=STRING), "x-eval-compare": "exact"},
        {"a": "x"},
        {"a": "y"},
        [("", X)],
    ),
    "container with comparator, missing": (
        _of(t={**ARRAY, "x-eval-compare": "exact"}, a=STRING),
        {"t": ["a"], "a": ""},
        {"a": ""},
        [("t[0]", O), ("a", M)],
    ),
    "skip on objects of an array": (
        _of(s={"type": "array", "items": {**OBJECT, "x-eval-skip": True}}),
        {"s": [{"x": "1"}, {"x": "2"}]},
        {"s": [{"x": "1"}]},
        [("s[0].x", M)],
    ),
    "skip on the root": (
        {**_of(a=STRING), "x-eval-skip": True},
        {"a": "x"},
        {"a": "x"},
        [("a", M)],
    ),
    "skip on leaves of an array": (
        _of(t={"type": "array", "items": {**STRING, "x-eval-skip": True}}),
        {"t": ["a", "b"]},
        {"t": ["a"]},
        [("t[0]", S)],
    ),
    "odd keys": (
        _of(**{"a.b": STRING, "c[0]": STRING, 'q"': STRING, "": STRING}),
        {"a.b": "1", "c[0]": "1", 'q"': "1", "": "1"},
        {"a.b": "1", "c[0]": "2", 'q"': "1", "": "1", "b": "3", "x.y": 1},
        [
            ('["a.b"]', M),
            ('["c[0]"]', X),
            ('["q\\""]', M),
            ('[""]', M),
            ("b", H),
            ('["x.y"]', H),
        ],
    ),
    "root array": (
        {"type": "array", "items": OBJECT},
        [{"x": "1"}],
        [{"x": "1"}],
        [("[0].x", M)],
    ),
    "root leaf": (STRING, "a", "a", [("", M)]),
    "record null": (
        _of(a=STRING, t=ARRAY),
        {"a": "x", "t": ["y"]},
        None,
        [("a", O), ("t[0]", O)],
    ),
    "record no object": (_of(a=STRING), {"a": "x"}, ["x"], [("", X)]),
}


@each(("schema", "gold", "extracted", "expected"), CASES)
def test_scores(
    schema: dict[str, Any], gold: Any, extracted: Any, expected: list[tuple[str, str]]
) -> None:
    """Paths, statuses and their order are as the table says."""
    assert _score(schema, gold, extracted) == expected


MISSING = object()


@pytest.mark.parametrize(
    ("gold", "extracted", "of_object", "of_array"),
    [
        ({}, MISSING, 0, 1),
        ([], MISSING, 0, 1),
        (None, MISSING, 0, 1),
        ("bad", MISSING, 0, 1),
        ("bad", None, 1, 1),
        (None, None, 0, 0),
    ],
)
def test_table_of_odd_containers(
    gold: Any, extracted: Any, of_object: int, of_array: int
) -> None:
    """What is no container, and nothing on the other side."""
    other = {"a": ""} if extracted is MISSING else {"a": "", "c": extracted}
    for kind, count in ((OBJECT, of_object), (ARRAY, of_array)):
        found = _score(_of(c=kind, a=STRING), {"c": gold, "a": ""}, other)
        assert found == [*[("c", O)] * count, ("a", M)]


@pytest.mark.parametrize(("kind", "gold", "count"), [(OBJECT, {}, 0), (ARRAY, [], 1)])
def test_empty_container_and_null(kind: dict[str, Any], gold: Any, count: int) -> None:
    """An empty object has no parts to omit, an empty array is told as a whole."""
    found = _score(_of(c=kind), {"c": gold}, {"c": None})

    assert found == [("c", O)] * count


def test_skipped_result_has_the_raw_values() -> None:
    """A skipped field can still be looked at."""
    node = parse_eval_schema(_of(a={**STRING, "x-eval-skip": True}))
    (result,) = score_record(node, {"a": "x"}, {"a": "y"})

    assert (result.gold_value, result.extracted_value) == ("x", "y")
    assert (result.score, result.comparator) == (0.0, "")


def test_results_have_values_and_comparator() -> None:
    """Leaves have the schema's comparator, unknown keys and containers none."""
    node = parse_eval_schema(annotate_xeval(_of(a=STRING, t=ARRAY)))
    a, t, z = score_record(node, {"a": "x", "t": ["a"]}, {"t": 1, "z": {"k": 1}})

    assert (a.comparator, a.gold_value, a.extracted_value) == ("exact", "x", None)
    assert (t.comparator, t.reason) == ("", "type mismatch: gold list, extracted int")
    assert (z.comparator, z.gold_value, z.extracted_value) == ("", None, {"k": 1})


def test_key_that_is_no_text_is_told() -> None:
    """An extraction with such a key did not come from JSON."""
    with pytest.raises(TypeError, match="s: the key 1 is no text"):
        _score(_of(s=OBJECT), {"s": {"x": "a"}}, {"s": {1: "a"}})


def test_nodes_made_by_hand_can_be_scored() -> None:
    """A tree need not come from a schema."""
    root = parse_eval_schema(annotate_xeval(_of(a=STRING)))
    node = SchemaNode("", "object", children=[root.children[0]])

    assert [r.status for r in score_record(node, {"a": "x"}, {"a": "x"})] == [M]

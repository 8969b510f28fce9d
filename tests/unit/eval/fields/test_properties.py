"""Properties that hold for any records."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowtrail.eval.fields import (
    annotate_xeval,
    evaluate,
    infer_schema,
    validate_gold,
)

_KEYS = st.text(alphabet='ab.[]"', max_size=3)
_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=4)
)
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=4)
    ),
    max_leaves=12,
)
_RECORDS = st.dictionaries(_KEYS, _VALUES, max_size=4)
_ALIGNS = st.sampled_from([None, {"match_by": "hungarian"}])


def _align(schema: Any, align: dict[str, Any] | None) -> Any:
    """Give every array of a schema an alignment."""
    if isinstance(schema, dict):
        if align and schema.get("type") == "array":
            schema["x-eval-align"] = align
        for value in list(schema.values()):
            _align(value, None if value is align else align)
    return schema


_SCHEMAS = st.recursive(
    st.sampled_from(["string", "integer", "number", "boolean"]).map(
        lambda kind: {"type": kind}
    ),
    lambda inner: (
        inner.map(lambda items: {"type": "array", "items": items})
        | st.dictionaries(_KEYS, inner, max_size=4).map(
            lambda properties: {"type": "object", "properties": properties}
        )
    ),
    max_leaves=8,
)
_BY_TYPE = {
    "string": st.text(max_size=4),
    "integer": st.integers(),
    "number": st.floats() | st.integers(),
    "boolean": st.booleans(),
}


def _fitting(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Return values that a schema describes."""
    kind = schema["type"]
    if kind == "array":
        return st.none() | st.lists(_fitting(schema["items"]), max_size=4)
    if kind == "object":
        parts = {key: _fitting(part) for key, part in schema["properties"].items()}
        return st.none() | st.fixed_dictionaries({}, optional=parts)
    return st.none() | _BY_TYPE[kind]


@given(data=st.data(), schema=_SCHEMAS, align=_ALIGNS)
def test_gold_against_itself_is_perfect(
    data: st.DataObject, schema: dict[str, Any], align: dict[str, Any] | None
) -> None:
    """An extraction that is the gold record has nothing wrong."""
    records = data.draw(st.lists(_fitting(schema), min_size=1, max_size=3))
    schema = _align(annotate_xeval(copy.deepcopy(schema)), align)
    validate_gold(records, schema, warn_missing=False, strict_types=True)

    run = evaluate(records, copy.deepcopy(records), schema)

    assert (run.mean_precision, run.mean_recall, run.mean_f1) == (1.0, 1.0, 1.0)
    assert run.total_omissions == run.total_hallucinations == 0


@given(
    pairs=st.lists(st.tuples(_RECORDS, _VALUES), min_size=1, max_size=3), align=_ALIGNS
)
def test_scores_stay_in_range(
    pairs: list[tuple[Any, Any]], align: dict[str, Any] | None
) -> None:
    """Whatever is extracted, every number is between 0 and 1, and paths are unique."""
    gold, extracted = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    schema = _align(annotate_xeval(infer_schema(gold)), align)

    run = evaluate(gold, extracted, schema)

    numbers = [run.mean_precision, run.mean_recall, run.mean_f1]
    numbers += [number for r in run.records for number in (r.precision, r.recall, r.f1)]
    numbers += [at.mean_score for at in run.per_schema_path.values()]
    assert all(0.0 <= number <= 1.0 for number in numbers)
    for record in run.records:
        paths = [result.path for result in record.field_results]
        assert len(paths) == len(set(paths))


_ELEMENT = st.fixed_dictionaries(
    {},
    optional={
        "k": st.sampled_from(["a", "b", "c"]),
        "v": st.integers(0, 2),
        "w": st.sampled_from(["x", "y"]),
        "other": st.just(1),
    },
)


@given(
    gold=st.lists(_ELEMENT, max_size=6),
    extracted=st.lists(_ELEMENT, max_size=6),
    seed=st.integers(0, 999),
)
def test_order_does_not_matter_where_pairs_go_by_score(
    gold: list[Any], extracted: list[Any], seed: int
) -> None:
    """Permuting the elements of both sides changes no metric."""
    schema = annotate_xeval({
        "type": "array",
        "x-eval-align": {"match_by": "hungarian"},
        "items": {
            "type": "object",
            "properties": {
                "k": {"type": "string"},
                "v": {"type": "integer"},
                "w": {"type": "string"},
            },
        },
    })
    source = random.Random(seed)
    mixed = [source.sample(side, len(side)) for side in (gold, extracted)]

    (plain,) = evaluate([gold], [extracted], schema).records
    (other,) = evaluate([mixed[0]], [mixed[1]], schema).records

    assert (other.precision, other.recall) == pytest.approx((
        plain.precision,
        plain.recall,
    ))
    assert other.f1 == pytest.approx(plain.f1)

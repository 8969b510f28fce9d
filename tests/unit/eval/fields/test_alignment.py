"""Section 9: elements of arrays paired by key and by score."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from knowtrail.eval.fields import (
    ComparatorResult,
    FakeJudge,
    SemanticBatchComparator,
    annotate_xeval,
    evaluate,
    parse_eval_schema,
    register,
    score_record,
)
from knowtrail.eval.fields.results import tally
from knowtrail.eval.fields.schema import plan
from knowtrail.eval.fields.scoring import (
    MAX_PAIRS,
    best_pairs,
    quick_tallies,
    score_pair,
)
from tests.cases import each

STRING, NUMBER = {"type": "string"}, {"type": "number"}


def _array(align: dict[str, Any], **properties: Any) -> dict[str, Any]:
    return annotate_xeval({
        "type": "object",
        "properties": {
            "s": {
                "type": "array",
                "items": {"type": "object", "properties": properties},
                "x-eval-align": align,
            }
        },
    })


def _paths(schema: dict[str, Any], gold: list[Any], extracted: list[Any]) -> list[Any]:
    results = score_record(parse_eval_schema(schema), {"s": gold}, {"s": extracted})
    return [(r.path, r.status, r.gold_value, r.extracted_value) for r in results]


BY_KEY = _array({"match_by": "key_field", "key": "k"}, k=STRING, v=NUMBER)


def test_key_pairs_whatever_the_order() -> None:
    """Results are in gold order, and the key is scored like any field."""
    found = _paths(
        BY_KEY,
        [{"k": "a", "v": 1}, {"k": "b", "v": 2}],
        [{"k": "b", "v": 3}, {"k": "a", "v": 1}],
    )

    assert found == [
        ("s[0].k", "match", "a", "a"),
        ("s[0].v", "match", 1, 1),
        ("s[1].k", "match", "b", "b"),
        ("s[1].v", "mismatch", 2, 3),
    ]


def test_key_omissions_stand_in_gold_order() -> None:
    """An element that is not found is told at its place."""
    found = _paths(BY_KEY, [{"k": "a"}, {"k": "b"}], [{"k": "b"}])

    assert [row[:2] for row in found] == [("s[0].k", "omission"), ("s[1].k", "match")]


def test_key_first_duplicate_wins() -> None:
    """Of two extracted elements the first is taken; of two gold ones too."""
    found = _paths(
        _array({"match_by": "key_field", "key": "k"}, k=STRING, v=NUMBER),
        [{"k": "a", "v": 1}, {"k": "a", "v": 2}],
        [{"k": "a", "v": 1}, {"k": "b", "v": 9}, {"k": "a", "v": 2}],
    )

    assert [row[:2] for row in found] == [
        ("s[0].k", "match"),
        ("s[0].v", "match"),
        ("s[1].k", "omission"),
        ("s[1].v", "omission"),
        ("s[-1].k", "hallucination"),
        ("s[-1].v", "hallucination"),
        ("s[-2].k", "hallucination"),
        ("s[-2].v", "hallucination"),
    ]


def test_key_hallucinations_keyed_first() -> None:
    """Elements with a key of their own come before those without one."""
    found = _paths(
        _array({"match_by": "key_field", "key": "k"}, k=STRING, v=NUMBER),
        [],
        [{"v": 1}, {"k": "a"}, {"k": True}, {"k": "a"}, {"k": "b"}],
    )

    assert [(row[0], row[3]) for row in found] == [
        ("s[-1].k", "a"),
        ("s[-2].k", "b"),
        ("s[-3].v", 1),
        ("s[-4].k", True),
        ("s[-5].k", "a"),
    ]


@pytest.mark.parametrize(
    ("gold", "extracted", "paired"),
    [
        (1, 1.0, True),
        (1, "1", False),
        (True, True, False),
        (None, None, False),
        (float("nan"), float("nan"), False),
        ([1], [1], False),
        (" a", "a", False),
    ],
)
def test_key_values(gold: Any, extracted: Any, paired: bool) -> None:
    """Keys are raw text or numbers; there is no pairing by position in their stead."""
    key = {"type": "string", "x-eval-compare": "exact", "x-eval-transform": []}
    found = _paths(
        _array({"match_by": "key_field", "key": "k"}, k=key),
        [{"k": gold}],
        [{"k": extracted}],
    )

    assert (len(found) == 1) is paired


def test_elements_that_are_no_objects_have_no_key() -> None:
    """They are told on both sides, as far as there is anything to tell."""
    found = _paths(BY_KEY, ["x", {"k": "a"}], ["x", {"k": "a"}])

    assert [row[:2] for row in found] == [("s[1].k", "match")]


def _by_score(**properties: Any) -> dict[str, Any]:
    return _array({"match_by": "hungarian"}, **properties)


def test_scores_find_the_pairs() -> None:
    """The sum of F1 is the largest; pairs come by gold index."""
    found = _paths(
        _by_score(k=STRING, v=NUMBER),
        [{"k": "a", "v": 1}, {"k": "b", "v": 2}, {"k": "c", "v": 3}],
        [{"k": "c", "v": 3}, {"k": "a", "v": 9}, {"k": "z", "v": 8}],
    )

    assert found == [
        ("s[0].k", "match", "a", "a"),
        ("s[0].v", "mismatch", 1, 9),
        ("s[2].k", "match", "c", "c"),
        ("s[2].v", "match", 3, 3),
        ("s[1].k", "omission", "b", None),
        ("s[1].v", "omission", 2, None),
        ("s[-1].k", "hallucination", None, "z"),
        ("s[-1].v", "hallucination", None, 8),
    ]


def test_empty_arrays_are_one_match() -> None:
    """As two empty objects are."""
    assert [row[:2] for row in _paths(_by_score(k=STRING), [], [])] == [("s", "match")]


@pytest.mark.parametrize(
    ("f1", "pairs"),
    [
        ([[0.5, 0.5, 1], [0.5, 0.5, 1]], {0: 2, 1: 1}),
        ([[1, 1], [1, 1]], {0: 0, 1: 1}),
        ([[0.5, 0.5], [0.5, 0.5]], {0: 0, 1: 1}),
        ([[0, 1], [0, 0]], {0: 1}),
        ([[0, 0], [0, 0]], {}),
    ],
)
def test_ties_and_zeros(f1: list[list[float]], pairs: dict[int, int]) -> None:
    """Ties are as scipy's solver has them; a pair of nothing is none."""
    score = np.array(f1) * 2
    fields = np.full(score.shape, 2.0)

    assert best_pairs(np.array([score, fields, fields])) == pairs


def test_nothing_to_score_is_a_full_pair() -> None:
    """Elements whose fields are all skipped are paired."""
    schema = _by_score(k={"type": "string", "x-eval-skip": True})

    assert [row[1] for row in _paths(schema, [{"k": "a"}], [{"k": "b"}])] == ["skipped"]


@pytest.mark.parametrize(("count", "warned"), [(60, False), (501, True)])
def test_too_many_pairs_go_by_position(
    count: int, warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """500 x 500 are paired by score, more by position, as warnings and results tell."""
    gold = [{"k": str(index)} for index in range(count)]

    found = evaluate([{"s": gold}], [{"s": gold[::-1]}], _by_score(k=STRING))

    assert MAX_PAIRS == 250_000
    assert ("by position" in caplog.text) is warned
    assert (found.mean_f1 == 1.0) is not warned
    assert (
        found.by_position
        == found.records[0].by_position
        == ({"s": 1} if warned else {})
    )


def test_a_language_model_is_not_asked_of_so_many_pairs() -> None:
    """Where each pair asks a batch comparator the limit is 50 x 50."""
    calls = []

    def judge(items: list[Any]) -> list[ComparatorResult]:
        calls.append(len(items))
        return [ComparatorResult(1.0, "judge") for _ in items]

    judge.is_batch = True  # type: ignore[attr-defined]
    register("judge", judge)
    schema = _by_score(k={**STRING, "x-eval-compare": "judge"})
    gold = [{"k": str(index)} for index in range(51)]

    found = evaluate([{"s": gold}], [{"s": gold}], schema)

    assert found.by_position == {"s": 1}
    assert calls == [51]


def test_many_pairs_that_are_scored_one_by_one_are_found() -> None:
    """A comparator of one's own pairs 60 shuffled elements, too."""

    def same(gold: Any, extracted: Any, params: dict[str, Any]) -> ComparatorResult:
        return ComparatorResult(float(gold == extracted), "same")

    register("same", same)
    schema = _by_score(k={**STRING, "x-eval-compare": "same"})
    gold = [{"k": str(index)} for index in range(60)]

    assert evaluate([{"s": gold}], [{"s": gold[::-1]}], schema).mean_f1 == 1.0


def test_leaves_are_paired_too() -> None:
    """Elements need not be objects."""
    schema = annotate_xeval({
        "type": "array",
        "items": STRING,
        "x-eval-align": {"match_by": "hungarian"},
    })

    assert evaluate([["a", "b", "c"]], [["c", "b", "x"]], schema).mean_f1 == 2 / 3


def test_custom_comparator_is_asked_once_a_pair() -> None:
    """What was scored to find the pairs is not scored again."""
    calls: list[tuple[Any, Any]] = []

    def compare(gold: Any, extracted: Any, params: dict[str, Any]) -> ComparatorResult:
        calls.append((gold, extracted))
        return ComparatorResult(1 / (1 + abs(gold - extracted)), "near")

    register("near", compare)
    found = _paths(
        _by_score(v={**NUMBER, "x-eval-compare": "near"}),
        [{"v": 1}, {"v": 10}],
        [{"v": 11}, {"v": 1}],
    )

    assert [(row[2], row[3]) for row in found] == [(1, 1), (10, 11)]
    assert len(calls) == 4


def test_batch_comparators_are_settled_pair_by_pair(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """One call a pair, with paths without index, and a warning."""
    judge = FakeJudge()
    register("semantic", SemanticBatchComparator(judge))  # type: ignore[arg-type, unused-ignore]
    run = evaluate(
        [{"s": [{"d": "One"}, {"d": "Two"}]}],
        [{"s": [{"d": "two"}, {"d": "one"}]}],
        _by_score(d={**STRING, "x-eval-compare": "semantic"}),
    )

    assert run.mean_f1 == 1.0
    assert [result.path for result in run.records[0].field_results] == [
        "s[0].d",
        "s[1].d",
    ]
    assert [[item.path for item in call] for call in judge.calls] == [["s[].d"]] * 4
    assert "every pair is given to the batch comparators" in caplog.text


def _random(source: random.Random) -> Any:
    """Return an element with everything that makes counting hard."""
    element: dict[str, Any] = {}
    for key in ("a", "b", "n", "t", "o"):
        if source.random() < 0.8:
            element[key] = source.choice([
                "x",
                "y",
                "X ",
                None,
                1,
                1.0,
                True,
                2,
                2.5,
                float("nan"),
                [1],
                10**400,
            ])
    element["t"] = source.choice(["x", " X", "y"])
    if source.random() < 0.8:
        keys = source.sample(["p", "q", "extra"], source.randint(0, 3))
        element["in"] = {key: source.choice(["x", "y"]) for key in keys}
        element["in"] = source.choice([element["in"]] * 6 + [None, "odd"])
    if source.random() < 0.7:
        tags = [source.choice(["x", "y", None]) for _ in range(source.randint(0, 3))]
        element["tags"] = source.choice([tags] * 6 + [None, "odd"])
    if source.random() < 0.3:
        element["zz"] = 1
    return {} if source.random() < 0.1 else element


@each("seed", range(30))
def test_quick_counts_are_those_of_scoring(seed: int) -> None:
    """The matrices of the quick way are what scoring each pair gives."""
    source = random.Random(seed)
    tolerance = {"tolerance": {"rel": 0.3, "abs": 0.6}}
    schema = annotate_xeval({
        "type": "object",
        "properties": {
            "a": STRING,
            "b": {**NUMBER, "x-eval-compare": {"numeric": tolerance}},
            "n": NUMBER,
            "t": {
                **STRING,
                "x-eval-compare": "exact",
                "x-eval-transform": ["strip", "lowercase"],
            },
            "o": {**STRING, "x-eval-compare": {"oneof": {"values": ["x", 1]}}},
            "k": {**STRING, "x-eval-skip": True},
            "in": {"type": "object", "properties": {"p": STRING, "q": STRING}},
        },
    })
    child = plan(parse_eval_schema(schema))
    gold = [_random(source) for _ in range(5)]
    extracted = [_random(source) for _ in range(6)]

    quick = quick_tallies(child, gold, extracted)
    slow = np.zeros((3, 5, 6))
    for i, left in enumerate(gold):
        for j, right in enumerate(extracted):
            slow[:, i, j] = tally(score_pair(child, "", left, right))

    assert quick is not None
    np.testing.assert_array_equal(quick, slow)


@pytest.mark.parametrize(
    "tolerance", [{"rel": 0.3}, {"abs": 1}, {"rel": 0.5, "abs": 1}]
)
def test_quick_tolerances_are_those_of_scoring(tolerance: dict[str, Any]) -> None:
    """Columns of plain numbers are compared at once, with the same verdicts."""
    compare = {"numeric": {"tolerance": tolerance}}
    schema = {
        "type": "object",
        "properties": {"v": {**NUMBER, "x-eval-compare": compare}},
    }
    child = plan(parse_eval_schema(schema))
    gold = [{"v": value} for value in (0, 0.0, 1, -1.5, 2, 1e308, 7)] + [{}]
    extracted = [{"v": value} for value in (0.3, 1, 1.3, -2, 3, -1e308, 6)] + [{}]

    quick = quick_tallies(child, gold, extracted)
    slow = [[tally(score_pair(child, "", g, e))[0] for e in extracted] for g in gold]

    assert quick is not None
    # Two objects without a field are one match as a whole, on both ways.
    np.testing.assert_array_equal(quick[0], slow)

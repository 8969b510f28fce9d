"""Section 10: batch comparators, compounds and the semantic one."""

from __future__ import annotations

from typing import Any

import pytest

from knowtrail.eval.fields import (
    BatchItem,
    ComparatorResult,
    CompoundComparator,
    FakeJudge,
    FieldResult,
    JudgeItem,
    RunResult,
    SemanticBatchComparator,
    annotate_xeval,
    evaluate,
    parse_eval_schema,
    register,
    score_record,
)
from knowtrail.eval.fields.scoring import process_batches
from tests.cases import each


def _of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _leaf(compare: Any, **keys: Any) -> dict[str, Any]:
    return {"type": "string", "x-eval-compare": compare, **keys}


class Batch:
    """A batch comparator that answers what it is given."""

    is_batch: Any = True

    def __init__(self, answer: Any = None) -> None:
        self.answer = answer
        self.calls: list[list[BatchItem]] = []

    def __call__(self, items: list[BatchItem]) -> Any:
        self.calls.append(items)
        if isinstance(self.answer, Exception):
            raise self.answer
        if self.answer is None:
            return [ComparatorResult(1.0, "b")] * len(items)
        return self.answer


def _run(batch: Any, gold: Any, extracted: Any, **fields: Any) -> RunResult:
    register("b", batch, overwrite=True)
    fields = fields or {"x": _leaf("b"), "y": _leaf("b")}
    return evaluate(gold, extracted, _of(**fields))


def _statuses(run: RunResult, record: int = 0) -> list[str]:
    return [result.status for result in run.records[record].field_results]


TWO = {"x": "1", "y": "2"}


def test_one_call_a_record() -> None:
    """A comparator is given all fields of a record that name it, in order."""
    batch = Batch()
    run = _run(
        batch,
        [{"t": ["A "], "x": "1"}] * 2,
        [{"t": ["a"], "x": "2"}] * 2,
        t={
            "type": "array",
            "items": _leaf({"b": {"k": 1}}, **{"x-eval-transform": ["strip"]}),
        },
        x=_leaf("b"),
    )

    assert batch.calls[0] == [
        BatchItem("t[0]", "A ", "a", "A", "a", {"k": 1}),
        BatchItem("x", "1", "2", "1", "2", {}),
    ]
    assert len(batch.calls) == 2
    assert run.mean_f1 == 1.0


def test_omissions_and_hallucinations_are_not_asked() -> None:
    """There is nothing to compare."""
    batch = Batch()
    run = _run(batch, [{"x": "1"}], [{"y": "2"}])

    assert batch.calls == []
    assert _statuses(run) == ["omission", "hallucination"]


def test_score_record_leaves_pending() -> None:
    """Whoever scores one record settles its batches."""
    register("b", Batch())
    node = parse_eval_schema(_of(x=_leaf("b")))
    (result,) = score_record(node, {"x": "1"}, {"x": "2"})

    assert (result.status, result.comparator, result.score) == ("pending", "b", 0.0)


OK = ComparatorResult(1.0, "b")
ANSWERS: dict[str, tuple[Any, list[str]]] = {
    "whole": ([OK, ComparatorResult(0.0, "b", "why")], ["match", "mismatch"]),
    "above 1": ([ComparatorResult(2.0, "b"), OK], ["match", "match"]),
    "part": ([ComparatorResult(0.5, "b"), OK], ["mismatch", "match"]),
    "None": ([None, OK], ["batch_error", "match"]),
    "another thing": ([1.0, OK], ["batch_error", "match"]),
    "NaN": ([ComparatorResult(float("nan"), "b"), OK], ["batch_error", "match"]),
    "short": ([OK], ["match", "batch_error"]),
    "long": ([OK, OK, None], ["match", "match"]),
    "no list": ((OK, OK), ["batch_error", "batch_error"]),
    "raises": (RuntimeError("down"), ["batch_error", "batch_error"]),
    "skips": ([ComparatorResult(1.0, "b", "r", skip=True), OK], ["skipped", "match"]),
}


@each(("answer", "expected"), ANSWERS)
def test_answers(answer: Any, expected: list[str]) -> None:
    """Each field has its answer, or says that there is none."""
    run = _run(Batch(answer), [TWO], [TWO])

    assert _statuses(run) == expected
    assert run.total_batch_errors == expected.count("batch_error")
    assert run.total_fields == 2 - expected.count("batch_error") - expected.count(
        "skipped"
    )
    assert len(run.per_field) == run.total_fields


def test_reasons_are_told() -> None:
    """A result's reason is the answer's, or what went wrong."""
    run = _run(Batch([ComparatorResult(0.0, "b", "why")]), [TWO], [TWO])
    told = [result.reason for result in run.records[0].field_results]
    down = _run(Batch(RuntimeError("down")), [TWO], [TWO])

    assert told == ["why", "the comparator returned no result for it"]
    assert "RuntimeError: down" in str(down.records[0].field_results[0].reason)


@pytest.mark.parametrize("name", ["unknown", "exact"])
def test_names_that_are_no_batch_comparators(name: str) -> None:
    """A pending field whose comparator is gone is an error of that field."""
    result = FieldResult("a", 0.0, name, 1, 1, "pending")
    process_batches([result], {})

    assert result.status == "batch_error"


def test_only_true_makes_a_batch_comparator() -> None:
    """A number is not enough: the comparator is called with three arguments."""
    batch = Batch()
    batch.is_batch = 1

    with pytest.raises(TypeError):
        _run(batch, [TWO], [TWO])


NAME = {"type": "object", "properties": {"first": _leaf("name"), "last": _leaf("name")}}


class Loose(CompoundComparator):
    """Takes first letters, and fails for one name."""

    def compare(
        self, gold_dict: dict[str, Any], extracted_dict: dict[str, Any]
    ) -> float:
        if gold_dict["last"] == "bad":
            raise ZeroDivisionError
        return float(gold_dict["first"][0] == extracted_dict["first"][0])


def _people(gold: list[Any], extracted: list[Any]) -> list[tuple[str, str, str | None]]:
    register("name", Loose(["first", "last"], "last"), overwrite=True)
    schema = _of(p={"type": "array", "items": NAME})
    run = evaluate([{"p": gold}], [{"p": extracted}], schema)
    return [(r.path, r.status, r.reason) for r in run.records[0].field_results]


def test_compound() -> None:
    """Groups are siblings; the primary field has the score."""
    found = _people(
        [{"first": "Ada", "last": "L"}, {"first": "Bo", "last": "M"}],
        [{"first": "A.", "last": "L"}, {"first": "C.", "last": "M"}],
    )

    assert found == [
        ("p[0].first", "skipped", "compound with p[0].last"),
        ("p[0].last", "match", "compound: match"),
        ("p[1].first", "skipped", "compound with p[1].last"),
        ("p[1].last", "mismatch", "compound: mismatch"),
    ]


def test_incomplete_compound() -> None:
    """A group that lacks a field is wrong in those it has."""
    found = _people([{"first": "Ada", "last": "L"}], [{"first": "A."}])

    assert found == [
        ("p[0].first", "mismatch", "incomplete compound (missing ['last'])"),
        ("p[0].last", "omission", None),
    ]


def test_compound_failure_stays_in_its_group() -> None:
    """Other groups of the record keep their scores."""
    found = _people(
        [{"first": "Ada", "last": "bad"}, {"first": "Bo", "last": "M"}],
        [{"first": "A.", "last": "bad"}, {"first": "B.", "last": "M"}],
    )

    assert [row[1] for row in found] == [
        "batch_error",
        "batch_error",
        "skipped",
        "match",
    ]


def test_compound_by_default_is_equality() -> None:
    """Without another notion all fields must be equal."""
    register("name", CompoundComparator(["first", "last"], primary="first"))
    run = evaluate(
        [{"first": "a", "last": "b"}] * 2,
        [{"first": "a", "last": "b"}, {"first": "a", "last": "c"}],
        NAME,
    )

    assert [record.f1 for record in run.records] == [1.0, 0.0]


def test_compound_in_arrays_within_aligned_ones() -> None:
    """Every object is a group of its own where paths have no indices."""
    register("name", Loose(["first", "last"], "last"), overwrite=True)
    teams = {
        "type": "array",
        "items": _of(p={"type": "array", "items": NAME}),
        "x-eval-align": {"match_by": "hungarian"},
    }
    ada, bo, cy = ({"first": name, "last": "L"} for name in ("Ada", "Bo", "Cy"))
    run = evaluate(
        [{"t": [{"p": [ada, bo]}, {"p": [cy, ada]}]}],
        [{"t": [{"p": [cy, bo]}, {"p": [ada, bo]}]}],
        _of(t=teams),
    )

    assert _statuses(run) == ["skipped", "match"] * 3 + ["skipped", "mismatch"]


def test_compound_groups_odd_keys() -> None:
    """A dot in a key makes no group."""
    register("name", CompoundComparator(["a.b", "c"], primary="c"))
    schema = _of(**{"a.b": _leaf("name"), "c": _leaf("name")})
    run = evaluate([{"a.b": "1", "c": "2"}], [{"a.b": "1", "c": "2"}], schema)

    assert _statuses(run) == ["skipped", "match"]


def test_primary_must_be_a_field() -> None:
    """Otherwise nothing would have the score."""
    with pytest.raises(ValueError, match="primary field 'x'"):
        CompoundComparator(["a"], primary="x")


def _semantic(judge: Any, gold: Any, extracted: Any) -> list[tuple[str, str | None]]:
    register("semantic", SemanticBatchComparator(judge), overwrite=True)
    keys = {f"f{n}": _leaf("semantic") for n in range(len(gold))}
    run = evaluate(
        [dict(zip(keys, gold, strict=True))],
        [dict(zip(keys, extracted, strict=True))],
        _of(**keys),
    )
    return [(r.status, r.reason) for r in run.records[0].field_results]


def test_equal_values_are_not_judged() -> None:
    """Equal values of one type cost nothing; the rest is one call."""
    judge = FakeJudge({("b", "c"): 0.0}, default_score=1.0)
    found = _semantic(judge, ["a", "b", None, 1, "d"], ["a", "c", None, 1.0, "e"])

    assert found == [
        ("match", "exact"),
        ("mismatch", "judge mismatch"),
        ("match", "exact"),
        ("match", "judge match"),
        ("match", "judge match"),
    ]
    assert judge.calls == [
        [JudgeItem("f1", "b", "c"), JudgeItem("f3", 1, 1.0), JudgeItem("f4", "d", "e")]
    ]


class Fixed:
    """A judge that answers what it is given."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def judge_batch(self, items: list[JudgeItem]) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ([1.0, None, 0.0], ["match", "batch_error", "mismatch"]),
        ([1.0], ["match", "batch_error", "batch_error"]),
        ([1.0, 0.0, 1.0, 1.0], ["match", "mismatch", "match"]),
        ("111", ["batch_error"] * 3),
        (None, ["batch_error"] * 3),
        (["x", float("nan"), 1], ["batch_error", "batch_error", "match"]),
        (TimeoutError("late"), ["batch_error"] * 3),
    ],
)
def test_judges_that_fail(answer: Any, expected: list[str]) -> None:
    """What is missing is an error of that field alone; order never shifts."""
    found = _semantic(Fixed(answer), ["a", "same", "b", "c"], ["x", "same", "y", "z"])

    assert [found[0][0], found[2][0], found[3][0]] == expected
    assert found[1] == ("match", "exact")


@pytest.mark.parametrize(
    ("judge", "pair", "verdict"),
    [
        (FakeJudge(), (" A ", "a"), 1.0),
        (FakeJudge(), ("a", "b"), 0.0),
        (FakeJudge({("a", "b"): None}), ("a", "b"), None),
        (FakeJudge({("a", "b"): 1.0}, default_score=0.0), ("a", "b"), 1.0),
        (FakeJudge(default_score=0.0), ("a", "a"), 0.0),
    ],
)
def test_fake_judge(judge: FakeJudge, pair: tuple[str, str], verdict: Any) -> None:
    """Given answers first, then the default, then plain equality."""
    assert judge.judge_batch([JudgeItem("p", *pair)]) == [verdict]
    assert judge.calls == [[JudgeItem("p", *pair)]]


def test_annotated_defaults_may_be_batch() -> None:
    """A batch comparator may be a type's default."""
    register("b", Batch())
    schema = annotate_xeval(_of(x=_leaf("b"), n={"type": "number"}))

    assert evaluate([{"x": "a", "n": 1}], [{"x": "b", "n": 1}], schema).mean_f1 == 1.0

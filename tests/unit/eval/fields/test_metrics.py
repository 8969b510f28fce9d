"""Section 11: precision, recall and F1."""

from __future__ import annotations

import json
import math
import random
from itertools import product
from typing import Any

import pytest

from knowtrail.eval.fields import (
    FieldAggregation,
    FieldResult,
    build_record_result,
    build_run_result,
)
from knowtrail.eval.fields.paths import child_path, last_key, parent_path, schema_path
from knowtrail.eval.fields.results import OTHER_PATHS, RunAccumulator
from tests.cases import each


def _results(*found: tuple[str, float]) -> list[FieldResult]:
    return [
        FieldResult(f"s[{index}].a", score, "c", 1, 1, status)
        for index, (status, score) in enumerate(found)
    ]


@each(
    ("found", "expected"),
    [
        ([], (1, 1, 1)),
        ([("match", 1)], (1, 1, 1)),
        ([("mismatch", 0)], (0, 0, 0)),
        ([("mismatch", 0.5)], (0.5, 0.5, 0.5)),
        ([("match", 1), ("omission", 0)], (1, 0.5, 2 / 3)),
        ([("match", 1), ("hallucination", 0)], (0.5, 1, 2 / 3)),
        ([("omission", 0)], (1, 0, 0)),
        ([("hallucination", 0)], (0, 1, 0)),
        ([("skipped", 0), ("pending", 0), ("batch_error", 0)], (1, 1, 1)),
        ([("match", 1), ("skipped", 0), ("batch_error", 0)], (1, 1, 1)),
        (
            [("match", 1), ("match", 1), ("mismatch", 0), ("omission", 0)],
            (2 / 3, 0.5, 4 / 7),
        ),
    ],
)
def test_record(found: list[tuple[str, float]], expected: tuple[float, ...]) -> None:
    """Scores count, and where there is nothing to count it is 1."""
    record = build_record_result("r", _results(*found), {}, {})

    assert (record.precision, record.recall, record.f1) == pytest.approx(expected)


def test_record_keeps_the_objects() -> None:
    """Gold and extraction are those that were given."""
    gold: dict[str, Any] = {}
    record = build_record_result("r", [], gold, gold)

    assert record.gold is gold


def _run(*records: list[tuple[str, float]]) -> Any:
    return build_run_result([
        build_record_result(index, _results(*found), None, None)
        for index, found in enumerate(records)
    ])


def test_run_of_nothing() -> None:
    """No record is no mistake."""
    run = _run()

    assert (run.mean_precision, run.mean_recall, run.mean_f1) == (1.0, 1.0, 1.0)
    assert (run.per_field, run.per_schema_path, run.records) == ({}, {}, [])


def test_run() -> None:
    """Means are over records, F1 too; totals and paths count what is scored."""
    run = _run(
        [("match", 1), ("omission", 0), ("skipped", 0)],
        [("mismatch", 0.5), ("hallucination", 0), ("batch_error", 0), ("pending", 0)],
    )

    assert run.mean_precision == (1 + 0.25) / 2
    assert run.mean_recall == (0.5 + 0.5) / 2
    assert run.mean_f1 == pytest.approx((2 / 3 + 1 / 3) / 2)
    assert (run.total_records, run.total_fields) == (2, 4)
    assert (run.total_omissions, run.total_hallucinations) == (1, 1)
    assert run.total_batch_errors == 1
    assert run.per_field == {
        "s[0].a": FieldAggregation(0.75, 1, 1, 0, 0),
        "s[1].a": FieldAggregation(0.0, 0, 0, 1, 1),
    }


def test_run_by_schema_path() -> None:
    """All elements of an array are one path, whatever their places."""
    run = _run([("match", 1), ("omission", 0)], [("mismatch", 0.5)] * 2)

    assert run.per_schema_path == {"s[].a": FieldAggregation(0.5, 1, 2, 1, 0)}


def test_mean_of_tenths_is_exact() -> None:
    """Rounding does not add up."""
    run = _run([("mismatch", 0.1)] * 10)

    assert run.per_schema_path["s[].a"].mean_score == 0.1
    assert run.mean_f1 == pytest.approx(0.1)


def test_order_of_records_does_not_matter() -> None:
    """The means are those of exact sums."""
    source = random.Random(3)
    records = [[("mismatch", source.random())] * 3 for _ in range(200)]
    forward, backward = _run(*records), _run(*reversed(records))

    assert forward.mean_f1 == backward.mean_f1
    assert forward.per_schema_path == backward.per_schema_path
    assert forward.mean_f1 == pytest.approx(
        math.fsum(record[0][1] for record in records) / 200
    )


def test_limit_of_paths() -> None:
    """Further paths are counted together; no score is lost."""
    run = RunAccumulator(path_limit=2)
    run.add(build_record_result(0, _results(*[("match", 1)] * 5), None, None))
    result = run.result()

    assert list(result.per_field) == ["s[0].a", "s[1].a", OTHER_PATHS]
    assert result.per_field[OTHER_PATHS].matches == 3
    assert result.total_fields == 5


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("", ""),
        ("a.b", "a.b"),
        ("a[0].b[-12]", "a[].b[]"),
        ("[3].a", "[].a"),
        ('a["x[0]"][1]', 'a["x[0]"][]'),
        ('["q\\"[5]"]', '["q\\"[5]"]'),
    ],
)
def test_schema_path(path: str, expected: str) -> None:
    """Indices go, and what looks like one inside a key stays."""
    assert schema_path(path) == expected


@each(
    ("parent", "key"),
    product(
        ["", "a", "a[0]", '["b.c"]', "[-1]"],
        ["k", "k.l", "k[0]", '"', "", "\\", "é\n", "[]", "0"],
    ),
)
def test_paths_can_be_taken_apart(parent: str, key: str) -> None:
    """Parent and key come back, whatever the key."""
    path = child_path(parent, key)

    assert (parent_path(path), last_key(path)) == (parent, key)
    assert json.dumps(path)

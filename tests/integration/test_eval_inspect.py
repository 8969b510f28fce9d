"""Saved queries about evaluations answer what their titles say.

Most tests share two runs; those that write have their own, and stand at the end.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from knowtrail.eval.store import EvalRecord, EvalRun, Metric, StoredField, open_run
from knowtrail.graph.db.schema import apply_schema, delete_data
from knowtrail.graph.db.statements import statement_names, statement_record

if TYPE_CHECKING:
    from knowtrail.graph.db.connection import Connection

pytestmark = pytest.mark.integration

FIELDS = {"method": (0.9, 9, 1), "year": (0.4, 4, 6), "lab": (0.4, 8, 12)}


def run_of(dataset: str, day: int, kind: str = "fields") -> EvalRun:
    """Return a run made on a day."""
    return EvalRun(
        kind=kind, dataset=dataset, created=datetime(2026, 1, day, tzinfo=UTC)
    )


def store(connection: Connection, run: EvalRun, f1: float) -> str:
    """Store a run of two records, of which the second has F1 `f1`."""
    invented = StoredField(
        path="lab[-1].name",
        schema_path="lab[].name",
        status="hallucination",
        score=0.0,
        extracted="Nowhere",
    )
    missed = StoredField(
        path="year", schema_path="year", status="omission", score=0.0, gold=1911
    )
    with open_run(connection, run) as writer:
        writer.add(EvalRecord(record_id="a", scores={"f1": 1.0}))
        writer.add(
            EvalRecord(record_id="b", scores={"f1": f1}, fields=[missed, invented])
        )
        writer.metric(Metric(name="f1", value=(1 + f1) / 2, low=f1, high=1.0, n=2))
        for path, (score, right, wrong) in FIELDS.items():
            writer.metric(
                Metric(
                    name="field_score",
                    path=path,
                    value=score * f1,
                    n=right + wrong,
                    counts={
                        "matches": right,
                        "mismatches": wrong,
                        "omissions": 0,
                        "hallucinations": 0,
                    },
                )
            )
    return run.id


def store_two(connection: Connection) -> Connection:
    """Store two runs on one data set in an empty database."""
    apply_schema(connection)
    store(connection, run_of("gold", 1), 0.5)
    store(connection, run_of("better", 2), 1.0)
    return connection


@pytest.fixture(scope="module")
def two(emptied: Connection) -> Connection:
    """Return a connection to the two runs that tests share."""
    return store_two(emptied)


@pytest.fixture
def own_two(connection: Connection) -> Connection:
    """Return a connection to two runs that a test may change."""
    return store_two(connection)


def ask(connection: Connection, name: str, **params: object) -> list[dict[str, Any]]:
    """Run a saved query; parameters that are left out are null."""
    query = statement_record(f"inspect/{name}")
    return connection.query(query.text, dict.fromkeys(query.params) | params)


def test_runs_are_listed(two: Connection) -> None:
    """The latest first, with F1 and its interval."""
    rows = ask(two, "eval_runs")

    assert [(r["dataset"], r["status"], r["records"], r["f1"]) for r in rows] == [
        ("better", "complete", 2, 1.0),
        ("gold", "complete", 2, 0.75),
    ]
    assert (rows[1]["f1Low"], rows[1]["f1High"]) == (0.5, 1.0)
    assert ask(two, "eval_runs", kind="retrieval") == []
    assert len(ask(two, "eval_runs", dataset="gold")) == 1


def test_worst_fields_come_first(two: Connection) -> None:
    """By score; of equal ones, the field that there is more of."""
    rows = ask(two, "eval_worst_fields", run=run_of("gold", 1).id)

    assert [(r["field"], r["score"], r["n"], r["matches"]) for r in rows] == [
        ("lab", 0.2, 20, 8),
        ("year", 0.2, 10, 4),
        ("method", 0.45, 10, 9),
    ]


def test_hallucinations_are_named_with_their_records(two: Connection) -> None:
    """Only what was made up, of one run, and of one field where it is named."""
    rows = ask(two, "eval_hallucinations", run=run_of("gold", 1).id)

    assert rows == [
        {
            "record": "b",
            "field": "lab[-1].name",
            "extracted": '"Nowhere"',
            "reason": None,
            "run": run_of("gold", 1).id,
        }
    ]
    assert len(ask(two, "eval_hallucinations", field="lab[].name")) == 1
    assert ask(two, "eval_hallucinations", field="year") == []


def test_two_runs_stand_side_by_side(two: Connection) -> None:
    """The last two: metrics of the whole first, then fields by their difference."""
    rows = ask(two, "eval_runs_apart")

    assert [(r["metric"], r["field"], r["difference"]) for r in rows] == [
        ("f1", "", 0.25),
        ("field_score", "method", 0.45),
        ("field_score", "lab", 0.2),
        ("field_score", "year", 0.2),
    ]
    assert (rows[0]["first"], rows[0]["second"]) == (0.75, 1.0)


def test_named_runs_stand_side_by_side(two: Connection) -> None:
    """The order is that of the names; an unknown name has no rows."""
    first, second = run_of("better", 2).id, run_of("gold", 1).id

    rows = ask(two, "eval_runs_apart", first=first, second=second, limit=1)

    assert rows[0]["difference"] == -0.25
    assert ask(two, "eval_runs_apart", first="none", second=second) == []


def test_records_that_differ_are_named(two: Connection) -> None:
    """Records with the same F1 in both runs are left out."""
    assert ask(two, "eval_records_apart") == [
        {
            "record": "b",
            "first": 0.5,
            "second": 1.0,
            "difference": 0.5,
            "question": None,
        }
    ]


def test_pairs_of_records_have_a_difference_with_its_interval(
    own_two: Connection,
) -> None:
    """By Student's t over the records of both runs; too few have no interval."""
    (few,) = ask(own_two, "eval_differences")
    rng = np.random.default_rng(7)
    values = rng.random((2, 12))
    for number, row in enumerate(values):
        run = run_of(f"q{number}", 5 + number, kind="retrieval")
        with open_run(own_two, run) as writer:
            for at, value in enumerate(row):
                scores = {"recall_5": float(value), "hops": float(at), "stopReason": ""}
                writer.add(EvalRecord(record_id=f"q{at}", scores=scores))
            writer.add(EvalRecord(record_id=f"only {number}", scores={"recall_5": 1.0}))

    first, *rest = ask(own_two, "eval_differences")

    assert (few["measure"], few["n"], few["difference"]) == ("f1", 2, 0.25)
    assert (few["low"], few["high"]) == (None, None)
    gain = values[1] - values[0]
    exact = ttest_1samp(gain, 0).confidence_interval(0.95)
    assert (first["measure"], first["n"]) == ("recall_5", 12)
    assert first["difference"] == pytest.approx(gain.mean(), abs=1e-4)
    assert first["low"] == pytest.approx(exact.low, abs=2e-3)
    assert first["high"] == pytest.approx(exact.high, abs=2e-3)
    assert (first["higher"], first["lower"]) == ((gain > 0).sum(), (gain < 0).sum())
    assert [row["measure"] for row in rest] == ["hops"]
    own_two.run_schema("MATCH (e:EvalRecord) SET e.question = 'What of ' + e.recordId")
    apart = ask(own_two, "eval_records_apart")
    assert [row["question"] for row in apart] == [
        f"What of {row['record']}" for row in apart
    ]
    assert len(apart) == 14
    assert ask(own_two, "eval_records_apart", measure="hops") == []


def test_worst_fields_of_the_latest_run(own_two: Connection) -> None:
    """Without a name the latest run is meant, whatever kinds there are beside."""
    store(own_two, run_of("questions", 9, kind="retrieval"), 0.1)

    rows = ask(own_two, "eval_worst_fields", limit=1)

    assert [(r["run"], r["score"]) for r in rows] == [(run_of("better", 2).id, 0.4)]


def test_runs_are_told_by_their_systems(own_two: Connection) -> None:
    """Listed before the id, and beside their metrics; quality comes before time."""
    for system, value in (("bm25", 0.3), ("auto", 0.4)):
        run = replace(
            run_of("q", int(value * 10), kind="retrieval"),
            configuration={"system": system},
        )
        with open_run(own_two, run) as writer:
            writer.metric(Metric(name="mrr", value=value))
            writer.metric(Metric(name="milliseconds_p50", value=100 * value))

    (listed, *_) = ask(own_two, "eval_runs", kind="retrieval")
    rows = ask(own_two, "eval_runs_apart")

    assert list(listed)[:3] == ["dataset", "kind", "system"]
    assert listed["system"] == "auto"
    assert [r["metric"] for r in rows] == ["mrr", "milliseconds_p50"]
    assert {(r["firstSystem"], r["secondSystem"]) for r in rows} == {("bm25", "auto")}
    assert rows[0]["secondRun"] == listed["run"]


def test_runs_of_one_kind_stand_side_by_side(own_two: Connection) -> None:
    """Another kind of evaluation between them is passed over."""
    store(own_two, run_of("questions", 3, kind="retrieval"), 0.1)
    store(own_two, run_of("best", 4), 0.9)

    (row, *_) = ask(own_two, "eval_runs_apart")

    assert (row["metric"], row["first"], row["second"]) == ("f1", 1.0, 0.95)
    assert ask(own_two, "eval_records_apart") == [
        {
            "record": "b",
            "first": 1.0,
            "second": 0.9,
            "difference": -0.1,
            "question": None,
        }
    ]


def test_a_run_that_failed_is_not_the_latest(own_two: Connection) -> None:
    """It has no metrics yet: without a name the one before it is shown."""
    with pytest.raises(ZeroDivisionError), open_run(own_two, run_of("broken", 5)):
        _ = 1 / 0

    for name in ("eval_worst_fields", "eval_hallucinations"):
        (row, *_) = ask(own_two, name, limit=1)
        assert row["run"] == run_of("better", 2).id


def test_every_parameter_may_be_left_out(own_two: Connection) -> None:
    """There are rows without any, and none in an empty database."""
    names = [
        name.removeprefix("inspect/")
        for name in statement_names()
        if name.startswith("inspect/eval_")
    ]
    found = {name: ask(own_two, name) for name in names}

    delete_data(own_two)

    assert [name for name, rows in found.items() if not rows] == []
    assert [name for name in names if ask(own_two, name)] == []

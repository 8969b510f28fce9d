"""The benchmark of extraction formats in a real database, with a scripted model."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.eval.skn import BenchmarkOptions, run_models
from knowtrail.eval.skn.metrics import calculate_metrics
from knowtrail.eval.skn.results import store_outcome
from knowtrail.graph.db.schema import apply_schema
from tests.command_line import CommandLine
from tests.unit.eval.skn.conftest import Scripted

if TYPE_CHECKING:
    from pathlib import Path

    from knowtrail.eval.skn.benchmark import ModelOutcome
    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.settings import Settings

pytestmark = pytest.mark.integration

WHOLE = """
MATCH (r:EvalRun {kind: 'skn', variant: $variant})
RETURN r.model AS model, r.judge AS judge, r.status AS status, r.samples AS samples,
  COUNT { (r)-[:HAS_RECORD]->() } AS records,
  COUNT { (r)-[:HAS_RECORD]->()-[:JUDGES]->(:Extraction) } AS judged
"""
METRIC = """
MATCH (:EvalRun {variant: 'skn'})-[:HAS_METRIC]->(m:Metric {name: $name, path: $path})
RETURN m.value AS value, m.ciLow AS low, m.ciHigh AS high, m.n AS n, m.pValue AS p
"""


@pytest.fixture
def knowtrail(
    server: Settings,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> CommandLine:
    """Return the command line on the test's server."""
    monkeypatch.setenv("NEO4J_PASSWORD", server.password or "")
    monkeypatch.setenv("NEO4J_USERNAME", server.username)
    return CommandLine(server, capsys, "hash:32")


@pytest.fixture
def outcome(tmp_path: Path) -> ModelOutcome:
    """Return the outcome of a run on four samples, the last without an answer."""
    samples = [
        {
            "id": n,
            "category": "diagnostic" if n < 4 else "insufficient_info",
            "question": f"Why {n}?",
            "ground_truth": "So.",
            "answerable": n < 4,
        }
        for n in range(1, 5)
    ]
    found = [
        {"id": n, "question": f"Why {n}?", "raw_text": f"Cache {n} is full."}
        for n in range(1, 5)
    ]
    (tmp_path / "samples.json").write_text(json.dumps(samples), "utf-8")
    (tmp_path / "search.json").write_text(json.dumps(found), "utf-8")
    grounded = [
        {"groundedness_score": n / 10, "unsupported_fraction": 0.5} for n in range(8)
    ]
    agent = [
        {"answer": f"Because {n}.", "confidence": 0.5, "reasoning": ""}
        for n in range(8)
    ]
    model = Scripted(
        model="m:1b", asked=[], script={"groundedness": grounded, "agent": agent}
    )
    (found_outcome,) = run_models(
        [model],
        output=tmp_path / "out",
        options=BenchmarkOptions(
            dataset=tmp_path / "samples.json",
            search_results=tmp_path / "search.json",
            recorded_only=True,
        ),
    )
    return found_outcome


def metric(connection: Connection, name: str, path: str) -> list[dict[str, Any]]:
    """Return a metric of the run on SKN."""
    return connection.query(METRIC, {"name": name, "path": path})


def extraction(connection: Connection, outcome: ModelOutcome) -> None:
    """Store an extraction that the outcome is about, and one that it is not."""
    raw = outcome.rows[0]["skn_extraction_raw"]
    connection.driver.execute_query(
        "CREATE (:Extraction {id: 'x', model: 'm:1b', variant: 'skn', raw: $said}),"
        " (:Extraction {id: 'y', model: 'other', variant: 'skn', raw: $said})",
        said=raw,
        database_=connection.database,
    )


def store(connection: Connection, outcome: ModelOutcome) -> dict[str, str]:
    """Store an outcome."""
    return store_outcome(
        connection, outcome, dataset="four", configuration={"samples": 4}
    )


def test_each_format_is_a_run(connection: Connection, outcome: ModelOutcome) -> None:
    """Records, metrics with intervals, categories and differences are in the graph."""
    apply_schema(connection)
    extraction(connection, outcome)

    runs = store(connection, outcome)

    (row,) = connection.query(WHOLE, {"variant": "skn"})
    assert row == {
        "model": "m:1b",
        "judge": "m:1b",
        "status": "complete",
        "samples": 4,
        "records": 4,
        "judged": 4,
    }
    (plain,) = connection.query(WHOLE, {"variant": "json"})
    assert (plain["records"], plain["judged"]) == (4, 0)
    stored = connection.query("MATCH (r:EvalRun {kind: 'skn'}) RETURN r.id AS id")
    assert {run["id"] for run in stored} == set(runs.values())
    (whole,) = metric(connection, "groundedness", "")
    assert whole["value"] == outcome.metrics["skn"]["groundedness"]
    assert whole["low"] <= whole["value"] <= whole["high"]
    (kind,) = metric(connection, "accuracy", "diagnostic")
    assert (kind["value"], kind["n"]) == (1.0, 3)
    assert metric(connection, "accuracy", "insufficient_info") == []
    assert metric(connection, "abstention_f1", "diagnostic") == []
    (gap,) = metric(connection, "groundedness_difference", "less json")
    assert 0 < gap["p"] <= 1


def test_what_failed_is_stored_as_no_saving(
    connection: Connection, outcome: ModelOutcome
) -> None:
    """Tokens are of usable extractions; where there is none, nothing is stored."""
    rows = [dict(row) for row in outcome.rows]
    for number, row in enumerate(rows):
        row["skn_extraction_status"] = "failed" if number else "ok"
    one = replace(outcome, rows=tuple(rows), metrics=calculate_metrics(rows))

    store(connection, one)

    (tokens,) = metric(connection, "avg_context_tokens", "")
    assert (tokens["n"], metric(connection, "usable_extractions", "")[0]["value"]) == (
        1,
        1,
    )
    rows[0] |= {"skn_extraction_status": "failed", "skn_tokens_est": None}
    store(connection, replace(one, metrics=calculate_metrics(rows)))
    assert metric(connection, "avg_context_tokens", "") == []


def test_the_same_results_are_the_same_runs(
    connection: Connection, outcome: ModelOutcome
) -> None:
    """Storing twice leaves no node twice; what came later is judged all the same."""
    first = store(connection, outcome)
    count = "MATCH (n) RETURN count(n) AS nodes"
    before = connection.query(count)

    second = store(connection, outcome)

    assert second == first
    assert connection.query(count) == before
    extraction(connection, outcome)
    store(connection, outcome)
    (row,) = connection.query(WHOLE, {"variant": "skn"})
    assert (row["records"], row["judged"]) == (4, 4)


def test_saved_queries_answer(
    connection: Connection, outcome: ModelOutcome, knowtrail: CommandLine
) -> None:
    """Formats side by side, the worst answers, two formats apart."""
    store(connection, outcome)

    done = {
        name: knowtrail.run("cypher", "--saved", name, "--json")
        for name in ("skn_formats", "skn_worst_answers", "eval_runs_apart")
    }

    rows = {name: json.loads(shown.out) for name, shown in done.items()}
    assert [row["format"] for row in rows["skn_formats"][:2]] == ["json", "skn"]
    assert [row["sample"] for row in rows["skn_worst_answers"][:2]] == ["1", "1"]
    assert all("metric" in row for row in rows["eval_runs_apart"])
    assert all(rows.values())
    assert [shown.code for shown in done.values()] == [0, 0, 0]

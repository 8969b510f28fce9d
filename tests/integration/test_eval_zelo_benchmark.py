"""Rankings against ground truth, kept in a real database."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from knowtrail.graph.db.schema import apply_schema
from knowtrail.retrieval.rerank.datasets import (
    AnnotatedDocument,
    AnnotatedQueryDocuments,
    Query,
    write_annotated,
)
from tests.command_line import CommandLine

if TYPE_CHECKING:
    from pathlib import Path

    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.settings import Settings

pytestmark = pytest.mark.integration


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


def _ranking(path: Path, *scores: float) -> Path:
    """Write three queries whose documents have these scores."""
    write_annotated(
        path,
        (
            AnnotatedQueryDocuments(
                query=Query(id=f"q{number}", query="?"),
                documents=tuple(
                    AnnotatedDocument(id=f"d{place}", content="text", score=score)
                    for place, score in enumerate(scores)
                ),
            )
            for number in range(3)
        ),
    )
    return path


def test_benchmarks_are_kept_once_and_found_again(
    connection: Connection, knowtrail: CommandLine, tmp_path: Path
) -> None:
    """A run for each ranking, a record a query; the same files are the same runs."""
    apply_schema(connection)
    truth = _ranking(tmp_path / "truth.jsonl", 2.0, 1.0, -3.0)
    files = [
        truth,
        _ranking(tmp_path / "same.jsonl", 3.0, 2.0, 1.0),
        _ranking(tmp_path / "turned.jsonl", 1.0, 2.0, 3.0),
    ]

    first = knowtrail.run("eval", "zelo", "benchmark", *files, "--store", "--json")
    second = knowtrail.run("eval", "zelo", "benchmark", *files, "--store", "--json")
    asked = knowtrail.run("cypher", "--saved", "zelo_benchmarks", "--json")

    runs = {row["name"]: row["run"] for row in json.loads(first.out)["rankings"]}
    rows = {row["ranking"]: row for row in json.loads(asked.out)}
    assert (first.code, second.code, asked.code) == (0, 0, 0)
    assert json.loads(second.out) == json.loads(first.out)
    stored = connection.query("MATCH (r:EvalRun {kind: 'zelo'}) RETURN r.id AS id")
    assert {run["id"] for run in stored} == set(runs.values())
    assert (rows["same"]["ndcg"], rows["same"]["queries"]) == (1.0, 3)
    assert rows["turned"]["accuracy"] == 0.0
    assert rows["turned"]["run"] == runs["turned"]

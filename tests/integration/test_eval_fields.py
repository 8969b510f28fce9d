"""`knowtrail eval fields --store` on a real server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.eval.fields import runs
from knowtrail.graph.db.schema import apply_schema
from tests.command_line import CommandLine

if TYPE_CHECKING:
    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.settings import Settings

pytestmark = pytest.mark.integration

GOLD = [
    {"name": f"n{n}", "year": 1900 + n, "parts": [{"p": "a"}, {"p": "b"}]}
    for n in range(40)
]
OUT: list[dict[str, Any]] = [
    {"name": f"n{n}", "parts": [{"p": "a"}], "who": "me", "from": f"x{n}"}
    for n in range(40)
]
COUNT = """
MATCH (r:EvalRun)
OPTIONAL MATCH (r)-[:HAS_RECORD]->(e)
OPTIONAL MATCH (e)-[:HAS_FIELD]->(f)
WITH r, count(DISTINCT e) AS records, count(f) AS fields,
     collect(DISTINCT f.status) AS kinds
RETURN r.status AS status, r.dataset AS dataset, records, fields, kinds
ORDER BY r.createdAt
"""


@pytest.fixture
def knowtrail(
    connection: Connection,
    server: Settings,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> CommandLine:
    """Return the command line in a folder with gold and extracted records."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NEO4J_PASSWORD", server.password or "")
    monkeypatch.setenv("NEO4J_USERNAME", server.username)
    apply_schema(connection)
    for name, records in (("gold", GOLD), ("out", OUT)):
        lines = "".join(f"{json.dumps(record)}\n" for record in records)
        (tmp_path / f"{name}.jsonl").write_text(lines, "utf-8")
    return CommandLine(server, capsys, "hash:32")


WORDS = ("eval", "fields", "--gold", "gold.jsonl", "--extracted", "out.jsonl")


def test_nothing_is_stored_unless_it_is_asked(
    knowtrail: CommandLine, connection: Connection
) -> None:
    """Not even a connection is opened."""
    done = knowtrail.run(*WORDS, uri="bolt://127.0.0.1:1")

    assert (done.code, done.errors) == (0, [])
    assert connection.query(COUNT) == []


def test_a_run_that_fails_leaves_no_report(knowtrail: CommandLine) -> None:
    """There is a whole report or none."""
    done = knowtrail.run(
        *WORDS, "--store", "--report", "r.html", uri="bolt://127.0.0.1:1"
    )

    assert done.code != 0
    assert not Path("r.html").exists()


def test_failures_are_stored(knowtrail: CommandLine, connection: Connection) -> None:
    """All records, the fields that are not right, and metrics of every path."""
    done = knowtrail.run(*WORDS, "--store", "--dataset", "parts", "--json")

    (row,) = connection.query(COUNT)
    kinds = row.pop("kinds")
    metrics = connection.query(
        "MATCH (:EvalRun)-[:HAS_METRIC]->(m:Metric {path: 'parts[].p'})"
        " RETURN m.name AS name, m.value AS value, m.omissions AS omissions"
    )
    assert row == {
        "status": "complete",
        "dataset": "parts",
        "records": 40,
        "fields": 160,
    }
    assert sorted(kinds) == ["hallucination", "omission"]
    assert metrics == [{"name": "field_score", "value": 0.5, "omissions": 40}]
    assert json.loads(done.out)["run"] == connection.query(
        "MATCH (r:EvalRun) RETURN r.id AS id"
    )[0].pop("id")


def test_the_same_run_is_stored_once(
    knowtrail: CommandLine, connection: Connection
) -> None:
    """A second time it takes the place of the first; another level is another run."""
    first = knowtrail.run(*WORDS, "--store", "failures")
    again = knowtrail.run(*WORDS, "--store", "failures")
    knowtrail.run(*WORDS, "--store", "all")

    rows = connection.query(COUNT)
    assert first.errors[-1].endswith("is stored.")
    assert again.errors[-1].endswith("is stored in place of an earlier one.")
    assert [row["fields"] for row in rows] == [160, 240]


def test_two_systems_are_two_runs(
    knowtrail: CommandLine, connection: Connection
) -> None:
    """Both are stored, and the saved query puts them side by side."""
    knowtrail.run(*WORDS, "--compare", "gold.jsonl", "--store", "failures")

    shown = knowtrail.run("cypher", "--saved", "eval_runs_apart", "--json")

    rows = json.loads(shown.out)
    assert len(connection.query(COUNT)) == 2
    assert {row["field"] for row in rows} == {
        "",
        "name",
        "year",
        "parts[].p",
        "who",
        "from",
    }
    assert next(r for r in rows if r["metric"] == "f1")["second"] == 1.0


def test_records_judge_the_extractions_they_name(
    knowtrail: CommandLine, connection: Connection
) -> None:
    """The key is not scored; a record is connected with its own extraction only."""
    connection.run_schema("UNWIND range(0, 38) AS n CREATE (:Extraction {id: 'x' + n})")

    done = knowtrail.run(*WORDS, "--store", "--judges-field", "from", "--json")

    rows = connection.query(
        "MATCH (e:EvalRecord)-[:JUDGES]->(x:Extraction)"
        " RETURN e.index AS index, x.id AS id ORDER BY index"
    )
    assert "from" not in json.loads(done.out)["per_field"]
    assert [row["id"] for row in rows] == [f"x{row['index']}" for row in rows]
    assert len(rows) == 39


def test_a_server_that_does_not_answer_is_told(knowtrail: CommandLine) -> None:
    """One line, exit 1, no traceback."""
    done = knowtrail.run(*WORDS, "--store", uri="bolt://127.0.0.1:1")

    assert done.code == 1
    assert len(done.errors) == 1
    assert "does not answer" in done.errors[0]


def test_a_run_that_was_cut_off_is_taken_up(
    knowtrail: CommandLine, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Something breaks at record 30; the next attempt adds what is missing."""
    monkeypatch.setattr("knowtrail.eval.store.ROWS", 16)
    real = runs.stored_record

    def broken(record: Any, **more: Any) -> Any:
        if record.record_id == 30:
            raise MemoryError
        return real(record, **more)

    with monkeypatch.context() as patch:
        patch.setattr(runs, "stored_record", broken)
        failed = knowtrail.run(*WORDS, "--store")
    (half,) = connection.query(COUNT)
    done = knowtrail.run(*WORDS, "--store")

    (whole,) = connection.query(COUNT)
    assert (failed.code, half["status"]) == (1, "failed")
    assert 0 < half["records"] <= 30
    assert done.code == 0
    assert (whole["status"], whole["records"], whole["fields"]) == ("complete", 40, 160)

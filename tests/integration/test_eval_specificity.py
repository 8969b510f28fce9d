"""`knowtrail eval specificity` with what it reads from and keeps in the graph."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from knowtrail.retrieval.specificity.monitoring import SpecificityExperiment
from tests.command_line import CommandLine

if TYPE_CHECKING:
    from pathlib import Path

    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.settings import Settings

pytestmark = pytest.mark.integration

EXPERIMENT = SpecificityExperiment(name="autumn")
SESSIONS = tuple(f"s{number}" for number in range(24))


@pytest.fixture
def line(
    connection: Connection,
    server: Settings,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> CommandLine:
    """Return a command line on the database of the test."""
    assert connection is not None
    monkeypatch.setenv("NEO4J_PASSWORD", server.password or "")
    monkeypatch.setenv("NEO4J_USERNAME", server.username)
    return CommandLine(server, capsys, "hash:32")


def _turns(connection: Connection) -> None:
    """Store a turn of each session, in the group that the experiment deals."""
    connection.driver.execute_query(
        "UNWIND $rows AS row MERGE (c:Conversation {id: row.id}) "
        "MERGE (c)-[:HAS_TURN]->(:Turn {id: row.id, experimentGroup: row.group})",
        rows=[{"id": one, "group": EXPERIMENT.group(one)} for one in SESSIONS],
        database_=connection.database,
    )


def _results(path: Path, *sessions: str) -> Path:
    """Write a quality for each session, better where it was treated."""
    path.write_text(
        "".join(
            json.dumps({
                "session": one,
                "quality": 0.1 * (number % 3) + 0.5 * EXPERIMENT.is_treatment(one),
            })
            + "\n"
            for number, one in enumerate(sessions)
        ),
        encoding="utf-8",
    )
    return path


def test_groups_of_an_experiment_are_those_of_its_turns(
    connection: Connection, line: CommandLine, tmp_path: Path
) -> None:
    """Another name, and sessions without turns, are refused; the right one is kept."""
    _turns(connection)
    path = _results(tmp_path / "qualities.jsonl", *SESSIONS)
    other = _results(tmp_path / "other.jsonl", *SESSIONS, "nobody")
    command = ("eval", "specificity", "--live", "--experiment")

    wrong = line.run(*command, path)
    unknown = line.run(*command, other, "--name", "autumn")
    right = line.run(*command, path, "--name", "autumn", "--store", "--json")

    assert [run.code for run in (wrong, unknown, right)] == [2, 2, 0]
    assert "give the name and the share" in wrong.errors[0]
    assert "'nobody' has no turn" in unknown.errors[0]
    assert json.loads(right.out)["difference"]["low"] > 0.3
    rows = connection.query(
        "MATCH (r:EvalRun {kind: 'specificity-experiment'}) "
        "RETURN r.dataset AS dataset, r.configuration AS configuration"
    )
    assert [(r["dataset"], json.loads(r["configuration"])) for r in rows] == [
        ("qualities", {"experiment": "autumn", "trafficSplit": 0.5, "seed": 0})
    ]


def test_changed_labels_are_another_run(
    connection: Connection, line: CommandLine, tmp_path: Path
) -> None:
    """A run of corrected labels has its own metrics; the same ones are stored once."""
    question = {
        "id": "1",
        "language": "en",
        "question": "How many archives are there in Rotterdam?",
        "template": "count_institutions_by_type_location",
        "slots": {"institution_type": "A", "city": "Rotterdam"},
        "answer": {"kind": "count", "value": 1},
    }
    path = tmp_path / "asked.jsonl"
    command = ("eval", "specificity", "--questions", path, "--store")

    path.write_text(json.dumps(question), encoding="utf-8")
    first = line.run(*command, "--json")
    again = line.run(*command, "--json")
    question["answer"] = {"kind": "count", "value": 999}
    path.write_text(json.dumps(question), encoding="utf-8")
    changed = line.run(*command, "--json")

    runs = [json.loads(run.out)["run"] for run in (first, again, changed)]
    assert runs[0] == runs[1] != runs[2]
    rows = connection.query(
        "MATCH (r:EvalRun {kind: 'specificity'})"
        "-[:HAS_METRIC]->(m {name: 'answer_accuracy'}) "
        "RETURN r.id AS id, m.value AS value, r.configuration AS configuration"
    )
    assert {row["id"]: row["value"] for row in rows} == {runs[0]: 1.0, runs[2]: 0.0}
    told = json.loads(rows[0]["configuration"])
    assert (told["threshold"], len(told["custodiansDigest"])) == (0.5, 32)

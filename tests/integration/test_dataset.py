"""Questions made of a stored corpus, as a user makes them."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.eval.generation import GraphContexts, GroupPlan, context_groups
from tests.command_line import CommandLine
from tests.ollama import MODEL, Parrot, parrot_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.settings import Settings
    from tests.databases import Database

pytestmark = pytest.mark.integration

CORPUS = "ice"
GOOD: dict[str, Any] = {
    "Write one question": {"question": "Where does glacier Aletsch begin?"},
    "Rewrite it so that": {"question": "Which of both glaciers begins higher up?"},
    "Give it a score": {"feedback": "Good.", "score": 0.9},
    "Answer this question": {
        "answerable": True,
        "answer": "Aletsch.",
        "sentences": [2, 1],
    },
}


@pytest.fixture
def knowtrail(
    server: Settings,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> CommandLine:
    """Return the command line on a server with a corpus of three documents."""
    monkeypatch.setenv("NEO4J_PASSWORD", server.password or "")
    monkeypatch.setenv("NEO4J_USERNAME", server.username)
    rows = [
        {
            "title": name,
            "text": " ".join(
                f"The glacier {name} has part {n} above the valley." for n in range(9)
            ),
        }
        for name in ("Aletsch", "Gorner", "Rhone")
    ]
    path = tmp_path / "ice.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    line = CommandLine(server, capsys, "hash:32")

    def fill() -> None:
        done = line.run("ingest", "jsonl", path, "--corpus", CORPUS, "--themes", "none")
        assert done.code == 0

    database.holding("three glaciers", fill)
    return line


@pytest.fixture
def parrot(monkeypatch: pytest.MonkeyPatch) -> Iterator[Parrot]:
    """Yield a server that answers by kind of prompt."""
    count = itertools.count()

    def answered(asked: dict[str, Any]) -> str:
        text = "\n".join(message["content"] for message in asked["messages"])
        said = next(GOOD[sign] for sign in GOOD if sign in text)
        if "question" in said:
            said = {"question": f"Which glacier has part {next(count)}?"}
        return json.dumps(said)

    with parrot_server() as server:
        server.answers = answered
        monkeypatch.setenv("KNOWTRAIL_OLLAMA_URL", server.url)
        yield server


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_contexts_hold_ids_of_the_graph(
    knowtrail: CommandLine, session_connection: Connection, tmp_path: Path
) -> None:
    """Every chunk, document and sentence of a context is in the graph."""
    path = tmp_path / "contexts.jsonl"

    done = knowtrail.run(
        *("dataset", "generate", CORPUS, "--groups-only", "--output", path),
        *("--goldens", "6", "--pictures", tmp_path, "--json"),
    )

    assert done.code == 0
    drawn = [picture.read_bytes()[:4] for picture in tmp_path.glob("context-*.png")]
    assert drawn == [b"\x89PNG"] * 3
    rows = _rows(path)
    told = json.loads(done.out)
    assert sum(told["groups"].values()) + sum(told["missing"].values()) == 6
    found = session_connection.query(
        "UNWIND $rows AS row RETURN "
        "COUNT { MATCH (c:Chunk) WHERE c.id IN row.chunks } = size(row.chunks) AND "
        "COUNT { MATCH (d:Document) WHERE d.id IN row.documents } = "
        "size(row.documents) AND "
        "COUNT { MATCH (s:Sentence) WHERE s.id IN [g IN row.sentences | g.id] } = "
        "size(row.sentences) AS whole",
        {"rows": rows},
    )
    assert [row["whole"] for row in found] == [True] * len(rows)


def test_the_graph_gives_the_same_groups_again(
    knowtrail: CommandLine, session_connection: Connection
) -> None:
    """A seed repeats contexts also after they were read anew."""
    plan = GroupPlan(goldens=6, seed=7)

    groups = context_groups(GraphContexts(session_connection, CORPUS), plan)

    assert groups == context_groups(GraphContexts(session_connection, CORPUS), plan)


def test_questions_with_gold_that_the_passages_have(
    knowtrail: CommandLine, parrot: Parrot, tmp_path: Path
) -> None:
    """Gold sentences are places in the passages beside the questions."""
    path = tmp_path / "asked.jsonl"

    done = knowtrail.run(
        *("dataset", "generate", CORPUS, "--output", path, "--goldens", "4"),
        *("--model", MODEL, "--json"),
    )

    assert done.code == 0
    passages = {row["id"]: row for row in _rows(tmp_path / "asked.passages.jsonl")}
    assert len(passages) == 3
    for row in _rows(path):
        assert row["answer"] == "Aletsch."
        said = [
            passages[gold["document"]]["sentences"][gold["sentence"]]
            for gold in row["gold_sentences"]
        ]
        assert len(said) == 2
        assert row["gold_documents"] == list(
            dict.fromkeys(gold["document"] for gold in row["gold_sentences"])
        )


def test_what_we_write_is_what_evaluation_reads(
    knowtrail: CommandLine, parrot: Parrot, tmp_path: Path
) -> None:
    """Our form goes to DeepEval's and comes back with the same questions."""
    ours, theirs = tmp_path / "asked.jsonl", tmp_path / "asked.csv"
    knowtrail.run(
        *("dataset", "generate", CORPUS, "--output", ours, "--goldens", "4"),
        *("--model", MODEL),
    )
    beside = tmp_path / "asked.passages.jsonl"

    there = knowtrail.run("dataset", "convert", f"jsonl:{ours},{beside}", theirs)
    back = knowtrail.run(
        "dataset", "convert", f"deepeval:{theirs}", tmp_path / "again.jsonl", "--json"
    )

    assert (there.code, there.errors, back.code) == (0, [], 0)
    asked = [row["question"] for row in _rows(ours)]
    assert [row["question"] for row in _rows(tmp_path / "again.jsonl")] == asked


def test_no_question_is_an_error_and_writes_no_file(
    knowtrail: CommandLine, parrot: Parrot, tmp_path: Path
) -> None:
    """Each failure is named with its context, and the file is not begun."""
    parrot.says("I cannot do that.")
    path = tmp_path / "asked.jsonl"

    done = knowtrail.run(
        *("dataset", "generate", CORPUS, "--output", path, "--goldens", "2"),
        *("--model", MODEL),
    )

    assert done.code == 1
    assert [line.split(" of context ")[0] for line in done.errors[:2]] == [
        "No question"
    ] * 2
    assert not path.exists()


def test_mistakes_are_told_in_a_line(
    knowtrail: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the user can mend ends with 2, before a model is asked."""
    monkeypatch.chdir(tmp_path)
    mistakes = [
        ("nowhere", "--output", "a.jsonl"),
        (CORPUS, "--output", "a.xlsx"),
        (CORPUS, "--output", "a.jsonl", "--grouping", "inter_document"),
        (CORPUS, "--output", "a.jsonl", "--evolution", "reasoning=much"),
        (CORPUS, "--output", "a.jsonl", "--goldens", "0"),
        (CORPUS, "--output", "a.jsonl", "--tokens", "1"),
    ]

    codes = {
        words: knowtrail.run("dataset", "generate", *words).code for words in mistakes
    }

    assert codes == dict.fromkeys(mistakes, 2)
    assert not (tmp_path / "a.jsonl").exists()

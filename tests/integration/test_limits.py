"""Too little space, files or memory: one line says so, and nothing is left half."""

from __future__ import annotations

import json
import resource
import time
from typing import TYPE_CHECKING

import pytest

from knowtrail.graph.server.folder import server_status
from knowtrail.graph.server.install import archive_of, find_java
from knowtrail.graph.settings import DEFAULT_NEO4J
from knowtrail.ingest.corpus import delete_corpus
from knowtrail.ingest.verify import corpus_digest, verify_corpus
from tests.command_line import ROOT, spawn
from tests.corpora import article, store_articles

if TYPE_CHECKING:
    from pathlib import Path

    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.settings import Settings
    from tests.command_line import Outcome
    from tests.databases import Database

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.thorough,
    pytest.mark.one_line,
    pytest.mark.timeout(600),
]

QUESTION = "What shapes the glacier?"
JUMPS = """
import itertools, pathlib, time
pathlib.Path(__file__).with_name("jumped").touch()
calls, before = itertools.count(), time.time
time.time = lambda: before() + (next(calls) % 3 - 1) * 86400
"""
"""A process that starts with this has a clock that jumps by a day at each look."""


@pytest.fixture(scope="module")
def graph(
    database: Database, session_connection: Connection, server: Settings
) -> Connection:
    """Return a connection to a small corpus."""
    return database.holding(
        "small and limited",
        lambda: store_articles(session_connection, server, "small", 12),
    )


def limited(
    server: Settings, home: Path, what: int, most: int, *words: str | Path
) -> Outcome:
    """Run a command in a process that may have only so much of something."""
    return spawn(
        *(f"--uri={server.uri}", f"--home={home}", "--embedder=hash:32", *words),
        env={
            "NEO4J_PASSWORD": server.password or "",
            "PYTHONDONTWRITEBYTECODE": "1",
            "KNOWTRAIL_OLLAMA_URL": "http://127.0.0.1:9",
        },
        preexec_fn=lambda: resource.setrlimit(what, (most, most)),
        timeout=120,
    )


def test_files_that_do_not_fit_leave_the_old_ones(
    graph: Connection, server: Settings, tmp_path: Path
) -> None:
    """Reports, exports, snapshots, judgements: one line, exit code 1, no half file."""
    queries = tmp_path / "pairs.jsonl"
    documents = [
        {"id": f"d{n}", "content": article(n).raw, "metadata": {}} for n in range(6)
    ]
    queries.write_text(
        json.dumps({
            "query": {"id": "q", "query": QUESTION, "metadata": {}},
            "documents": documents,
        })
        + "\n",
        "utf-8",
    )
    targets = {
        name: tmp_path / name
        for name in ("report.html", "graph.nt", "space.html", "judged.jsonl")
    }
    for target in targets.values():
        target.write_text("the old one", "utf-8")
    report, triples, space, judged = targets.values()
    words: list[list[str | Path]] = [
        ["research", "--budget=4", "--report", report, QUESTION],
        ["rdf", "export", triples],
        ["view", "graph", "-o", space],
        ["eval", "zelo", "annotate", queries, judged, "--judge=bm25"],
        ["corpus", "snapshot", "small"],
        ["export", "bulk", "--corpus=small", tmp_path / "bulk"],
    ]

    done = [
        limited(server, tmp_path / "home", resource.RLIMIT_FSIZE, 500, *given)
        for given in words
    ]

    told = [(w[0], w[1], d.code, d.errors) for w, d in zip(words, done, strict=True)]
    assert [row for row in told if row[2] != 1 or len(row[3]) != 1] == []
    assert {target.read_text("utf-8") for target in targets.values()} == {"the old one"}
    assert not [path for path in tmp_path.glob("*") if "part" in path.suffix]


@pytest.mark.parametrize("most", [12, 24, 40])
def test_too_few_open_files(
    graph: Connection, server: Settings, tmp_path: Path, most: int
) -> None:
    """A command does its work or says in one line that it cannot."""
    before = corpus_digest(graph, "small")
    file = tmp_path / "more.jsonl"
    file.write_text(
        "".join(
            json.dumps({"id": n, "title": f"T {n}", "text": article(n).raw}) + "\n"
            for n in range(3)
        ),
        "utf-8",
    )
    words: list[list[str | Path]] = [
        ["cypher", "RETURN 1"],
        ["search", "--corpus=small", QUESTION],
        ["ingest", "jsonl", file, "--corpus=more", "--themes=none"],
    ]

    done = [
        limited(server, tmp_path / "home", resource.RLIMIT_NOFILE, most, *given)
        for given in words
    ]

    told = [(w[0], d.code, d.errors) for w, d in zip(words, done, strict=True)]
    assert [row for row in told if row[1] and (row[1] != 1 or len(row[2]) != 1)] == []
    assert corpus_digest(graph, "small") == before
    assert [f for f in verify_corpus(graph, "small") if f.count] == []


def test_too_little_memory_is_told(
    graph: Connection, server: Settings, tmp_path: Path
) -> None:
    """A command that has too little to begin says in one line that it needs more."""
    most = 150 << 20
    text = "UNWIND range(1, 3000000) AS n RETURN collect('a long text ' + n) AS found"

    done = limited(server, tmp_path / "home", resource.RLIMIT_AS, most, "cypher", text)

    assert (done.code, len(done.errors)) == (1, 1)
    assert "memory" in done.errors[0]


@pytest.mark.parametrize("heap", ["16m", "96m"])
def test_a_heap_that_is_too_small_is_told(tmp_path: Path, heap: str) -> None:
    """The server's own reason reaches the user, in one line; fast starts stay."""
    archive = archive_of(DEFAULT_NEO4J, find_java())
    begin = time.monotonic()

    done = spawn(
        f"--home={tmp_path}",
        *("cypher", "UNWIND range(1, 9000000) AS n RETURN size(collect(n))"),
        env={"KNOWTRAIL_HEAP": heap},
        timeout=300,
    )

    assert (done.code, len(done.errors)) == (1, 1), done
    assert "memory" in done.errors[0].lower() or "heap" in done.errors[0].lower(), done
    assert time.monotonic() - begin < 200
    assert server_status(tmp_path) is None
    assert archive_of(DEFAULT_NEO4J, find_java()) == archive


def test_a_clock_that_jumps(
    graph: Connection, server: Settings, tmp_path: Path
) -> None:
    """It changes neither what is stored and found, nor how long that takes."""
    (tmp_path / "sitecustomize.py").write_text(JUMPS, "utf-8")
    file = tmp_path / "some.jsonl"
    rows = ({"id": n, "title": f"T {n}", "text": article(n).raw} for n in range(5))
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    answers = []
    begin = time.monotonic()
    for path in (str(ROOT), f"{tmp_path}:{ROOT}"):
        done = [
            spawn(
                *(f"--uri={server.uri}", f"--home={tmp_path}", "--embedder=hash:32"),
                *words,
                env={"NEO4J_PASSWORD": server.password or "", "PYTHONPATH": path},
                timeout=120,
            )
            for words in (
                ["ingest", "jsonl", file, "--corpus=clock", "--themes=none"],
                ["search", "--corpus=clock", "--json", QUESTION],
            )
        ]
        assert [one.code for one in done] == [0, 0], done
        hits = json.loads(done[1].out)["results"]
        answers.append((hits, corpus_digest(graph, "clock")))
        delete_corpus(graph, "clock")

    assert (tmp_path / "jumped").exists()
    assert answers[0] == answers[1]
    assert answers[0][0]
    assert time.monotonic() - begin < 240

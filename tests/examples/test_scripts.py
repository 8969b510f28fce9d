"""Scripts that ask the quick start's corpus run as they stand."""

from __future__ import annotations

import re
import runpy
import subprocess
from itertools import islice
from typing import TYPE_CHECKING

import nbformat
import pytest
from nbclient import NotebookClient

from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.ingest.bundled import articles
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.ingest.records import RawDocument
from knowtrail.retrieval.rerank.datasets import read_annotated
from knowtrail.retrieval.traverse import traverse
from tests.command_line import PROGRAM, ROOT
from tests.corpora import ListSource

if TYPE_CHECKING:
    from pathlib import Path

    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.settings import Settings
    from tests.databases import Database

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]

EMBEDDER = HashEmbedder(32)
QUESTION = "How did sailors find their longitude at sea?"
COLUMNS = ["step", "hop", "document", "score", "found"]
DOCUMENTS = [
    RawDocument(source_id=str(a["id"]), title=str(a["title"]), raw=str(a["text"]))
    for a in islice(articles(), 4)
]


class Scripts:
    """Runs scripts on a server with four documents of the quick start's corpus."""

    def __init__(
        self, connection: Connection, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.connection = connection
        self._capsys = capsys

    def run(self, name: str) -> list[str]:
        """Return the lines that a script prints."""
        self._capsys.readouterr()
        runpy.run_path(str(ROOT / "docs" / "examples" / name), run_name="__main__")
        shown = self._capsys.readouterr()
        assert shown.err == ""
        return shown.out.splitlines()


@pytest.fixture
def scripts(
    database: Database,
    session_connection: Connection,
    server: Settings,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> Scripts:
    """Return scripts that find the server in the environment."""

    def fill() -> None:
        ingest_corpus(
            session_connection,
            [ListSource(DOCUMENTS)],
            corpus="quickstart",
            embedder=EMBEDDER,
            settings=server,
            options=IngestOptions(themes="none"),
        )

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NEO4J_URI", server.uri or "")
    monkeypatch.setenv("NEO4J_USERNAME", server.username)
    monkeypatch.setenv("NEO4J_PASSWORD", server.password or "")
    monkeypatch.setenv("NEO4J_DATABASE", server.database)
    monkeypatch.setenv("KNOWTRAIL_HOME", str(tmp_path))
    monkeypatch.setenv("KNOWTRAIL_EMBEDDER", "hash:32")
    return Scripts(database.holding("quickstart of four", fill), capsys)


def test_langchain_example_prints_four_answers(scripts: Scripts) -> None:
    """Each begins with a title of the corpus; where a text has lines, it keeps them."""
    lines = scripts.run("langchain_retriever.py")

    titles = {document.title for document in DOCUMENTS}
    heads = [line.partition(": ")[0] for line in lines]
    assert sum(head in titles for head in heads) == 4
    assert heads[0] in titles


def test_langgraph_example_searches_and_answers(scripts: Scripts) -> None:
    """The question, the call, passages of the corpus, and the model's last word."""
    lines = scripts.run("langgraph_agent.py")

    said = "\n".join(lines)
    assert lines[0] == f"human: {QUESTION}"
    assert "\nai: \ntool: " in said
    passages = said.partition("tool: ")[2].partition("\nai: ")[0]
    stored = " ".join(" ".join(document.raw.split()) for document in DOCUMENTS)
    first = re.match(r'{"title": "(.+?)", "id": "\w+", "text": "([^"]{60})', passages)
    assert first is not None
    assert first[1] in {document.title for document in DOCUMENTS}
    assert first[2] in stored
    assert lines[-1] == "ai: By clocks that kept the time of the home port."


@pytest.mark.thorough
def test_memory_of_an_agent_is_kept_in_the_graph(scripts: Scripts) -> None:
    """A second agent goes on with the thread, and what was said is a history."""
    lines = scripts.run("langgraph_memory.py")
    kept = scripts.connection.query(
        "MATCH (:Thread)-->(c:Checkpoint) RETURN count(c) > 3 AS kept"
    )
    scripts.connection.run_schema(
        "MATCH (n:Thread|Checkpoint|ChannelState|PendingWrite|Branch|Session|Message) "
        "DETACH DELETE n"
    )

    assert lines == [
        "0 messages of this thread were known, now there are 4",
        f"human: {QUESTION}",
        "ai: By clocks.",
        "4 messages of this thread were known, now there are 6",
        f"human: {QUESTION}",
        "ai: By clocks.",
        "human: And before such clocks?",
        "ai: By the moon's place.",
    ]
    assert kept == [{"kept": True}]


@pytest.mark.thorough
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("scripts")
def test_deep_agent_reads_by_a_client_of_its_own() -> None:
    """An agent in another environment, with another SDK, calls the server's tools."""
    out = of_its_own("deep_agent.py")

    assert f"human: {QUESTION}" in out
    assert out.count("\ntool: ") == 2
    assert any(document.title in out for document in DOCUMENTS)
    assert "ai: By clocks that kept the time of the home port." in out


@pytest.mark.thorough
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("scripts")
def test_two_agents_are_evaluated_on_what_they_read() -> None:
    """Both found documents of the corpus, and the one with more calls read more."""
    told = re.findall(
        r"(\w+) (\d+) % (\d) calls (\d+) tokens", of_its_own("evaluate_agents.py")
    )

    (plain, share, one, read), (deep, again, two, more) = told
    assert (plain, deep, one, two) == ("create_agent", "create_deep_agent", "1", "2")
    assert share == again
    assert 0 < int(share) <= 100
    assert 0 < int(read) < int(more)


def of_its_own(name: str) -> str:
    """Return what a script prints that brings its environment."""
    script = ROOT / "docs" / "examples" / name
    done = subprocess.run(
        ["uv", "run", "--quiet", "--script", script, *PROGRAM, "mcp"],
        capture_output=True,
        text=True,
        check=False,
        timeout=500,  # the first time, its environment is made
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_py2neo_example_prints_the_walk_as_a_table(
    scripts: Scripts, server: Settings
) -> None:
    """Corpus, question, and a row for each step of the stored walk."""
    walk = traverse(
        scripts.connection,
        QUESTION,
        embedder=EMBEDDER,
        algorithm="query_traversal",
        corpus="quickstart",
        settings=server,
    ).walk

    corpus, question, header, _, *rows = scripts.run("py2neo_style.py")

    assert corpus == "Corpus quickstart: 4 documents"
    assert question == f"query_traversal: {QUESTION}"
    assert [name.strip() for name in header.split("|")] == COLUMNS
    indexes = [row.split("|")[0].strip() for row in rows]
    assert [int(index) for index in indexes if index] == [s.index for s in walk.steps]


@pytest.mark.thorough
def test_example_of_judgement_benchmarks_draws_and_explains(
    scripts: Scripts, tmp_path: Path
) -> None:
    """Five queries, two rerankers, one picture, and a reason from the graph."""
    lines = scripts.run("zelo.py")

    out = "\n".join(lines)
    folder = tmp_path / "zelo-example"
    assert "5 queries exported" in out
    assert len(list(read_annotated(folder / "annotated.jsonl"))) == 5
    assert out.count("'ndcg':") == 2
    assert "<svg" in (folder / "battles.svg").read_text("utf-8")
    assert any(" against " in line for line in lines[-8:])
    assert "scores A" in out


def test_every_benchmark_has_help(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each says what it measures and what each of its options means."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    commands = runpy.run_path(str(ROOT / "benchmarks" / "run.py"))["commands"]

    _, found = commands()

    told = {name: parser.format_help() for name, parser in found.items()}
    assert [name for name, help_ in told.items() if "--small" not in help_] == []


NOTEBOOKS = {
    "dump-to-map": 2,
    "extraction-fields": 1,
    "first-walk": 4,
    "heritage-questions": 2,
    "langchain-evaluated": 1,
    "relevance-in-pairs": 1,
}
"""Notebook -> how many pictures it shows."""


def test_notebooks_are_stored_without_what_they_show() -> None:
    """All are known here, and begin with what the reader can do after them."""
    folder = ROOT / "docs" / "notebooks"
    books = {p.stem: nbformat.read(p, 4) for p in sorted(folder.glob("*.ipynb"))}

    assert list(books) == sorted(NOTEBOOKS)
    assert [
        name
        for name, book in books.items()
        if any(
            cell.get("outputs") or cell.get("execution_count") for cell in book.cells
        )
        or "After this notebook you can" not in book.cells[0].source
    ] == []


@pytest.mark.thorough
@pytest.mark.one_line
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_has_its_pictures_inline(
    scripts: Scripts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Every cell runs in a kernel of Jupyter's, without a word on standard error."""
    for variable in ("JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable.lower()))
    book = nbformat.read(ROOT / "docs" / "notebooks" / f"{name}.ipynb", 4)
    where = {"metadata": {"path": str(tmp_path)}}

    NotebookClient(book, timeout=280, kernel_name="python3", resources=where).execute()

    shown = [output for cell in book.cells for output in cell.get("outputs", ())]
    kinds = [set(output.get("data", ())) for output in shown]
    assert (
        sum(bool(k & {"image/png", "image/svg+xml"}) for k in kinds) == NOTEBOOKS[name]
    )
    assert [output for output in shown if output.get("name") == "stderr"] == []
    assert scripts.connection.read("retrieval/corpora") or name == "heritage-questions"

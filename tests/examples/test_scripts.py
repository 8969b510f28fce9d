"""Scripts that ask the quick start's corpus run as they stand."""

from __future__ import annotations

import json
import runpy
from itertools import islice
from typing import TYPE_CHECKING

import pytest

from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.ingest.bundled import articles
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.ingest.records import RawDocument
from knowtrail.retrieval.rerank.datasets import read_annotated
from knowtrail.retrieval.traverse import traverse
from tests.command_line import ROOT
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
        runpy.run_path(str(ROOT / "examples" / name), run_name="__main__")
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


def test_notebook_has_its_pictures_inline(scripts: Scripts) -> None:
    """Every cell runs as Jupyter runs it; four of them show a PNG."""
    from IPython.core.interactiveshell import InteractiveShell

    notebook = json.loads((ROOT / "examples" / "walks.ipynb").read_text("utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    shell = InteractiveShell()
    shown = []

    for cell in cells:
        ran = shell.run_cell("".join(cell["source"]))
        assert ran.success, (cell["source"], ran.error_in_exec)
        shown += shell.display_formatter.format(ran.result)[0]

    assert shown.count("image/png") == 4
    assert scripts.connection.read("retrieval/corpora")
    assert not any(cell["outputs"] for cell in cells)

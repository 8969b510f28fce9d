"""The example in py2neo's manner runs as it stands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from graph.embedders import HashEmbedder
from ingest.bundled import articles
from ingest.options import IngestOptions
from ingest.pipeline import ingest_corpus
from ingest.records import RawDocument
from retrieval.traverse import traverse
from tests.corpora import ListSource

if TYPE_CHECKING:
    from graph.connection import Connection
    from graph.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
FIELDS = ["step", "hop", "document", "score", "found"]
QUESTION = "How did sailors find their longitude at sea?"


@pytest.mark.integration
def test_the_example_prints_the_walk_as_a_table(
    connection: Connection, server: Settings
) -> None:
    """Corpus, question, and a row for each step of the stored walk."""
    some = [
        RawDocument(source_id=str(a["id"]), title=str(a["title"]), raw=str(a["text"]))
        for a, _ in zip(articles(), range(4), strict=False)
    ]
    embedder = HashEmbedder(32)
    ingest_corpus(
        connection,
        [ListSource(some)],
        corpus="quickstart",
        embedder=embedder,
        settings=server,
        options=IngestOptions(themes="none"),
    )
    walk = traverse(
        connection,
        embedder,
        QUESTION,
        algorithm="query_traversal",
        corpus="quickstart",
        settings=server,
    ).walk
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "NEO4J_URI": server.uri or "",
        "NEO4J_USERNAME": server.username,
        "NEO4J_PASSWORD": server.password or "",
        "NEO4J_DATABASE": server.database,
    }

    ran = subprocess.run(
        [sys.executable, "examples/py2neo_style.py"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    corpus, question, header, _, *rows = ran.stdout.splitlines()
    assert (ran.returncode, ran.stderr) == (0, "")
    assert corpus == "Corpus quickstart: 4 documents"
    assert question == f"query_traversal: {QUESTION}"
    assert header.split() == [
        "step",
        "|",
        "hop",
        "|",
        "document",
        "|",
        "score",
        "|",
        "found",
    ]
    indexes = [row.split("|")[0].strip() for row in rows]
    assert [int(index) for index in indexes if index] == [s.index for s in walk.steps]

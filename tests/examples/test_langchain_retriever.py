"""The LangChain example runs as it stands."""

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
from tests.corpora import ListSource

if TYPE_CHECKING:
    from graph.connection import Connection
    from graph.settings import Settings

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.integration
def test_the_example_prints_four_answers(
    connection: Connection, server: Settings
) -> None:
    """Each line has a title of the corpus and sentences."""
    some = [
        RawDocument(source_id=str(a["id"]), title=str(a["title"]), raw=str(a["text"]))
        for a, _ in zip(articles(), range(4), strict=False)
    ]
    ingest_corpus(
        connection,
        [ListSource(some)],
        corpus="quickstart",
        embedder=HashEmbedder(32),
        settings=server,
        options=IngestOptions(themes="none"),
    )
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "NEO4J_URI": server.uri or "",
        "NEO4J_USERNAME": server.username,
        "NEO4J_PASSWORD": server.password or "",
        "NEO4J_DATABASE": server.database,
        "KNOWTRAIL_EMBEDDER": "hash:32",
    }

    ran = subprocess.run(
        [sys.executable, "examples/langchain_retriever.py"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    lines = ran.stdout.splitlines()
    assert (ran.returncode, ran.stderr) == (0, "")
    assert len(lines) == 4
    titles = {document.title for document in some}
    assert {line.partition(": ")[0] for line in lines} <= titles

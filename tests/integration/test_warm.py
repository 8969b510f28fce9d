"""Commands beside a running server: its model embeds, and theirs is not loaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from knowtrail.graph.connection import Connection
from knowtrail.graph.embedders import load_embedder
from knowtrail.graph.errors import DatabaseError
from knowtrail.graph.server import server_status, stop_server
from knowtrail.graph.settings import DEFAULT_EMBEDDER, Settings
from knowtrail.retrieval.search import search
from tests.command_line import ROOT, spawn, typed
from tests.java import short_lived

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(300)]

TALES = {
    "Fox": "The fox hunts at night. It eats mice. A fox lives in a den.",
    "Owl": "The owl hunts at night too. It hears mice. It sees the fox.",
    "Eel": "The eel lives in the sea. It swims far. At night the eel hunts.",
}
QUESTION = "Who hunts mice at night?"
SPARED = {
    *("torch", "sentence_transformers", "transformers", "sklearn"),
    *("keybert", "litellm", "pandas"),
}
SCRIPT = """
import asyncio, contextlib, io, json, sys
from knowtrail.graph.cli import main

spared, question, commands = json.loads(sys.argv[1])
found = {"offenders": {}, "failed": {}, "said": {}}

def look(name):
    for module in sorted(sys.modules.keys() & set(spared)):
        found["offenders"].setdefault(module, name)

for words in commands:
    name, out, err = " ".join(words), io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(words)
        except SystemExit as ended:
            if ended.code:
                found["failed"][name] = err.getvalue()
    found["said"][name] = out.getvalue()
    look(name)

from knowtrail.retrieval.langchain import KnowtrailRetriever

with KnowtrailRetriever.from_env() as retriever:
    found["sync"] = [document.id for document in retriever.invoke(question)]

async def ask():
    async with KnowtrailRetriever.from_env() as retriever:
        return [document.id for document in await retriever.ainvoke(question)]

found["async"] = asyncio.run(ask())
look("KnowtrailRetriever.from_env")
print(json.dumps(found))
"""


def _write(path: Path, tales: dict[str, str]) -> Path:
    """Write tales as JSON lines."""
    rows = [{"id": t, "title": t, "text": text} for t, text in tales.items()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield the folder of a server that stays, with a corpus of the default model."""
    home = tmp_path_factory.mktemp("home")
    lines = _write(home / "tales.jsonl", TALES)
    try:
        with short_lived():
            started = spawn(f"--home={home}", "server", "start")
        assert started.code == 0, started.errors
        words = ["ingest", "jsonl", lines, "--corpus=tales", "--window=1"]
        done = typed(f"--home={home}", *words)
        assert done.code == 0, done.errors
        yield home
    finally:
        stop_server(home)


@pytest.fixture(scope="module")
def connection(home: Path) -> Iterator[Connection]:
    """Yield a connection to it."""
    info = server_status(home)
    assert info is not None
    settings = Settings(home=home).with_server(
        uri=info.uri, username=info.username, password=info.password
    )
    with Connection.open(settings) as connection:
        yield connection


def test_vectors_of_the_server_are_those_of_the_model(connection: Connection) -> None:
    """The same text has the same vector; a model of no corpus has none."""
    texts = [QUESTION, *TALES.values()]
    own = load_embedder(DEFAULT_EMBEDDER)

    rows = connection.read("models/embed", model=DEFAULT_EMBEDDER, texts=texts)
    other = connection.read("models/embed", model="another/model", texts=texts)

    found = np.asarray([row["vector"] for row in rows])
    assert np.abs(found - np.asarray(own.embed_documents(texts))).max() < 1e-6
    assert other == []
    with pytest.raises(DatabaseError, match="texts has 257: give at most 256"):
        connection.read("models/embed", model=DEFAULT_EMBEDDER, texts=["a"] * 257)


def test_commands_spare_what_the_server_has(home: Path, connection: Connection) -> None:
    """None imports a model's libraries, and what is found is what the model finds."""
    own = load_embedder(DEFAULT_EMBEDDER)
    own.embed_query(QUESTION)
    wanted = search(connection, own, QUESTION)
    changed = _write(home / "changed.jsonl", TALES | {"Fox": "The fox sleeps by day."})
    search_as_json = ["search", "--json", QUESTION]
    commands: list[list[str]] = [
        ["--help"],
        ["server", "status"],
        ["corpus", "list"],
        ["corpus", "show", "tales"],
        ["schema", "show"],
        ["cypher", "RETURN 1"],
        search_as_json,
        ["search", "--rerank=embedding", QUESTION],
        ["traverse", QUESTION],
        ["compare", QUESTION],
        ["ask", QUESTION],
        ["view", "path", QUESTION, "-o", str(home / "path.html")],
        ["view", "graph", "-o", str(home / "graph.html")],
        ["--embedder=hash:64", "ingest", "jsonl", str(changed), "--dry-run"],
    ]
    hits = [hit.chunk.id for hit in wanted.hits]

    found = _run(home, [*commands, ["ingest", "jsonl", str(changed)]])

    assert found["failed"] == {}
    assert found["offenders"] == {}
    results = json.loads(found["said"][" ".join(search_as_json)])["results"]
    assert [row["chunkId"] for row in results] == hits
    assert [row["score"] for row in results] == pytest.approx(
        [hit.score for hit in wanted.hits], abs=1e-6
    )
    assert "1 updated" in found["said"][f"ingest jsonl {changed}"]
    assert found["sync"] == found["async"] != []


def _run(home: Path, commands: list[list[str]]) -> dict[str, Any]:
    """Run commands in one new process; return what came of them."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("NEO4J_", "KNOWTRAIL_"))
    }
    given = {
        "KNOWTRAIL_HOME": str(home),
        "KNOWTRAIL_CORPUS": "tales",
        "KNOWTRAIL_OLLAMA_URL": "http://127.0.0.1:9",  # where nobody is
    }
    done = subprocess.run(
        [
            *(sys.executable, "-c", SCRIPT),
            json.dumps([sorted(SPARED), QUESTION, commands]),
        ],
        env=kept | given | {"PYTHONPATH": str(ROOT)},
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found

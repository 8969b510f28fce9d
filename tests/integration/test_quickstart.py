"""The first command of README.md, and what is done beside the server that it leaves.

A server, a corpus, a walk, a picture; commands whose texts its model embeds; examples.
"""

from __future__ import annotations

import io
import json
import os
import re
import runpy
import shlex
import signal
import subprocess
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from knowtrail.graph.db.connection import Connection
from knowtrail.graph.errors import DatabaseError
from knowtrail.graph.models.embedders import load_embedder
from knowtrail.graph.server.folder import server_status
from knowtrail.graph.server.install import install_server
from knowtrail.graph.settings import DEFAULT_EMBEDDER, Settings
from knowtrail.retrieval.cli.quickstart import QUESTION
from knowtrail.retrieval.search import search
from tests.command_line import PROGRAM, ROOT, spawn, typed
from tests.examples.conftest import blocks
from tests.java import plan_once, short_lived

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.command_line import Outcome

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.thorough,
    pytest.mark.timeout(600),
]

NO_NETWORK = {
    "HF_HUB_OFFLINE": "1",
    **dict.fromkeys(
        ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"),
        "http://127.0.0.1:9",
    ),
}
"""Nothing listens there: whatever asks the network through it gets no answer."""

EXAMPLES = sorted(path.name for path in (ROOT / "docs" / "examples").glob("*.py"))
TESTED = {
    *("deep_agent.py", "evaluate_agents.py", "langchain_retriever.py"),
    *("py2neo_style.py", "zelo.py"),
}
"""Examples that are looked at closely, on a smaller corpus."""

TALES = {
    "Fox": "The fox hunts at night. It eats mice. A fox lives in a den.",
    "Owl": "The owl hunts at night too. It hears mice. It sees the fox.",
    "Eel": "The eel lives in the sea. It swims far. At night the eel hunts.",
}
MICE = "Who hunts mice at night?"
SPARED = {
    *("torch", "sentence_transformers", "transformers", "sklearn"),
    *("keybert", "litellm", "pandas"),
}
SCRIPT = """
import asyncio, contextlib, io, json, sys
from knowtrail.graph.cli.root import main

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A run of the command on a new home, as a user without network."""

    home: Path
    picture: Path
    first: Outcome


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tried]:
    """Run the command; the server is stopped by its command at the end."""
    folder = tmp_path_factory.mktemp("new user")
    home = folder / "home"
    install_server(home)
    plan_once(home)
    words = ("--home", home, "quickstart")
    try:
        with short_lived():
            yield Tried(
                home=home,
                picture=home / "pictures" / "walk.html",
                first=spawn(*words, env=NO_NETWORK, cwd=folder),
            )
    finally:
        stopped = spawn("--home", home, "server", "stop")
        assert stopped.code == 0
        assert server_status(home) is None


def _commands(text: str) -> list[list[str]]:
    """Return the words after `knowtrail` of every command that is printed."""
    lines = text.partition("Try next:")[2].splitlines()
    return [
        words[words.index("knowtrail") + 1 :]
        for line in lines
        if "knowtrail" in (words := shlex.split(line))
    ]


def test_everything_is_shown(tried: Tried) -> None:
    """Corpus, walk, sentences with scores, picture, address, commands."""
    out = tried.first.out

    assert (tried.first.code, tried.first.errors) == (0, [])
    assert out.startswith(f"Question: {QUESTION}\n")
    assert "14 documents ingested, 0 already there" in out
    assert re.search(r"Step +Hop +Document +Sentences +New +Score", out)
    assert re.search(r"^ +0 +0 +\S.* +\d+-\d+ +\d +0\.\d{3}", out, re.MULTILINE)
    assert "Galileo scorned the idea" in " ".join(out.split())
    assert re.search(r"^ - .*\.\s+\(0\.\d{3}\)", out, re.MULTILINE | re.DOTALL)
    assert re.search(r"Neo4j runs at bolt://127\.0\.0\.1:\d+, user neo4j", out)
    assert [words[2] for words in _commands(out)] == ["ask", "compare", "cypher", "rdf"]


def test_readme_shows_what_it_prints(tried: Tried) -> None:
    """Every line of the excerpt but the ends of long ones is in the real output."""
    (excerpt,) = blocks("README.md", "text")

    out = " ".join(tried.first.out.split())

    pieces = [" ".join(line.split()) for line in excerpt.splitlines()[1:]]
    assert [piece for piece in pieces if piece not in out] == []
    assert re.search(r"695 chunks, 723 sentences, \d+ similarity edges", out)


def test_nothing_is_left_where_it_was_called(tried: Tried) -> None:
    """The picture is in the folder of the server, and its path is told."""
    assert [path.name for path in tried.home.parent.iterdir()] == ["home"]
    assert f"Picture of the walk: {tried.picture}" in tried.first.out


def test_progress_counts_documents_and_texts(tried: Tried) -> None:
    """Without a terminal too: each stage by its own measure, and no line twice."""
    lines = tried.first.progress

    assert re.fullmatch(r"documents read: 14 of 14 after \d+ s", _last(lines, "docu"))
    assert re.fullmatch(r"themes: 14 of 14 after \d+ s", _last(lines, "themes"))
    assert re.fullmatch(r"texts: [\d,]+ of 1,418 after \d+ s", _last(lines, "texts"))
    counts = [line.partition(" after ")[0] for line in lines if "14 of 14" in line]
    assert len(set(counts)) == len(counts)


def _last(lines: list[str], stage: str) -> str:
    """Return the last line of a stage."""
    return [line for line in lines if line.startswith(stage)][-1]


def test_second_run_ingests_nothing_and_walks_the_same(tried: Tried) -> None:
    """All documents are there, the server too, and the answer is the same."""
    words = ("--home", tried.home, "quickstart", "--picture", tried.picture)

    second = typed(*words, env=NO_NETWORK)

    assert second.code == 0
    assert "0 documents ingested, 14 already there" in second.out
    assert _answer(tried.first.out) == _answer(second.out)


def _answer(out: str) -> str:
    """Return the table and the sentences."""
    return out[out.index("Step  ") : out.index("Picture of the walk")]


@pytest.mark.parametrize("number", range(4))
def test_printed_commands_give_rows(tried: Tried, number: int) -> None:
    """Each printed command runs as it stands and has an answer."""
    words = _commands(tried.first.out)[number]

    done = typed(*words, env=NO_NETWORK)

    assert words[:2] == ["--home", str(tried.home)]
    assert done.code == 0
    assert [line for line in done.errors if line.startswith("Error")] == []
    assert len(done.out.splitlines()) > 3


def test_a_broad_question_is_answered_from_all_that_it_needs(tried: Tried) -> None:
    """The problem, the watch that solved it, and the man who made the watch."""
    asked = "How did sailors find their longitude at sea?"
    words = ("--home", tried.home, "traverse", "--corpus", "quickstart", asked)

    done = typed(*words, "--json", env=NO_NETWORK)

    titles = {step["title"] for step in json.loads(done.out)["steps"]}
    assert titles >= {"Longitude problem", "Marine chronometer", "John Harrison"}
    assert "timekeepers good enough to find longitude at sea" in done.out


@pytest.mark.thorough
def test_its_walk_is_among_the_pictures_of_the_corpus(
    tried: Tried, tmp_path: Path
) -> None:
    """It is recorded: `view index` draws it, and saved queries show its steps."""
    home = ("--home", tried.home)
    words = ("view", "index", "--corpus=quickstart", "--documents=0", "-o")

    drawn = typed(*home, *words, tmp_path / "pictures", env=NO_NETWORK)
    steps = typed(*home, "cypher", "--saved", "traversal_steps")

    assert (drawn.code, drawn.errors) == (0, [])
    assert (tmp_path / "pictures" / "walk-1.png").stat().st_size > 10_000
    assert steps.out.splitlines()[0].startswith("step")


def test_picture_asks_the_network_for_nothing(tried: Tried) -> None:
    """The page holds all it needs; the only addresses are names of XML spaces."""
    page = tried.picture.read_text("utf-8")

    addresses = set(re.findall(r"https?://[^\s\"'<>)]+", page))
    assert str(tried.picture) in tried.first.out
    assert {a for a in addresses if not a.startswith("http://www.w3.org/")} == set()
    assert not re.search(r"@import|<(?:link|iframe|img)\b|src\s*=|[\"']//", page)
    assert "svg" in page


def test_password_is_not_shown(tried: Tried) -> None:
    """The password is in its file; the output says how to find it, not what it is."""
    password = (tried.home / "server" / "password").read_text("utf-8").strip()

    shown = tried.first.out + tried.picture.read_text("utf-8")

    assert len(password) >= 16
    assert password not in shown
    assert "server status" in shown


def test_another_question_is_asked_of_the_same_corpus(tried: Tried) -> None:
    """`--question` asks something else and draws another picture."""
    picture = tried.picture.with_name("other.html")

    done = typed(
        *("--home", tried.home, "quickstart", "--picture", picture),
        *("--question", "Who built the first marine chronometer?"),
        env=NO_NETWORK,
    )

    assert done.code == 0
    assert "Marine chronometer" in done.out
    assert picture.exists()


def test_an_interrupted_run_says_that_the_server_runs(
    tried: Tried, tmp_path: Path
) -> None:
    """Who stops it half way learns what is left running, and how to stop that."""
    words = ("--home", str(tried.home), "quickstart")
    with subprocess.Popen(
        [*PROGRAM, *words],
        env=os.environ | NO_NETWORK | {"PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        preexec_fn=_take_interrupts,
    ) as run:
        assert run.stderr is not None
        begun = next(line for line in run.stderr if line.startswith("documents"))
        run.send_signal(signal.SIGINT)
        told = run.stderr.read()

    assert begun
    # A shell shows 130 for either: Python may end by the signal instead.
    assert run.returncode in {130, -signal.SIGINT}, told
    assert "Neo4j runs at bolt://127.0.0.1:" in told
    assert "server status" in told


def _take_interrupts() -> None:
    """Undo what a shell does to jobs in the background, which ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _write(path: Path, tales: dict[str, str]) -> Path:
    """Write tales as JSON lines."""
    rows = [{"id": t, "title": t, "text": text} for t, text in tales.items()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.fixture(scope="module")
def home(tried: Tried) -> Path:
    """Return the folder of the running server, with a second corpus of its model."""
    lines = _write(tried.home / "tales.jsonl", TALES)
    words = ("ingest", "jsonl", lines, "--corpus=tales", "--window=1")
    done = typed(f"--home={tried.home}", *words)
    assert done.code == 0, done.errors
    return tried.home


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


@pytest.mark.thorough
def test_vectors_of_the_server_are_those_of_the_model(connection: Connection) -> None:
    """The same text has the same vector; a model of no corpus has none."""
    texts = [MICE, *TALES.values()]
    own = load_embedder(DEFAULT_EMBEDDER)

    rows = connection.read("models/embed", model=DEFAULT_EMBEDDER, texts=texts)
    other = connection.read("models/embed", model="another/model", texts=texts)

    found = np.asarray([row["vector"] for row in rows])
    assert np.abs(found - np.asarray(own.embed_documents(texts))).max() < 1e-6
    assert other == []
    with pytest.raises(DatabaseError, match="texts has 257: give at most 256"):
        connection.read("models/embed", model=DEFAULT_EMBEDDER, texts=["a"] * 257)


@pytest.mark.thorough
def test_commands_spare_what_the_server_has(home: Path, connection: Connection) -> None:
    """None imports a model's libraries, and what is found is what the model finds."""
    own = load_embedder(DEFAULT_EMBEDDER)
    own.embed_query(MICE)
    wanted = search(connection, MICE, embedder=own, corpus="tales")
    changed = _write(home / "changed.jsonl", TALES | {"Fox": "The fox sleeps by day."})
    search_as_json = ["search", "--json", MICE]
    commands: list[list[str]] = [
        ["--help"],
        ["server", "status"],
        ["corpus", "list"],
        ["corpus", "show", "tales"],
        ["schema", "show"],
        ["cypher", "RETURN 1"],
        search_as_json,
        ["search", "--rerank=embedding", MICE],
        ["traverse", MICE],
        ["compare", MICE],
        ["ask", MICE],
        ["view", "path", MICE, "-o", str(home / "path.html")],
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
            json.dumps([sorted(SPARED), MICE, commands]),
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


@pytest.mark.thorough
@pytest.mark.parametrize("name", [n for n in EXAMPLES if n not in TESTED])
def test_example_runs(
    tried: Tried, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Every example prints something, and nobody has to edit it first."""
    for variable in [v for v in os.environ if v.startswith(("NEO4J_", "KNOWTRAIL_"))]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("KNOWTRAIL_HOME", str(tried.home))
    monkeypatch.chdir(tmp_path)
    out = io.StringIO()

    with redirect_stdout(out):
        runpy.run_path(str(ROOT / "docs" / "examples" / name), run_name="__main__")

    assert len(out.getvalue().splitlines()) >= 2

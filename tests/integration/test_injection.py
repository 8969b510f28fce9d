"""Texts that look like commands, in every stored field, out by every door: only texts.

A listener and a file that must not come to be tell whether anything obeyed one.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
import socket
import subprocess
import unicodedata
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import rdflib
from lxml import html
from mcp.client.client import Client

from knowtrail.graph.cli.rows import plain_text
from knowtrail.graph.db.connection import AsyncConnection
from knowtrail.graph.db.labels import LABELS
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.ingest.verify import verify_corpus
from knowtrail.retrieval.mcp.server import build_server
from knowtrail.retrieval.mcp.tools import Tools
from knowtrail.retrieval.search import search
from knowtrail.retrieval.traverse import traverse
from tests.command_line import CommandLine
from tests.hostile import hostile_texts
from tests.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.settings import Settings

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.thorough,
    pytest.mark.one_line,
    pytest.mark.timeout(600),
]

EMBEDDER = HashEmbedder(32)
CORPUS = "hostile"
LABELS_USED = "MATCH (n) UNWIND labels(n) AS label RETURN DISTINCT label AS label"


class Canary:
    """Hostile texts, and whether one of them was obeyed."""

    def __init__(self, listener: socket.socket, file: Path) -> None:
        self._listener = listener
        self.file = file
        self.texts = hostile_texts(
            f"http://127.0.0.1:{listener.getsockname()[1]}", str(file)
        )
        self.some = self.texts[: len(self.texts) // 2 : 8]

    def sings(self) -> str:
        """Say what was obeyed, if anything was."""
        if self.file.exists():
            return "a file was made"
        try:
            self._listener.accept()[0].close()
        except BlockingIOError:
            return ""
        return "an address was asked"


@pytest.fixture(scope="module")
def canary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Canary]:
    """Yield the texts, while somebody listens where they lead."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        yield Canary(listener, tmp_path_factory.mktemp("canary") / "made")


@pytest.fixture
def command(
    server: Settings,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> CommandLine:
    """Return the command line, in a folder of its own."""
    monkeypatch.setenv("NEO4J_PASSWORD", server.password or "")
    monkeypatch.chdir(tmp_path)
    return CommandLine(server, capsys, "hash:32")


@pytest.fixture
def stored(emptied: Connection, command: CommandLine, canary: Canary) -> Connection:
    """Return a connection to a corpus that has every text in every field."""
    if emptied.query("MATCH (k:Corpus {name: $name}) RETURN k", {"name": CORPUS}):
        return emptied
    with Path("hostile.jsonl").open("w", encoding="utf-8") as file:
        for number, text in enumerate(canary.texts):
            record = {
                "id": f"{number} {text}",
                "title": text,
                "text": f"{text}. A lamp burns by the tower. It is number {number}.",
                "categories": [text],
                "url": f"https://a.example/{text}",
                "language": "en",
                "note": text,
                "notes": [text, text],
                "links": [{"start": 0, "end": len(text), "target": text}],
            }
            file.write(json.dumps(record) + "\n")
    done = command.run("ingest", "jsonl", "hostile.jsonl", f"--corpus={CORPUS}")
    assert done.code == 0, done
    assert f"{len(canary.texts)}" in done.out
    return emptied


def tidy(text: str) -> str:
    """Return a text with white space and what no text has as one space."""
    return " ".join(plain_text(unicodedata.normalize("NFC", text)).split())


def steers(text: str) -> list[str]:
    """Return the lines that would steer a terminal."""
    return [line for line in text.split("\n") if plain_text(line) != line]


def test_every_field_is_stored_as_it_was_given(
    stored: Connection, canary: Canary
) -> None:
    """No label, property or node comes of a text, and the corpus is sound."""
    rows = stored.query(
        "MATCH (d:Document {corpus: $corpus}) "
        "RETURN d.title AS title, d.note AS note, d.notes AS notes, d.url AS url",
        {"corpus": CORPUS},
    )
    labels = {row["label"] for row in stored.query(LABELS_USED)}
    properties = {
        row["key"]
        for row in stored.query(
            "MATCH (n) UNWIND keys(n) AS key RETURN DISTINCT key AS key"
        )
    }

    assert {row["note"] for row in rows} == set(canary.texts)
    assert all(row["notes"] == [row["note"]] * 2 for row in rows)
    assert {tidy(row["title"]) for row in rows} == set(map(tidy, canary.texts))
    assert labels <= LABELS.keys()
    assert not {key for key in properties if "intruder" in key.lower()}
    assert [f for f in verify_corpus(stored, CORPUS) if f.count] == []
    assert canary.sings() == ""


def test_every_text_can_be_asked(stored: Connection, canary: Canary) -> None:
    """By all ways of finding an anchor, words and vectors; questions are kept whole."""
    for number, text in enumerate(canary.texts):
        for algorithm in ("hybrid", "basic_retrieval", "auto")[
            number % 3 : number % 3 + 1
        ]:
            found = search(
                stored,
                text,
                embedder=EMBEDDER,
                corpus=CORPUS,
                algorithm=algorithm,
                k=2,
            )
            assert found.hits, (algorithm, text)
    for text in canary.some:
        walked = traverse(
            stored,
            text,
            embedder=EMBEDDER,
            corpus=CORPUS,
            algorithm="query_traversal",
            filter={"document.note": {"$in": canary.texts}},
        )
        kept = stored.query(
            "MATCH (t:Traversal {id: $id})-[:FOR_QUERY]->(q) RETURN q.text AS text",
            {"id": walked.traversal_id},
        )
        assert [row["text"] for row in kept] == [text]

    labels = {row["label"] for row in stored.query(LABELS_USED)}
    assert labels <= LABELS.keys()
    assert canary.sings() == ""


def test_terminal_json_and_csv(
    stored: Connection, command: CommandLine, canary: Canary
) -> None:
    """A terminal is not steered; what machines read is what was stored."""
    statement = (
        "MATCH (d:Document {corpus: $corpus}) "
        "RETURN d.note AS note, d {.note, .notes} AS d ORDER BY d.id"
    )
    asked = ["cypher", statement, f"--param=corpus={CORPUS}"]
    shown = command.run(*asked, "--rows=1000", "--wide")
    as_json = json.loads(command.run(*asked, "--json").out)
    as_csv = list(
        csv.DictReader(io.StringIO(command.run(*asked, "--csv").out, newline=""))
    )

    assert steers(shown.out) == []
    for rows in (as_json, as_csv):
        assert {row["note"] for row in rows} == set(canary.texts)
    outs = []
    for text in canary.some:
        question = [f"--corpus={CORPUS}", "--", text]
        outs += [command.run("search", "--k=3", *question)]
        parameter = f"--param=title={json.dumps(text)}"
        outs += [command.run("cypher", "--saved=mentions", parameter)]
    question = [f"--corpus={CORPUS}", "--", canary.some[0]]
    outs += [
        command.run("traverse", "--algorithm=kg_traversal", *question),
        command.run("compare", *question),
        command.run("ask", "--route=graph", *question),
        command.run("corpus", "show", CORPUS),
        command.run("corpus", "list"),
        command.run("cypher", "--saved=walks"),
        command.run("cypher", "--saved=terms"),
        command.run("corpus", "forget", CORPUS, "--yes", "no \x1b[31m such"),
        command.run("search", "--corpus=no \x1b[31m such", "a"),
        command.run("cypher", "RETURN \x1b[31m"),
    ]
    assert [done for done in outs if steers(done.out)] == []
    assert [done.errors for done in outs if steers("\n".join(done.errors))] == []
    assert {done.code for done in outs[:-3]} == {0}
    assert {done.code for done in outs[-3:]} == {2}
    assert canary.sings() == ""


def test_pages_pictures_and_reports(
    stored: Connection, command: CommandLine, canary: Canary, tmp_path: Path
) -> None:
    """A browser shows pages, drawings and reports, and makes nothing of the texts."""
    asked = [f"--corpus={CORPUS}", "--", canary.texts[0]]
    made = [
        command.run("view", "graph", "-o", "graph.html", *asked),
        command.run("view", "path", "-o", "path.html", *asked),
        command.run("view", "path", "-o", "path.svg", *asked),
        command.run(
            *("view", "graph", "-o", "links.html", "--cypher"),
            "MATCH p = (:Document)-[:IN_CATEGORY]->() RETURN p",
        ),
        command.run(
            "view", "index", "-o", "index", f"--corpus={CORPUS}", "--documents=12"
        ),
        command.run("research", "--budget=4", "--report=report.html", *asked),
        command.run("research", "--budget=4", "--report=report.md", *asked),
    ]
    assert [done for done in made if done.code != 0] == []

    pages = sorted([*tmp_path.glob("*.html"), *tmp_path.glob("*.svg")])
    pages += [tmp_path / "index" / "index.html"]
    assert len(pages) == 7  # with the walks of the report in Markdown
    for page in pages:
        assert opened(page, tmp_path) == [], page
    report = (tmp_path / "report.md").read_text("utf-8")
    assert steers(report) == []
    assert "](javascript:" not in report
    assert "<script" not in report.replace("\\<script", "")
    assert canary.sings() == ""


def opened(page: Path, home: Path) -> list[str]:
    """Return what of the texts became part of a page that a browser has opened."""
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("no browser: apt install chromium")
    done = subprocess.run(
        [
            *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"),
            *("--virtual-time-budget=3000", f"--user-data-dir={home / 'browser'}"),
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    tree = html.document_fromstring(done.stdout)
    found = [str(e.tag) for e in tree.iter("intruder", "iframe", "base", "mglyph")]
    found += [
        f"{element.tag} {name}"
        for element in tree.iter()
        for name, value in element.attrib.items()
        if (name.startswith("on") and "owned" in value)
        or value.strip().lower().startswith("javascript:")
    ]
    if tree.findtext(".//title") == "owned":
        found.append("a script ran")
    return found


async def test_agents_are_given_data(
    stored: Connection, server: Settings, canary: Canary
) -> None:
    """Each text arrives at a client of MCP as the text of a part."""
    async with await AsyncConnection.open(server) as connection:
        with closing(Tools(connection, server)) as tools:
            async with Client(build_server(tools)) as asking:
                found: list[Any] = []
                for text in canary.some:
                    told = await asking.call_tool(
                        "search", {"question": text, "corpus": CORPUS, "k": 3}
                    )
                    assert not told.is_error, told.content
                    found += (told.structured_content or {})["parts"]
                rows = await asking.call_tool(
                    "read_cypher",
                    {
                        "statement": "MATCH (d:Document) WHERE d.note IN $texts "
                        "RETURN d.note AS note",
                        "parameters": {"texts": canary.some},
                        "max_rows": 1000,
                        "max_tokens": 100_000,
                    },
                )
    assert len(found) == 3 * len(canary.some)
    assert {tidy(part["title"]) for part in found} <= set(map(tidy, canary.texts))
    kept = (rows.structured_content or {})["rows"]
    assert {row[0] for row in kept} == set(canary.some)
    assert canary.sings() == ""


def test_over_http_and_as_rdf(
    stored: Connection,
    server: Settings,
    command: CommandLine,
    canary: Canary,
    tmp_path: Path,
) -> None:
    """JSON, CSV and N-Triples read back as what is stored."""
    words = [f"--uri={server.uri}", f"--home={server.home}", "--embedder=hash:32"]
    env = {"NEO4J_PASSWORD": server.password or ""}
    titles, headers = set(), set()
    with serving(*words, "serve", env=env) as served:
        url = f"{served.url}/procedures/search"
        for text in canary.some:
            params = {"question": text, "corpus": CORPUS, "k": 3}
            answer = httpx.get(url, params=params, timeout=60)
            table = httpx.get(f"{url}.csv", params=params, timeout=60)
            rows = list(csv.DictReader(io.StringIO(table.text, newline="")))
            assert answer.status_code == 200, (text, answer.text)
            named = [row["title"] for row in answer.json()["rows"]]
            assert [row["title"] for row in rows] == named
            titles |= set(named)
            headers |= set(answer.headers) | set(table.headers)
        assert served.stop() == 0
        log = "".join(served.log)
    done = command.run("rdf", "export", "all.nt", f"--corpus={CORPUS}", "--json")
    graph = rdflib.Graph().parse(tmp_path / "all.nt", format="nt")

    assert set(map(tidy, titles)) <= set(map(tidy, canary.texts))
    assert "set-cookie" not in headers
    assert steers(log) == []
    assert "intruder" not in log.lower()
    assert done.code == 0, done
    assert set(canary.texts) <= {str(o) for o in graph.objects() if o}
    assert canary.sings() == ""

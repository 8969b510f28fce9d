"""`knowtrail serve` as a process, asked over HTTP and by LOAD CSV of a real server."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx
import pytest

from knowtrail.graph.db.connection import AsyncConnection
from knowtrail.graph.errors import DatabaseError
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.ingest.records import RawDocument
from knowtrail.retrieval.serve.app import create_app
from tests.command_line import CommandLine
from tests.corpora import ListSource, article
from tests.ollama import MODEL, parrot_server
from tests.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.settings import Settings
    from tests.databases import Database
    from tests.ollama import Parrot
    from tests.serving import Serving

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(300)]

QUESTION = 'Größe & Gewicht: what is "C:\\", 100 % of it? a+b=c #1'
HOSTILE = RawDocument(
    source_id="hostile",
    title='Size, "weight" & Größe',
    raw=(
        'The size is "C:\\", or so. Größe, Gewicht and 大きさ are words. '
        'Weigh 100 % of it, "both\\" and a, b\\. Lists are ["a\\"b", c], too.'
    ),
)
RECIPE = """
LOAD CSV WITH HEADERS FROM $url + $question AS row
MATCH (c:Chunk {id: row.chunkId})-[:FROM_DOCUMENT]->(d:Document {id: row.documentId})
OPTIONAL MATCH (s:Sentence {id: row.sentenceId})
RETURN row, c.id AS chunk, d.title = row.title AS titled,
       s.text = row.text AS same, toInteger(row.step) AS step
"""
FOR_EVER = "UNWIND range(1, 1000000000) AS n RETURN sum(n % 7) AS n"
RUNNING = """
SHOW TRANSACTIONS YIELD currentQuery, status
WHERE currentQuery = $text
RETURN status
"""
SAID = '{"answer": "Fox & owl.", "citations": [1], "confidence": 0.75}'


@pytest.fixture(scope="module")
def graph(
    database: Database, session_connection: Connection, server: Settings
) -> Connection:
    """Return a connection to a small corpus with texts that are hard to quote."""

    def fill() -> None:
        ingest_corpus(
            session_connection,
            [ListSource([HOSTILE, *(article(number) for number in range(4))])],
            corpus="hard",
            embedder=HashEmbedder(32),
            settings=server,
            options=IngestOptions(themes="none"),
        )

    return database.holding("hard to quote", fill, small=True)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a new home folder."""
    return tmp_path_factory.mktemp("serve home")


@pytest.fixture(scope="module")
def words(server: Settings, home: Path) -> list[str]:
    """Return the words before and with the command."""
    return [f"--uri={server.uri}", f"--home={home}", "--embedder=hash:32", "serve"]


@pytest.fixture(scope="module")
def parrot() -> Iterator[Parrot]:
    """Yield a language model's server that says what it is told."""
    with parrot_server() as parrot:
        yield parrot


@pytest.fixture(scope="module")
def env(server: Settings, parrot: Parrot) -> dict[str, str]:
    """Return the variables of the command."""
    return {
        "NEO4J_PASSWORD": server.password or "",
        "KNOWTRAIL_OLLAMA_URL": parrot.url,
        "KNOWTRAIL_LANGUAGE_MODEL": MODEL,
    }


@pytest.fixture(scope="module")
def served(
    graph: Connection, words: list[str], env: dict[str, str]
) -> Iterator[Serving]:
    """Yield the server on loopback, without a key."""
    assert graph is not None
    with serving(*words, env=env) as served:
        yield served


def _load(graph: Connection, url: str, question: str) -> list[dict[str, Any]]:
    """Run the recipe as a user of Neo4j does: the question is encoded by the client."""
    return graph.query(RECIPE, {"url": url, "question": quote(question, safe="")})


def test_load_csv_walks_and_joins(served: Serving, graph: Connection) -> None:
    """Rows of LOAD CSV are those of JSON, join with the graph, and are recorded."""
    url = f"{served.url}/procedures/traverse.csv?algorithm=query_traversal&question="

    rows = _load(graph, url, QUESTION)

    answer = httpx.get(
        f"{served.url}/procedures/traverse",
        params={"algorithm": "query_traversal", "question": QUESTION},
    ).json()
    assert len(rows) == len(answer["rows"]) > 0
    assert [row["row"]["sentenceId"] for row in rows] == [
        row["sentenceId"] for row in answer["rows"]
    ]
    assert [float(row["row"]["score"]) for row in rows] == pytest.approx(
        [row["score"] for row in answer["rows"]], abs=1e-12
    )
    assert set(rows[0]["row"]) == set(answer["columns"])
    stored = graph.query(
        "MATCH (t:Traversal {id: $id})-[:FOR_QUERY]->(q) RETURN q.text AS text",
        {"id": rows[0]["row"]["traversalId"]},
    )
    assert stored == [{"text": QUESTION}]


def test_load_csv_reads_every_text_back(served: Serving, graph: Connection) -> None:
    """Quotes, backslashes, commas and all letters arrive as they are stored."""
    url = (
        f"{served.url}/procedures/traverse.csv?algorithm=basic_retrieval&record=false"
        "&maxSentences=100&question="
    )

    rows = _load(graph, url, "Größe, Gewicht and 大きさ")

    texts = "".join(row["row"]["text"] for row in rows if row["row"]["text"])
    assert {row["titled"] for row in rows} == {True}
    assert {row["same"] for row in rows} - {None} == {True}
    assert 'C:\\"' in texts
    assert 'both\\"' in texts
    assert "大きさ" in texts
    assert {row["row"]["traversalId"] for row in rows} == {None}


def test_load_csv_asks_a_stored_question(served: Serving, graph: Connection) -> None:
    """Plain Cypher, without an encoder: a Query is stored, then named by its id."""
    with graph.driver.session(database=graph.database) as session:
        session.run(
            "MERGE (q:Query {id: $id}) SET q.text = $text, q.corpus = 'hard'",
            {"id": "my question", "text": QUESTION},
        ).consume()
    url = f"{served.url}/procedures/search.csv?k=3&queryId="

    rows = graph.query(
        "LOAD CSV WITH HEADERS FROM $url + 'my%20question' AS row RETURN row",
        {"url": url},
    )

    plain = httpx.get(
        f"{served.url}/procedures/search", params={"question": QUESTION, "k": 3}
    ).json()
    assert [row["row"]["chunkId"] for row in rows] == [
        row["chunkId"] for row in plain["rows"]
    ]
    assert len(rows) == 3


def test_two_at_once_and_one_fails(served: Serving, graph: Connection) -> None:
    """The good one has rows; the bad one is refused with a Cypher error."""
    good = f"{served.url}/procedures/traverse.csv?algorithm=kg_traversal&question="
    bad = f"{served.url}/procedures/traverse.csv?algorithm=no_such&question="

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(_load, graph, good, QUESTION)
        second = pool.submit(_load, graph, bad, QUESTION)

    assert first.result()
    with pytest.raises(DatabaseError, match="ExternalResourceFailed"):
        second.result()


def test_every_procedure_answers_in_both_forms(served: Serving, parrot: Parrot) -> None:
    """JSON and CSV have as many rows and the columns of the registry."""
    parrot.says(SAID)
    listed = httpx.get(f"{served.url}/procedures").json()["procedures"]

    found = {}
    for entry in listed:
        params = {"question": QUESTION, "algorithm": "query_traversal"}
        if entry["name"] == "compare":
            del params["algorithm"]
        url = f"{served.url}/procedures/{entry['name']}"
        rows = httpx.post(url, json=params, timeout=60).json()["rows"]
        text = httpx.get(f"{url}.csv", params=params, timeout=60).text
        columns = [column["name"] for column in entry["columns"]]
        found[entry["name"]] = (
            len(rows) > 0,
            list(rows[0]) == columns,
            text.partition("\r\n")[0] == ",".join(columns),
        )

    assert found == dict.fromkeys(("search", "traverse", "compare", "ask"), (True,) * 3)


@pytest.mark.thorough
def test_first_token_comes_before_the_last(served: Serving, parrot: Parrot) -> None:
    """The model takes its time between pieces; the first is passed on at once."""
    parrot.says('{"answer": "Fox ', "and ", 'owl.", "citations": [1]}', pause=0.7)
    times, lines = [], []

    with httpx.stream(
        "GET",
        f"{served.url}/procedures/ask.ndjson",
        params={"question": QUESTION},
        timeout=60,
    ) as answer:
        for line in answer.iter_lines():
            times.append(time.monotonic())
            lines.append(json.loads(line))

    assert "".join(line.get("token", "") for line in lines) == "Fox and owl."
    assert lines[-1]["row"]["answer"] == "Fox and owl."
    assert times[-1] - times[0] > 1.0


def test_model_is_left_when_the_client_goes(served: Serving, parrot: Parrot) -> None:
    """Nobody pays for an answer that nobody reads."""
    parrot.says('{"answer": "', *(["word "] * 200), pause=0.05)

    with httpx.stream(
        "GET",
        f"{served.url}/procedures/ask.ndjson",
        params={"question": QUESTION},
        timeout=60,
    ) as answer:
        next(answer.iter_lines())

    assert parrot.given_up.wait(10)


def test_longest_questions(served: Serving) -> None:
    """10,000 letters of any kind fit a URL; one more, or a huge body, is refused."""
    url = f"{served.url}/procedures/search"

    longest = httpx.get(url, params={"question": "ü" * 10_000}, timeout=60)
    longer = httpx.post(url, json={"question": "ü" * 10_001}, timeout=60)
    huge = httpx.post(url, json={"question": "ü" * 200_000}, timeout=60)

    assert (longest.status_code, longer.status_code) == (200, 400)
    assert "10000" in longer.json()["detail"]
    assert huge.status_code == 413


MISTAKES = [
    ("search?question=%20", 400, "ask something"),
    ("search?question=a&corpus=hrad", 404, "did you mean 'hard'?"),
    ("search?question=a&k=0", 400, "k is 0"),
    ("search?question=a&maxHops=-1", 400, "maxHops"),
    ("search?question=a&colour=red", 400, "No option 'colour'"),
    ("traverse?question=a", 400, "algorithm"),
    ("traverse?question=a&algorithm=query_travresal", 400, "query_traversal"),
    ("ask?question=a&model=none:1b", 503, "ollama pull none:1b"),
]


def test_mistakes_are_told(served: Serving) -> None:
    """What was wrong and what to do, as the other doors say it."""
    done = [
        httpx.get(f"{served.url}/procedures/{path}", timeout=60)
        for path, _, _ in MISTAKES
    ]

    assert [
        (path, did.text)
        for (path, status, detail), did in zip(MISTAKES, done, strict=True)
        if did.status_code != status or detail not in did.json()["detail"]
    ] == []


def test_key_opens_the_door(
    graph: Connection, home: Path, words: list[str], env: dict[str, str]
) -> None:
    """Bound to every address, a key is made; LOAD CSV shows it in the URL."""
    with serving(*words, "--host=0.0.0.0", env=env) as served:
        path = home / "serve.key"
        key = path.read_text("utf-8").strip()
        url = f"{served.url}/procedures/search"
        params = {"question": QUESTION}
        statuses = [
            httpx.get(url, params=params).status_code,
            httpx.get(url, params=params, auth=("knowtrail", key)).status_code,
            httpx.get(url, params=params, auth=("knowtrail", key[:-1])).status_code,
            httpx.get(
                url, params=params, headers={"Authorization": f"Bearer {key}"}
            ).status_code,
            httpx.get(f"{served.url}/health").status_code,
        ]
        load = "LOAD CSV WITH HEADERS FROM $url AS row RETURN row"
        keyed = f"{url}.csv?question=a%20%26%20b&key={key}"
        rows = graph.query(load, {"url": keyed})
        with pytest.raises(DatabaseError, match="ExternalResourceFailed"):
            graph.query(load, {"url": keyed[:-1]})
        code = served.stop()

    assert statuses == [401, 200, 401, 200, 200]
    assert rows
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (code, served.log[-1]) == (0, "Stopped.\n")
    assert [line for line in served.log if key in line or "question" in line] == []
    assert any(str(path) in line for line in served.log)


@pytest.mark.thorough
@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_cleanly(
    graph: Connection, words: list[str], env: dict[str, str], by: signal.Signals
) -> None:
    """A signal ends it with code 0, and nothing but its own lines is in the log."""
    assert graph is not None
    with serving(*words, env=env, ready=False) as served:
        code = served.stop(by)

    assert code == 0
    assert served.log[-1] == "Stopped.\n"
    assert "Traceback" not in "".join(served.log)


@pytest.fixture
def command(
    server: Settings,
    env: dict[str, str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> CommandLine:
    """Return the command line in this process."""
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    return CommandLine(server, capsys, "hash:32")


def test_taken_port_is_one_line(command: CommandLine) -> None:
    """Told before anything is started, with exit code 1."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        done = command.run("serve", f"--port={port}")

    assert (done.code, len(done.errors)) == (1, 1)
    assert f"Port {port} of 127.0.0.1 is taken" in done.errors[0]


def test_wrong_password_is_one_line(
    command: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server does not start without its database."""
    monkeypatch.setenv("NEO4J_PASSWORD", "not-the-password")

    done = command.run("serve", "--port=0")

    assert (done.code, len(done.errors)) == (1, 1)
    assert "NEO4J_PASSWORD" in done.errors[0]


class _Slow:
    """A backend whose only statement takes for ever."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def call(self, *_: object) -> list[dict[str, Any]]:
        """Run it."""
        return await self._connection.aquery(FOR_EVER)


async def test_statement_ends_with_the_time(
    graph: Connection, server: Settings
) -> None:
    """After the time limit the database works no longer for the call."""
    async with await AsyncConnection.open(server) as connection:
        app = create_app(_Slow(connection), seconds=1.0)  # type: ignore[arg-type]
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(
            transport=transport, base_url="http://127.0.0.1"
        ) as http:
            done = await http.get("/procedures/search?question=a")

    end = time.monotonic() + 10
    while running := graph.query(RUNNING, {"text": FOR_EVER}):
        assert time.monotonic() < end, running
        await asyncio.sleep(0.1)
    assert done.status_code == 504

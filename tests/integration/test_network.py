"""A network that delays, falls silent or is cut: commands go on, or end and say so."""

from __future__ import annotations

import json
import random
import re
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from knowtrail.graph.db.connection import AsyncConnection, Connection
from knowtrail.graph.errors import UnavailableError
from knowtrail.ingest.corpus import delete_corpus
from knowtrail.ingest.verify import corpus_digest, verify_corpus
from tests.command_line import spawn
from tests.corpora import store_articles
from tests.ollama import MODEL, parrot_server
from tests.proxies import proxied

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from knowtrail.graph.settings import Settings
    from tests.command_line import Outcome
    from tests.databases import Database
    from tests.ollama import Parrot
    from tests.proxies import Proxy

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.thorough,
    pytest.mark.one_line,
    pytest.mark.timeout(600),
]

QUESTION = "What shapes the glacier?"
PATIENCE = 20
"""Seconds that the server tells drivers to wait for it; 120 by default."""
LONGEST = 180.0
"""Seconds within which a command ends, whatever the network does.

To start, `PATIENCE`, `RETRY` and an attempt to connect (15) that began in them; the
rest is for a busy machine.
"""
RETRY = 10
"""Seconds within which a command tries again; 30 by default."""


@pytest.fixture(scope="module")
def graph(
    database: Database, session_connection: Connection, server: Settings
) -> Connection:
    """Return a connection to a small corpus."""
    return database.holding(
        "behind a network",
        lambda: store_articles(session_connection, server, "near", 6),
    )


@pytest.fixture
def proxy(server: Settings) -> Iterator[Proxy]:
    """Yield a proxy before the database."""
    parts = urlsplit(server.uri or "")
    with proxied(parts.hostname or "", parts.port or 0) as proxy:
        proxy.patience = PATIENCE
        yield proxy


def command(
    proxy: Proxy, server: Settings, *words: str | Path, **env: str
) -> tuple[float, Outcome]:
    """Run a command whose database is behind the proxy; say how long it took."""
    begin = time.monotonic()
    done = spawn(
        *(f"--uri=bolt://127.0.0.1:{proxy.port}", f"--home={server.home}"),
        *("--embedder=hash:32", *words),
        env={
            "NEO4J_PASSWORD": server.password or "",
            "KNOWTRAIL_RETRY_SECONDS": str(RETRY),
            **env,
        },
        timeout=LONGEST,
    )
    return time.monotonic() - begin, done


def commands(tmp_path: Path) -> list[list[str | Path]]:
    """Return commands that read, walk and write."""
    file = tmp_path / "more.jsonl"
    record = {"id": "x", "title": "Lamp", "text": "A lamp burns. It is old. So it is."}
    file.write_text(json.dumps(record) + "\n", "utf-8")
    return [
        ["cypher", "UNWIND range(1, 50000) AS n RETURN n, 'a long text' AS text"],
        ["search", "--corpus=near", QUESTION],
        ["traverse", "--corpus=near", "--algorithm=query_traversal", QUESTION],
        ["ingest", "jsonl", file, f"--corpus={tmp_path.name}", "--themes=none"],
        ["corpus", "verify", "near"],
    ]


def test_slow_is_only_slow(
    graph: Connection, server: Settings, proxy: Proxy, tmp_path: Path
) -> None:
    """A tenth of a second each way changes no answer."""
    proxy.delay = 0.05

    done = [command(proxy, server, *words) for words in commands(tmp_path)]

    assert [d.errors for _, d in done if d.code != 0] == []
    assert max(seconds for seconds, _ in done) < LONGEST


@pytest.mark.parametrize("how", ["silent", "silent later", "cut"])
def test_commands_end_in_time_with_one_line(
    graph: Connection, server: Settings, proxy: Proxy, tmp_path: Path, how: str
) -> None:
    """Where nothing comes back, or all is cut, each says so in one line and exits 1."""
    said_why = re.compile("^Error: ").match
    given = commands(tmp_path)
    proxy.silent = how == "silent"
    proxy.cut_after = 3_000 if how == "cut" else None
    proxy.silent_after = 3_000 if how == "silent later" else None

    with ThreadPoolExecutor(len(given)) as pool:
        done = list(pool.map(lambda words: command(proxy, server, *words), given))

    told = [
        (words[0], round(seconds), ended.code, [*filter(said_why, ended.errors)])
        for words, (seconds, ended) in zip(given, done, strict=True)
    ]
    failed = [row for row in told if row[2]]
    assert [row for row in failed if row[2] != 1 or len(row[3]) != 1] == []
    assert all("Neo4j" in row[3][0] for row in failed), failed
    assert len(failed) == len(told) or (failed and how != "silent"), told


def test_an_ingest_goes_on_where_connections_are_cut(
    graph: Connection, server: Settings, proxy: Proxy, tmp_path: Path
) -> None:
    """It tries again, and the graph is that of a good network."""
    settings = replace(
        server, uri=f"bolt://127.0.0.1:{proxy.port}", home=tmp_path / "home"
    )
    proxy.chance = random.Random(7)

    with Connection.open(settings) as connection:
        store_articles(connection, settings, "far", 30)
    cut_digest = corpus_digest(graph, "far")
    findings = [f for f in verify_corpus(graph, "far") if f.count]
    delete_corpus(graph, "far")
    store_articles(graph, server, "far", 30)

    assert proxy.cuts >= 2
    assert findings == []
    assert cut_digest == corpus_digest(graph, "far")


@contextmanager
def cut_once(proxy: Proxy) -> Iterator[None]:
    """Cut connections at their next piece until one was."""
    before, proxy.cut_after = proxy.cuts, 1

    def mend() -> None:
        while proxy.cuts == before:
            time.sleep(0.01)
        proxy.cut_after = None

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(mend)
        yield
        done.result()


@pytest.mark.forgets
async def test_what_the_driver_does_once_is_done_again(
    graph: Connection, server: Settings, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first rows of a stream, and schema commands; never rows that were given."""
    settings = replace(server, uri=f"bolt://127.0.0.1:{proxy.port}")
    name = "ingest/document_ids"
    ids = {row["id"] for row in graph.stream(name, corpus="near")}
    command = "CREATE CONSTRAINT odd IF NOT EXISTS FOR (n:Odd) REQUIRE n.id IS UNIQUE"
    monkeypatch.setattr("knowtrail.graph.db.connection._PULLED", 2)

    with Connection.open(settings) as connection:
        with cut_once(proxy):
            found = [row["id"] for row in connection.stream(name, corpus="near")]
        with cut_once(proxy):
            connection.run_schema(command)
        rows = connection.stream(name, corpus="near")
        given = [next(rows)["id"] for _ in range(3)]
        with cut_once(proxy), pytest.raises(UnavailableError):
            given += [row["id"] for row in rows]
    async with await AsyncConnection.open(settings) as aconnection:
        with cut_once(proxy):
            afound = [r["id"] async for r in aconnection.astream(name, corpus="near")]
        with cut_once(proxy):
            await aconnection.arun_schema("DROP CONSTRAINT odd IF EXISTS")

    assert len(ids) == 6
    assert sorted(found) == sorted(afound) == sorted(ids)
    assert len(given) == len(set(given)) < 6


@pytest.fixture
def parrot() -> Iterator[Parrot]:
    """Yield a language model's server that says what it is told."""
    with parrot_server() as parrot:
        yield parrot


@pytest.mark.parametrize("how", ["silent", "cut"])
def test_a_model_out_of_reach(
    graph: Connection, server: Settings, proxy: Proxy, parrot: Parrot, how: str
) -> None:
    """A command that asks a model ends in its time, with one line."""
    parrot.says('{"answer": "', *["word "] * 100, '", "citations": [1]}', pause=0.02)
    model = urlsplit(parrot.url)
    with proxied(model.hostname or "", model.port or 0) as between:
        between.silent = how == "silent"
        between.cut_after = 900 if how == "cut" else None
        env = {
            "KNOWTRAIL_OLLAMA_URL": f"http://127.0.0.1:{between.port}",
            "KNOWTRAIL_LANGUAGE_MODEL": MODEL,
        }
        asked = ["ask", "--corpus=near", "--route=graph", "--seconds=5", QUESTION]
        seconds, done = command(proxy, server, *asked, **env)
        more = ["extract", "--corpus=near", "--limit=1", "--seconds=5"]
        extracting, extracted = command(proxy, server, *more, **env)

    assert len(done.errors) == 1, done
    if how == "silent":
        assert done.code == 1, done
    else:
        assert "cut before its end" in done.errors[0]
    assert seconds < 60, seconds
    assert extracted.code == 1, extracted
    assert extracting < 90, extracting

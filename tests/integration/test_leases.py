"""Who may write to a corpus, where several homes share one server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from knowtrail.graph.db import corpus_lock as locks
from knowtrail.graph.db.connection import Connection
from knowtrail.graph.db.corpus_lock import corpus_lock
from knowtrail.graph.errors import InputError, KnowtrailError
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.graph.rdf import export_rdf, import_rdf
from knowtrail.ingest.corpus import delete_corpus
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.ingest.verify import corpus_digest, verify_corpus
from knowtrail.retrieval.search import search
from tests.command_line import ROOT
from tests.corpora import ListSource, article, store_articles
from tests.proxies import proxied

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.search import SearchResult

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

EMBEDDER = HashEmbedder(32)
HELD = "MATCH (l:SchemaVersion) WHERE l.owner IS NOT NULL RETURN l.id AS id"
HOLDER = """
import sys, time
from pathlib import Path
from knowtrail.graph.db import corpus_lock
from knowtrail.graph.db.connection import Connection
from knowtrail.graph.settings import Settings
corpus_lock.LEASE_SECONDS = 3.0
settings = Settings.from_env(uri=sys.argv[1], home=Path(sys.argv[2]))
with Connection.open(settings) as connection:
    with corpus_lock.corpus_lock(settings.home, connection, "held"):
        print("held", flush=True)
        time.sleep(120)
"""


def test_one_home_at_a_time_writes_to_a_corpus(
    connection: Connection, server: Settings, tmp_path: Path
) -> None:
    """The other is told who does; nothing of the lease is left behind."""
    here, there = tmp_path / "here", tmp_path / "there"

    with corpus_lock(here, connection, "held"):
        with pytest.raises(InputError) as told:
            store_articles(connection, replace(server, home=there), "held", 2)
        store_articles(connection, replace(server, home=there), "other", 2)

    with corpus_lock(there, connection, "held"):
        pass
    assert f"is being written by process {os.getpid()} of " in str(told.value)
    assert "its right ends in" in str(told.value)
    assert connection.query(HELD) == []


@pytest.mark.thorough
def test_a_dead_owner_loses_the_right(
    connection: Connection, server: Settings, tmp_path: Path
) -> None:
    """A living one keeps it; the home of a dead one takes it at once, others later."""
    here, there = tmp_path / "here", tmp_path / "there"
    words = [sys.executable, "-c", HOLDER, str(server.uri), str(here)]
    env = os.environ | {"NEO4J_PASSWORD": server.password or ""}
    with subprocess.Popen(
        words, env=env, cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "held\n"
        time.sleep(4)
        with pytest.raises(InputError, match="wait for it"):
            locks.corpus_lock(there, connection, "held").__enter__()
        owner.send_signal(signal.SIGKILL)

    with corpus_lock(here, connection, "held"):
        pass
    with subprocess.Popen(
        words, env=env, cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "held\n"
        owner.send_signal(signal.SIGKILL)
    with pytest.raises(InputError):
        locks.corpus_lock(there, connection, "held").__enter__()
    time.sleep(3.5)
    with corpus_lock(there, connection, "held"):
        pass


def test_one_home_that_reaches_a_server_by_two_addresses(
    connection: Connection, server: Settings, tmp_path: Path
) -> None:
    """Each address has a file of its own: the lease keeps its processes apart."""
    parts = urlsplit(str(server.uri))
    with (
        proxied(parts.hostname or "", parts.port or 0) as proxy,
        Connection.open(replace(server, uri=f"bolt://127.0.0.1:{proxy.port}")) as other,
        corpus_lock(tmp_path, connection, "held"),
        pytest.raises(InputError, match="by process"),
    ):
        corpus_lock(tmp_path, other, "held").__enter__()


@pytest.fixture
def slow(server: Settings) -> Iterator[Connection]:
    """Return a connection whose leases nothing renews but its writes."""
    with pytest.MonkeyPatch.context() as patch, Connection.open(server) as slow:
        patch.setattr(locks._Lease, "_renew", lambda _: None)
        patch.setattr(locks, "LEASE_SECONDS", 0.3)
        yield slow


def test_an_owner_that_lost_the_right_writes_no_more(
    connection: Connection, slow: Connection, tmp_path: Path
) -> None:
    """As one that a machine did not run for a while."""
    with corpus_lock(tmp_path / "here", slow, "held"):
        slow.write("ingest/corpus_create", name="held", properties={})
        time.sleep(0.5)
        slow.write("ingest/corpus_create", name="held", properties={})
        time.sleep(0.5)
        with corpus_lock(tmp_path / "there", connection, "held"):
            with pytest.raises(InputError, match="Another process has taken"):
                slow.write("corpus/deleting", name="held")
            time.sleep(0.5)
            with pytest.raises(InputError, match="Another process has taken"):
                slow.write("corpus/deleting", name="held")
            connection.write("corpus/deleting", name="held")


@pytest.mark.parametrize("case", ["before", "during", "import"])
def test_a_right_that_another_had_meanwhile_does_not_come_back(
    connection: Connection, slow: Connection, tmp_path: Path, case: str
) -> None:
    """Taken and given back before a write or during it, which then leaves nothing."""
    file = tmp_path / "held.nt"
    connection.write("ingest/corpus_create", name="held", properties={})
    export_rdf(connection, file, corpus="held")
    delete_corpus(connection, "held")

    def meanwhile(*_: object) -> None:
        time.sleep(0.5)
        with corpus_lock(tmp_path / "there", connection, "held"):
            pass

    def write() -> None:
        if case == "import":
            import_rdf(slow, file, home=tmp_path / "here")
            return
        with corpus_lock(tmp_path / "here", slow, "held"):
            if case == "before":
                meanwhile()
            slow.write("ingest/corpus_create", name="held", properties={})

    slow.before_commits += [] if case == "before" else [meanwhile]
    with pytest.raises(InputError, match="Another process has taken"):
        write()
    assert connection.query("MATCH (c:Corpus {name: 'held'}) RETURN c") == []
    assert connection.query(HELD) == []


@pytest.mark.thorough
def test_four_corpora_at_once_and_two_ingests_of_one(
    connection: Connection, server: Settings, tmp_path: Path
) -> None:
    """Four homes fill four corpora; of two that want the same one, one is told."""
    count = 24

    def attempt(home: str, corpus: str) -> str:
        settings = replace(server, home=tmp_path / home)
        with Connection.open(settings) as own:
            try:
                store_articles(own, settings, corpus, count)
            except InputError as error:
                return str(error)
        return ""

    with ThreadPoolExecutor(4) as pool:
        told = list(pool.map(attempt, "abcd", ("one", "two", "three", "four")))
        twice = list(pool.map(attempt, "ab", ("five", "five")))

    assert told == [""] * 4
    assert sorted(map(bool, twice)) == [False, True]
    assert "is being written by process" in max(twice)
    assert connection.query(HELD) == []
    for corpus in ("one", "two", "three", "four", "five"):
        assert [f for f in verify_corpus(connection, corpus) if f.count] == []
        beside = corpus_digest(connection, corpus)
        delete_corpus(connection, corpus)
        store_articles(connection, server, corpus, count)
        assert corpus_digest(connection, corpus) == beside


@pytest.mark.thorough
def test_a_corpus_is_deleted_under_its_questioners(
    connection: Connection, server: Settings
) -> None:
    """They have whole answers, and then are told that it is gone, in one line."""
    store_articles(connection, server, "going", 24)
    ended = threading.Event()
    answers: list[int] = []

    def near(own: Connection, number: int) -> SearchResult:
        asked = f"What is near {article(number).title}?"
        return search(own, asked, embedder=EMBEDDER, corpus="going", k=3)

    def question(number: int) -> str:
        with Connection.open(server) as own:
            try:
                while not ended.wait(0.5):  # they read what they got
                    found = near(own, number)
                    answers.append(len(found.hits))
                    assert all(hit.text for hit in found.hits)
                assert not near(own, number).hits
            except KnowtrailError as error:
                return str(error)
        return "empty"

    near(connection, 0)  # so that the server makes each plan once, not twenty times
    with ThreadPoolExecutor(20) as pool:
        asking = [pool.submit(question, number) for number in range(20)]
        try:
            while len(answers) < 60 and not any(one.done() for one in asking):
                time.sleep(0.05)
            delete_corpus(connection, "going")
        finally:
            ended.set()
        told = {future.result() for future in asking}

    assert len(answers) >= 60, told
    assert {line.splitlines()[0] for line in told} == told
    assert connection.query("MATCH (n {corpus: 'going'}) RETURN count(n) AS n") == [
        {"n": 0}
    ]


@pytest.mark.thorough
def test_copies_of_a_corpus_have_working_files_of_their_own(
    connection: Connection, server: Settings, tmp_path: Path
) -> None:
    """Two servers are two addresses, whatever the time that a copy took over."""
    parts, settings = urlsplit(str(server.uri)), replace(server, home=tmp_path)
    with (
        proxied(parts.hostname or "", parts.port or 0) as proxy,
        Connection.open(replace(server, uri=f"bolt://127.0.0.1:{proxy.port}")) as copy,
    ):
        for number, one in enumerate([connection, copy, connection]):
            ingest_corpus(
                one,
                [ListSource([article(number)])],
                corpus="held",
                embedder=HashEmbedder(32),
                settings=settings,
            )
        assert len(list(tmp_path.glob("work/*.texts"))) == 2
        delete_corpus(copy, "held", work=tmp_path / "work")
    assert len(list(tmp_path.glob("work/*.texts"))) == 1

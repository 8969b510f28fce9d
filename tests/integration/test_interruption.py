"""An ingest that is killed anywhere and run again ends in the same graph."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from knowtrail.graph.db.connection import Connection
from knowtrail.graph.server.lease import join_server
from knowtrail.graph.settings import Settings
from knowtrail.ingest.corpus import delete_corpus
from knowtrail.ingest.verify import corpus_digest, verify_corpus
from tests.integration import ingest_child
from tests.java import short_lived
from tests.tiers import amount

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(600)]

ROOT = Path(__file__).resolve().parents[2]


class Ingests:
    """A process that ingests as often as it is told to, each time in a child."""

    def __init__(self, settings, errors, *, small):
        self.errors = errors
        with errors.open("wb") as file:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "tests.integration.ingest_child",
                    settings.uri,
                    str(settings.home),
                    "small" if small else "usual",
                ],
                env=os.environ | {"NEO4J_PASSWORD": settings.password},
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
            )

    def begin(self, how="never"):
        """Begin an ingest that dies in a certain way."""
        self._process.stdin.write(f"{how}\n")
        self._process.stdin.flush()

    def end(self):
        """Return the exit code of what was begun."""
        return int(self._process.stdout.readline())

    def run(self, how="never"):
        """Begin, wait, and return the exit code."""
        self.begin(how)
        return self.end()

    def __enter__(self):
        """Return the ingests."""
        return self

    def __exit__(self, *_):
        """End the process."""
        self._process.communicate(timeout=60)


@pytest.mark.thorough
def test_killed_at_every_write_the_graph_is_that_of_one_run(
    connection, server, tmp_path
):
    """SIGKILLs during and after the writes of every stage do no harm."""
    small = amount(0, 1) == 1
    kills, stages = 0, set()
    with Ingests(server, tmp_path / "errors", small=small) as ingests:
        assert ingests.run() == 0
        whole = corpus_digest(connection, ingest_child.CORPUS)
        delete_corpus(connection, ingest_child.CORPUS)

        for how in itertools.cycle(["during", "after"]):
            code = ingests.run(how)
            if code == 0:
                break
            assert code == -signal.SIGKILL, ingests.errors.read_text("utf-8")
            kills += 1
            stages.add(stage_of(connection))
            assert kills < 150

    assert kills >= amount(6, 20)
    assert {"documents", "links", "similar"} <= stages
    assert not [f for f in verify_corpus(connection, ingest_child.CORPUS) if f.count]
    assert corpus_digest(connection, ingest_child.CORPUS) == whole


def stage_of(connection):
    """Say how far an interrupted ingest had come."""
    (row,) = connection.query(
        "RETURN COUNT { (:Document) } AS documents, "
        "COUNT { ()-[:MENTIONS]->() } AS mentions, "
        "COUNT { ()-[:SIMILAR_TO {scope: 'inter'}]->() } AS inter"
    )
    if row["inter"]:
        return "similar"
    if row["mentions"]:
        return "links"
    return "documents" if row["documents"] else "begun"


def of_lease(lease, home):
    """Return settings of a leased server."""
    info = lease.info
    return Settings.from_env(env={}, home=home).with_server(
        uri=info.uri, username=info.username, password=info.password
    )


@pytest.mark.thorough
def test_killed_server_loses_nothing_and_the_next_run_completes(tmp_path):
    """The ingest says in one line that the server died; a second run completes it."""
    errors = tmp_path / "errors"
    with short_lived(), join_server(tmp_path, stay=True) as lease:
        settings = of_lease(lease, tmp_path)
        with Ingests(settings, errors, small=True) as ingests:
            ingests.begin()
            wait_for_documents(settings, 5)
            os.kill(lease.info.pid, signal.SIGKILL)
            code = ingests.end()
    told = errors.read_text("utf-8")
    assert code == 3, told
    assert told.startswith("UnavailableError: Neo4j ")
    assert "does not answer" in told
    assert len(told.strip().splitlines()) == 1

    with short_lived(), join_server(tmp_path) as lease:
        settings = of_lease(lease, tmp_path)
        with (
            Connection.open(settings) as connection,
            Ingests(settings, errors, small=True) as ingests,
        ):
            found = connection.query("MATCH (d:Document) RETURN count(d) AS n")
            assert ingests.run() == 0
            findings = verify_corpus(connection, ingest_child.CORPUS)
            resumed = corpus_digest(connection, ingest_child.CORPUS)
            delete_corpus(connection, ingest_child.CORPUS)
            assert ingests.run() == 0
            whole = corpus_digest(connection, ingest_child.CORPUS)

    assert found[0]["n"] >= 5
    assert not [f for f in findings if f.count]
    assert resumed == whole


def wait_for_documents(settings, count):
    """Wait until some documents are stored."""
    with Connection.open(settings) as connection:
        for _ in range(600):
            rows = connection.query("MATCH (d:Document) RETURN count(d) AS n")
            if rows[0]["n"] >= count:
                return
            time.sleep(0.02)
    pytest.fail("no document was stored in time")

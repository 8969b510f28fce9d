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

from graph.connection import Connection
from graph.server import join_server
from graph.settings import Settings
from ingest.corpus import delete_corpus
from ingest.digest import corpus_digest
from ingest.verify import verify_corpus
from tests.integration import ingest_child

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(600)]

ROOT = Path(__file__).resolve().parents[2]


def run_child(settings, how, **more):
    """Run the ingest in a process of its own."""
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.integration.ingest_child",
            settings.uri,
            str(settings.home),
            how,
        ],
        env=os.environ | {"NEO4J_PASSWORD": settings.password},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        **more,
    )


def test_killed_at_every_write_the_graph_is_that_of_one_run(connection, server):
    """More than twenty SIGKILLs, during and after writes of every stage, do no harm."""
    assert run_child(server, "never").returncode == 0
    whole = corpus_digest(connection, ingest_child.CORPUS)
    delete_corpus(connection, ingest_child.CORPUS)

    kills, stages = 0, set()
    for how in itertools.cycle(["during", "after"]):
        ended = run_child(server, how)
        if ended.returncode == 0:
            break
        assert ended.returncode == -signal.SIGKILL, ended.stderr
        kills += 1
        if kills > 3:
            stages.add(stage_of(connection))
        assert kills < 150

    assert kills >= 20
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
    return "links" if row["mentions"] else "documents"


def test_killed_server_loses_nothing_and_the_next_run_completes(tmp_path):
    """The ingest says in one line that the server died; a second run completes it."""
    with join_server(tmp_path, stay=True) as lease:
        info = lease.info
        settings = Settings.from_env(env={}, home=tmp_path).with_server(
            uri=info.uri, username=info.username, password=info.password
        )
        child = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.integration.ingest_child",
                settings.uri,
                str(settings.home),
                "never",
            ],
            env=os.environ | {"NEO4J_PASSWORD": settings.password},
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
        )
        wait_for_documents(settings, 5)
        os.kill(info.pid, signal.SIGKILL)
        _, errors = child.communicate(timeout=120)
    assert child.returncode == 3, errors
    assert errors.startswith("UnavailableError: Neo4j does not answer")
    assert len(errors.strip().splitlines()) == 1

    with join_server(tmp_path) as lease:
        info = lease.info
        settings = Settings.from_env(env={}, home=tmp_path).with_server(
            uri=info.uri, username=info.username, password=info.password
        )
        with Connection.open(settings) as connection:
            found = connection.query("MATCH (d:Document) RETURN count(d) AS n")
            assert run_child(settings, "never").returncode == 0
            findings = verify_corpus(connection, ingest_child.CORPUS)
            resumed = corpus_digest(connection, ingest_child.CORPUS)
            delete_corpus(connection, ingest_child.CORPUS)
            assert run_child(settings, "never").returncode == 0
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

"""A first load through files is the graph of an ingest by Bolt, whatever ends it."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from knowtrail.graph.db.connection import Connection
from knowtrail.graph.db.schema import apply_schema, filter_properties, hnsw_settings
from knowtrail.graph.errors import InputError, ServerError
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.graph.server.folder import server_status, stop_server
from knowtrail.graph.server.lease import join_server
from knowtrail.graph.server.loading import import_store, stopped_server
from knowtrail.graph.session import open_connection
from knowtrail.graph.settings import Settings
from knowtrail.ingest import pipeline
from knowtrail.ingest.bulk import load
from knowtrail.ingest.bulk.export import export_corpus
from knowtrail.ingest.records import RawDocument, RawRedirect
from knowtrail.ingest.sources.dump import DumpSource
from knowtrail.ingest.verify import corpus_digest, verify_corpus
from tests.conftest import LINES
from tests.corpora import ListSource
from tests.databases import Database
from tests.dumps import multistream, pages
from tests.integration.bulk_child import CORPUS, ITEMS
from tests.integration.ingest_child import FirstWords
from tests.java import plan_once, short_lived
from tests.tiers import amount

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(2400)]
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def words(monkeypatch):
    """Take themes without a model."""
    monkeypatch.setattr(pipeline, "theme_source", lambda *_: FirstWords())


@pytest.fixture
def home(tmp_path):
    """Yield the folder of a server that stays, as its command starts it; stop it."""
    home = tmp_path / "bulk"
    plan_once(home)
    yield home
    stop_server(home)


def by_bolt(connection, home, items=ITEMS, **more):
    """Ingest by Bolt; return digest and vectors."""
    settings = Settings.from_env(env={}, home=home)
    pipeline.ingest_corpus(
        connection,
        [ListSource(items)],
        corpus=CORPUS,
        embedder=HashEmbedder(32),
        settings=settings,
        **more,
    )
    return found(connection)


def found(connection):
    """Return the digest of the corpus, and its vectors by key."""
    rows = connection.query(
        "MATCH (n) WHERE n.embedding IS NOT NULL OR n.themeEmbedding IS NOT NULL "
        "RETURN n.id AS id, coalesce(n.embedding, n.themeEmbedding) AS vector"
    )
    vectors = {row["id"]: np.asarray(row["vector"], dtype=np.float64) for row in rows}
    (corpus,) = connection.read("ingest/corpus_read", name=CORPUS)
    own = {"createdAt", "copied", "filters"}
    settings = {k: v for k, v in corpus["properties"].items() if k not in own}
    return corpus_digest(connection, CORPUS), vectors, settings


def assert_same(one, other):
    """Compare digests part by part, and every number of every vector."""
    assert one[0].counts == other[0].counts
    assert one[0].parts == other[0].parts
    assert one[1].keys() == other[1].keys()
    assert all(np.array_equal(one[1][key], other[1][key]) for key in one[1])
    assert one[2] == other[2]


def bulk(settings, items=ITEMS, **more):
    """Load in bulk; return the report."""
    with ExitStack() as stack:
        connection = stack.enter_context(open_connection(settings))
        return load.load_corpus(
            connection,
            [ListSource(items)],
            corpus=CORPUS,
            embedder=HashEmbedder(32),
            settings=settings,
            leave=stack.close,
            **more,
        )


@pytest.mark.one_line
def test_both_doors_make_the_same_graph(connection, servers, tmp_path, home, words):
    """Digest, vectors, settings and checks are the same; a second run writes nothing.

    A server that stays is there again; one in use, and data, are refused. The vector
    index keeps the settings that it was made with before, and filters keep theirs. A
    change reads what changed alone. With `--all` the other line of Neo4j has the same
    graph by Bolt.
    """
    bolt = by_bolt(connection, tmp_path / "bolt")
    settings = Settings.from_env(env={}, home=home)
    with short_lived():
        with join_server(home, stay=True), open_connection(settings) as empty:
            filters = ["chunk.index", "document.note"]
            apply_schema(empty, dimensions=32, hnsw={"m": 24})
            with pytest.raises(ServerError, match="in use by another"):
                bulk(settings)
        report = bulk(settings, filters=["index", "note"])
        assert server_status(home).stays
        with open_connection(settings) as loaded:
            assert_same(found(loaded), bolt)
            assert hnsw_settings(loaded)["m"] == 24
            assert filter_properties(loaded) == filters
            assert not [f for f in verify_corpus(loaded, CORPUS) if f.count]
            command, files = export_corpus(loaded, CORPUS, tmp_path / "files")
            again = by_bolt(loaded, home)
            with pytest.raises(InputError, match="has data"):
                load.takes_bulk_door(
                    loaded, [], corpus="more", settings=settings, asked=True
                )
            told = set()
            edited = [replace(ITEMS[0], raw=ITEMS[1].raw), *ITEMS[1:]]
            by_bolt(loaded, home, edited, progress=lambda *now: told.add(now))
            assert ("words", 1, 1) in told
            assert not [f for f in verify_corpus(loaded, CORPUS) if f.count]
    assert_same(again, bolt)
    assert (report.added, report.skipped, report.failed) == (40, 0, 0)
    assert not list((home / "work").glob("bulk-*"))
    written = report.written
    assert files.nodes == written.nodes_created
    assert files.relationships == written.relationships_created
    if not amount(0, 1):
        return
    with Connection.open(servers.settings(LINES[1])) as other:
        Database(other).holding("nothing", lambda: None)
        assert_same(by_bolt(other, tmp_path / "other"), bolt)
    elsewhere = tmp_path / "elsewhere"
    with short_lived():
        join_server(elsewhere).close()
        with stopped_server(elsewhere):
            import_store(
                elsewhere, shlex.split(command)[5:], heap="1g", off_heap="512m"
            )
        with open_connection(Settings.from_env(env={}, home=elsewhere)) as loaded:
            apply_schema(loaded, dimensions=32)
            digest, vectors, _ = found(loaded)
    assert digest.parts | {"documents": ""} == bolt[0].parts | {"documents": ""}
    assert all(np.array_equal(vectors[key], bolt[1][key]) for key in bolt[1])


@pytest.mark.one_line
@pytest.mark.thorough
def test_a_value_that_no_index_holds_ends_no_load(home, words, monkeypatch, caplog):
    """It was spooled before its property was declared: that is given up, in a line."""
    monkeypatch.setattr(pipeline, "_unindexable", lambda *_: None)
    settings = Settings.from_env(env={}, home=home)
    long = replace(ITEMS[0], metadata={"tale": "x" * 9_000})
    with short_lived():
        report = bulk(settings, [long, *ITEMS[1:]], filters=["tale", "index"])
        with open_connection(settings) as loaded:
            assert filter_properties(loaded) == ["chunk.index"]
            assert not [f for f in verify_corpus(loaded, CORPUS) if f.count]
    assert (report.added, report.failed) == (40, 0)
    assert "document.tale cannot be declared" in caplog.text
    assert not list((home / "work").glob("bulk-*"))


@pytest.mark.one_line
@pytest.mark.thorough
def test_killed_at_every_stage_the_graph_is_that_of_one_run(
    connection, tmp_path, words
):
    """SIGKILL anywhere: a server opens no half store, and the next run completes."""
    bolt = by_bolt(connection, tmp_path / "bolt")
    with short_lived():
        for point in ("documents", "links", "files", "import", "adopted"):
            home = tmp_path / "bulk"
            done = run(home, point)
            assert done.returncode == -signal.SIGKILL, (point, done.stderr)
            if point != "adopted":
                with open_connection(Settings.from_env(env={}, home=home)) as still:
                    assert not still.read("bulk/some_node"), point
        assert run(home, "never").returncode == 0
        with open_connection(Settings.from_env(env={}, home=home)) as loaded:
            assert_same(found(loaded), bolt)

        late = tmp_path / "late"
        assert run(late, "indexes").returncode == -signal.SIGKILL
        assert run(late, "never").returncode == 0
        with open_connection(Settings.from_env(env={}, home=late)) as loaded:
            assert_same(found(loaded), bolt)


def _long(*_):
    """Return a document of very many sentences, and another."""
    lines = [f"Wave {n} broke over Reef {n % 90}." for n in range(4_000)]
    return [
        RawDocument(source_id="long", title="Waves", raw=" ".join(lines)),
        RawDocument(source_id="short", title="Reef 7", raw="Waves break there."),
    ]


def _aliased(*_):
    """Return a page that very many redirects lead to, and one that names some."""
    return [
        RawDocument(source_id="page", title="Lighthouse", raw="It has a lamp."),
        RawDocument(source_id="other", title="Keeper", raw="Lamp 7 is in Lamp 99."),
        *(RawRedirect(title=f"Lamp {n}", target="Lighthouse") for n in range(20_000)),
    ]


def _wikipedia(shared, folder):
    """Return what is in a part of the real sample."""
    file = folder / "pages.xml.bz2"
    file.write_bytes(multistream(pages(shared)[:40], each=10))
    return list(DumpSource([file]).items())


@pytest.mark.one_line
@pytest.mark.thorough
@pytest.mark.parametrize("items_of", [_wikipedia, _long, _aliased])
def test_hard_corpora_are_the_same_by_both_doors(
    connection, shared, tmp_path, home, words, items_of
):
    """A real dump, a document of 4,000 sentences, a page of 20,000 names."""
    items = items_of(shared, tmp_path)
    bolt = by_bolt(connection, tmp_path / "bolt", items)
    settings = Settings.from_env(env={}, home=home)
    with short_lived():
        report = bulk(settings, items)
        with open_connection(settings) as loaded:
            assert_same(found(loaded), bolt)
            assert not [f for f in verify_corpus(loaded, CORPUS) if f.count]
    assert report.failed == 0
    assert report.added == sum(isinstance(item, RawDocument) for item in items)


def run(home, point):
    """Load in a process that dies there."""
    return subprocess.run(
        [sys.executable, "-m", "tests.integration.bulk_child", str(home), point],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )

"""Snapshots of real ingests: whole or in part the same, and walked as the database."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knowtrail.graph.db.connection import (
    AsyncConnection,
    Capabilities,
    Connection,
)
from knowtrail.graph.db.schema import delete_data
from knowtrail.graph.errors import (
    DatabaseError,
    SnapshotError,
    UnknownCorpusError,
)
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.ingest.corpus import delete_corpus
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.retrieval.algorithms import ALGORITHMS
from knowtrail.retrieval.driving import run
from knowtrail.retrieval.filters import parse_filter
from knowtrail.retrieval.protocols import WalkOptions
from knowtrail.retrieval.readers import CypherReader, SnapshotReader
from knowtrail.retrieval.search import asearch, search
from knowtrail.retrieval.snapshot.build import build_snapshot
from knowtrail.retrieval.snapshot.folder import (
    current_generation,
    forget_snapshots,
    need_snapshot,
    snapshot_folder,
)
from knowtrail.retrieval.snapshot.source import CorpusSource
from tests.command_line import CommandLine
from tests.conformance import random_query
from tests.corpora import ListSource, article, redirect
from tests.databases import allow_vectors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from knowtrail.graph.settings import Settings
    from knowtrail.ingest.records import Item

pytestmark = pytest.mark.integration

EMBEDDER = HashEmbedder(32)
SPARSE = IngestOptions(themes="none", inter_top_x=2, inter_threshold=0.2)
"""Few enough edges that some end and nothing takes their place."""


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    """Keep no snapshot open from test to test."""
    forget_snapshots()
    yield
    forget_snapshots()


@pytest.fixture
def ingest(connection: Connection, server: Settings) -> Callable[..., object]:
    """Return a function that ingests items into the corpus `made`."""

    def ingest_items(items: list[Item], **more: Any) -> object:
        return ingest_corpus(
            connection,
            [ListSource(items)],
            corpus="made",
            embedder=EMBEDDER,
            settings=server,
            options=SPARSE,
            **more,
        )

    return ingest_items


@pytest.fixture
def command(
    server: Settings,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> CommandLine:
    """Return the command line on the test's server."""
    monkeypatch.setenv("NEO4J_PASSWORD", str(server.password))
    return CommandLine(server, capsys, "hash:32")


def contents(home: Path) -> dict[str, bytes]:
    """Return the files of the snapshot of `made`."""
    folder = current_generation(snapshot_folder(home, "made"))
    assert folder is not None
    return {path.name: path.read_bytes() for path in folder.iterdir()}


_STATES = st.lists(
    st.tuples(
        st.dictionaries(st.integers(0, 9), st.integers(0, 2), max_size=5),
        st.dictionaries(st.integers(0, 2), st.integers(0, 9), max_size=2),
        st.sampled_from(["incremental", "full"]),
        st.booleans(),
    ),
    min_size=2,
    max_size=4,
)


@pytest.mark.thorough
@settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(states=_STATES)
def test_after_any_history_an_update_is_what_a_full_copy_is(
    session_connection: Connection,
    server: Settings,
    tmp_path_factory: pytest.TempPathFactory,
    states: list[tuple[dict[int, int], dict[int, int], Any, bool]],
) -> None:
    """Ingests add, change and delete documents; not every version is copied."""
    home, whole = tmp_path_factory.mktemp("part"), tmp_path_factory.mktemp("whole")
    delete_data(session_connection)
    allow_vectors(session_connection)
    source = CorpusSource(session_connection, "made")
    for pages, aliases, cleanup, copied in states:
        items = [article(n, version=v) for n, v in pages.items()]
        items += [redirect(n, target=t) for n, t in aliases.items()]
        ingest_corpus(
            session_connection,
            [ListSource(items)],
            corpus="made",
            embedder=EMBEDDER,
            settings=server,
            options=SPARSE,
            cleanup=cleanup,
        )
        if copied:
            build_snapshot(home, source)
    build_snapshot(home, source)

    build_snapshot(whole, source, full=True)

    assert contents(home) == contents(whole)


@pytest.mark.thorough
def test_a_new_document_is_read_with_those_whose_edges_it_changed(
    connection: Connection, ingest: Callable[..., object], tmp_path: Path
) -> None:
    """The rest comes from the last snapshot, and the result is the corpus."""
    source = CorpusSource(connection, "made")
    ingest([article(n) for n in range(20)])
    build_snapshot(tmp_path, source)
    ingest([article(30)])

    report = build_snapshot(tmp_path, source)

    assert report.facts.documents == 21
    assert 1 <= report.read < 21
    assert report.facts.version == 2
    (row,) = connection.query(
        "MATCH (c:Chunk) RETURN count(c) AS chunks, "
        "sum(COUNT { (c)-[:SIMILAR_TO]->() }) AS edges, "
        "COUNT { (:Sentence) } AS sentences"
    )
    facts = report.facts
    assert (facts.chunks, facts.edges, facts.sentences) == (
        row["chunks"],
        row["edges"],
        row["sentences"],
    )


FILTERS: list[dict[str, Any] | None] = [
    None,
    {"category": "Kind 1"},
    {"document.number": {"$gt": 3}},
]


@pytest.mark.thorough
def test_walks_are_those_of_the_database(
    connection: Connection, ingest: Callable[..., object], tmp_path: Path
) -> None:
    """After a real ingest both readers give the same steps, scores and reasons."""
    ingest([article(n, sentences=9) for n in range(12)])
    build_snapshot(tmp_path, CorpusSource(connection, "made"))

    def walked(reader: Callable[[Any], Any]) -> dict[tuple[str, str, int], Any]:
        return {
            (str(asked), name, number): (trail.steps, trail.stop_reason)
            for asked in FILTERS
            for graph in [reader(parse_filter(asked))]
            for name, algorithm in ALGORITHMS.items()
            if name != "llm_guided_traversal"
            for number in range(3)
            for walk in [algorithm.walk(random_query(number, 32), WalkOptions())]
            for trail in [run(graph, walk)]
        }

    found = walked(lambda parsed: need_snapshot(tmp_path, "made", 1, filter=parsed))
    expected = walked(
        lambda parsed: CypherReader(connection, corpus="made", filter=parsed)
    )

    assert [walk for walk in expected if found[walk] != expected[walk]] == []


async def test_a_large_corpus_is_searched_by_the_index(
    connection: Connection,
    ingest: Callable[..., object],
    server: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Above so many chunks no vectors are compared, unless asked to or need be."""
    ingest([article(n, sentences=9) for n in range(12)])
    build_snapshot(tmp_path, CorpusSource(connection, "made"))
    asked: dict[str, Any] = {
        "corpus": "made",
        "algorithm": "auto",
        "embedder": EMBEDDER,
        "settings": replace(server, home=tmp_path),
        "filter": {"title": {"$ne": "Article 1"}},
    }
    whole = search(connection, "What is in Article 3?", **asked)
    assert whole.walk.parameters["reader"] == "snapshot"
    monkeypatch.setattr("knowtrail.retrieval.readers.opening.MOST_COMPARED", 5)

    def refused(*_: object, **__: object) -> None:
        raise DatabaseError("The index is being built.")

    with monkeypatch.context() as without:
        without.setattr(CypherReader, "anchors", refused)
        assert search(connection, "What is in Article 3?", **asked).hits == whole.hits
    monkeypatch.setattr(SnapshotReader, "_nearest", None)

    indexed = search(connection, "What is in Article 3?", **asked)
    async with await AsyncConnection.open(server) as other:
        later = await asearch(other, "What is in Article 3?", **asked)

    for found in (indexed, later):
        assert found.walk.parameters["reader"] == "snapshot"
        assert found.hits == whole.hits
        assert found.walk.steps == whole.walk.steps
    with pytest.raises(SnapshotError):
        search(connection, "What is in Article 3?", reader="snapshot", **asked)


@pytest.mark.thorough
def test_an_older_server_gives_the_same_files(
    connection: Connection, ingest: Callable[..., object], tmp_path: Path
) -> None:
    """Vectors that come as lists of numbers are the same vectors."""
    ingest([article(n) for n in range(4)])
    older = Connection(connection.driver, database=connection.database)
    older._capabilities = Capabilities(version=(5, 26, 30), edition="community")

    build_snapshot(tmp_path / "new", CorpusSource(connection, "made"))
    build_snapshot(tmp_path / "old", CorpusSource(older, "made"))

    assert contents(tmp_path / "new") == contents(tmp_path / "old")


def test_a_corpus_that_was_deleted_and_made_again_is_another(
    connection: Connection, ingest: Callable[..., object], tmp_path: Path
) -> None:
    """Name and version are the same; the snapshot is not taken for it."""
    source = CorpusSource(connection, "made")
    ingest([article(1)])
    build_snapshot(tmp_path, source)
    delete_corpus(connection, "made")
    with pytest.raises(UnknownCorpusError):
        build_snapshot(tmp_path, source)
    ingest([article(2)])
    mark = source.corpus()

    with pytest.raises(SnapshotError, match="another corpus"):
        need_snapshot(tmp_path, "made", mark.version, stamp=mark.stamp)

    assert build_snapshot(tmp_path, source).kept == 0


def test_an_unfinished_corpus_is_not_copied(
    connection: Connection, ingest: Callable[..., object], tmp_path: Path
) -> None:
    """Its version would not change when it is completed."""
    ingest([article(1)])
    connection.write("ingest/corpus_begin", name="made", version=2)

    with pytest.raises(SnapshotError, match="not complete"):
        build_snapshot(tmp_path, CorpusSource(connection, "made"))


def test_a_missing_vector_is_named(
    connection: Connection, ingest: Callable[..., object], tmp_path: Path
) -> None:
    """The message says which text has none and how to see more."""
    ingest([article(1)])
    connection.driver.execute_query(
        "MATCH (c:Chunk) WITH c LIMIT 1 REMOVE c.embedding",
        database_=connection.database,
    )

    with pytest.raises(SnapshotError, match=r"no vector .*corpus verify"):
        build_snapshot(tmp_path, CorpusSource(connection, "made"))


def test_the_command_makes_checks_and_deletes(
    ingest: Callable[..., object], command: CommandLine, tmp_path: Path
) -> None:
    """Each answer says what happened, as text or JSON."""
    ingest([article(n) for n in range(3)])
    home = {"home": str(tmp_path)}

    made = command.run("corpus", "snapshot", "--json", **home)
    again = command.run("corpus", "snapshot", "made", **home)
    checked = command.run("corpus", "snapshot", "made", "--verify", **home)
    deleted = command.run("corpus", "snapshot", "made", "--delete", **home)
    gone = command.run("corpus", "snapshot", "made", "--verify", **home)

    row = json.loads(made.out)
    assert (row["corpus"], row["documents"], row["built"]) == ("made", 3, True)
    assert "is current: version 1, 3 documents" in again.out
    assert "is sound and current: version 1" in checked.out
    assert deleted.out == "Deleted the snapshot of corpus made.\n"
    assert (gone.code, gone.out) == (2, "")
    assert "has no snapshot: make it with" in gone.errors[-1]


def test_the_command_tells_mistakes(
    ingest: Callable[..., object], command: CommandLine, tmp_path: Path
) -> None:
    """Unknown names and options that exclude each other end with code 2."""
    ingest([article(1)])
    home = {"home": str(tmp_path)}

    unknown = command.run("corpus", "snapshot", "mode", **home)
    both = command.run("corpus", "snapshot", "made", "--verify", "--delete", **home)
    none = command.run("corpus", "snapshot", "nowhere", "--delete", **home)

    assert (unknown.code, both.code, none.code) == (2, 2, 0)
    assert "did you mean 'made'?" in unknown.errors[-1]
    assert "Give one of" in both.errors[-1]
    assert "has no snapshot" in none.out

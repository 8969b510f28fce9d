"""Snapshots: built whole or in part they are the same bytes, or are refused."""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowtrail.graph.errors import (
    FilterError,
    SnapshotError,
    StorageError,
    VectorError,
)
from knowtrail.retrieval.filters import parse_filter
from knowtrail.retrieval.protocols import (
    AnchorRequest,
    ExpandRequest,
    HomesRequest,
    ProjectionRequest,
)
from knowtrail.retrieval.readers.snapshot import SnapshotReader
from knowtrail.retrieval.rerank.bm25 import words as words_of
from knowtrail.retrieval.snapshot import files
from knowtrail.retrieval.snapshot.build import build_snapshot, delete_snapshot
from knowtrail.retrieval.snapshot.files import Snapshot
from knowtrail.retrieval.snapshot.folder import (
    build_lock,
    current_generation,
    forget_snapshots,
    need_snapshot,
    open_snapshot,
    snapshot_folder,
)
from tests.conformance import random_graph, random_query
from tests.disks import lockless
from tests.memory_reader import MemoryGraph, MemoryReader
from tests.snapshots import GraphSource, opened
from tests.tiers import amount

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from knowtrail.retrieval.snapshot.source import (
        CorpusMark,
        DocumentMark,
        StoredDocument,
    )

GRAPH = random_graph(5)


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    """Keep no snapshot open from test to test."""
    forget_snapshots()
    yield
    forget_snapshots()


def generations(home: Path) -> list[str]:
    """Return the generations that lie in the folder."""
    return sorted(
        p.name for p in snapshot_folder(home, "small").iterdir() if p.is_dir()
    )


def contents(home: Path) -> dict[str, bytes]:
    """Return the files of the generation in force."""
    folder = current_generation(snapshot_folder(home, "small"))
    assert folder is not None
    return {path.name: path.read_bytes() for path in folder.iterdir()}


class Corpus:
    """A corpus under change, whose documents are marked as an ingest marks them."""

    def __init__(self) -> None:
        self.version = 0
        self.seeds: dict[int, int] = {}
        self.versions: dict[str, int] = {}
        self.edges: dict[str, tuple[str, ...]] = {}
        self.begin()

    def begin(self) -> None:
        """Begin the next version."""
        self.version += 1

    def put(self, number: int, seed: int) -> None:
        """Add or replace a document, and end the edges to its former chunks."""
        self.drop(number)
        self.seeds[number] = seed
        self.versions[f"d{number}"] = self.version

    def drop(self, number: int) -> None:
        """Delete a document with the edges that lead to it."""
        gone = f"c{number}-"
        self.edges = {
            a: tuple(b for b in to if not b.startswith(gone))
            for a, to in self.edges.items()
            if not a.startswith(gone)
        }
        self.seeds.pop(number, None)

    def graph(self) -> MemoryGraph:
        """Return the corpus with the edges that it must have.

        As in an ingest, a document is marked where links are written, and not where
        its last ones have ended by themselves.
        """
        graph = merged({n: alone(n, s) for n, s in sorted(self.seeds.items())})
        for chunk in graph.chunks:
            if self.edges.get(chunk.id, ()) != graph.edges[chunk.id]:
                self.edges[chunk.id] = graph.edges[chunk.id]
                self.versions[chunk.document_id] = self.version
        return graph

    def source(self) -> GraphSource:
        """Return the corpus as a source."""
        graph = self.graph()
        return GraphSource(graph, version=self.version, versions=dict(self.versions))


def alone(number: int, seed: int) -> MemoryGraph:
    """Return one document, with the same ids whatever its text."""
    made = random_graph(seed, sentences=(2 + seed % 4,))

    def named(identity: str) -> str:
        return identity.replace(f"{seed}-0", str(number), 1)

    sentences = {
        named(c): tuple(replace(s, id=named(s.id)) for s in of)
        for c, of in made.sentences.items()
    }
    chunks = tuple(
        replace(c, id=named(c.id), document_id=f"d{number}") for c in made.chunks
    )
    return MemoryGraph(
        chunks=chunks,
        vectors=made.vectors,
        sentences=sentences,
        edges={},
        documents={f"d{number}": made.documents[f"d{seed}-0"]},
    )


def merged(parts: dict[int, MemoryGraph]) -> MemoryGraph:
    """Return documents as one graph, linked where cosines are over a threshold."""
    chunks = tuple(c for part in parts.values() for c in part.chunks)
    vectors = np.concatenate([part.vectors for part in parts.values()])
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = unit @ unit.T
    edges = {}
    for i, chunk in enumerate(chunks):
        order = np.argsort(-cosines[i], kind="stable")
        edges[chunk.id] = tuple(
            chunks[j].id
            for j in order
            if chunks[j].document_id != chunk.document_id and cosines[i, j] > 0.2
        )[:3]
    return MemoryGraph(
        chunks=chunks,
        vectors=vectors,
        sentences={k: v for part in parts.values() for k, v in part.sentences.items()},
        edges=edges,
        documents={k: v for part in parts.values() for k, v in part.documents.items()},
    )


CHANGES = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 30) | st.none()), max_size=3
)


@settings(max_examples=amount(5, 500))
@given(st.lists(CHANGES, min_size=1, max_size=5), st.sets(st.integers(0, 4)))
def test_after_any_history_an_update_is_what_a_full_copy_is(
    tmp_path_factory: pytest.TempPathFactory,
    history: list[list[tuple[int, int | None]]],
    skipped: set[int],
) -> None:
    """Documents come, change and go; some versions are never copied."""
    home, whole = tmp_path_factory.mktemp("part"), tmp_path_factory.mktemp("whole")
    corpus = Corpus()
    corpus.put(9, 3)
    build_snapshot(home, corpus.source())
    for number, changes in enumerate(history):
        corpus.begin()
        for document, seed in changes:
            if seed is None:
                corpus.drop(document)
            else:
                corpus.put(document, seed)
        source = corpus.source()
        if number not in skipped:
            build_snapshot(home, source)
    build_snapshot(home, source)

    build_snapshot(whole, source, full=True)

    assert contents(home) == contents(whole)


def test_an_update_reads_only_what_changed(tmp_path: Path) -> None:
    """Documents with the marks that they had are taken from the last snapshot."""
    build_snapshot(tmp_path, GraphSource(GRAPH))
    source = GraphSource(GRAPH, version=2, versions={"d5-1": 2})

    report = build_snapshot(tmp_path, source)

    assert source.read == ["d5-1"]
    assert (report.read, report.kept, report.built) == (1, 3, True)
    assert report.facts.version == 2


def test_a_document_that_lost_an_edge_is_read_again(tmp_path: Path) -> None:
    """A deleted neighbour leaves no trace on a document but one edge less."""
    build_snapshot(tmp_path, GraphSource(GRAPH))
    chunk = GRAPH.chunks[0].id
    fewer = {**GRAPH.edges, chunk: GRAPH.edges[chunk][:-1]}
    source = GraphSource(replace(GRAPH, edges=fewer), version=2)

    build_snapshot(tmp_path, source)

    assert source.read == ["d5-0"]
    found = need_snapshot(tmp_path, "small", 2).expand((chunk,))[chunk]
    assert found.neighbours.ids == fewer[chunk]


def test_a_current_snapshot_is_left_alone(tmp_path: Path) -> None:
    """A second build reads nothing and writes nothing."""
    build_snapshot(tmp_path, GraphSource(GRAPH))
    before = contents(tmp_path)
    source = GraphSource(GRAPH)

    report = build_snapshot(tmp_path, source)

    assert (report.built, source.read) == (False, [])
    assert contents(tmp_path) == before


def test_a_corpus_made_anew_is_copied_anew(tmp_path: Path) -> None:
    """Nothing is taken from the snapshot of a deleted corpus of the same name."""
    build_snapshot(tmp_path, GraphSource(GRAPH))
    source = GraphSource(GRAPH, stamp="made again")

    report = build_snapshot(tmp_path, source)

    assert (report.read, report.kept) == (4, 0)


def test_nothing_is_taken_from_a_damaged_snapshot(tmp_path: Path) -> None:
    """A bit that flipped is not carried into the next version."""
    build_snapshot(tmp_path, GraphSource(GRAPH))
    damage(tmp_path, "chunk_vectors.npy", 17)

    report = build_snapshot(tmp_path, GraphSource(GRAPH, version=2))

    assert report.kept == 0
    need_snapshot(tmp_path, "small", 2).snapshot.verify()


def damage(home: Path, name: str, place: int) -> None:
    """Flip the bits of one byte of a file."""
    folder = current_generation(snapshot_folder(home, "small"))
    assert folder is not None
    path = folder / name
    data = bytearray(path.read_bytes())
    data[place] ^= 0xFF
    path.write_bytes(bytes(data))


@pytest.mark.parametrize(
    "name", ["snapshot.json", "rows.sqlite", "chunk_vectors.npy", "chunk_scales.npy"]
)
def test_damage_to_what_says_where_things_are_is_seen_at_once(
    tmp_path: Path, name: str
) -> None:
    """A file whose head is not what it should be is never read."""
    build_snapshot(tmp_path, GraphSource(GRAPH))
    damage(tmp_path, name, 3)

    with pytest.raises(SnapshotError, match=r"damaged.*--full"):
        need_snapshot(tmp_path, "small", 1)


def test_an_sqlite_that_lacks_a_module_is_said_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one without FTS5: making and asking a snapshot end in one line."""
    said = r"more of SQLite .*no such module: fts0.*--reader cypher"
    build_snapshot(tmp_path, GraphSource(GRAPH))
    folder = current_generation(snapshot_folder(tmp_path, "small"))
    assert folder is not None
    with closing(sqlite3.connect(folder / "rows.sqlite")) as rows, rows:
        rows.execute("PRAGMA writable_schema = ON")
        rows.execute("UPDATE sqlite_schema SET sql = replace(sql, 'fts5', 'fts0')")
    reader = need_snapshot(tmp_path, "small", 1)

    with pytest.raises(SnapshotError, match=said):
        reader.anchors(GRAPH.vectors[0], 3, words="owl")

    monkeypatch.setattr(files, "_TABLES", files._TABLES.replace("fts5", "fts0"))
    with pytest.raises(SnapshotError, match=said):
        build_snapshot(tmp_path, GraphSource(GRAPH, version=2), full=True)


@pytest.mark.parametrize("name", ["chunk_vectors.npy", "rows.sqlite"])
def test_other_damage_is_found_by_verifying(tmp_path: Path, name: str) -> None:
    """Every file has a checksum."""
    build_snapshot(tmp_path, GraphSource(GRAPH))
    damage(tmp_path, name, -3)
    reader = need_snapshot(tmp_path, "small", 1)

    with pytest.raises(SnapshotError, match=rf"damaged \({name}"):
        reader.snapshot.verify()


def test_pages_that_cannot_be_read_are_no_traceback(tmp_path: Path) -> None:
    """A walk that meets a damaged page of the rows says so, whichever it is."""
    build_snapshot(tmp_path, GraphSource(GRAPH))
    refused = 0
    pages = need_snapshot(tmp_path, "small", 1).snapshot.facts.sizes["rows.sqlite"]
    for page in range(4096, pages, 4096):
        damage(tmp_path, "rows.sqlite", page)
        forget_snapshots()
        try:
            reader = need_snapshot(tmp_path, "small", 1)
            reader.expand([chunk.id for chunk in GRAPH.chunks])
        except SnapshotError as error:
            refused += "damaged" in str(error)
        damage(tmp_path, "rows.sqlite", page)

    assert refused > 3


@pytest.mark.parametrize(
    ("column", "value"),
    [("neighbours", "ffffff7f"), ("sentences", "ffffffff"), ("terms", "00")],
)
def test_rows_that_are_not_there_are_never_followed(
    tmp_path: Path, column: str, value: str
) -> None:
    """A number that leads nowhere is damage, and no answer from somewhere else."""
    build_snapshot(tmp_path, GraphSource(GRAPH))
    folder = current_generation(snapshot_folder(tmp_path, "small"))
    assert folder is not None
    with closing(sqlite3.connect(folder / "rows.sqlite")) as rows, rows:
        rows.execute(f"UPDATE chunk SET {column} = x'{value}'")  # noqa: S608 - ours
    reader = SnapshotReader(replaced_sizes(folder))

    ids = (GRAPH.chunks[0].id,)
    ask: Any = {"terms": lambda: reader.terms(ids, ())}.get(
        column, lambda: reader.expand(ids)
    )

    with pytest.raises(SnapshotError, match="damaged"):
        ask()


def replaced_sizes(folder: Path) -> Snapshot:
    """Open files that were changed, with their new sizes in the description."""
    facts = json.loads((folder / "snapshot.json").read_text())
    facts["sizes"] = {name: (folder / name).stat().st_size for name in facts["sizes"]}
    (folder / "snapshot.json").write_text(json.dumps(facts))
    return Snapshot(folder)


def test_axes_that_cannot_be_fitted_are_no_traceback(tmp_path: Path) -> None:
    """Sums that are no numbers are damage too."""
    build_snapshot(tmp_path, GraphSource(GRAPH))
    folder = current_generation(snapshot_folder(tmp_path, "small"))
    assert folder is not None
    with closing(sqlite3.connect(folder / "rows.sqlite")) as rows, rows:
        bad = np.full((13, 12), np.nan).tobytes()
        rows.execute("UPDATE numbers SET value = ? WHERE name = 'chunks'", (bad,))
    reader = SnapshotReader(replaced_sizes(folder))

    with pytest.raises(SnapshotError, match="damaged"):
        reader.projection(random_query(1))


def test_a_file_cut_short_or_gone_is_seen(tmp_path: Path) -> None:
    """Files have the length that they were written with."""
    build_snapshot(tmp_path, GraphSource(GRAPH))
    folder = current_generation(snapshot_folder(tmp_path, "small"))
    assert folder is not None
    os.truncate(folder / "chunk_vectors.npy", 10)
    with pytest.raises(SnapshotError, match=r"chunk_vectors\.npy has 10 bytes"):
        need_snapshot(tmp_path, "small", 1)

    (folder / "chunk_vectors.npy").unlink()

    with pytest.raises(SnapshotError, match="lost files"):
        need_snapshot(tmp_path, "small", 1)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"generation": 3}',
        '{"generation": "../../x", "facts": ""}',
        '{"generation": "../x", "facts": ""}',
    ],
)
def test_a_damaged_pointer_is_seen(tmp_path: Path, text: str) -> None:
    """What names the generation is checked too, and mended by the next build."""
    build_snapshot(tmp_path, GraphSource(GRAPH))
    (snapshot_folder(tmp_path, "small") / "current.json").write_text(text)

    with pytest.raises(SnapshotError, match="--full"):
        need_snapshot(tmp_path, "small", 1)

    build_snapshot(tmp_path, GraphSource(GRAPH))
    assert need_snapshot(tmp_path, "small", 1)


@pytest.mark.parametrize("number", [2, 99])
def test_another_format_is_refused(tmp_path: Path, number: int) -> None:
    """A snapshot of an older or newer program says so."""
    build_snapshot(tmp_path, GraphSource(GRAPH))
    folder = snapshot_folder(tmp_path, "small")
    generation = current_generation(folder)
    assert generation is not None
    facts = json.loads((generation / "snapshot.json").read_text())
    (generation / "snapshot.json").write_text(json.dumps(facts | {"format": number}))
    from knowtrail.retrieval.snapshot.folder import point_at

    point_at(folder, generation)

    with pytest.raises(SnapshotError, match=rf"has format {number}.*make it anew"):
        need_snapshot(tmp_path, "small", 1)


@pytest.mark.parametrize(
    ("version", "stamp", "message"),
    [
        (2, None, r"is of version 1, the corpus of version 2.*corpus snapshot small"),
        (1, "other", r"of another corpus"),
    ],
)
def test_another_version_or_corpus_is_refused(
    tmp_path: Path, version: int, stamp: str | None, message: str
) -> None:
    """The message says what the snapshot is of and what to do."""
    build_snapshot(tmp_path, GraphSource(GRAPH))

    with pytest.raises(SnapshotError, match=message):
        need_snapshot(tmp_path, "small", version, stamp=stamp)


def test_a_snapshot_that_cannot_be_used_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Who takes whichever reader is there learns why it is not the snapshot."""
    caplog.set_level(logging.WARNING)
    assert open_snapshot(tmp_path, "small", 1) is None
    assert caplog.records == []
    build_snapshot(tmp_path, GraphSource(GRAPH))

    assert open_snapshot(tmp_path, "small", 2) is None

    assert "Walking in the database" in caplog.text
    assert isinstance(open_snapshot(tmp_path, "small", 1), SnapshotReader)


def test_a_snapshot_that_cannot_be_locked_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database answers in its place where its disk has no locks."""
    build_snapshot(tmp_path, GraphSource(GRAPH))
    lockless(monkeypatch)

    assert open_snapshot(tmp_path, "small", 1) is None

    assert "Cannot lock" in caplog.text
    assert "has lost files" not in caplog.text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"complete": False}, "is not complete"),
        ({"dimensions": 13}, "has 12 dimensions where 13 are wanted"),
    ],
)
def test_a_corpus_that_cannot_be_copied(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    """An unfinished corpus, or one with wrong vectors, leaves no snapshot behind."""
    source = GraphSource(GRAPH)
    source.mark = replace(source.mark, **change)

    with pytest.raises(SnapshotError, match=message):
        build_snapshot(tmp_path, source)

    assert open_snapshot(tmp_path, "small", 1) is None


def test_an_edge_out_of_the_corpus_is_refused(tmp_path: Path) -> None:
    """A walk could not follow it."""
    edges = {**GRAPH.edges, GRAPH.chunks[0].id: ("elsewhere",)}

    with pytest.raises(SnapshotError, match="lead out of it"):
        build_snapshot(tmp_path, GraphSource(replace(GRAPH, edges=edges)))

    assert generations(tmp_path) == []


class Changing(GraphSource):
    """A corpus that is changed while it is copied."""

    def documents(self, marks: list[DocumentMark]) -> Iterator[StoredDocument]:
        """Count a version and yield documents."""
        self.mark: CorpusMark = replace(self.mark, version=self.mark.version + 1)
        yield from super().documents(marks)


def test_a_corpus_that_changes_meanwhile_is_not_copied(tmp_path: Path) -> None:
    """The last snapshot stays in force."""
    build_snapshot(tmp_path, GraphSource(GRAPH))
    before = contents(tmp_path)

    with pytest.raises(SnapshotError, match="was changed while it was copied"):
        build_snapshot(tmp_path, Changing(GRAPH, version=2, versions={"d5-0": 2}))

    assert contents(tmp_path) == before
    assert len(generations(tmp_path)) == 1


def test_one_builder_at_a_time(tmp_path: Path) -> None:
    """A second one is told to wait."""
    folder = snapshot_folder(tmp_path, "small")
    with (
        build_lock(folder, "small"),
        pytest.raises(SnapshotError, match="by another process"),
    ):
        build_snapshot(tmp_path, GraphSource(GRAPH))


def test_an_open_reader_keeps_its_generation(tmp_path: Path) -> None:
    """It goes on with what it has, which is removed once nobody reads it."""
    old = opened(tmp_path, GRAPH)
    query = random_query(1)
    before = old.anchors(query, 1)
    build_snapshot(tmp_path, GraphSource(random_graph(6), version=2))

    assert old.anchors(query, 1).ids == before.ids
    assert len(generations(tmp_path)) == 2
    new = need_snapshot(tmp_path, "small", 2)
    assert new.anchors(query, 1).ids != before.ids

    del old
    build_snapshot(tmp_path, GraphSource(GRAPH, version=3))

    # The second is kept by `new`; the first is gone.
    assert generations(tmp_path) == ["version-2-2", "version-3-3"]


def test_deleting_takes_the_snapshot_away(tmp_path: Path) -> None:
    """Nothing is left but the lock, and deleting again does nothing."""
    build_snapshot(tmp_path, GraphSource(GRAPH))

    assert delete_snapshot(tmp_path, "small")

    assert open_snapshot(tmp_path, "small", 1) is None
    assert generations(tmp_path) == []
    assert not delete_snapshot(tmp_path, "small")
    assert not delete_snapshot(tmp_path, "never")


def test_what_a_killed_builder_left_is_removed(tmp_path: Path) -> None:
    """The next builder clears folders that no pointer names."""
    build_snapshot(tmp_path, GraphSource(GRAPH))
    left = snapshot_folder(tmp_path, "small") / "version-1-7"
    left.mkdir()
    (left / "chunk_vectors.npy").write_bytes(b"half")

    build_snapshot(tmp_path, GraphSource(GRAPH, version=2))

    assert generations(tmp_path) == ["version-2-8"]


def _read_and_check(home: str, rounds: int) -> None:
    """Open the snapshot again and again and check that each is whole."""
    from pathlib import Path

    for _ in range(rounds):
        forget_snapshots()
        for version in range(1, 1000):
            try:
                reader = need_snapshot(Path(home), "small", version)
            except SnapshotError as error:
                if "is of version" in str(error):
                    continue
                raise
            reader.snapshot.verify()
            reader.anchors(random_query(1), 1)
            break


@pytest.mark.thorough
def test_processes_read_while_it_is_built_again_and_again(tmp_path: Path) -> None:
    """Readers see whole snapshots only, and old generations go."""
    processes = 3
    build_snapshot(tmp_path, GraphSource(GRAPH))
    context = multiprocessing.get_context("spawn")
    readers = [
        context.Process(target=_read_and_check, args=(str(tmp_path), 60))
        for _ in range(processes)
    ]
    for reader in readers:
        reader.start()
    version = 1
    while any(reader.is_alive() for reader in readers) and version < 300:
        version += 1
        build_snapshot(tmp_path, GraphSource(GRAPH, version=version))
    for reader in readers:
        reader.join(60)

    assert [reader.exitcode for reader in readers] == [0] * processes
    assert version > 3
    build_snapshot(tmp_path, GraphSource(GRAPH, version=version + 1))
    assert len(generations(tmp_path)) == 1


def _build_slowly(home: str) -> None:
    """Build, and be killed in the middle of it."""
    from pathlib import Path

    class Killed(GraphSource):
        def documents(self, marks: list[DocumentMark]) -> Iterator[StoredDocument]:
            yield next(super().documents(marks))
            os.kill(os.getpid(), signal.SIGKILL)

    build_snapshot(Path(home), Killed(GRAPH, version=2), full=True)


@pytest.mark.thorough
def test_a_killed_builder_leaves_the_last_snapshot(tmp_path: Path) -> None:
    """The lock goes with the process, the half-made generation with the next build."""
    build_snapshot(tmp_path, GraphSource(GRAPH))
    before = contents(tmp_path)
    child = multiprocessing.get_context("spawn").Process(
        target=_build_slowly, args=(str(tmp_path),)
    )
    child.start()
    child.join(60)

    assert child.exitcode == -signal.SIGKILL
    assert contents(tmp_path) == before
    assert len(generations(tmp_path)) == 2
    build_snapshot(tmp_path, GraphSource(GRAPH, version=2))
    assert len(generations(tmp_path)) == 1


def test_no_right_to_write_is_told(tmp_path: Path) -> None:
    """A home that cannot be written to is named."""
    (tmp_path / "snapshots").write_text("a file where a folder should be")

    with pytest.raises(StorageError, match="Cannot write working files"):
        build_snapshot(tmp_path, GraphSource(GRAPH))


def test_anchors_are_exact_among_many_equal_vectors(tmp_path: Path) -> None:
    """Chunks that float32 cannot tell apart are compared in float64, then by id."""
    large = merged({n: alone(n, n) for n in range(40)})
    vectors = np.repeat(large.vectors[:1], len(large.chunks), axis=0)
    graph = replace(large, vectors=vectors, edges={c.id: () for c in large.chunks})
    query = random_query(2)

    found = opened(tmp_path, graph).anchors(query, 1)

    assert len(large.chunks) > 50
    assert set(found.ids) == set(MemoryReader(graph).anchors(query, 1).ids)


@pytest.mark.parametrize(
    "asked",
    [
        {"document.words": {"$gte": 100}},
        {"chunk.index": {"$lt": 2}},
        {"chunk.className": "kept"},
        {"chunk.text": {"$like": "everywhere"}},
        {"document.text": {"$ilike": "LONG"}, "chunk_id": {"$ne": "c5-0-000"}},
        {"$or": [{"category": "Category 2"}, {"aliases": "Alias 1"}]},
        {"document.made": {"$ne": "today"}},
        {"title": "nowhere"},
        {"title": {"$in": [GRAPH.chunks[0].title, *map(str, range(10_000))]}},
        {"chunk.index": {"$nin": list(range(1, 10_001))}},
        {"aliases": {"$nin": ["Alias 1", *map(str, range(10_000))]}},
    ],
)
def test_filters_pass_what_they_pass_in_memory(
    tmp_path: Path, asked: dict[str, Any]
) -> None:
    """Properties of chunks and documents, long ones and dates too."""
    documents = {
        identity: {**properties, "text": f"A long text of {identity}.", "made": object}
        for identity, properties in GRAPH.documents.items()
    }
    extra = {c.id: {"className": "kept"} for c in GRAPH.chunks[3:7]}
    graph = replace(GRAPH, documents=documents, chunk_properties=extra)
    parsed = parse_filter(asked)
    reader, memory = opened(tmp_path, graph, parsed), MemoryReader(graph, filter=parsed)

    every = [chunk.id for chunk in graph.chunks]
    around = [
        [visit.neighbours.ids for visit in r.expand(every).values()]
        for r in (reader, memory)
    ]

    query = random_query(3)
    assert set(reader.anchors(query, 1).ids) == set(memory.anchors(query, 1).ids)
    assert around[0] == around[1]


def test_a_filter_of_more_values_than_sqlite_takes_is_refused(tmp_path: Path) -> None:
    """The message has both numbers, not the values."""
    snapshot = opened(tmp_path, GRAPH, None).snapshot
    with snapshot.reading():
        snapshot.sql.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 9_999)
    asked = parse_filter({"document.words": {"$in": list(range(10_000))}})

    with pytest.raises(FilterError) as caught:
        SnapshotReader(snapshot, filter=asked)

    assert str(caught.value) == "The filter has 10,001 values: the most is 9,999."


@pytest.mark.parametrize("asked", [None, {"theme": "birds"}])
def test_words_find_the_chunks_that_have_them(
    tmp_path: Path, asked: dict[str, Any] | None
) -> None:
    """Which these are is the same in memory; stores weigh words each in its way."""
    parsed = parse_filter(asked)
    graph, query = GRAPH, random_query(3)
    reader, memory = opened(tmp_path, graph, parsed), MemoryReader(graph, filter=parsed)
    word = words_of(graph.chunks[-1].text)[-1]

    for words, k in ((f"{word} OR nothing*", 1), (f"{word} nothing", 0), ('"', 1)):
        found = reader.anchors(query, k, words=words)
        wanted = memory.anchors(query, k, words=words)

        assert set(found.by_words) == set(wanted.by_words)
        assert set(found.ids) == set(wanted.ids)
        assert len(found.vectors) == len(found.ids)


def test_where_none_is_to_be_near_no_vectors_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name is looked for by its words alone, however large the snapshot is."""
    reader, word = opened(tmp_path, GRAPH, None), words_of(GRAPH.chunks[-1].text)[-1]
    monkeypatch.delattr(SnapshotReader, "_nearest")

    assert reader.anchors(random_query(3), 0, words=word).by_words
    with pytest.raises(AttributeError):
        reader.anchors(random_query(3), 1, words=word)


def test_threads_that_filter_and_walk_do_not_wait_for_one_another(
    tmp_path: Path,
) -> None:
    """A filter that asks Python functions, beside readers of the same files.

    In a process of its own: threads that wait for ever can only be killed.
    """
    build_snapshot(tmp_path, GraphSource(GRAPH))
    done = subprocess.run(
        [sys.executable, "-c", _THREADS, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


_THREADS = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from knowtrail.retrieval.filters import parse_filter
from knowtrail.retrieval.readers.snapshot import SnapshotReader
from knowtrail.retrieval.readers.snapshot import passing
from knowtrail.retrieval.snapshot.folder import need_snapshot

home = Path(sys.argv[1])
snapshot = need_snapshot(home, "small", 1).snapshot
ids = [key for (key,) in snapshot.sql.execute("SELECT id FROM chunk")]

def filtered(n):
    for number in range(200):
        asked = {"chunk.text": {"$ilike": f"{n} {number}"}}
        passing(snapshot, parse_filter(asked))

def walked(_):
    for key in ids * 20:
        SnapshotReader(snapshot).expand([key])

with ThreadPoolExecutor(4) as pool:
    list(pool.map(lambda n: (filtered if n % 2 else walked)(n), range(4)))
print("done")
"""


def test_numbers_that_are_none_pass_no_filter_and_break_none(tmp_path: Path) -> None:
    """Infinity is more than every number; what is no number is not compared."""
    strange = {"far": float("inf"), "odd": float("nan"), "text": "Long."}
    documents = {key: {**known, **strange} for key, known in GRAPH.documents.items()}
    graph = replace(GRAPH, documents=documents)
    every = {chunk.id for chunk in graph.chunks}

    def passed(asked: dict[str, Any]) -> set[str]:
        parsed = parse_filter(asked)
        reader = opened(tmp_path, graph, parsed)
        return set(reader.anchors(random_query(3), len(every)).ids)

    assert (
        passed({"document.text": {"$like": "Long"}, "document.far": {"$gt": 1e300}})
        == every
    )
    assert passed({"document.odd": {"$lt": 5}}) == set()


def test_unusual_text_comes_back(tmp_path: Path) -> None:
    """Every character that a text can have, and texts that are empty."""
    texts = ("", "naïve \U0001f426 \x00 \n", "lone \ud800 surrogate", "a" * 70_000)
    chunks = tuple(
        replace(chunk, text=text)
        for chunk, text in zip(GRAPH.chunks, texts, strict=False)
    )
    graph = replace(
        GRAPH,
        chunks=chunks,
        vectors=GRAPH.vectors[: len(chunks)],
        edges={c.id: () for c in chunks},
    )

    found = opened(tmp_path, graph).expand([c.id for c in chunks])

    assert tuple(visit.chunk.text for visit in found.values()) == texts


def test_an_empty_corpus_has_a_snapshot(tmp_path: Path) -> None:
    """Walks find no anchor there."""
    empty = replace(GRAPH, chunks=(), vectors=np.empty((0, 12)), sentences={}, edges={})

    reader = opened(tmp_path, empty)

    assert reader.anchors(random_query(1), 1).ids == ()
    assert reader.anchors(random_query(1), 1).complete
    assert reader.expand(("x",)) == {}
    assert reader.homes(("x",)).ids == ()


def test_a_vector_of_another_length_is_refused(tmp_path: Path) -> None:
    """The embedder is not the corpus's."""
    with pytest.raises(VectorError, match="13 dimensions, the snapshot's 12"):
        opened(tmp_path, GRAPH).anchors(random_query(1, 13), 1)


def test_axes_are_those_of_the_vectors(tmp_path: Path) -> None:
    """Kept axes and those fitted to a question agree with the memory reader's."""
    reader, memory = opened(tmp_path, GRAPH), MemoryReader(GRAPH)
    query = random_query(4)

    pairs = [(reader.projection(q), memory.projection(q)) for q in (None, query)]

    points = [[p.points(GRAPH.vectors) for p in pair] for pair in pairs]
    np.testing.assert_allclose(points[0][0], points[0][1], atol=1e-9)
    np.testing.assert_allclose(points[1][0], points[1][1], atol=1e-9)


async def test_asynchronous_answers_are_the_same(tmp_path: Path) -> None:
    """The twins give what the methods give."""
    reader = opened(tmp_path, GRAPH)
    query, chunk = random_query(1), GRAPH.chunks[0].id
    sentence = GRAPH.sentences[chunk][0].id

    anchors: Any = await reader.aanswer(AnchorRequest(vector=query))
    visits: Any = await reader.aanswer(ExpandRequest(chunk_ids=(chunk,)))
    homes: Any = await reader.aanswer(HomesRequest(sentence_ids=(sentence,)))
    fitted: Any = await reader.aanswer(ProjectionRequest(query=query))
    kept: Any = await reader.aanswer(ProjectionRequest())

    assert anchors.ids == reader.anchors(query, 1).ids
    assert visits[chunk].chunk == GRAPH.chunks[0]
    assert homes.ids == (chunk,)
    np.testing.assert_array_equal(fitted.mean, reader.projection(query).mean)
    np.testing.assert_array_equal(kept.mean, reader.projection().mean)


def test_few_chunks_are_read_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However large the corpus is, what is held of it is bounded."""
    monkeypatch.setattr("knowtrail.retrieval.snapshot.build._CHUNKS", 9)
    sizes: list[int] = []

    class Noting(GraphSource):
        def documents(self, marks: list[DocumentMark]) -> Iterator[StoredDocument]:
            sizes.append(sum(mark.chunks for mark in marks))
            yield from super().documents(marks)

    source = Noting(merged({n: alone(n, n) for n in range(20)}))

    build_snapshot(tmp_path, source)

    assert len(sizes) > 3
    assert max(sizes) <= 9


def test_a_filter_is_decided_once(tmp_path: Path) -> None:
    """Readers of one snapshot share what they know of a filter, by its values."""
    wanted = [parse_filter({"document.words": value}) for value in (1, True, 1)]
    first = opened(tmp_path, GRAPH, wanted[0])
    others = [SnapshotReader(first.snapshot, filter=f) for f in wanted[1:]]

    kept = [id(reader._passing) for reader in (first, *others)]

    assert kept[0] == kept[2] != kept[1]


def test_snapshots_are_closed_to_others(tmp_path: Path) -> None:
    """Nobody else may enter a folder of snapshots or read a file, in a new home too."""
    home = tmp_path / "new" / "home"

    build_snapshot(home, GraphSource(GRAPH))

    made = [home.parent, *home.parent.rglob("*")]
    assert [path for path in made if path.stat().st_mode & 0o077] == []
    assert any(path.name == "chunk_vectors.npy" for path in made)

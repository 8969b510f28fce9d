"""Linking after a change: the graph of a fresh ingest, at the cost of what changed."""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import replace
from itertools import islice

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knowtrail.graph.db.connection import Connection
from knowtrail.graph.db.schema import delete_data
from knowtrail.graph.db.statements import statement_names, statement_record
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.ingest import (
    neighbour_index,
    pipeline,
    similar_linking,
    similarity,
    text_linking,
)
from knowtrail.ingest.forgetting import forget_documents
from knowtrail.ingest.neighbour_index import NeighbourIndex
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.ingest.records import RawDocument
from knowtrail.ingest.verify import corpus_digest, verify_corpus
from tests.corpora import ListSource, article, redirect, title_of
from tests.databases import allow_vectors, plan_steps
from tests.integration.ingest_child import FirstWords

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1200)]

EMBEDDER = HashEmbedder(32)
OPTIONS = [
    IngestOptions(),
    IngestOptions(inter_top_x=2, inter_threshold=-1.0, theme_top=2, terms=False),
    IngestOptions(inter_top_x=3, inter_threshold=0.6, theme_threshold=0.5, window=2),
]
_PAGES = st.dictionaries(st.integers(0, 13), st.integers(0, 3), max_size=6)
_STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("ingest"),
            _PAGES,
            st.dictionaries(st.integers(0, 3), st.integers(0, 13), max_size=3),
        ),
        st.tuples(st.just("replace all"), _PAGES, st.just({})),
        st.tuples(st.just("forget"), st.sets(st.integers(0, 13), max_size=2)),
        st.tuples(st.just("interrupt"), _PAGES, st.integers(0, 12)),
        st.tuples(st.just("other folder")),
    ),
    min_size=2,
    max_size=7,
)


@pytest.fixture(autouse=True)
def _themes(monkeypatch):
    """Take themes without a model."""
    monkeypatch.setattr(pipeline, "theme_source", lambda *_: FirstWords())


class History:
    """A corpus under change, and what is in it."""

    def __init__(self, connection, server, options):
        self.connection = connection
        self.server = server
        self.options = options
        self.pages = {}
        self.redirects = {}

    def ingest(self, pages, redirects, *, cleanup="incremental"):
        """Ingest pages and redirects by number."""
        items = [page(n, v) for n, v in sorted(pages.items())]
        items += [redirect(n, target=t) for n, t in sorted(redirects.items())]
        ingest_corpus(
            self.connection,
            [ListSource(items)],
            corpus="made",
            embedder=EMBEDDER,
            settings=self.server,
            options=self.options,
            cleanup=cleanup,
        )

    def step(self, kind, *given):
        """Do one step, and note what must be there then."""
        if kind == "other folder":
            shutil.rmtree(self.server.home / "work", ignore_errors=True)
        elif kind == "forget":
            gone = given[0] & self.pages.keys()
            titles = [title_of(n) for n in sorted(gone)]
            if titles:
                forget_documents(self.connection, "made", titles, settings=self.server)
            self.pages = {n: v for n, v in self.pages.items() if n not in gone}
            self.redirects = {n: t for n, t in self.redirects.items() if t not in gone}
        elif kind == "interrupt":
            self.interrupt(*given)
        else:
            if kind == "replace all":
                self.pages, self.redirects = {}, {}
            pages, redirects = given
            self.pages |= pages
            self.redirects |= redirects
            cleanup = "full" if kind == "replace all" else "incremental"
            self.ingest(pages, redirects, cleanup=cleanup)

    def interrupt(self, pages, writes):
        """Begin an ingest that ends after so many writes."""
        write_all = Connection.write_all
        left = [writes]

        def failing(connection, steps):
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt
            return write_all(connection, steps)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Connection, "write_all", failing)
            with suppress(KeyboardInterrupt):
                self.ingest(pages, {})
        rows = self.connection.query(
            "MATCH (d:Document {corpus: 'made'}) "
            "RETURN d.number AS number, d.edition AS edition"
        )
        self.pages = {row["number"]: row["edition"] for row in rows}


def page(number, edition):
    """Return a page; editions differ in length, share sentences, and move them."""
    whole = article(number, version=edition // 2, sentences=4 + edition % 2 * 2)
    if edition == 1:
        whole = replace(whole, raw=f"It rains. It rains. {whole.raw} It rains.")
    return replace(whole, metadata={"number": number, "edition": edition})


@pytest.mark.thorough
@settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=_STEPS, options=st.sampled_from(OPTIONS))
def test_any_changes_end_in_the_graph_of_a_fresh_ingest(
    session_connection, server, steps, options
):
    """Additions, changes, deletions, redirects, interruptions, another machine."""
    delete_data(session_connection)
    allow_vectors(session_connection)
    history = History(session_connection, server, options)
    history.ingest({}, {})
    for step in steps:
        history.step(*step)
    history.ingest(history.pages, history.redirects)
    after = corpus_digest(session_connection, "made")
    wrong = [f for f in verify_corpus(session_connection, "made") if f.count]

    delete_data(session_connection)
    history.ingest(history.pages, history.redirects)

    assert wrong == []
    assert after == corpus_digest(session_connection, "made")


@pytest.mark.thorough
def test_texts_that_did_not_change_are_not_read(connection, server, monkeypatch):
    """But those that a new title or term names are, and those that lost one."""
    delete_data(connection)
    history = History(connection, server, IngestOptions())
    history.ingest(dict.fromkeys(range(13), 0), {})
    read = []
    found = text_linking._found
    monkeypatch.setattr(
        text_linking,
        "_found",
        lambda row, _: read.append(row["title"]) or found(row, _),
    )
    new = replace(article(1), source_id="x", title="Unheard", raw="Nothing is here.")

    ingest_corpus(
        connection,
        [ListSource([new])],
        corpus="made",
        embedder=EMBEDDER,
        settings=server,
    )

    assert read == ["Unheard"]


def test_an_edit_keeps_what_is_written_as_before(connection, server, monkeypatch):
    """Chunks and sentences of the same text stay, with their vectors; others go."""
    delete_data(connection)
    history = History(connection, server, IngestOptions())
    history.step("ingest", dict.fromkeys(range(8), 0), {})
    before = stored_texts(connection)
    embedded = []
    embed = HashEmbedder.embed_array
    monkeypatch.setattr(
        HashEmbedder,
        "embed_array",
        lambda self, texts: embedded.extend(texts) or embed(self, texts),
    )

    history.step("ingest", {3: 1}, {})

    after = stored_texts(connection)
    assert len(before.keys() - after.keys()) == 0
    assert all(after[key] == node for key, node in before.items())
    new = {key[0] for key in after.keys() - before.keys()}
    assert set(embedded) & new == new
    assert not set(embedded) & {text for text, _ in before}


@pytest.mark.thorough
def test_a_chunk_that_stays_has_one_successor(connection, server):
    """Its sentences are new ones, as equal ones before them went."""
    old = ("Alpha", "Xray", "Bravo", "Yankee", "Alpha", "Bravo", "Charlie", "Delta")
    new = ("Alpha", "Bravo", "Zulu", "Whisky", "Charlie", "Delta")
    digests = []
    for states in ((old, new), (new,)):
        delete_data(connection)
        for words in states:
            text = " ".join(f"{word} walks home." for word in words)
            ingest_corpus(
                connection,
                [ListSource([RawDocument(source_id="1", title="Walks", raw=text)])],
                corpus="made",
                embedder=HashEmbedder(32),
                settings=server,
                options=IngestOptions(themes="none", window=2, stride=2),
            )
        digests.append(corpus_digest(connection, "made"))

    assert digests[0] == digests[1]


def stored_texts(connection):
    """Return the node of each sentence and chunk by its text and id."""
    rows = connection.query(
        "MATCH (n:Chunk|Sentence) RETURN n.text AS text, n.id AS id, elementId(n) AS e"
    )
    return {(row["text"], row["id"]): row["e"] for row in rows}


@pytest.mark.thorough
def test_a_kept_index_proposes_neighbours_of_a_small_change(
    connection, server, monkeypatch
):
    """In a corpus too large for exact search nearly all exact edges are there."""
    delete_data(connection)
    monkeypatch.setattr(neighbour_index, "EXACT_VECTORS", 20)
    monkeypatch.setattr(neighbour_index, "_WORN_SHARE", 1)
    options = IngestOptions(inter_top_x=3, inter_threshold=-1.0)
    history = History(connection, server, options)
    history.step("ingest", dict.fromkeys(range(40), 0), {})
    made, read = [], []
    index, vectors = neighbour_index.NeighbourIndex, similar_linking._Linking
    train, load = index._trained, vectors._vectors
    monkeypatch.setattr(
        index, "_trained", lambda self: made.append(self) or train(self)
    )
    monkeypatch.setattr(
        vectors, "_vectors", lambda self, ids: read.append(ids) or load(self, ids)
    )

    history.step("ingest", {3: 1, 41: 0}, {})
    history.step("forget", {5})

    edges = similar_edges(connection)
    (row,) = connection.read("corpus/show", name="made")
    delete_data(connection)
    monkeypatch.undo()
    monkeypatch.setattr(pipeline, "theme_source", lambda *_: FirstWords())
    history.ingest(history.pages, history.redirects)
    exact = similar_edges(connection)
    assert not made
    assert max(map(len, read)) == 2
    assert row["settings"]["similarMethod"].endswith(" compared")
    assert len(edges & exact) >= 0.99 * len(exact)


def similar_edges(connection):
    """Return source, target, score and rank of the edges between documents."""
    rows = connection.query(
        "MATCH (a:Chunk)-[r:SIMILAR_TO {scope: 'inter'}]->(b:Chunk) "
        "RETURN a.id AS a, b.id AS b, r.score AS score, r.rank AS rank"
    )
    return {tuple(row.values()) for row in rows}


@pytest.mark.thorough
@pytest.mark.parametrize("by", ["pairs", "cells", "cells made anew"])
def test_a_killed_comparison_goes_on_where_it_was(connection, server, monkeypatch, by):
    """Blocks whose edges are stored are not compared again; the end is the same.

    Where the cells are gone the order is another one, and all begins again.
    """
    delete_data(connection)
    shutil.rmtree(server.home / "work", ignore_errors=True)
    searching = similarity.Comparison if by == "pairs" else NeighbourIndex
    if by != "pairs":
        monkeypatch.setattr(neighbour_index, "EXACT_VECTORS", 10)
        monkeypatch.setattr(neighbour_index, "ROWS", 16)
    history = History(connection, server, IngestOptions(inter_threshold=-1.0))
    monkeypatch.setattr(similarity, "ROWS", 16)
    pages = dict.fromkeys(range(14), 1)
    blocks, starts = searching.blocks, []

    def broken(self, start):
        if getattr(self, "same_group", False):
            return blocks(self, start)
        starts.append(start)
        after = 0 if len(starts) == 2 and by == "cells made anew" else 3
        return breaking_off(blocks(self, start), after=after)

    monkeypatch.setattr(searching, "blocks", broken)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            history.ingest(pages, {})
        if by == "cells made anew" and len(starts) == 1:
            (kept,) = server.home.rglob("*similar.index")
            kept.write_bytes(b"of another version")
    searched = []
    monkeypatch.setattr(
        searching,
        "blocks",
        lambda self, start: searched.append(start) or blocks(self, start),
    )
    history.ingest(pages, {})

    whole = corpus_digest(connection, "made")
    assert [f for f in verify_corpus(connection, "made") if f.count] == []
    delete_data(connection)
    history.ingest(pages, {})
    assert starts[0] == 0
    if by == "cells made anew":
        assert starts[1] == 0
        assert searched[0] == 0
    else:
        assert 16 <= starts[1] <= 48
    assert whole == corpus_digest(connection, "made")


def breaking_off(blocks, *, after):
    """Yield some blocks, then stop as an interrupt does."""
    yield from islice(blocks, after)
    raise KeyboardInterrupt


@pytest.mark.thorough
def test_saved_queries_read_no_other_corpus(connection, server):
    """What people ask of one corpus looks at no document or walk of another."""
    delete_data(connection)
    for corpus in ("one", "other"):
        ingest_corpus(
            connection,
            [ListSource([page(n, 0) for n in range(4)])],
            corpus=corpus,
            embedder=EMBEDDER,
            settings=server,
            options=IngestOptions(),
        )
    names = [
        name
        for name in statement_names()
        if name.startswith("inspect/") and "corpus" in statement_record(name).params
    ]

    scanned = {name: rows for name in names if (rows := scanned_rows(connection, name))}

    assert len(names) > 30
    assert scanned == {}


def scanned_rows(connection, name):
    """Return how many nodes a saved query of corpus `one` finds by a label alone."""
    record = statement_record(name)
    params = dict.fromkeys(record.params) | {"corpus": "one"}
    steps = plan_steps(connection, f"PROFILE\n{record.text}", params)
    return sum(step["rows"] for step in steps if "LabelScan" in step["operatorType"])


def test_what_was_interrupted_and_undone_is_linked_again(connection, server):
    """A page that is as it was linked once has lost its edges in between."""
    history = History(connection, server, OPTIONS[0])
    history.step("ingest", dict.fromkeys(range(6), 0), {})
    before = corpus_digest(connection, "made")

    for writes in range(1, 12):
        history.step("interrupt", {1: 1}, writes)
        if history.pages[1] == 1:
            break
    (stored,) = connection.query("MATCH (k:Corpus) RETURN k.status AS status")
    assert (history.pages[1], stored["status"]) == (1, "unfinished")
    history.step("ingest", {1: 0}, {})

    assert corpus_digest(connection, "made").parts == before.parts
    assert not [f for f in verify_corpus(connection, "made") if f.count]

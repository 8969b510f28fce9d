"""Properties that filters name: the vector index is filtered by them inside."""

from __future__ import annotations

import re
from dataclasses import replace
from threading import Timer
from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.graph.db.schema import (
    apply_schema,
    drop_schema,
    filter_properties,
    hnsw_settings,
)
from knowtrail.graph.errors import CorpusDriftError, InputError
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.graph.rdf import export_rdf, import_rdf
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.ingest.verify import corpus_digest, verify_corpus
from knowtrail.retrieval.corpora import corpora
from knowtrail.retrieval.search import search
from knowtrail.retrieval.snapshot.build import build_snapshot
from knowtrail.retrieval.snapshot.folder import current_generation, snapshot_folder
from knowtrail.retrieval.snapshot.source import CorpusSource
from tests.corpora import ListSource, article

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.settings import Settings
    from knowtrail.ingest.report import IngestReport

pytestmark = [pytest.mark.integration, pytest.mark.forgets]
CORPUS = "dated"
FEW = {"year": 2001, "kind": "few", "long": "x" * 2000, "tags": ["a", "b"]}
FEW |= {"flag": True, "blank": ""}
MANY = {"year": 1990, "kind": "many", "long": "short", "tags": ["a"], "flag": False}


@pytest.fixture
def bare(connection: Connection) -> Iterator[Connection]:
    """Yield a connection to a database without our schema, and leave none behind."""
    drop_schema(connection, data=True)
    yield connection
    drop_schema(connection, data=True)


@pytest.fixture
def _filtered_inside(connection: Connection) -> None:
    """Skip where the server's vector index cannot be filtered inside."""
    if not connection.capabilities.filtered_vector_index:
        pytest.skip("this server's vector index cannot be filtered inside")


def store(
    connection: Connection,
    settings: Settings,
    *,
    changed: dict[str, Any] | None = None,
    **more: Any,
) -> IngestReport:
    """Store forty articles, each second of which is of a year of its own."""
    pages = [
        replace(article(n, sentences=8), metadata=MANY if n % 2 else FEW)
        for n in range(40)
    ]
    if changed is not None:
        pages[0] = replace(pages[0], metadata=changed)
    given = {"corpus": CORPUS, "embedder": HashEmbedder(32), **more}
    return ingest_corpus(
        connection,
        [ListSource(pages)],
        settings=settings,
        options=IngestOptions(themes="none"),
        **given,
    )


def index(connection: Connection) -> tuple[int, list[str]]:
    """Return the number and the properties of the vector index of chunks."""
    (row,) = connection.query(
        "SHOW INDEXES YIELD id, name, properties WHERE name = 'chunk_embedding' "
        "RETURN id, properties"
    )
    return row["id"], row["properties"]


def copies(connection: Connection) -> list[Any]:
    """Return what chunks have of their documents, as it is there."""
    rows = connection.query(
        "MATCH (d:Document)<-[:FROM_DOCUMENT]-(c:Chunk) WITH DISTINCT "
        "d {.year, .kind, .long, .tags} AS of, [key IN keys(c) "
        "WHERE key STARTS WITH 'document_' | [key, c[key]]] AS copied "
        "UNWIND copied AS one RETURN DISTINCT of.kind AS kind, one[0] AS name, "
        "one[1] AS value ORDER BY kind, name"
    )
    return [tuple(row.values()) for row in rows]


def test_chunks_have_what_filters_name_of_their_documents(
    bare: Connection, server: Settings
) -> None:
    """From the first ingest on, after a change, and where it is named later.

    Lists and long texts are not copied. The digest is that of the documents; an index
    that can be filtered by all that is named is not made anew.
    """
    apply_schema(bare, filters=["document.year", "document.long"])
    store(bare, server)
    able = bare.capabilities.filtered_vector_index
    digest, first = corpus_digest(bare, CORPUS).value, index(bare)
    years = [
        ("few", "document_year", 2001),
        ("many", "document_long", "short"),
        ("many", "document_year", 1990),
    ]
    assert copies(bare) == (years if able else [])
    assert {*first[1]} >= ({"document_year", "document_long"} if able else set())

    apply_schema(bare, filters=["document.year"])
    apply_schema(bare, dimensions=32)
    assert index(bare) == first
    apply_schema(bare, filters=["document.kind", "document.tags", "chunk.index"])

    named = {"document_kind", "document_tags", "index"} | {*first[1]}
    assert {*index(bare)[1]} == (named if able else {"embedding"})
    kinds = [("few", "document_kind", "few"), ("many", "document_kind", "many")]
    assert copies(bare) == (sorted(kinds + years) if able else [])
    assert corpus_digest(bare, CORPUS).value == digest

    store(bare, server, changed={"kind": "none"})
    rows = bare.query(
        "MATCH (d:Document {kind: 'none'})<-[:FROM_DOCUMENT]-(c:Chunk) "
        "RETURN DISTINCT c.document_kind AS kind, c.document_year AS year"
    )
    assert rows == [{"kind": "none" if able else None, "year": None}]
    assert [finding for finding in verify_corpus(bare, CORPUS) if finding.count] == []


@pytest.mark.usefixtures("_filtered_inside")
def test_what_may_lack_copies_is_not_asked_inside(
    bare: Connection, server: Settings, tmp_path: Path
) -> None:
    """After an import, with an index that is only older, and after own statements.

    `corpus verify` tells the last; to name the filters again mends them all.
    """
    apply_schema(bare, filters=["document.year"])
    store(bare, server)
    assert corpora(bare)[0].filters == ["document.year"]
    bare.driver.execute_query(
        "MATCH (d:Document {kind: 'few'}) SET d.year = 1800", database_=bare.database
    )
    (found,) = [each for each in verify_corpus(bare, CORPUS) if each.count]
    assert "filter" in found.check
    apply_schema(bare, filters=["document.year"])
    assert [each for each in verify_corpus(bare, CORPUS) if each.count] == []
    assert ("few", "document_year", 1800) in copies(bare)

    path = tmp_path / "graph.nt"
    export_rdf(bare, path, embeddings=False)
    path.write_text(path.read_text("utf-8").replace('"1800"', '"1801"'), "utf-8")
    import_rdf(bare, path)
    assert corpora(bare)[0].filters == []
    apply_schema(bare, filters=["document.kind"])
    assert corpora(bare)[0].filters == ["document.kind", "document.year"]

    bare.run_schema("MATCH (k:Corpus) REMOVE k.filters, k.copied")
    apply_schema(bare, hnsw={"m": 24})
    store(bare, server, changed={"kind": "none"})
    assert "document_year" in index(bare)[1]
    assert corpora(bare)[0].filters == []
    apply_schema(bare, filters=["document.flag"])
    assert "document_flag" in index(bare)[1]
    assert hnsw_settings(bare)["m"] == 24


@pytest.mark.usefixtures("_filtered_inside")
def test_what_is_stored_while_filters_are_named_has_copies(
    bare: Connection, server: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An ingest that is at work then, and one that begins while chunks get theirs."""
    store(bare, server)
    plain, more = type(bare).run_schema, []

    def run_schema(self: Connection, text: str, /, **params: Any) -> Any:
        if "IN TRANSACTIONS" in text and not more:
            more.append(text)
            store(self, server, changed={"kind": "late", "year": 1700})
        return plain(self, text, **params)

    monkeypatch.setattr(type(bare), "run_schema", run_schema)
    apply_schema(bare, filters=["document.year"])

    assert more
    assert ("late", "document_year", 1700) in copies(bare)
    assert len(copies(bare)) == 3
    assert corpora(bare)[0].filters == ["document.year"]
    assert [each for each in verify_corpus(bare, CORPUS) if each.count] == []


@pytest.mark.usefixtures("_filtered_inside")
def test_a_copy_waits_for_who_changes_the_document(
    bare: Connection, server: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read of a document before is not written over what came meanwhile."""
    store(bare, server)
    plain = type(bare).run_schema

    def run_schema(self: Connection, text: str, /, **params: Any) -> Any:
        if "IN TRANSACTIONS" not in text:
            return plain(self, text, **params)
        with self.session() as session, session.begin_transaction() as changing:
            changing.run("MATCH (k:Corpus) SET k.status = k.status").consume()
            changing.run("MATCH (d:Document {kind: 'few'}) SET d.year = 1600").consume()
            later = Timer(1.5, changing.commit)
            later.start()
            try:
                return plain(self, text, **params)
            finally:
                later.join()

    monkeypatch.setattr(type(bare), "run_schema", run_schema)
    apply_schema(bare, filters=["document.year"])

    assert copies(bare) == [
        ("few", "document_year", 1600),
        ("many", "document_year", 1990),
    ]


def test_an_ingest_declares_what_nothing_speaks_against(
    bare: Connection, server: Settings
) -> None:
    """A refused one makes no index; one after the schema was dropped makes it again."""
    store(bare, server)
    with pytest.raises(CorpusDriftError):
        store(bare, server, embedder=HashEmbedder(16), filters=["year"])
    assert filter_properties(bare) == []
    able = bare.capabilities.filtered_vector_index
    trusted = ["chunk.className", "document.year"] if able else []

    for _ in range(2):
        store(bare, server, filters=["year", "className"])
        assert filter_properties(bare) == ["chunk.className", "document.year"]
        assert corpora(bare)[0].filters == trusted
        assert ("document_year" in index(bare)[1]) == able
        drop_schema(bare)
        assert corpora(bare)[0].filters == []


def test_a_value_that_no_index_holds_is_told(
    bare: Connection, server: Settings
) -> None:
    """One that is stored: its property is not declared. A new one: its document."""
    long = {"kind": "few", "essay": "x" * 9_000}
    store(bare, server, changed=long)
    with pytest.raises(InputError, match=r"document\.essay cannot be declared"):
        apply_schema(bare, filters=["essay"])
    apply_schema(bare)
    assert filter_properties(bare) == []

    apply_schema(bare, filters=["year"])
    with pytest.raises(InputError, match="essay"):
        apply_schema(bare, filters=["essay", "kind"])
    able = bare.capabilities.filtered_vector_index
    assert ("document_kind" in index(bare)[1]) is False
    store(bare, server, corpus="late", filters=["kind"])
    names = ["document.kind", "document.year"] if able else []
    assert corpora(bare)[1].filters == names
    assert ("document_kind" in index(bare)[1]) == able

    report = store(bare, server, changed=long | {"tale": "x" * 9_000}, filters=["tale"])
    assert (report.failed, report.skipped) == (1, 39)
    assert "its tale has more than 8,000 bytes" in report.failures[0]
    report = store(bare, server, changed=long | {"tale": "short"})
    assert (report.failed, report.updated) == (0, 1)


@pytest.mark.usefixtures("_filtered_inside")
def test_a_snapshot_has_no_copies(
    bare: Connection, server: Settings, tmp_path: Path
) -> None:
    """So that one that is updated is what a new one is."""
    source = CorpusSource(bare, CORPUS)
    store(bare, server)
    build_snapshot(tmp_path / "part", source)
    store(bare, server, changed=FEW | {"year": 1812}, filters=["year"])
    build_snapshot(tmp_path / "part", source)
    build_snapshot(tmp_path / "whole", source, full=True)

    files = []
    for home in ("part", "whole"):
        folder = current_generation(snapshot_folder(tmp_path / home, CORPUS))
        assert folder is not None
        files.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert files[0] == files[1]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        *(
            (f"chunk.{name}", "to filter by:")
            for name in ("embedding", "text", "corpus")
        ),
        ("document.corpusVersion", "to filter by:"),
        *((name, "to filter by:") for name in ("theme", "category", "aliases")),
        ("chunk_id)", ""),
    ],
)
def test_what_cannot_be_filtered_inside_is_refused(
    bare: Connection, name: str, why: str
) -> None:
    """Before anything is made."""
    told = f"{name!r} is no property {why}".strip().removesuffix(":")
    with pytest.raises(InputError, match=re.escape(f"{told}: give")):
        apply_schema(bare, dimensions=32, filters=["document.year", name])

    assert bare.query("SHOW INDEXES YIELD name WHERE name STARTS WITH 'filter'") == []


ASKED: list[tuple[dict[str, Any], str]] = [
    ({"document.year": {"$gte": 2000}}, "c.`document_year` >= $filter"),
    ({"document.year": {"$gt": 1999.5, "$lt": 3000}}, "c.`document_year` < $f"),
    ({"document.kind": {"$in": ["few", "x"]}}, "c.`document_kind` IN $filter"),
    ({"document.year": 2001, "chunk.index": {"$between": [0, 9]}}, "c.`index` <= $"),
    (
        {"$and": [{"document.year": {"$gt": 1999}}, {"document.kind": "few"}]},
        "c.`document_kind` = $filter",
    ),
    (
        {
            "$and": [
                {"document.year": {"$gt": 1, "$lt": 3000}},
                {"document.kind": "few"},
            ]
        },
        "c.`document_kind` = $filter",
    ),
    ({"document.year": 2001, "title": {"$ne": "x"}}, ""),
    ({"document.year": {"$in": [2001], "$gt": 5}}, ""),
    ({"document.kind": {"$like": "few"}}, ""),
    ({"document.kind": {"$in": ["few", "x" * 1001]}}, ""),
    ({"$or": [{"document.year": 2001}, {"document.kind": "few"}]}, ""),
    ({"document.long": "x" * 2000}, ""),
    ({"document.year": {"$gt": -(2**53)}}, ""),
    ({"document.kind": {"$lt": "n"}}, ""),
    ({"document.long": {"$gt": "a"}}, ""),
    ({"document.flag": True}, "c.`document_flag` = $filter"),
    ({"document.blank": ""}, "c.`document_blank` = $filter"),
    ({"document.year": {"$in": ["few", 2001, True]}}, "c.`document_year` IN $f"),
    ({"document.year": {"$in": [*range(9_000), 2001]}}, "c.`document_year` IN $f"),
]


def test_what_passes_is_found_inside_the_index(
    bare: Connection, server: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it has all that a filter names; the answer is that of any other way."""
    names = ["year", "kind", "long", "flag", "blank"]
    filters = ["chunk.index", *(f"document.{name}" for name in names)]
    apply_schema(bare, filters=filters)
    store(bare, server)
    able = bare.capabilities.filtered_vector_index
    reading = "knowtrail.retrieval.readers.cypher"
    monkeypatch.setattr(f"{reading}._FEW", 5)
    statements: list[str] = []
    plain = type(bare).values

    def values(self: Connection, text: str, params: Any) -> Any:
        statements.append(text)
        return plain(self, text, params)

    monkeypatch.setattr(type(bare), "values", values)
    question = {"embedder": HashEmbedder(32), "corpus": CORPUS, "k": 5}
    question["algorithm"] = "basic_retrieval"

    for asked, inside in ASKED:
        statements.clear()
        found = search(bare, "river mill", filter=asked, **question)
        with monkeypatch.context() as without:
            without.setattr(f"{reading}._FEW", 10_000)
            without.setattr(f"{reading}._BROAD", set())
            wanted = search(bare, "river mill", filter=asked, **question)

        assert any(inside in text for text in statements) or not able
        assert any("AND (c.`" in text for text in statements) == (able and inside != "")
        ids = [hit.chunk.id for hit in found.hits]
        assert ids == [hit.chunk.id for hit in wanted.hits]
        assert ids

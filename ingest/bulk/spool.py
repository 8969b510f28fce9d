"""A corpus on its way into an empty database: what an ingest has stored so far.

A spool takes and answers the statements of an ingest as a database would that holds
this corpus and nothing else. Documents, redirects, themes and the edges of linking lie
in a file of SQLite, vectors behind each other in a flat file. A write is whole on disk
or not there, so that a run that was killed is gone on with, in the middle of linking
too.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import threading
from collections.abc import Iterable
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import compress
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from knowtrail.graph.db.connection import Capabilities, Connection, Counters
from knowtrail.graph.db.schema import SCHEMA_VERSION
from knowtrail.graph.files import private_folder
from knowtrail.graph.files.packaged import packaged
from knowtrail.ingest.keys import Seen, content_key, normalise_name
from knowtrail.ingest.prepare import PreparedDocument, redirect_id, theme_id
from knowtrail.ingest.store import EmbeddedDocument, intra_edges
from knowtrail.ingest.vector_file import storage_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from knowtrail.ingest.bulk.columns import ColumnFiles
    from knowtrail.ingest.options import IngestOptions
    from knowtrail.ingest.prepare import Keyed

LINKING = "linking"
"""Folder of working files, which the loaded corpus takes over."""
_FORMAT = 3
"""Of the files; a spool of another is not gone on with."""

_SQL = packaged(__package__, "spool.toml")
_KINDS = ("similar", "themeSimilar")
_VOID = {
    "linkState": None,
    **{f"{kind}{what}": None for kind in _KINDS for what in ("Method", "Recall")},
}
"""What is not known of a corpus before it is linked."""
_PATCH: dict[str, Callable[[Any], dict[str, Any]]] = {
    "corpus_chunks": lambda p: {"chunks": p["chunks"]},
    "corpus_complete": lambda _: {"status": "complete"},
    "corpus_files_root": lambda p: {"filesRoot": p["root"]},
    "corpus_link_state": lambda p: {"linkState": p["state"]},
    "corpus_similar": lambda p: {
        name: value
        for name, value in p["properties"].items()
        if value not in {"exact", 1.0}
    },
}
"""Statement -> the properties of the corpus that it sets."""


class Spool(Connection):
    """A database of one corpus, in files of a folder."""

    asks_for_models = False
    place = ""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with storage_errors(folder):
            private_folder(folder)
            self._vector_file = folder / "vectors.f32"
            self._vector_file.touch()
            self._lock = threading.Lock()
            self._database = self._opened()
            (form,) = self._database.execute("PRAGMA user_version").fetchone()
            if form not in {0, _FORMAT}:
                raise sqlite3.DatabaseError("it is of another version of Knowtrail")
            self._database.executescript(
                f"BEGIN; {_SQL['tables']}; PRAGMA user_version = {_FORMAT}; COMMIT"
            )
            (last,) = self._database.execute(_SQL["own"]["last_run"]).fetchone()
            self._run = last + 1

    def close(self) -> None:
        """Close the files; what was written stays."""
        self._database.close()

    def _begin(self, version: int, name: str = "") -> None:
        """Mark the corpus as unfinished; what was linked before this is void."""
        self._patch({"version": version, "status": "unfinished", **_VOID})
        self._do("DELETE FROM edge")
        self._run = 1
        shutil.rmtree(self.work, ignore_errors=True)

    @property
    def work(self) -> Path:
        """Return where linking keeps its working files."""
        return self.folder / LINKING

    def _opened(self) -> sqlite3.Connection:
        """Return a connection; reads go on beside writes."""
        database = sqlite3.connect(
            self.folder / "spool.sqlite", isolation_level=None, check_same_thread=False
        )
        database.row_factory = sqlite3.Row
        database.execute("PRAGMA journal_mode = WAL")
        # Working files of linking are lasting too: none may know of lost edges.
        database.execute("PRAGMA synchronous = FULL")
        return database

    @property
    def capabilities(self) -> Capabilities:
        """Say that statements have their newest form."""
        return Capabilities(version=(2026, 8), edition="community")

    def read(self, name: str, /, **params: Any) -> list[dict[str, Any]]:
        """Answer a statement."""
        return list(self.stream(name, **params))

    def stream(self, name: str, /, **params: Any) -> Iterator[Any]:
        """Yield the answer to a statement row by row."""
        name = name.rpartition("/")[2]
        if name in _SQL["nothing"]:
            return
        given = _plain({"schema": SCHEMA_VERSION, **params})
        made = getattr(self, f"_{name}", lambda rows: map(dict, rows))
        with storage_errors(self.folder), closing(self._opened()) as database:
            yield from made(database.execute(_SQL["read"][name], given))

    def write_all(self, steps: Sequence[tuple[str, Mapping[str, Any]]]) -> Counters:
        """Do what statements say, all of it or nothing."""
        total = Counters()
        with self._changing():
            for path, params in steps:
                name = path.rpartition("/")[2]
                if name == "corpus_begin":
                    self._begin(**params)
                elif name in _PATCH:
                    self._patch(_PATCH[name](params))
                elif name in _SQL["write"]:
                    self._change(name, params)
                elif name not in _SQL["nothing"]:
                    total += getattr(self, f"_write_{name}")(**params)
        return total

    def run_schema(self, text: str, /, **params: Any) -> Counters:
        """Leave the schema to the database that is loaded."""
        return Counters()

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Hold the only transaction that writes."""
        with self._lock, storage_errors(self.folder), self._database:
            self._do("BEGIN IMMEDIATE")
            yield

    def _change(self, name: str, params: Mapping[str, Any]) -> None:
        for statement in _SQL["write"][name]:
            self._do(statement, _plain(params))

    def _do(self, statement: str, params: Any = ()) -> None:
        self._database.execute(statement, params)

    def write_documents(
        self, documents: Iterable[EmbeddedDocument], version: int
    ) -> Counters:
        """Store documents with their vectors, in place of what is stored of them."""
        with self._changing(), self._vector_file.open("r+b") as file:
            for embedded in documents:
                self._change("remove_documents", {"ids": [embedded.document.id]})
                self._put(embedded, version, file)
            file.flush()
            os.fsync(file.fileno())  # before rows that name a place can be lasting
            self._begin(version)
        return Counters()

    def _put(self, embedded: EmbeddedDocument, version: int, file: IO[bytes]) -> None:
        document = embedded.document
        properties = document.properties | {"corpusVersion": version}
        there = {k: v for k, v in properties.items() if v is not None}
        row = {
            "body": json.dumps(document.body | {"properties": there}),
            "place": self._append(file, embedded.vectors),
            "chunks": len(document.chunk_spans),
            "themes": json.dumps(embedded.themes),
        }
        self._do(_SQL["own"]["put"], properties | row)
        former = redirect_id(properties["corpus"], properties["titleKey"]), document.id
        self._do(
            "DELETE FROM redirect WHERE id = ? AND coalesce(page, ?2) = ?2", former
        )

    def _append(self, file: IO[bytes], vectors: npt.NDArray[np.float32]) -> int:
        """Write vectors to the end of the flat file; return the place of the first."""
        # What a killed run has left of a vector there is passed over.
        size = vectors.shape[1] * vectors.itemsize
        self._do("UPDATE corpus SET dimensions = ?", (vectors.shape[1],))
        place: int = -(-file.seek(0, 2) // size)
        file.seek(place * size)
        file.write(np.ascontiguousarray(vectors, dtype=np.float32).tobytes())
        return place

    def _all_vectors(self) -> npt.NDArray[np.float32]:
        """Return the flat file, mapped into memory, shape (n, dimensions)."""
        with closing(self._opened()) as database:
            row = database.execute("SELECT dimensions FROM corpus").fetchone()
        if row is None or row[0] is None:
            return np.empty((0, 1), dtype=np.float32)
        count = self._vector_file.stat().st_size // (4 * row[0])
        return np.memmap(
            self._vector_file, dtype=np.float32, mode="r", shape=(count, row[0])
        )

    def _corpus_read(self, rows: _Rows) -> Iterator[dict[str, Any]]:
        for row in rows:
            yield {"properties": json.loads(row["properties"])}

    def _titles(self, rows: _Rows) -> Iterator[dict[str, Any]]:
        for row in rows:
            yield {**row, "aliases": json.loads(row["aliases"])}

    def _term_sources(self, rows: _Rows) -> Iterator[dict[str, Any]]:
        """Yield text and links of documents, which have no edges yet."""
        for row in rows:
            document = _document(row)
            told = document.properties
            yield {
                **{name: told[name] for name in ("id", "title", "text")},
                "targets": told["linkTargets"],
                "starts": told["linkStarts"],
                "ends": told["linkEnds"],
                "chunks": document.chunk_spans,
                "links": [],
                "mentions": [],
            }

    _link_sources = _term_sources

    def _chunk_vectors(self, rows: _Rows) -> Iterator[dict[str, Any]]:
        for document, chunks, vectors in self._placed(rows):
            for (key, _, _), vector in zip(chunks, vectors, strict=False):
                yield _unlinked(document, key, vector)

    def _theme_document_vectors(self, rows: _Rows) -> Iterator[dict[str, Any]]:
        for document, chunks, vectors in self._placed(rows):
            yield _unlinked(document, document, vectors[len(chunks)])

    def _placed(self, rows: _Rows) -> Iterator[tuple[str, Sequence[Keyed], Any]]:
        """Yield documents with their chunks, and the vectors from theirs on."""
        vectors = self._all_vectors()
        for row in rows:
            document = _document(row)
            place = row["place"] + len(document.sentence_spans)
            yield document.id, document.chunk_spans, vectors[place:]

    def _patch(self, properties: Mapping[str, Any]) -> None:
        patch = json.dumps(properties)
        self._do("UPDATE corpus SET properties = json_patch(properties, ?)", (patch,))

    def _write_corpus_create(self, name: str, properties: dict[str, Any]) -> Counters:
        """Store a new corpus."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        stored = json.dumps({"name": name, **properties, "createdAt": now})
        self._do(
            "INSERT OR IGNORE INTO corpus (name, properties) VALUES (?, ?)",
            (name, stored),
        )
        return Counters()

    def _link(self, kind: str, **columns: list[Any]) -> Counters:
        """Store edges, or nodes, as columns; the first says whose they are."""
        count = len(next(iter(columns.values())))
        if count:
            row = (self._run, kind, json.dumps(columns))
            self._do("INSERT INTO edge VALUES (?, ?, ?)", row)
        return Counters(relationships_created=count)

    def _write_links_replace(self, rows: Sequence[Any]) -> Counters:
        links = [(row["id"], *link) for row in rows for link in row["links"]]
        starts, ends, anchors = _columns(links, 3)
        return self._link("LINKS_TO", starts=starts, ends=ends, anchor=anchors)

    def _write_mentions(self, rows: Sequence[Any]) -> Counters:
        found = [(row["chunk"], row["document"], row["anchor"]) for row in rows]
        starts, ends, anchors = _columns(found, 3)
        return self._link("MENTIONS", starts=starts, ends=ends, anchor=anchors)

    def _write_similar(
        self, scope: str, nodes: Sequence[str], rows: Sequence[Any]
    ) -> Counters:
        columns = _ranked(
            (nodes[row["source"]], [nodes[n] for n in row["targets"]], row["scores"])
            for row in rows
        )
        return self._link("SIMILAR_TO", **columns, scope=[scope] * len(columns["rank"]))

    def _write_theme_similar(self, rows: Sequence[Any]) -> Counters:
        columns = _ranked((row["id"], row["targets"], row["scores"]) for row in rows)
        return self._link("THEME_SIMILAR_TO", **columns)

    def _write_terms(self, corpus: str, rows: Sequence[Any]) -> Counters:
        self._link("Term", **{name: [row[name] for row in rows] for name in rows[0]})
        return Counters()

    def _write_term_names(
        self, chunks: Sequence[str], terms: Sequence[str], rows: Sequence[Sequence[int]]
    ) -> Counters:
        pairs = [
            (chunk, terms[number])
            for chunk, numbers in zip(chunks, rows, strict=True)
            for number in numbers
        ]
        starts, ends = _columns(pairs, 2)
        return self._link("NAMES", starts=starts, ends=ends)

    @property
    def size(self) -> int:
        """Return the bytes of the folder's files, without those of linking."""
        files = (p for p in self.folder.rglob("*") if self.work not in p.parents)
        return sum(path.stat().st_size for path in files if path.is_file())

    def write_files(
        self,
        files: ColumnFiles,
        options: IngestOptions,
        *,
        status: str,
        tell: Callable[[int], None],
    ) -> None:
        """Write everything to column files, in order."""
        with (
            storage_errors(self.folder),
            closing(self._opened()) as database,
            Seen() as shared,
        ):
            (text,) = database.execute("SELECT properties FROM corpus").fetchone()
            corpus = json.loads(text)
            created = datetime.fromisoformat(corpus["createdAt"])
            node = corpus | {"createdAt": created, "status": status}
            files.add_nodes("Corpus", [node])
            name = corpus["name"]
            writer = _Writer(files, self._all_vectors(), options, shared)
            rows = database.execute("SELECT * FROM document ORDER BY rowid")
            for count, row in enumerate(rows, start=1):
                writer.write(row)
                tell(count)
            for row in database.execute("SELECT * FROM redirect ORDER BY id"):
                files.add_nodes("Redirect", [{**row, "corpus": name}])
            for kind, columns in _linked(database.execute(_SQL["own"]["edges"])):
                if kind == "Term":
                    terms = zip(*columns.values(), strict=True)
                    found = [dict(zip(columns, term, strict=True)) for term in terms]
                    files.add_nodes(kind, [term | {"corpus": name} for term in found])
                else:
                    files.add_relationships(kind, **columns)


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes documents with what hangs on each, and what several share but once."""

    files: ColumnFiles
    vectors: npt.NDArray[np.float32]
    options: IngestOptions
    shared: Seen

    def write(self, row: sqlite3.Row) -> None:
        """Write a document."""
        document, themes = _document(row), json.loads(row["themes"])
        end = row["place"] + document.size + (len(themes) + 1 if themes else 0)
        vectors = self.vectors[row["place"] : end]
        embedded = EmbeddedDocument(document=document, vectors=vectors, themes=themes)
        add, key = self.files.add_relationships, document.id
        node = document.properties | {"aliases": json.loads(row["aliases"])}
        corpus, version = node["corpus"], {"corpusVersion": node["corpusVersion"]}
        if themes:
            node["themeEmbedding"] = embedded.theme_vectors[0]
        self.files.add_nodes("Document", [node])
        add("IN_CORPUS", [key], [corpus])
        texts = zip(document.sentences, embedded.sentence_vectors, strict=True)
        self.files.add_nodes("Sentence", [a | {"embedding": b} for a, b in texts])
        texts = zip(document.chunks, embedded.chunk_vectors, strict=True)
        self.files.add_nodes(
            "Chunk", [a | {"embedding": b} | version for a, b in texts]
        )
        self._order(document)
        chunks = [chunk for chunk, _, _ in document.chunk_spans]
        columns = _ranked(
            (chunks[source], [chunks[n] for n in targets], scores)
            for source, targets, scores in intra_edges(
                embedded.chunk_vectors, chunks, self.options
            )
        )
        add("SIMILAR_TO", **columns, scope=["intra"] * len(columns["rank"]))
        keys = [
            self._share(
                *("Theme", theme_id(corpus, name), corpus),
                name=normalise_name(name),
                embedding=vector,
            )
            for name, vector in zip(themes, embedded.theme_vectors[1:], strict=True)
        ]
        add("HAS_THEME", [key] * len(keys), keys, rank=range(1, len(keys) + 1))
        keys = [
            self._share(
                "Category", content_key(corpus, "category", name), corpus, name=name
            )
            for name in document.categories
        ]
        add("IN_CATEGORY", [key] * len(keys), keys)

    def _order(self, document: PreparedDocument) -> None:
        """Write which sentences a chunk has, and the order of both."""
        add = self.files.add_relationships
        sentences = [key for key, _, _ in document.sentence_spans]
        chunks = [key for key, _, _ in document.chunk_spans]
        add("FROM_DOCUMENT", chunks, [document.id] * len(chunks))
        add("NEXT_CHUNK", chunks[:-1], chunks[1:])
        add("NEXT_SENTENCE", sentences[:-1], sentences[1:])
        has = [
            (chunk, sentences[i], i - first)
            for chunk, (first, last) in zip(chunks, document.members, strict=True)
            for i in range(first, last + 1)
        ]
        starts, ends, positions = _columns(has, 3)
        add("HAS_SENTENCE", starts, ends, position=positions)

    def _share(self, label: str, key: str, corpus: str, **properties: Any) -> str:
        """Write a node that several documents have, once; return its key."""
        if self.shared.add(key):
            self.files.add_nodes(label, [{"id": key, "corpus": corpus, **properties}])
        return key


_Rows = Iterable[sqlite3.Row]


def _linked(rows: _Rows) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield edges and terms by their kind, from those of the last run to the first's.

    What a run wrote that was killed, a later one may have written again.
    """
    later: dict[str, int] = {}
    for run, kind, text in rows:
        columns = json.loads(text)
        if later or run > 1:
            look = later.setdefault if run > 1 else later.get
            owners = next(iter(columns.values()))
            keep = [look(f"{kind} {owner}", run) == run for owner in owners]
            columns = {name: [*compress(v, keep)] for name, v in columns.items()}
        yield kind, columns


def _document(row: sqlite3.Row) -> PreparedDocument:
    return PreparedDocument(**json.loads(row["body"]))


def _plain(params: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: json.dumps(value) if isinstance(value, list | tuple) else value
        for name, value in params.items()
    }


def _unlinked(document: str, key: str, vector: Any) -> dict[str, Any]:
    """Return a row of what has no edges yet."""
    none = {"since": None, "lost": None}
    return {"document": document, "id": key, "vector": vector} | none


def _columns(rows: Sequence[Sequence[Any]], width: int) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)] or [[]] * width


def _ranked(
    rows: Iterable[tuple[str, Sequence[str], Sequence[float]]],
) -> dict[str, list[Any]]:
    """Return edges, given as start, ends by rank and their scores, as columns."""
    edges = [
        (start, end, score, rank)
        for start, ends, scores in rows
        for rank, (end, score) in enumerate(zip(ends, scores, strict=True), start=1)
    ]
    names = ("starts", "ends", "score", "rank")
    return dict(zip(names, _columns(edges, 4), strict=True))

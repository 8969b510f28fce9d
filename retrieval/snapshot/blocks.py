"""The documents of a snapshot, between where they come from and where they go."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from knowtrail.graph.errors import SnapshotError, UnknownCorpusError
from knowtrail.graph.vectors import vector_array
from knowtrail.retrieval.snapshot.layout import hashes_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from knowtrail.graph.db.connection import Connection

LONG_PROPERTIES = frozenset({
    "linkEnds",
    "linkStarts",
    "linkTargets",
    "sectionLevels",
    "sectionStarts",
    "sectionTitles",
    "text",
})
"""Properties of documents that are kept apart, since filters seldom ask for them."""

CHUNK_PLACES = ("index", "firstSentence", "lastSentence", "startChar", "endChar")
"""Properties of chunks that are whole numbers, in the order of their column."""

_CHUNK_PROPERTIES = frozenset({"id", "text", "embedding", *CHUNK_PLACES})
_VECTORS = ("embedding", "themeEmbedding")


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusMark:
    """The state of a corpus that tells whether a copy is still right.

    Attributes:
        corpus: Its name.
        stamp: Tells this corpus from another one of the same name.
        version: Counts its committed changes.
        complete: Whether no ingest is under way or was interrupted.
        dimensions: Length of its vectors.
    """

    corpus: str
    stamp: str
    version: int
    complete: bool
    dimensions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentMark:
    """What tells whether a document is as it was.

    Whatever writes to a document or gives its chunks new edges sets its version. Edges
    also end when the chunk they lead to is deleted, which leaves no trace but their
    number.

    Attributes:
        id: Its id.
        version: Version of the corpus that changed it last.
        chunks: How many chunks it has.
        edges: How many edges lead away from its chunks.
    """

    id: str
    version: int
    chunks: int
    edges: int


class BlockSource(Protocol):
    """Where a snapshot is copied from."""

    def corpus(self) -> CorpusMark:
        """Return the state that the corpus is in now."""
        ...

    def marks(self) -> Iterable[DocumentMark]:
        """Return the marks of all documents, in any order."""
        ...

    def blocks(self, marks: Sequence[DocumentMark]) -> Iterator[DocumentBlock]:
        """Yield the documents of these marks, in the order of the marks."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DocumentBlock:
    """A document with its chunks, sentences and outgoing edges, as bytes and arrays.

    Attributes:
        version: Version of the corpus that changed it last.
        document: Its id, properties, themes and categories, as JSON.
        document_long: Its long properties, as JSON.
        chunk_ids: Ids of the chunks, in their order.
        chunk_texts: Their texts.
        chunk_extras: Their further properties, as JSON.
        chunk_places: Index, first and last sentence, start, end; shape (chunks, 5).
        chunk_vectors: Shape (chunks, dimensions).
        member_counts: How many sentences each chunk has.
        members: Chunk by chunk, the numbers of its sentences within the document.
        edge_counts: How many edges lead away from each chunk.
        targets: Chunk by chunk, the hashes of the ids they lead to, in walking order.
        term_counts: How many terms each chunk names.
        terms: Chunk by chunk, the names of these, sorted.
        sentence_ids: Ids of the sentences, in their order.
        sentence_texts: Their texts.
        sentence_places: Index, start, end; shape (sentences, 3).
        sentence_vectors: Shape (sentences, dimensions).
    """

    version: int
    document: bytes
    document_long: bytes
    chunk_ids: list[bytes]
    chunk_texts: list[bytes]
    chunk_extras: list[bytes]
    chunk_places: npt.NDArray[np.int64]
    chunk_vectors: npt.NDArray[np.float32]
    member_counts: npt.NDArray[np.int64]
    members: npt.NDArray[np.int64]
    edge_counts: npt.NDArray[np.int64]
    targets: npt.NDArray[np.uint64]
    term_counts: npt.NDArray[np.int64]
    terms: list[bytes]
    sentence_ids: list[bytes]
    sentence_texts: list[bytes]
    sentence_places: npt.NDArray[np.int64]
    sentence_vectors: npt.NDArray[np.float32]


def made_block(
    mark: DocumentMark,
    document: Mapping[str, Any],
    chunks: Sequence[Mapping[str, Any]],
    sentences: Sequence[Mapping[str, Any]],
    *,
    dimensions: int,
) -> DocumentBlock:
    """Return the block of a document from rows as the graph has them.

    Args:
        mark: Id and version of the document.
        document: `properties`, `themes` and `categories`.
        chunks: `properties`, `vector`, `sentences` (ids in order), `neighbours` (ids
            in walking order) and `terms` (names) of each chunk, in any order.
        sentences: `id`, `text`, `index`, `startChar`, `endChar` and `vector`.
        dimensions: Length that each vector must have.

    Raises:
        SnapshotError: If a vector is missing or of another length.
    """
    chunks = sorted(
        chunks, key=lambda c: (c["properties"]["index"], c["properties"]["id"])
    )
    sentences = sorted(sentences, key=lambda s: (s["index"], s["id"]))
    number = {s["id"]: i for i, s in enumerate(sentences)}
    properties = [c["properties"] for c in chunks]
    light, long = _document(document, mark)
    return DocumentBlock(
        version=mark.version,
        document=light,
        document_long=long,
        chunk_ids=[p["id"].encode() for p in properties],
        chunk_texts=[_bytes(p["text"]) for p in properties],
        chunk_extras=[
            _json({k: v for k, v in p.items() if k not in _CHUNK_PROPERTIES})
            for p in properties
        ],
        chunk_places=_numbers(properties, CHUNK_PLACES),
        chunk_vectors=_matrix(
            [c["vector"] for c in chunks], [p["id"] for p in properties], dimensions
        ),
        member_counts=np.array([len(c["sentences"]) for c in chunks], dtype=np.int64),
        members=np.array(
            [number[s] for c in chunks for s in c["sentences"]], dtype=np.int64
        ),
        edge_counts=np.array([len(c["neighbours"]) for c in chunks], dtype=np.int64),
        targets=hashes_of([t.encode() for c in chunks for t in c["neighbours"]]),
        term_counts=np.array([len(c["terms"]) for c in chunks], dtype=np.int64),
        terms=[_bytes(name) for c in chunks for name in sorted(c["terms"])],
        sentence_ids=[s["id"].encode() for s in sentences],
        sentence_texts=[_bytes(s["text"]) for s in sentences],
        sentence_places=_numbers(sentences, ("index", "startChar", "endChar")),
        sentence_vectors=_matrix(
            [s["vector"] for s in sentences], [s["id"] for s in sentences], dimensions
        ),
    )


def _document(document: Mapping[str, Any], mark: DocumentMark) -> tuple[bytes, bytes]:
    """Return a document's JSON, the long properties apart."""
    properties = {
        k: v
        for k, v in sorted(document["properties"].items())
        if v is not None and k not in _VECTORS and k != "corpusVersion"
    }
    long = {k: v for k, v in properties.items() if k in LONG_PROPERTIES}
    light = {k: v for k, v in properties.items() if k not in LONG_PROPERTIES}
    head = {
        "id": mark.id,
        "properties": light,
        "themes": list(document["themes"]),
        "categories": list(document["categories"]),
    }
    return _json(head), _json(long)


def _json(value: Any) -> bytes:
    """Return a value as JSON; what JSON cannot hold is named by its type."""
    return json.dumps(_plain(value), ensure_ascii=True, sort_keys=True).encode()


def _plain(value: Any) -> Any:
    """Return a property as JSON can hold it.

    Dates, points and the like equal no string, number or boolean, and are not ordered
    with them; so does the object that stands for them here.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if type(value) in {list, tuple}:
        return [_plain(member) for member in value]
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items() if v is not None}
    return {"type": type(value).__name__}


def _bytes(text: str | None) -> bytes:
    """Return a text's bytes."""
    return (text or "").encode("utf-8", "surrogatepass")


def _numbers(
    rows: Sequence[Mapping[str, Any]], names: tuple[str, ...]
) -> npt.NDArray[np.int64]:
    """Return whole-number properties, row by row."""
    values = [[row.get(name) or 0 for name in names] for row in rows]
    return np.array(values, dtype=np.int64).reshape(len(rows), len(names))


def _matrix(
    vectors: Sequence[npt.NDArray[np.float32] | None],
    ids: Sequence[str],
    dimensions: int,
) -> npt.NDArray[np.float32]:
    """Return vectors row by row."""
    for vector, name in zip(vectors, ids, strict=True):
        if vector is None or len(vector) != dimensions:
            found = "no vector" if vector is None else f"{len(vector)} dimensions"
            msg = (
                f"{name!r} has {found} where {dimensions} are wanted: see what is "
                "wrong with knowtrail corpus verify."
            )
            raise SnapshotError(msg)
    if not vectors:
        return np.empty((0, dimensions), dtype=np.float32)
    return np.stack([np.asarray(v, dtype="<f4") for v in vectors])


class CorpusSource:
    """One corpus of a database."""

    def __init__(self, connection: Connection, corpus: str) -> None:
        """Prepare the source; nothing is read yet."""
        self._connection = connection
        self._corpus = corpus
        self._dimensions = 0

    def corpus(self) -> CorpusMark:
        """Return the state that the corpus is in now.

        Raises:
            UnknownCorpusError: If there is none of that name.
        """
        rows = self._connection.read("retrieval/snapshot_corpus", corpus=self._corpus)
        if not rows:
            msg = f"No corpus {self._corpus!r}: see knowtrail corpus list."
            raise UnknownCorpusError(msg)
        (row,) = rows
        self._dimensions = row["dimensions"] or 0
        return CorpusMark(
            corpus=self._corpus,
            stamp=row["stamp"],
            version=row["version"],
            complete=row["status"] == "complete",
            dimensions=self._dimensions,
        )

    def marks(self) -> Iterator[DocumentMark]:
        """Yield the marks of all documents."""
        for row in self._connection.stream(
            "retrieval/snapshot_documents", corpus=self._corpus
        ):
            yield DocumentMark(
                id=row["id"],
                version=row["version"],
                chunks=row["chunks"],
                edges=row["edges"],
            )

    def blocks(self, marks: Sequence[DocumentMark]) -> Iterator[DocumentBlock]:
        """Yield the documents of these marks, in their order.

        Raises:
            SnapshotError: If one is gone, or a vector is missing.
        """
        ids = [mark.id for mark in marks]
        heads = {row["id"]: row for row in self._rows("properties", ids)}
        chunks: dict[str, list[dict[str, Any]]] = defaultdict(list)
        sentences: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for of_document, name in ((chunks, "chunks"), (sentences, "sentences")):
            for row in self._rows(name, ids):
                of_document[row["document"]].append(row)
        for mark in marks:
            if mark.id not in heads or len(chunks[mark.id]) != mark.chunks:
                msg = (
                    f"Corpus {self._corpus!r} was changed while it was copied: make "
                    "the snapshot again."
                )
                raise SnapshotError(msg)
            yield made_block(
                mark,
                heads[mark.id],
                chunks.pop(mark.id),
                sentences.pop(mark.id, []),
                dimensions=self._dimensions,
            )

    def _rows(self, name: str, ids: list[str]) -> Iterator[dict[str, Any]]:
        """Yield what hangs on some documents."""
        if name == "properties":
            found = self._connection.stream("retrieval/snapshot_properties", ids=ids)
        else:
            text = self._connection.vector_statement(f"retrieval/snapshot_{name}")
            found = self._connection.stream(text, ids=ids, dimensions=self._dimensions)
        for record in found:
            row: dict[str, Any] = dict(record)
            if row.get("vector") is not None:
                row["vector"] = vector_array(row["vector"])
            yield row

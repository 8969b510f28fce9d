"""The documents of a snapshot, between where they come from and where they go."""

from __future__ import annotations

import json
import math
import sys
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from knowtrail.graph.db.labels import COPIED
from knowtrail.graph.errors import SnapshotError, UnknownCorpusError
from knowtrail.graph.vectors import vector_array

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from knowtrail.graph.db.connection import Connection

CHUNK_PLACES = ("index", "firstSentence", "lastSentence", "startChar", "endChar")
"""Properties of chunks that are whole numbers, in the order of their columns."""

_CHUNK_PROPERTIES = frozenset({"id", "text", "embedding", *CHUNK_PLACES})
_SENTENCE_PLACES = ("index", "startChar", "endChar")
_LEFT_OUT = frozenset({"embedding", "themeEmbedding", "corpusVersion"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusMark:
    """The state of a corpus that tells whether a copy is still right.

    The stamp tells it from another one of the same name; it is complete where no ingest
    is under way or was interrupted.
    """

    corpus: str
    stamp: str
    version: int
    complete: bool
    dimensions: int


class DocumentMark(NamedTuple):
    """What tells whether a document is as it was.

    Whatever writes to a document or gives its chunks new edges sets its version. Edges
    also end when the chunk they lead to is deleted, which leaves no trace but their
    number.
    """

    id: str
    version: int
    chunks: int
    edges: int


class StoredChunk(NamedTuple):
    """A chunk, its sentences by their number within the document."""

    id: str
    places: tuple[int, ...]
    text: bytes
    extras: str
    sentences: tuple[int, ...]
    neighbours: tuple[str, ...]
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StoredDocument:
    """A document with its chunks, sentences and outgoing edges, in their order.

    The head is title, url and source as JSON; the properties are what filters ask for,
    as JSON too, themes and categories among them. Vectors are row by row; a sentence is
    its id, text, index, start and end.
    """

    mark: DocumentMark
    head: str
    properties: str
    chunks: Sequence[StoredChunk]
    vectors: npt.NDArray[np.float32]
    sentences: Sequence[tuple[Any, ...]]
    sentence_vectors: npt.NDArray[np.float32]


def stored_document(
    mark: DocumentMark,
    document: Mapping[str, Any],
    chunks: Sequence[Mapping[str, Any]],
    sentences: Sequence[Mapping[str, Any]],
    *,
    dimensions: int,
) -> StoredDocument:
    """Return a document from rows as the graph has them.

    The document has `properties`, `themes` and `categories`; each chunk, in any order,
    `properties`, `vector`, `sentences` (ids in order), `neighbours` (ids in walking
    order) and `terms`. Raises `SnapshotError` if a vector is missing or of another
    length.
    """
    chunks = sorted(
        chunks, key=lambda c: (c["properties"]["index"], c["properties"]["id"])
    )
    sentences = sorted(sentences, key=lambda s: (s["index"], s["id"]))
    number = {s["id"]: i for i, s in enumerate(sentences)}
    properties = document["properties"]
    copies = {f"{COPIED}{name}" for name in properties}
    kept = {
        "properties": {k: v for k, v in properties.items() if k not in _LEFT_OUT},
        "themes": list(document["themes"]),
        "categories": list(document["categories"]),
    }
    head = [properties.get(name) for name in ("title", "url", "source")]
    return StoredDocument(
        mark=mark,
        head=_json([head[0] or "", head[1], head[2] or ""]),
        properties=_json(kept),
        chunks=[_chunk(chunk, number, copies) for chunk in chunks],
        vectors=_matrix(chunks, [c["properties"]["id"] for c in chunks], dimensions),
        sentences=[
            (s["id"], text_bytes(s["text"]), *(s.get(n) or 0 for n in _SENTENCE_PLACES))
            for s in sentences
        ],
        sentence_vectors=_matrix(sentences, list(number), dimensions),
    )


def _chunk(
    chunk: Mapping[str, Any], number: Mapping[str, int], copies: Container[str]
) -> StoredChunk:
    properties = chunk["properties"]
    extras = {
        name: value
        for name, value in properties.items()
        if name not in _CHUNK_PROPERTIES and name not in copies
    }
    return StoredChunk(
        id=properties["id"],
        places=tuple(properties.get(name) or 0 for name in CHUNK_PLACES),
        text=text_bytes(properties["text"]),
        extras=_json(extras),
        sentences=tuple(number[s] for s in chunk["sentences"]),
        neighbours=tuple(chunk["neighbours"]),
        terms=tuple(sorted(set(chunk["terms"]))),
    )


def _json(value: Any) -> str:
    return json.dumps(_plain(value), ensure_ascii=True, sort_keys=True)


def _plain(value: Any) -> Any:
    """Return a property as JSON can hold it."""
    # Dates, points and the like equal no string, number or boolean, and are not ordered
    # with them; so does the object that stands for them here.
    if isinstance(value, float) and not math.isfinite(value):
        # JSON has neither; what is compared with a number compares like this.
        largest = math.copysign(sys.float_info.max, value)
        return {"type": "float"} if math.isnan(value) else largest
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if type(value) in {list, tuple}:
        return [_plain(member) for member in value]
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items() if v is not None}
    return {"type": type(value).__name__}


def text_bytes(text: str | None) -> bytes:
    """Return a text's bytes, half of a surrogate pair too."""
    return (text or "").encode("utf-8", "surrogatepass")


def _matrix(
    rows: Sequence[Mapping[str, Any]], ids: Sequence[str], dimensions: int
) -> npt.NDArray[np.float32]:
    for row, name in zip(rows, ids, strict=True):
        vector = row["vector"]
        if vector is None or len(vector) != dimensions:
            found = "no vector" if vector is None else f"{len(vector)} dimensions"
            raise SnapshotError(
                f"{name!r} has {found} where {dimensions} are wanted: see what is "
                "wrong with knowtrail corpus verify."
            )
    vectors = [row["vector"] for row in rows]
    return np.asarray(vectors, dtype="<f4").reshape(len(rows), dimensions)


class CorpusSource:
    """One corpus of a database, as snapshots are copied from it."""

    def __init__(self, connection: Connection, corpus: str) -> None:
        self._connection = connection
        self._corpus = corpus
        self._dimensions = 0

    def corpus(self) -> CorpusMark:
        """Return the state that the corpus is in now."""
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
            yield DocumentMark(**row)

    def documents(self, marks: Sequence[DocumentMark]) -> Iterator[StoredDocument]:
        """Yield the documents of these marks, in their order."""
        ids = [mark.id for mark in marks]
        heads = {row["id"]: row for row in self._rows("properties", ids)}
        chunks: dict[str, list[dict[str, Any]]] = defaultdict(list)
        sentences: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for of_document, name in ((chunks, "chunks"), (sentences, "sentences")):
            for row in self._rows(name, ids):
                of_document[row["document"]].append(row)
        for mark in marks:
            if mark.id not in heads or len(chunks[mark.id]) != mark.chunks:
                raise SnapshotError(
                    f"Corpus {self._corpus!r} was changed while it was copied: make "
                    "the snapshot again."
                )
            yield stored_document(
                mark,
                heads[mark.id],
                chunks.pop(mark.id),
                sentences.pop(mark.id, []),
                dimensions=self._dimensions,
            )

    def _rows(self, name: str, ids: list[str]) -> Iterator[dict[str, Any]]:
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

"""Writing documents: each is stored in one transaction, all of it or none.

Every statement can run twice, because the driver repeats a transaction whose fate a
lost connection left unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from knowtrail.graph.batches import batched, batched_within
from knowtrail.graph.db.connection import Counters
from knowtrail.graph.vectors import vector_parameter
from knowtrail.ingest.keys import content_key, normalise_name
from knowtrail.ingest.prepare import redirect_id, theme_id
from knowtrail.ingest.similarity import Comparison, vector_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from knowtrail.graph.db.connection import Capabilities, Connection
    from knowtrail.ingest.options import IngestOptions
    from knowtrail.ingest.prepare import PreparedDocument

Step = tuple[str, "Mapping[str, Any]"]
VECTOR_ROWS = 4096
"""Rows with vectors a statement takes at a time; fewer cost twice the server's time."""
TRANSACTION_TEXTS = 1024
"""Sentences and chunks a transaction takes, where documents are small enough.

Each commit adds a segment to the vector indexes: larger ones cost the server up to
twice the time a vector, and smaller ones are merged more often.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedDocument:
    """A prepared document with its vectors, and themes, best first, with theirs.

    Vectors have shape (n, dimensions), float32: of its sentences, its chunks, its
    themes together and each theme. One that `replaces` has an older state stored, of
    which sentences and chunks by the ids that are `kept` stay.
    """

    document: PreparedDocument
    vectors: npt.NDArray[np.float32]
    themes: Sequence[str] = ()
    replaces: bool = False
    kept: frozenset[str] = frozenset()

    @property
    def size(self) -> int:
        """Return the number of sentences and chunks."""
        return self.document.size

    @property
    def sentence_vectors(self) -> npt.NDArray[np.float32]:
        """Return the vectors of its sentences."""
        return self.vectors[: len(self.document.sentence_spans)]

    @property
    def chunk_vectors(self) -> npt.NDArray[np.float32]:
        """Return the vectors of its chunks."""
        return self.vectors[len(self.document.sentence_spans) : self.size]

    @property
    def theme_vectors(self) -> npt.NDArray[np.float32]:
        """Return the vectors of its themes together, then of each; none without."""
        return self.vectors[self.size :]


def write_documents(
    connection: Connection,
    documents: Sequence[EmbeddedDocument],
    *,
    corpus: str,
    version: int,
    options: IngestOptions,
) -> Counters:
    """Store documents and all that hangs on each alone, each in one transaction.

    What they replace is removed first.
    """
    total = Counters()
    for batch in batched_within(documents, lambda one: one.size, TRANSACTION_TEXTS):
        replaced = [d.document.id for d in batch if d.replaces]
        total += connection.write_all([
            *conclusions_of(connection, replaced),
            *_steps(batch, connection.capabilities, corpus, version, options),
        ])
    return total


def conclusions_of(connection: Connection, documents: Sequence[str]) -> list[Step]:
    """Return the steps that remove what was extracted from documents or found there."""
    if not documents:
        return []
    steps: list[Step] = [("research/forget", {"ids": documents})]
    rows = connection.read("extraction/of_sources", ids=list(documents))
    if ids := [row["id"] for row in rows]:
        steps.append(("extraction/remove", {"ids": ids}))
    return steps


def distrust_links(connection: Connection, corpus: str) -> None:
    """Name a state of links that none is, so that the next reads all texts again.

    An empty one is left: it says that vectors are to be compared again, too.
    """
    connection.write("ingest/corpus_link_state", name=corpus, state="unknown")


def losses(documents: Sequence[str], kept: Sequence[str] = ()) -> list[Step]:
    """Return the steps before documents go, or are replaced but for some chunks."""
    if not documents:
        return []
    return [
        ("ingest/losses", {"ids": documents, "kept": kept}),
        ("ingest/theme_losses", {"ids": documents}),
    ]


def removal_of(connection: Connection, documents: Sequence[str]) -> list[Step]:
    """Return the steps that delete documents with all that was derived from them.

    About ten at a time, as they are deleted in one transaction.
    """
    return [
        *conclusions_of(connection, documents),
        ("ingest/remove_sentences", {"ids": documents, "kept": []}),
        ("ingest/remove_chunks", {"ids": documents, "kept": []}),
        ("ingest/remove_documents", {"ids": documents}),
    ]


def _steps(
    documents: Sequence[EmbeddedDocument],
    capabilities: Capabilities,
    corpus: str,
    version: int,
    options: IngestOptions,
) -> list[Step]:
    steps: list[Step] = [("ingest/corpus_begin", {"name": corpus, "version": version})]
    if replaced := [d.document.id for d in documents if d.replaces]:
        kept = sorted(key for d in documents for key in d.kept)
        steps += [
            *losses(replaced, kept),
            ("ingest/remove_sentences", {"ids": replaced, "kept": kept}),
            ("ingest/remove_order", {"ids": replaced}),
            ("ingest/remove_chunks", {"ids": replaced, "kept": kept}),
            ("ingest/remove_relations", {"ids": replaced}),
        ]
    prepared = [embedded.document for embedded in documents]
    rows = [
        {"id": d.id, "properties": d.properties | {"corpusVersion": version}}
        for d in prepared
    ]
    steps.append(("ingest/documents", {"corpus": corpus, "rows": rows}))
    former = [
        {"id": redirect_id(corpus, d.properties["titleKey"]), "page": d.id}
        for d in prepared
    ]
    steps.append(("ingest/redirects_become_articles", {"rows": former}))
    steps += _text_steps(documents, capabilities, version)
    steps += _theme_steps(documents, corpus, capabilities)
    categories = [
        {"document": d.id, "id": content_key(corpus, "category", name), "name": name}
        for d in prepared
        for name in d.categories
    ]
    if categories:
        steps.append(("ingest/categories", {"corpus": corpus, "rows": categories}))
    return steps + _intra_steps(documents, options)


def _text_steps(
    documents: Sequence[EmbeddedDocument], capabilities: Capabilities, version: int
) -> list[Step]:
    def text(
        embedded: EmbeddedDocument, row: dict[str, Any], vector: Any, **properties: int
    ) -> dict[str, Any]:
        if row["id"] in embedded.kept:
            return {"properties": row, "vector": None}
        stored = vector_parameter(vector, capabilities)
        return {"properties": row | properties, "vector": stored}

    sentences: list[dict[str, Any]] = []
    chunks: list[dict[str, Any]] = []
    members: list[list[int]] = []
    next_sentences: list[int] = []
    next_chunks: list[int] = []
    for embedded in documents:
        document = embedded.document
        first, first_chunk = len(sentences), len(chunks)
        sentences += [
            text(embedded, row, vector)
            for row, vector in zip(
                document.sentences, embedded.sentence_vectors, strict=True
            )
        ]
        chunks += [
            text(embedded, row, vector, corpusVersion=version)
            | {"document": document.id}
            for row, vector in zip(document.chunks, embedded.chunk_vectors, strict=True)
        ]
        members += [[first + a, first + b] for a, b in document.members]
        next_sentences += range(first, len(sentences) - 1)
        next_chunks += range(first_chunk, len(chunks) - 1)
    return [
        *(("ingest/sentences", {"rows": p}) for p in batched(sentences, VECTOR_ROWS)),
        *(("ingest/chunks", {"rows": p}) for p in batched(chunks, VECTOR_ROWS)),
        (
            "ingest/text_order",
            {
                "chunks": [row["properties"]["id"] for row in chunks],
                "sentences": [row["properties"]["id"] for row in sentences],
                "members": members,
                "nextChunks": next_chunks,
                "nextSentences": next_sentences,
            },
        ),
    ]


def _theme_steps(
    documents: Sequence[EmbeddedDocument], corpus: str, capabilities: Capabilities
) -> list[Step]:
    rows: list[dict[str, Any]] = []
    vectors: dict[str, Any] = {}
    documents_rows = []
    for embedded in documents:
        if not embedded.themes:
            continue
        together, *each = embedded.theme_vectors
        documents_rows.append({
            "id": embedded.document.id,
            "vector": vector_parameter(together, capabilities),
        })
        for rank, (name, vector) in enumerate(
            zip(embedded.themes, each, strict=True), start=1
        ):
            key = theme_id(corpus, name)
            vectors.setdefault(key, vector_parameter(vector, capabilities))
            rows.append({
                "document": embedded.document.id,
                "id": key,
                "name": normalise_name(name),
                "rank": rank,
            })
    if not rows:
        return []
    vector_rows = [{"id": k, "vector": v} for k, v in vectors.items()]
    return [
        ("ingest/document_vectors", {"rows": documents_rows}),
        ("ingest/themes", {"corpus": corpus, "rows": rows}),
        ("ingest/theme_vectors", {"rows": vector_rows}),
    ]


def intra_edges(
    vectors: npt.NDArray[np.float32], ids: Sequence[str], options: IngestOptions
) -> list[tuple[int, list[int], list[float]]]:
    """Return a document's inner edges: (chunk, neighbours by rank, their scores)."""
    edges: list[tuple[int, list[int], list[float]]] = []
    if not options.intra_top_k:
        return edges
    inside = Comparison(
        vectors=vectors,
        groups=np.zeros(len(ids), dtype=np.int64),
        ids=np.argsort(np.argsort(np.array(ids))),  # each id's place in their order
        numbers=np.array([vector_number(v) for v in vectors], dtype=np.int64),
        top=options.intra_top_k,
        threshold=options.intra_threshold,
        same_group=True,
    )
    for block in inside.blocks(0):
        edges += similar_rows(block.rows, block.columns, block.scores)
    return edges


def similar_rows(
    rows: npt.NDArray[np.int64],
    columns: npt.NDArray[np.int64],
    scores: npt.NDArray[np.float64],
) -> list[tuple[int, list[int], list[float]]]:
    """Group pairs sorted by row and rank into (row, columns, scores)."""
    if not len(rows):
        return []
    starts = np.flatnonzero(np.diff(rows, prepend=rows[0] - 1))
    ends = [*starts[1:].tolist(), len(rows)]
    return [
        (int(rows[a]), columns[a:b].tolist(), scores[a:b].tolist())
        for a, b in zip(starts.tolist(), ends, strict=True)
    ]


def _intra_steps(
    documents: Sequence[EmbeddedDocument], options: IngestOptions
) -> list[Step]:
    nodes: list[str] = []
    rows: list[dict[str, Any]] = []
    for embedded in documents:
        base = len(nodes)
        chunks = [row["id"] for row in embedded.document.chunks]
        nodes += chunks
        rows += [
            {
                "source": base + source,
                "targets": [base + t for t in targets],
                "scores": scores,
            }
            for source, targets, scores in intra_edges(
                embedded.chunk_vectors, chunks, options
            )
        ]
    if not rows:
        return []
    return [
        ("ingest/similar_remove", {"scope": "intra", "ids": nodes}),
        ("ingest/similar", {"scope": "intra", "nodes": nodes, "rows": rows}),
    ]

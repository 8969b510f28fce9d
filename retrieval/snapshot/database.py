"""A corpus in Neo4j as a source of snapshots, read a few documents at a time."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from graph.errors import SnapshotError, UnknownCorpusError
from graph.vectors import vector_array
from retrieval.snapshot.blocks import CorpusMark, DocumentMark, made_block

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from graph.connection import Connection
    from retrieval.snapshot.blocks import DocumentBlock

__all__ = ["CorpusSource"]


class CorpusSource:
    """One corpus of a database."""

    def __init__(self, connection: Connection, corpus: str) -> None:
        """Prepare the source; nothing is read yet.

        Args:
            connection: The database; it is left open.
            corpus: Name of the corpus.
        """
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

"""Corpora in memory as sources of snapshots, for tests without a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from knowtrail.retrieval.snapshot.build import build_snapshot
from knowtrail.retrieval.snapshot.folder import need_snapshot
from knowtrail.retrieval.snapshot.source import (
    CorpusMark,
    DocumentMark,
    stored_document,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from knowtrail.retrieval.filters import Filter
    from knowtrail.retrieval.readers.snapshot import SnapshotReader
    from knowtrail.retrieval.snapshot.source import StoredDocument
    from tests.memory_reader import MemoryGraph

__all__ = ["GraphSource", "opened"]


class GraphSource:
    """What a snapshot is copied from, over a `MemoryGraph`."""

    def __init__(
        self,
        graph: MemoryGraph,
        *,
        corpus: str = "small",
        version: int = 1,
        stamp: str = "made",
        versions: dict[str, int] | None = None,
        complete: bool = True,
    ) -> None:
        self.graph = graph
        self.mark = CorpusMark(
            corpus=corpus,
            stamp=stamp,
            version=version,
            complete=complete,
            dimensions=graph.vectors.shape[1],
        )
        self._versions = versions or {}
        self._row = {chunk.id: row for row, chunk in enumerate(graph.chunks)}
        self.read: list[str] = []

    def corpus(self) -> CorpusMark:
        """Return the state of the corpus."""
        return self.mark

    def marks(self) -> Iterator[DocumentMark]:
        """Yield the marks of all documents."""
        ids = dict.fromkeys(chunk.document_id for chunk in self.graph.chunks)
        for identity in ids:
            chunks = self._chunks(identity)
            yield DocumentMark(
                id=identity,
                version=self._versions.get(identity, 1),
                chunks=len(chunks),
                edges=sum(len(self.graph.edges.get(c.id, ())) for c in chunks),
            )

    def documents(self, marks: Sequence[DocumentMark]) -> Iterator[StoredDocument]:
        """Yield documents."""
        for mark in marks:
            self.read.append(mark.id)
            yield self._block(mark)

    def _chunks(self, identity: str) -> list[Any]:
        return [c for c in self.graph.chunks if c.document_id == identity]

    def _block(self, mark: DocumentMark) -> StoredDocument:
        graph = self.graph
        chunks = self._chunks(mark.id)
        properties = dict(graph.documents.get(mark.id, {}))
        first = chunks[0]
        head = {
            "themes": properties.pop("themes", []),
            "categories": properties.pop("categories", []),
            "properties": {
                "id": mark.id,
                "title": first.title,
                "url": first.url,
                "source": first.source,
                **properties,
            },
        }
        sentences = {s.id: s for c in chunks for s in graph.sentences.get(c.id, ())}
        return stored_document(
            mark,
            head,
            [self._chunk_row(chunk) for chunk in chunks],
            [
                {
                    "id": s.id,
                    "text": s.text,
                    "index": s.index,
                    "startChar": s.start_char,
                    "endChar": s.end_char,
                    "vector": s.vector,
                }
                for s in sentences.values()
            ],
            dimensions=self.mark.dimensions,
        )

    def _chunk_row(self, chunk: Any) -> dict[str, Any]:
        graph = self.graph
        return {
            "properties": {
                **graph.chunk_properties.get(chunk.id, {}),
                "id": chunk.id,
                "text": chunk.text,
                "index": chunk.index,
                "firstSentence": chunk.first_sentence,
                "lastSentence": chunk.last_sentence,
                "startChar": chunk.start_char,
                "endChar": chunk.end_char,
            },
            "vector": graph.vectors[self._row[chunk.id]],
            "sentences": [s.id for s in graph.sentences.get(chunk.id, ())],
            "neighbours": list(graph.edges.get(chunk.id, ())),
            "terms": list(graph.names.get(chunk.id, ())),
        }


def opened(
    home: Path,
    graph: MemoryGraph,
    filter: Filter | None = None,  # noqa: A002 - the word callers know
) -> SnapshotReader:
    """Return a reader of a new snapshot of a graph."""
    build_snapshot(home, GraphSource(graph), full=True)
    return need_snapshot(home, "small", 1, filter=filter)

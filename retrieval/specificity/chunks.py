"""Chunks of the classes that were kept, found by the vector search that there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retrieval.specificity.ranking import RankedChunk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graph.connection import Connection
    from graph.embedders import Embedder
    from graph.settings import Settings

__all__ = ["ChunkSearch", "corpora_with_classes"]

MOST_CLASSES = 190
"""Classes of one search, as a filter holds 200 tests; more take several searches."""


def corpora_with_classes(connection: Connection) -> tuple[str, ...]:
    """Return the names of the corpora whose chunks have classes."""
    rows = connection.read("retrieval/specificity_corpora")
    return tuple(row["name"] for row in rows)


class ChunkSearch:
    """Searches one corpus, restricted to classes."""

    def __init__(
        self,
        connection: Connection,
        corpus: str,
        *,
        embedder: Embedder | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.corpus = corpus
        self._connection = connection
        self._embedder = embedder
        self._settings = settings

    def search(
        self, question: str, classes: Sequence[str] | None, *, k: int = 10
    ) -> tuple[RankedChunk, ...]:
        """Return the chunks nearest to a question.

        Args:
            question: What is asked.
            classes: Chunks of other classes are not looked at; None looks at all.
            k: How many at most.
        """
        if classes is None:
            return self._nearest(question, None, k)
        names = sorted(set(classes))
        found = [
            chunk
            for begin in range(0, len(names), MOST_CLASSES)
            for chunk in self._nearest(question, names[begin : begin + MOST_CLASSES], k)
        ]
        return tuple(sorted(found, key=lambda c: (-c.similarity, c.chunk_id))[:k])

    def _nearest(
        self, question: str, classes: Sequence[str] | None, k: int
    ) -> tuple[RankedChunk, ...]:
        """Return the nearest chunks of at most as many classes as one search takes."""
        from retrieval.search import search

        where = None if classes is None else {"className": {"$in": list(classes)}}
        found = search(
            self._connection,
            self._embedder,
            question,
            corpus=self.corpus,
            algorithm="basic_retrieval",
            k=k,
            settings=self._settings,
            filter=where,
        )
        ids = [hit.chunk.id for hit in found.hits]
        rows = self._connection.read("retrieval/specificity_classes", ids=ids)
        names = {row["id"]: row["className"] or "" for row in rows}
        return tuple(
            RankedChunk(
                chunk_id=hit.chunk.id,
                document_id=hit.chunk.document_id,
                title=hit.chunk.title,
                class_name=names.get(hit.chunk.id, ""),
                text=hit.text,
                similarity=hit.score,
            )
            for hit in found.hits
        )

"""The chunks of a stored corpus, read as the walks of groupings come to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eval.generation.contexts import ContextChunk, ContextSentence, Neighbour
from graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from graph.connection import Connection

__all__ = ["CorpusPassage", "GraphContexts", "corpus_passages"]

BATCH = 500


class GraphContexts:
    """A `ContextSource` over a corpus in the graph.

    Ids are read at once, everything else chunk by chunk, each once: a group takes some
    ten round trips, whatever the size of the corpus.
    """

    def __init__(self, connection: Connection, corpus: str) -> None:
        """Read the ids of a corpus's chunks.

        Args:
            connection: The database; it is left open.
            corpus: Name of a corpus that is there.

        Raises:
            InputError: If it has no chunk.
        """
        self._connection = connection
        rows = connection.read("eval/generation_chunk_ids", corpus=corpus)
        self._ids = [(row["id"], row["document"]) for row in rows]
        self._opened: dict[str, ContextChunk] = {}
        if not self._ids:
            msg = f"Corpus {corpus!r} has no chunks to ask about: ingest texts first."
            raise InputError(msg)

    def chunk_ids(self) -> Sequence[tuple[str, str]]:
        """Return (chunk id, document id) of every chunk, by document and place."""
        return self._ids

    def open(self, chunk_id: str) -> ContextChunk:
        """Return a chunk.

        Args:
            chunk_id: Its id.

        Raises:
            KeyError: If it was deleted meanwhile.
        """
        if chunk_id not in self._opened:
            rows = self._connection.read("eval/generation_chunks", ids=[chunk_id])
            for row in rows:
                self._opened[row["id"]] = _chunk(row)
        return self._opened[chunk_id]


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusPassage:
    """A document of a corpus, as a passage of a data set.

    Attributes:
        id: The document's id.
        title: Its title.
        text: Its sentences, joined by a space; where it has none, its text.
        sentences: Its sentences in order.
        sentence_ids: Their ids, one by one.
    """

    id: str
    title: str
    text: str
    sentences: tuple[str, ...]
    sentence_ids: tuple[str, ...]


def corpus_passages(connection: Connection, corpus: str) -> Iterator[CorpusPassage]:
    """Yield a corpus's documents as passages, by id; those without text are left out.

    Args:
        connection: The database.
        corpus: Name of the corpus.
    """
    ids = [
        row["id"] for row in connection.read("eval/generation_documents", corpus=corpus)
    ]
    for start in range(0, len(ids), BATCH):
        rows = connection.read(
            "eval/generation_passages", ids=ids[start : start + BATCH]
        )
        for row in rows:
            sentences = tuple(text for _, text in row["sentences"])
            text = " ".join(sentences) or row["text"] or ""
            if text.strip():
                yield CorpusPassage(
                    id=row["id"],
                    title=row["title"] or "",
                    text=text,
                    sentences=sentences,
                    sentence_ids=tuple(key for key, _ in row["sentences"]),
                )


def _chunk(row: dict[str, Any]) -> ContextChunk:
    """Return a chunk from its row."""
    document = row["document"]
    return ContextChunk(
        id=row["id"],
        document=document,
        title=row["title"] or "",
        index=row["index"] or 0,
        sentences=tuple(
            ContextSentence(id=key, document=document, index=index, text=text)
            for key, text, index in row["sentences"]
        ),
        neighbours=tuple(
            Neighbour(
                id=key,
                document=of,
                score=score,
                intra=scope == "intra",
                texts=tuple(texts),
            )
            for key, of, score, scope, texts in row["neighbours"]
        ),
        adjacent=tuple(row["adjacent"]),
        themed=tuple(row["themed"]),
    )

"""Contexts of questions: chunks of a stored corpus, and the groups made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from knowtrail.graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowtrail.graph.db.connection import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSentence:
    """A sentence that a question may be asked about."""

    id: str
    document: str
    index: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A chunk at the end of an edge.

    Attributes:
        intra: Whether both chunks are of one document.
    """

    id: str
    document: str
    score: float
    intra: bool
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextChunk:
    """A chunk, opened.

    Attributes:
        neighbours: Where its edges lead, the greatest weight first.
        adjacent: Ids of the chunks before and after it.
        themed: Ids of the documents whose themes are like those of its own, the
            nearest first.
    """

    id: str
    document: str
    title: str
    index: int
    sentences: tuple[ContextSentence, ...]
    neighbours: tuple[Neighbour, ...] = ()
    adjacent: tuple[str, ...] = ()
    themed: tuple[str, ...] = ()


class ContextSource(Protocol):
    """Where chunks come from."""

    def chunk_ids(self) -> Sequence[tuple[str, str]]:
        """Return (chunk id, document id) of every chunk, in a fixed order."""
        ...

    def open(self, chunk_id: str) -> ContextChunk:
        """Return a chunk.

        Raises:
            KeyError: If there is none of that id.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextGroup:
    """What one or more questions are to be asked about, with where it comes from.

    Attributes:
        id: Derived from grouping and sentences, so that the same group has the same id.
        grouping: How it was made, such as `intra_document`.
        chunks: Ids of the chunks, in the order in which they were reached.
        documents: Ids of their documents, each once, in that order.
        titles: The documents' titles, one by one.
        sentences: The gold sentences, in that order.
        fallbacks: How many of these had to leave the grouping's own rule.
    """

    id: str
    grouping: str
    chunks: tuple[str, ...]
    documents: tuple[str, ...]
    titles: tuple[str, ...]
    sentences: tuple[ContextSentence, ...]
    hops: int = 0
    fallbacks: int = 0

    def passages(self) -> tuple[str, ...]:
        """Return its text: one string for each run of sentences of one document."""
        runs: list[list[ContextSentence]] = []
        for one in self.sentences:
            last = runs[-1][-1] if runs else None
            if last and (last.document, last.index + 1) == (one.document, one.index):
                runs[-1].append(one)
            else:
                runs.append([one])
        return tuple(" ".join(s.text for s in run) for run in runs)


BATCH = 500


class GraphContexts:
    """A `ContextSource` over a corpus in the graph.

    Ids are read at once, everything else chunk by chunk, each once: a group takes some
    ten round trips, whatever the size of the corpus.
    """

    def __init__(self, connection: Connection, corpus: str) -> None:
        """Read the ids of a corpus's chunks; the connection is left open.

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
        text: Its sentences, joined by a space; where it has none, its text.
        sentence_ids: Their ids, one by one.
    """

    id: str
    title: str
    text: str
    sentences: tuple[str, ...]
    sentence_ids: tuple[str, ...]


def corpus_passages(connection: Connection, corpus: str) -> Iterator[CorpusPassage]:
    """Yield the documents of a corpus that have text as passages, by id."""
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

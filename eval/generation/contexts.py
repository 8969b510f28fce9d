"""Contexts of questions: chunks to walk among, and the groups that are made of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "ContextChunk",
    "ContextGroup",
    "ContextSentence",
    "ContextSource",
    "MemoryContexts",
    "Neighbour",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSentence:
    """A sentence that a question may be asked about.

    Attributes:
        id: Its id in the graph.
        document: Id of its document.
        index: Its place in the document.
        text: The sentence.
    """

    id: str
    document: str
    index: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A chunk at the end of an edge.

    Attributes:
        id: The chunk.
        document: Id of its document.
        score: The edge's stored weight.
        intra: Whether both chunks are of one document.
        texts: The chunk's sentences.
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
        id: Its id.
        document: Id of its document.
        title: Title of its document.
        index: Its place in the document.
        sentences: Its sentences in order.
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


class MemoryContexts:
    """A `ContextSource` over chunks in memory."""

    def __init__(self, chunks: Sequence[ContextChunk]) -> None:
        """Take the chunks, in their order.

        Args:
            chunks: All of them.
        """
        self._chunks = {chunk.id: chunk for chunk in chunks}

    def chunk_ids(self) -> Sequence[tuple[str, str]]:
        """Return (chunk id, document id) of every chunk."""
        return [(chunk.id, chunk.document) for chunk in self._chunks.values()]

    def open(self, chunk_id: str) -> ContextChunk:
        """Return a chunk."""
        return self._chunks[chunk_id]


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
        hops: Steps from one chunk to another.
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
        for sentence in self.sentences:
            last = runs[-1][-1] if runs else None
            follows = (
                last is not None
                and last.document == sentence.document
                and last.index + 1 == sentence.index
            )
            if follows:
                runs[-1].append(sentence)
            else:
                runs.append([sentence])
        return tuple(" ".join(s.text for s in run) for run in runs)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> ContextGroup:
        """Return a group from what `as_dict` gave.

        Args:
            row: The group's fields.

        Raises:
            KeyError: If a field is missing.
        """
        lists = ("chunks", "documents", "titles")
        return cls(
            id=row["id"],
            grouping=row["grouping"],
            sentences=tuple(ContextSentence(**s) for s in row["sentences"]),
            hops=row["hops"],
            fallbacks=row["fallbacks"],
            **{name: tuple(row[name]) for name in lists},
        )

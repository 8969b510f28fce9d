"""What is measured: anything that ranks passages for a question.

A system is prepared once for a corpus that is stored already, then asked one question
after the other. It answers in ids of the data set's passages; `Bench` translates from
those of the graph.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from knowtrail.eval.retrieval.bench import Bench
    from knowtrail.eval.retrieval.dataset import RetrievalQuestion
    from knowtrail.retrieval.algorithms.asking import Ranking as ChunkRanking
    from knowtrail.retrieval.protocols import Walking
    from knowtrail.retrieval.walk import RankedChunk


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedDocument:
    """A passage in a ranking.

    Attributes:
        id: Id of the passage.
        score: Score of its best chunk, as the system scores.
        filled: Whether it comes from the dense ranking after the system's own end.
    """

    id: str
    score: float
    filled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnedChunk:
    """A chunk that a system returned.

    Attributes:
        document: Id of its passage.
        first: Number of its first sentence within the passage.
        last: Number of its last sentence, inclusive.
        score: As the system scores.
    """

    document: str
    first: int
    last: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnedSentence:
    """A sentence that a system returned.

    Attributes:
        document: Id of its passage.
        sentence: Its number within the passage, from 0.
        text: The sentence.
    """

    document: str
    sentence: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkStep:
    """A step of a walk, as a report shows it.

    Attributes:
        document: Id of the passage visited.
        hop: Edges followed from the anchor; 0 for an anchor.
        score: Score of the chunk.
        reason: How it was chosen.
    """

    document: str
    hop: int
    score: float
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """What a system found for one question.

    Attributes:
        documents: Passages, best first, each once; no more than were asked for.
        chunks: Chunks in the order of the ranking, where the system has any.
        sentences: Sentences that it would hand on to a reader, in their order.
        milliseconds: Time of the search without embedding the question.
        hops: Edges followed.
        crossed: Passages that the walk went through.
        stop_reason: Why the walk ended; empty where there was none.
        steps: The walk; empty where there was none.
        traversal_id: Where the walk is recorded, None where it is not.
    """

    documents: tuple[RankedDocument, ...]
    chunks: tuple[ReturnedChunk, ...] = ()
    sentences: tuple[ReturnedSentence, ...] = ()
    milliseconds: float = 0.0
    hops: int = 0
    crossed: int = 0
    stop_reason: str = ""
    steps: tuple[WalkStep, ...] = ()
    traversal_id: str | None = None

    @property
    def filled(self) -> int:
        """Return how many passages come from the dense ranking."""
        return sum(document.filled for document in self.documents)


class System(Protocol):
    """A way of ranking passages; deterministic, ties broken by id.

    Attributes:
        name: What it is called in reports; no two systems of a run share one.
    """

    name: str

    def prepare(self, bench: Bench) -> None:
        """Make what is needed for all questions; not a part of the time measured."""
        ...

    def rank(self, question: RetrievalQuestion, k: int) -> Ranking:
        """Return k passages at most for a question, whose gold is not looked at."""
        ...


SENTENCES = 10
"""Sentences that a system hands on, unless its walk says otherwise: as published."""


def documents_of(
    bench: Bench, chunks: Iterable[tuple[str, float]], k: int
) -> tuple[RankedDocument, ...]:
    """Return passages by their best chunks, best first, ties by id."""
    best: dict[str, float] = {}
    for chunk_id, score in chunks:
        if (chunk := bench.chunks.get(chunk_id)) is not None:
            best[chunk.document] = max(score, best.get(chunk.document, score))
    order = sorted(best, key=lambda name: (-best[name], name))[:k]
    return tuple(RankedDocument(id=name, score=best[name]) for name in order)


def chunks_of(
    bench: Bench, chunks: Iterable[tuple[str, float]]
) -> tuple[ReturnedChunk, ...]:
    """Return chunks in terms of the data set, in their order."""
    return tuple(
        ReturnedChunk(document=at.document, first=at.first, last=at.last, score=score)
        for chunk_id, score in chunks
        if (at := bench.chunks.get(chunk_id)) is not None
    )


def sentences_of(
    bench: Bench, chunks: Sequence[ReturnedChunk], *, most: int = SENTENCES
) -> tuple[ReturnedSentence, ...]:
    """Return the first sentences of chunks in their order, each once."""
    found: dict[tuple[str, int], ReturnedSentence] = {}
    for chunk in chunks:
        for number in range(chunk.first, chunk.last + 1):
            if len(found) >= most:
                return tuple(found.values())
            found.setdefault(
                (chunk.document, number),
                ReturnedSentence(
                    document=chunk.document,
                    sentence=number,
                    text=bench.sentence(chunk.document, number),
                ),
            )
    return tuple(found.values())


def nearest(
    bench: Bench, ranking: ChunkRanking, k: int, *, known: Iterable[str] = ()
) -> Walking[list[RankedChunk]]:
    """Take chunks from a ranking until there are enough passages, or no more."""
    documents = set(known)
    before = frozenset(documents)
    taken: list[RankedChunk] = []
    while len(documents) < k and (hit := (yield from ranking.next())) is not None:
        chunk = bench.chunks.get(hit.id)
        if chunk is not None and chunk.document not in before:
            taken.append(hit)
            documents.add(chunk.document)
    return taken


def filled_up(
    bench: Bench,
    documents: Sequence[RankedDocument],
    rest: Iterable[RankedChunk],
    k: int,
) -> tuple[RankedDocument, ...]:
    """Return a ranking with passages of the dense one after its end, marked."""
    more = documents_of(bench, ((hit.id, hit.score) for hit in rest), k)
    marked = (replace(document, filled=True) for document in more)
    return tuple([*documents, *marked][:k])

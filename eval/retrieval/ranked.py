"""From ranked chunks to ranked passages and the sentences that come with them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eval.retrieval.system import RankedDocument, ReturnedChunk, ReturnedSentence

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from eval.retrieval.bench import Bench
    from retrieval.algorithms.asking import Ranking
    from retrieval.protocols import Walking
    from retrieval.walk import RankedChunk

__all__ = [
    "SENTENCES",
    "chunks_of",
    "documents_of",
    "filled_up",
    "nearest",
    "sentences_of",
]

SENTENCES = 10
"""Sentences that a system hands on, unless its walk says otherwise: as published."""


def documents_of(
    bench: Bench, chunks: Iterable[tuple[str, float]], k: int
) -> tuple[RankedDocument, ...]:
    """Return passages by their best chunks, best first, ties by id.

    Args:
        bench: The corpus.
        chunks: Ids of chunks with their scores, in any order.
        k: Passages wanted.
    """
    best: dict[str, float] = {}
    for chunk_id, score in chunks:
        if (chunk := bench.chunks.get(chunk_id)) is not None:
            best[chunk.document] = max(score, best.get(chunk.document, score))
    order = sorted(best, key=lambda name: (-best[name], name))[:k]
    return tuple(RankedDocument(id=name, score=best[name]) for name in order)


def chunks_of(
    bench: Bench, chunks: Iterable[tuple[str, float]]
) -> tuple[ReturnedChunk, ...]:
    """Return chunks in terms of the data set, in their order.

    Args:
        bench: The corpus.
        chunks: Ids of chunks with their scores.
    """
    found = []
    for chunk_id, score in chunks:
        if (chunk := bench.chunks.get(chunk_id)) is not None:
            found.append(
                ReturnedChunk(
                    document=chunk.document,
                    first=chunk.first,
                    last=chunk.last,
                    score=score,
                )
            )
    return tuple(found)


def sentences_of(
    bench: Bench, chunks: Sequence[ReturnedChunk], *, most: int = SENTENCES
) -> tuple[ReturnedSentence, ...]:
    """Return the first sentences of chunks in their order, each once.

    Args:
        bench: The corpus.
        chunks: The chunks.
        most: Sentences wanted.
    """
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
    bench: Bench, ranking: Ranking, k: int, *, known: Iterable[str] = ()
) -> Walking[list[RankedChunk]]:
    """Take chunks from a ranking until there are enough passages, or no more.

    Args:
        bench: The corpus.
        ranking: The ranking; goes on from where it stands.
        k: Passages wanted in all.
        known: Ids of passages that are there already; their chunks are passed over.
    """
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
    """Return a ranking with passages of the dense one after its end, marked.

    Args:
        bench: The corpus.
        documents: The ranking.
        rest: Chunks of other passages, nearest first.
        k: Passages wanted.
    """
    more = documents_of(bench, ((hit.id, hit.score) for hit in rest), k)
    marked = (replace(document, filled=True) for document in more)
    return tuple([*documents, *marked][:k])

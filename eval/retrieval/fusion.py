"""`rrf`: reciprocal rank fusion of the dense ranking and BM25."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from eval.retrieval.lexical import Bm25Index
from eval.retrieval.ranked import chunks_of, documents_of, nearest, sentences_of
from eval.retrieval.system import Ranking
from retrieval.algorithms.asking import Ranking as ChunkRanking
from retrieval.driving import run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eval.retrieval.bench import Bench
    from eval.retrieval.dataset import RetrievalQuestion

__all__ = ["FusionSystem", "fused"]

_CONSTANT = 60
_DEPTH = 100


def fused(rankings: Sequence[Sequence[str]]) -> list[tuple[str, float]]:
    """Return ids with the sum of 1 / (60 + place), best first, ties by id.

    The constant is that of Cormack, Clarke and Buettcher, 2009.

    Args:
        rankings: Ids, best first, each once in a ranking.
    """
    scores: dict[str, float] = {}
    for ranking in rankings:
        for place, name in enumerate(ranking, start=1):
            scores[name] = scores.get(name, 0.0) + 1 / (_CONSTANT + place)
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))


class FusionSystem:
    """The hundred best chunks of either ranking, fused by their places."""

    name = "rrf"

    def prepare(self, bench: Bench) -> None:
        """Index the corpus."""
        self._bench = bench
        self._index = Bm25Index(bench)

    def rank(self, question: RetrievalQuestion, k: int) -> Ranking:
        """Return passages that both rankings have high up."""
        bench = self._bench
        query = bench.vector(question.text)
        reader = bench.open_reader(question.text).reader
        depth = max(_DEPTH, k)
        begin = time.perf_counter()
        dense = ChunkRanking(query, k=depth // 10)
        near = run(reader, nearest(bench, dense, depth))
        words = self._index.best(question.text, depth)
        pairs = fused([[hit.id for hit in near[:depth]], [name for name, _ in words]])
        documents = documents_of(bench, pairs, k)
        seconds = time.perf_counter() - begin
        wanted = {document.id for document in documents}
        chunks = chunks_of(
            bench, [pair for pair in pairs if bench.chunks[pair[0]].document in wanted]
        )
        return Ranking(
            documents=documents,
            chunks=chunks,
            sentences=sentences_of(bench, chunks),
            milliseconds=1000 * seconds,
        )

"""`dense`: passages by the cosine of their best chunk to the question, nothing else."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from eval.retrieval.ranked import chunks_of, documents_of, nearest, sentences_of
from eval.retrieval.system import Ranking
from retrieval.algorithms.asking import Ranking as ChunkRanking
from retrieval.driving import run

if TYPE_CHECKING:
    from eval.retrieval.bench import Bench
    from eval.retrieval.dataset import RetrievalQuestion

__all__ = ["DenseSystem"]


class DenseSystem:
    """The vector index, its best hits scored again exactly.

    Its time is that of the bare vector call: one trip, ids and vectors only.
    """

    name = "dense"

    def prepare(self, bench: Bench) -> None:
        """Take the corpus."""
        self._bench = bench

    def warm_up(self, question: RetrievalQuestion) -> None:
        """Answer a question once, so that the server has planned what it runs."""
        self.rank(question, 1)

    def rank(self, question: RetrievalQuestion, k: int) -> Ranking:
        """Return the passages nearest to a question."""
        bench = self._bench
        query = bench.vector(question.text)
        reader = bench.open_reader(question.text).reader
        begin = time.perf_counter()
        ranking = ChunkRanking(query, k=k)
        hits = run(reader, nearest(bench, ranking, k))
        seconds = time.perf_counter() - begin
        pairs = [(hit.id, hit.score) for hit in hits]
        chunks = chunks_of(bench, pairs)
        return Ranking(
            documents=documents_of(bench, pairs, k),
            chunks=chunks,
            sentences=sentences_of(bench, chunks),
            milliseconds=1000 * seconds,
        )

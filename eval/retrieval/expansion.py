"""`dense+1hop`: the naive expansion that a graph invites to, as a control.

The five chunks nearest to the question pass their cosines on along their SIMILAR_TO
edges, each times the cosine of the two chunks; what comes to a chunk adds up. The rest
of the ranking is filled from the dense one.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from eval.retrieval.ranked import (
    chunks_of,
    documents_of,
    filled_up,
    nearest,
    sentences_of,
)
from eval.retrieval.system import Ranking
from retrieval.algorithms.asking import Ranking as ChunkRanking
from retrieval.algorithms.asking import ask_visits
from retrieval.cosine import cosines
from retrieval.driving import run

if TYPE_CHECKING:
    from eval.retrieval.bench import Bench
    from eval.retrieval.dataset import RetrievalQuestion
    from retrieval.protocols import Vector, Walking
    from retrieval.walk import RankedChunk

__all__ = ["ExpansionSystem"]

_SEEDS = 5


class ExpansionSystem:
    """One hop from the five nearest chunks."""

    name = "dense+1hop"

    def prepare(self, bench: Bench) -> None:
        """Take the corpus."""
        self._bench = bench

    def warm_up(self, question: RetrievalQuestion) -> None:
        """Answer a question once, so that the server has planned what it runs."""
        self.rank(question, 1)

    def rank(self, question: RetrievalQuestion, k: int) -> Ranking:
        """Return the nearest passages and those that they are similar to."""
        bench = self._bench
        query = bench.vector(question.text)
        reader = bench.open_reader(question.text).reader
        begin = time.perf_counter()
        pairs, rest = run(reader, self._walk(query, k))
        seconds = time.perf_counter() - begin
        documents = filled_up(bench, documents_of(bench, pairs, k), rest, k)
        shown = {document.id for document in documents}
        both = [*pairs, *((hit.id, hit.score) for hit in rest)]
        chunks = chunks_of(
            bench, [pair for pair in both if bench.chunks[pair[0]].document in shown]
        )
        crossed = {bench.chunks[name].document for name, _ in pairs}
        return Ranking(
            documents=documents,
            chunks=chunks,
            sentences=sentences_of(bench, chunks),
            milliseconds=1000 * seconds,
            hops=1,
            crossed=len(crossed),
        )

    def _walk(
        self, query: Vector, k: int
    ) -> Walking[tuple[list[tuple[str, float]], list[RankedChunk]]]:
        """Return scored chunks, best first, and the dense ones that fill the rest."""
        bench = self._bench
        ranking = ChunkRanking(query, k=max(k, _SEEDS))
        yield from ranking.read()
        seeds = ranking.ranked[:_SEEDS]
        visits = yield from ask_visits(tuple(seed.id for seed in seeds))
        scores = {seed.id: seed.score for seed in seeds}
        for seed in seeds:
            if (visit := visits.get(seed.id)) is None or not visit.neighbours.ids:
                continue
            around = visit.neighbours
            near = cosines(ranking.vectors[seed.id], around.vectors).tolist()
            for name, cosine in zip(around.ids, near, strict=True):
                scores[name] = scores.get(name, 0.0) + seed.score * cosine
        pairs = [
            pair
            for pair in sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
            if pair[0] in bench.chunks
        ]
        known = {bench.chunks[name].document for name, _ in pairs}
        rest = yield from nearest(bench, ranking, k, known=known)
        return pairs, rest

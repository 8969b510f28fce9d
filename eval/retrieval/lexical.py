"""`bm25`: passages by the words that they share with the question, the rare ones more.

The index is made of the corpus's chunks in memory by the package bm25s, with the words
of `retrieval.rerank.words`: no stemming, no stop words, any language; k1 and b are
Lucene's, and a word counts once however often the question has it. The database's
full-text index is not used, since it counts how rare a word is over all corpora.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from eval.retrieval.ranked import chunks_of, documents_of, sentences_of
from eval.retrieval.system import Ranking
from retrieval.rerank.words import words

if TYPE_CHECKING:
    from eval.retrieval.bench import Bench
    from eval.retrieval.dataset import RetrievalQuestion

__all__ = ["Bm25Index", "Bm25System"]

_LOG = logging.getLogger("bm25s")
_K1 = 1.2
_B = 0.75


class Bm25Index:
    """BM25 over all chunks of a corpus."""

    def __init__(self, bench: Bench) -> None:
        """Index the chunks.

        Args:
            bench: The corpus.
        """
        import bm25s  # type: ignore[import-untyped]

        _LOG.setLevel(logging.NOTSET)
        self._ids = tuple(bench.chunks)
        found = [words(chunk.text) for chunk in bench.chunks.values()]
        self._number: dict[str, int] = {}
        for text in found:
            for word in text:
                self._number.setdefault(word, len(self._number))
        self._model: Any = None
        if self._number:
            self._model = bm25s.BM25(k1=_K1, b=_B, dtype="float64")
            numbers = [[self._number[word] for word in text] for text in found]
            self._model.index(
                (numbers, self._number), create_empty_token=False, show_progress=False
            )

    def best(self, question: str, most: int) -> list[tuple[str, float]]:
        """Return ids of chunks with their scores, best first, ties by id.

        Args:
            question: What is asked.
            most: Chunks wanted; there are fewer where fewer share a word.
        """
        asked = [
            self._number[word]
            for word in dict.fromkeys(words(question))
            if word in self._number
        ]
        if not asked:
            return []
        scores = np.asarray(self._model.get_scores_from_ids(asked))
        order = np.lexsort((np.arange(len(scores)), -scores))[:most]
        return [
            (self._ids[place], float(scores[place]))
            for place in order
            if scores[place] > 0
        ]


class Bm25System:
    """BM25 alone."""

    name = "bm25"

    def prepare(self, bench: Bench) -> None:
        """Index the corpus."""
        self._bench = bench
        self._index = Bm25Index(bench)

    def rank(self, question: RetrievalQuestion, k: int) -> Ranking:
        """Return the passages with the best words."""
        bench = self._bench
        begin = time.perf_counter()
        pairs = self._index.best(question.text, len(bench.chunks))
        documents = documents_of(bench, pairs, k)
        seconds = time.perf_counter() - begin
        wanted = {document.id for document in documents}
        kept = [pair for pair in pairs if bench.chunks[pair[0]].document in wanted]
        chunks = chunks_of(bench, kept)
        return Ranking(
            documents=documents,
            chunks=chunks,
            sentences=sentences_of(bench, chunks),
            milliseconds=1000 * seconds,
        )

"""BM25: words that a document shares with the query, the rare ones more.

How rare a word is, and how long a usual document, is taken from the documents that are
scored together; so one document alone gets a number that says little, and the numbers
of two calls are not comparable.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from graph.errors import InputError
from retrieval.rerank.base import LocalReranker
from retrieval.rerank.words import words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graph.embedders import Embedder
    from graph.settings import Settings

__all__ = ["Bm25Reranker", "bm25_scores", "load"]

_LOG = logging.getLogger("bm25s")
"""The package's own, which it sets to tell of every index it builds."""

K1 = 1.5
B = 0.75


class Bm25Reranker(LocalReranker):
    """BM25 over the candidates, by the package bm25s; needs no model.

    Args:
        k1: How much more a word counts that comes again; 0 or more.
        b: How much long documents are held back, 0 to 1.

    Raises:
        InputError: If a number is out of its range.
    """

    name = "bm25"

    def __init__(self, *, k1: float = K1, b: float = B) -> None:
        if not (0 <= k1 < float("inf") and 0 <= b <= 1):
            msg = f"BM25 with k1={k1}, b={b}: give k1 from 0 and b from 0 to 1."
            raise InputError(msg)
        self._k1 = k1
        self._b = b

    @property
    def fingerprint(self) -> str:
        """Return the name with the numbers."""
        return f"{self.name} {self._k1} {self._b}"

    def score_sync(self, query: str, documents: Sequence[str]) -> list[float]:
        """Return the BM25 of each document; 0 where it shares no word."""
        return bm25_scores(query, documents, k1=self._k1, b=self._b)


def bm25_scores(
    query: str, documents: Sequence[str], *, k1: float = K1, b: float = B
) -> list[float]:
    """Return the BM25 of each document among these.

    Args:
        query: What is asked; a query without a word that any document has gives 0.
        documents: Texts; one without words gets 0.
        k1: How much more a word counts that comes again.
        b: How much long documents are held back.

    Returns:
        Numbers from 0, in the order of the documents.
    """
    import bm25s  # type: ignore[import-untyped]

    _LOG.setLevel(logging.NOTSET)

    corpus = [words(text) for text in documents]
    known = {word for text in corpus for word in text}
    asked = [word for word in words(query) if word in known]
    if not asked:
        return [0.0] * len(corpus)
    number = {word: place for place, word in enumerate(dict.fromkeys(asked))}
    other = len(number)  # all that is not asked for only makes documents longer
    model = bm25s.BM25(k1=k1, b=b, dtype="float64")
    model.index(
        (
            [[number.get(word, other) for word in text] for text in corpus],
            {**number, "": other},
        ),
        create_empty_token=False,
        show_progress=False,
    )
    scores = model.get_scores_from_ids([number[word] for word in asked])
    return [float(score) for score in scores]


def load(
    what: str, *, settings: Settings | None, embedder: Embedder | None
) -> Bm25Reranker:
    """Return the reranker, see `retrieval.rerank.base.load_reranker`."""
    return Bm25Reranker()

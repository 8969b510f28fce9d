"""Cosines of texts as a reranker."""

from __future__ import annotations

import numpy as np
import pytest

from knowtrail.graph.errors import VectorError
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.retrieval.rerank import checked_scores
from knowtrail.retrieval.rerank.embedding import EmbeddingReranker


class Odd(HashEmbedder):
    """An embedder whose vectors can be made wrong."""

    def __init__(self, *, query: list[float]) -> None:
        super().__init__(8)
        self._query = query

    def embed_query(self, text: str) -> list[float]:
        return self._query


class Prompted(HashEmbedder):
    """An embedder that tells queries from documents."""

    def embed_query(self, text: str) -> list[float]:
        return super().embed_query("query " + text)


def test_scores_are_cosines() -> None:
    """The number is that of numpy's own vectors."""
    embedder = HashEmbedder(32)
    a, b = np.array(embedder.embed_documents(["red fox", "blue fox"]))
    expected = a @ b / np.linalg.norm(a) / np.linalg.norm(b)

    scores = checked_scores(EmbeddingReranker(embedder), "red fox", ["blue fox"])

    assert scores == pytest.approx([expected])


def test_the_query_is_embedded_as_a_query() -> None:
    """Models that tell queries from documents are asked for both."""
    reranker = EmbeddingReranker(Prompted(32))

    scores = checked_scores(reranker, "fox", ["query fox", "fox"])

    assert scores[0] == pytest.approx(1)
    assert scores[1] < 0.9


def test_equal_texts_have_equal_scores_and_blank_ones_too() -> None:
    """A text is embedded once; one without content is no error."""
    reranker = EmbeddingReranker(HashEmbedder(16))

    scores = checked_scores(reranker, "fox", ["fox a", "", " ", "fox a"])

    assert scores[0] == scores[3]
    assert scores[1] == scores[2]


@pytest.mark.parametrize("query", [[1.0] * 7, [float("nan")] * 8, [0.0] * 8])
def test_a_broken_query_vector_is_refused(query: list[float]) -> None:
    """A vector of another length without numbers or without direction asks nothing."""
    reranker = EmbeddingReranker(Odd(query=query))

    with pytest.raises(VectorError, match="no usable vector for the query"):
        checked_scores(reranker, "q", ["a"])

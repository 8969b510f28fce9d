"""What a pointwise model knows of a query and a document.

For vectors q and d of length 1, with n dimensions: the products q_i d_i (n numbers),
the distances |q_i - d_i| (n numbers), the cosine, and log(1 + BM25). BM25 is taken
among the documents that are scored together, see `retrieval.rerank.bm25`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from retrieval.rerank.bm25 import bm25_scores
from retrieval.rerank.embedding import query_and_documents

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graph.embedders import Embedder
    from retrieval.protocols import Vector

__all__ = ["FEATURES", "features", "width"]

FEATURES = ("product", "distance", "cosine", "bm25")
"""The blocks of a row, in order."""


def width(dimensions: int) -> int:
    """Return how many numbers a row has."""
    return 2 * dimensions + 2


def features(embedder: Embedder, query: str, documents: Sequence[str]) -> Vector:
    """Return a row of numbers for each document.

    Args:
        embedder: The model of the vectors.
        query: What is asked.
        documents: At least one text.

    Returns:
        Float64 array of shape (documents, `width`).

    Raises:
        VectorError: If the embedder gives a vector that cannot be used.
    """
    asked, found = query_and_documents(embedder, query, documents)
    asked = asked / np.linalg.norm(asked)
    found = found / np.linalg.norm(found, axis=1, keepdims=True)
    words = np.log1p(bm25_scores(query, documents))
    products = found * asked
    return np.hstack([
        products,
        np.abs(found - asked),
        products.sum(axis=1, keepdims=True),
        words[:, None],
    ])

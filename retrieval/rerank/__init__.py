"""Rerankers, and the files of queries and documents that they are measured on."""

from __future__ import annotations

from knowtrail.retrieval.rerank.base import (
    RERANKERS,
    BaseReranker,
    LocalReranker,
    load_reranker,
)
from knowtrail.retrieval.rerank.order import achecked_scores, checked_scores

__all__ = [
    "RERANKERS",
    "BaseReranker",
    "LocalReranker",
    "achecked_scores",
    "checked_scores",
    "load_reranker",
]

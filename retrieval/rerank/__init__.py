"""Rerankers, and the files of queries and documents that they are measured on."""

from __future__ import annotations

from retrieval.rerank.base import (
    RERANKERS,
    BaseReranker,
    LocalReranker,
    achecked_scores,
    checked_scores,
    load_reranker,
)

__all__ = [
    "RERANKERS",
    "BaseReranker",
    "LocalReranker",
    "achecked_scores",
    "checked_scores",
    "load_reranker",
]

"""Rows of procedures: ids and scalars, for Cypher to join nodes by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from retrieval.ask import Answer
    from retrieval.search import SearchResult
    from retrieval.traverse import TraverseResult

__all__ = ["Row", "ask_rows", "compare_rows", "search_rows", "traverse_rows"]

Row: TypeAlias = dict[str, Any]
"""Column -> value: texts, numbers, None and lists of texts."""


def search_rows(result: SearchResult) -> list[Row]:
    """Return one row a hit."""
    return [
        {
            "rank": rank,
            "documentId": hit.chunk.document_id,
            "title": hit.chunk.title,
            "chunkId": hit.chunk.id,
            "text": hit.text,
            "score": hit.score,
            "algorithm": result.walk.algorithm,
        }
        for rank, hit in enumerate(result.hits, start=1)
    ]


def traverse_rows(result: TraverseResult) -> list[Row]:
    """Return one row a sentence; a step without a new one has a row without it."""
    return [
        {
            "step": step.index,
            "hop": step.hop,
            "documentId": step.chunk.document_id,
            "title": step.chunk.title,
            "chunkId": step.chunk.id,
            "sentenceId": None if sentence is None else sentence.id,
            "text": None if sentence is None else sentence.text,
            "score": step.score if sentence is None else sentence.score,
            "reason": step.reason,
            "traversalId": result.traversal_id,
        }
        for step in result.walk.steps
        for sentence in (step.sentences or (None,))
    ]


def compare_rows(results: tuple[TraverseResult, ...]) -> list[Row]:
    """Return one row an algorithm."""
    return [
        {
            "algorithm": result.walk.algorithm,
            "sentences": len(result.walk.sentences),
            "documents": len({s.chunk.document_id for s in result.walk.steps}),
            "hops": result.walk.hops,
            "stopReason": result.walk.stop_reason,
            "milliseconds": result.walk.milliseconds,
            "traversalId": result.traversal_id,
        }
        for result in results
    ]


def ask_rows(answer: Answer) -> list[Row]:
    """Return the answer as the only row."""
    return [
        {
            "answer": answer.text,
            "citation": [sentence.id for sentence in answer.citations],
            "confidence": answer.confidence,
            "traversalId": answer.traversal_id,
        }
    ]

"""Pairs and their scores as JSON files, for people and other programs.

`pairs.json` is `{"pairs": [...]}`, each with pair_id (query id, left and right document
id, joined by hyphens; not unique, as a pair can come again), query_id, query, and
document_a and document_b with document_id, metadata and content. `ai_scores.json` is
`{"scored_pairs": [...]}`, each with `pair` and, for each judge, `NAME_score` with
`thought` and `score`; where a judge failed its score is null, `error` says why, and a
judge that was not asked is missing.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO

    from eval.zelo.judgements import Judgement, Matchup
    from retrieval.rerank.datasets import Document

__all__ = ["PairFile", "pair_row", "scored_row"]


def pair_row(matchup: Matchup) -> dict[str, Any]:
    """Return a pair as the files have it."""
    query, left, right = matchup.query, matchup.left, matchup.right
    return {
        "pair_id": f"{query.id}-{left.id}-{right.id}",
        "query_id": query.id,
        "query": query.query,
        "document_a": _document(left),
        "document_b": _document(right),
    }


def _document(document: Document) -> dict[str, Any]:
    return {
        "document_id": document.id,
        "metadata": document.metadata,
        "content": document.content,
    }


def scored_row(matchup: Matchup, judgements: Iterable[Judgement]) -> dict[str, Any]:
    """Return a pair with what its judges said.

    Args:
        matchup: The pair.
        judgements: One a judge at most.
    """
    row: dict[str, Any] = {"pair": pair_row(matchup)}
    for one in judgements:
        said: dict[str, Any] = {"thought": one.reasoning, "score": one.score}
        if one.score is None:
            said["error"] = one.error
        row[f"{one.judge}_score"] = said
    return row


class PairFile:
    """Writes an object with one long list, a row at a time."""

    def __init__(self, file: TextIO, name: str) -> None:
        """Begin the list.

        Args:
            file: Where it goes.
            name: Its key.
        """
        self._file = file
        self._separator = "\n"
        file.write(f"{{{json.dumps(name)}: [")

    def add(self, row: dict[str, Any]) -> None:
        """Write the next row."""
        self._file.write(self._separator + json.dumps(row))
        self._separator = ",\n"

    def end(self) -> None:
        """End the list."""
        self._file.write("\n]}\n")

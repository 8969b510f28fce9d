"""Extractions in the graph: each is stored in one transaction, all of it or none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from graph.embedders import embed_texts
from graph.errors import VectorError
from ingest.keys import content_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graph.connection import Connection, Counters
    from graph.embedders import Embedder
    from ingest.extraction.knowledge import Knowledge
    from ingest.extraction.web import WebResult

__all__ = ["SUPPORT", "ExtractionSource", "search_result_rows", "store", "supports"]

SUPPORT = 0.6
"""Least cosine of a fact and a sentence that supports it."""

_PARTS = ("facts", "gaps", "concepts", "causes", "entities", "relations")
MOST_SUPPORTS = 3
"""Sentences that a fact is linked to at most, the nearest ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionSource:
    """What a model is given to read.

    Attributes:
        id: Key of the document, chunk or search.
        title: What people call it.
        content_hash: Changes with its text.
        document: Id of the document whose sentences may support its facts; None for
            a search.
        results: What a search found, empty for others.
        text: The text; None where it is still to be read from the graph.
    """

    id: str
    title: str
    content_hash: str
    document: str | None = None
    results: tuple[WebResult, ...] = ()
    text: str | None = None


def search_result_rows(source: ExtractionSource, corpus: str) -> list[dict[str, Any]]:
    """Return the nodes of what a search found.

    Args:
        source: A search.
        corpus: Name of the corpus.
    """
    return [
        {
            "id": content_key("result", source.id, rank),
            "corpus": corpus,
            "query": source.title,
            "rank": rank,
            "title": result.title,
            "url": result.url,
            "text": result.content,
        }
        for rank, result in enumerate(source.results, start=1)
    ]


def supports(
    connection: Connection,
    embedder: Embedder,
    knowledge: Knowledge,
    document: str | None,
) -> list[dict[str, Any]]:
    """Return which sentences of its document support each fact.

    Args:
        connection: The database.
        embedder: The model of the corpus' vectors.
        knowledge: What was extracted.
        document: Id of the document; None where there is none.

    Returns:
        Rows of fact, sentence, score and rank: up to three a fact, at cosine 0.6 or
        above.
    """
    if document is None or not knowledge.facts:
        return []
    rows = connection.read("extraction/sentences", document=document)
    rows = [row for row in rows if row["vector"] is not None]
    if not rows:
        return []
    try:
        facts = embed_texts(embedder, [fact["text"] for fact in knowledge.facts])
    except VectorError:
        return []
    sentences = np.asarray([row["vector"] for row in rows], dtype=np.float64)
    scores = _unit(facts) @ _unit(sentences).T
    found = []
    for index, fact in enumerate(knowledge.facts):
        best = np.argsort(-scores[index], kind="stable")[:MOST_SUPPORTS]
        found += [
            {
                "fact": fact["id"],
                "sentence": rows[place]["id"],
                "score": round(min(float(scores[index, place]), 1.0), 6),
                "rank": rank,
            }
            for rank, place in enumerate(best, start=1)
            if scores[index, place] >= SUPPORT
        ]
    return found


def _unit(vectors: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return rows of length 1, in float64."""
    wide = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    unit: np.ndarray[Any, Any] = wide / np.where(lengths > 0, lengths, 1.0)
    return unit


def store(
    connection: Connection,
    knowledge: Knowledge,
    source: ExtractionSource,
    *,
    corpus: str,
    supported: Sequence[Mapping[str, Any]],
) -> Counters:
    """Store an extraction in the place of the one of the same source and kind.

    Args:
        connection: The database.
        knowledge: What was extracted.
        source: What it was extracted from.
        corpus: Name of the corpus.
        supported: Rows of `supports`.

    Returns:
        What changed. What other extractions say stays as it is; concepts and entities
        that nothing names any more go.
    """
    key = knowledge.id
    results = search_result_rows(source, corpus)
    steps: list[tuple[str, Mapping[str, Any]]] = [
        ("extraction/remove", {"ids": [key]}),
        ("extraction/search_results", {"rows": results}),
        (
            "extraction/extraction",
            {
                "id": key,
                "properties": knowledge.properties,
                "sources": [row["id"] for row in results] or [source.id],
            },
        ),
    ]
    steps += [
        (f"extraction/{name}", {"extraction": key, "rows": list(rows)})
        for name in _PARTS
        if (rows := getattr(knowledge, name))
    ]
    steps.append(("extraction/supports", {"rows": list(supported)}))
    return connection.write_all([
        (name, params) for name, params in steps if params.get("rows") != []
    ])

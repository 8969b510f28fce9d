"""Any reranker as a LangChain document compressor, and Documents in its order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import Callbacks  # noqa: TC002 - Pydantic reads it
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import ConfigDict, Field

from knowtrail.graph.errors import InputError
from knowtrail.retrieval.rerank.order import (
    MOST_CANDIDATES,
    Scoring,
    achecked_scores,
    best_first,
    checked_scores,
)


class RerankCompressor(BaseDocumentCompressor):
    """Puts the `top_n` best Documents (None: all) in a reranker's order, best first.

    Each Document that comes out is a copy whose metadata has the number as
    `relevance_score`. Documents with the same number stand in the order of their ids,
    those without an id last and as they came. Works as the compressor of LangChain's
    `ContextualCompressionRetriever`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    reranker: Scoring
    top_n: int | None = Field(default=None, ge=1)

    def compress_documents(
        self,
        documents: Sequence[Document],
        query: str,
        callbacks: Callbacks | None = None,
    ) -> Sequence[Document]:
        """Return the best Documents of at most 1,000; callbacks are told nothing."""
        texts = _texts(documents)
        return self._ranked(documents, checked_scores(self.reranker, query, texts))

    async def acompress_documents(
        self,
        documents: Sequence[Document],
        query: str,
        callbacks: Callbacks | None = None,
    ) -> Sequence[Document]:
        """Do as `compress_documents` does, without blocking."""
        scores = await achecked_scores(self.reranker, query, _texts(documents))
        return self._ranked(documents, scores)

    def _ranked(
        self, documents: Sequence[Document], scores: Sequence[float]
    ) -> list[Document]:
        order = best_first(scores, [document.id for document in documents])
        return [
            _with_score(documents[place], scores[place])
            for place in order[: self.top_n]
        ]


def _texts(documents: Sequence[Document]) -> list[str]:
    """Return what is scored; refuse more than a search may have candidates."""
    if len(documents) > MOST_CANDIDATES:
        given = f"The reranker got {len(documents)} documents"
        raise InputError(f"{given}: give at most {MOST_CANDIDATES}.")
    return [document.page_content for document in documents]


def _with_score(document: Document, score: float) -> Document:
    metadata: dict[str, Any] = {**document.metadata, "relevance_score": score}
    return document.model_copy(update={"metadata": metadata})

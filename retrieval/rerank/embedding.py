"""Embedding similarity: the cosine of query and document."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from knowtrail.graph.errors import VectorError
from knowtrail.graph.models.embedders import embed_texts, embedder_name
from knowtrail.graph.settings import DEFAULT_EMBEDDER
from knowtrail.retrieval.corpora import loaded_embedder
from knowtrail.retrieval.cosine import cosines
from knowtrail.retrieval.rerank.base import LocalReranker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.protocols import Vector

BLANK = "-"
"""Embedded in place of a text that has nothing to embed."""


class EmbeddingReranker(LocalReranker):
    """Cosine of the query's vector and each document's."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self.name = "embedding"

    @property
    def fingerprint(self) -> str:
        """Return the name with that of the model."""
        return f"embedding {embedder_name(self.embedder)}"

    def score_sync(self, query: str, documents: Sequence[str]) -> list[float]:
        """Return one cosine a document, -1 to 1; equal texts have equal ones."""
        asked, found = query_and_documents(self.embedder, query, documents)
        return [float(cosine) for cosine in cosines(asked, found)]


def query_and_documents(
    embedder: Embedder, query: str, documents: Sequence[str]
) -> tuple[Vector, Vector]:
    """Return a query's vector (n,) and its documents' (documents, n), in float64.

    Each different text is embedded once; one that is blank is embedded as a dash, as
    some models have no vector for nothing.

    Raises:
        VectorError: If a vector is not finite, zero or of another length.
    """
    texts = [text if text.strip() else BLANK for text in documents]
    place = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    vectors = embed_texts(embedder, list(place)).astype(np.float64)
    asked = np.asarray(embedder.embed_query(query if query.strip() else BLANK))
    usable = asked.shape == vectors.shape[1:] and np.isfinite(asked).all()
    if not (usable and asked.any()):
        raise VectorError(
            f"The embedder {embedder_name(embedder)} gave no usable vector for the "
            "query: check the model."
        )
    return asked.astype(np.float64), vectors[[place[text] for text in texts]]


def load(
    what: str, *, settings: Settings | None, embedder: Embedder | None
) -> EmbeddingReranker:
    """Return the reranker, see `knowtrail.retrieval.rerank.base.load_reranker`."""
    if embedder is None:
        name = DEFAULT_EMBEDDER if settings is None else settings.embedder
        embedder = loaded_embedder(name, settings)
    return EmbeddingReranker(embedder)

"""Vectors and themes for prepared documents, many texts in one call of the model."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np

from knowtrail.graph.errors import KnowtrailError, VectorError
from knowtrail.graph.models.embedders import embed_texts
from knowtrail.ingest.store import EmbeddedDocument

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.ingest.prepare import PreparedDocument
    from knowtrail.ingest.themes import ThemeSource

_LOG = logging.getLogger(__name__)

_AT_ONCE = 256
"""Texts between two words of progress."""


def embed_documents(
    documents: Sequence[tuple[PreparedDocument, bool]],
    *,
    embedder: Embedder,
    themes: ThemeSource,
    fail: Callable[[PreparedDocument, Exception], None],
    tell: Callable[[str, int], None] = lambda *_: None,
) -> list[EmbeddedDocument]:
    """Embed sentences, chunks and themes of documents.

    Equal texts are embedded once. Where the model gives a vector that cannot be used,
    the documents are tried one by one and only those concerned are given up; so is one
    whose themes cannot be found.

    Args:
        documents: (document, whether it replaces a stored one) pairs.
        embedder: The model.
        themes: Where themes come from.
        fail: Told of each document that is given up.
        tell: Told how many more `themes` (of documents) or `texts` are done.

    Returns:
        The documents with their vectors, in order.
    """
    named = []
    for document, replaces in documents:
        try:
            found = themes.themes(
                document.properties["title"],
                document.properties["text"],
                language=document.properties["language"],
            )
        except KnowtrailError:
            raise
        except Exception as error:  # one text that nobody foresaw ends no ingest
            _LOG.debug("No themes of %s", document.id, exc_info=True)
            fail(document, error)
            continue
        named.append((document, replaces, tuple(found)))
        if themes.name != "none":
            tell("themes", 1)
    if not named:
        return []
    try:
        return _embed(named, embedder, tell)
    except VectorError:
        pass
    embedded = []
    for one in named:
        try:
            embedded += _embed([one], embedder, tell)
        except VectorError as error:
            fail(one[0], error)
    return embedded


def _embed(
    named: Sequence[tuple[PreparedDocument, bool, tuple[str, ...]]],
    embedder: Embedder,
    tell: Callable[[str, int], None],
) -> list[EmbeddedDocument]:
    """Embed all texts of some documents."""
    place: dict[str, int] = {}

    def places(texts: Sequence[str]) -> list[int]:
        return [place.setdefault(text, len(place)) for text in texts]

    wanted = [
        (
            places([row["text"] for row in document.sentences]),
            places([row["text"] for row in document.chunks]),
            places([*themes, ", ".join(themes)] if themes else []),
        )
        for document, _, themes in named
    ]
    vectors = _embed_sorted(list(place), embedder, tell)
    return [
        EmbeddedDocument(
            document=document,
            replaces=replaces,
            sentence_vectors=vectors[sentences],
            chunk_vectors=vectors[chunks],
            themes=themes,
            theme_vector=vectors[theme_places[-1]] if themes else None,
            theme_vectors=vectors[theme_places[:-1]] if themes else None,
        )
        for (document, replaces, themes), (sentences, chunks, theme_places) in zip(
            named, wanted, strict=True
        )
    ]


def _embed_sorted(
    texts: Sequence[str], embedder: Embedder, tell: Callable[[str, int], None]
) -> npt.NDArray[np.float32]:
    """Embed texts, longest first so that a batch has little padding."""
    order = sorted(range(len(texts)), key=lambda i: (-len(texts[i]), i))
    vectors: npt.NDArray[np.float32] | None = None
    for start in range(0, len(order), _AT_ONCE):
        part = order[start : start + _AT_ONCE]
        found = embed_texts(embedder, [texts[i] for i in part])
        if vectors is None:
            vectors = np.empty((len(texts), found.shape[1]), dtype=np.float32)
        vectors[part] = found
        tell("texts", len(part))
    return np.empty((0, 1), dtype=np.float32) if vectors is None else vectors

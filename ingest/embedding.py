"""Vectors and themes for prepared documents, many texts in one call of the model."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np

from knowtrail.graph.errors import KnowtrailError, VectorError
from knowtrail.graph.models.embedders import embed_texts
from knowtrail.ingest.store import EmbeddedDocument

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    import numpy.typing as npt

    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.ingest.prepare import PreparedDocument
    from knowtrail.ingest.themes import ThemeSource

_LOG = logging.getLogger(__name__)

AT_ONCE = 256
"""Texts of one call of the model, and between two words of progress."""


def embed_documents(
    documents: Sequence[PreparedDocument],
    *,
    embedder: Embedder,
    stored: Mapping[str, npt.NDArray[np.float32]],
    themes: ThemeSource,
    fail: Callable[[PreparedDocument, Exception], None],
    tell: Callable[[str, int], None] = lambda *_: None,
    at_once: int = AT_ONCE,
) -> list[EmbeddedDocument]:
    """Embed sentences, chunks and themes of documents, in order.

    Equal texts are embedded once, those that are `stored`, by id, not at all. Where
    the model gives a vector that cannot be used, the documents are tried one by one and
    only those concerned are given up; so is one whose themes cannot be found. `fail` is
    told of these, `tell` how many more `themes` (of documents) or `texts` are done.
    """
    named = []
    for document in documents:
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
        named.append((document, tuple(found)))
        if themes.name != "none":
            tell("themes", 1)
    if not named:
        return []
    try:
        return _embed(named, embedder, stored, tell, at_once)
    except VectorError:
        pass
    embedded = []
    for one in named:
        try:
            embedded += _embed([one], embedder, stored, tell, at_once)
        except VectorError as error:
            fail(one[0], error)
    return embedded


def kept_texts(document: PreparedDocument, stored: Container[str]) -> dict[str, str]:
    """Return sentences and chunks of a document that are `stored`, text by id."""
    rows = (*document.sentences, *document.chunks)
    return {row["id"]: row["text"] for row in rows if row["id"] in stored}


def why_not(error: Exception) -> str:
    """Return why a document has no vectors or themes, as reports say it."""
    if isinstance(error, VectorError):
        return str(error)
    what = " ".join(f"{type(error).__name__}: {error}".split())
    return f"its themes cannot be found ({what}): leave it out"


def _embed(
    named: Sequence[tuple[PreparedDocument, tuple[str, ...]]],
    embedder: Embedder,
    stored: Mapping[str, npt.NDArray[np.float32]],
    tell: Callable[[str, int], None],
    at_once: int,
) -> list[EmbeddedDocument]:
    place: dict[str, int] = {}
    known = {
        text: stored[key]
        for document, _ in named
        for key, text in kept_texts(document, stored).items()
    }

    def places(texts: Sequence[str]) -> list[int]:
        return [place.setdefault(text, len(place)) for text in texts]

    wanted = [
        places([
            *(row["text"] for row in (*document.sentences, *document.chunks)),
            *([", ".join(themes), *themes] if themes else []),
        ])
        for document, themes in named
    ]
    vectors = _embed_sorted(list(place), known, embedder, tell, at_once)
    return [
        EmbeddedDocument(document=document, vectors=vectors[found], themes=themes)
        for (document, themes), found in zip(named, wanted, strict=True)
    ]


def _embed_sorted(
    texts: Sequence[str],
    known: Mapping[str, npt.NDArray[np.float32]],
    embedder: Embedder,
    tell: Callable[[str, int], None],
    at_once: int,
) -> npt.NDArray[np.float32]:
    """Embed texts, longest first so that a batch has little padding."""
    order = [i for i, text in enumerate(texts) if text not in known]
    order.sort(key=lambda i: -len(texts[i]))
    width = len(next(iter(known.values()))) if known else 1
    vectors = np.empty((len(texts), width), dtype=np.float32)
    for place, text in enumerate(texts):
        if text in known:
            vectors[place] = known[text]
    for start in range(0, len(order), at_once):
        part = order[start : start + at_once]
        found = embed_texts(embedder, [texts[i] for i in part])
        if not start and found.shape[1] != vectors.shape[1]:
            vectors = np.empty((len(texts), found.shape[1]), dtype=np.float32)
        vectors[part] = found
        tell("texts", len(part))
    return vectors

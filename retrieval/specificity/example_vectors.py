"""Vectors of example questions, embedded once and kept in a file."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np

from graph.embedders import embed_texts, embedder_name
from ingest.keys import content_key

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy.typing as npt

    from graph.embedders import Embedder

    Array = npt.NDArray[np.float32]

__all__ = ["example_vectors", "unit_vectors"]

_LOG = logging.getLogger(__name__)


def unit_vectors(embedder: Embedder, texts: Sequence[str]) -> Array:
    """Return the vectors of texts, each of length one."""
    vectors = embed_texts(embedder, texts)
    units: Array = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return units


def example_vectors(
    embedder: Embedder, texts: Sequence[str], folder: Path | None
) -> Array:
    """Return the vectors of example questions.

    Args:
        embedder: The model.
        texts: The examples.
        folder: Where vectors are kept, under a name made of model and texts; a file
            that cannot be read or written costs time and nothing else. None keeps none.

    Returns:
        Float32 array of shape (texts, dimensions), each row of length one.
    """
    path = None
    if folder is not None:
        path = folder / f"{content_key(embedder_name(embedder), *texts)}.npy"
        try:
            kept: Array = np.load(path, allow_pickle=False)
            if kept.ndim == 2 and len(kept) == len(texts) and np.isfinite(kept).all():
                return kept
        except (OSError, ValueError, EOFError):
            _LOG.debug("No vectors of examples at %s", path)
    vectors = unit_vectors(embedder, texts)
    if path is not None:
        begun = path.with_suffix(".part.npy")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(begun, vectors, allow_pickle=False)
            begun.replace(path)
        except OSError as error:
            _LOG.info("Vectors of examples are not kept: %s", error)
    return vectors

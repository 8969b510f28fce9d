"""A small model trained on scores of documents, such as zELO's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graph.embedders import dimensions_of, embedder_name
from graph.errors import InputError
from retrieval.corpora import loaded_embedder
from retrieval.rerank.base import LocalReranker
from retrieval.rerank.features import features
from retrieval.rerank.model_file import read_model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graph.embedders import Embedder
    from graph.settings import Settings
    from retrieval.rerank.model_file import PointwiseModel

__all__ = ["PointwiseReranker", "load"]


class PointwiseReranker(LocalReranker):
    """Scores each document by a linear model of embedding and BM25 features.

    Args:
        model: The model, see `retrieval.rerank.model_file.read_model`.
        embedder: The embedder that it names.
        name: What results call it.

    Raises:
        InputError: If the embedder is another one. Its dimensions are checked when it
            first scores, as asking for them can load a model.
    """

    def __init__(
        self, model: PointwiseModel, embedder: Embedder, *, name: str = "pointwise"
    ) -> None:
        if embedder_name(embedder) != model.embedder:
            msg = (
                f"The model was trained with the embedder {model.embedder!r}, not with "
                f"{embedder_name(embedder)!r}: use that, or train a model anew."
            )
            raise InputError(msg)
        self.name = name
        self._model = model
        self._embedder = embedder
        self._checked = False

    @property
    def fingerprint(self) -> str:
        """Return what tells this model from every other."""
        return f"pointwise {self._model.fingerprint}"

    def score_sync(self, query: str, documents: Sequence[str]) -> list[float]:
        """Return the model's number for each document.

        Raises:
            InputError: If the embedder's vectors have another length.
        """
        if not self._checked:
            self._check_dimensions()
        rows = features(self._embedder, query, documents)
        return [float(score) for score in self._model.scores(rows)]

    def _check_dimensions(self) -> None:
        """Refuse an embedder whose vectors the model cannot take."""
        found = dimensions_of(self._embedder)
        if found != self._model.dimensions:
            msg = (
                f"The model was trained with vectors of {self._model.dimensions} "
                f"dimensions, {self._model.embedder!r} gives {found}: train it anew."
            )
            raise InputError(msg)
        self._checked = True


def load(
    what: str, *, settings: Settings | None, embedder: Embedder | None
) -> PointwiseReranker:
    """Return the reranker of a file, see `retrieval.rerank.base.load_reranker`.

    The given embedder is taken where it is the one that the file names.
    """
    model = read_model(what)
    if embedder is None or embedder_name(embedder) != model.embedder:
        embedder = loaded_embedder(model.embedder, settings)
    return PointwiseReranker(model, embedder, name=f"pointwise:{what}")

"""Cross-encoders: models that read query and document together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowtrail.graph.errors import ModelError
from knowtrail.graph.models.model_files import ModelOfFiles
from knowtrail.retrieval.rerank.base import LocalReranker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.graph.settings import Settings

_SCORING = ("ForSequenceClassification", "ForCausalLM", "ForConditionalGeneration")
"""Ends of the names of architectures that can score a pair of texts."""


class CrossEncoderReranker(ModelOfFiles, LocalReranker):
    """A cross-encoder of sentence-transformers, loaded when it first scores.

    A folder needs no network. A name is looked for in the cache of the hub, and where
    it is not there it is fetched; without a network that is an error which says so.
    Code that a model brings along is never run. Of a pair `max_length` tokens are read;
    None takes the model's own limit. A batch has 16 pairs, on a GPU 256 where
    these are at most 512.
    """

    _kind = "cross-encoder"

    def __init__(
        self,
        place: str,
        *,
        batch_size: int | None = None,
        max_length: int | None = None,
    ) -> None:
        self.name = f"cross-encoder:{place}"
        self._place = place
        self._batch_size = batch_size
        self._max_length = max_length

    @property
    def fingerprint(self) -> str:
        """Return the name with what changes the scores."""
        return f"{self.name} {self._max_length}"

    def score_sync(self, query: str, documents: Sequence[str]) -> list[float]:
        """Return the model's number for each pair, as the library gives it."""
        scores = self.model.predict(
            [(query, text) for text in documents],
            batch_size=self.batch_size,
            show_progress_bar=False,
            convert_to_numpy=True,
        )
        if scores.ndim != 1:
            raise ModelError(
                f"The model {self._place!r} gives {scores.shape[1]} numbers a pair: "
                "take a cross-encoder with one label."
            )
        return [float(score) for score in scores]

    def _opened(self, place: str, *, local: bool) -> Any:
        from sentence_transformers import CrossEncoder

        self._check_architecture(place, local=local)
        return CrossEncoder(place, local_files_only=local, max_length=self._max_length)

    def _check_architecture(self, place: str, *, local: bool) -> None:
        """Refuse a model without a head that scores: it would get a random one."""
        from transformers import AutoConfig

        config = AutoConfig.from_pretrained(place, local_files_only=local)
        names = list(getattr(config, "architectures", None) or [])
        if not any(name.endswith(_SCORING) for name in names):
            raise ModelError(
                f"The model {self._place!r} is no cross-encoder ({', '.join(names)}): "
                "its scores would be random. Take one made for reranking, such as "
                "cross-encoder/ms-marco-MiniLM-L6-v2."
            )

    def _missing(self) -> str:
        if Path(self._place).expanduser().is_dir():
            return (
                f"The folder {self._place!r} holds no cross-encoder that can be "
                "loaded: it needs config.json, the weights and the tokenizer."
            )
        return f"{super()._missing()} Without a network use bm25 or embedding."


def load(
    what: str, *, settings: Settings | None, embedder: Embedder | None
) -> CrossEncoderReranker:
    """Return the reranker, see `knowtrail.retrieval.rerank.base.load_reranker`."""
    return CrossEncoderReranker(what)

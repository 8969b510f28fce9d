"""What the embedders of the product are made of: arrays first, lists from these."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from knowtrail.graph.models.model_files import ModelOfFiles

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]

_LOADING_LOG = logging.getLogger("knowtrail.graph.models.embedders.loading")
_SHORT = 1000
"""Characters of a text that is embedded on one thread where it comes alone."""

QUERY_PROMPTS = {
    "mixedbread-ai/mxbai-embed-large-v1": (
        "Represent this sentence for searching relevant passages: "
    )
}


class ArrayEmbedder(ABC):
    """An embedder that makes arrays; lists come from these."""

    name: str
    query_prompt = ""

    @property
    def loaded(self) -> bool:
        """Say whether the model is in this process."""
        return True

    @abstractmethod
    def embed_array(self, texts: list[str]) -> Vectors:
        """Return vectors as a float32 array of shape (texts, dimensions)."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector a text."""
        rows: list[list[float]] = self.embed_array(texts).tolist()
        return rows

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question, with the model's query prompt."""
        return self.embed_documents([self.query_prompt + text])[0]


class _OneThread:
    """Lets torch use one thread in a `with`: for a short text others cost more."""

    # Where all processors are busy the threads of one small product wait for each
    # other: a question took 27 to 42 ms on one thread and over 700 on two, beside nine
    # other processes on two processors; alone there 9.3 and 7.6 ms. Torch keeps the
    # number by thread and partly for all, so it is that before the first `with` that
    # the last one brings back.

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before = 1

    def __enter__(self) -> None:
        import torch

        with self._lock:
            if not self._inside:
                self._before = torch.get_num_threads()
            self._inside += 1
        torch.set_num_threads(1)

    def __exit__(self, *_: object) -> None:
        import torch

        torch.set_num_threads(self._before)
        with self._lock:
            self._inside -= 1


_ONE_THREAD = _OneThread()


class LocalEmbedder(ModelOfFiles, ArrayEmbedder):
    """A sentence-transformers model, loaded at first use; it travels without that.

    `name` is what is recorded, `query_prompt` put before queries, not before documents;
    None takes what is known of the model. A batch has 16 texts, on a GPU 256 where the
    model reads at most 512 tokens of each; bfloat16 weights are faster on some CPUs.
    """

    _kind = "embedding model"

    def __init__(
        self,
        place: str,
        *,
        name: str | None = None,
        query_prompt: str | None = None,
        batch_size: int | None = None,
        bf16: bool = False,
    ) -> None:
        self.name = name or place
        self._place = place
        self.query_prompt = (
            QUERY_PROMPTS.get(place, "") if query_prompt is None else query_prompt
        )
        self._batch_size = batch_size
        self._bf16 = bf16

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_model": None}

    def _load(self) -> Any:
        _LOADING_LOG.info("Loading embedding model %s", self._place)
        return super()._load()

    def _opened(self, place: str, *, local: bool) -> Any:
        from sentence_transformers import SentenceTransformer

        kwargs: dict[str, Any] = {"device": None}
        if self._bf16:
            kwargs["model_kwargs"] = {"dtype": "bfloat16"}
        return SentenceTransformer(place, local_files_only=local, **kwargs)

    @property
    def dimensions(self) -> int:
        """Return the length of the vectors."""
        model = self.model
        get = getattr(model, "get_embedding_dimension", None) or (
            model.get_sentence_embedding_dimension
        )
        if (found := get()) is None:  # the model does not know
            found = self.embed_array(["dimensions"]).shape[1]
        return int(found)

    def embed_array(self, texts: list[str]) -> Vectors:
        """Return vectors as a float32 array of shape (texts, dimensions)."""
        import numpy as np

        model = self.model
        short = len(texts) == 1 and len(texts[0]) <= _SHORT
        with _ONE_THREAD if short else nullcontext():
            vectors = model.encode(
                texts,
                batch_size=self.batch_size,
                show_progress_bar=False,
                convert_to_numpy=True,
            )
        return np.asarray(vectors, dtype=np.float32)

"""The built-in embedding models: sentence-transformers, Ollama, hashed words.

They are LangChain's `Embeddings`, which takes a third of a second to import:
`embedders` imports this module when a model is needed.
"""

from __future__ import annotations

import logging
import re
import threading
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
from langchain_core.embeddings import Embeddings

from knowtrail.graph.errors import ModelError
from knowtrail.graph.extras import extra
from knowtrail.graph.models.array_embedder import QUERY_PROMPTS, ArrayEmbedder
from knowtrail.graph.models.model_files import ModelOfFiles

if TYPE_CHECKING:
    from knowtrail.graph.models.array_embedder import Vectors

_LOADING_LOG = logging.getLogger("knowtrail.graph.models.embedders.loading")
_SHORT = 1000
"""Characters of a text that is embedded on one thread where it comes alone."""


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


class SentenceTransformerEmbedder(ModelOfFiles, ArrayEmbedder, Embeddings):
    """A sentence-transformers model, loaded at first use.

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
        return int(get())

    def embed_array(self, texts: list[str]) -> Vectors:
        """Return vectors as a float32 array of shape (texts, dimensions)."""
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


class OllamaEmbedder(Embeddings):
    """An embedding model that Ollama serves."""

    def __init__(self, model: str, *, url: str | None = None) -> None:
        with extra("llm", f"The embedder ollama:{model}"):
            from langchain_ollama import OllamaEmbeddings
        self.name = f"ollama:{model}"
        self.query_prompt = ""
        self._model = model
        self._client = OllamaEmbeddings(model=model, base_url=url)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector a text."""
        import httpx
        from ollama import ResponseError

        try:
            return self._client.embed_documents(texts)
        except (ConnectionError, httpx.HTTPError) as error:
            msg = f"Ollama does not answer ({error}): start it with `ollama serve`."
            raise ModelError(msg) from error
        except ResponseError as error:
            msg = f"Ollama: {error.error}. Try `ollama pull {self._model}`."
            raise ModelError(msg) from error

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""
        return self.embed_documents([text])[0]


class HashEmbedder(ArrayEmbedder, Embeddings):
    """A deterministic embedder without a model: hashed words, for tests and drafts.

    Texts that share words are near each other. The vector of a text never depends on
    the texts beside it, so that two ingests give the same graph to the last bit.
    """

    def __init__(self, dimensions: int = 64) -> None:
        self.name = f"hash:{dimensions}"
        self.dimensions = dimensions

    def embed_array(self, texts: list[str]) -> Vectors:
        """Return vectors as a float32 array of shape (texts, dimensions)."""
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> Vectors:
        import hashlib

        total = np.full(self.dimensions, 1e-3, dtype=np.float64)
        for word in re.findall(r"\w+", text.casefold()):
            seed = hashlib.blake2b(word.encode(), digest_size=8).digest()
            generator = np.random.default_rng(int.from_bytes(seed, "big"))
            total += generator.standard_normal(self.dimensions)
        vector: Vectors = (total / np.linalg.norm(total)).astype(np.float32)
        return vector

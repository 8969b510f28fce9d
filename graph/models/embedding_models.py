"""The built-in embedding models: sentence-transformers, Ollama, hashed words.

They are LangChain's `Embeddings`, which takes a third of a second to import:
`embedders` imports this module when a model is needed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
from langchain_core.embeddings import Embeddings

from knowtrail.graph.errors import ModelError
from knowtrail.graph.extras import extra
from knowtrail.graph.models.array_embedder import ArrayEmbedder, LocalEmbedder

if TYPE_CHECKING:
    from knowtrail.graph.models.array_embedder import Vectors


class SentenceTransformerEmbedder(LocalEmbedder, Embeddings):
    """A sentence-transformers model, loaded at first use; see `LocalEmbedder`."""


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

"""Embedding models: a small protocol, and the providers that are built in.

Anything with LangChain's `Embeddings` interface is an `Embedder`. A model's query
prompt is applied to queries only.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from langchain_core.embeddings import Embeddings

from graph.errors import MissingExtraError, ModelError, SettingsError, VectorError
from graph.model_files import model_places

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from graph.settings import Settings

    Vectors = npt.NDArray[np.float32]

__all__ = [
    "Embedder",
    "HashEmbedder",
    "OllamaEmbedder",
    "SentenceTransformerEmbedder",
    "dimensions_of",
    "embed_texts",
    "embedder_name",
    "load_embedder",
    "query_prompt",
]

_LOG = logging.getLogger(__name__)
_LOADING_LOG = logging.getLogger("graph.embedders.loading")
_QUERY_PROMPTS = {
    "mixedbread-ai/mxbai-embed-large-v1": (
        "Represent this sentence for searching relevant passages: "
    ),
}
BATCH = 16
_LOADING = threading.Lock()
"""Threads that come first at once load a model once."""


@runtime_checkable
class Embedder(Protocol):
    """What the product needs of an embedding model."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector a text, in order."""
        ...

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""
        ...


def embedder_name(embedder: Embedder) -> str:
    """Return the name that is recorded on the corpus."""
    for attribute in ("name", "model_name", "model"):
        value = getattr(embedder, attribute, None)
        if isinstance(value, str) and value:
            return value
    return type(embedder).__name__


def query_prompt(embedder: Embedder) -> str:
    """Return the prompt put before queries, empty where there is none."""
    value = getattr(embedder, "query_prompt", "")
    return value if isinstance(value, str) else ""


def dimensions_of(embedder: Embedder) -> int:
    """Return the length of the embedder's vectors, asking the model if it must."""
    value = getattr(embedder, "dimensions", None)
    if isinstance(value, int):
        return value
    return int(embed_texts(embedder, ["dimensions"]).shape[1])


def embed_texts(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Embed texts and check the result.

    Args:
        embedder: The model.
        texts: At least one text.

    Returns:
        Float32 array of shape (texts, dimensions); every row finite and not zero.

    Raises:
        VectorError: If a vector is missing, not finite, zero or of another length.
    """
    encode: Callable[[list[str]], Any] = getattr(
        embedder, "embed_array", embedder.embed_documents
    )
    try:
        vectors = np.asarray(encode(list(texts)), dtype=np.float32)
    except ValueError as error:
        msg = f"The embedder {embedder_name(embedder)} gave vectors of mixed lengths."
        raise VectorError(msg) from error
    if vectors.ndim != 2 or len(vectors) != len(texts):
        msg = (
            f"The embedder {embedder_name(embedder)} gave {len(vectors)} vectors for "
            f"{len(texts)} texts."
        )
        raise VectorError(msg)
    norms = np.linalg.norm(vectors, axis=1)
    bad = np.flatnonzero(~np.isfinite(norms) | (norms == 0))
    if bad.size:
        kind = "a zero" if norms[bad[0]] == 0 else "a not finite"
        msg = (
            f"The embedder {embedder_name(embedder)} gave {kind} vector for "
            f"{texts[int(bad[0])][:60]!r}: mend the model or leave that text out."
        )
        raise VectorError(msg)
    return vectors


class SentenceTransformerEmbedder(Embeddings):
    """A sentence-transformers model, loaded at first use.

    Args:
        place: Model name or folder.
        name: What is recorded; None records the place.
        query_prompt: Put before queries, not before documents; None takes what is
            known of the model.
        batch_size: Texts in one pass of the model; small ones are faster on a CPU.
        bf16: Whether weights are bfloat16, faster where the processor has it.
    """

    def __init__(
        self,
        place: str,
        *,
        name: str | None = None,
        query_prompt: str | None = None,
        batch_size: int = BATCH,
        bf16: bool = False,
    ) -> None:
        self.name = name or place
        self._place = place
        self.query_prompt = (
            _QUERY_PROMPTS.get(place, "") if query_prompt is None else query_prompt
        )
        self._batch_size = batch_size
        self._bf16 = bf16
        self._model: Any = None

    @property
    def model(self) -> Any:
        """Return the loaded `SentenceTransformer`.

        Raises:
            ModelError: If the model's files are neither here nor to be fetched.
        """
        if self._model is None:
            with _LOADING:
                if self._model is None:
                    self._model = self._load()
        return self._model

    def _load(self) -> Any:
        """Load the model from a folder, the cache, a package or the hub."""
        _LOADING_LOG.info("Loading embedding model %s", self._place)
        from huggingface_hub.utils.logging import set_verbosity_error
        from sentence_transformers import SentenceTransformer
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()  # type: ignore[no-untyped-call]
        set_verbosity_error()  # type: ignore[no-untyped-call]
        kwargs: dict[str, Any] = {"device": None}
        if self._bf16:
            kwargs["model_kwargs"] = {"dtype": "bfloat16"}
        for place, local in model_places(self._place):
            try:
                return SentenceTransformer(place, local_files_only=local, **kwargs)
            except (OSError, ValueError) as error:
                _LOG.debug("No model at %s: %s", place, error)
        msg = (
            f"The embedding model {self._place!r} is not on this machine and cannot be "
            "fetched: check the name and the network, or give a folder that holds it."
        )
        raise ModelError(msg)

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
        vectors = self.model.encode(
            texts,
            batch_size=self._batch_size,
            show_progress_bar=False,
            convert_to_numpy=True,
        )
        return np.asarray(vectors, dtype=np.float32)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector a text."""
        rows: list[list[float]] = self.embed_array(texts).tolist()
        return rows

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question, with the model's query prompt."""
        return self.embed_documents([self.query_prompt + text])[0]


class OllamaEmbedder(Embeddings):
    """An embedding model that Ollama serves.

    Args:
        model: Its name there.
        url: Where Ollama answers; None takes the package's default.

    Raises:
        MissingExtraError: If `langchain-ollama` is not installed.
    """

    def __init__(self, model: str, *, url: str | None = None) -> None:
        try:
            from langchain_ollama import OllamaEmbeddings
        except ImportError as error:
            msg = "Ollama embeddings need an extra: pip install 'knowtrail[llm]'."
            raise MissingExtraError(msg) from error
        self.name = f"ollama:{model}"
        self.query_prompt = ""
        self._model = model
        self._client = OllamaEmbeddings(model=model, base_url=url)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector a text.

        Raises:
            ModelError: If Ollama does not answer or has no such model.
        """
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


class HashEmbedder(Embeddings):
    """A deterministic embedder without a model: hashed words, for tests and drafts.

    Texts that share words are near each other. The vector of a text never depends on
    the texts beside it, so that two ingests give the same graph to the last bit.
    """

    def __init__(self, dimensions: int = 64) -> None:
        self.name = f"hash:{dimensions}"
        self.dimensions = dimensions
        self.query_prompt = ""

    def embed_array(self, texts: list[str]) -> Vectors:
        """Return vectors as a float32 array of shape (texts, dimensions)."""
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> Vectors:
        """Return the normalised sum of the words' pseudo-random vectors."""
        import hashlib
        import re

        total = np.full(self.dimensions, 1e-3, dtype=np.float64)
        for word in re.findall(r"\w+", text.casefold()):
            seed = hashlib.blake2b(word.encode(), digest_size=8).digest()
            generator = np.random.default_rng(int.from_bytes(seed, "big"))
            total += generator.standard_normal(self.dimensions)
        vector: Vectors = (total / np.linalg.norm(total)).astype(np.float32)
        return vector

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector a text."""
        rows: list[list[float]] = self.embed_array(texts).tolist()
        return rows

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""
        return self.embed_documents([text])[0]


def load_embedder(name: str, *, settings: Settings | None = None) -> Embedder:
    """Return the embedder of a name; the model itself is loaded at first use.

    Args:
        name: `provider:model`, or a sentence-transformers model name or folder.
            Providers: `sentence-transformers`, `bf16` (the same with bfloat16
            weights), `ollama`, `static` (a sentence-transformers model of static
            embeddings: a draft mode, its neighbours differ) and `hash` (no model).
        settings: Where Ollama answers.

    Raises:
        SettingsError: For an unknown provider.
        MissingExtraError: If the provider's package is not installed.
    """
    provider, _, model = name.partition(":")
    if not model:
        return SentenceTransformerEmbedder(name)
    if provider == "sentence-transformers":
        return SentenceTransformerEmbedder(model)
    if provider in {"static", "bf16"}:
        return SentenceTransformerEmbedder(model, name=name, bf16=provider == "bf16")
    if provider == "hash":
        if not model.isdigit() or not 1 <= int(model) <= 4096:
            msg = f"Embedder {name!r}: write hash:N with N from 1 to 4096."
            raise SettingsError(msg)
        return HashEmbedder(int(model))
    if provider == "ollama":
        return OllamaEmbedder(model, url=settings.ollama_url if settings else None)
    msg = (
        f"Unknown embedding provider {provider!r} in {name!r}: use a model name, "
        "bf16:MODEL, static:MODEL or ollama:MODEL."
    )
    raise SettingsError(msg)

"""Embedding models: a small protocol, and the built-in ones by their names.

Anything with LangChain's `Embeddings` interface is an `Embedder`. A model's query
prompt is applied to queries only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from knowtrail.graph.errors import SettingsError, VectorError
from knowtrail.graph.models.array_embedder import LocalEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from knowtrail.graph.models.array_embedder import Vectors
    from knowtrail.graph.settings import Settings

_PROVIDERS = {"sentence-transformers", "bf16", "ollama", "static", "hash"}


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
    """Embed some texts: float32, (texts, dimensions); `VectorError` if unusable."""
    encode: Callable[[list[str]], Any] = getattr(
        embedder, "embed_array", embedder.embed_documents
    )
    try:
        vectors = np.asarray(encode(list(texts)), dtype=np.float32)
    except ValueError as error:
        msg = f"The embedder {embedder_name(embedder)} gave vectors of mixed lengths."
        raise VectorError(msg) from error
    if vectors.ndim != 2 or len(vectors) != len(texts):
        raise VectorError(
            f"The embedder {embedder_name(embedder)} gave {len(vectors)} vectors for "
            f"{len(texts)} texts."
        )
    norms = np.linalg.norm(vectors, axis=1)
    bad = np.flatnonzero(~np.isfinite(norms) | (norms == 0))
    if bad.size:
        kind = "a zero" if norms[bad[0]] == 0 else "a not finite"
        raise VectorError(
            f"The embedder {embedder_name(embedder)} gave {kind} vector for "
            f"{texts[int(bad[0])][:60]!r}: mend the model or leave that text out."
        )
    return vectors


def named_embedder(name: str, *, settings: Settings | None = None) -> Embedder:
    """Return an embedder as `load_embedder` does, for our own use; see there.

    A model of files is none of LangChain's `Embeddings`, whose import alone takes as
    long as a whole question to a server that has the model.
    """
    provider, model = _provider(name)
    if provider in {"hash", "ollama"}:
        return load_embedder(name, settings=settings)
    return LocalEmbedder(
        model, name=_recorded(provider, model), bf16=provider == "bf16"
    )


def load_embedder(name: str, *, settings: Settings | None = None) -> Embedder:
    """Return the embedder of a name; the model itself is loaded at first use.

    A name is `provider:model`, or a sentence-transformers model name or folder.
    Providers: `sentence-transformers`, `bf16` (the same with bfloat16 weights),
    `ollama`, `static` (a sentence-transformers model of static embeddings: a draft
    mode, its neighbours differ) and `hash` (no model).

    Raises:
        SettingsError: For an unknown provider, or one without a model.
        MissingExtraError: If the provider's package is not installed.
    """
    from knowtrail.graph.models import embedding_models as models

    provider, model = _provider(name)
    made: Embedder
    if provider == "hash":
        if not re.fullmatch("[0-9]{1,4}", model) or not 1 <= int(model) <= 4096:
            msg = f"Embedder {name!r}: write hash:N with N from 1 to 4096."
            raise SettingsError(msg)
        made = models.HashEmbedder(int(model))
    elif provider == "ollama":
        url = settings.ollama_url if settings else None
        made = models.OllamaEmbedder(model, url=url)
    else:
        made = models.SentenceTransformerEmbedder(
            model, name=_recorded(provider, model), bf16=provider == "bf16"
        )
    return made


def _provider(name: str) -> tuple[str, str]:
    provider, _, model = name.partition(":")
    if not model and provider not in _PROVIDERS and provider.strip():
        return "sentence-transformers", name
    if not model and provider != "hash":
        msg = f"Embedder {name!r} names no model: write one, or PROVIDER:MODEL."
        raise SettingsError(msg)
    if provider not in _PROVIDERS:
        raise SettingsError(
            f"Unknown embedding provider {provider!r} in {name!r}: use a model name, "
            "bf16:MODEL, static:MODEL or ollama:MODEL."
        )
    return provider, model


def _recorded(provider: str, model: str) -> str:
    """Return the name that a corpus records of a sentence-transformers model."""
    return model if provider == "sentence-transformers" else f"{provider}:{model}"

"""Embedders: names, prompts, and what is checked about their vectors."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from langchain_core.embeddings import Embeddings

from knowtrail.graph.errors import ModelError, SettingsError, VectorError
from knowtrail.graph.models.embedders import (
    Embedder,
    dimensions_of,
    embed_texts,
    embedder_name,
    load_embedder,
    query_prompt,
)
from knowtrail.graph.models.embedding_models import (
    HashEmbedder,
    SentenceTransformerEmbedder,
)
from knowtrail.graph.models.model_files import local_model, model_places
from knowtrail.graph.settings import DEFAULT_EMBEDDER


class _Given(Embeddings):
    """Gives the vectors that it was given."""

    def __init__(self, vectors: list[list[float]]) -> None:
        self._vectors = vectors

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._vectors

    def embed_query(self, text: str) -> list[float]:
        return self._vectors[0]


def test_any_langchain_embeddings_is_an_embedder() -> None:
    """Callers bring their own model without an adapter."""
    assert isinstance(_Given([[1.0]]), Embedder)


def test_vectors_are_float32_rows() -> None:
    """One row of single precision for each text, in order."""
    vectors = embed_texts(_Given([[1, 2], [3, 4]]), ["a", "b"])

    assert vectors.dtype == np.float32
    assert vectors.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        ([[1.0, 2.0], [0.0, 0.0]], "a zero vector for 'second'"),
        ([[1.0, 2.0], [float("nan"), 1.0]], "a not finite vector for 'second'"),
        ([[1.0, 2.0], [float("inf"), 1.0]], "a not finite vector for 'second'"),
        ([[1.0, 2.0]], "1 vectors for 2 texts"),
        ([[1.0, 2.0], [1.0]], "mixed lengths"),
    ],
)
def test_bad_vectors_are_refused(vectors: list[list[float]], message: str) -> None:
    """A vector that would spoil every comparison is named with its text."""
    with pytest.raises(VectorError, match=message):
        embed_texts(_Given(vectors), ["first", "second"])


def test_hash_embedder_does_not_depend_on_the_batch() -> None:
    """A text has one vector, whatever stands beside it."""
    embedder = HashEmbedder(16)

    alone = embed_texts(embedder, ["red fox"])[0]
    beside = embed_texts(embedder, ["blue whale", "red fox"])[1]

    assert alone.tolist() == beside.tolist()


def test_hash_embedder_puts_shared_words_near() -> None:
    """Texts that share words are nearer than texts that do not."""
    embedder = HashEmbedder(64)
    a, b, c = embed_texts(
        embedder, ["the red fox runs", "the red fox sleeps", "quantum field theory"]
    )

    assert a @ b > a @ c


def test_hash_embedder_takes_a_text_without_words() -> None:
    """Punctuation alone still has a vector that is not zero."""
    assert embed_texts(HashEmbedder(8), ["..."]).any()


def test_query_and_document_agree_without_a_prompt() -> None:
    """A model without a query prompt treats questions as texts."""
    embedder = HashEmbedder(8)

    assert embedder.embed_query("a") == embedder.embed_documents(["a"])[0]


def test_known_model_has_its_query_prompt() -> None:
    """A model that was trained with a prompt gets it, for queries only."""
    embedder = load_embedder("mixedbread-ai/mxbai-embed-large-v1")

    assert query_prompt(embedder).startswith("Represent this sentence")


def test_default_model_has_no_query_prompt() -> None:
    """The default model takes questions as they are."""
    assert query_prompt(load_embedder(DEFAULT_EMBEDDER)) == ""


def test_names_are_those_of_the_models() -> None:
    """What is recorded on a corpus is the model's own name."""
    assert embedder_name(load_embedder("some/model")) == "some/model"
    assert embedder_name(HashEmbedder(8)) == "hash:8"
    assert embedder_name(_Given([[1.0]])) == "_Given"


def test_dimensions_come_from_the_vectors_where_unknown() -> None:
    """An embedder that does not say gets asked for a vector."""
    assert dimensions_of(_Given([[1.0, 2.0, 3.0]])) == 3


def test_a_model_that_does_not_know_its_length_is_asked_for_a_vector(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Sentence-transformers answers None for some."""
    model = SimpleNamespace(
        get_embedding_dimension=lambda: None,
        encode=lambda texts, **_: np.ones((len(texts), 5)),
        device=SimpleNamespace(type="cpu"),
        prompts={},
        default_prompt_name=None,
        preprocess=lambda *_, **__: {},
    )
    monkeypatch.setattr(SentenceTransformerEmbedder, "_load", lambda _: model)

    assert dimensions_of(SentenceTransformerEmbedder("some-model")) == 5


@pytest.mark.parametrize(
    "name",
    [
        *("openai:ada", "hash:0", "hash:x", "hash:5000", "hash", "hash:", "hash:²"),
        *("static", "bf16:", "ollama", "sentence-transformers", "", " "),
    ],
)
def test_unusable_names_are_refused(name: str) -> None:
    """A provider or size that does not exist is named."""
    with pytest.raises(SettingsError, match=repr(name)):
        load_embedder(name)


def test_default_model_is_found_without_network() -> None:
    """The package of the development group carries the default model's files."""
    place = local_model(DEFAULT_EMBEDDER)

    assert place is not None
    assert Path(place, "modules.json").is_file()


def test_folder_is_looked_at_alone(tmp_path: Path) -> None:
    """A folder that exists is never looked up on the hub."""
    assert model_places(str(tmp_path)) == [(str(tmp_path), True)]


def test_absent_model_has_no_files() -> None:
    """A name that nothing here has is None, and nothing is fetched."""
    assert local_model("no-such-owner/no-such-model") is None


def test_absent_model_without_network_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the hub's client fails at its second try in a way of its own."""

    def load(place: str, **_: object) -> None:
        msg = "Cannot send a request, as the client has been closed."
        raise RuntimeError(msg)

    monkeypatch.setattr("sentence_transformers.SentenceTransformer", load)

    with pytest.raises(ModelError, match="'no/such' is not on this machine"):
        SentenceTransformerEmbedder("no/such").embed_query("ice")


def test_model_is_loaded_once_by_threads_that_come_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A server's first calls share one model."""
    loads: list[object] = []

    def load(_: object) -> object:
        time.sleep(0.05)
        loads.append(object())
        return loads[-1]

    monkeypatch.setattr(SentenceTransformerEmbedder, "_load", load)
    embedder = SentenceTransformerEmbedder("some-model")

    with ThreadPoolExecutor(4) as pool:
        models = set(pool.map(lambda _: embedder.model, range(4)))

    assert models == set(loads)
    assert len(loads) == 1

"""Cross-encoders, by a tiny one with random weights that is built on the spot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from graph.errors import ModelError
from graph.model_files import local_model
from retrieval.rerank import achecked_scores, checked_scores, load_reranker
from retrieval.rerank.cross_encoder import CrossEncoderReranker

if TYPE_CHECKING:
    from pathlib import Path

WORDS = [
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
    *("red", "blue", "fox", "owl", "the", "is", "a", "what"),
]


def _build(folder: Path, *, labels: int = 1, nan: bool = False) -> Path:
    """Save a BERT of two layers with random weights and thirteen words."""
    import torch
    from transformers import (
        BertConfig,
        BertForSequenceClassification,
        BertTokenizerFast,
    )

    folder.mkdir()
    (folder / "words.txt").write_text("\n".join(WORDS) + "\n")
    BertTokenizerFast(str(folder / "words.txt")).save_pretrained(folder)
    torch.manual_seed(7)
    model = BertForSequenceClassification(
        BertConfig(
            vocab_size=len(WORDS),
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=64,
            num_labels=labels,
            initializer_range=0.5,
        )
    )
    if nan:
        torch.nn.init.constant_(model.classifier.weight, float("nan"))
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a cross-encoder."""
    return _build(tmp_path_factory.mktemp("models") / "tiny")


def test_scores_are_those_of_the_library(tiny: Path) -> None:
    """The numbers are the model's own, in the order of the documents."""
    from sentence_transformers import CrossEncoder

    documents = ["the red fox", "a blue owl", "", "owl owl owl owl owl fox"]
    expected = CrossEncoder(str(tiny)).predict([("what is red", d) for d in documents])

    scores = checked_scores(
        load_reranker(f"cross-encoder:{tiny}"), "what is red", documents
    )

    assert scores == pytest.approx(expected.tolist(), abs=1e-6)
    assert len(set(scores)) == 4


async def test_scores_are_the_same_twice_and_without_blocking(tiny: Path) -> None:
    """Dropout is off, and another thread computes the same."""
    reranker = CrossEncoderReranker(str(tiny))

    scores = await achecked_scores(reranker, "red", ["fox", "owl"])

    assert scores == checked_scores(reranker, "red", ["fox", "owl"])


def test_only_so_many_tokens_are_read(tiny: Path) -> None:
    """Of a cut pair the rest makes no difference."""
    reranker = CrossEncoderReranker(str(tiny), max_length=6)

    scores = checked_scores(reranker, "red", ["fox owl a", "fox owl the blue owl"])

    assert scores[0] == pytest.approx(scores[1], abs=1e-6)


def test_a_model_that_gives_nan_is_found_out(tmp_path: Path) -> None:
    """A broken model makes no ranking."""
    reranker = CrossEncoderReranker(str(_build(tmp_path / "broken", nan=True)))

    with pytest.raises(ModelError, match="gave nan for document 0"):
        checked_scores(reranker, "red", ["fox"])


def test_a_model_of_several_labels_is_refused(tmp_path: Path) -> None:
    """Of three numbers none is the relevance."""
    reranker = CrossEncoderReranker(str(_build(tmp_path / "three", labels=3)))

    with pytest.raises(ModelError, match="gives 3 numbers a pair"):
        checked_scores(reranker, "red", ["fox"])


def test_an_embedding_model_is_no_cross_encoder() -> None:
    """It would be given a head with random weights."""
    folder = local_model("sentence-transformers/all-MiniLM-L6-v2")

    with pytest.raises(ModelError, match="no cross-encoder"):
        checked_scores(CrossEncoderReranker(str(folder)), "red", ["fox"])


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    """The message says what must be there."""
    with pytest.raises(ModelError, match=r"needs config\.json"):
        checked_scores(CrossEncoderReranker(str(tmp_path)), "red", ["fox"])


def test_without_a_network_the_message_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The hub cannot be reached, and the model is not in the cache."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    reranker = CrossEncoderReranker("nobody/has-this-model")

    with pytest.raises(ModelError, match="Without a network use bm25 or embedding"):
        checked_scores(reranker, "red", ["fox"])

"""Models that are really loaded: embedders, and a cross-encoder built on the spot."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pytest

from knowtrail.graph.cli.root import knowtrail
from knowtrail.graph.errors import ModelError
from knowtrail.graph.models.embedders import embed_texts, load_embedder
from knowtrail.graph.models.embedding_models import SentenceTransformerEmbedder
from knowtrail.graph.models.model_files import local_model
from knowtrail.graph.settings import DEFAULT_EMBEDDER
from knowtrail.retrieval.rerank import achecked_scores, checked_scores, load_reranker
from knowtrail.retrieval.rerank.cross_encoder import CrossEncoderReranker

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


@pytest.mark.thorough
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


def test_missing_model_is_an_error_of_ours(tmp_path: Path) -> None:
    """A folder without a model is reported with its name and what to do."""
    embedder = SentenceTransformerEmbedder(str(tmp_path))

    with pytest.raises(ModelError, match="is not on this machine"):
        embedder.embed_query("x")


def test_default_model_embeds() -> None:
    """The real default model gives 384 numbers, and like texts are near."""
    embedder = load_embedder(DEFAULT_EMBEDDER)

    a, b, c = embed_texts(
        embedder,
        ["A volcano erupts lava.", "Lava flows from volcanoes.", "The cat sleeps."],
    )

    assert a.shape == (384,)
    assert a @ b > a @ c + 0.3


def test_a_text_is_embedded_on_one_thread() -> None:
    """Whoever comes afterwards uses what torch may use."""
    import torch

    embedder = load_embedder(DEFAULT_EMBEDDER)
    used: list[int] = []
    embedder.model.register_forward_hook(
        lambda *_: used.append(torch.get_num_threads())
    )
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        alone = embedder.embed_query("What moves the sea?")
        beside = embedder.embed_documents(["What moves the sea?", "The Moon."])[0]
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(embedder.embed_query, ["The Moon."] * 8))
        after = torch.get_num_threads()
    finally:
        torch.set_num_threads(before)

    assert (used, after) == ([1] * 11, 2)
    assert alone == pytest.approx(beside, abs=1e-5)


def test_a_vector_depends_on_its_text_alone() -> None:
    """Parts, order and numbers of threads change no bit, and padding adds nothing."""
    import torch

    embedder = load_embedder(DEFAULT_EMBEDDER)
    words = ["tides", "rise", "where", "the", "sea", "is", "open", "to", "the", "moon"]
    texts = [" ".join([str(n), *words * 10][: n % 41 * n % 97 + 1]) for n in range(60)]
    before = torch.get_num_threads()
    found = embedder.embed_array(texts)
    try:
        torch.set_num_threads(3)
        alone = np.concatenate([embedder.embed_array([text]) for text in texts])
        backwards = embedder.embed_array(texts[::-1])[::-1]
    finally:
        torch.set_num_threads(before)
    padded = embedder.model.encode(texts)

    assert (found == alone).all()
    assert (found == backwards).all()
    assert found == pytest.approx(padded, abs=1e-5)


def test_threads_that_torch_met_meanwhile_take_it_no_threads() -> None:
    """One whose first use of torch comes while another embeds has one till then."""
    import torch

    embedder = load_embedder(DEFAULT_EMBEDDER)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    inside = embedder.model.register_forward_hook(
        lambda *_: met.append(other.submit(torch.get_num_threads).result())
    )
    met: list[int] = []
    try:
        with ThreadPoolExecutor(1) as other:
            embedder.embed_query("What moves the sea?")
            inside.remove()
            other.submit(embedder.embed_query, "The Moon.").result()
            after = other.submit(torch.get_num_threads).result()
        torch.set_num_threads(1)
        embedder.embed_query("The Moon.")
        alone = torch.get_num_threads()
    finally:
        torch.set_num_threads(before)

    assert (met, after, alone) == ([1], 2, 1)


def test_loading_a_model_is_told_once_on_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It takes long; the line is there without a terminal too, and not on stdout."""
    knowtrail.main(["doctor", "--help"], standalone_mode=False)
    capsys.readouterr()

    with pytest.raises(ModelError):
        _ = SentenceTransformerEmbedder(str(tmp_path)).model

    written = capsys.readouterr()
    assert (written.out, written.err) == (
        "",
        f"Loading embedding model {tmp_path} ...\n",
    )

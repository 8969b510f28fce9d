"""What holds for every reranker, whoever wrote it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from knowtrail.graph.errors import InputError, ModelError
from knowtrail.graph.settings import Settings
from knowtrail.retrieval.rerank import (
    BaseReranker,
    LocalReranker,
    achecked_scores,
    checked_scores,
    load_reranker,
)
from knowtrail.retrieval.rerank.bm25 import Bm25Reranker
from knowtrail.retrieval.rerank.embedding import EmbeddingReranker

if TYPE_CHECKING:
    from collections.abc import Sequence


class Fixed(LocalReranker):
    """Gives the same numbers whatever is asked."""

    name = "fixed"

    def __init__(self, *scores: float) -> None:
        self.scores = list(scores)
        self.asked = 0

    def score_sync(self, query: str, documents: Sequence[str]) -> list[float]:
        self.asked += 1
        return self.scores


class OnlyAsync(BaseReranker):
    """Has no synchronous way of its own."""

    async def score(self, query: str, documents: Sequence[str]) -> list[float]:
        await asyncio.sleep(0)
        return [float(len(text)) for text in documents]


def test_no_documents_are_not_sent_to_a_model() -> None:
    """Nothing to score is no reason to load a model."""
    reranker = Fixed()

    scores = checked_scores(reranker, "q", [])

    assert (scores, reranker.asked) == ([], 0)


async def test_no_documents_are_not_sent_to_a_model_asynchronously() -> None:
    """The same holds without blocking."""
    reranker = Fixed()

    scores = await achecked_scores(reranker, "q", [])

    assert (scores, reranker.asked) == ([], 0)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_not_finite_is_refused(bad: float) -> None:
    """A broken model is found out where it scores, with the document's place."""
    with pytest.raises(ModelError, match=r"fixed gave (nan|inf|-inf) for document 1"):
        checked_scores(Fixed(0.5, bad), "q", ["a", "b"])


@pytest.mark.parametrize("scores", [(1.0,), (1.0, 2.0, 3.0)])
async def test_too_few_or_too_many_scores_are_refused(
    scores: tuple[float, ...],
) -> None:
    """A score that is missing would give a document that of another."""
    with pytest.raises(ModelError, match=rf"gave {len(scores)} scores for 2 documents"):
        await achecked_scores(Fixed(*scores), "q", ["a", "b"])


async def test_half_characters_are_replaced() -> None:
    """JSON can bring them, and no tokenizer takes them."""
    seen: list[str] = []

    class Listening(LocalReranker):
        def score_sync(self, query: str, documents: Sequence[str]) -> list[float]:
            seen.extend([query, *documents])
            return [0.0] * len(documents)

    checked_scores(Listening(), "q\ud800", ["a\udfffb", "ok"])
    await achecked_scores(Listening(), "q", ["\ud83d"])

    assert seen == ["q\ufffd", "a\ufffdb", "ok", "q", "\ufffd"]


@pytest.mark.parametrize("documents", ["one text", ["a", None], [b"a"]])
def test_what_is_no_list_of_texts_is_refused(documents: object) -> None:
    """One text given for a list would be scored letter by letter."""
    with pytest.raises(InputError, match="give a"):
        checked_scores(Fixed(1.0), "q", documents)  # type: ignore[arg-type]


async def test_an_asynchronous_reranker_scores_synchronously_in_a_running_loop() -> (
    None
):
    """Synchronous callers may themselves be called from a loop, as in a notebook."""
    scores = checked_scores(OnlyAsync(), "q", ["a", "bb"])

    assert scores == [1.0, 2.0]


def test_a_reranker_without_a_name_is_called_by_its_class() -> None:
    """Messages name something that a reader can find."""
    assert OnlyAsync().fingerprint == "OnlyAsync"


def test_rerankers_are_loaded_by_name() -> None:
    """A name gives a reranker; its model is not loaded for that."""
    loaded = [load_reranker(n, settings=Settings()) for n in ("bm25", "embedding")]

    assert [type(r) for r in loaded] == [Bm25Reranker, EmbeddingReranker]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("bm52", "did you mean 'bm25'"),
        ("", "There are bm25"),
        ("bm25:x", "write bm25."),
        ("cross-encoder", "write cross-encoder:MODEL"),
        ("cross-encoder: ", "write cross-encoder:MODEL"),
        ("pointwise:", "write pointwise:FILE"),
        ("x" * 500, "There are bm25"),
    ],
)
def test_a_name_that_is_none_is_refused(name: str, said: str) -> None:
    """The message says what to write, and is not as long as the name."""
    with pytest.raises(InputError, match=said) as raised:
        load_reranker(name)
    assert len(str(raised.value)) < 300

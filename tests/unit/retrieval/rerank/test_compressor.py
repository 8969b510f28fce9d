"""Rerankers as LangChain document compressors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ValidationError

from knowtrail.graph.errors import InputError
from knowtrail.retrieval.rerank import LocalReranker, load_reranker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.callbacks import CallbackManagerForRetrieverRun


class ByLength(LocalReranker):
    """The longer the better."""

    name = "length"

    def score_sync(self, query: str, documents: Sequence[str]) -> list[float]:
        return [float(len(text)) for text in documents]


class Shelf(BaseRetriever):
    """Finds the same Documents whatever is asked."""

    documents: list[Document]

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return self.documents


def _documents() -> list[Document]:
    return [
        Document(id="c", page_content="two", metadata={"score": 0.1}),
        Document(id=None, page_content="six"),
        Document(id="a", page_content="one"),
        Document(id="b", page_content="three"),
    ]


def test_documents_come_best_first_and_ties_by_id() -> None:
    """Equal numbers go by id, Documents without one last."""
    found = ByLength().as_compressor().compress_documents(_documents(), "q")

    assert [d.page_content for d in found] == ["three", "one", "two", "six"]


def test_too_many_documents_are_refused() -> None:
    """The limit of a search's candidates holds here too."""
    many = [Document(page_content="x")] * 1_001

    with pytest.raises(InputError, match="1001 documents: give at most 1000"):
        ByLength().as_compressor().compress_documents(many, "q")


async def test_the_asynchronous_way_gives_the_same() -> None:
    """Both twins share their order."""
    compressor = ByLength().as_compressor(top_n=3)

    found = await compressor.acompress_documents(_documents(), "q")

    assert found == compressor.compress_documents(_documents(), "q")


def test_the_score_is_told_in_a_copy() -> None:
    """What was found stays as it was; what was known of it is kept."""
    documents = _documents()

    found = ByLength().as_compressor(top_n=3).compress_documents(documents, "q")

    assert found[2].metadata == {"score": 0.1, "relevance_score": 3.0}
    assert documents[0].metadata == {"score": 0.1}
    assert found[2].id == "c"


@pytest.mark.parametrize(("top_n", "expected"), [(1, 1), (4, 4), (9, 4), (None, 4)])
def test_top_n_is_the_most_that_comes_out(top_n: int | None, expected: int) -> None:
    """Fewer are found where there are fewer."""
    compressor = ByLength().as_compressor(top_n=top_n)

    assert len(compressor.compress_documents(_documents(), "q")) == expected


def test_a_top_n_of_nothing_is_refused() -> None:
    """No Documents is no ranking."""
    with pytest.raises(ValidationError, match="top_n"):
        ByLength().as_compressor(top_n=0)


def test_no_documents_give_none() -> None:
    """Nothing found is no error."""
    assert ByLength().as_compressor().compress_documents([], "q") == []


async def test_langchains_compression_retriever_takes_it() -> None:
    """The slot for rerankers in LangChain, both ways."""
    from langchain_classic.retrievers import ContextualCompressionRetriever

    retriever = ContextualCompressionRetriever(
        base_compressor=load_reranker("bm25").as_compressor(top_n=1),
        base_retriever=Shelf(documents=_documents()),
    )

    found = retriever.invoke("three")

    assert [d.id for d in found] == ["b"]
    assert found[0].metadata["relevance_score"] > 0
    assert await retriever.ainvoke("three") == found

"""Searches on a real server whose results a reranker puts in order."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from langchain_tests.integration_tests import RetrieversIntegrationTests

from knowtrail.graph.cli.root import main
from knowtrail.graph.db.connection import AsyncConnection
from knowtrail.graph.errors import InputError
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.retrieval import KnowtrailRetriever
from knowtrail.retrieval.procedures import acall, call
from knowtrail.retrieval.rerank import LocalReranker
from knowtrail.retrieval.search import asearch, search
from tests.corpora import ListSource, article

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.retrievers import BaseRetriever

    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.settings import Settings

pytestmark = pytest.mark.integration

QUESTION = "Which fjord and harbour shape the glacier?"
EMBEDDER = HashEmbedder(32)


class Shortest(LocalReranker):
    """The shorter the better."""

    name = "shortest"

    def score_sync(self, query: str, documents: Sequence[str]) -> list[float]:
        return [-float(len(text)) for text in documents]


@pytest.fixture(scope="module")
def stored(emptied: Connection, server: Settings) -> Connection:
    """Return a database with a corpus of made-up articles."""
    ingest_corpus(
        emptied,
        [ListSource(article(number) for number in range(20))],
        corpus="parts",
        embedder=EMBEDDER,
        settings=server,
        options=IngestOptions(themes="none"),
    )
    return emptied


@pytest.mark.thorough
class TestStandardWithReranker(RetrieversIntegrationTests):
    """LangChain's own tests, unmodified, of a retriever that reranks."""

    @pytest.fixture(autouse=True)
    def _database(self, stored: Connection) -> None:
        """Keep the database for the properties."""
        self.driver = stored.driver

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        """Return the class under test."""
        return KnowtrailRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        """Return what it is made with."""
        return {
            "driver": self.driver,
            "embedder": EMBEDDER,
            "corpus": "parts",
            "rerank": "bm25",
        }

    @property
    def retriever_query_example(self) -> str:
        """Return a question."""
        return QUESTION


def _ids(connection: Connection, **options: Any) -> list[str]:
    """Return the chunks that a search finds, in their order."""
    found = search(connection, QUESTION, embedder=EMBEDDER, corpus="parts", **options)
    return [hit.chunk.id for hit in found.hits]


def test_the_reranker_says_the_order(stored: Connection) -> None:
    """Of all candidates the best are taken, by its numbers."""
    found = search(
        stored, QUESTION, embedder=EMBEDDER, corpus="parts", k=5, rerank=Shortest()
    )

    scores = [hit.rerank_score or 0 for hit in found.hits]
    assert scores == sorted(scores, reverse=True)
    assert scores == [-len(hit.chunk.text) for hit in found.hits]
    assert found.reranked is not None
    assert found.reranked.candidates == 50


def test_a_search_without_a_reranker_is_as_it_was(stored: Connection) -> None:
    """The stage changes nothing unless it is asked for."""
    found = search(stored, QUESTION, embedder=EMBEDDER, corpus="parts", k=5)

    assert found.reranked is None
    assert [hit.rerank_score for hit in found.hits] == [None] * 5
    assert "rerank" not in found.walk.parameters


async def test_both_ways_find_the_same(stored: Connection, server: Settings) -> None:
    """Synchronously and without blocking."""
    async with await AsyncConnection.open(server) as connection:
        found = await asearch(
            connection, QUESTION, embedder=EMBEDDER, corpus="parts", k=4, rerank="bm25"
        )

    assert [hit.chunk.id for hit in found.hits] == _ids(stored, k=4, rerank="bm25")


def test_embedding_orders_by_the_cosine(stored: Connection) -> None:
    """A walk goes where edges lead; its results are then sorted."""
    found = search(
        stored, QUESTION, embedder=EMBEDDER, corpus="parts", k=9, rerank="embedding"
    )

    scores = [hit.score for hit in found.hits]
    assert scores == sorted(scores, reverse=True)


def test_more_candidates_can_find_a_better_one(stored: Connection) -> None:
    """The best of fifty is not worse than the best of two."""
    few, many = (
        search(
            stored,
            QUESTION,
            embedder=EMBEDDER,
            corpus="parts",
            k=1,
            rerank=Shortest(),
            rerank_candidates=candidates,
        ).hits[0]
        for candidates in (2, 50)
    )

    assert (many.rerank_score or 0) >= (few.rerank_score or 0)
    assert len(many.chunk.text) <= len(few.chunk.text)


def test_documents_tell_both_numbers(stored: Connection) -> None:
    """And a call can ask for another reranker than the retriever's."""
    retriever = KnowtrailRetriever(
        connection=stored, embedder=EMBEDDER, corpus="parts", rerank="bm25"
    )

    (first,) = retriever.invoke(QUESTION, k=1)
    (other,) = retriever.invoke(QUESTION, k=1, rerank=Shortest())

    assert first.metadata["relevance_score"] > 0 > other.metadata["relevance_score"]
    assert -1 <= first.metadata["score"] <= 1


async def test_procedures_rerank(stored: Connection, server: Settings) -> None:
    """Rows come in the reranker's order, in both ways."""
    options = {"corpus": "parts", "k": 4, "rerank": "bm25", "rerankCandidates": 30}
    given: Any = {"arguments": {"question": QUESTION}, "options": options}

    rows = call("search", stored, **given, embedder=EMBEDDER)
    async with await AsyncConnection.open(server) as connection:
        same = await acall("search", connection, **given, embedder=EMBEDDER)

    assert [row["chunkId"] for row in rows] == _ids(
        stored, k=4, rerank="bm25", rerank_candidates=30
    )
    assert rows == same


def test_procedures_read_no_files(stored: Connection) -> None:
    """A caller cannot make the server open what he likes."""
    with pytest.raises(InputError, match="use one of bm25, embedding"):
        call(
            "search",
            stored,
            {"question": QUESTION},
            {"rerank": "pointwise:/etc/passwd"},
            embedder=EMBEDDER,
        )


def test_the_command_reranks(
    stored: Connection,
    server: Settings,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Results as JSON, with the number before and after."""
    monkeypatch.setenv("NEO4J_PASSWORD", server.password or "")
    words = ["--uri", str(server.uri), "--embedder", "hash:32", "search", QUESTION]

    with pytest.raises(SystemExit) as ended:
        main([*words, "--corpus=parts", "--rerank=bm25", "--k=3", "--json"])

    data = json.loads(capsys.readouterr().out)
    assert ended.value.code == 0
    assert [r["chunkId"] for r in data["results"]] == _ids(stored, k=3, rerank="bm25")
    assert all(r["rerankScore"] is not None for r in data["results"])
    assert data["parameters"]["rerank"] == "bm25"

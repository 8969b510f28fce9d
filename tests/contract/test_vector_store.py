"""The LangChain vector store: its standard tests, and what they do not ask."""

from __future__ import annotations

import pickle
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.documents import Document
from langchain_core.indexing import InMemoryRecordManager, index
from langchain_tests.integration_tests.vectorstores import VectorStoreIntegrationTests

from knowtrail.graph.db.schema import delete_data
from knowtrail.graph.errors import InputError, SettingsError
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.retrieval import KnowtrailRetriever, KnowtrailVectorStore
from tests.databases import allow_vectors

if TYPE_CHECKING:
    from langchain_core.vectorstores import VectorStore

    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.settings import Settings
    from tests.databases import Database

pytestmark = [pytest.mark.integration, pytest.mark.forgets]

LINES = (
    "Tides rise twice a day in the harbour.",
    "Tides fall twice a day in the harbour.",
    "Looms weave wool into cloth.",
    "Lenses bend light toward a focus.",
)


@pytest.mark.thorough
class TestStandard(VectorStoreIntegrationTests):
    """LangChain's own tests, unmodified; none is expected to fail."""

    @pytest.fixture
    def vectorstore(
        self, session_connection: Connection, server: Settings
    ) -> VectorStore:
        """Return a store whose corpus is not there."""
        embedder = self.get_embeddings()
        delete_data(session_connection)
        allow_vectors(session_connection, len(embedder.embed_query("length")))
        return KnowtrailVectorStore(
            corpus="standard",
            embedder=embedder,
            connection=session_connection,
            settings=server,
        )


@pytest.fixture(scope="module")
def store(
    database: Database, session_connection: Connection, server: Settings
) -> KnowtrailVectorStore:
    """Return a store of four documents, each with a year."""
    database.holding("nothing", lambda: None)
    return KnowtrailVectorStore.from_texts(
        list(LINES),
        HashEmbedder(32),
        [{"year": 1900 + n, "title": f"Page {n}", "language": "en"} for n in range(4)],
        ids=[f"d{n}" for n in range(4)],
        corpus="lines",
        connection=session_connection,
        settings=server,
    )


def test_scores_are_cosines(store: KnowtrailVectorStore) -> None:
    """The text itself has cosine 1, relevance 1; the rest come in falling order."""
    found = store.similarity_search_with_score(LINES[2], k=4)
    relevant = store.similarity_search_with_relevance_scores(LINES[2], k=4)

    scores = [score for _, score in found]
    assert found[0][0].id == "d2"
    assert scores[0] == pytest.approx(1)
    assert scores == sorted(scores, reverse=True)
    assert [r for _, r in relevant] == pytest.approx([(1 + s) / 2 for s in scores])


def test_a_vector_finds_what_its_text_finds(store: KnowtrailVectorStore) -> None:
    """Searching by the vector of a question is searching by the question."""
    vector = HashEmbedder(32).embed_query("tides in a harbour")

    assert store.similarity_search_by_vector(vector, k=2) == store.similarity_search(
        "tides in a harbour", k=2
    )


def test_a_filter_holds(store: KnowtrailVectorStore) -> None:
    """Metadata can be asked for, by every search and by the retriever made of it."""
    given = {"document.year": {"$gte": 1902}}

    found = store.similarity_search(LINES[0], k=4, filter=given)
    retriever = store.as_retriever(search_kwargs={"k": 4, "filter": given})

    assert {d.id for d in found} == {"d2", "d3"}
    assert retriever.invoke(LINES[0]) == found


def test_mmr_passes_over_what_is_said_already(store: KnowtrailVectorStore) -> None:
    """Two near copies come first by nearness; by MMR the second is another text."""
    near = store.similarity_search(LINES[0], k=2)
    diverse = store.max_marginal_relevance_search(LINES[0], k=2, lambda_mult=0.3)

    assert [d.id for d in near] == ["d0", "d1"]
    assert diverse[0].id == "d0"
    assert diverse[1].id in {"d2", "d3"}


def test_the_corpus_can_be_walked(
    store: KnowtrailVectorStore, session_connection: Connection
) -> None:
    """A retriever of the same corpus finds the same documents as chunks."""
    retriever = KnowtrailRetriever(
        connection=session_connection, embedder=HashEmbedder(32), corpus="lines"
    )

    found = retriever.invoke(LINES[3], k=1)

    assert [d.page_content for d in found] == [LINES[3]]
    assert found[0].metadata["source_id"] == "d3"


def test_metadata_comes_back(store: KnowtrailVectorStore) -> None:
    """What was given is given back, and an unknown id is passed over."""
    assert store.get_by_ids(["d1", "none"]) == [
        Document(
            id="d1",
            page_content=LINES[1],
            metadata={"year": 1901, "language": "en", "title": "Page 1"},
        )
    ]


def test_a_copy_by_pickle_connects_by_its_settings_alone(
    connection: Connection, server: Settings
) -> None:
    """One that was given a connection says what to give it instead."""
    made: dict[str, Any] = {"corpus": "pickled", "embedder": HashEmbedder(32)}
    store = KnowtrailVectorStore(settings=server, **made)
    copy = pickle.loads(pickle.dumps(store))  # noqa: S301
    with closing(store), closing(copy):
        assert copy.get_by_ids(["a"]) == []
    store = KnowtrailVectorStore(connection=connection, **made)
    copy = pickle.loads(pickle.dumps(store))  # noqa: S301
    with pytest.raises(SettingsError, match=r"cannot be pickled: give it settings="):
        copy.get_by_ids(["a"])


def test_langchains_index_adds_to_it(store: KnowtrailVectorStore) -> None:
    """Its first call stores the documents, and the next one finds them there."""
    records = InMemoryRecordManager(namespace="made")
    records.create_schema()
    given = [Document(page_content="Coral reefs are made by polyps.")]

    first, again = (
        index(given, records, store, key_encoder="sha256") for _ in range(2)
    )

    assert (first["num_added"], again["num_skipped"]) == (1, 1)
    (found,) = store.similarity_search("reefs", k=1)
    assert found.page_content == given[0].page_content


def test_mistakes_are_told(store: KnowtrailVectorStore) -> None:
    """What is no good is refused before anything is written or searched."""
    with pytest.raises(InputError, match="2 texts, 1 metadatas"):
        store.add_texts(["a", "b"], [{}])
    with pytest.raises(InputError, match="'namespace'"):
        store.add_texts(["a"], namespace="x")
    with pytest.raises(InputError, match="k is 0"):
        store.similarity_search("a", k=0)
    with pytest.raises(InputError, match="k is 10"):
        store.similarity_search("a", k=10**9)

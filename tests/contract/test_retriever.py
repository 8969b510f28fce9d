"""The LangChain retriever on ingested corpora, and other people's on the same graph."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import re
import socket
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import neo4j
import numpy as np
import pytest
from click.testing import CliRunner
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.runnables import ConfigurableField
from langchain_tests.integration_tests import RetrieversIntegrationTests
from pydantic import ValidationError

from knowtrail.graph.db.connection import AsyncConnection, Connection
from knowtrail.graph.db.schema import apply_schema
from knowtrail.graph.db.statements import statement
from knowtrail.graph.errors import (
    CorpusDriftError,
    CredentialsError,
    DatabaseError,
    FilterError,
    InputError,
    SettingsError,
    UnavailableError,
    UnknownAlgorithmError,
    UnknownCorpusError,
)
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.graph.settings import DEFAULT_EMBEDDER
from knowtrail.ingest.bundled import articles
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.ingest.records import RawDocument
from knowtrail.retrieval import KnowtrailRetriever
from knowtrail.retrieval.algorithms import DETERMINISTIC, ORDERED
from knowtrail.retrieval.cli.traverse import search as command
from knowtrail.retrieval.picture import considered_chunks
from knowtrail.retrieval.search import asearch, search
from tests.corpora import ListSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    from knowtrail.graph.settings import Settings
    from tests.databases import Database

pytestmark = pytest.mark.integration

QUESTION = "How did the marine chronometer find longitude at sea?"
EMBEDDER = HashEmbedder(32)
METADATA = {
    "source": str,
    "title": str,
    "source_id": str,
    "doc_id": str,
    "chunk_id": str,
    "sentence_start": int,
    "sentence_end": int,
    "start_index": int,
    "end_index": int,
    "score": float,
    "hop": int,
    "path": list,
    "algorithm": str,
    "corpus": str,
    "filled": bool,
}


@pytest.fixture(scope="module")
def stored(
    database: Database, session_connection: Connection, server: Settings
) -> Connection:
    """Return a database with the bundled corpus and, beside it, a small one."""
    bundled = [
        RawDocument(
            source_id=str(a["id"]),
            title=str(a["title"]),
            raw=str(a["text"]),
            url=f"https://example.org/{a['id']}",
            categories=tuple(a["categories"]),  # type: ignore[arg-type]
        )
        for a in articles()
    ]
    small = RawDocument(
        source_id="s",
        title="Sea clocks",
        raw="The marine chronometer found longitude at sea. So did the Moon. Who knew?",
        language="bg",
        source="small.txt",
        metadata={"year": 1761, "tags": ["sea", "clock"], "source": "mine", "score": 1},
    )
    options = IngestOptions(themes="none")

    def fill() -> None:
        for name, documents in (("voyage", bundled), ("small", [small])):
            ingest_corpus(
                session_connection,
                [ListSource(documents)],
                corpus=name,
                embedder=EMBEDDER,
                settings=server,
                options=options,
            )

    return database.holding("a voyage, and sea clocks", fill, small=True)


@pytest.fixture
def retriever(stored: Connection) -> KnowtrailRetriever:
    """Return a retriever of the bundled corpus."""
    return KnowtrailRetriever(connection=stored, embedder=EMBEDDER, corpus="voyage")


class TestStandardWithDriver(RetrieversIntegrationTests):
    """LangChain's own tests, unmodified, with a synchronous driver."""

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
        return {"driver": self.driver, "embedder": EMBEDDER, "corpus": "voyage"}

    @property
    def retriever_query_example(self) -> str:
        """Return a question."""
        return QUESTION


@pytest.mark.thorough
class TestStandardWithUri(RetrieversIntegrationTests):
    """The same with connections of its own, synchronous and asynchronous."""

    @pytest.fixture(autouse=True)
    async def _database(self, stored: Connection, server: Settings) -> Any:
        """Open a retriever whose link the properties hand on; close it after."""
        own = _from_uri(server)
        self.link = own.link
        yield
        await own.aclose()

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        """Return the class under test."""
        return KnowtrailRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        """Return what it is made with."""
        return {"link": self.link, "embedder": EMBEDDER, "corpus": "voyage"}

    @property
    def retriever_query_example(self) -> str:
        """Return a question."""
        return QUESTION


def _from_uri(server: Settings, **fields: Any) -> KnowtrailRetriever:
    """Return a retriever that connects by itself."""
    assert server.uri is not None
    return KnowtrailRetriever.from_uri(
        server.uri,
        username=server.username,
        password=fields.pop("password", server.password),
        embedder=EMBEDDER,
        corpus="voyage",
        **fields,
    )


def test_documents_carry_what_is_documented(retriever: KnowtrailRetriever) -> None:
    """Ids and metadata are those of the chunk, of JSON types, without the vector."""
    documents = retriever.invoke(QUESTION)

    assert documents
    for document in documents:
        assert {k: type(v) for k, v in document.metadata.items()} == METADATA
        assert document.id == document.metadata["chunk_id"]
        assert document.metadata["path"][-1] == document.id
        assert json.loads(json.dumps(document.metadata)) == document.metadata


@pytest.mark.parametrize("granularity", ["chunk", "sentence"])
def test_offsets_point_into_the_stored_text(
    retriever: KnowtrailRetriever, stored: Connection, granularity: str
) -> None:
    """The document's text between the offsets is the content."""
    documents = retriever.invoke(QUESTION, None, granularity=granularity, k=8)

    texts = {
        row["id"]: row["text"]
        for row in stored.query("MATCH (d:Document) RETURN d.id AS id, d.text AS text")
    }
    pieces = [
        texts[d.metadata["doc_id"]][d.metadata["start_index"] : d.metadata["end_index"]]
        for d in documents
    ]
    assert pieces == [d.page_content for d in documents]


def test_what_a_source_said_comes_back(retriever: KnowtrailRetriever) -> None:
    """Its id and metadata under their names, or marked where the name is taken."""
    found = retriever.invoke(QUESTION, None, corpus="small")

    metadata = found[0].metadata
    wanted = {"source_id": "s", "year": 1761, "tags": ["sea", "clock"]}
    assert metadata.items() >= (wanted | {"source": "mine", "meta_score": 1}).items()


def test_a_sentence_can_be_a_document(retriever: KnowtrailRetriever) -> None:
    """With that granularity the walk's sentences come one by one, in order."""
    sentences = retriever.invoke(QUESTION, None, granularity="sentence")

    chunks = retriever.invoke(QUESTION)
    words = [" ".join(d.page_content for d in ds).split() for ds in (sentences, chunks)]
    assert words[0] == words[1]
    assert len({d.id for d in sentences}) == len(sentences)


def test_a_walk_is_filled_up_to_k(retriever: KnowtrailRetriever) -> None:
    """Documents after the walk's end say so, and no sentence comes twice."""
    walk = {"algorithm": "query_traversal", "k": 25}
    documents = retriever.invoke(QUESTION, None, **walk, max_hops=2)

    filled = [d.metadata["filled"] for d in documents]
    assert len(documents) == 25
    assert filled == sorted(filled)
    assert [d.metadata["hop"] is None for d in documents] == filled
    assert filled.count(False) <= 3
    spans = [
        (d.metadata["doc_id"], i)
        for d in retriever.invoke(QUESTION, None, **walk, granularity="sentence")
        for i in (d.metadata["sentence_start"],)
    ]
    assert len(set(spans)) == 25


def test_without_k_the_walk_is_returned_as_it_is(
    retriever: KnowtrailRetriever,
) -> None:
    """The sentence budget holds and nothing is filled up."""
    documents = retriever.invoke(QUESTION, None, max_sentences=4)

    assert not any(d.metadata["filled"] for d in documents)
    found = search(
        retriever.connection,
        QUESTION,
        embedder=EMBEDDER,
        corpus="voyage",
        max_sentences=4,
    )
    assert len(found.walk.sentences) <= 4
    assert [d.page_content for d in documents] == [h.text for h in found.hits]


async def test_asynchronous_calls_give_the_same(
    retriever: KnowtrailRetriever, server: Settings
) -> None:
    """A native asynchronous driver, and a thread where there is none, agree."""
    async with await AsyncConnection.open(server) as connection:
        native = KnowtrailRetriever(
            async_connection=connection, embedder=EMBEDDER, corpus="voyage"
        )
        answers = [
            await native.ainvoke(QUESTION, None, k=5),
            await retriever.ainvoke(QUESTION, None, k=5),
            (await native.abatch([QUESTION, QUESTION]))[1],
        ]
        with pytest.raises(SettingsError, match="only an asynchronous driver"):
            native.invoke(QUESTION)

    assert answers[0] == answers[1] == retriever.invoke(QUESTION, None, k=5)
    assert answers[2] == retriever.invoke(QUESTION)


@pytest.mark.parametrize("algorithm", DETERMINISTIC)
async def test_asearch_is_search(
    stored: Connection, server: Settings, algorithm: str
) -> None:
    """Both return the same hits."""
    async with await AsyncConnection.open(server) as connection:
        found = await asearch(
            connection,
            QUESTION,
            embedder=EMBEDDER,
            corpus="voyage",
            algorithm=algorithm,
        )

    same = search(
        stored, QUESTION, embedder=EMBEDDER, corpus="voyage", algorithm=algorithm
    )
    assert found.hits == same.hits


@pytest.mark.parametrize("algorithm", DETERMINISTIC)
def test_every_algorithm_is_there_by_name(
    retriever: KnowtrailRetriever, algorithm: str
) -> None:
    """Documents say which algorithm found them; k holds for all, and more anchors."""
    more = {} if algorithm in ORDERED else {"anchors": 2, "lookahead": 1, "beam": 2}

    documents = retriever.invoke(QUESTION, None, algorithm=algorithm, k=4, **more)

    assert [d.metadata["algorithm"] for d in documents] == [algorithm] * 4


def test_a_chat_model_guides_the_walk(retriever: KnowtrailRetriever) -> None:
    """Any chat model of LangChain's can be given; here it always takes the second."""
    chat = FakeListChatModel(responses=['{"choice": 2, "reasoning": "It fits."}'])
    guided = retriever.model_copy(update={"model": chat})
    algorithm = "llm_guided_traversal"

    documents = guided.invoke(QUESTION, None, algorithm=algorithm, max_hops=2)

    nearest = retriever.invoke(QUESTION, None, algorithm="query_traversal", max_hops=2)
    assert documents[0].metadata["hop"] == 0
    assert documents[0].id == nearest[0].id
    assert documents[-1].metadata["path"][1] != nearest[-1].metadata["path"][1]


async def test_the_published_rules_can_be_asked_for(
    retriever: KnowtrailRetriever,
) -> None:
    """With the preset, and in the database, the walk is that of the search."""
    asked: dict[str, Any] = {
        "algorithm": "query_traversal",
        "preset": "published",
        "reader": "cypher",
    }

    documents = await retriever.ainvoke(QUESTION, None, **asked)

    found = search(
        retriever.connection, QUESTION, embedder=EMBEDDER, corpus="voyage", **asked
    )
    assert [d.page_content for d in documents] == [hit.text for hit in found.hits]


def test_a_retriever_records_nothing(
    retriever: KnowtrailRetriever, stored: Connection
) -> None:
    """Walks of a retriever leave no Traversal."""
    retriever.invoke(QUESTION)

    assert stored.query("MATCH (t:Traversal) RETURN count(t) AS n") == [{"n": 0}]


def test_a_filter_holds_for_every_document(retriever: KnowtrailRetriever) -> None:
    """Anchor, hops and fill-up stay inside the filter."""
    titles = {"Sextant", "Marine chronometer"}
    filtered = retriever.model_copy(update={"filter": {"title": {"$in": [*titles]}}})

    documents = filtered.invoke(QUESTION, None, k=12)

    assert len(documents) == 12
    assert {d.metadata["title"] for d in documents} <= titles


def test_a_call_can_leave_fields_out(retriever: KnowtrailRetriever) -> None:
    """`None` wins over each field of the retriever that may be None."""
    plain = retriever.model_copy(update={"algorithm": "kg_traversal"})
    own: dict[str, Any] = {
        "filter": {"title": "Sextant"},
        "k": 12,
        "preset": "published",
        "rerank": "bm25",
    }

    documents = [
        plain.model_copy(update={name: value}).invoke(QUESTION, None, **{name: None})
        for name, value in own.items()
    ]

    assert documents == [plain.invoke(QUESTION)] * len(own)
    with pytest.raises(InputError, match=r"small.*voyage"):
        retriever.invoke(QUESTION, None, corpus=None)


def test_copies_connect_by_themselves(server: Settings, stored: Connection) -> None:
    """What was pickled or copied deeply answers as the original does, closed or not."""
    with _from_uri(server, k=2) as retriever:
        first = retriever.invoke(QUESTION)
        data = pickle.dumps(retriever)
        deep = copy.deepcopy(retriever)
    back = pickle.loads(data)  # noqa: S301 - our own

    with deep, back:
        assert deep.invoke(QUESTION) == back.invoke(QUESTION) == first
        assert server.password is not None
        assert server.password not in repr(back) + str(back.model_dump())


def test_a_deep_copy_shares_what_the_caller_gave(retriever: KnowtrailRetriever) -> None:
    """A connection of the caller's cannot be twice, nor be pickled."""
    deep = copy.deepcopy(retriever)

    assert deep.connection is retriever.connection
    assert deep.invoke(QUESTION) == retriever.invoke(QUESTION)
    with pytest.raises(SettingsError, match="cannot be pickled"):
        pickle.dumps(retriever)


def test_tracers_are_told_of_the_embedder(retriever: KnowtrailRetriever) -> None:
    """Of the one that is given, or that of the settings, which is not yet loaded."""
    own = KnowtrailRetriever.from_uri("bolt://127.0.0.1:1", password="unused-here")

    told = [r._get_ls_params() for r in (retriever, own)]

    assert [
        (t.get("ls_embedding_provider"), t.get("ls_embedding_model")) for t in told
    ] == [
        ("HashEmbedder", "hash:32"),
        ("sentence-transformers", DEFAULT_EMBEDDER),
    ]


def test_corpora_are_not_mixed(retriever: KnowtrailRetriever) -> None:
    """The small corpus has the nearest chunk, and each corpus only its own."""
    small = retriever.invoke(QUESTION, None, corpus="small", k=3)
    voyage = retriever.invoke(QUESTION, None, k=30)

    assert {d.metadata["title"] for d in small} == {"Sea clocks"}
    assert small[0].metadata["source"] == "mine"
    assert "Sea clocks" not in {d.metadata["title"] for d in voyage}


def test_fields_can_be_configured_at_run_time(retriever: KnowtrailRetriever) -> None:
    """LangChain's configurable fields make working copies."""
    configurable = retriever.configurable_fields(
        k=ConfigurableField(id="k"), algorithm=ConfigurableField(id="algorithm")
    )

    documents: list[Document] = configurable.invoke(
        QUESTION, {"configurable": {"k": 2, "algorithm": "basic_retrieval"}}
    )

    assert [d.metadata["algorithm"] for d in documents] == ["basic_retrieval"] * 2


def test_a_given_driver_stays_open(server: Settings, stored: Connection) -> None:
    """Closing the retriever leaves the caller's driver usable."""
    assert server.uri is not None
    auth = (server.username, server.password or "")
    with neo4j.GraphDatabase.driver(server.uri, auth=auth) as driver:
        with KnowtrailRetriever(
            driver=driver, embedder=EMBEDDER, corpus="voyage"
        ) as retriever:
            assert retriever.invoke(QUESTION)
        driver.verify_connectivity()


async def test_a_retriever_connects_by_itself(
    server: Settings, stored: Connection
) -> None:
    """`from_uri` serves both kinds of call, again after closing, and says no secret."""
    async with _from_uri(server, k=2) as retriever:
        first = retriever.invoke(QUESTION)
        second = await retriever.ainvoke(QUESTION)
        retriever.close()
        third = retriever.invoke(QUESTION)

        assert first == second == third
        assert server.password is not None
        assert server.password not in repr(retriever) + str(retriever.model_dump())


@contextmanager
def _passage(uri: str) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield an address that leads to a server, and what makes it go away."""
    target = urlsplit(uri)
    listening = socket.create_server(("127.0.0.1", 0))
    opened = [listening]

    def pass_on(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                sink.sendall(data)

    def accept() -> None:
        with suppress(OSError):
            while True:
                near = listening.accept()[0]
                far = socket.create_connection((target.hostname, target.port))
                opened.extend((near, far))
                for ends in ((near, far), (far, near)):
                    threading.Thread(target=pass_on, args=ends, daemon=True).start()

    def go() -> None:
        for one in opened:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    threading.Thread(target=accept, daemon=True).start()
    yield f"bolt://127.0.0.1:{listening.getsockname()[1]}", go
    go()


async def test_a_server_that_went_away_is_told_in_seconds(
    server: Settings, stored: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither kind of call tries again for long where this machine refuses."""
    with _passage(server.uri or "") as (uri, go):
        async with _from_uri(replace(server, uri=uri), k=2) as retriever:
            assert retriever.invoke(QUESTION) == await retriever.ainvoke(QUESTION)
            go()
            begin = time.monotonic()
            with pytest.raises(UnavailableError, match="does not answer"):
                retriever.invoke(QUESTION)
            with pytest.raises(UnavailableError, match="does not answer"):
                await retriever.ainvoke(QUESTION)

    assert time.monotonic() - begin < 10


async def test_calls_at_once_share_one_connection(
    server: Settings, stored: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of connections that tasks open at the same time one is kept, the rest closed."""
    closed = []
    plain = AsyncConnection.aclose

    async def counted(connection: AsyncConnection) -> None:
        closed.append(connection)
        await plain(connection)

    monkeypatch.setattr(AsyncConnection, "aclose", counted)
    async with _from_uri(server, k=1) as retriever:
        answers = await asyncio.gather(*(retriever.ainvoke(QUESTION) for _ in range(5)))
        assert len(closed) < 5

    assert [len(answer) for answer in answers] == [1] * 5
    assert len({id(connection) for connection in closed}) == len(closed) <= 5


def test_the_embedder_of_the_corpus_is_found_by_its_name(stored: Connection) -> None:
    """Without an embedder, the one that the corpus names is loaded."""
    retriever = KnowtrailRetriever(connection=stored, corpus="voyage")
    stored.driver.execute_query(
        "MATCH (k:Corpus {name: 'voyage'}) SET k.embedder = 'hash:32'",
        database_=stored.database,
    )
    try:
        documents = retriever.invoke(QUESTION)
    finally:
        stored.driver.execute_query(
            "MATCH (k:Corpus {name: 'voyage'}) SET k.embedder = $name",
            name=EMBEDDER.name,
            database_=stored.database,
        )

    assert documents


@pytest.mark.parametrize("as_json", [True, False])
def test_the_command_answers(
    stored: Connection, server: Settings, as_json: bool
) -> None:
    """`knowtrail search` prints what `search` returns, as a table or as JSON."""
    found = search(
        stored, QUESTION, embedder=EMBEDDER, corpus="voyage", max_sentences=4
    )
    settings = replace(server, embedder="hash:32", corpus="voyage")
    arguments = [QUESTION, "--max-sentences", "4", *(["--json"] if as_json else [])]

    ran = CliRunner().invoke(command, arguments, obj=settings, catch_exceptions=False)

    wanted = [hit.chunk.id if as_json else hit.chunk.title for hit in found.hits]
    assert ran.exit_code == 0
    assert [w in ran.stdout for w in wanted] == [True] * len(wanted)
    assert not as_json or json.loads(ran.stdout)["stopReason"] == found.walk.stop_reason


def test_a_picture_has_the_considered_chunks(stored: Connection) -> None:
    """Texts of all chunks that the walk could have gone to are fetched."""
    walk = search(
        stored,
        QUESTION,
        embedder=EMBEDDER,
        corpus="voyage",
        algorithm="query_traversal",
    ).walk

    chunks = considered_chunks(stored, walk)

    considered = {c.id for step in walk.steps for c in step.considered}
    assert set(chunks) == considered != set()
    assert all(chunk.text and chunk.title for chunk in chunks.values())


@pytest.mark.forgets
def test_an_index_without_the_corpus_is_read_all_the_same(
    stored: Connection,
) -> None:
    """An index that an older server made serves; a missing one is told."""
    found = search(stored, QUESTION, embedder=EMBEDDER, corpus="voyage")
    options = {
        "indexConfig": {
            "vector.dimensions": 32,
            "vector.similarity_function": "cosine",
        }
    }
    stored.run_schema("DROP INDEX chunk_embedding")
    try:
        with pytest.raises(DatabaseError, match="chunk_embedding"):
            search(stored, QUESTION, embedder=EMBEDDER, corpus="voyage")
        stored.run_schema(statement("schema/vector_chunk_lts"), options=options)
        stored.query("CALL db.awaitIndexes(60)")
        again = search(stored, QUESTION, embedder=EMBEDDER, corpus="voyage")
    finally:
        stored.run_schema("DROP INDEX chunk_embedding IF EXISTS")
        apply_schema(stored, dimensions=32)

    assert again.hits == found.hits


@pytest.mark.thorough
@pytest.mark.forgets
def test_a_question_while_the_index_is_being_built_waits_for_it(
    stored: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has the answer that it had before, or is told why there is none."""
    monkeypatch.setattr("knowtrail.graph.db.schema._SHORT_WAIT", 0.0)
    found = search(stored, QUESTION, embedder=EMBEDDER, corpus="voyage")
    vectors = np.random.default_rng(5).standard_normal((20_000, 32))
    rows = [{"id": f"other {n}", "vector": v} for n, v in enumerate(vectors.tolist())]
    asked = []
    stored.run_schema("DROP INDEX chunk_embedding")
    try:
        for start in range(0, len(rows), 10_000):
            stored.driver.execute_query(
                "UNWIND $rows AS row CREATE "
                "(:Chunk {id: row.id, corpus: 'other', embedding: row.vector})",
                rows=rows[start : start + 10_000],
                database_=stored.database,
            )
        apply_schema(stored, dimensions=32)
        while _is_being_built(stored):
            try:
                again = search(stored, QUESTION, embedder=EMBEDDER, corpus="voyage")
                asked.append(again.hits)
            except DatabaseError as error:
                asked.append(str(error))
    finally:
        stored.run_schema(
            "MATCH (c:Chunk {corpus: 'other'}) "
            "CALL (c) { DELETE c } IN TRANSACTIONS OF 10000 ROWS"
        )
        apply_schema(stored, dimensions=32)

    assert asked
    for one in asked:
        assert one == found.hits or "still being built" in one


def _is_being_built(connection: Connection) -> bool:
    """Return whether the vector index is not there yet."""
    (row,) = connection.query(
        "SHOW INDEXES YIELD name, state WHERE name = 'chunk_embedding' RETURN state"
    )
    return row["state"] == "POPULATING"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"algorithm": "query_travesal"}, UnknownAlgorithmError, "'query_traversal'"),
        ({"corpus": "voyages"}, UnknownCorpusError, "did you mean 'voyage'"),
        ({"k": 0}, InputError, "k is 0"),
        ({"max_sentences": 0}, InputError, "max_sentences is 0"),
        ({"granularity": "word"}, InputError, "'chunk' or 'sentence'"),
        ({"filter": {"titel": "x"}}, FilterError, "did you mean 'title'"),
        ({"top_k": 3}, InputError, "Unknown argument 'top_k'"),
        ({"rerank": "bm25", "k": 1_001}, InputError, "with rerank, give at most 1000"),
    ],
)
def test_mistakes_are_told(
    retriever: KnowtrailRetriever,
    arguments: dict[str, Any],
    error: type[Exception],
    message: str,
) -> None:
    """Each wrong argument gets its own error with what to do."""
    with pytest.raises(error, match=message):
        retriever.invoke(QUESTION, None, **arguments)


@pytest.mark.parametrize("question", ["", "  \n", "x" * 10_001])
def test_questions_have_bounds(retriever: KnowtrailRetriever, question: str) -> None:
    """An empty question and one too long are refused."""
    with pytest.raises(InputError, match="question"):
        retriever.invoke(question)


def test_a_corpus_must_be_named_where_there_are_two(stored: Connection) -> None:
    """The message lists them."""
    retriever = KnowtrailRetriever(connection=stored, embedder=EMBEDDER)

    with pytest.raises(InputError, match="name one of small, voyage"):
        retriever.invoke(QUESTION)


def test_another_embedder_is_refused(stored: Connection) -> None:
    """A corpus is asked with the model that it was embedded with."""
    other = KnowtrailRetriever(
        connection=stored, embedder=HashEmbedder(64), corpus="voyage"
    )

    with pytest.raises(CorpusDriftError, match=r"'hash:32'.*'hash:64'"):
        other.invoke(QUESTION)


def test_a_wrong_password_is_told(server: Settings, stored: Connection) -> None:
    """The retriever's own connection reports what was refused."""
    with pytest.raises(CredentialsError, match="refused"):
        _from_uri(server, password="not-the-password").invoke(QUESTION)


def test_a_misspelt_field_is_refused() -> None:
    """Nothing is walked by the default in silence."""
    with pytest.raises(ValueError, match=r"algoritm\n.*not permitted"):
        KnowtrailRetriever.from_uri("bolt://127.0.0.1:1", algoritm="kg_traversal")


def test_an_unknown_algorithm_is_refused_at_once() -> None:
    """Before the first call; the message has the names that there are."""
    with pytest.raises(
        ValueError, match=r"'foo'.*auto, basic_retrieval, hybrid, kg_traversal"
    ):
        KnowtrailRetriever.from_uri("bolt://127.0.0.1:1", algorithm="foo")


def test_a_retriever_needs_a_database() -> None:
    """Without a driver, Pydantic's error has a line that says what to give."""
    with pytest.raises(ValueError, match="from_uri"):
        KnowtrailRetriever(corpus="voyage")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
class TestOtherRetrievers:
    """Retrievers that other people wrote answer from the same graph."""

    def test_graphrag_vector_retriever(self, stored: Connection) -> None:
        """neo4j-graphrag's vector search finds our chunks."""
        from neo4j_graphrag.retrievers import VectorRetriever

        retriever = VectorRetriever(
            stored.driver,
            "chunk_embedding",
            embedder=EMBEDDER,  # type: ignore[arg-type]
            return_properties=["text", "id"],
            neo4j_database=stored.database,
        )

        found = retriever.search(query_text=QUESTION, top_k=3)

        assert len(found.items) == 3
        assert "chronometer" in found.items[0].content

    def test_graphrag_hybrid_retriever(self, stored: Connection) -> None:
        """neo4j-graphrag's hybrid search finds them by vector and full text."""
        from neo4j_graphrag.retrievers import HybridRetriever

        retriever = HybridRetriever(
            stored.driver,
            "chunk_embedding",
            "chunk_text",
            embedder=EMBEDDER,  # type: ignore[arg-type]
            return_properties=["text", "id"],
            neo4j_database=stored.database,
        )

        found = retriever.search(query_text="marine chronometer longitude", top_k=3)

        assert len(found.items) == 3

    def test_langchain_vector_store(self, stored: Connection, server: Settings) -> None:
        """langchain-neo4j's store opens our index and searches it."""
        from langchain_neo4j import Neo4jVector

        store = Neo4jVector.from_existing_index(
            EMBEDDER,
            index_name="chunk_embedding",
            url=server.uri,
            username=server.username,
            password=server.password,
            database=stored.database,
            node_label="Chunk",
            text_node_property="text",
            embedding_node_property="embedding",
        )

        found = store.similarity_search_with_score(QUESTION, k=3)
        store._driver.close()

        assert [score > 0.5 for _, score in found] == [True] * 3
        assert {d.metadata["corpus"] for d, _ in found} <= {"voyage", "small"}


async def test_it_is_a_tool_of_agents(retriever: KnowtrailRetriever) -> None:
    """Question and number are described; passages have ids, Documents go along."""
    tool = retriever.as_tool()
    call = {"name": tool.name, "args": {"question": QUESTION, "k": 2}, "id": "1"}
    said, again = (
        tool.invoke(call | {"type": "tool_call"}),
        await tool.ainvoke(call | {"type": "tool_call"}),
    )

    fields = tool.args_schema.model_json_schema()["properties"]  # type: ignore[union-attr]
    assert set(fields) == {"question", "k"}
    assert all(field["description"] for field in fields.values())
    assert tool.description
    found = retriever.invoke(QUESTION, k=2)
    assert [document.id for document in said.artifact] == [one.id for one in found]
    assert [json.loads(line) for line in said.content.splitlines()] == [
        {"title": one.metadata["title"], "id": one.id, "text": one.page_content}
        for one in found
    ]
    assert again.content == said.content
    assert len(retriever.as_tool().invoke({"question": QUESTION})) > len(said.content)
    for wrong in ({}, {"question": ""}, {"question": "why", "k": 0}):
        with pytest.raises(ValidationError):
            tool.invoke(wrong)
    assert retriever.as_tool(name="ask", description="Ask.").name == "ask"


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"k": 0}, "k is 0: give a whole number"),
        ({"max_hops": -1}, "max_hops is -1"),
        ({"beam": 11}, "beam is 11"),
        ({"filter": {"year": {"$around": 1}}}, "$around"),
    ],
)
def test_what_no_call_could_use_is_refused_at_once(
    fields: dict[str, Any], told: str
) -> None:
    """As the retriever is made, before a server is asked."""
    with pytest.raises(ValidationError, match=re.escape(told)):
        KnowtrailRetriever.from_uri("bolt://127.0.0.1:1", **fields)

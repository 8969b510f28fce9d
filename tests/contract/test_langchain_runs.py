"""What LangChain sees of a retriever and of `ask`: runs, batches, histories."""

from __future__ import annotations

import copy
import json
import os
import pickle
import threading
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, ClassVar

import cloudpickle
import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tracers import BaseTracer

from knowtrail.graph.db.connection import AsyncConnection, Connection
from knowtrail.graph.errors import InputError
from knowtrail.graph.models.embedding_models import HashEmbedder
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.ingest.records import RawDocument
from knowtrail.retrieval import KnowtrailAsk, KnowtrailRetriever
from knowtrail.retrieval.algorithms import BasicRetrieval
from knowtrail.retrieval.search import search
from knowtrail.retrieval.traverse import compare
from tests.contract.test_vector_store import LINES
from tests.corpora import ListSource

if TYPE_CHECKING:
    from langchain_core.tracers.schemas import Run

    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.protocols import Vector, Walking, WalkOptions
    from knowtrail.retrieval.walk import Trail
    from tests.databases import Database

pytestmark = pytest.mark.integration
EMBEDDER = HashEmbedder(32)


class Runs(BaseTracer):
    """Keeps the names of runs, each below the one that it is a child of."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, ...]] = []
        self.failed: list[str] = []

    def _persist_run(self, run: Run) -> None:
        """Keep a tree of runs."""
        self._keep(run, ())

    def _keep(self, run: Run, above: tuple[str, ...]) -> None:
        """Keep a run and its children."""
        self.found.append((*above, run.name))
        self.failed += [run.name] if run.error else []
        for child in run.child_runs:
            self._keep(child, (*above, run.name))


class Counting(HashEmbedder):
    """Counts how often it is asked for vectors of questions."""

    def __init__(self) -> None:
        super().__init__(32)
        self.asked: list[int] = []
        self.threads: set[str] = set()

    def embed_array(self, texts: Any, *args: Any, **kwargs: Any) -> Any:
        """Count a call."""
        self.asked.append(len(texts))
        self.threads.add(threading.current_thread().name.rpartition("_")[0])
        return super().embed_array(texts, *args, **kwargs)


@dataclass(frozen=True, kw_only=True)
class Mine:
    """An algorithm of one's own: the nearest chunks under another name."""

    name: ClassVar[str] = "mine"

    def walk(self, query: Vector, options: WalkOptions) -> Walking[Trail]:
        """Walk as the basic one does."""
        return (yield from BasicRetrieval().walk(query, options))


class Broken(Mine):
    """An algorithm that fails."""

    def walk(self, query: Vector, options: WalkOptions) -> Walking[Trail]:
        """Fail."""
        raise ValueError("broken on purpose")


@pytest.fixture(scope="module")
def stored(
    database: Database, session_connection: Connection, server: Settings
) -> Connection:
    """Return a database with a corpus of four lines."""

    def fill() -> None:
        documents = [
            RawDocument(source_id=str(n), title=f"Page {n}", raw=line)
            for n, line in enumerate(LINES)
        ]
        ingest_corpus(
            session_connection,
            [ListSource(documents)],
            corpus="lines",
            embedder=EMBEDDER,
            settings=server,
            options=IngestOptions(themes="none"),
        )

    return database.holding("four lines", fill, small=True)


@pytest.fixture
def retriever(stored: Connection) -> KnowtrailRetriever:
    """Return a retriever of the lines."""
    return KnowtrailRetriever(connection=stored, embedder=EMBEDDER, corpus="lines")


def test_embedding_and_walk_are_child_runs(retriever: KnowtrailRetriever) -> None:
    """A tracer sees both below the retriever's run."""
    runs = Runs()

    retriever.invoke(LINES[0], {"callbacks": [runs]})

    own = ("KnowtrailRetriever",)
    assert runs.found == [own, (*own, "knowtrail.embed"), (*own, "knowtrail.walk")]


async def test_child_runs_without_blocking(
    stored: Connection, server: Settings
) -> None:
    """The same over asynchronous connections."""
    assert server.uri is not None
    runs = Runs()
    retriever = KnowtrailRetriever.from_uri(
        server.uri, password=server.password, embedder=EMBEDDER, corpus="lines"
    )
    async with retriever:
        await retriever.ainvoke(LINES[0], {"callbacks": [runs]})

    assert [each[-1] for each in runs.found] == [
        "KnowtrailRetriever",
        "knowtrail.embed",
        "knowtrail.walk",
    ]


def test_a_reranker_is_a_child_run(retriever: KnowtrailRetriever) -> None:
    """It is seen after the walk that it puts in another order."""
    runs = Runs()

    retriever.invoke(LINES[0], {"callbacks": [runs]}, rerank="bm25")

    names = ["embed", "walk", "rerank"]
    assert runs.found[1:] == [
        ("KnowtrailRetriever", f"knowtrail.{name}") for name in names
    ]


def test_the_language_model_is_a_child_of_the_walk(
    retriever: KnowtrailRetriever,
) -> None:
    """What `llm_guided_traversal` asks is seen below its walk."""
    runs = Runs()
    model = FakeListChatModel(responses=['{"choice": "stop", "reasoning": "x"}'])
    guided = retriever.model_copy(
        update={"algorithm": "llm_guided_traversal", "model": model}
    )

    guided.invoke(LINES[0], {"callbacks": [runs]})

    walk = ("KnowtrailRetriever", "knowtrail.walk")
    assert (*walk, "knowtrail.model", "FakeListChatModel") in runs.found


def test_a_failed_walk_is_a_failed_run(retriever: KnowtrailRetriever) -> None:
    """An error inside ends the child run, too."""
    runs = Runs()
    broken = retriever.model_copy(update={"algorithm": Broken()})
    with pytest.raises(ValueError, match="broken on purpose"):
        broken.invoke(LINES[0], {"callbacks": [runs]})

    assert runs.failed == ["KnowtrailRetriever", "knowtrail.walk"]


def test_a_batch_embeds_once(stored: Connection) -> None:
    """Several questions make one call of the embedder, and the same answers."""
    embedder = Counting()
    retriever = KnowtrailRetriever(connection=stored, embedder=embedder, corpus="lines")
    alone = [retriever.invoke(line) for line in LINES]
    embedder.asked.clear()

    together = retriever.batch(list(LINES))

    assert embedder.asked == [len(LINES)]
    assert together == alone


async def test_an_asynchronous_driver_embeds_a_batch_once(
    stored: Connection, server: Settings
) -> None:
    """It does so in a thread that embeds; the answers are those of `batch`."""
    embedder = Counting()
    async with await AsyncConnection.open(server) as connection:
        retriever = KnowtrailRetriever(
            async_connection=connection, embedder=embedder, corpus="lines"
        )
        together = await retriever.abatch(list(LINES))

    blocking = KnowtrailRetriever(connection=stored, embedder=EMBEDDER, corpus="lines")
    assert embedder.asked == [len(LINES)]
    assert embedder.threads == {f"knowtrail-embed-{os.getpid()}"}
    assert together == blocking.batch(list(LINES))


async def test_a_driver_that_blocks_embeds_in_a_thread_of_its_own(
    stored: Connection,
) -> None:
    """Reading is done in LangChain's threads; a tracer sees both below the run."""
    runs, embedder = Runs(), Counting()
    retriever = KnowtrailRetriever(connection=stored, embedder=embedder, corpus="lines")

    found = await retriever.ainvoke(LINES[0], {"callbacks": [runs]})
    many = await retriever.abatch(list(LINES))

    assert (embedder.asked, found) == ([1, len(LINES)], many[0])
    assert embedder.threads == {f"knowtrail-embed-{os.getpid()}"}
    assert {run[-1] for run in runs.found} >= {"knowtrail.embed", "knowtrail.walk"}
    assert {run[0] for run in runs.found} == {"KnowtrailRetriever"}


def test_a_bad_question_of_a_batch_is_told_alone(
    retriever: KnowtrailRetriever,
) -> None:
    """With `return_exceptions` the others are answered."""
    first, second = retriever.batch([LINES[0], ""], return_exceptions=True)

    assert first == retriever.invoke(LINES[0])
    assert isinstance(second, InputError)


def test_a_vector_and_a_threshold(retriever: KnowtrailRetriever) -> None:
    """A vector takes the question's place; hits below the threshold stay out."""
    vector = EMBEDDER.embed_query(LINES[2])

    found = retriever.invoke("", vector=vector, k=4)
    near = retriever.invoke("", vector=vector, k=4, score_threshold=0.99)

    assert len(found) == 4
    assert [d.page_content for d in near] == [LINES[2]]
    with pytest.raises(InputError, match="score_threshold is 2"):
        retriever.invoke(LINES[0], score_threshold=2)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["hybrid", "mmr"])
def test_the_new_orders_answer(retriever: KnowtrailRetriever, name: str) -> None:
    """The line itself comes first by either; scores are cosines."""
    found = retriever.invoke(LINES[3], algorithm=name, k=4)

    assert found[0].page_content == LINES[3]
    assert len(found) == 4
    assert found[0].metadata["score"] == pytest.approx(1)


def test_words_find_what_vectors_do_not(stored: Connection) -> None:
    """A chunk far by its vector comes up by its words."""
    vector = EMBEDDER.embed_query(LINES[0])
    question = "Which looms weave wool?"

    by_vector = search(
        stored, question, vector=vector, corpus="lines", algorithm="mmr", k=4
    )
    both = search(
        stored, question, vector=vector, corpus="lines", algorithm="hybrid", k=4
    )

    place = {hit.text: n for n, hit in enumerate(both.hits)}
    before = {hit.text: n for n, hit in enumerate(by_vector.hits)}
    assert place[LINES[2]] < before[LINES[2]]
    assert "by words" in both.walk.steps[place[LINES[2]]].reason


@pytest.mark.parametrize("question", ['"', "a AND (b", "tide~ +x:y", "*", "\\"])
def test_no_sign_of_a_query_language_counts(stored: Connection, question: str) -> None:
    """What Lucene would read as an operator is a word or nothing."""
    found = search(
        stored, question, embedder=EMBEDDER, corpus="lines", algorithm="hybrid", k=4
    )

    assert len(found.hits) == 4


def test_an_algorithm_of_ones_own(retriever: KnowtrailRetriever) -> None:
    """An object walks by every door of Python, under its own name."""
    found = retriever.invoke(LINES[0], algorithm=Mine())
    made = retriever.model_copy(update={"algorithm": Mine()})
    results = compare(
        retriever.open_connection(),
        LINES[0],
        embedder=EMBEDDER,
        corpus="lines",
        algorithms=["auto", Mine()],
        record=False,
    )

    assert {d.metadata["algorithm"] for d in found} == {"mine"}
    assert made.invoke(LINES[0]) == found
    assert [r.walk.algorithm for r in results] == ["auto", "mine"]


def test_processes_take_a_retriever(stored: Connection, server: Settings) -> None:
    """A pool of processes, as of joblib or Ray, pickles it; a copy connects anew."""
    assert server.uri is not None
    retriever = KnowtrailRetriever.from_uri(
        server.uri, password=server.password, embedder=EMBEDDER, corpus="lines"
    )
    expected = retriever.invoke(LINES[0])
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        found = pool.submit(retriever.invoke, LINES[0]).result()
    copied = copy.deepcopy(retriever)

    assert found == expected
    assert copied.invoke(LINES[0]) == expected
    for pickler in (pickle, cloudpickle):  # the second is what joblib and Ray use
        read = pickler.loads(pickler.dumps(copied))
        assert read.invoke(LINES[0]) == expected
        read.close()
    for each in (retriever, copied):
        each.close()


def replies(*texts: str) -> FakeListChatModel:
    """Return a chat model that says these in turn."""
    return FakeListChatModel(responses=list(texts))


ANSWER = json.dumps({"answer": "They weave wool.", "citations": [1], "confidence": 1})


def test_ask_is_a_runnable(retriever: KnowtrailRetriever) -> None:
    """A question becomes an answer with its citations as Documents, in a chain too."""
    asking = KnowtrailAsk(
        retriever=retriever.model_copy(update={"model": replies(ANSWER)})
    )

    told = (RunnableLambda(str.strip) | asking).invoke(f" {LINES[2]} ")
    pieces = list(asking.stream(LINES[2]))

    assert told["answer"] == "They weave wool."
    assert [d.page_content for d in told["context"]] == [LINES[2]]
    assert "".join(p.get("answer", "") for p in pieces) == "They weave wool."
    assert pieces[-1]["context"] == told["context"]


STREAMED = {
    ("KnowtrailAsk",),
    ("KnowtrailAsk", "knowtrail.embed"),
    ("KnowtrailAsk", "knowtrail.walk"),
    ("KnowtrailAsk", "knowtrail.model"),
    ("KnowtrailAsk", "knowtrail.model", "FakeListChatModel"),
}


def test_a_streamed_answer_has_child_runs(retriever: KnowtrailRetriever) -> None:
    """They are those of a whole answer, ended without an error if it is left."""
    asking = KnowtrailAsk(
        retriever=retriever.model_copy(update={"model": replies(ANSWER)})
    )
    whole, pieces, left = Runs(), Runs(), Runs()

    asking.invoke(LINES[2], {"callbacks": [whole]})
    assert list(asking.stream(LINES[2], {"callbacks": [pieces]}))
    some = asking.stream(LINES[2], {"callbacks": [left]})
    next(some)
    some.close()  # type: ignore[attr-defined]

    assert set(whole.found) == set(pieces.found) == set(left.found) == STREAMED
    assert len(pieces.found) == len(STREAMED)
    assert "knowtrail.model" not in [*whole.failed, *pieces.failed, *left.failed]


async def test_a_streamed_answer_has_child_runs_without_blocking(
    stored: Connection, server: Settings
) -> None:
    """The same over asynchronous connections."""
    assert server.uri is not None
    whole, pieces, left = Runs(), Runs(), Runs()
    retriever = KnowtrailRetriever.from_uri(
        server.uri,
        password=server.password,
        embedder=EMBEDDER,
        corpus="lines",
        model=replies(ANSWER),
    )
    asking = KnowtrailAsk(retriever=retriever)
    async with retriever:
        await asking.ainvoke(LINES[2], {"callbacks": [whole]})
        assert [p async for p in asking.astream(LINES[2], {"callbacks": [pieces]})]
        some = asking.astream(LINES[2], {"callbacks": [left]})
        await anext(some)
        await some.aclose()  # type: ignore[attr-defined]

    assert set(whole.found) == set(pieces.found) == set(left.found) == STREAMED
    assert "knowtrail.model" not in [*whole.failed, *pieces.failed, *left.failed]


def test_a_history_makes_the_question_whole(retriever: KnowtrailRetriever) -> None:
    """The model is asked for a question that stands alone, which is then answered."""
    whole = json.dumps({"question": LINES[2]})
    runs = Runs()
    asking = KnowtrailAsk(
        retriever=retriever.model_copy(update={"model": replies(whole, ANSWER)})
    )
    history = [HumanMessage("What do looms do?"), AIMessage("They weave.")]

    told = asking.invoke(
        {"input": "And what of?", "chat_history": history}, {"callbacks": [runs]}
    )

    assert told["question"] == LINES[2]
    assert told["answer"] == "They weave wool."
    assert ("KnowtrailAsk", "knowtrail.walk") in runs.found


async def test_ask_without_blocking(retriever: KnowtrailRetriever) -> None:
    """Messages do as well, and a broken rewriting leaves the question as it was."""
    asking = KnowtrailAsk(
        retriever=retriever.model_copy(update={"model": replies("broken", ANSWER)})
    )

    told = await asking.ainvoke([("human", "Hello."), ("human", LINES[2])])

    assert told["question"] == LINES[2]
    assert told["answer"] == "They weave wool."
    with pytest.raises(InputError, match="no question"):
        await asking.ainvoke({"chat_history": []})

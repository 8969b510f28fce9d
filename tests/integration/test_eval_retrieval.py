"""Systems measured on a real server: a tiny corpus, every system, what is stored."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from knowtrail.eval.datasets import read_specification
from knowtrail.eval.judged import JudgingOptions
from knowtrail.eval.retrieval.dataset import Unit
from knowtrail.eval.retrieval.evaluation import EvaluationOptions, evaluate_retrieval
from knowtrail.eval.retrieval.output import as_dict, retrieval_page
from knowtrail.eval.retrieval.systems import asked_names, systems_of
from knowtrail.graph.db.statements import statement, statement_record
from knowtrail.graph.models.embedding_models import HashEmbedder

if TYPE_CHECKING:
    from knowtrail.eval.retrieval.dataset import RetrievalDataset
    from knowtrail.eval.retrieval.evaluation import Evaluation
    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.settings import Settings

pytestmark = pytest.mark.integration

PASSAGES = (
    ("lamp", "Kelp Point", "Kelp Point is a lighthouse. Ida Rask made its lamp."),
    ("maker", "Ida Rask", "Ida Rask was a glass maker. She was born in Tromsund."),
    ("town", "Tromsund", "Tromsund is a town on a fjord. A ferry crosses it."),
    ("ferry", "Ferry", "The ferry is named after a whale. It waits for nobody."),
    ("other", "Ferry", "Another ferry is named after a seal. It is never late."),
    ("empty", "", " "),
)
QUESTIONS: tuple[dict[str, Any], ...] = (
    {
        "id": "q1",
        "question": "Where was the maker of the lamp of Kelp Point born?",
        "gold_documents": ["lamp", "maker"],
        "gold_sentences": [{"document": "maker", "sentence": 1}],
    },
    {"id": "q2", "question": "What is after a seal?", "gold_documents": ["other"]},
    {"id": "q3", "question": "Zygote quux?", "gold_documents": ["nowhere", "town"]},
)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> RetrievalDataset:
    """Return five passages with text, one without, and three questions."""
    folder = tmp_path_factory.mktemp("tiny")
    rows = [{"id": i, "title": t, "text": x} for i, t, x in PASSAGES]
    for name, lines in (("passages", rows), ("questions", QUESTIONS)):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{name}.jsonl").write_text(text, "utf-8")
    return read_specification(
        f"jsonl:{folder / 'questions.jsonl'},{folder / 'passages.jsonl'}"
    )


@pytest.fixture
def kept(emptied: Connection) -> Connection:
    """Return a database that keeps the corpora of the tests before, and no more."""
    emptied.run_schema(
        "MATCH (n:EvalRun|EvalRecord|Metric|Query|Traversal|Step) DETACH DELETE n"
    )
    return emptied


def _measured(
    connection: Connection,
    server: Settings,
    dataset: RetrievalDataset,
    names: str,
    **options: Any,
) -> Evaluation:
    """Measure systems with an embedder that needs no model."""
    return evaluate_retrieval(
        dataset,
        systems_of(names),
        connection=connection,
        embedder=HashEmbedder(32),
        settings=server,
        options=EvaluationOptions(**{"ks": (1, 3, 10), **options}),
    )


def _count(connection: Connection, text: str) -> int:
    """Return the number that a query returns."""
    return int(connection.query(text)[0]["n"])


def test_every_system_is_measured_and_stored(
    kept: Connection, server: Settings, tiny: RetrievalDataset
) -> None:
    """All of `all`, on five passages, with k beyond them and gold that is nowhere."""
    found = _measured(kept, server, tiny, "all")

    told = as_dict(found)
    assert tuple(told["systems"]) == asked_names("all")
    assert told["systems"]["dense"]["recall@10"]["value"] == pytest.approx(2.5 / 3)
    assert [p["kind"] for p in told["dataset"]["problems"]] == ["gold_missing"]
    assert any("k = 10 is more than the 6 passages" in note for note in found.notes)
    assert any("1 passages have no text" in note for note in found.notes)
    assert "Worst cases" in retrieval_page(found)
    runs = _count(kept, "MATCH (r:EvalRun {kind: 'retrieval'}) RETURN count(r) AS n")
    assert runs == len(asked_names("all"))
    unjudged = "MATCH (t:Traversal) WHERE NOT ()-[:JUDGES]->(t) RETURN count(t) AS n"
    assert _count(kept, unjudged) == 0
    judged = "MATCH (:EvalRecord)-[:JUDGES]->(t:Traversal) RETURN count(t) AS n"
    walks = [r for result in found.results for r in result.rankings if r.traversal_id]
    assert _count(kept, judged) == len(walks) > 20


class _Reader(BaseChatModel):
    """Answers with one word, once the server is up again.

    Attributes:
        down: How many of the next prompts fail, after the first.
    """

    down: int = 0
    asked: int = 0

    @property
    def _llm_type(self) -> str:
        return "reader"

    def _generate(self, messages: list[Any], *args: Any, **kwargs: Any) -> ChatResult:
        self.asked += 1
        if self.asked > 1 and self.down:
            self.down -= 1
            raise ConnectionError("down")
        said = json.dumps({"answer": "Tromsund"})
        return ChatResult(generations=[ChatGeneration(message=AIMessage(said))])


def test_answers_that_broke_off_are_stored_when_they_are_there(
    kept: Connection,
    server: Settings,
    tiny: RetrievalDataset,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The run that goes on takes the place of the one of which a part is stored."""
    monkeypatch.setattr("knowtrail.eval.models.time.sleep", lambda _: None)
    questions = tuple(replace(q, answer="Tromsund") for q in tiny.questions)
    answered = replace(tiny, questions=questions)
    reader = _Reader(down=3)
    judging = JudgingOptions(answers=reader)

    first = _measured(kept, server, answered, "dense", judging=judging)
    again = _measured(kept, server, answered, "dense", judging=judging)

    measured = "MATCH (m:Metric {name: 'exact_match'}) RETURN max(m.n) AS n"
    assert any("broke off" in note for note in first.notes)
    assert again.facts["resumed"] == 3
    assert first.parts[0].systems[0].measures["exact_match"].n == 1
    assert _count(kept, measured) == 3
    assert first.runs == again.runs


def test_words_find_nothing_where_none_is_shared(
    kept: Connection, server: Settings, tiny: RetrievalDataset
) -> None:
    """BM25 returns nothing for a question of unknown words; that is counted."""
    found = _measured(kept, server, tiny, "bm25,rrf")

    bm25, rrf = found.parts[0].systems
    assert (bm25.empty, rrf.empty) == (1, 0)
    assert found.results[0].values[1]["recall@1"] == 1


def test_a_second_run_finds_its_corpus(
    kept: Connection, server: Settings, tiny: RetrievalDataset
) -> None:
    """Nothing is ingested again, and the figures are the same."""
    chunks = "MATCH (c:Chunk) RETURN count(c) AS n"
    first = _measured(kept, server, tiny, "dense,kg_traversal", store=False)
    before = _count(kept, chunks)

    second = _measured(kept, server, tiny, "dense,kg_traversal", store=False)

    assert first.corpus == second.corpus
    assert _count(kept, chunks) == before
    assert [r.values for r in first.results] == [r.values for r in second.results]
    assert _count(kept, "MATCH (r:EvalRun) RETURN count(r) AS n") == 0


def test_windows_have_gold_sentences_and_chunks(
    kept: Connection, server: Settings, tiny: RetrievalDataset
) -> None:
    """Sentences keep their numbers in windows that begin with the title."""
    unit = Unit(name="windows", window=1)

    found = _measured(kept, server, tiny, "dense", unit=unit, record=False)

    (result,) = found.results
    numbers = {(s.document, s.sentence) for r in result.rankings for s in r.sentences}
    assert ("maker", 1) in numbers
    assert max(number for _, number in numbers) == 1
    assert result.values[0]["chunk_recall@10"] == 1
    assert _count(kept, "MATCH (t:Traversal) RETURN count(t) AS n") == 0


def test_published_walks_return_what_their_sentences_come_from(
    kept: Connection, server: Settings, tiny: RetrievalDataset
) -> None:
    """No passage is filled in; a ranker fills up to the whole corpus, marked."""
    found = _measured(kept, server, tiny, "query_traversal,query_traversal:published")

    ranker, published = found.parts[0].systems
    assert (published.filled, ranker.quantities["documents"].value) == (0, 5)
    assert ranker.filled > 0
    assert all(r.stop_reason for r in found.results[1].rankings)


@pytest.mark.thorough
def test_walks_of_an_evaluation_are_listed_where_its_corpus_is_named(
    kept: Connection, server: Settings, tiny: RetrievalDataset
) -> None:
    """They do not stand between the walks that somebody made, nor in their place."""
    found = _measured(kept, server, tiny, "query_traversal", record=True)

    usual, own = (
        [
            kept.query(
                statement(f"inspect/{name}"),
                dict.fromkeys(statement_record(f"inspect/{name}").params)
                | {"corpus": corpus},
            )
            for name in ("walks", "traversal_steps", "chunks_visited", "documents")
        ]
        for corpus in (None, found.corpus)
    )
    (walk, *_) = own[0]
    steps = kept.query(
        statement("inspect/traversal_steps"),
        {"corpus": None, "traversal": walk["traversal"]},
    )

    assert usual == [[]] * 4
    assert all(own)
    assert steps


def test_a_saved_query_says_why_a_question_failed(
    kept: Connection, server: Settings, tiny: RetrievalDataset
) -> None:
    """Gold outside the corpus, and gold that a ranking without a walk has not."""
    _measured(kept, server, tiny, "bm25,query_traversal", ks=(1,))

    rows = kept.query(
        statement("inspect/retrieval_failures"),
        {"question": "q3", "system": "bm25", "run": None, "limit": None},
    )
    runs = kept.query(
        statement("inspect/retrieval_runs"),
        {"dataset": "questions", "system": None, "limit": None},
    )

    assert [(row["missed"], row["why"]) for row in rows] == [
        ("nowhere", "the passage is not in the corpus"),
        ("town", "a ranking without a walk"),
    ]
    assert {row["system"] for row in runs} == {"bm25", "query_traversal"}
    assert {row["k"] for row in runs} == {1}
    assert not any(
        row[name] is None for row in runs for name in ("recall", "allRecall")
    )

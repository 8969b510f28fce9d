"""Answers from rankings, compared with what was expected; without a judge."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from knowtrail.eval.judged import JudgingOptions, judge_results
from knowtrail.eval.retrieval.dataset import (
    Passage,
    RankedDocument,
    Ranking,
    RetrievalDataset,
    RetrievalQuestion,
    ReturnedSentence,
)
from knowtrail.eval.retrieval.evaluation import SystemResult
from knowtrail.graph.errors import InputError, MissingExtraError, ModelError
from knowtrail.graph.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from knowtrail.eval.judged import JudgedResults


class Reader(BaseChatModel):
    """Answers with the first text that it is shown, or as told.

    Attributes:
        said: Answers or errors, one after the other; then the first text.
        asked: The prompts so far.
        model: Its name.
    """

    said: list[Any] = []  # noqa: RUF012 - Pydantic copies it
    asked: list[str] = []  # noqa: RUF012 - Pydantic copies it
    model: str = "reader"

    @property
    def _llm_type(self) -> str:
        return "reader"

    def _generate(self, messages: list[Any], *args: Any, **kwargs: Any) -> ChatResult:
        text = "\n".join(str(message.text) for message in messages)
        self.asked.append(text)
        answer = self.said.pop(0) if self.said else text.split("[1] ")[1].split("\n")[0]
        if isinstance(answer, BaseException):
            raise answer
        said = json.dumps({"answer": answer})
        return ChatResult(generations=[ChatGeneration(message=AIMessage(said))])


@pytest.fixture
def dataset() -> RetrievalDataset:
    """Return two questions about two passages."""
    return RetrievalDataset(
        name="tiny",
        kind="jsonl",
        passages=(
            Passage(id="p1", title="Paris", text="Paris"),
            Passage(id="p2", title="Rome", text="Rome"),
        ),
        questions=tuple(
            RetrievalQuestion(id=f"q{n}", text=f"Which {n}?", answer="The Paris!")
            for n in (1, 2)
        ),
    )


def _run(home: Path, dataset: RetrievalDataset, model: Reader) -> JudgedResults:
    sentence = ReturnedSentence(document="p2", sentence=0, text="Rome")
    rankings = (
        Ranking(documents=(RankedDocument(id="p1", score=1.0),)),
        Ranking(documents=(RankedDocument(id="p1", score=1.0),), sentences=(sentence,)),
    )
    result = SystemResult(
        name="dense",
        questions=dataset.questions,
        rankings=rankings,
        values=({"mrr": 1.0}, {"mrr": 0.5}),
    )
    return judge_results(
        [result],
        dataset=dataset,
        options=JudgingOptions(answers=model),
        settings=Settings.from_env(env={}, home=home),
    )


def test_answers_are_measured_beside_what_was_measured(
    tmp_path: Path, dataset: RetrievalDataset
) -> None:
    """Sentences are read where there are any, else the first passages."""
    judged = _run(tmp_path, dataset, Reader(asked=[]))

    assert judged.results[0].values == (
        {"mrr": 1.0, "exact_match": 1.0, "f1": 1.0},
        {"mrr": 0.5, "exact_match": 0.0, "f1": 0.0},
    )
    assert judged.measures == ("exact_match", "f1")
    assert judged.answers == {"dense": {"q1": "Paris", "q2": "Rome"}}


def test_notes_name_the_model_that_answered(
    tmp_path: Path, dataset: RetrievalDataset
) -> None:
    """A table without it says nothing."""
    judged = _run(tmp_path, dataset, Reader(asked=[]))

    assert [note.partition(",")[0] for note in judged.notes] == [
        "Answers are those of reader"
    ]


def test_passages_are_read_under_their_titles(
    tmp_path: Path, dataset: RetrievalDataset
) -> None:
    """A passage may speak of 'it' and mean its title."""
    passages = (
        Passage(id="p1", title="Paris", text="It is a town."),
        *dataset.passages[1:],
    )
    model = Reader(asked=[])

    _run(tmp_path, replace(dataset, passages=passages), model)

    assert "[1] Paris: It is a town." in model.asked[0]


def test_a_later_run_asks_nothing_twice(
    tmp_path: Path, dataset: RetrievalDataset
) -> None:
    """Answers are kept in the home folder."""
    first = _run(tmp_path, dataset, Reader(asked=[]))
    model = Reader(asked=[])

    again = _run(tmp_path, dataset, model)

    assert again == first
    assert model.asked == []


def test_a_model_that_breaks_off_leaves_what_there_was(
    tmp_path: Path, dataset: RetrievalDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The measures of the questions before are there, and a note says what to do."""
    monkeypatch.setattr("knowtrail.eval.models.time.sleep", lambda _: None)
    down = [ConnectionError("down")] * 3

    judged = _run(tmp_path, dataset, Reader(said=["Paris", *down], asked=[]))

    assert [len(row) for row in judged.results[0].values] == [3, 1]
    assert "the same command goes on" in judged.notes[1]


def test_what_a_model_says_in_lines_is_one_note(
    tmp_path: Path, dataset: RetrievalDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Notes are told line by line."""

    def fails(*_: Any) -> Any:
        raise ModelError("down\nand out.")

    monkeypatch.setattr("knowtrail.eval.judged._answered", fails)

    judged = _run(tmp_path, dataset, Reader(asked=[]))

    assert "broke off: down and out. What there was" in judged.notes[1]


def test_questions_without_answers_are_refused(
    tmp_path: Path, dataset: RetrievalDataset
) -> None:
    """There is nothing to compare with."""
    nameless = RetrievalDataset(
        name="tiny",
        kind="beir",
        passages=dataset.passages,
        questions=(RetrievalQuestion(id="q1", text="?"),),
    )
    options = JudgingOptions(answers=Reader())

    with pytest.raises(InputError, match="No question of tiny has an answer"):
        judge_results(
            [],
            dataset=nameless,
            options=options,
            settings=Settings.from_env(env={}, home=tmp_path),
        )


def test_a_judge_without_deepeval_is_refused_before_anything_is_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The message names the extra."""
    monkeypatch.setitem(sys.modules, "deepeval", None)

    with pytest.raises(MissingExtraError, match="the extra `deepeval`: "):
        JudgingOptions(answers=Reader(), judge=Reader())

"""Files of questions, as we write them and as DeepEval reads them."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from knowtrail.eval.datasets import load_dataset
from knowtrail.eval.generation import GroupPlan, context_groups
from knowtrail.eval.generation.contexts import CorpusPassage
from knowtrail.eval.generation.files import (
    dataset_questions,
    generated_questions,
    passages_beside,
    write_dataset,
    write_questions,
)
from knowtrail.eval.generation.questions import GeneratedQuestion
from knowtrail.graph.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from knowtrail.eval.generation.files import ExportedQuestion
    from tests.unit.eval.generation.conftest import MemoryContexts


@pytest.fixture
def passages() -> list[CorpusPassage]:
    """Return the four documents as passages; the first has a line in its text."""
    return [
        CorpusPassage(
            id=f"d{document}",
            title=f"Glacier {document}",
            text=" ".join(f"S{n} | of {document}." for n in range(8)),
            sentences=tuple(f"S{n} | of {document}." for n in range(8)),
            sentence_ids=tuple(f"d{document}s{n}" for n in range(8)),
        )
        for document in range(4)
    ]


@pytest.fixture
def questions(
    source: MemoryContexts, passages: list[CorpusPassage]
) -> list[ExportedQuestion]:
    """Return one question that rests on two sentences of one context."""
    (group,) = context_groups(
        source, GroupPlan(goldens=1, weights={"deepeval_native": 1.0})
    ).groups
    made = GeneratedQuestion(
        id="q1",
        question='Why "ice"?',
        answer="Cold.",
        group=group,
        gold=(group.sentences[0], group.sentences[-1]),
        evolutions=("reasoning",),
        quality=0.9,
    )
    return generated_questions([made], passages)


def test_gold_is_counted_within_passages(questions: list[ExportedQuestion]) -> None:
    """Gold sentences are named by passage and number."""
    (question,) = questions
    first, last = question.metadata["gold_sentences"]

    gold = question.asked.gold_sentences
    assert [f"{one.document}s{one.sentence}" for one in gold] == [first, last]
    assert question.asked.gold_documents == tuple(one.document for one in gold)


def test_our_form_has_a_question_a_line(
    tmp_path: Path, questions: list[ExportedQuestion]
) -> None:
    """Each line has id, question, answer and gold."""
    path = tmp_path / "asked.jsonl"

    write_questions(path, questions)

    (row,) = map(json.loads, path.read_text("utf-8").splitlines())
    assert (row["id"], row["question"], row["answer"]) == ("q1", 'Why "ice"?', "Cold.")
    assert row["gold_documents"] == [s["document"] for s in row["gold_sentences"]]


def test_passages_keep_their_sentences(
    tmp_path: Path, passages: list[CorpusPassage]
) -> None:
    """The numbers of gold sentences are places in this list."""
    path = passages_beside(tmp_path / "asked.jsonl")

    write_dataset(tmp_path / "asked.jsonl", [], passages)

    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert path.name == "asked.passages.jsonl"
    assert [row["sentences"][3] for row in rows][:1] == ["S3 | of 0."]


def test_evaluation_reads_what_we_write(
    tmp_path: Path, questions: list[ExportedQuestion], passages: list[CorpusPassage]
) -> None:
    """Questions, answers, gold and passages come back, and nothing is wrong."""
    path = tmp_path / "asked.jsonl"
    write_dataset(path, questions, passages)

    read = load_dataset("jsonl", [path, passages_beside(path)])

    (again,) = dataset_questions(read)
    assert read.problems == ()
    assert again.asked == questions[0].asked
    assert len(read.passages) == len(passages)


@pytest.mark.parametrize("suffix", [".json", ".csv"])
def test_deepeval_forms_are_read_back(
    tmp_path: Path, questions: list[ExportedQuestion], suffix: str
) -> None:
    """Evaluation takes the question, its answer and its context as gold."""
    path = tmp_path / f"asked{suffix}"
    write_questions(path, questions)

    read = load_dataset("deepeval", [path])

    (question,) = read.questions
    assert (question.text, question.answer) == ('Why "ice"?', "Cold.")
    assert len(question.gold_chunks) == len(questions[0].context)


def test_csv_has_one_context_a_delimiter(
    tmp_path: Path, questions: list[ExportedQuestion]
) -> None:
    """A line within a text is not taken for the end of it."""
    path = tmp_path / "asked.csv"

    write_questions(path, questions)

    (row,) = csv.DictReader(io.StringIO(path.read_text("utf-8")))
    assert len(row["context"].split("|")) == len(questions[0].context) == 3
    assert json.loads(row["additional_metadata"])["id"] == "q1"


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".csv"])
def test_half_surrogate_pairs_lose_no_questions(
    tmp_path: Path, questions: list[ExportedQuestion], suffix: str
) -> None:
    """What a model wrote may hold one; UTF-8 may not."""
    path = tmp_path / f"asked{suffix}"

    asked = replace(questions[0].asked, answer="Cold\ud83d.")
    write_questions(path, [replace(questions[0], asked=asked)])

    assert "Cold\\ud83d." in path.read_text("utf-8")


def test_other_names_are_refused(tmp_path: Path) -> None:
    """The end of the name says what is written."""
    with pytest.raises(InputError, match=r"\.jsonl or \.json or \.csv"):
        write_questions(tmp_path / "asked.xlsx", [])

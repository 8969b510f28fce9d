"""Questions as files: DeepEval's CSV and JSON, and our own JSON Lines.

Our own form is two files: questions with `id`, `question`, `answer`, `gold_documents`
and `gold_sentences` (passage and number from 0), and passages with `id`, `title`,
`text` and `sentences`. DeepEval's forms hold the context of each question instead.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from knowtrail.eval.store import sendable
from knowtrail.graph.errors import InputError
from knowtrail.graph.files import write_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from knowtrail.eval.generation.chain import GeneratedQuestion
    from knowtrail.eval.generation.contexts import CorpusPassage
    from knowtrail.eval.retrieval.dataset import Passage, RetrievalDataset

FORMATS = (".jsonl", ".json", ".csv")
"""Ends of file names, each a form: ours, DeepEval's JSON, DeepEval's CSV."""

DELIMITER = "|"
STAND_IN = "\N{FULLWIDTH VERTICAL LINE}"
_COLUMNS = (
    "input",
    "actual_output",
    "expected_output",
    "context",
    "retrieval_context",
    "source_file",
    "name",
    "additional_metadata",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedQuestion:
    """A question as it goes into a file.

    Attributes:
        answer: The expected answer, None where there is none.
        documents: Ids of the passages that are needed.
        sentences: (passage id, number from 0) of the sentences that are needed.
        metadata: What is known of how it was made.
    """

    id: str
    question: str
    answer: str | None
    aliases: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    sentences: tuple[tuple[str, int], ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


def generated_questions(
    questions: Iterable[GeneratedQuestion], passages: Iterable[CorpusPassage]
) -> list[ExportedQuestion]:
    """Return generated questions for a file."""
    places = {
        key: (passage.id, number)
        for passage in passages
        for number, key in enumerate(passage.sentence_ids)
    }
    exported = []
    for one in questions:
        gold = [places[s.id] for s in one.gold if s.id in places]
        exported.append(
            ExportedQuestion(
                id=one.id,
                question=one.question,
                answer=one.answer,
                context=one.group.passages(),
                documents=tuple(dict.fromkeys(document for document, _ in gold)),
                sentences=tuple(gold),
                metadata=one.metadata(),
            )
        )
    return exported


def dataset_questions(dataset: RetrievalDataset) -> list[ExportedQuestion]:
    """Return the questions of a loaded data set for a file.

    The context of a question is what its gold passages say.
    """
    texts = {passage.id: passage.text for passage in dataset.passages}
    return [
        ExportedQuestion(
            id=one.id,
            question=one.text,
            answer=one.answer,
            aliases=one.aliases,
            context=tuple(texts[key] for key in one.gold_documents if key in texts),
            documents=one.gold_documents,
            sentences=tuple((s.document, s.sentence) for s in one.gold_sentences),
        )
        for one in dataset.questions
    ]


def passages_beside(path: Path) -> Path:
    """Return where the passages go that belong to a file of questions."""
    return path.with_name(f"{path.stem}.passages.jsonl")


def write_dataset(
    path: Path,
    questions: Sequence[ExportedQuestion],
    passages: Iterable[CorpusPassage | Passage],
) -> None:
    """Write questions; in our own form, passages beside them."""
    write_questions(path, questions)
    if path.suffix.lower() == ".jsonl":
        rows = (
            {"id": one.id, "title": one.title, "text": one.text}
            | ({"sentences": list(one.sentences)} if one.sentences else {})
            for one in passages
        )
        write_file(passages_beside(path), sendable(_lines(rows)))


def write_questions(path: Path, questions: Sequence[ExportedQuestion]) -> None:
    """Write questions in the form that the file's name asks for.

    Args:
        path: Where the file goes; `.jsonl`, `.json` or `.csv`.
        questions: The questions.

    Raises:
        InputError: If the name ends otherwise.
        StorageError: If it cannot be written.
    """
    suffix = path.suffix.lower()
    if suffix == ".jsonl":
        content = _lines(_ours(question) for question in questions)
    elif suffix == ".json":
        goldens = [_golden(question) for question in questions]
        content = json.dumps(goldens, ensure_ascii=False, indent=2) + "\n"
    elif suffix == ".csv":
        content = _table(questions)
    else:
        msg = f"{path}: the name must end in {' or '.join(FORMATS)}."
        raise InputError(msg)
    # Models write half surrogate pairs too, which no file of UTF-8 can hold.
    write_file(path, sendable(content))


def _lines(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as JSON Lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _ours(one: ExportedQuestion) -> dict[str, Any]:
    """Return a question in our own form."""
    row: dict[str, Any] = {"id": one.id, "question": one.question}
    if one.answer is not None:
        row["answer"] = one.answer
    if one.aliases:
        row["aliases"] = list(one.aliases)
    row |= _gold(one)
    if one.metadata:
        row["metadata"] = dict(one.metadata)
    return row


def _gold(one: ExportedQuestion) -> dict[str, Any]:
    """Return what is needed of the passages."""
    return {
        "gold_documents": list(one.documents),
        "gold_sentences": [{"document": d, "sentence": n} for d, n in one.sentences],
    }


def _golden(one: ExportedQuestion) -> dict[str, Any]:
    """Return a question as DeepEval's JSON has it."""
    about = {**one.metadata, "id": one.id, "aliases": list(one.aliases), **_gold(one)}
    return dict.fromkeys(_COLUMNS) | {
        "input": one.question,
        "expected_output": one.answer,
        "context": list(one.context),
        "name": one.id,
        "additional_metadata": about,
    }


def _table(questions: Sequence[ExportedQuestion]) -> str:
    """Return questions as DeepEval's CSV.

    DeepEval splits a context at each vertical line, so that one inside a text becomes
    a wide one.
    """
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, _COLUMNS, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writeheader()
    for one in questions:
        texts = (text.replace(DELIMITER, STAND_IN) for text in one.context)
        row = _golden(one) | {"context": DELIMITER.join(texts)}
        about = json.dumps(row["additional_metadata"], ensure_ascii=False)
        row["additional_metadata"] = about
        writer.writerow({name: "" if row[name] is None else row[name] for name in row})
    return out.getvalue()

"""Questions as files: DeepEval's CSV and JSON, and our own JSON Lines.

Our own form is two files: questions with `id`, `question`, `answer`, `gold_documents`
and `gold_sentences` (passage and number from 0), and passages with `id`, `title`,
`text` and `sentences`. DeepEval's forms hold the context of each question instead.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from knowtrail.eval.report import json_lines
from knowtrail.eval.retrieval.dataset import GoldSentence, RetrievalQuestion
from knowtrail.eval.store import sendable
from knowtrail.graph.errors import InputError
from knowtrail.graph.files import write_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from knowtrail.eval.generation.contexts import CorpusPassage
    from knowtrail.eval.generation.questions import GeneratedQuestion
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
    """A question as it goes into a file, and what is known of how it was made."""

    asked: RetrievalQuestion
    context: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


def generated_questions(
    questions: Iterable[GeneratedQuestion], passages: Iterable[CorpusPassage]
) -> list[ExportedQuestion]:
    """Return generated questions for a file."""
    places = {
        key: GoldSentence(document=passage.id, sentence=number)
        for passage in passages
        for number, key in enumerate(passage.sentence_ids)
    }
    exported = []
    for one in questions:
        gold = [places[s.id] for s in one.gold if s.id in places]
        asked = RetrievalQuestion(
            id=one.id,
            text=one.question,
            answer=one.answer,
            gold_documents=tuple(dict.fromkeys(place.document for place in gold)),
            gold_sentences=tuple(gold),
        )
        exported.append(
            ExportedQuestion(
                asked=asked, context=one.group.passages(), metadata=one.metadata()
            )
        )
    return exported


def dataset_questions(dataset: RetrievalDataset) -> list[ExportedQuestion]:
    """Return the questions of a loaded data set; their context is the gold passages."""
    texts = {passage.id: passage.text for passage in dataset.passages}
    return [
        ExportedQuestion(
            asked=one,
            context=tuple(texts[key] for key in one.gold_documents if key in texts),
        )
        for one in dataset.questions
    ]


def passages_beside(path: Path) -> Path:
    """Return where the passages go that belong to a file of questions."""
    return path.with_name(f"{path.stem}.passages.jsonl")


def write_dataset(
    path: Path, questions: Sequence[ExportedQuestion], passages: Iterable[Passage]
) -> None:
    """Write questions; in our own form, passages beside them."""
    write_questions(path, questions)
    if path.suffix.lower() == ".jsonl":
        rows = (
            {"id": one.id, "title": one.title, "text": one.text}
            | ({"sentences": list(one.sentences)} if one.sentences else {})
            for one in passages
        )
        write_file(passages_beside(path), json_lines(rows))


def write_questions(path: Path, questions: Sequence[ExportedQuestion]) -> None:
    """Write questions in the form, of `FORMATS`, that the file's name asks for."""
    suffix = path.suffix.lower()
    if suffix == ".jsonl":
        content = json_lines(map(_ours, questions))
    elif suffix == ".json":
        goldens = [_golden(question) for question in questions]
        content = json.dumps(goldens, ensure_ascii=False, indent=2) + "\n"
    elif suffix == ".csv":
        content = _table(questions)
    else:
        raise InputError(f"{path}: the name must end in {' or '.join(FORMATS)}.")
    # Models write half surrogate pairs too, which no file of UTF-8 can hold.
    write_file(path, sendable(content))


def _ours(one: ExportedQuestion) -> dict[str, Any]:
    asked = one.asked
    row: dict[str, Any] = {"id": asked.id, "question": asked.text}
    if asked.answer is not None:
        row["answer"] = asked.answer
    if asked.aliases:
        row["aliases"] = list(asked.aliases)
    row |= _gold(asked)
    if one.metadata:
        row["metadata"] = dict(one.metadata)
    return row


def _gold(asked: RetrievalQuestion) -> dict[str, Any]:
    return {
        "gold_documents": list(asked.gold_documents),
        "gold_sentences": [asdict(place) for place in asked.gold_sentences],
    }


def _golden(one: ExportedQuestion) -> dict[str, Any]:
    asked = one.asked
    about = {"id": asked.id, "aliases": list(asked.aliases), **_gold(asked)}
    return dict.fromkeys(_COLUMNS) | {
        "input": asked.text,
        "expected_output": asked.answer,
        "context": list(one.context),
        "name": asked.id,
        "additional_metadata": {**one.metadata, **about},
    }


def _table(questions: Sequence[ExportedQuestion]) -> str:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, _COLUMNS, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writeheader()
    for one in questions:
        # DeepEval splits a context at each vertical line: inside it is a wide one.
        texts = (text.replace(DELIMITER, STAND_IN) for text in one.context)
        row = _golden(one) | {"context": DELIMITER.join(texts)}
        about = json.dumps(row["additional_metadata"], ensure_ascii=False)
        row["additional_metadata"] = about
        writer.writerow({name: "" if row[name] is None else row[name] for name in row})
    return out.getvalue()

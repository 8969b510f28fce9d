"""Our own form: two files of JSON Lines, questions and passages.

    {"id": "q1", "question": "...", "answer": "...", "gold_documents": ["p1"],
     "gold_sentences": [{"document": "p1", "sentence": 0}]}
    {"id": "p1", "title": "...", "text": "..."}

Of a question only `question` and one kind of gold are needed. A gold sentence is a
number, from 0, or the sentence itself. A passage may have `sentences`, a list, in the
place of `text`; without an id it is known by its title.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from knowtrail.eval.datasets.gathering import (
    PassageIndex,
    Problems,
    as_list,
    as_object,
    as_texts,
    dataset_of,
    folded,
    json_objects,
    shown,
    text_of,
)
from knowtrail.eval.retrieval.dataset import (
    GoldSentence,
    RetrievalQuestion,
    passage_sentences,
)
from knowtrail.graph.errors import SourceError

if TYPE_CHECKING:
    from pathlib import Path

    from knowtrail.eval.datasets.gathering import JsonObject
    from knowtrail.eval.retrieval.dataset import RetrievalDataset


def load_own(questions: Path, passages: Path) -> RetrievalDataset:
    """Return a data set in our own form.

    Raises:
        SourceError: If a file is no good.
    """
    rows, asked_file = json_objects(questions)
    passage_rows, corpus_file = json_objects(passages)
    problems = Problems()
    index = PassageIndex(problems)
    for place, row in passage_rows:
        title = text_of(row, "title", place=place, default="")
        identity = text_of(row, "id", place=place, default="") or None
        if (ready := row.get("sentences")) is not None:
            sentences = as_texts(ready, f"'sentences' of {place}")
            index.add(title, "", sentences=sentences, identity=identity)
        else:
            text = text_of(row, "text", place=place)
            index.add(title, text, identity=identity)
    found = [_question(row, place, index, problems) for place, row in rows]
    return dataset_of(
        questions.stem,
        "jsonl",
        index=index,
        questions=found,
        files=(asked_file, corpus_file),
        problems=problems,
    )


def _question(
    row: JsonObject, place: str, index: PassageIndex, problems: Problems
) -> RetrievalQuestion:
    """Return a question with its gold."""
    name = text_of(row, "id", "_id", place=place, default=place)
    documents = [
        _passage(str(each), name, index)
        for each in as_list(row.get("gold_documents") or [], f"gold of {place}")
    ]
    sentences = []
    for each in as_list(row.get("gold_sentences") or [], f"gold of {place}"):
        of = as_object(each, f"a gold sentence of {place}")
        document = text_of(of, "document", place=f"a gold sentence of {place}")
        known = _passage(document, name, index, told=document in documents)
        sentences.append(_sentence(of.get("sentence"), known, name, index, problems))
        documents.append(known)
    aliases = as_list(row.get("aliases") or [], f"'aliases' of {place}")
    return RetrievalQuestion(
        id=name,
        text=text_of(row, "question", "text", place=place),
        answer=text_of(row, "answer", place=place, default="") or None,
        aliases=tuple(str(alias) for alias in aliases),
        gold_documents=tuple(documents),
        gold_sentences=tuple(sentences),
    )


def _passage(
    name: str, question: str, index: PassageIndex, *, told: bool = False
) -> str:
    """Return the id of a passage; one that no passage has is told of once."""
    for known in (name, folded(name)):
        if known in index or (told and known == name):
            return known
    return index.missing(question, name)


def _sentence(
    value: Any, passage: str, question: str, index: PassageIndex, problems: Problems
) -> GoldSentence:
    """Return a gold sentence given as number or as text; -1 where it is not there."""
    sentences = passage_sentences(index[passage]) if passage in index else ()
    if isinstance(value, int) and not isinstance(value, bool):
        number = value if 0 <= value < len(sentences) else -1
    elif isinstance(value, str):
        wanted = folded(value)
        texts = [folded(text) for text in sentences]
        exact = [at for at, text in enumerate(texts) if text == wanted]
        inside = [at for at, text in enumerate(texts) if wanted and wanted in text]
        number = next(iter(exact or inside), -1)
    else:
        raise SourceError(
            f"A gold sentence of question {question} is {shown(value)}: give its "
            "number, from 0, or its text."
        )
    if number < 0 and passage in index:
        message = (
            f"Gold sentence {value!r:.60} of question {question} is not in passage "
            f"{passage!r:.60}: the passage counts, the sentence as never found."
        )
        problems.tell("gold_missing", question, message)
    return GoldSentence(document=passage, sentence=number)

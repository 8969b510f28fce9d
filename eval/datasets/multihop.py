"""MuSiQue, HotpotQA and 2WikiMultihop: questions over several paragraphs.

The corpus is a list of objects with `title` and `text` (or `paragraph_text`,
`sentences`), or one object of titles and their sentences. Gold of MuSiQue are
paragraphs; the other two name sentences as [title, number].
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
    shown,
    source_file,
    text_of,
)
from knowtrail.eval.retrieval.dataset import GoldSentence, RetrievalQuestion
from knowtrail.graph.errors import SourceError
from knowtrail.graph.files import read_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from knowtrail.eval.datasets.gathering import JsonObject
    from knowtrail.eval.retrieval.dataset import RetrievalDataset, SourceFile


def load_musique(questions: Path, corpus: Path) -> RetrievalDataset:
    """Return a data set in the form of MuSiQue.

    Args:
        questions: A list of objects with `id`, `question`, `answer` and `paragraphs`,
            of which those with `is_supporting` are gold.
        corpus: The passages.

    Raises:
        SourceError: If a file is no good.
    """
    rows, asked_file = _questions(questions, "paragraphs", "supporting_facts")
    index, corpus_file, problems = _passages(corpus)
    found = [_musique_question(row, at, index) for at, row in enumerate(rows)]
    return dataset_of(
        questions.stem,
        "musique",
        index=index,
        questions=found,
        files=(asked_file, corpus_file),
        problems=problems,
    )


_KINDS = {"paragraphs": "musique", "supporting_facts": "hotpotqa or 2wiki"}
"""Key of questions that has their gold -> kinds of data sets that have it."""


def _questions(
    path: Path, gold: str, other: str
) -> tuple[list[JsonObject], SourceFile]:
    """Read a file of questions, and see whether it is of the kind that was named."""
    file = source_file(path)
    rows = [
        as_object(row, f"{path.name}[{at}]")
        for at, row in enumerate(as_list(read_json(path), path.name))
    ]
    if rows and all(row.get(gold) is None for row in rows):
        like = any(row.get(other) is not None for row in rows)
        hint = f"; it looks like {_KINDS[other]}" if like else ""
        raise SourceError(f"No question of {path.name} has {gold!r}, its gold{hint}.")
    return rows, file


def _musique_question(
    row: JsonObject, at: int, index: PassageIndex
) -> RetrievalQuestion:
    """Return a question whose gold are supporting paragraphs."""
    name = text_of(row, "id", "_id", place=f"question {at}", default=str(at))
    place = f"question {name}"
    gold = []
    for paragraph in as_list(row.get("paragraphs", []), f"'paragraphs' of {place}"):
        of = as_object(paragraph, f"a paragraph of {place}")
        if of.get("is_supporting"):
            title = text_of(of, "title", place=place)
            text = text_of(of, "paragraph_text", "text", place=place)
            gold.append(index.find(name, title, text))
    aliases = as_list(row.get("answer_aliases") or [], f"'answer_aliases' of {place}")
    return RetrievalQuestion(
        id=name,
        text=text_of(row, "question", place=place),
        answer=text_of(row, "answer", place=place, default="") or None,
        aliases=tuple(str(alias) for alias in aliases),
        gold_documents=tuple(gold),
    )


def load_supporting(questions: Path, corpus: Path, *, kind: str) -> RetrievalDataset:
    """Return a data set in the form of HotpotQA or 2WikiMultihop.

    Args:
        questions: A list of objects with `_id`, `question`, `answer`,
            `supporting_facts` ([title, number of the sentence]) and, where it has
            any, `context` ([title, sentences]).
        corpus: The passages.
        kind: Which of the two.

    Raises:
        SourceError: If a file is no good.
    """
    rows, asked_file = _questions(questions, "supporting_facts", "paragraphs")
    index, corpus_file, problems = _passages(corpus)
    found = [_supported(row, at, index, problems) for at, row in enumerate(rows)]
    return dataset_of(
        questions.stem,
        kind,
        index=index,
        questions=found,
        files=(asked_file, corpus_file),
        problems=problems,
    )


def _supported(
    row: JsonObject, at: int, index: PassageIndex, problems: Problems
) -> RetrievalQuestion:
    """Return a question whose gold are sentences of titles."""
    name = text_of(row, "_id", "id", place=f"question {at}", default=str(at))
    place = f"question {name}"
    texts = dict(_context(row.get("context") or [], place))
    passages: dict[str, str] = {}
    sentences = []
    for fact in as_list(row.get("supporting_facts") or [], f"the facts of {place}"):
        title, number = _fact(fact, place)
        if title not in passages:
            passages[title] = index.find(name, title, texts.get(title))
        gold = passages[title]
        if gold in index and not _has_sentence(index, gold, number):
            message = (
                f"Gold sentence {number} of {title!r:.80}, question {name}, is not "
                "there: its passage counts, the sentence as never found."
            )
            problems.tell("gold_missing", name, message)
        sentences.append(GoldSentence(document=gold, sentence=number))
    return RetrievalQuestion(
        id=name,
        text=text_of(row, "question", place=place),
        answer=text_of(row, "answer", place=place, default="") or None,
        gold_documents=tuple(passages.values()),
        gold_sentences=tuple(sentences),
    )


def _context(value: Any, place: str) -> Iterator[tuple[str, str]]:
    """Yield titles and texts of the paragraphs that come with a question."""
    for paragraph in as_list(value, f"'context' of {place}"):
        if isinstance(paragraph, list) and len(paragraph) == 2:
            title, sentences = paragraph
            if isinstance(title, str) and isinstance(sentences, list):
                yield title, " ".join(map(str, sentences))


def _fact(fact: Any, place: str) -> tuple[str, int]:
    """Return title and number of a supporting fact."""
    if isinstance(fact, list) and len(fact) >= 2:
        title, number = fact[:2]
        if isinstance(title, str) and isinstance(number, int):
            return title, number
    raise SourceError(f"A fact of {place} is {shown(fact)}: [title, number] is wanted.")


def _has_sentence(index: PassageIndex, passage: str, number: int) -> bool:
    """Return whether a passage has a sentence; unknown before it is split counts."""
    sentences = index[passage].sentences
    return number >= 0 and (sentences is None or number < len(sentences))


class _Titles(list[tuple[str, Any]]):
    """A JSON object as its members, repeated names too."""


def _passages(path: Path) -> tuple[PassageIndex, SourceFile, Problems]:
    """Read a corpus file of either form."""
    file, problems = source_file(path), Problems()
    index = PassageIndex(problems)
    value = read_json(path, pairs=_Titles)
    if isinstance(value, _Titles):
        for title, body in value:
            place = f"passage {title!r:.80} of {path.name}"
            if isinstance(body, str):
                index.add(title, body)
            else:
                index.add(title, "", sentences=as_texts(body, place))
        return index, file, problems
    for at, row in enumerate(as_list(value, path.name)):
        place = f"{path.name}[{at}]"
        of = as_object(dict(row) if isinstance(row, _Titles) else row, place)
        title = text_of(of, "title", place=place, default="")
        if (ready := of.get("sentences")) is not None:
            index.add(title, "", sentences=as_texts(ready, place))
        else:
            names = ("text", "paragraph_text", "contents")
            index.add(title, text_of(of, *names, place=place))
    return index, file, problems

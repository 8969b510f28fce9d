"""Data sets by kind, in the formats that others use: `musique:asked.json,corpus.json`.

MuSiQue, HotpotQA and 2WikiMultihop have questions over several paragraphs. The corpus
is a list of objects with `title` and `text` (or `paragraph_text`, `sentences`), or one
object of titles and their sentences. Gold of MuSiQue are paragraphs; the other two name
sentences as [title, number].

Our own form are two files of JSON Lines, questions and passages.

    {"id": "q1", "question": "...", "answer": "...", "gold_documents": ["p1"],
     "gold_sentences": [{"document": "p1", "sentence": 0}]}
    {"id": "p1", "title": "...", "text": "..."}

Of a question only `question` and one kind of gold are needed. A gold sentence is a
number, from 0, or the sentence itself. A passage may have `sentences`, a list, in the
place of `text`; without an id it is known by its title.

BEIR are folders: corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv.

DeepEval's questions, as CSV or JSON, hold the texts that answer each question, not the
articles that these come from. So the corpus is the union of the contexts: one passage
for each distinct context (a group of texts), or, with `contexts="items"`, one for each
distinct text. This is a smaller and easier corpus than the one that was asked
originally.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from knowtrail.eval.datasets.gathering import (
    Gathering,
    as_list,
    as_object,
    as_texts,
    folded,
    shown,
    table_rows,
    text_of,
)
from knowtrail.eval.retrieval.dataset import (
    GoldChunk,
    GoldSentence,
    RetrievalQuestion,
    passage_sentences,
)
from knowtrail.graph.errors import InputError, SourceError
from knowtrail.graph.files import json_value, read_json
from knowtrail.graph.files.packaged import packaged
from knowtrail.ingest.sentences import split_sentences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from knowtrail.eval.datasets.gathering import JsonObject
    from knowtrail.eval.retrieval.dataset import Passage, RetrievalDataset


def load_paragraphs(questions: Path, corpus: Path, *, kind: str) -> RetrievalDataset:
    """Return a data set in the form of MuSiQue, or of HotpotQA and 2WikiMultihop.

    MuSiQue has gold in `paragraphs` with `is_supporting`; the others have
    `supporting_facts` ([title, number of the sentence]) and, where there is any,
    `context` ([title, sentences]).
    """
    (gold, other), asked = _KINDS, _musique_question
    if kind != "musique":
        gold, other, asked = other, gold, _supported
    found = Gathering()
    rows = _questions(questions, gold, other, found)
    _read_corpus(corpus, found)
    made = [asked(row, at, found) for at, row in enumerate(rows)]
    return found.dataset(questions.stem, kind, made)


_KINDS = {"paragraphs": "musique", "supporting_facts": "hotpotqa or 2wiki"}
"""Key of questions that has their gold -> kinds of data sets that have it."""


def _questions(path: Path, gold: str, other: str, found: Gathering) -> list[JsonObject]:
    """Read a file of questions, and see whether it is of the kind that was named."""
    found.file(path)
    rows = [
        as_object(row, f"{path.name}[{at}]")
        for at, row in enumerate(as_list(read_json(path), path.name))
    ]
    if rows and all(row.get(gold) is None for row in rows):
        like = any(row.get(other) is not None for row in rows)
        hint = f"; it looks like {_KINDS[other]}" if like else ""
        raise SourceError(f"No question of {path.name} has {gold!r}, its gold{hint}.")
    return rows


def _musique_question(row: JsonObject, at: int, found: Gathering) -> RetrievalQuestion:
    name = text_of(row, "id", "_id", place=f"question {at}", default=str(at))
    place = f"question {name}"
    gold = []
    for paragraph in as_list(row.get("paragraphs", []), f"'paragraphs' of {place}"):
        of = as_object(paragraph, f"a paragraph of {place}")
        if of.get("is_supporting"):
            title = text_of(of, "title", place=place)
            text = text_of(of, "paragraph_text", "text", place=place)
            gold.append(found.find(name, title, text))
    return replace(_asked(row, name, place), gold_documents=tuple(gold))


def _asked(row: JsonObject, name: str, place: str) -> RetrievalQuestion:
    aliases = row.get("answer_aliases") or row.get("aliases") or []
    return RetrievalQuestion(
        id=name,
        text=text_of(row, "question", "text", place=place),
        answer=text_of(row, "answer", place=place, default="") or None,
        aliases=tuple(map(str, as_list(aliases, f"the aliases of {place}"))),
    )


def _supported(row: JsonObject, at: int, found: Gathering) -> RetrievalQuestion:
    name = text_of(row, "_id", "id", place=f"question {at}", default=str(at))
    place = f"question {name}"
    texts = dict(_context(row.get("context") or [], place))
    passages: dict[str, str] = {}
    sentences = []
    for fact in as_list(row.get("supporting_facts") or [], f"the facts of {place}"):
        title, number = _fact(fact, place)
        if title not in passages:
            passages[title] = found.find(name, title, texts.get(title))
        gold = passages[title]
        if gold in found.passages and not _has_sentence(found.passages[gold], number):
            message = (
                f"Gold sentence {number} of {title!r:.80}, question {name}, is not "
                "there: its passage counts, the sentence as never found."
            )
            found.tell("gold_missing", name, message)
        sentences.append(GoldSentence(document=gold, sentence=number))
    return replace(
        _asked(row, name, place),
        gold_documents=tuple(passages.values()),
        gold_sentences=tuple(sentences),
    )


def _context(value: Any, place: str) -> Iterator[tuple[str, str]]:
    for paragraph in as_list(value, f"'context' of {place}"):
        if isinstance(paragraph, list) and len(paragraph) == 2:
            title, sentences = paragraph
            if isinstance(title, str) and isinstance(sentences, list):
                yield title, " ".join(map(str, sentences))


def _fact(fact: Any, place: str) -> tuple[str, int]:
    if isinstance(fact, list) and len(fact) >= 2:
        title, number = fact[:2]
        if isinstance(title, str) and isinstance(number, int):
            return title, number
    raise SourceError(f"A fact of {place} is {shown(fact)}: [title, number] is wanted.")


def _has_sentence(passage: Passage, number: int) -> bool:
    """Return whether a passage has a sentence; unknown before it is split counts."""
    sentences = passage.sentences
    return number >= 0 and (sentences is None or number < len(sentences))


class _Titles(list[tuple[str, Any]]):
    """A JSON object as its members, repeated names too."""


def _read_corpus(path: Path, found: Gathering) -> None:
    found.file(path)
    value = read_json(path, pairs=_Titles)
    if isinstance(value, _Titles):
        for title, body in value:
            place = f"passage {title!r:.80} of {path.name}"
            if isinstance(body, str):
                found.add(title, body)
            else:
                found.add(title, "", sentences=as_texts(body, place))
        return
    for at, row in enumerate(as_list(value, path.name)):
        place = f"{path.name}[{at}]"
        of = as_object(dict(row) if isinstance(row, _Titles) else row, place)
        _add_passage(found, of, place)


def _add_passage(
    found: Gathering, row: JsonObject, place: str, identity: str | None = None
) -> None:
    title = text_of(row, "title", place=place, default="")
    if (ready := row.get("sentences")) is not None:
        sentences = as_texts(ready, f"'sentences' of {place}")
        found.add(title, "", sentences=sentences, identity=identity)
    else:
        text = text_of(row, "text", "paragraph_text", "contents", place=place)
        found.add(title, text, identity=identity)


def load_own(questions: Path, passages: Path) -> RetrievalDataset:
    """Return a data set in our own form."""
    found = Gathering()
    rows = found.objects(questions)
    for place, row in found.objects(passages):
        identity = text_of(row, "id", place=place, default="") or None
        _add_passage(found, row, place, identity)
    asked = [_own_question(row, place, found) for place, row in rows]
    return found.dataset(questions.stem, "jsonl", asked)


def _own_question(row: JsonObject, place: str, found: Gathering) -> RetrievalQuestion:
    name = text_of(row, "id", "_id", place=place, default=place)
    documents = [
        _passage(str(each), name, found)
        for each in as_list(row.get("gold_documents") or [], f"gold of {place}")
    ]
    sentences = []
    for each in as_list(row.get("gold_sentences") or [], f"gold of {place}"):
        of = as_object(each, f"a gold sentence of {place}")
        document = text_of(of, "document", place=f"a gold sentence of {place}")
        known = _passage(document, name, found, told=document in documents)
        sentences.append(_sentence(of.get("sentence"), known, name, found))
        documents.append(known)
    return replace(
        _asked(row, name, place),
        gold_documents=tuple(documents),
        gold_sentences=tuple(sentences),
    )


def _passage(name: str, question: str, found: Gathering, *, told: bool = False) -> str:
    """Return the id of a passage; one that no passage has is told of once."""
    for known in (name, folded(name)):
        if known in found.passages or (told and known == name):
            return known
    return found.missing(question, name)


def _sentence(
    value: Any, passage: str, question: str, found: Gathering
) -> GoldSentence:
    """Return a gold sentence given as number or as text; -1 where it is not there."""
    known = found.passages.get(passage)
    sentences = () if known is None else passage_sentences(known)
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
    if number < 0 and known is not None:
        message = (
            f"Gold sentence {value!r:.60} of question {question} is not in passage "
            f"{passage!r:.60}: the passage counts, the sentence as never found."
        )
        found.tell("gold_missing", question, message)
    return GoldSentence(document=passage, sentence=number)


_SPLITS = ("test", "dev", "train")


def load_beir(folder: Path, split: Path | None = None) -> RetrievalDataset:
    """Return a data set in the form of BEIR; judgements above 0 are gold, as grades."""
    if not folder.is_dir():
        msg = f"{folder} is no folder: name one with corpus.jsonl and queries.jsonl."
        raise SourceError(msg)
    judged = _judged(folder / "qrels", None if split is None else split.name)
    found = Gathering()
    queries = found.objects(folder / "queries.jsonl")
    found.file(judged)
    grades = _grades(judged)
    for place, row in found.objects(folder / "corpus.jsonl"):
        found.add(
            text_of(row, "title", place=place, default=""),
            text_of(row, "text", place=place, default=""),
            identity=text_of(row, "_id", "id", place=place),
        )
    texts: dict[str, str] = {}
    for place, row in queries:
        name = text_of(row, "_id", "id", place=place)
        if name in texts:
            message = f"Two queries have the id {name!r:.80}: the first is kept."
            found.tell("duplicate", name, message)
        texts.setdefault(name, text_of(row, "text", place=place))
    asked = [_query(name, texts, of, found) for name, of in grades.items()]
    left = len(texts.keys() - grades.keys())
    note = f"{left} queries have no judgement in {judged.name} and are not asked."
    known = [question for question in asked if question is not None]
    notes = (note,) if left else ()
    return found.dataset(folder.resolve().name, "beir", known, notes=notes)


def _judged(folder: Path, split: str | None) -> Path:
    for name in _SPLITS if split is None else (split,):
        path = folder / f"{name}.tsv"
        if path.is_file():
            return path
    wanted = " or ".join(f"{name}.tsv" for name in ((split,) if split else _SPLITS))
    raise SourceError(f"{folder} has no {wanted}: judgements are needed.")


def _grades(path: Path) -> dict[str, dict[str, int]]:
    """Return query id -> passage id -> grade."""
    grades: dict[str, dict[str, int]] = {}
    for number, row in enumerate(table_rows(path, tabs=True), start=2):
        try:
            query, passage = row["query-id"], row["corpus-id"]
            grades.setdefault(query, {})[passage] = int(row["score"])
        except (KeyError, ValueError) as error:
            raise SourceError(
                f"{path.name}:{number} is no judgement: query-id, corpus-id and a "
                "whole number as score are wanted, with tabs between them."
            ) from error
    return grades


def _query(
    name: str, texts: dict[str, str], grades: dict[str, int], found: Gathering
) -> RetrievalQuestion | None:
    """Return a query with what was judged relevant; None where it has no text."""
    if name not in texts:
        message = f"Query {name} is judged but not in queries.jsonl: it is left out."
        found.tell("unreadable", name, message)
        return None
    gold = {
        passage if passage in found.passages else found.missing(name, passage): grade
        for passage, grade in grades.items()
        if grade > 0
    }
    return RetrievalQuestion(
        id=name, text=texts[name], gold_documents=tuple(gold), grades=gold
    )


Contexts: TypeAlias = Literal["groups", "items"]

_DELIMITER = "|"
_LIST = re.compile(r"\s*\[\s*(?:[\"'\]]|\Z)")
"""How a list of texts begins; a text may begin with a bracket too: `[1] A note.`"""
_PUBLISHED = frozenset({
    "5abc624ffb99f7397ad6c34af2a482e6",  # 20qa-themes-gpt4omini-reasoning.csv
    "7e498bd5acfe63ca2f79de1f5c1ed50b",  # 50qa-seq-multihop-gpt4o-... .csv
})
"""Checksums of the two files for which tables of the seven algorithms are published."""


def load_goldens(questions: Path, *, contexts: Contexts = "groups") -> RetrievalDataset:
    """Return a data set made of DeepEval's questions and their contexts.

    A table has `input`, `expectedOutput` or `expected_output`, and `context`, a JSON
    list or texts with `|` between them; JSON is a list of objects of the same names.
    """
    found = Gathering()
    file = found.file(questions)
    kind = "context" if contexts == "groups" else "text"
    known: dict[tuple[str, ...], str] = {}
    asked = []
    for place, row in _golden_rows(questions):
        name = text_of(row, "id", "name", place=place, default="") or place
        texts = [t for t in _context_texts(row.get("context"), place) if t.strip()]
        groups: list[tuple[str, ...]] = [(each,) for each in texts]
        if texts and kind == "context":
            groups = [tuple(texts)]
        places = [at for group in groups for at in _places(group, kind, known, found)]
        answer = text_of(
            row, "expectedOutput", "expected_output", place=place, default=""
        )
        asked.append(
            RetrievalQuestion(
                id=name,
                text=text_of(row, "input", "question", place=place),
                answer=answer or None,
                gold_documents=tuple(document for document, _, _ in places),
                gold_sentences=tuple(
                    GoldSentence(document=document, sentence=number)
                    for document, first, last in places
                    for number in range(first, last + 1)
                ),
                gold_chunks=tuple(
                    GoldChunk(document=document, first=first, last=last)
                    for document, first, last in places
                ),
            )
        )
    told = packaged("knowtrail.eval", "texts.toml")["notes"]
    notes = [told["goldens"]]
    if file.checksum in _PUBLISHED:
        notes.append(told["goldens_published"])
    return found.dataset(questions.stem, "deepeval", asked, notes=tuple(notes))


def _places(
    group: tuple[str, ...], kind: str, known: dict[tuple[str, ...], str], to: Gathering
) -> list[tuple[str, int, int]]:
    """Return passage and ends of each text of a group, added where it is a new one."""
    sentences: list[str] = []
    ends = []
    for text in group:
        found = [text[span.start : span.end] for span in split_sentences(text)]
        ends.append((len(sentences), len(sentences) + len(found) - 1))
        sentences += found
    key = tuple(folded(text) for text in group)
    if key not in known:
        name = f"{kind} {len(known) + 1}"
        known[key] = to.add("", "", sentences=sentences, identity=name)
    return [(known[key], first, last) for first, last in ends]


def _golden_rows(path: Path) -> list[tuple[str, JsonObject]]:
    if path.suffix.lower() == ".json":
        value = read_json(path)
        if isinstance(value, dict) and "goldens" in value:
            value = value["goldens"]
        named = enumerate(as_list(value, path.name))
        placed = ((f"{path.name}[{at}]", row) for at, row in named)
        return [(place, as_object(row, place)) for place, row in placed]
    table = enumerate(table_rows(path), start=2)
    rows = [(f"{path.name}:{at}", row) for at, row in table]
    if rows and not {"input", "context"} <= rows[0][1].keys():
        found = ", ".join(rows[0][1])[:200]
        msg = f"{path} has the columns {found}: 'input' and 'context' are needed."
        raise SourceError(msg)
    return rows


def _context_texts(value: Any, place: str) -> Sequence[str]:
    if value is None:
        return ()
    if isinstance(value, str):
        if not _LIST.match(value):
            return [text.strip() for text in value.split(_DELIMITER)]
        value = json_value(value, f"The context of {place}")
    return as_texts(value, f"The context of {place}")


_PAIR = "QUESTIONS.json,CORPUS.json"

_LOADERS: dict[str, tuple[Callable[..., RetrievalDataset], int, int, str]] = {
    "musique": (partial(load_paragraphs, kind="musique"), 2, 2, _PAIR),
    "hotpotqa": (partial(load_paragraphs, kind="hotpotqa"), 2, 2, _PAIR),
    "2wiki": (partial(load_paragraphs, kind="2wiki"), 2, 2, _PAIR),
    "beir": (load_beir, 1, 2, "FOLDER[,SPLIT]"),
    "deepeval": (load_goldens, 1, 1, "QUESTIONS.csv (or .json)"),
    "jsonl": (load_own, 2, 2, "QUESTIONS.jsonl,PASSAGES.jsonl"),
}
"""Kind -> what loads it, the fewest and most paths, how they are written."""

DATASET_KINDS = tuple(_LOADERS)
"""Kinds of data sets."""


def load_dataset(
    kind: str, paths: Sequence[Path | str], *, contexts: Contexts = "groups"
) -> RetrievalDataset:
    """Return a data set with its corpus and gold, checked."""
    if kind not in _LOADERS:
        msg = f"No data sets of kind {kind!r:.40}: use {', '.join(DATASET_KINDS)}."
        raise InputError(msg)
    loader, fewest, most, form = _LOADERS[kind]
    if not fewest <= len(paths) <= most or not all(map(str, paths)):
        raise InputError(f"Data sets of kind {kind} are written {kind}:{form}.")
    given = tuple(Path(path) for path in paths)
    return loader(*given, contexts=contexts) if kind == "deepeval" else loader(*given)


def read_specification(text: str, *, contexts: Contexts = "groups") -> RetrievalDataset:
    """Return the data set of a specification, `KIND:PATH[,PATH]`."""
    kind, colon, rest = text.partition(":")
    if not colon or not rest:
        raise InputError(
            f"{text!r:.80} names no data set: write KIND:QUESTIONS,CORPUS with a kind "
            f"of {', '.join(DATASET_KINDS)}."
        )
    return load_dataset(kind, rest.split(","), contexts=contexts)

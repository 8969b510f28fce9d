"""DeepEval's questions, as CSV or JSON: the corpus is what their contexts say.

Such files hold the texts that answer each question, not the articles that these come
from. So the corpus is the union of the contexts: one passage for each distinct context
(a group of texts), or, with `contexts="items"`, one for each distinct text. This is a
smaller and easier corpus than the one that was asked originally.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from knowtrail.eval.datasets.gathering import (
    PassageIndex,
    Problems,
    as_list,
    as_object,
    as_texts,
    dataset_of,
    folded,
    read_table,
    source_file,
    text_of,
)
from knowtrail.eval.retrieval.dataset import GoldChunk, GoldSentence, RetrievalQuestion
from knowtrail.graph.errors import SourceError
from knowtrail.graph.files import json_value, read_json
from knowtrail.ingest.sentences import split_sentences

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from knowtrail.eval.datasets.gathering import JsonObject
    from knowtrail.eval.retrieval.dataset import RetrievalDataset, SourceFile

Contexts: TypeAlias = Literal["groups", "items"]

_DELIMITER = "|"
_LIST = re.compile(r"\s*\[\s*(?:[\"'\]]|\Z)")
"""How a list of texts begins; a text may begin with a bracket too: `[1] A note.`"""
_NOTE = (
    "The corpus is the union of the questions' contexts, not the articles that they "
    "were made of: figures published for those articles cannot be reproduced with it."
)
_PUBLISHED = frozenset({
    "5abc624ffb99f7397ad6c34af2a482e6",  # 20qa-themes-gpt4omini-reasoning.csv
    "7e498bd5acfe63ca2f79de1f5c1ed50b",  # 50qa-seq-multihop-gpt4o-... .csv
})
"""Checksums of the two files for which tables of the seven algorithms are published."""
_ARTICLES = (
    "The tables published for this file are of ten articles that are no part of it; "
    "such articles, as Wikipedia has them today, are fetched by: knowtrail ingest "
    'wikipedia --topic "Machine Learning" --topic "Artificial Intelligence" '
    "--articles-per-topic 5 --corpus articles"
)


def load_goldens(questions: Path, *, contexts: Contexts = "groups") -> RetrievalDataset:
    """Return a data set made of DeepEval's questions and their contexts.

    Args:
        questions: CSV with `input`, `expectedOutput` or `expected_output`, and
            `context`, a JSON list or texts with `|` between them; or JSON, a list of
            objects of the same names.
        contexts: Whether a passage is a context, which is a group of texts, or a text.

    Raises:
        SourceError: If the file is no good.
    """
    rows, file = _rows(questions)
    problems = Problems()
    corpus = _Contexts(PassageIndex(problems), contexts)
    found = []
    for place, row in rows:
        name = text_of(row, "id", "name", place=place, default="") or place
        texts = _texts(row.get("context"), place)
        answer = text_of(
            row, "expectedOutput", "expected_output", place=place, default=""
        )
        found.append(
            corpus.question(
                name,
                text_of(row, "input", "question", place=place),
                answer or None,
                [text for text in texts if text.strip()],
            )
        )
    return dataset_of(
        questions.stem,
        "deepeval",
        index=corpus.index,
        questions=found,
        files=(file,),
        problems=problems,
        notes=(_NOTE, _ARTICLES) if file.checksum in _PUBLISHED else (_NOTE,),
    )


class _Contexts:
    """Passages made of contexts, each once."""

    def __init__(self, index: PassageIndex, contexts: Contexts) -> None:
        self.index = index
        self._whole = contexts == "groups"
        self._known: dict[tuple[str, ...], str] = {}

    def question(
        self, name: str, text: str, answer: str | None, texts: Sequence[str]
    ) -> RetrievalQuestion:
        """Return a question, its context being its gold."""
        groups = [tuple(texts)] if self._whole else [(each,) for each in texts]
        documents: list[str] = []
        sentences: list[GoldSentence] = []
        chunks: list[GoldChunk] = []
        for group in groups if texts else ():
            passage, stretches = self._passage(group)
            documents.append(passage)
            for first, last in stretches:
                chunks.append(GoldChunk(document=passage, first=first, last=last))
                sentences += [
                    GoldSentence(document=passage, sentence=number)
                    for number in range(first, last + 1)
                ]
        return RetrievalQuestion(
            id=name,
            text=text,
            answer=answer,
            gold_documents=tuple(documents),
            gold_sentences=tuple(sentences),
            gold_chunks=tuple(chunks),
        )

    def _passage(self, group: tuple[str, ...]) -> tuple[str, list[tuple[int, int]]]:
        """Return the id of a group's passage and where its texts are in it."""
        sentences: list[str] = []
        stretches = []
        for text in group:
            found = [text[span.start : span.end] for span in split_sentences(text)]
            stretches.append((len(sentences), len(sentences) + len(found) - 1))
            sentences += found
        key = tuple(folded(text) for text in group)
        if key not in self._known:
            kind = "context" if self._whole else "text"
            name = f"{kind} {len(self._known) + 1}"
            self._known[key] = self.index.add(
                "", "", sentences=sentences, identity=name
            )
        return self._known[key], stretches


def _rows(path: Path) -> tuple[list[tuple[str, JsonObject]], SourceFile]:
    """Return the rows of the file with their places."""
    if path.suffix.lower() == ".json":
        file, value = source_file(path), read_json(path)
        if isinstance(value, dict) and "goldens" in value:
            value = value["goldens"]
        named = enumerate(as_list(value, path.name))
        placed = ((f"{path.name}[{at}]", row) for at, row in named)
        return [(place, as_object(row, place)) for place, row in placed], file
    table, file = read_table(path)
    rows = [(f"{path.name}:{at}", row) for at, row in enumerate(table, start=2)]
    if rows and not {"input", "context"} <= rows[0][1].keys():
        found = ", ".join(rows[0][1])[:200]
        msg = f"{path} has the columns {found}: 'input' and 'context' are needed."
        raise SourceError(msg)
    return rows, file


def _texts(value: Any, place: str) -> Sequence[str]:
    """Return the texts of a context, in whichever form it is written."""
    if value is None:
        return ()
    if isinstance(value, str):
        if not _LIST.match(value):
            return [text.strip() for text in value.split(_DELIMITER)]
        value = json_value(value, f"The context of {place}")
    return as_texts(value, f"The context of {place}")

"""Folders in the form of BEIR: corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowtrail.eval.datasets.gathering import (
    PassageIndex,
    Problems,
    dataset_of,
    json_objects,
    read_table,
    text_of,
)
from knowtrail.eval.retrieval.dataset import RetrievalQuestion
from knowtrail.graph.errors import SourceError

if TYPE_CHECKING:
    from pathlib import Path

    from knowtrail.eval.retrieval.dataset import RetrievalDataset, SourceFile

_SPLITS = ("test", "dev", "train")


def load_beir(folder: Path, split: Path | None = None) -> RetrievalDataset:
    """Return a data set in the form of BEIR; judgements above 0 are gold, with grades.

    Raises:
        SourceError: If a file is missing or no good.
    """
    if not folder.is_dir():
        msg = f"{folder} is no folder: name one with corpus.jsonl and queries.jsonl."
        raise SourceError(msg)
    judged = _judged(folder / "qrels", None if split is None else split.name)
    passages, corpus_file = json_objects(folder / "corpus.jsonl")
    queries, query_file = json_objects(folder / "queries.jsonl")
    problems = Problems()
    index = PassageIndex(problems)
    for place, row in passages:
        index.add(
            text_of(row, "title", place=place, default=""),
            text_of(row, "text", place=place, default=""),
            identity=text_of(row, "_id", "id", place=place),
        )
    grades, judged_file = _grades(judged)
    texts: dict[str, str] = {}
    for place, row in queries:
        name = text_of(row, "_id", "id", place=place)
        if name in texts:
            message = f"Two queries have the id {name!r:.80}: the first is kept."
            problems.tell("duplicate", name, message)
        texts.setdefault(name, text_of(row, "text", place=place))
    questions = [
        _question(name, texts, of, index, problems) for name, of in grades.items()
    ]
    left = len(texts.keys() - grades.keys())
    note = f"{left} queries have no judgement in {judged.name} and are not asked."
    return dataset_of(
        folder.resolve().name,
        "beir",
        index=index,
        questions=[question for question in questions if question is not None],
        files=(query_file, judged_file, corpus_file),
        problems=problems,
        notes=(note,) if left else (),
    )


def _judged(folder: Path, split: str | None) -> Path:
    """Return the file of judgements."""
    for name in _SPLITS if split is None else (split,):
        path = folder / f"{name}.tsv"
        if path.is_file():
            return path
    wanted = " or ".join(f"{name}.tsv" for name in ((split,) if split else _SPLITS))
    raise SourceError(f"{folder} has no {wanted}: judgements are needed.")


def _grades(path: Path) -> tuple[dict[str, dict[str, int]], SourceFile]:
    """Return query id -> passage id -> grade, in the order of the file."""
    rows, file = read_table(path, tabs=True)
    found: dict[str, dict[str, int]] = {}
    for number, row in enumerate(rows, start=2):
        try:
            query, passage = row["query-id"], row["corpus-id"]
            found.setdefault(query, {})[passage] = int(row["score"])
        except (KeyError, ValueError) as error:
            raise SourceError(
                f"{path.name}:{number} is no judgement: query-id, corpus-id and a "
                "whole number as score are wanted, with tabs between them."
            ) from error
    return found, file


def _question(
    name: str,
    texts: dict[str, str],
    grades: dict[str, int],
    index: PassageIndex,
    problems: Problems,
) -> RetrievalQuestion | None:
    """Return a query with what was judged relevant; None where it has no text."""
    if name not in texts:
        message = f"Query {name} is judged but not in queries.jsonl: it is left out."
        problems.tell("unreadable", name, message)
        return None
    gold = {
        passage if passage in index else index.missing(name, passage): grade
        for passage, grade in grades.items()
        if grade > 0
    }
    return RetrievalQuestion(
        id=name, text=texts[name], gold_documents=tuple(gold), grades=gold
    )

"""Questions of a corpus with candidate chunks, to be judged."""

from __future__ import annotations

import json
from itertools import zip_longest
from typing import TYPE_CHECKING

from graph.errors import InputError, SourceError
from graph.progress import silent
from retrieval.recording import question_id
from retrieval.rerank.datasets import Document, Query, QueryDocuments
from retrieval.search import search

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from graph.connection import Connection
    from graph.embedders import Embedder
    from graph.language_models import LanguageModel
    from graph.progress import Progress
    from graph.settings import Settings
    from retrieval.hits import Hit
    from retrieval.walk import ChunkText

__all__ = ["bundled_questions", "candidates", "questions_of_file", "stored_questions"]

STAGE = "Finding candidates"
_ALL = 1_000_000


def stored_questions(connection: Connection, corpus: str) -> list[str]:
    """Return the questions that were asked of a corpus, the earliest first.

    Raises:
        InputError: If there are none.
    """
    rows = connection.read("eval/zelo_questions", corpus=corpus, limit=_ALL)
    if not rows:
        msg = (
            f"Corpus {corpus!r} has no questions: ask some with knowtrail traverse, or "
            "give --questions FILE, or --bundled for those of the quick start."
        )
        raise InputError(msg)
    return [row["question"] for row in rows]


def bundled_questions() -> list[str]:
    """Return the questions that travel with the quick start's corpus."""
    from ingest.bundled import questions

    return [str(row["question"]) for row in questions()]


def questions_of_file(path: Path) -> Iterator[str]:
    """Yield the questions of a file: a text a line, or an object with `question`.

    Args:
        path: JSON Lines, or plain text.

    Yields:
        One question a line; blank lines are passed over.

    Raises:
        SourceError: If the file cannot be read or a line has no question.
    """
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield _question(line, f"{path}, line {number}")
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror or error}."
        raise SourceError(msg) from error
    except UnicodeDecodeError as error:
        msg = f"{path} is not UTF-8 text: {error.reason}."
        raise SourceError(msg) from error


def _question(line: str, where: str) -> str:
    """Return the question of a line."""
    if not line.lstrip().startswith("{"):
        return line.strip()
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        msg = f"{where} is no JSON: {error}."
        raise SourceError(msg) from error
    value = row.get("question", row.get("query"))
    if not isinstance(value, str) or not value.strip():
        msg = f"{where}: question is {str(value)[:80]!r}: write a text."
        raise SourceError(msg)
    return value


def candidates(
    connection: Connection,
    questions: Iterable[str],
    *,
    corpus: str,
    algorithms: Sequence[str],
    count: int = 20,
    embedder: Embedder | None = None,
    model: LanguageModel | None = None,
    settings: Settings | None = None,
    progress: Progress = silent,
) -> Iterator[QueryDocuments]:
    """Yield questions with the chunks that algorithms find for them.

    A question that comes twice is taken once. Query ids are those of the graph, and
    document ids those of the chunks, so that judgements find their way back. Several
    algorithms take turns: the best of each, then the second best, each chunk once.

    Args:
        connection: The database.
        questions: What is asked.
        corpus: Name of the corpus.
        algorithms: Names of algorithms.
        count: Chunks wanted of each algorithm.
        embedder: As in `search`.
        model: As in `search`.
        settings: As in `search`.
        progress: Told of each question.

    Yields:
        One query a question; metadata has title, document and, where there is one,
        address: not the rank, which would sway who judges.

    Raises:
        KnowtrailError: As `search`.
    """
    seen: set[str] = set()
    for question in questions:
        name = question_id(corpus, question)
        if name in seen:
            continue
        seen.add(name)
        rankings = [
            search(
                connection,
                embedder,
                question,
                corpus=corpus,
                algorithm=algorithm,
                k=count,
                model=model,
                settings=settings,
            ).hits
            for algorithm in algorithms
        ]
        documents = tuple(_in_turns(rankings))
        yield QueryDocuments(query=Query(id=name, query=question), documents=documents)
        progress(STAGE, len(seen), None)


def _in_turns(rankings: Sequence[Sequence[Hit]]) -> Iterator[Document]:
    """Yield the best of each ranking, then the second best, each chunk once."""
    seen: set[str] = set()
    for hits in zip_longest(*rankings):
        for hit in hits:
            if hit is not None and hit.chunk.id not in seen:
                seen.add(hit.chunk.id)
                yield _document(hit.chunk)


def _document(chunk: ChunkText) -> Document:
    """Return a chunk as a candidate."""
    metadata = {"title": chunk.title, "document": chunk.document_id}
    if chunk.url:
        metadata["url"] = chunk.url
    return Document(id=chunk.id, content=chunk.text, metadata=metadata)

"""Queries with candidate documents, and with scores: JSON Lines, one query a line.

    {"query": {"id", "query"}, "documents": [{"id", "content", "metadata"}]}

An annotated file has a number `score` in every document besides; higher is more
relevant, and scores of different queries are not comparable. `metadata` may be left
out, blank lines and keys that are not named here are passed over. Query ids are unique
in a file and document ids in a query.

Files are read as a stream: one line is in memory at a time. They are written beside
their place and moved there when they are whole, so what stands there is never half a
file.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowtrail.graph.errors import InputError, SourceError
from knowtrail.graph.files import read_json_lines, whole_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What is asked; its id is unique in a file."""

    id: str
    query: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A candidate; its id is unique in a query, `metadata` any JSON."""

    id: str
    content: str
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatedDocument(Document):
    """A candidate with a score, a finite number; higher is more relevant."""

    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryDocuments:
    """A query with its candidates, in the order of the file."""

    query: Query
    documents: tuple[Document, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatedQueryDocuments:
    """A query with scored candidates, in the order of the file."""

    query: Query
    documents: tuple[AnnotatedDocument, ...] = ()


def read_queries(path: str | Path) -> Iterator[QueryDocuments]:
    """Yield the queries of a file, annotated or not, with their documents.

    Raises:
        SourceError: If the file cannot be read or a line is no good; the message has
            the file's name, the line's number and what is wrong.
    """
    for where, query, rows in _checked_lines(Path(path)):
        documents = tuple(_document(row, where) for row in rows)
        yield QueryDocuments(query=query, documents=documents)


def read_annotated(path: str | Path) -> Iterator[AnnotatedQueryDocuments]:
    """Yield the queries of an annotated file with their scored documents.

    Raises:
        SourceError: If the file cannot be read or a line is no good, such as a
            document without a score or with one that is no finite number.
    """
    for where, query, rows in _checked_lines(Path(path)):
        documents = tuple(
            AnnotatedDocument(
                **_fields(_document(row, where)), score=_score(row, where)
            )
            for row in rows
        )
        yield AnnotatedQueryDocuments(query=query, documents=documents)


def write_queries(path: str | Path, items: Iterable[QueryDocuments]) -> int:
    """Write queries with their documents, whole or not at all; return how many.

    Raises:
        InputError: If an id comes twice or a score is no finite number.
        StorageError: If the file cannot be written.
    """
    return _write(Path(path), items)


def write_annotated(path: str | Path, items: Iterable[AnnotatedQueryDocuments]) -> int:
    """Do as `write_queries` does, with scores; see there."""
    return _write(Path(path), items)


def _checked_lines(path: Path) -> Iterator[tuple[str, Query, list[dict[str, Any]]]]:
    """Yield where a line stands, its query and its documents as they came."""
    seen: dict[str, int] = {}
    for number, value in read_json_lines(path):
        where = f"{path}, line {number}"
        row = _object(value, where)
        query = _query(row, where)
        if query.id in seen:
            msg = (
                f"{where}: query id {_shown(query.id)} is that of line "
                f"{seen[query.id]} too: give each query an id of its own."
            )
            raise SourceError(msg)
        seen[query.id] = number
        yield where, query, _rows(row, f"{where}, query {_shown(query.id)}")


def _object(row: object, where: str) -> dict[str, Any]:
    """Return a line that is an object."""
    if not isinstance(row, dict):
        msg = f"{where}: write an object with query and documents, not {_shown(row)}."
        raise SourceError(msg)
    return row


def _query(row: dict[str, Any], where: str) -> Query:
    """Return the query of a line."""
    value = row.get("query")
    if not isinstance(value, dict):
        msg = f"{where}: query is {_shown(value)}: write an object with id and query."
        raise SourceError(msg)
    return Query(
        id=_text(value, "id", f"{where}, query"),
        query=_text(value, "query", f"{where}, query"),
    )


def _rows(row: dict[str, Any], where: str) -> list[dict[str, Any]]:
    """Return the documents of a line, which are objects with different ids."""
    rows = row.get("documents")
    if not isinstance(rows, list):
        msg = f"{where}: documents is {_shown(rows)}: write a list."
        raise SourceError(msg)
    seen = set()
    for place, document in enumerate(rows):
        if not isinstance(document, dict):
            msg = f"{where}: document {place} is {_shown(document)}: write an object."
            raise SourceError(msg)
        name = document.get("id")
        if isinstance(name, str) and name in seen:
            msg = (
                f"{where}: document id {_shown(name)} comes twice: give each document "
                "of a query an id of its own."
            )
            raise SourceError(msg)
        seen.add(name if isinstance(name, str) else None)
    return rows


def _document(row: dict[str, Any], where: str) -> Document:
    """Return a document of a line."""
    name = _text(row, "id", f"{where}, document")
    about = f"{where}, document {_shown(name)}"
    metadata = row.get("metadata", {})
    if not isinstance(metadata, dict):
        msg = f"{about}: metadata is {_shown(metadata)}: write an object."
        raise SourceError(msg)
    return Document(id=name, content=_text(row, "content", about), metadata=metadata)


def _score(row: dict[str, Any], where: str) -> float:
    """Return the score of a document."""
    score = row.get("score")
    number = isinstance(score, int | float) and not isinstance(score, bool)
    try:
        if number and math.isfinite(float(score)):  # type: ignore[arg-type]
            return float(score)  # type: ignore[arg-type]
    except OverflowError:
        pass
    said = _shown(score) if "score" in row else "missing"
    msg = (
        f"{where}, document {_shown(row['id'])}: score is {said}: write a finite "
        "number, or leave the document out where it has none."
    )
    raise SourceError(msg)


def _text(row: dict[str, Any], name: str, where: str) -> str:
    """Return a text that says something."""
    value = row.get(name)
    if isinstance(value, str) and value.strip():
        return value
    said = "empty" if isinstance(value, str) else _shown(value)
    if name not in row:
        said = "missing"
    msg = f"{where}: {name} is {said}: write a text that is not empty."
    raise SourceError(msg)


def _fields(document: Document) -> dict[str, Any]:
    """Return what a document without a score consists of."""
    return {
        "id": document.id,
        "content": document.content,
        "metadata": document.metadata,
    }


def _write(
    path: Path, items: Iterable[QueryDocuments | AnnotatedQueryDocuments]
) -> int:
    """Write queries as lines; return how many."""
    seen: set[str] = set()
    with whole_file(path) as file:
        for item in items:
            name = item.query.id
            if name in seen:
                msg = f"Query id {_shown(name)} comes twice in what goes to {path}."
                raise InputError(msg)
            seen.add(name)
            file.write(_line(item) + "\n")
    return len(seen)


def _line(item: QueryDocuments | AnnotatedQueryDocuments) -> str:
    """Return a query as JSON; half a character is written as an escape."""
    documents: list[dict[str, Any]] = []
    seen = set()
    for document in item.documents:
        row = _fields(document)
        if document.id in seen:
            msg = (
                f"Document id {_shown(document.id)} comes twice in query "
                f"{_shown(item.query.id)}."
            )
            raise InputError(msg)
        seen.add(document.id)
        if isinstance(document, AnnotatedDocument):
            if not math.isfinite(document.score):
                msg = (
                    f"The score of document {_shown(document.id)} in query "
                    f"{_shown(item.query.id)} is {document.score}: leave the document "
                    "out."
                )
                raise InputError(msg)
            row["score"] = float(document.score)
        documents.append(row)
    query = {"id": item.query.id, "query": item.query.query}
    line = {"query": query, "documents": documents}
    text = json.dumps(line, ensure_ascii=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(line)
    return text


def _shown(value: object) -> str:
    """Return a value as a message shows it, on one line and not for long."""
    return repr(value)[:80]

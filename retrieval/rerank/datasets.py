"""Queries with candidate documents, and with scores: JSON Lines, one query a line.

    {"query": {"id", "query"}, "documents": [{"id", "content", "metadata"}]}

An annotated file has a number `score` in every document besides; higher is more
relevant, and scores of different queries are not comparable. `metadata` may be left
out, blank lines and keys that are not named here are passed over. Query ids are unique
in a file and document ids in a query.

Files are read as a stream: one line is in memory at a time. They are written beside
their place and moved there when they are whole, so what stands there is never half a
file.

While a file is being annotated, a file `.NAME.scores.jsonl` stands beside the target
with one line a query: a key made of the reranker, the query and its documents, and the
scores. A run finds there what an earlier one has scored, so that nothing is computed or
paid for twice; what belongs to another reranker or to changed texts has another key.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowtrail.graph.cli.progress import silent
from knowtrail.graph.errors import InputError, SourceError
from knowtrail.graph.files import read_json_lines, whole_file
from knowtrail.graph.files.journal import State
from knowtrail.ingest.keys import content_key
from knowtrail.retrieval.rerank.order import achecked_scores

if TYPE_CHECKING:
    from knowtrail.graph.cli.progress import Progress
    from knowtrail.retrieval.rerank.base import BaseReranker


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

    def scored(self, score: float) -> AnnotatedDocument:
        """Return the candidate with a score."""
        own = {one.name: getattr(self, one.name) for one in fields(Document)}
        return AnnotatedDocument(**own, score=score)


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

    Raises `SourceError` with the file's name, the line's number and what is wrong.
    """
    for where, query, rows in _checked_lines(Path(path)):
        documents = tuple(_document(row, where) for row in rows)
        yield QueryDocuments(query=query, documents=documents)


def read_annotated(path: str | Path) -> Iterator[AnnotatedQueryDocuments]:
    """Yield the queries of an annotated file with their scored documents.

    Raises `SourceError` as `read_queries` does, and for a score that is no number.
    """
    for where, query, rows in _checked_lines(Path(path)):
        documents = tuple(
            _document(row, where).scored(_score(row, where)) for row in rows
        )
        yield AnnotatedQueryDocuments(query=query, documents=documents)


def write_queries(
    path: str | Path, items: Iterable[QueryDocuments | AnnotatedQueryDocuments]
) -> int:
    """Write queries with their documents, whole or not at all; return how many.

    Raises `InputError` if an id comes twice or a score is no finite number.
    """
    seen: set[str] = set()
    with whole_file(Path(path)) as file:
        for item in items:
            name = item.query.id
            if name in seen:
                msg = f"Query id {_shown(name)} comes twice in what goes to {path}."
                raise InputError(msg)
            seen.add(name)
            file.write(_line(item) + "\n")
    return len(seen)


def write_annotated(path: str | Path, items: Iterable[AnnotatedQueryDocuments]) -> int:
    """Do as `write_queries` does, with scores; see there."""
    return write_queries(path, items)


def _checked_lines(path: Path) -> Iterator[tuple[str, Query, list[dict[str, Any]]]]:
    """Yield where a line stands, its query and its documents as they came."""
    seen: dict[str, int] = {}
    for number, value in read_json_lines(path):
        where = f"{path}, line {number}"
        row = _object(value, where)
        query = _query(row, where)
        if query.id in seen:
            raise SourceError(
                f"{where}: query id {_shown(query.id)} is that of line "
                f"{seen[query.id]} too: give each query an id of its own."
            )
        seen[query.id] = number
        yield where, query, _rows(row, f"{where}, query {_shown(query.id)}")


def _object(row: object, where: str) -> dict[str, Any]:
    if not isinstance(row, dict):
        msg = f"{where}: write an object with query and documents, not {_shown(row)}."
        raise SourceError(msg)
    return row


def _query(row: dict[str, Any], where: str) -> Query:
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
        raise SourceError(f"{where}: documents is {_shown(rows)}: write a list.")
    seen = set()
    for place, document in enumerate(rows):
        if not isinstance(document, dict):
            msg = f"{where}: document {place} is {_shown(document)}: write an object."
            raise SourceError(msg)
        name = document.get("id")
        if isinstance(name, str) and name in seen:
            raise SourceError(
                f"{where}: document id {_shown(name)} comes twice: give each document "
                "of a query an id of its own."
            )
        seen.add(name if isinstance(name, str) else None)
    return rows


def _document(row: dict[str, Any], where: str) -> Document:
    name = _text(row, "id", f"{where}, document")
    about = f"{where}, document {_shown(name)}"
    metadata = row.get("metadata", {})
    if not isinstance(metadata, dict):
        raise SourceError(f"{about}: metadata is {_shown(metadata)}: write an object.")
    return Document(id=name, content=_text(row, "content", about), metadata=metadata)


def _score(row: dict[str, Any], where: str) -> float:
    score = row.get("score")
    number = isinstance(score, int | float) and not isinstance(score, bool)
    try:
        if number and math.isfinite(float(score)):  # type: ignore[arg-type]
            return float(score)  # type: ignore[arg-type]
    except OverflowError:
        pass
    said = _shown(score) if "score" in row else "missing"
    raise SourceError(
        f"{where}, document {_shown(row['id'])}: score is {said}: write a finite "
        "number, or leave the document out where it has none."
    )


def _text(row: dict[str, Any], name: str, where: str) -> str:
    value = row.get(name)
    if isinstance(value, str) and value.strip():
        return value
    said = "empty" if isinstance(value, str) else _shown(value)
    if name not in row:
        said = "missing"
    raise SourceError(f"{where}: {name} is {said}: write a text that is not empty.")


def _line(item: QueryDocuments | AnnotatedQueryDocuments) -> str:
    """Return a query as JSON; half a character is written as an escape."""
    seen = set()
    for document in item.documents:
        name, query = _shown(document.id), _shown(item.query.id)
        if document.id in seen:
            raise InputError(f"Document id {name} comes twice in query {query}.")
        seen.add(document.id)
        if not math.isfinite(score := getattr(document, "score", 0.0)):
            raise InputError(
                f"The score of document {name} in query {query} is {score}: leave the "
                "document out."
            )
    text = json.dumps(asdict(item), ensure_ascii=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(asdict(item))
    return text


def _shown(value: object) -> str:
    """Return a value as a message shows it, on one line and not for long."""
    return repr(value)[:80]


STAGE = "Scoring queries"


async def annotate(
    reranker: BaseReranker,
    source: str | Path,
    target: str | Path,
    *,
    document_limit: int | None = None,
    progress: Progress | None = None,
) -> int:
    """Score every document of a file; see `BaseReranker.annotate`."""
    if document_limit is not None and document_limit < 1:
        raise InputError(
            f"The document limit is {document_limit}: give 1 or more, or leave it out."
        )
    await asyncio.to_thread(_check_places, Path(source), Path(target))
    path = scores_path(target)
    with await asyncio.to_thread(
        State, path.parent, name=path.name, sync_seconds=1.0
    ) as kept:
        items = (_limited(item, document_limit) for item in read_queries(source))
        await _score_all(reranker, items, kept, progress or silent)
        done = (
            _annotated(item, kept.get(_key(reranker, item)))
            for item in (_limited(one, document_limit) for one in read_queries(source))
        )
        count = await asyncio.to_thread(write_annotated, target, done)
        await asyncio.to_thread(kept.remove)
    return count


def scores_path(target: str | Path) -> Path:
    """Return where the scores are kept while a target is being made."""
    path = Path(target)
    return path.with_name(f".{path.name[:200]}.scores.jsonl")


def _limited(item: QueryDocuments, limit: int | None) -> QueryDocuments:
    return QueryDocuments(query=item.query, documents=item.documents[:limit])


async def _score_all(
    reranker: BaseReranker,
    items: Iterator[QueryDocuments],
    kept: State,
    progress: Progress,
) -> None:
    """Score what is not known, as many queries at once as the reranker takes."""
    # Where one fails or this is cancelled, those under way end first and are kept.
    running: set[asyncio.Task[None]] = set()
    done = 0

    async def one(item: QueryDocuments, key: str) -> None:
        texts = [document.content for document in item.documents]
        kept.put(key, await achecked_scores(reranker, item.query.query, texts))

    try:
        for item in items:
            key = _key(reranker, item)
            if key not in kept:
                running.add(asyncio.create_task(one(item, key)))
            if len(running) >= max(1, reranker.concurrency):
                running = await left(running, asyncio.FIRST_COMPLETED)
            done += 1
            progress(STAGE, done, None)
        while running:
            running = await left(running, asyncio.FIRST_EXCEPTION)
    finally:
        if running:
            await asyncio.gather(*running, return_exceptions=True)


async def left(running: set[asyncio.Task[None]], when: str) -> set[asyncio.Task[None]]:
    """Wait for tasks; return those that are not done, or raise what one has raised."""
    # Unlike gather, wait leaves the tasks alone where this one is cancelled.
    done, waiting = await asyncio.wait(running, return_when=when)
    for task in done:
        task.result()
    return waiting


def _annotated(item: QueryDocuments, scores: list[float]) -> AnnotatedQueryDocuments:
    return AnnotatedQueryDocuments(
        query=item.query,
        documents=tuple(
            document.scored(score)
            for document, score in zip(item.documents, scores, strict=True)
        ),
    )


def _key(reranker: BaseReranker, item: QueryDocuments) -> str:
    """Return what tells a query's scores from all others."""
    texts = (document.content for document in item.documents)
    return content_key(reranker.fingerprint, item.query.query, *texts)


def _check_places(source: Path, target: Path) -> None:
    """Refuse places of which it is known before the work that they are no good."""
    if not source.exists():
        msg = f"There is no file {source}: give queries with documents as JSON Lines."
        raise InputError(msg)
    if not target.absolute().parent.is_dir():
        msg = f"There is no folder {target.absolute().parent}: make it, or choose."
        raise InputError(msg)
    if target.is_dir():
        raise InputError(f"{target} is a folder: name a file.")

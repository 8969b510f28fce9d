"""What pictures are made of, read from Neo4j in bounded amounts."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from knowtrail.graph.batches import batched
from knowtrail.graph.errors import InputError
from knowtrail.graph.vectors import vector_array
from knowtrail.ingest.corpus import asked_corpora
from knowtrail.retrieval.views.layout import Segment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from knowtrail.graph.db.connection import Connection
    from knowtrail.retrieval.views.layout import Matrix

MAX_CHUNKS = 60_000
"""Chunks that a matrix is made of at most: 90 MB at 384 dimensions."""

LETTERS = 400
_BATCH = 500
_TITLES = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PicturedDocument:
    """A document and how many chunks it has."""

    id: str
    title: str
    chunks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A chunk, its place in its document, and at most 400 characters of its text."""

    id: str
    document: str
    title: str
    index: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Passages:
    """Chunks with their vectors, one a row."""

    rows: tuple[Passage, ...]
    vectors: Matrix

    def ordered(self, by: Callable[[Passage], Any]) -> Passages:
        """Return the same chunks in another order."""
        order = sorted(range(len(self.rows)), key=lambda n: by(self.rows[n]))
        rows = tuple(self.rows[n] for n in order)
        return Passages(rows=rows, vectors=self.vectors[order])


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A SIMILAR_TO between two chunks, by their ids."""

    source: str
    target: str
    score: float
    scope: str


def find_document(
    connection: Connection, name: str, *, corpus: str | None = None
) -> PicturedDocument:
    """Find the one document of a title, alias or id; a refusal suggests near titles."""
    rows = connection.read(
        "retrieval/view_document", corpus=corpus, document=name, limit=20
    )
    named = [row for row in rows if name in {row["id"], row["title"]}] or rows
    usual = asked_corpora(row["corpus"] for row in named)
    named = [row for row in named if row["corpus"] in usual] or named
    if len(named) == 1:
        (row,) = named
        return PicturedDocument(id=row["id"], title=row["title"], chunks=row["chunks"])
    if named:
        places = ", ".join(f"{row['corpus']} ({row['id']})" for row in named[:5])
        msg = f"Several documents are called {name!r}: name --corpus or an id: {places}"
        raise InputError(msg)
    stored = connection.read("retrieval/view_titles", corpus=corpus, limit=_TITLES)
    titles = sorted({row["title"] for row in stored})
    near = difflib.get_close_matches(name, titles, n=3, cutoff=0.5)
    hint = (
        f"did you mean {' or '.join(map(repr, near))}?"
        if near
        else ("knowtrail cypher --saved documents lists them.")
    )
    raise InputError(f"No document {name[:200]!r}: {hint}")


def read_documents(connection: Connection, corpus: str) -> tuple[PicturedDocument, ...]:
    """Return every document of a corpus, by id."""
    rows = connection.stream("retrieval/view_documents", corpus=corpus)
    return tuple(PicturedDocument(**row) for row in rows)


def read_sample(
    connection: Connection, documents: Sequence[str], *, every: int = 1
) -> Passages:
    """Return the chunks of documents whose place `every` divides, in order."""
    return _passages(
        row
        for ids in batched(documents, 50)
        for row in connection.stream(
            "retrieval/view_sample", documents=ids, every=every, letters=LETTERS
        )
    )


def read_passages(connection: Connection, ids: Sequence[str]) -> Passages:
    """Return chunks by id; those that are gone are missing."""
    return _passages(
        row
        for some in batched(ids, _BATCH)
        for row in connection.stream("retrieval/view_chunks", ids=some, letters=LETTERS)
    )


def read_edges(
    connection: Connection, ids: Sequence[str], *, rank: int
) -> Iterator[Edge]:
    """Yield the similarities of chunks up to a rank of each scope."""
    for some in batched(ids, _BATCH):
        for row in connection.stream("retrieval/view_edges", ids=some, rank=rank):
            yield Edge(**row)


def segments_of(passages: Sequence[Passage]) -> tuple[Segment, ...]:
    """Return the runs of neighbouring chunks, in the given order."""
    runs: list[list[Passage]] = []
    for row in passages:
        last = runs[-1][-1] if runs else None
        if last and last.document == row.document and last.index + 1 == row.index:
            runs[-1].append(row)
        else:
            runs.append([row])
    return tuple(
        Segment(
            document=run[0].document,
            title=run[0].title,
            first=run[0].index,
            length=len(run),
        )
        for run in runs
    )


def _passages(rows: Iterable[Any]) -> Passages:
    passages, vectors = [], []
    for row in rows:
        values = dict(row)
        vectors.append(vector_array(values.pop("vector")))
        passages.append(Passage(**values))
    matrix = np.stack(vectors) if vectors else np.empty((0, 1), dtype=np.float32)
    return Passages(rows=tuple(passages), vectors=matrix)

"""A graph held in numpy arrays and dictionaries, which every reader is measured by."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from knowtrail.retrieval.cosine import cosines, ranked
from knowtrail.retrieval.filter_clauses import NONE_OF, AllOf, AnyOf
from knowtrail.retrieval.projection import Moments, Projection, fit_projection
from knowtrail.retrieval.protocols import (
    SAMPLE,
    Candidates,
    TermsFound,
    Visit,
    anchor_hits,
    answered,
)
from knowtrail.retrieval.rerank.bm25 import bm25_scores

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knowtrail.retrieval.filter_clauses import Clause
    from knowtrail.retrieval.filters import Filter
    from knowtrail.retrieval.protocols import (
        Nearest,
        Request,
        Response,
        StoredSentence,
        Vector,
    )
    from knowtrail.retrieval.walk import ChunkText

LOOKED = 2 * SAMPLE
"""Members of a broad term that are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class MemoryGraph:
    """One corpus in memory; what is by chunk id is in document order, edges in theirs.

    Attributes:
        chunks: The chunks, those of a document in order.
        vectors: Their vectors, row by row, of shape (chunks, dimensions).
        chunk_properties: Chunk id -> further properties that filters may name.
        documents: Document id -> properties, with `themes` and `categories`.
        loose: Sentences that no chunk holds.
        names: Chunk id -> names of the terms it names.
    """

    chunks: tuple[ChunkText, ...]
    vectors: Vector
    sentences: Mapping[str, tuple[StoredSentence, ...]]
    edges: Mapping[str, tuple[str, ...]]
    chunk_properties: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    documents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    loose: tuple[StoredSentence, ...] = ()
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class MemoryReader:
    """A `GraphReader` and `AsyncGraphReader` over a `MemoryGraph`."""

    def __init__(self, graph: MemoryGraph, *, filter: Filter | None = None) -> None:  # noqa: A002 - the word callers know
        """Prepare a reader of what passes, at the anchor and at every hop."""
        self._vectors = np.asarray(graph.vectors, dtype=np.float64)
        self._graph = graph
        self._row = {chunk.id: row for row, chunk in enumerate(graph.chunks)}
        self._passing = [
            row
            for row, chunk in enumerate(graph.chunks)
            if filter is None or matches(filter, *self._properties(chunk))
        ]
        self._allowed = {graph.chunks[row].id for row in self._passing}
        self._members: defaultdict[str, list[str]] = defaultdict(list)
        for chunk in graph.chunks:
            for name in graph.names.get(chunk.id, ()):
                self._members[name].append(chunk.id)
        self._moments: tuple[Moments, Moments] | None = None
        self._projection: Projection | None = None

    def anchors(
        self,
        vector: Vector,
        k: int,
        *,
        documents: bool = False,
        words: str = "",
        texts: int = 0,
    ) -> Candidates:
        """Return the `anchor_hits(k)` nearest chunks in the order of the graph."""
        ids = [self._graph.chunks[row].id for row in self._passing]
        vectors = self._vectors[self._passing]
        order = ranked(ids, cosines(vector, vectors))
        hits = anchor_hits(k)
        best = sorted(order[:hits]) if k else []
        by_words: list[str] = []
        if words:
            all_texts = [self._graph.chunks[row].text for row in self._passing]
            found = np.array(bm25_scores(words, all_texts))
            having = [i for i in ranked(ids, found) if found[i] > 0][:hits]
            best = sorted({*best, *having})
            by_words = [ids[i] for i in having]
        around = [*best, *order[hits:texts]]
        chunks = [self._graph.chunks[self._passing[i]] for i in around]
        return Candidates(
            ids=tuple(chunk.id for chunk in chunks),
            vectors=vectors[best],
            complete=len(best) == len(ids),
            documents=tuple(chunk.document_id for chunk in chunks),
            by_words=tuple(by_words),
            texts=[chunk.text for chunk in chunks] if texts else (),
        )

    def expand(
        self, chunk_ids: Sequence[str], *, neighbours: bool = True
    ) -> Mapping[str, Visit]:
        """Return chunks with their sentences and, if wanted, their neighbours."""
        return {
            chunk_id: self._visit(chunk_id, neighbours=neighbours)
            for chunk_id in chunk_ids
            if chunk_id in self._row
        }

    def homes(self, sentence_ids: Sequence[str]) -> Candidates:
        """Return for each sentence the first chunk of the graph that holds it."""
        wanted = set(sentence_ids)
        homes: dict[str, int] = {}
        for row, chunk in enumerate(self._graph.chunks):
            for sentence in self._graph.sentences.get(chunk.id, ()):
                if sentence.id in wanted:
                    homes.setdefault(sentence.id, row)
        found = [i for i in sentence_ids if i in homes]
        rows = [homes[i] for i in found]
        return Candidates(
            ids=tuple(self._graph.chunks[row].id for row in rows),
            vectors=self._vectors[rows],
            sentences=tuple((i,) for i in found),
        )

    def projection(self, query: Vector | None = None) -> Projection:
        """Return the main axes of all chunks, or those fitted to a question too."""
        if self._moments is None:
            sentences = {
                s.id: s.vector for of in self._graph.sentences.values() for s in of
            }
            sentences.update((s.id, s.vector) for s in self._graph.loose)
            chunks = Moments.of(self._vectors)
            both = chunks
            if sentences:
                both += Moments.of(np.stack(list(sentences.values())))
            self._moments = chunks, both
        chunks, both = self._moments
        if query is not None:
            return fit_projection(both, query)
        if self._projection is None:
            self._projection = fit_projection(chunks)
        return self._projection

    def terms(
        self,
        chunk_ids: Sequence[str],
        names: Sequence[str],
        *,
        members: bool = False,
        nearest: Nearest | None = None,
    ) -> TermsFound:
        """Return the terms of chunks, those of some names, and who names them."""
        known = [name for name in names if name in self._members]
        ids = [i for i in chunk_ids if i in self._row]
        if members:
            ids += [i for n in known for i in self._members[n] if i in self._allowed]
        if members and nearest is not None:
            ids += [i for n in nearest.names for i in self._near(n, nearest)]
        named = {i: self._graph.names.get(i, ()) for i in ids}
        of_chunks = (name for found in named.values() for name in found)
        return TermsFound(
            chunks=len(self._graph.chunks),
            counts={name: len(self._members[name]) for name in (*known, *of_chunks)},
            named=named,
            texts={i: self._graph.chunks[self._row[i]].text for i in named},
            titles={i: self._graph.chunks[self._row[i]].title for i in named},
        )

    def _near(self, name: str, nearest: Nearest) -> list[str]:
        """Return the members of a broad term that are opened.

        Those of the last chunks are looked at: a database reads first what came last.
        """
        looked_at = self._members[name][-LOOKED:]
        ids = sorted(i for i in looked_at if i in self._allowed)[:SAMPLE]
        scores = cosines(nearest.vector, self._vectors[[self._row[i] for i in ids]])
        return [ids[place] for place in ranked(ids, scores)[: nearest.most]]

    async def aanswer(self, request: Request) -> Response:
        """Answer as the methods do."""
        return answered(self, request)

    def _visit(self, chunk_id: str, *, neighbours: bool) -> Visit:
        around = self._graph.edges.get(chunk_id, ()) if neighbours else ()
        ids = tuple(i for i in around if i in self._allowed)
        return Visit(
            chunk=self._graph.chunks[self._row[chunk_id]],
            sentences=self._graph.sentences.get(chunk_id, ()),
            neighbours=Candidates(
                ids=ids,
                vectors=self._vectors[[self._row[i] for i in ids]],
                sentences=tuple(
                    tuple(s.id for s in self._graph.sentences.get(i, ())) for i in ids
                ),
            ),
            vector=None if neighbours else self._vectors[self._row[chunk_id]],
        )

    def _properties(
        self, chunk: ChunkText
    ) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """Return what filters see of a chunk and of its document."""
        of_chunk = {
            "id": chunk.id,
            "text": chunk.text,
            "index": chunk.index,
            "firstSentence": chunk.first_sentence,
            "lastSentence": chunk.last_sentence,
            "startChar": chunk.start_char,
            "endChar": chunk.end_char,
            **self._graph.chunk_properties.get(chunk.id, {}),
        }
        of_document = {
            "id": chunk.document_id,
            "title": chunk.title,
            "url": chunk.url,
            "source": chunk.source,
            **self._graph.documents.get(chunk.document_id, {}),
        }
        return of_chunk, of_document


def matches(
    given: Filter, chunk: Mapping[str, Any], document: Mapping[str, Any]
) -> bool:
    """Return whether a chunk passes, by its properties and those of its document.

    They have the names of the graph; `themes` and `categories` list names.
    """
    return holds(given.clause, chunk, document)


def holds(
    clause: Clause, chunk: Mapping[str, Any], document: Mapping[str, Any]
) -> bool:
    """Return whether a clause holds, as `cypher_of`'s would."""
    if isinstance(clause, AllOf):
        return all(holds(part, chunk, document) for part in clause.parts)
    if isinstance(clause, AnyOf):
        return any(holds(part, chunk, document) for part in clause.parts)
    field = clause.field
    if field.owner == "chunk":
        return _test(clause.operator, chunk.get(field.name), clause.value)
    if not field.many:
        return _test(clause.operator, document.get(field.name), clause.value)
    key = {"theme": "themes", "category": "categories"}.get(field.owner, field.name)
    operator = NONE_OF.get(clause.operator, clause.operator)
    found = any(_test(operator, v, clause.value) for v in document.get(key) or ())
    return found if operator == clause.operator else not found


def _test(operator: str, value: Any, operand: Any) -> bool:
    """Compare a value as Cypher does; what Cypher calls null is false."""
    if value is None:
        return False
    if operator in {"$in", "$nin"}:
        found = any(_equal(value, member) for member in operand)
        return found if operator == "$in" else not found
    if operator in {"$eq", "$ne"}:
        return _equal(value, operand) == (operator == "$eq")
    if operator == "$like":
        return isinstance(value, str) and operand in value
    if operator == "$ilike":
        return isinstance(value, str) and operand.lower() in value.lower()
    if operator == "$between":
        low, high = operand
        return _ordered(low, value, equal=True) and _ordered(value, high, equal=True)
    if operator in {"$lt", "$lte"}:
        return _ordered(value, operand, equal=operator == "$lte")
    return _ordered(operand, value, equal=operator == "$gte")


def _kind(value: object) -> str:
    """Return the group of types within which Cypher compares."""
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else type(value).__name__


def _equal(left: Any, right: Any) -> bool:
    """Return whether two values are equal in Cypher: true is not 1."""
    return _kind(left) == _kind(right) and bool(left == right)


def _ordered(low: Any, high: Any, *, equal: bool) -> bool:
    if _kind(low) != _kind(high) or _kind(low) not in {"boolean", "number", "str"}:
        return False
    return bool(low <= high if equal else low < high)

"""The graph in a snapshot: rows in SQLite, vectors mapped into memory, no server asked.

Anchors are found by one float32 product over the vectors of the chunks that pass; the
best of it, with all whose place float32 cannot tell, are compared again in float64, so
that they are those of an exact search. A hop reads the few rows that it shows. Filters
are SQL: what passes is found by an index, not document by document.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from knowtrail.graph.errors import FilterError, VectorError
from knowtrail.graph.files.packaged import packaged
from knowtrail.retrieval.cosine import cosines, ranked
from knowtrail.retrieval.filter_clauses import NONE_OF, AllOf, Compare
from knowtrail.retrieval.projection import Moments, Projection, fit_projection
from knowtrail.retrieval.protocols import (
    SAMPLE,
    AnchorRequest,
    Candidates,
    Later,
    ProjectionRequest,
    StoredSentence,
    TermsFound,
    Visit,
    anchor_hits,
    answered,
)
from knowtrail.retrieval.rerank.bm25 import words as words_of
from knowtrail.retrieval.snapshot.files import (
    LONG_PROPERTIES,
    ROW_BYTES,
    KeptTerms,
    sql_value,
    unpacked,
)
from knowtrail.retrieval.walk import ChunkText

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from knowtrail.retrieval.filter_clauses import Clause, Field
    from knowtrail.retrieval.filters import Filter
    from knowtrail.retrieval.protocols import Nearest, Request, Response, Vector
    from knowtrail.retrieval.snapshot.files import Rows, Snapshot

_MARGIN = 1e-5
"""More than a float32 product of unit vectors can be wrong by."""
_FEW = 8
"""A filter that passes less than one chunk of so many has only these compared."""
_BLOCK = 65_536
_MOST_CHUNKS = 50_000
_WORD_FETCH = 1_000
_SQL: dict[str, Any] = packaged(__package__, "snapshot.toml")
_CHUNK, _SENTENCE = _SQL["columns"]["chunk"], _SQL["columns"]["sentence"]


class _Texts(Mapping[str, str]):
    """Texts of some chunks, read when they are looked at: few are."""

    def __init__(self, snapshot: Snapshot, places: dict[str, tuple[int, int]]) -> None:
        self._snapshot = snapshot
        self._places = places

    def __getitem__(self, chunk_id: str) -> str:
        start, stop = self._places[chunk_id]
        return _text(self._snapshot.texts[start:stop])

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def _text(text: bytes) -> str:
    return str(text, "utf-8", "surrogatepass")


class SnapshotReader:
    """A `GraphReader` and `AsyncGraphReader` over a snapshot; safe among threads.

    The snapshot stays open as long as the reader is used. Where it turns out to be
    damaged, every method raises `SnapshotError`. So many chunks are `compared` where
    anchors are looked for.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        *,
        filter: Filter | None = None,  # noqa: A002 - the word callers know
    ) -> None:
        """Prepare a reader of what passes, at the anchor and at every hop."""
        self.snapshot = snapshot
        self._vectors = snapshot.vectors
        self._passing = None if filter is None else passing(snapshot, filter)
        self.compared = len(self._vectors if self._passing is None else self._passing)

    def anchors(
        self,
        vector: Vector,
        k: int,
        *,
        documents: bool = False,
        words: str = "",
        texts: int = 0,
    ) -> Candidates:
        """Return the `anchor_hits(k)` nearest chunks, in the order of the snapshot.

        Raises:
            SnapshotError: If the snapshot is damaged.
            VectorError: If the vector has another length than those of the corpus.
        """
        if len(vector) != self.snapshot.facts.dimensions:
            raise VectorError(
                f"The question's vector has {len(vector)} dimensions, the snapshot's "
                f"{self.snapshot.facts.dimensions}: use the corpus's embedder."
            )
        hits = anchor_hits(k)
        with self.snapshot.reading():
            rows, complete = np.empty(0, dtype=np.int64), False
            if k or texts:
                rows, complete = self._nearest(vector, max(hits, texts))
            query = _SQL["documents"] if documents else _SQL["ids"]
            columns = self._found(query, rows)
            vectors = self._vectors[rows].astype(np.float64)
            if len(rows) > hits:
                order = ranked(list(columns[0]), cosines(vector, vectors))
                best = [*sorted(order[:hits]), *order[hits:texts]]
                rows = rows[best]
                vectors = vectors[best[:hits]]
                columns = [tuple([column[i] for i in best]) for column in columns]
            worded = self._having(words, hits)
            if more := sorted({*worded}.difference(rows.tolist())):
                rows = np.array([*rows.tolist(), *more])
                columns = self._found(query, rows)
                vectors = self._vectors[rows].astype(np.float64)
            places = {row: place for place, row in enumerate(rows.tolist())}
            cuts = self._found(_SQL["cuts"], rows) if texts else ((), ())
            bounds = zip(*cuts, strict=True)
            return Candidates(
                ids=columns[0],
                vectors=vectors,
                complete=complete and len(rows) <= hits,
                documents=columns[1] if documents else (),
                by_words=tuple(columns[0][places[row]] for row in worded),
                texts=[_text(self.snapshot.texts[a:b]) for a, b in bounds],
            )

    def _having(self, words: str, hits: int) -> list[int]:
        """Return rows of chunks with some words, best first by BM25."""
        asked = " OR ".join(f'"{word}"' for word in dict.fromkeys(words_of(words)))
        if not asked:
            return []
        found = self.snapshot.sql.execute(
            _SQL["worded"], (asked, _WORD_FETCH)
        ).fetchall()
        rows = np.array([row for (row,) in found], dtype=np.int64)
        best: list[int] = rows[self._allowed(rows)][:hits].tolist()
        return best

    def _nearest(self, vector: Vector, hits: int) -> tuple[Rows, bool]:
        """Return rows among which the nearest are, and whether they are all."""
        chunks, rows = len(self._vectors), self._passing
        if (count := chunks if rows is None else len(rows)) <= hits:
            return np.arange(chunks) if rows is None else rows, True
        unit = vector / (float(np.sqrt((vector * vector).sum())) or 1.0)
        scores = self._scores(unit.astype(np.float32))
        least = np.partition(scores, count - hits)[-hits]
        near = np.flatnonzero(scores >= least - _MARGIN)
        return near if rows is None else rows[near], False

    def _scores(self, unit: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        rows, scales = self._passing, self.snapshot.scales
        if rows is not None and len(rows) * _FEW < len(self._vectors):
            parts = [rows[i : i + _BLOCK] for i in range(0, len(rows), _BLOCK)]
            found = [(self._vectors[part] @ unit) * scales[part] for part in parts]
            return np.concatenate(found)
        scores = self._vectors @ unit
        scores *= scales
        return scores if rows is None else scores[rows]

    def expand(
        self, chunk_ids: Sequence[str], *, neighbours: bool = True
    ) -> Mapping[str, Visit]:
        """Return chunks with their sentences and, if wanted, their neighbours."""
        with self.snapshot.reading():
            found = {
                row[1]: row for row in self.snapshot.of(_SQL["chunks"], list(chunk_ids))
            }
            sentences = self._sentences([row[9] for row in found.values()])
            return {
                chunk_id: self._visit(found[chunk_id], sentences, neighbours=neighbours)
                for chunk_id in chunk_ids
                if chunk_id in found
            }

    def homes(self, sentence_ids: Sequence[str]) -> Candidates:
        """Return for each sentence the first chunk that holds it."""
        with self.snapshot.reading():
            found = self.snapshot.of(_SQL["homes"], list(sentence_ids))
            rows = np.array([row for _, row, _ in found], dtype=np.int64)
            return Candidates(
                ids=tuple(chunk_id for _, _, chunk_id in found),
                vectors=self._vectors[rows].astype(np.float64),
                sentences=tuple((sentence_id,) for sentence_id, _, _ in found),
            )

    def projection(self, query: Vector | None = None) -> Projection:
        """Return the main axes of all chunks, or those fitted to a question."""
        snapshot, d = self.snapshot, self.snapshot.facts.dimensions
        with snapshot.reading():
            if query is None:
                return Projection.unpacked(snapshot.numbers("projection"))
            both = Moments.none(d)
            for name in ("chunks", "sentences"):
                sums = snapshot.numbers(name).reshape(d + 1, d)
                count = getattr(snapshot.facts, name)
                both += Moments(count=count, total=sums[0], outer=sums[1:])
            return fit_projection(both, query)

    def terms(
        self,
        chunk_ids: Sequence[str],
        names: Sequence[str],
        *,
        members: bool = False,
        nearest: Nearest | None = None,
    ) -> TermsFound:
        """Return the terms of chunks, those of some names, and who names them."""
        with self.snapshot.reading():
            asked = self.snapshot.of(_SQL["named"], list(names))
            rows = [row for (row,) in self.snapshot.of(_SQL["rows"], list(chunk_ids))]
            if members:
                found = unpacked(*(chunks for _, _, chunks in asked))
                rows += found[self._allowed(found)].tolist()
            if nearest is not None:
                rows += self._near(nearest)
            return self._found_terms([row for row, _, _ in asked], rows)

    def _found_terms(self, asked: list[int], rows: list[int]) -> TermsFound:
        """Return some terms, and some chunks with theirs."""
        kept = self.snapshot.kept
        wanted = set(rows)
        self._keep(kept, set(asked), wanted)
        chunks = [kept.chunks[row] for row in wanted]
        known = set(asked).union(*(terms for _, terms, *_ in chunks))
        if len(kept.chunks) > _MOST_CHUNKS:
            self.snapshot.kept = KeptTerms()
        return TermsFound(
            chunks=self.snapshot.facts.chunks,
            counts=dict([kept.terms[row] for row in known]),
            named={chunk_id: names for chunk_id, _, names, *_ in chunks},
            texts=_Texts(self.snapshot, {key: (a, b) for key, _, _, a, b, _ in chunks}),
            titles={chunk_id: title for chunk_id, *_, title in chunks},
        )

    def _keep(self, kept: KeptTerms, asked: set[int], rows: set[int]) -> None:
        """Read what is not known yet of some terms, and of some chunks."""
        missing = [row for row in rows if row not in kept.chunks]
        chunks = self.snapshot.of(_SQL["chunk_terms"], missing)
        listed = unpacked(*(terms for _, _, terms, *_ in chunks)).tolist()
        unknown = [row for row in asked.union(listed) if row not in kept.terms]
        for row, name, size in self.snapshot.of(_SQL["terms"], unknown):
            kept.terms[row] = name, size
        names = [kept.terms[row][0] for row in listed]
        begin = 0
        for row, key, terms, start, stop, title in chunks:
            end = begin + len(terms) // ROW_BYTES
            own = tuple(listed[begin:end])
            listed_names = tuple(names[begin:end])
            kept.chunks[row] = key, own, listed_names, start, stop, title
            begin = end

    def _near(self, nearest: Nearest) -> list[int]:
        """Return the rows of the members of broad terms that are opened."""
        found: list[int] = []
        for name in nearest.names:
            for _, _, chunks in self.snapshot.of(_SQL["named"], [name]):
                rows = unpacked(chunks)  # in the order of their ids, and so of ties
                rows = rows[self._allowed(rows)][:SAMPLE]
                vectors = self._vectors[rows].astype(np.float64)
                scores = cosines(nearest.vector, vectors)
                order = np.argsort(-scores, kind="stable")
                found += rows[order[: nearest.most]].tolist()
        return found

    async def aanswer(self, request: Request) -> Response:
        """Answer as the methods do; in a thread where it may take long."""
        fits = isinstance(request, ProjectionRequest) and request.query is not None
        if fits or isinstance(request, AnchorRequest):
            return await asyncio.to_thread(answered, self, request)
        return answered(self, request)

    def _visit(
        self,
        chunk: tuple[Any, ...],
        sentences: Mapping[int, StoredSentence],
        *,
        neighbours: bool,
    ) -> Visit:
        row, chunk_id, *places, members, around, ids, document_id, head = chunk
        title, url, source = json.loads(head)
        *places, text_start, text_stop = places
        text = _text(self.snapshot.texts[text_start:text_stop])
        told = (chunk_id, text, *places, document_id, title, url, source)
        rows = unpacked(around) if neighbours else unpacked()
        near = json.loads(ids) if neighbours else []
        if self._passing is not None:
            kept = np.flatnonzero(self._allowed(rows))
            rows, near = rows[kept], [near[i] for i in kept]
        return Visit(
            chunk=ChunkText(**dict(zip(_CHUNK, told, strict=True))),
            sentences=tuple([sentences[s] for s in unpacked(members).tolist()]),
            neighbours=Candidates(
                ids=tuple(near),
                vectors=self._vectors[rows].astype(np.float64),
                sentences=Later(partial(self._members, rows), len(rows)),
            ),
            vector=None if neighbours else self._vectors[row].astype(np.float64),
        )

    def _sentences(self, members: Sequence[bytes]) -> dict[int, StoredSentence]:
        """Return the sentences that some chunks list, by their rows."""
        found = self.snapshot.of(_SQL["sentences"], unpacked(*members).tolist())
        rows = [row for row, *_ in found]
        vectors = self.snapshot.sentence_vectors[rows].astype(np.float64)
        return {
            row: StoredSentence(
                **dict(zip(_SENTENCE, (key, _text(text), *places, vector), strict=True))
            )
            for (row, key, text, *places), vector in zip(found, vectors, strict=True)
        }

    def _members(self, rows: Rows) -> list[tuple[str, ...]]:
        """Return the ids of the sentences of some chunks."""
        with self.snapshot.reading():
            ids = self._found(_SQL["members"], rows)[0]
            return [tuple(members) for members in json.loads(f"[{','.join(ids)}]")]

    def _found(self, query: str, rows: Rows) -> list[tuple[str, ...]]:
        """Return the columns that a query finds after the row, in the order of rows."""
        wanted = rows.tolist()
        found = self.snapshot.of(query, wanted)
        if [row[0] for row in found] != wanted:
            at = {row[0]: row for row in found}
            found = [at[row] for row in wanted]
        return list(zip(*found, strict=True))[1:] or [(), ()]

    def _allowed(self, rows: Rows) -> npt.NDArray[np.bool_]:
        passing = self._passing
        if passing is None or not len(passing):
            return np.full(len(rows), passing is None)
        places = np.searchsorted(passing, rows).clip(max=len(passing) - 1)
        return np.asarray(passing[places] == rows)


_KEPT = 16
_ORDER = {"$lt": "<", "$lte": "<=", "$gt": ">", "$gte": ">="}
_CONTAINS = {"$like": "instr(value, ?) > 0", "$ilike": "lower_has(value, ?)"}


def passing(snapshot: Snapshot, wanted: Filter) -> Rows:
    """Return the rows of the chunks that pass, in order; the last few are kept."""
    key = repr(wanted.clause)
    if (known := snapshot.passing.get(key)) is None:
        test, values = _clause(wanted.clause)
        with snapshot.reading():
            most = snapshot.sql.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER)
        if len(values) > most:
            msg = f"The filter has {len(values):,} values: the most is {most:,}."
            raise FilterError(msg)
        with snapshot.reading():
            query = f"SELECT row FROM chunk WHERE {test}"  # noqa: S608 - clauses of ours
            found = snapshot.sql.execute(query, values)
            known = np.sort(np.fromiter((row for (row,) in found), dtype=np.int64))
        if len(snapshot.passing) >= _KEPT:
            snapshot.passing.pop(next(iter(snapshot.passing)), None)
        snapshot.passing[key] = known
    return known


def _clause(clause: Clause) -> tuple[str, list[Any]]:
    """Return a clause as a test of a chunk's row, and its values."""
    if not isinstance(clause, Compare):
        parts = [_clause(part) for part in clause.parts]
        word = " AND " if isinstance(clause, AllOf) else " OR "
        test = f"({word.join(part for part, _ in parts)})"
        return test, [value for _, values in parts for value in values]
    field, operator = clause.field, clause.operator
    none_of = field.many and operator in NONE_OF
    if none_of:
        operator = NONE_OF[operator]
    source, names = _source(field)
    test, values = _test(operator, clause.value)
    column = "row" if field.owner == "chunk" else "document"
    word = "NOT IN" if none_of else "IN"
    found = f"SELECT owner FROM ({source}) WHERE {test}"  # noqa: S608 - as above
    return f"{column} {word} ({found})", [*names, *values]


def _source(field: Field) -> tuple[str, list[str]]:
    """Return where the values of a field stand: owner, kind and value."""
    if field.owner == "chunk" and field.name in _SQL["chunk_values"]:
        return _SQL["chunk_values"][field.name], []
    if field.owner == "document" and field.name in LONG_PROPERTIES:
        return _SQL["long_values"], [f"$.properties.{field.name}"] * 3
    return _SQL["values"], [f"{field.owner}.{field.name}"]


def _test(operator: str, operand: Any) -> tuple[str, list[Any]]:
    """Return an operator as a test of kind and value; what is null is false."""
    if operator in {"$ne", "$nin"}:
        test, values = _test(NONE_OF[operator], operand)
        return f"NOT ({test})", values
    if operator == "$between":
        low, high = (sql_value(end) for end in operand)
        return "kind = ? AND value >= ? AND kind = ? AND value <= ?", [*low, *high]
    if operator == "$in":
        of_kind: dict[int, list[Any]] = {}
        for kind, value in map(sql_value, operand):
            of_kind.setdefault(kind, []).append(value)
        tests = [
            f"kind = {kind} AND value IN ({', '.join('?' * len(values))})"
            for kind, values in of_kind.items()
        ]
        found = [value for values in of_kind.values() for value in values]
        return " OR ".join(tests) or "0", found
    kind, value = sql_value(operand)
    if operator in _CONTAINS:
        return f"kind = {kind} AND {_CONTAINS[operator]}", [value]
    return f"kind = {kind} AND value {_ORDER.get(operator, '=')} ?", [value]

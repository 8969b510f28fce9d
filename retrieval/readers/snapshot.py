"""The graph in a snapshot: files mapped into memory, no server asked.

Anchors are found by one float32 product over all chunk vectors; the best of it, with
all whose place float32 cannot tell, are compared again in float64, so that they are
those of an exact search. A hop copies the few rows that it shows into float64.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from knowtrail.graph.errors import InputError, SnapshotError, VectorError
from knowtrail.retrieval.cosine import cosines, ranked
from knowtrail.retrieval.projection import AXES, Moments, Projection, fit_projection
from knowtrail.retrieval.protocols import (
    SAMPLE,
    Candidates,
    StoredSentence,
    TermsFound,
    Visit,
    anchor_hits,
)
from knowtrail.retrieval.snapshot.layout import rebuild_hint
from knowtrail.retrieval.snapshot.mapped import passing
from knowtrail.retrieval.walk import ChunkText

if TYPE_CHECKING:
    import numpy.typing as npt

    from knowtrail.retrieval.filters import Filter
    from knowtrail.retrieval.protocols import Nearest, Vector
    from knowtrail.retrieval.snapshot.mapped import Head, MappedSnapshot

    Rows = npt.NDArray[np.int64]
    from knowtrail.retrieval.snapshot.mapped import TextColumn

_MARGIN = 1e-5
"""More than a float32 product of unit vectors can be wrong by."""
_HEADS = 10_000


class _Members(Sequence[tuple[str, ...]]):
    """The sentences' ids of some chunks, read when they are looked at: few ask."""

    def __init__(self, reader: SnapshotReader, rows: Rows) -> None:
        self._reader = reader
        self._rows = rows
        self._ids: list[tuple[str, ...]] | None = None

    def __len__(self) -> int:
        """Return the number of chunks."""
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> tuple[str, ...]: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[tuple[str, ...]]: ...

    def __getitem__(
        self, place: int | slice
    ) -> tuple[str, ...] | Sequence[tuple[str, ...]]:
        """Return the ids of the sentences of one chunk, or of several."""
        if self._ids is None:
            self._ids = self._reader.members(self._rows)
        return self._ids[place]


class SnapshotReader:
    """A `GraphReader` and `AsyncGraphReader` over a snapshot; safe among threads.

    Attributes:
        snapshot: The snapshot, which stays open as long as the reader is used.
    """

    def __init__(
        self,
        snapshot: MappedSnapshot,
        *,
        filter: Filter | None = None,  # noqa: A002 - the word callers know
    ) -> None:
        """Prepare a reader.

        Args:
            snapshot: The corpus.
            filter: What chunks must pass, at the anchor and at every hop.

        Raises:
            SnapshotError: If the snapshot is damaged.
        """
        self.snapshot = snapshot
        self._columns, self._texts = snapshot.columns, snapshot.texts
        self._vectors = snapshot.columns["chunk_vectors"]
        self._scales = snapshot.columns["chunk_scales"]
        self._heads: dict[int, Head] = snapshot.heads
        self._passing: npt.NDArray[np.bool_] | None = None
        if filter is not None:
            with self._sound():
                self._passing = passing(snapshot, filter)
        self._count = (
            len(self._vectors)
            if self._passing is None
            else int(np.count_nonzero(self._passing))
        )

    def anchors(
        self, vector: Vector, k: int, *, documents: bool = False, words: str = ""
    ) -> Candidates:
        """Return the `anchor_hits(k)` nearest chunks, in the order of the snapshot.

        Raises:
            InputError: If words are looked for, which snapshots have no index of.
            SnapshotError: If the snapshot is damaged.
            VectorError: If the vector has another length than those of the corpus.
        """
        if words:
            msg = (
                "A snapshot has no full-text index: use the reader 'cypher' or 'auto'."
            )
            raise InputError(msg)
        if len(vector) != self.snapshot.facts.dimensions:
            msg = (
                f"The question's vector has {len(vector)} dimensions, the snapshot's "
                f"{self.snapshot.facts.dimensions}: use the corpus's embedder."
            )
            raise VectorError(msg)
        hits = anchor_hits(k)
        with self._sound():
            rows = self._nearest(vector, hits)
            ids = self._ids("chunk_ids", rows)
            vectors = self._vectors[rows].astype(np.float64)
            if len(ids) > hits:
                best = sorted(ranked(ids, cosines(vector, vectors))[:hits])
                rows, vectors = rows[best], vectors[best]
                ids = [ids[i] for i in best]
            heads = self._columns["chunk_documents"][rows].tolist()
            return Candidates(
                ids=tuple(ids),
                vectors=vectors,
                complete=self._count <= hits,
                documents=tuple([self._head(row)[0] for row in heads]),
            )

    def _nearest(self, vector: Vector, hits: int) -> Rows:
        """Return the rows among which the nearest are, by one pass in float32."""
        if self._count <= hits:
            if self._passing is None:
                return np.arange(self._count)
            return np.flatnonzero(self._passing)
        length = float(np.sqrt((vector * vector).sum())) or 1.0
        scores = self._vectors @ (vector / length).astype(np.float32)
        scores *= self._scales
        if self._passing is not None:
            scores[~self._passing] = -np.inf
        least = np.partition(scores, len(scores) - hits)[-hits]
        return np.flatnonzero(scores >= least - _MARGIN)

    def expand(
        self, chunk_ids: Sequence[str], *, neighbours: bool = True
    ) -> Mapping[str, Visit]:
        """Return chunks with their sentences and, if wanted, their neighbours.

        Raises:
            SnapshotError: If the snapshot is damaged.
        """
        with self._sound():
            keys = [chunk_id.encode() for chunk_id in chunk_ids]
            rows = self.snapshot.rows_of(keys).tolist()
            known = self._texts["chunk_ids"]
            return {
                chunk_id: self._visit(chunk_id, row, neighbours=neighbours)
                for chunk_id, key, row in zip(chunk_ids, keys, rows, strict=True)
                if row >= 0 and known[row] == key
            }

    def homes(self, sentence_ids: Sequence[str]) -> Candidates:
        """Return for each sentence the first chunk that holds it.

        Raises:
            SnapshotError: If the snapshot is damaged.
        """
        with self._sound():
            keys = [sentence_id.encode() for sentence_id in sentence_ids]
            rows = self.snapshot.rows_of(keys, lookup="sentence_lookup").tolist()
            stored = self._texts["sentence_ids"]
            there = [
                (sentence_id, row)
                for sentence_id, key, row in zip(sentence_ids, keys, rows, strict=True)
                if row >= 0 and stored[row] == key
            ]
            homes = self._columns["sentence_homes"][[row for _, row in there]]
            return Candidates(
                ids=tuple(self._ids("chunk_ids", homes)),
                vectors=self._vectors[homes].astype(np.float64),
                sentences=tuple((sentence_id,) for sentence_id, _ in there),
            )

    def projection(self, query: Vector | None = None) -> Projection:
        """Return the main axes of all chunks, or those fitted to a question.

        Raises:
            SnapshotError: If the snapshot is damaged.
        """
        facts = self.snapshot.facts
        if query is None:
            kept, d = self._columns["projection"], facts.dimensions
            return Projection(
                mean=kept[:d],
                components=kept[d:-AXES].reshape(AXES, d),
                explained=kept[-AXES:],
            )
        chunks, sentences = (
            Moments(count=count, total=kept[0], outer=kept[1:])
            for count, kept in zip(
                (facts.chunks, facts.sentences), self._columns["moments"], strict=True
            )
        )
        with self._sound():
            return fit_projection(chunks + sentences, query)

    def terms(
        self,
        chunk_ids: Sequence[str],
        names: Sequence[str],
        *,
        members: bool = False,
        nearest: Nearest | None = None,
    ) -> TermsFound:
        """Return the terms of chunks, those of some names, and who names them.

        Raises:
            SnapshotError: If the snapshot is damaged.
        """
        with self._sound():
            more = [] if nearest is None else self._near(nearest)
            return found_terms(
                self.snapshot,
                (*chunk_ids, *more),
                names,
                members=members,
                passing=self._passing,
            )

    def _near(self, nearest: Nearest) -> list[str]:
        """Return the members of broad terms that are opened."""
        found: list[str] = []
        for name in nearest.names:
            term = _there(self.snapshot, "term_names", "term_lookup", [name])
            rows = listed(self.snapshot, "term_chunks", term)
            if self._passing is not None:
                rows = rows[self._passing[rows]]
            pairs = sorted(zip(self._ids("chunk_ids", rows), rows, strict=True))[
                :SAMPLE
            ]
            ids = [key for key, _ in pairs]
            vectors = self._vectors[[row for _, row in pairs]].astype(np.float64)
            order = ranked(ids, cosines(nearest.vector, vectors))[: nearest.most]
            found += [ids[place] for place in order]
        return found

    async def aanchors(
        self, vector: Vector, k: int, *, documents: bool = False, words: str = ""
    ) -> Candidates:
        """Do as `anchors` does, in a thread: it takes long in a large corpus."""
        return await asyncio.to_thread(self.anchors, vector, k, words=words)

    async def aexpand(
        self, chunk_ids: Sequence[str], *, neighbours: bool = True
    ) -> Mapping[str, Visit]:
        """Do as `expand` does."""
        return self.expand(chunk_ids, neighbours=neighbours)

    async def ahomes(self, sentence_ids: Sequence[str]) -> Candidates:
        """Do as `homes` does."""
        return self.homes(sentence_ids)

    async def aprojection(self, query: Vector | None = None) -> Projection:
        """Do as `projection` does, in a thread where axes are fitted."""
        if query is None:
            return self.projection()
        return await asyncio.to_thread(self.projection, query)

    async def aterms(
        self,
        chunk_ids: Sequence[str],
        names: Sequence[str],
        *,
        members: bool = False,
        nearest: Nearest | None = None,
    ) -> TermsFound:
        """Do as `terms` does."""
        return self.terms(chunk_ids, names, members=members, nearest=nearest)

    def _visit(self, chunk_id: str, row: int, *, neighbours: bool) -> Visit:
        """Open one chunk."""
        index, first, last, start, end = self._columns["chunk_places"][row].tolist()
        head = self._head(int(self._columns["chunk_documents"][row]))
        return Visit(
            chunk=ChunkText(
                id=chunk_id,
                text=self._texts["chunk_texts"][row].decode("utf-8", "surrogatepass"),
                index=index,
                first_sentence=first,
                last_sentence=last,
                start_char=start,
                end_char=end,
                document_id=head[0],
                title=head[1],
                url=head[2],
                source=head[3],
            ),
            sentences=self._sentences(row),
            neighbours=self._neighbours(row) if neighbours else self._nobody(),
            vector=None if neighbours else self._vectors[row].astype(np.float64),
        )

    def _sentences(self, row: int) -> tuple[StoredSentence, ...]:
        """Return a chunk's sentences in document order."""
        start, stop = self.snapshot.starts["chunk_sentences"][row : row + 2].tolist()
        rows = self._columns["chunk_sentences"][start:stop]
        vectors = self._columns["sentence_vectors"][rows].astype(np.float64)
        texts = self._texts["sentence_texts"].many(rows)
        return tuple([
            StoredSentence(
                id=sentence_id,
                text=text.decode("utf-8", "surrogatepass"),
                index=place[0],
                start_char=place[1],
                end_char=place[2],
                vector=vector,
            )
            for sentence_id, text, place, vector in zip(
                self._ids("sentence_ids", rows),
                texts,
                self._columns["sentence_places"][rows].tolist(),
                vectors,
                strict=True,
            )
        ])

    def _neighbours(self, row: int) -> Candidates:
        """Return where one can go from a chunk."""
        start, stop = self.snapshot.starts["edges"][row : row + 2].tolist()
        rows = self._columns["edges"][start:stop]
        if self._passing is not None:
            rows = rows[self._passing[rows]]
        return Candidates(
            ids=tuple(self._ids("chunk_ids", rows)),
            vectors=self._vectors[rows].astype(np.float64),
            sentences=_Members(self, rows),
        )

    def _nobody(self) -> Candidates:
        """Return no candidates."""
        return Candidates(ids=(), vectors=np.empty((0, self._vectors.shape[1])))

    def members(self, rows: Rows) -> list[tuple[str, ...]]:
        """Return the ids of the sentences of some chunks, by their rows."""
        ends = np.cumsum(listed_sizes(self.snapshot, "chunk_sentences", rows))
        with self._sound():
            sentences = listed(self.snapshot, "chunk_sentences", rows)
            ids = self._ids("sentence_ids", sentences)
        return [tuple(ids[a:b]) for a, b in pairwise([0, *ends.tolist()])]

    def _ids(self, name: str, rows: Rows) -> list[str]:
        """Return the ids of some rows."""
        return [key.decode() for key in self._texts[name].many(rows)]

    def _head(self, row: int) -> Head:
        """Return id, title, url and source of a document."""
        if (known := self._heads.get(row)) is not None:
            return known
        document = json.loads(self._texts["documents"][row])
        properties: dict[str, Any] = document["properties"]
        head: Head = (
            document["id"],
            properties.get("title", ""),
            properties.get("url"),
            properties.get("source") or "",
        )
        if len(self._heads) >= _HEADS:
            self._heads.clear()
        self._heads[row] = head
        return head

    @contextmanager
    def _sound(self) -> Iterator[None]:
        """Say of bytes that cannot be read that the snapshot is damaged."""
        try:
            yield
        except (KeyError, ValueError) as error:
            if isinstance(error, SnapshotError):
                raise
            corpus = self.snapshot.facts.corpus
            msg = (
                f"The snapshot of corpus {corpus!r} is damaged: {rebuild_hint(corpus)}"
            )
            raise SnapshotError(msg) from error


class _Texts(Mapping[str, str]):
    """Texts of some chunks, read when they are looked at: few are."""

    def __init__(self, column: TextColumn, ids: list[str], rows: list[int]) -> None:
        self._column = column
        self._rows = dict(zip(ids, rows, strict=True))

    def __getitem__(self, chunk_id: str) -> str:
        """Return the text of a chunk."""
        text = self._column[self._rows[chunk_id]]
        return text.decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        """Iterate over the ids."""
        return iter(self._rows)

    def __len__(self) -> int:
        """Return the number of chunks."""
        return len(self._rows)


def listed_sizes(snapshot: MappedSnapshot, name: str, rows: Rows) -> Rows:
    """Return how much a list column holds for each of some rows."""
    starts = snapshot.starts[name]
    sizes: Rows = starts[rows + 1] - starts[rows]
    return sizes


def listed(snapshot: MappedSnapshot, name: str, rows: Rows) -> Rows:
    """Return what a list column holds for some rows, end to end."""
    counts = listed_sizes(snapshot, name, rows)
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    first = snapshot.starts[name][rows]
    places = np.repeat(first - ends + counts, counts) + np.arange(total)
    found: Rows = snapshot.columns[name][places]
    return found


def found_terms(
    snapshot: MappedSnapshot,
    chunk_ids: Sequence[str],
    names: Sequence[str],
    *,
    members: bool,
    passing: npt.NDArray[np.bool_] | None,
) -> TermsFound:
    """Return the answer to a `TermsRequest`.

    Args:
        snapshot: The corpus.
        chunk_ids: Chunks whose terms are wanted.
        names: Words that may be terms.
        members: Whether the chunks that name these are wanted too.
        passing: For each chunk whether it passes the filter; None for no filter.
    """
    terms = _there(snapshot, "term_names", "term_lookup", names)
    rows = _there(snapshot, "chunk_ids", "lookup", chunk_ids)
    if members:
        found = listed(snapshot, "term_chunks", terms)
        rows = np.union1d(rows, found if passing is None else found[passing[found]])
    of_chunks = listed(snapshot, "chunk_terms", rows)
    known = np.union1d(terms, of_chunks)
    words = [name.decode() for name in snapshot.texts["term_names"].many(known)]
    sizes = listed_sizes(snapshot, "term_chunks", known).tolist()
    named = [words[place] for place in np.searchsorted(known, of_chunks).tolist()]
    ends = np.cumsum(listed_sizes(snapshot, "chunk_terms", rows)).tolist()
    ids = [key.decode() for key in snapshot.texts["chunk_ids"].many(rows)]
    return TermsFound(
        chunks=snapshot.facts.chunks,
        counts=dict(zip(words, sizes, strict=True)),
        named={
            chunk_id: tuple(named[a:b])
            for chunk_id, (a, b) in zip(ids, pairwise([0, *ends]), strict=True)
        },
        texts=_Texts(snapshot.texts["chunk_texts"], ids, rows.tolist()),
    )


def _there(
    snapshot: MappedSnapshot, column: str, lookup: str, keys: Sequence[str]
) -> Rows:
    """Return the rows of those of some ids or names that are there, in order."""
    wanted = [key.encode("utf-8", "surrogatepass") for key in keys]
    stored = snapshot.texts[column]
    rows = snapshot.rows_of(wanted, lookup=lookup).tolist()
    found = {
        row
        for row, key in zip(rows, wanted, strict=True)
        if row >= 0 and stored[row] == key
    }
    return np.array(sorted(found), dtype=np.int64)

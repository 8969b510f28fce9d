"""A generation of a snapshot, opened: its files mapped into memory and checked.

Opening reads no vector and no text, only the numbers that say where things are.
"""

from __future__ import annotations

import json
import mmap
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from knowtrail.graph.errors import SnapshotError
from knowtrail.graph.files import file_digest
from knowtrail.retrieval.filter_clauses import AllOf, Compare
from knowtrail.retrieval.snapshot.blocks import (
    CHUNK_PLACES,
    LONG_PROPERTIES,
    DocumentBlock,
    DocumentMark,
)
from knowtrail.retrieval.snapshot.layout import (
    COLUMNS,
    FACTS,
    FORMAT,
    STARTS,
    TEXTS,
    SnapshotFacts,
    column_shape,
    hashes_of,
    rebuild_hint,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    import numpy.typing as npt

    from knowtrail.retrieval.filter_clauses import Clause
    from knowtrail.retrieval.filters import Filter

Head: TypeAlias = tuple[str, str, str | None, str]
"""Id, title, url and source of a document."""

_MASKS = 16
_PIECES = 16
"""Values that are looked for at most, each in one pass over all documents."""


def _read_facts(folder: Path) -> SnapshotFacts:
    """Return what the snapshot in a folder says of itself."""
    try:
        values = json.loads((folder / FACTS).read_text("utf-8"))
    except ValueError as error:
        msg = f"The description of the snapshot is damaged: {rebuild_hint()}"
        raise SnapshotError(msg) from error
    if isinstance(values, dict) and values.get("format") != FORMAT:
        msg = (
            f"The snapshot has format {values.get('format')!r}, this version reads "
            f"{FORMAT}: {rebuild_hint()}"
        )
        raise SnapshotError(msg)
    return SnapshotFacts.from_dict(values)


class TextColumn:
    """Bytes of many rows, end to end."""

    def __init__(self, data: mmap.mmap | bytes, starts: npt.NDArray[np.int64]) -> None:
        self._data = data
        self.starts = starts

    def __getitem__(self, row: int) -> bytes:
        """Return the bytes of a row."""
        start, stop = self.starts[row : row + 2].tolist()
        return self._data[start:stop]

    def having(self, pieces: Iterable[bytes]) -> list[int]:
        """Return the rows whose bytes have one of some pieces, in order."""
        rows = np.zeros(len(self.starts) - 1, dtype=bool)
        for piece in pieces:
            place = self._data.find(piece)
            while place >= 0:
                row = int(np.searchsorted(self.starts, place, side="right")) - 1
                rows[row] = True
                place = self._data.find(piece, int(self.starts[row + 1]))
        return np.flatnonzero(rows).tolist()

    def many(self, rows: npt.NDArray[np.int64]) -> list[bytes]:
        """Return the bytes of some rows."""
        data = self._data
        starts, stops = self.starts[rows].tolist(), self.starts[rows + 1].tolist()
        return [data[a:b] for a, b in zip(starts, stops, strict=True)]

    def between(self, start: int, stop: int) -> list[bytes]:
        """Return the bytes of rows from `start` up to `stop`."""
        ends = self.starts[start : stop + 1].tolist()
        data = self._data
        return [data[a:b] for a, b in pairwise(ends)]


class MappedSnapshot:
    """The arrays and texts of one generation, read-only.

    Attributes:
        facts: What it says of itself.
        folder: Where it lies.
        columns: Column -> its numbers, in their shape.
        starts: Where each row's part of a list begins.
        texts: The text columns.
        heads: Row of a document -> its head, for readers to keep what they have read.
        masks: Filter -> which chunks pass it, for the same.
    """

    def __init__(self, folder: Path) -> None:
        """Map all files.

        Raises:
            SnapshotError: If something about them is wrong.
            FileNotFoundError: If the folder or a file is gone.
        """
        self.folder = folder
        self.facts = _read_facts(folder)
        self.heads: dict[int, Head] = {}
        self.masks: dict[str, npt.NDArray[np.bool_]] = {}
        self._check_sizes()
        self.columns: dict[str, npt.NDArray[Any]] = {
            name: self._numbers(name, column.dtype, column_shape(name, self.facts))
            for name, column in COLUMNS.items()
        }
        self.starts = {name: self._starts(name) for name in (*STARTS, *TEXTS)}
        self.texts = {
            name: TextColumn(self._bytes(f"{name}_bytes"), self.starts[name])
            for name in TEXTS
        }
        self._check_rows()

    def _damaged(self, what: str) -> SnapshotError:
        """Return the error of a damaged file."""
        msg = (
            f"The snapshot of corpus {self.facts.corpus!r} is damaged ({what}): "
            f"{rebuild_hint(self.facts.corpus)}"
        )
        return SnapshotError(msg)

    def _check_sizes(self) -> None:
        """Check that each file has the length that was written."""
        for name, size in self.facts.sizes.items():
            found = (self.folder / name).stat().st_size
            if found != size:
                raise self._damaged(f"{name} has {found} bytes, not {size}")

    def _check_rows(self) -> None:
        """Check that what names rows names rows that are there."""
        for name, column in COLUMNS.items():
            if not column.names:
                continue
            bound = getattr(self.facts, column.names)
            rows = self.columns[name]
            if len(rows) and not 0 <= rows.min() <= rows.max() < bound:
                raise self._damaged(f"{name} names rows that are not there")

    def _bytes(self, name: str) -> mmap.mmap | bytes:
        """Map a file."""
        path = self.folder / name
        if not path.stat().st_size:
            return b""
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def _numbers(
        self, name: str, dtype: str, shape: tuple[int, ...]
    ) -> npt.NDArray[Any]:
        """Map a file of numbers."""
        values = np.frombuffer(self._bytes(name), dtype=dtype)
        if values.size != int(np.prod(shape)):
            raise self._damaged(f"{name} has {values.size} numbers")
        return values.reshape(shape)

    def _starts(self, name: str) -> npt.NDArray[np.int64]:
        """Map where the rows of a list or text column begin."""
        facts = self.facts
        if name in STARTS:
            rows, end = (getattr(facts, count) for count in STARTS[name])
        else:
            rows = getattr(facts, TEXTS[name])
            end = facts.sizes.get(f"{name}_bytes", -1)
        starts = self._numbers(f"{name}_starts", "<i8", (rows + 1,))
        if starts[0] or starts[-1] != end or (np.diff(starts) < 0).any():
            raise self._damaged(f"{name}_starts is out of order")
        return starts

    def verify(self) -> None:
        """Compare every file with its checksum.

        Raises:
            SnapshotError: If one differs.
        """
        for name, wanted in self.facts.checksums.items():
            if file_digest(self.folder / name) != wanted:
                raise self._damaged(f"{name} is not what was written")

    def rows_of(
        self, ids: list[bytes], *, lookup: str = "lookup"
    ) -> npt.NDArray[np.int64]:
        """Return the rows of chunks by id, -1 where there is none.

        Args:
            ids: Ids of chunks or of sentences, or names of terms.
            lookup: `lookup` for chunks, `sentence_lookup` for sentences,
                `term_lookup` for terms.
        """
        known = self.columns[f"{lookup}_hashes"]
        if not len(known):
            return np.full(len(ids), -1, dtype=np.int64)
        hashes = hashes_of(ids)
        places = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
        rows = self.columns[f"{lookup}_rows"][places]
        found: npt.NDArray[np.int64] = np.where(known[places] == hashes, rows, -1)
        return found

    def marks(self) -> Iterator[tuple[DocumentMark, int]]:
        """Yield the marks of all documents, each with its row."""
        chunks = self.starts["document_chunks"]
        edges = self.starts["edges"][chunks]
        versions = self.columns["document_versions"].tolist()
        for row, version in enumerate(versions):
            head = json.loads(self.texts["documents"][row])
            yield (
                DocumentMark(
                    id=head["id"],
                    version=version,
                    chunks=int(chunks[row + 1] - chunks[row]),
                    edges=int(edges[row + 1] - edges[row]),
                ),
                row,
            )

    def block(self, row: int) -> DocumentBlock:
        """Return a document as it can be appended to another generation."""
        columns, texts, starts = self.columns, self.texts, self.starts
        first, last = starts["document_chunks"][row : row + 2].tolist()
        first_s, last_s = starts["document_sentences"][row : row + 2].tolist()
        members = starts["chunk_sentences"][first : last + 1]
        edges = starts["edges"][first : last + 1]
        targets = columns["edges"][edges[0] : edges[-1]]
        named = starts["chunk_terms"][first : last + 1]
        terms = columns["chunk_terms"][named[0] : named[-1]]
        return DocumentBlock(
            version=int(columns["document_versions"][row]),
            document=texts["documents"][row],
            document_long=texts["documents_long"][row],
            chunk_ids=texts["chunk_ids"].between(first, last),
            chunk_texts=texts["chunk_texts"].between(first, last),
            chunk_extras=texts["chunk_extras"].between(first, last),
            chunk_places=columns["chunk_places"][first:last],
            chunk_vectors=columns["chunk_vectors"][first:last],
            member_counts=np.diff(members),
            members=columns["chunk_sentences"][members[0] : members[-1]] - first_s,
            edge_counts=np.diff(edges),
            targets=columns["chunk_hashes"][targets],
            term_counts=np.diff(named),
            terms=texts["term_names"].many(terms),
            sentence_ids=texts["sentence_ids"].between(first_s, last_s),
            sentence_texts=texts["sentence_texts"].between(first_s, last_s),
            sentence_places=columns["sentence_places"][first_s:last_s],
            sentence_vectors=columns["sentence_vectors"][first_s:last_s],
        )


def passing(snapshot: MappedSnapshot, wanted: Filter) -> npt.NDArray[np.bool_]:
    """Return for each chunk whether it passes; the last few filters are kept.

    A filter that looks at documents only is decided once a document; one that asks for
    a value, only for the documents whose JSON has the bytes of that value.
    """
    key = repr(wanted.clause)
    if (known := snapshot.masks.get(key)) is None:
        known = _decided(snapshot, wanted)
        if len(snapshot.masks) >= _MASKS:
            snapshot.masks.clear()
        snapshot.masks[key] = known
    return known


def _decided(snapshot: MappedSnapshot, wanted: Filter) -> npt.NDArray[np.bool_]:
    """Decide a filter for every chunk."""
    fields = _fields(wanted.clause)
    of_chunk = {name for owner, name in fields if owner == "chunk"}
    of_document = {name for owner, name in fields if owner != "chunk"}
    passes = np.zeros(snapshot.facts.chunks, dtype=np.bool_)
    starts = snapshot.starts["document_chunks"].tolist()
    pieces = _bytes_needed(wanted.clause)
    rows: Iterable[int] = range(snapshot.facts.documents)
    if pieces is not None:
        rows = snapshot.texts["documents"].having(pieces)
    for row in rows:
        document = _document(snapshot, row, of_document)
        first, last = starts[row], starts[row + 1]
        if of_chunk:
            passes[first:last] = [
                wanted.matches(_chunk(snapshot, chunk, of_chunk), document)
                for chunk in range(first, last)
            ]
        else:
            passes[first:last] = wanted.matches({}, document)
    return passes


_WRITTEN_OUT = 1e16
"""From here on JSON has floats with an exponent, and whole numbers without."""


def _bytes_needed(clause: Clause) -> set[bytes] | None:
    """Return bytes of which a document that passes has one; None where none is sure."""
    if isinstance(clause, Compare):
        field = clause.field
        apart = field.name in LONG_PROPERTIES or field.name == "corpusVersion"
        if field.owner == "chunk" or apart:
            return None
        if clause.operator == "$like" and clause.value:
            return {json.dumps(clause.value)[1:-1].encode()}
        values = [clause.value] if clause.operator == "$eq" else clause.value
        if clause.operator not in {"$eq", "$in"} or len(values) > _PIECES:
            return None
        if any(isinstance(v, float) and abs(v) >= _WRITTEN_OUT for v in values):
            return None
        whole = (
            int(v) if isinstance(v, float) and v.is_integer() else v for v in values
        )
        return {json.dumps(value).encode() for value in whole}
    parts = [_bytes_needed(part) for part in clause.parts]
    known = [part for part in parts if part is not None]
    if isinstance(clause, AllOf):
        return min(known, key=len, default=None)
    return set().union(*known) if len(known) == len(parts) else None


def _fields(clause: Clause) -> set[tuple[str, str]]:
    """Return owner and name of every field that a clause asks for."""
    if isinstance(clause, Compare):
        return {(clause.field.owner, clause.field.name)}
    return {field for part in clause.parts for field in _fields(part)}


def _document(snapshot: MappedSnapshot, row: int, names: set[str]) -> dict[str, Any]:
    """Return what a filter asks of a document."""
    if not names:
        return {}
    head = json.loads(snapshot.texts["documents"][row])
    found = {
        **head["properties"],
        "id": head["id"],
        "themes": head["themes"],
        "categories": head["categories"],
        "corpusVersion": int(snapshot.columns["document_versions"][row]),
    }
    if names & LONG_PROPERTIES:
        found |= json.loads(snapshot.texts["documents_long"][row])
    return found


def _chunk(snapshot: MappedSnapshot, row: int, names: set[str]) -> dict[str, Any]:
    """Return what a filter asks of a chunk."""
    texts = snapshot.texts
    found: dict[str, Any] = {}
    if names & set(CHUNK_PLACES):
        places = snapshot.columns["chunk_places"][row].tolist()
        found |= dict(zip(CHUNK_PLACES, places, strict=True))
    if "id" in names:
        found["id"] = texts["chunk_ids"][row].decode()
    if "text" in names:
        found["text"] = texts["chunk_texts"][row].decode("utf-8", "surrogatepass")
    if names - {*CHUNK_PLACES, "id", "text"}:
        found |= json.loads(texts["chunk_extras"][row])
    return found

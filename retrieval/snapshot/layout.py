"""The files of a snapshot: plain arrays and concatenated bytes, no pickle.

A *column* is one value a row and lies in one file: fixed-width numbers, row by row.
A *text column* has two files: the bytes of all rows end to end, and where each starts.
All numbers are little-endian. Documents stand in the order of their ids, the chunks
and sentences of a document one after the other in its order, so that the same corpus
always gives the same bytes, however the snapshot came about.

A writer appends documents one after the other; only ids' hashes are held in memory
while the files are completed, 16 bytes a chunk.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from contextlib import ExitStack
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from knowtrail.graph.errors import SnapshotError
from knowtrail.graph.files import file_digest, private
from knowtrail.ingest.vector_file import storage_errors
from knowtrail.retrieval.projection import AXES, Moments, fit_projection

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from knowtrail.retrieval.snapshot.blocks import CorpusMark, DocumentBlock

FORMAT = 2
"""Raised when files of an older kind cannot be read any more."""


class Column(NamedTuple):
    """Numbers of a fixed width, row by row.

    Attributes:
        dtype: The type of the numbers.
        shape: Its axes: a count of `SnapshotFacts` by name, or a number.
        names: Whose rows its numbers are, a count by name; empty where they are none.
        late: Whether it is made from the others at the end.
    """

    dtype: str
    shape: tuple[str | int, ...] = ()
    names: str = ""
    late: bool = False


COLUMNS = {
    "document_versions": Column("<i8", ("documents",)),
    "chunk_vectors": Column("<f4", ("chunks", "dimensions")),
    "chunk_scales": Column("<f4", ("chunks",), late=True),
    "chunk_places": Column("<i8", ("chunks", 5)),
    "chunk_documents": Column("<i8", ("chunks",), names="documents"),
    "chunk_hashes": Column("<u8", ("chunks",)),
    "chunk_sentences": Column("<i8", ("memberships",), names="sentences"),
    "edges": Column("<i8", ("edges",), names="chunks", late=True),
    "lookup_hashes": Column("<u8", ("chunks",), late=True),
    "lookup_rows": Column("<i8", ("chunks",), names="chunks", late=True),
    "sentence_vectors": Column("<f4", ("sentences", "dimensions")),
    "sentence_places": Column("<i8", ("sentences", 3)),
    "sentence_hashes": Column("<u8", ("sentences",)),
    "sentence_homes": Column("<i8", ("sentences",), names="chunks"),
    "sentence_lookup_hashes": Column("<u8", ("sentences",), late=True),
    "sentence_lookup_rows": Column("<i8", ("sentences",), names="sentences", late=True),
    "chunk_terms": Column("<i8", ("namings",), names="terms", late=True),
    "term_chunks": Column("<i8", ("namings",), names="chunks", late=True),
    "term_lookup_hashes": Column("<u8", ("terms",), late=True),
    "term_lookup_rows": Column("<i8", ("terms",), names="terms", late=True),
    "moments": Column("<f8", late=True),
    "projection": Column("<f8", late=True),
}
"""Column -> what it holds; `column_shape` tells the shape of the last two.

`chunk_scales` holds 1 / length of each vector; `chunk_places` index, first and last
sentence, start and end; `sentence_places` index, start and end; `chunk_sentences` and
`edges` hold rows, chunk after chunk; `sentence_homes` the first chunk of a sentence;
`chunk_terms` holds rows of terms, `term_chunks` for each term rows of chunks; terms
stand in the order of their names;
the lookups find a row by the hash of its id. `moments` are the sums over the vectors of
all chunks, then of all sentences; `projection` is mean, axes and shares of variance.
"""

STARTS = {
    "document_chunks": ("documents", "chunks"),
    "document_sentences": ("documents", "sentences"),
    "chunk_sentences": ("chunks", "memberships"),
    "edges": ("chunks", "edges"),
    "chunk_terms": ("chunks", "namings"),
    "term_chunks": ("terms", "namings"),
}
"""What is listed by row: `NAME_starts` says where each row's part begins.

Name -> the counts of rows, and of what is listed.
"""

TEXTS = {
    "documents": "documents",
    "documents_long": "documents",
    "chunk_ids": "chunks",
    "chunk_texts": "chunks",
    "chunk_extras": "chunks",
    "sentence_ids": "sentences",
    "sentence_texts": "sentences",
    "term_names": "terms",
}
"""Text columns -> the count of rows.

They are `NAME_bytes`, and `NAME_starts` with one start more than rows.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotFacts:
    """What a snapshot says of itself.

    Attributes:
        corpus: Name of the corpus.
        stamp: Tells this corpus from another one of the same name.
        version: Version of the corpus that was copied.
        dimensions: Length of the vectors.
        documents: How many documents it holds.
        chunks: How many chunks.
        sentences: How many sentences.
        memberships: How many places sentences have in chunks.
        edges: How many SIMILAR_TO edges.
        terms: How many terms chunks name.
        namings: How many NAMES edges.
        sizes: File -> its bytes.
        checksums: File -> blake2b of its bytes.
        format: Kind of the files.
    """

    corpus: str
    stamp: str
    version: int
    dimensions: int
    documents: int
    chunks: int
    sentences: int
    memberships: int
    edges: int
    terms: int
    namings: int
    sizes: dict[str, int]
    checksums: dict[str, str]
    format: int = FORMAT

    def as_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Any) -> SnapshotFacts:
        """Read what `as_dict` made.

        Raises:
            SnapshotError: If a value is missing, unknown or of another type.
        """
        kinds = {"corpus": str, "stamp": str, "sizes": dict, "checksums": dict}
        names = {field.name for field in fields(cls)}
        if (
            not isinstance(values, dict)
            or set(values) != names
            or not all(isinstance(values[n], kinds.get(n, int)) for n in names)
        ):
            msg = f"The description of a snapshot is damaged: {rebuild_hint()}"
            raise SnapshotError(msg)
        return cls(**values)


def update_hint(corpus: str) -> str:
    """Return how to bring a corpus's snapshot up to date."""
    return f"make it with knowtrail corpus snapshot {shlex.quote(corpus)}."


def rebuild_hint(corpus: str = "NAME") -> str:
    """Return what to do about a snapshot that is damaged."""
    return f"make it anew with knowtrail corpus snapshot {shlex.quote(corpus)} --full."


def column_shape(name: str, facts: SnapshotFacts) -> tuple[int, ...]:
    """Return the shape of a column."""
    if name == "moments":
        return 2, facts.dimensions + 1, facts.dimensions
    if name == "projection":
        return ((1 + AXES) * facts.dimensions + AXES,)
    axes = COLUMNS[name].shape
    return tuple(
        getattr(facts, axis) if isinstance(axis, str) else axis for axis in axes
    )


def _packed_hashes(ids: list[bytes]) -> bytes:
    """Return the 64-bit hashes of ids, one after the other."""
    return b"".join(hashlib.blake2b(i, digest_size=8).digest() for i in ids)


def hashes_of(ids: list[bytes]) -> npt.NDArray[np.uint64]:
    """Return the 64-bit hashes of ids."""
    return np.frombuffer(_packed_hashes(ids), dtype="<u8")


_Lookup: TypeAlias = "tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]"


FACTS = "snapshot.json"
_TARGETS = "targets"
_NAMED = "named"
_ROWS = 65_536
_BLOCK = 4096


class GenerationWriter:
    """The files of a generation while they grow; use it as a context manager."""

    def __init__(self, folder: Path, mark: CorpusMark) -> None:
        """Open the files of an empty folder.

        Raises:
            StorageError: If there is no space or no right to write.
        """
        self._folder = folder
        self._mark = mark
        self._stack = ExitStack()
        self._files: dict[str, BinaryIO] = {}
        self._counts = dict.fromkeys(
            (
                "documents",
                "chunks",
                "sentences",
                "memberships",
                "edges",
                "terms",
                "namings",
            ),
            0,
        )
        self._terms: dict[bytes, bytes] = {}
        self._sizes = dict.fromkeys(TEXTS, 0)
        made = [name for name, column in COLUMNS.items() if not column.late]
        names = [
            *made,
            _TARGETS,
            _NAMED,
            *(f"{n}_bytes" for n in TEXTS),
            *(f"{n}_starts" for n in (*TEXTS, *STARTS)),
        ]
        with storage_errors(folder):
            for name in names:
                file = open(folder / name, "wb", opener=private)  # noqa: SIM115 - exit
                self._files[name] = self._stack.enter_context(file)
        for name in (*TEXTS, *STARTS):
            self._numbers(f"{name}_starts", [0])

    def __enter__(self) -> Self:
        """Return the writer."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the files."""
        with storage_errors(self._folder):
            self._stack.close()

    def append(self, block: DocumentBlock) -> None:
        """Add a document; ids must come in ascending order.

        Raises:
            StorageError: If there is no space.
        """
        with storage_errors(self._folder):
            self._texts("documents", [block.document])
            self._texts("documents_long", [block.document_long])
            self._numbers("document_versions", [block.version])
            self._chunks(block)
            self._texts("sentence_ids", block.sentence_ids)
            self._texts("sentence_texts", block.sentence_texts)
            self._array("sentence_places", block.sentence_places)
            self._array("sentence_vectors", block.sentence_vectors)
            self._files["sentence_hashes"].write(_packed_hashes(block.sentence_ids))
            self._array("sentence_homes", self._homes(block))
            counts = self._counts
            counts["documents"] += 1
            counts["chunks"] += len(block.chunk_ids)
            counts["sentences"] += len(block.sentence_ids)
            self._numbers("document_chunks_starts", [counts["chunks"]])
            self._numbers("document_sentences_starts", [counts["sentences"]])

    def _chunks(self, block: DocumentBlock) -> None:
        """Add a document's chunks with what hangs on them."""
        counts = self._counts
        self._texts("chunk_ids", block.chunk_ids)
        self._texts("chunk_texts", block.chunk_texts)
        self._texts("chunk_extras", block.chunk_extras)
        self._array("chunk_places", block.chunk_places)
        self._array("chunk_vectors", block.chunk_vectors)
        self._numbers("chunk_documents", [counts["documents"]] * len(block.chunk_ids))
        self._files["chunk_hashes"].write(_packed_hashes(block.chunk_ids))
        self._array("chunk_sentences", block.members + counts["sentences"])
        self._array(_TARGETS, block.targets)
        hashes = [_packed_hashes([name]) for name in block.terms]
        self._files[_NAMED].write(b"".join(hashes))
        self._terms.update(zip(hashes, block.terms, strict=True))
        for name, count, sizes in (
            ("chunk_sentences", "memberships", block.member_counts),
            ("edges", "edges", block.edge_counts),
            ("chunk_terms", "namings", block.term_counts),
        ):
            ends = counts[count] + np.cumsum(sizes)
            self._numbers(f"{name}_starts", ends)
            counts[count] = int(ends[-1]) if len(ends) else counts[count]

    def _homes(self, block: DocumentBlock) -> npt.NDArray[np.int64]:
        """Return the first chunk that holds each of a document's sentences."""
        homes = np.full(len(block.sentence_ids), np.iinfo(np.int64).max)
        chunks = np.repeat(np.arange(len(block.chunk_ids)), block.member_counts)
        np.minimum.at(homes, block.members, chunks)
        return homes + self._counts["chunks"]

    def _texts(self, name: str, rows: list[bytes]) -> None:
        """Add rows to a text column."""
        self._files[f"{name}_bytes"].writelines(rows)
        ends = self._sizes[name] + np.cumsum([len(row) for row in rows], dtype=np.int64)
        self._numbers(f"{name}_starts", ends)
        self._sizes[name] = int(ends[-1]) if len(ends) else self._sizes[name]

    def _numbers(
        self, name: str, values: Iterable[int] | npt.NDArray[np.int64]
    ) -> None:
        """Add whole numbers to a file."""
        self._files[name].write(np.asarray(values, dtype="<i8").tobytes())

    def _array(self, name: str, rows: npt.NDArray[Any]) -> None:
        """Add rows of numbers to a column."""
        dtype = COLUMNS[name].dtype if name in COLUMNS else "<u8"
        self._files[name].write(np.ascontiguousarray(rows, dtype=dtype).tobytes())

    def finish(self) -> SnapshotFacts:
        """Write what follows from the rest, close the files and describe them.

        Raises:
            SnapshotError: If an edge leads to a chunk that is not there.
            StorageError: If there is no space.
        """
        with storage_errors(self._folder):
            for file in self._files.values():
                file.flush()
            hashes, rows = self._lookup("chunk_hashes", "lookup")
            self._lookup("sentence_hashes", "sentence_lookup")
            self._edges(hashes, rows)
            self._name_terms()
            self._scales()
            self._axes()
            self._stack.close()
            for name in (_TARGETS, _NAMED):
                (self._folder / name).unlink()
            return self._described()

    def _read(self, name: str) -> npt.NDArray[Any]:
        """Map a file that has been written, as a flat array."""
        dtype = COLUMNS[name].dtype if name in COLUMNS else "<u8"
        path = self._folder / name
        if not path.stat().st_size:
            return np.empty(0, dtype=dtype)
        return np.memmap(path, dtype=dtype, mode="r")

    def _put(self, name: str, values: npt.NDArray[Any]) -> None:
        """Write a column that is made at the end."""
        with open(self._folder / name, "wb", opener=private) as file:
            file.write(values.astype(COLUMNS[name].dtype).tobytes())

    def _lookup(self, name: str, lookup: str) -> _Lookup:
        """Write and return the hashes of ids in order, each with its row."""
        hashes = np.array(self._read(name), dtype="<u8")
        rows = np.argsort(hashes, kind="stable")
        ordered = hashes[rows]
        if (ordered[1:] == ordered[:-1]).any():
            msg = (
                f"Two chunks or sentences of corpus {self._mark.corpus!r} have one id: "
                "see knowtrail corpus verify."
            )
            raise SnapshotError(msg)
        self._put(f"{lookup}_hashes", ordered)
        self._put(f"{lookup}_rows", rows)
        return ordered, rows

    def _edges(
        self, hashes: npt.NDArray[np.uint64], rows: npt.NDArray[np.int64]
    ) -> None:
        """Turn the hashes of the edges' ends into rows."""
        targets = self._read(_TARGETS)
        with open(self._folder / "edges", "wb", opener=private) as file:
            for start in range(0, len(targets), _ROWS):
                part = np.asarray(targets[start : start + _ROWS])
                places = np.minimum(np.searchsorted(hashes, part), len(hashes) - 1)
                if (hashes[places] != part).any():
                    msg = (
                        f"Edges of corpus {self._mark.corpus!r} lead out of it: see "
                        "knowtrail corpus verify."
                    )
                    raise SnapshotError(msg)
                file.write(rows[places].astype("<i8").tobytes())

    def _name_terms(self) -> None:
        """Write the terms in order, those of each chunk and the chunks of each."""
        names = sorted(self._terms.values())
        hashes = hashes_of(names)
        order = np.argsort(hashes, kind="stable")
        self._texts("term_names", names)
        self._put("term_lookup_hashes", hashes[order])
        self._put("term_lookup_rows", order)
        named = np.asarray(self._read(_NAMED))
        terms = order[np.searchsorted(hashes[order], named)]
        self._put("chunk_terms", terms)
        starts = np.fromfile(self._folder / "chunk_terms_starts", dtype="<i8")
        chunks = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        self._put("term_chunks", chunks[np.argsort(terms, kind="stable")])
        counts = np.bincount(terms, minlength=len(names))
        self._numbers("term_chunks_starts", np.cumsum(counts))
        self._counts["terms"] = len(names)
        for file in self._files.values():
            file.flush()

    def _scales(self) -> None:
        """Write 1 / length of each chunk's vector, 0 for a zero vector."""
        with open(self._folder / "chunk_scales", "wb", opener=private) as file:
            for block in self._vectors("chunk_vectors"):
                lengths = np.sqrt((block * block).sum(axis=1))
                scales = np.divide(
                    1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0
                )
                file.write(scales.astype("<f4").tobytes())

    def _axes(self) -> None:
        """Write the sums over all vectors, and the main axes of the chunks."""
        sums = []
        for name in ("chunk_vectors", "sentence_vectors"):
            moments = Moments.none(self._mark.dimensions)
            for block in self._vectors(name):
                moments += Moments.of(block)
            sums.append(moments)
        fitted = fit_projection(sums[0])
        self._put(
            "moments",
            np.stack([np.concatenate((m.total[None, :], m.outer)) for m in sums]),
        )
        self._put(
            "projection",
            np.concatenate((fitted.mean, fitted.components.ravel(), fitted.explained)),
        )

    def _vectors(self, name: str) -> Iterator[npt.NDArray[np.float64]]:
        """Yield a column of vectors in blocks, in float64."""
        vectors = self._read(name).reshape(-1, max(1, self._mark.dimensions))
        for start in range(0, len(vectors), _BLOCK):
            yield np.asarray(vectors[start : start + _BLOCK], dtype=np.float64)

    def _described(self) -> SnapshotFacts:
        """Write the description, after all files are on the disk."""
        sizes, checksums = {}, {}
        for path in sorted(self._folder.iterdir()):
            if path.is_file() and path.suffix != ".lock":
                with path.open("rb") as file:
                    os.fsync(file.fileno())
                sizes[path.name] = path.stat().st_size
                checksums[path.name] = file_digest(path)
        facts = SnapshotFacts(
            corpus=self._mark.corpus,
            stamp=self._mark.stamp,
            version=self._mark.version,
            dimensions=self._mark.dimensions,
            sizes=sizes,
            checksums=checksums,
            **self._counts,
        )
        with open(self._folder / FACTS, "w", encoding="utf-8", opener=private) as text:
            json.dump(facts.as_dict(), text, sort_keys=True)
            text.flush()
            os.fsync(text.fileno())
        return facts

"""Writing a generation of a snapshot: documents are appended, one after the other.

Only ids' hashes are held in memory while the files are completed, 16 bytes a chunk.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, BinaryIO, Self, TypeAlias

import numpy as np

from graph.errors import SnapshotError
from ingest.vector_file import storage_errors
from retrieval.projection import Moments, fit_projection
from retrieval.snapshot.layout import (
    COLUMNS,
    STARTS,
    TEXTS,
    SnapshotFacts,
    hashes_of,
    packed_hashes,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    import numpy.typing as npt

    from retrieval.snapshot.blocks import CorpusMark, DocumentBlock

_Lookup: TypeAlias = "tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]"

__all__ = ["FACTS", "GenerationWriter", "checksum"]

FACTS = "snapshot.json"
_TARGETS = "targets"
_NAMED = "named"
_ROWS = 65_536
_BLOCK = 4096
_PIECE = 1 << 20


class GenerationWriter:
    """The files of a generation while they grow; use it as a context manager."""

    def __init__(self, folder: Path, mark: CorpusMark) -> None:
        """Open the files of an empty folder.

        Args:
            folder: Where the generation goes.
            mark: The corpus as it is copied.

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
        made = [c for c in COLUMNS if c not in _COMPLETED]
        names = [
            *made,
            _TARGETS,
            _NAMED,
            *(f"{n}_bytes" for n in TEXTS),
            *(f"{n}_starts" for n in (*TEXTS, *STARTS)),
        ]
        with storage_errors(folder):
            for name in names:
                self._files[name] = self._stack.enter_context(
                    (folder / name).open("wb")
                )
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
            self._files["sentence_hashes"].write(packed_hashes(block.sentence_ids))
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
        self._files["chunk_hashes"].write(packed_hashes(block.chunk_ids))
        self._array("chunk_sentences", block.members + counts["sentences"])
        self._array(_TARGETS, block.targets)
        hashes = [packed_hashes([name]) for name in block.terms]
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
        dtype = COLUMNS.get(name, "<u8")
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
        dtype = COLUMNS.get(name, "<u8")
        path = self._folder / name
        if not path.stat().st_size:
            return np.empty(0, dtype=dtype)
        return np.memmap(path, dtype=dtype, mode="r")

    def _put(self, name: str, values: npt.NDArray[Any]) -> None:
        """Write a column that is made at the end."""
        (self._folder / name).write_bytes(values.astype(COLUMNS[name]).tobytes())

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
        with (self._folder / "edges").open("wb") as file:
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
        with (self._folder / "chunk_scales").open("wb") as file:
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
                checksums[path.name] = checksum(path)
        facts = SnapshotFacts(
            corpus=self._mark.corpus,
            stamp=self._mark.stamp,
            version=self._mark.version,
            dimensions=self._mark.dimensions,
            sizes=sizes,
            checksums=checksums,
            **self._counts,
        )
        with (self._folder / FACTS).open("w", encoding="utf-8") as text:
            json.dump(facts.as_dict(), text, sort_keys=True)
            text.flush()
            os.fsync(text.fileno())
        return facts


_COMPLETED = frozenset({
    "chunk_scales",
    "chunk_terms",
    "edges",
    "lookup_hashes",
    "lookup_rows",
    "moments",
    "projection",
    "sentence_lookup_hashes",
    "sentence_lookup_rows",
    "term_chunks",
    "term_lookup_hashes",
    "term_lookup_rows",
})
"""Columns that are made from the others at the end."""


def checksum(path: Path) -> str:
    """Return the blake2b hash of a file."""
    digest = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()

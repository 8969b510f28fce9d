"""The files of a snapshot: plain arrays and concatenated bytes, no pickle.

A *column* is one value a row and lies in one file: fixed-width numbers, row by row.
A *text column* has two files: the bytes of all rows end to end, and where each starts.
All numbers are little-endian. Documents stand in the order of their ids, the chunks
and sentences of a document one after the other in its order, so that the same corpus
always gives the same bytes, however the snapshot came about.
"""

from __future__ import annotations

import hashlib
import shlex
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from graph.errors import SnapshotError
from retrieval.projection import AXES

__all__ = [
    "COLUMNS",
    "FORMAT",
    "STARTS",
    "TEXTS",
    "SnapshotFacts",
    "column_shapes",
    "hashes_of",
    "packed_hashes",
    "rebuild_hint",
    "update_hint",
]

FORMAT = 2
"""Raised when files of an older kind cannot be read any more."""

COLUMNS = {
    "document_versions": "<i8",
    "chunk_vectors": "<f4",
    "chunk_scales": "<f4",
    "chunk_places": "<i8",
    "chunk_documents": "<i8",
    "chunk_hashes": "<u8",
    "chunk_sentences": "<i8",
    "edges": "<i8",
    "lookup_hashes": "<u8",
    "lookup_rows": "<i8",
    "sentence_vectors": "<f4",
    "sentence_places": "<i8",
    "sentence_hashes": "<u8",
    "sentence_homes": "<i8",
    "sentence_lookup_hashes": "<u8",
    "sentence_lookup_rows": "<i8",
    "chunk_terms": "<i8",
    "term_chunks": "<i8",
    "term_lookup_hashes": "<u8",
    "term_lookup_rows": "<i8",
    "moments": "<f8",
    "projection": "<f8",
}
"""Column -> the type of its numbers.

`chunk_scales` holds 1 / length of each vector; `chunk_places` index, first and last
sentence, start and end; `sentence_places` index, start and end; `chunk_sentences` and
`edges` hold rows, chunk after chunk; `sentence_homes` the first chunk of a sentence;
`chunk_terms` holds rows of terms, `term_chunks` for each term rows of chunks; terms
stand in the order of their names;
the lookups find a row by the hash of its id. `moments` are the sums over the vectors of
all chunks, then of all sentences; `projection` is mean, axes and shares of variance.
"""

STARTS = (
    "document_chunks",
    "document_sentences",
    "chunk_sentences",
    "edges",
    "chunk_terms",
    "term_chunks",
)
"""What is listed by row: `NAME_starts` says where each row's part begins."""

TEXTS = (
    "documents",
    "documents_long",
    "chunk_ids",
    "chunk_texts",
    "chunk_extras",
    "sentence_ids",
    "sentence_texts",
    "term_names",
)
"""Text columns: `NAME_bytes`, and `NAME_starts` with one start more than rows."""


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


def column_shapes(facts: SnapshotFacts) -> dict[str, tuple[int, ...]]:
    """Return the shape of each column."""
    return {
        "document_versions": (facts.documents,),
        "chunk_vectors": (facts.chunks, facts.dimensions),
        "chunk_scales": (facts.chunks,),
        "chunk_places": (facts.chunks, 5),
        "chunk_documents": (facts.chunks,),
        "chunk_hashes": (facts.chunks,),
        "chunk_sentences": (facts.memberships,),
        "edges": (facts.edges,),
        "lookup_hashes": (facts.chunks,),
        "lookup_rows": (facts.chunks,),
        "sentence_vectors": (facts.sentences, facts.dimensions),
        "sentence_places": (facts.sentences, 3),
        "sentence_hashes": (facts.sentences,),
        "sentence_homes": (facts.sentences,),
        "sentence_lookup_hashes": (facts.sentences,),
        "sentence_lookup_rows": (facts.sentences,),
        "chunk_terms": (facts.namings,),
        "term_chunks": (facts.namings,),
        "term_lookup_hashes": (facts.terms,),
        "term_lookup_rows": (facts.terms,),
        "moments": (2, facts.dimensions + 1, facts.dimensions),
        "projection": ((1 + AXES) * facts.dimensions + AXES,),
    }


def packed_hashes(ids: list[bytes]) -> bytes:
    """Return the 64-bit hashes of ids, one after the other."""
    return b"".join(hashlib.blake2b(i, digest_size=8).digest() for i in ids)


def hashes_of(ids: list[bytes]) -> npt.NDArray[np.uint64]:
    """Return the 64-bit hashes of ids."""
    return np.frombuffer(packed_hashes(ids), dtype="<u8")

"""What an ingest would store and how long it would take, without storing anything."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from knowtrail.graph.models.model_files import model_shape
from knowtrail.ingest.prepare import prepare, too_long
from knowtrail.ingest.records import (
    Damage,
    Failure,
    LeftOut,
    RawDocument,
    begun,
    position,
)

if TYPE_CHECKING:
    from knowtrail.ingest.options import IngestOptions
    from knowtrail.ingest.prepare import PreparedDocument
    from knowtrail.ingest.records import Source

_SAMPLE = 500
"""Documents that are read; of more, as many are taken to be like these."""
_KEPT = 50
_WORK = 2.5e-10
"""Processor seconds that a character takes, by layers times the square of the width:
2.2e-4 in all for all-MiniLM-L6-v2, with 6 layers of 384."""
_HASHED = 3e-6
"""Processor seconds that a character takes with `hash:N`."""
_REST = 1.2
"""A whole ingest, in times of embedding its texts: `benchmarks/README.md` has 1.17."""
_NUMBER_BYTES = 10
_TEXT_BYTES = 7_200
"""Of a number of a vector, and of a sentence or chunk besides, on disk: so that the
quickstart's 1,418 texts have the 15.7 MB that they took, with indexes and logs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What an ingest into an empty corpus would do, by the documents that were read.

    Where these are not the whole, the counts are about what a source of its length has,
    or no more than was read where it does not tell its length. The first failures are
    "title: reason", and where the source broke off. Seconds are those of the processors
    of this machine, the start apart; megabytes are millions of bytes on disk: both are
    None where the model's size is not known without loading it.
    """

    source: str
    documents: int
    sentences: int
    chunks: int
    characters: int
    failed: int
    left_out: dict[str, int]
    seconds: float | None
    megabytes: float | None
    read: int
    whole: bool
    failures: list[str] = field(default_factory=list)


def estimate_ingest(
    source: Source, *, corpus: str, options: IngestOptions, embedder: str | None
) -> Estimate:
    """Read the first 500 documents of a source; no model is loaded.

    Without the name of an embedder documents are not embedded.

    Raises:
        SourceError: If the source cannot be read, or nothing in it can be used.
    """
    counts: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    failures: list[str] = []
    seen: set[str] = set()
    whole = True
    with begun([source]) as items:
        for item in items:
            if isinstance(item, Failure):
                counts["failed"] += 1
                failures.append(f"{item.title}: {item.message}")
            if isinstance(item, Damage):
                failures.append(item.message)
            if isinstance(item, LeftOut):
                left_out[item.reason] += 1
            if not isinstance(item, RawDocument):
                continue
            document = prepare(item, corpus=corpus, options=options)
            if told := _refusal(document, item.source_id, seen):
                counts["failed"] += 1
                failures.append(f"{item.title}: {told}")
                continue
            _count(counts, document, characters=len(item.raw))
            if counts["documents"] == _SAMPLE:
                whole = False
                break
        _, done, size = position([source])
    scale = max(1.0, size / done) if size and done and not whole else 1.0
    seconds, dimensions = _pace(embedder)
    return Estimate(
        source=source.name,
        **{
            name: round(counts[name] * scale)
            for name in ("documents", "sentences", "chunks", "characters", "failed")
        },
        left_out={reason: round(n * scale) for reason, n in left_out.items()},
        seconds=_scaled(counts["embedded"] * scale * _REST, seconds),
        megabytes=_scaled(
            counts["texts"] * scale / 1e6,
            dimensions and dimensions * _NUMBER_BYTES + _TEXT_BYTES,
        ),
        read=counts["documents"],
        whole=whole,
        failures=failures[:_KEPT],
    )


def _refusal(document: PreparedDocument, source_id: str, seen: set[str]) -> str | None:
    if source_id in seen:
        return f"the id {source_id!r} occurs twice in the source"
    seen.add(source_id)
    return too_long(document)


def _count(
    counts: Counter[str], document: PreparedDocument, *, characters: int
) -> None:
    counts["documents"] += 1
    counts["sentences"] += len(document.sentences)
    counts["chunks"] += len(document.chunks)
    counts["characters"] += characters
    counts["texts"] += document.size
    counts["embedded"] += sum(
        len(row["text"]) for row in (*document.sentences, *document.chunks)
    )


def _scaled(number: float, each: float | None) -> float | None:
    """Return so many times something, None where that is not known."""
    return None if each is None else round(number * each, 1)


def _pace(embedder: str | None) -> tuple[float | None, int | None]:
    """Return the seconds that a character takes, and the numbers of a vector."""
    if embedder is None:
        return 0.0, 0
    provider, _, model = embedder.rpartition(":")
    if provider == "hash":
        return _HASHED, int(model)
    shape = model_shape(model) if provider in {"", "bf16"} else None
    if shape is None:
        return None, None
    layers, width = shape
    return _WORK * layers * width**2 / (os.cpu_count() or 1), width

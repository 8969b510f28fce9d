"""The texts and vectors that the benchmarks write.

Real ones where the shared Wikipedia sample lies beside the repository, embedded once
and kept in the system's temporary folder; else generated texts with vectors that lie
in clusters, as those of real texts do.
"""

from __future__ import annotations

import bz2
import hashlib
import os
import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from knowtrail.graph.models.embedders import embed_texts, load_embedder
from knowtrail.graph.settings import DEFAULT_EMBEDDER
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.prepare import prepare
from knowtrail.ingest.records import RawDocument
from knowtrail.ingest.sources.dump import DumpSource
from knowtrail.ingest.store import EmbeddedDocument

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from knowtrail.ingest.prepare import Keyed, PreparedDocument

ROOT = Path(__file__).resolve().parents[1]
DUMP = (
    ROOT.parent
    / "shared/data/wikipedia"
    / "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
)
CORPUS = "benchmark"
DIMENSIONS = 384
OPTIONS = IngestOptions(themes="none")
_ENDS = re.compile(rb"(?s)(.*?)(<page>.*</page>)(.*)")
_PAGE = re.compile(rb"</title>\s*<ns>\d+</ns>\s*<id>(?=\d)")
_SUBJECTS = ("river", "comet", "engine", "violin", "glacier", "harbour", "senate")
_VERBS = ("carries", "shapes", "precedes", "limits", "feeds", "crosses", "outlasts")
_PLACES = ("in the north", "after the war", "near the coast", "in late spring")


def copied_pages(copies: int, *, apart: bool = False) -> bytes:
    """Return the sample's dump with its pages so many times, the same or apart.

    Those apart have titles and ids of their own; redirects lead where they did.
    """
    found = _ENDS.fullmatch(bz2.decompress(DUMP.read_bytes()))
    assert found is not None
    start, pages, end = found.groups()
    if not apart:
        return start + pages * copies + end
    own = (rb" (%d)\g<0>%d" % (n, 1000 + n) for n in range(copies))
    return start + b"".join(_PAGE.sub(told, pages) for told in own) + end


def raw_documents() -> Iterator[RawDocument]:
    """Yield articles of the sample, or generated ones without end."""
    if DUMP.is_file():
        for item in DumpSource([DUMP]).items():
            if isinstance(item, RawDocument):
                yield item
        return
    yield from generated(10_000)


def generated(count: int, *, sentences: int = 60) -> Iterator[RawDocument]:
    """Yield documents of generated sentences, no two alike; the seed is fixed."""
    generator = np.random.default_rng(7)
    for number in range(count):
        lines = []
        for place in range(sentences):
            one, two = generator.integers(len(_SUBJECTS), size=2)
            verb = _VERBS[int(generator.integers(len(_VERBS)))]
            where = _PLACES[int(generator.integers(len(_PLACES)))]
            lines.append(
                f"The {_SUBJECTS[one]} of record {number}-{place} {verb} the "
                f"{_SUBJECTS[two]} {where}."
            )
        yield RawDocument(
            source_id=str(number), title=f"Record {number}", raw=" ".join(lines)
        )


def prepared(chunks: int) -> list[PreparedDocument]:
    """Return documents that have at least so many chunks, if there are as many."""
    found: list[PreparedDocument] = []
    total = 0
    for raw in raw_documents():
        document = prepare(raw, corpus=CORPUS, options=OPTIONS)
        if not document.sentences:
            continue
        found.append(document)
        total += len(document.chunks)
        if total >= chunks:
            break
    return found


def embedded(chunks: int, *, copies: int = 1) -> tuple[list[EmbeddedDocument], str]:
    """Return prepared documents with vectors, and what kind of vectors these are.

    Args:
        chunks: How many chunks the documents have at least, if there are as many.
        copies: How often each document is there, with ids of its own and its vectors
            moved a little, so that a larger sample needs no more embedding.
    """
    documents, kind = _embedded(chunks)
    if copies == 1:
        return documents, kind
    out = [again for n in range(copies) for again in _copies(documents, n)]
    return out, f"{kind}, {copies} times with noise"


def _copies(
    documents: Sequence[EmbeddedDocument], number: int
) -> Iterator[EmbeddedDocument]:
    """Yield documents with other ids and with vectors at a cosine of about 0.85."""
    generator = np.random.default_rng(number)

    def moved(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        noise = generator.standard_normal(vectors.shape) * 0.6
        moved = vectors + noise / np.sqrt(vectors.shape[1])
        moved /= np.linalg.norm(moved, axis=1, keepdims=True)
        return np.asarray(moved, dtype=np.float32)

    def renamed(span: Keyed) -> Keyed:
        return f"{span[0]}-{number}", *span[1:]

    for one in documents:
        document = one.document
        yield replace(
            one,
            vectors=moved(one.vectors),
            document=replace(
                document,
                properties=document.properties | {"id": f"{document.id}-{number}"},
                sentence_spans=tuple(map(renamed, document.sentence_spans)),
                chunk_spans=tuple(map(renamed, document.chunk_spans)),
            ),
        )


def _embedded(chunks: int) -> tuple[list[EmbeddedDocument], str]:
    """Return prepared documents with vectors, and what kind of vectors these are."""
    documents = prepared(chunks)
    texts = [row["text"] for d in documents for row in (*d.sentences, *d.chunks)]
    vectors, kind = vectors_of(texts)
    out, place = [], 0
    for document in documents:
        end = place + document.size
        out.append(EmbeddedDocument(document=document, vectors=vectors[place:end]))
        place = end
    return out, kind


def vectors_of(texts: Sequence[str]) -> tuple[npt.NDArray[np.float32], str]:
    """Return one vector a text, from the model, the cache or a generator."""
    if not DUMP.is_file():
        return _clustered(len(texts)), "clustered random vectors"
    kind = f"vectors of {DEFAULT_EMBEDDER}"
    key = hashlib.blake2b("\0".join(texts).encode(), digest_size=12).hexdigest()
    path = Path(tempfile.gettempdir()) / f"knowtrail-vectors-{key}.npy"
    if not path.is_file():
        print(f"Embedding {len(texts):,} texts, once", flush=True)
        found = embed_texts(load_embedder(DEFAULT_EMBEDDER), list(texts))
        vectors = np.asarray(found, dtype=np.float32)
        draft = path.with_suffix(f".{os.getpid()}.npy")
        np.save(draft, vectors)
        draft.replace(path)
    return np.load(path), kind


def _clustered(count: int) -> npt.NDArray[np.float32]:
    """Return unit vectors around a few hundred centres; the seed is fixed."""
    generator = np.random.default_rng(11)
    centres = generator.standard_normal((max(8, count // 60), DIMENSIONS))
    which = generator.integers(len(centres), size=count)
    vectors = centres[which] + 0.8 * generator.standard_normal((count, DIMENSIONS))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors.astype(np.float32)


def batches(
    documents: Sequence[EmbeddedDocument], texts: int
) -> list[list[EmbeddedDocument]]:
    """Group documents as an ingest does: whole documents, at most so many texts."""
    out: list[list[EmbeddedDocument]] = []
    size = 0
    for document in documents:
        if not out or size + document.document.size > texts:
            out.append([])
            size = 0
        out[-1].append(document)
        size += document.document.size
    return out


def rows_of(documents: Sequence[EmbeddedDocument]) -> int:
    """Return how many vectors documents have."""
    return sum(d.document.size for d in documents)

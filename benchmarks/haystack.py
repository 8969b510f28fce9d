"""What `auto`, `dense`, `bm25` and `hybrid` lose where a set is part of a large corpus.

Each set's passages lie among so many other chunks: first real ones, of the other sets
and of a piece of English Wikipedia in windows of three sentences, then made ones. A
made chunk is the first half of one real chunk and the second half of another one, under
the title of the first; its vector is the mean of the two, which is how near to the
vector of its text as a note under the table says. Everything is in memory: all cosines
are exact, terms are those of the usual rules, `hybrid` fuses the two rankings by
places. Questions are all of each set.
"""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from broad import DUMP
from measure import Table, warmed

from knowtrail.eval.datasets import load_dataset
from knowtrail.eval.retrieval.dataset import raw_document
from knowtrail.graph.models.embedders import embed_texts, load_embedder
from knowtrail.graph.settings import DEFAULT_EMBEDDER
from knowtrail.ingest.keys import content_key
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.prepare import prepare
from knowtrail.ingest.records import RawDocument
from knowtrail.ingest.sources.dump import DumpSource
from knowtrail.ingest.terms import (
    LINKED_SHARE,
    MOST_LINKED,
    NameTally,
    TermFinder,
    counted_names,
    title_names,
)
from knowtrail.retrieval.algorithms.auto import Auto
from knowtrail.retrieval.algorithms.hybrid import fused
from knowtrail.retrieval.cosine import cosines, ranked
from knowtrail.retrieval.driving import run as drive
from knowtrail.retrieval.protocols import (
    Candidates,
    StoredSentence,
    WalkOptions,
    anchor_hits,
)
from knowtrail.retrieval.rerank.bm25 import words as words_of
from knowtrail.retrieval.walk import ChunkText
from tests.memory_reader import LOOKED, MemoryGraph, MemoryReader

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from knowtrail.eval.retrieval.dataset import RetrievalDataset
    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.ingest.terms import Names
    from knowtrail.retrieval.protocols import Nearest, Vector

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
DEPTH = 100
_FINDER: list[TermFinder] = []
"""The finder of terms, which forked processes share."""
CHECKED = 100
"""Made chunks whose texts are embedded, to compare them with their vectors."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Texts:
    """Chunks with their titles and vectors."""

    texts: list[str]
    titles: list[str]
    vectors: Vector

    def __add__(self, other: Texts) -> Texts:
        """Return the chunks of both."""
        return Texts(
            texts=self.texts + other.texts,
            titles=self.titles + other.titles,
            vectors=np.concatenate((self.vectors, other.vectors)),
        )

    def first(self, count: int) -> Texts:
        """Return the first ones."""
        return Texts(
            texts=self.texts[:count],
            titles=self.titles[:count],
            vectors=self.vectors[:count],
        )


class Reader(MemoryReader):
    """A reader in memory that has an index of words, and is quick among a million."""

    def __init__(self, graph: MemoryGraph) -> None:
        """Index all chunks."""
        import bm25s  # type: ignore[import-untyped]

        super().__init__(graph)
        logging.getLogger("bm25s").setLevel(logging.NOTSET)
        self._ids = [chunk.id for chunk in graph.chunks]
        self._words = bm25s.BM25(k1=1.2, b=0.75)
        found = [words_of(chunk.text) for chunk in graph.chunks]
        self._words.index(found, create_empty_token=False, show_progress=False)
        self._asked: tuple[bytes, Vector] = (b"", np.empty(0))
        self.cut: set[str] = set()

    def _best(self, scores: Vector, most: int) -> list[int]:
        """Return the rows with the highest scores, best first, ties by id."""
        most = min(most, len(scores))
        rows = np.flatnonzero(scores >= np.partition(scores, -most)[-most])
        ids = [self._ids[row] for row in rows]
        return [int(rows[i]) for i in ranked(ids, scores[rows])[:most]]

    def _nearest(self, vector: Vector, most: int) -> list[int]:
        """Return the rows nearest to a vector, best first."""
        if self._asked[0] != vector.tobytes():
            self._asked = (vector.tobytes(), cosines(vector, self._vectors))
        return self._best(self._asked[1], most)

    def _worded(self, text: str, most: int) -> list[int]:
        """Return the rows of the chunks that have most of the words of a text."""
        known = self._words.vocab_dict
        asked = [word for word in dict.fromkeys(words_of(text)) if word in known]
        if not asked:
            return []
        scores = np.asarray(self._words.get_scores(asked))
        return [row for row in self._best(scores, most) if scores[row] > 0]

    def by_words(self, text: str, most: int) -> list[str]:
        """Return ids of the chunks that have most of the words of a text."""
        return [self._ids[row] for row in self._worded(text, most)]

    def near(self, vector: Vector, most: int) -> list[str]:
        """Return ids of the chunks nearest to a vector, best first."""
        return [self._ids[row] for row in self._nearest(vector, most)]

    def _near(self, name: str, nearest: Nearest) -> list[str]:
        """Remember the names of which not all members are looked at."""
        if len(self._members[name]) > LOOKED:
            self.cut.add(name)
        return super()._near(name, nearest)

    def anchors(
        self,
        vector: Vector,
        k: int,
        *,
        documents: bool = False,
        words: str = "",
        texts: int = 0,
    ) -> Candidates:
        """Return the nearest chunks and those with most of the words."""
        hits = anchor_hits(k)
        order = self._nearest(vector, max(hits, texts))
        worded = self._worded(words, hits)
        best = sorted({*order[:hits], *worded})
        chunks = [self._graph.chunks[row] for row in (*best, *order[hits:])]
        return Candidates(
            ids=tuple(chunk.id for chunk in chunks),
            vectors=self._vectors[best],
            complete=len(best) == len(self._ids),
            documents=tuple(chunk.document_id for chunk in chunks),
            by_words=tuple(self._ids[row] for row in worded),
            texts=[chunk.text for chunk in chunks] if texts else (),
        )


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--sizes",
        type=lambda text: [int(part) for part in text.split(",")],
        help="other chunks, separated by commas (default 10000,100000)",
    )
    parser.add_argument("--sets", help="MuSiQue-100,2WikiMultihop-100,... (all)")
    parser.add_argument("--vectors", type=Path, help="keep vectors in this folder")
    parser.add_argument("--embedder", default=DEFAULT_EMBEDDER)
    parser.add_argument("--processes", type=int, default=1, help="that find terms")


def run(given: argparse.Namespace) -> None:
    """Put each set into haystacks of each size, and print what is found."""
    embedder = warmed(load_embedder(given.embedder))
    sizes = given.sizes or ([1000] if given.small else [10_000, 100_000])
    datasets = _datasets()
    chosen = given.sets.split(",") if given.sets else list(datasets)
    sets = {name: _of_set(one, embedder, given) for name, one in datasets.items()}
    real = _wikipedia(embedder, given)
    table = Table(
        title=f"haystack: R@5 in per cent, {given.embedder}",
        columns=("set", "others", *(f"{name}, less" for name in SYSTEMS)),
    )
    likeness: list[str] = []
    for name in chosen:
        others = real
        for other, one in sets.items():
            others = one + others if other != name else others
        base: list[float] = []
        for size in (0, *sizes):
            made = _made(others, max(0, size - len(others.texts)))
            if len(made.texts) and not likeness:
                likeness.append(_likeness(made, embedder))
            texts = sets[name] + (others.first(size) + made)
            del made  # a million vectors take 3 GB
            found = _measured(datasets[name], texts, embedder, given)
            base = base or found
            cells = (f"{x:.1f}, {b - x:.1f}" for x, b in zip(found, base, strict=True))
            hay = len(texts.texts) - len(sets[name].texts)
            table.add(name, f"{hay:,}", *cells)
            print(*table.rows[-1], flush=True)
    table.notes += likeness
    table.print(None)


SYSTEMS = ("auto", "dense", "hybrid", "bm25")


def _datasets() -> dict[str, RetrievalDataset]:
    """Return all sets by name."""
    halves = {"MuSiQue-100": "musique/musique_train", "2Wiki-100": "2wiki/2wiki_dev"}
    found = {
        name: load_dataset(
            stem.partition("/")[0],
            [DATA / f"{stem}{end}.json" for end in ("", "_corpus")],
            contexts="items",
        )
        for name, stem in halves.items()
    }
    paths = sorted((DATA / "traversal_questions").glob("*.csv"))
    return found | {
        f"conceptual-{len(one.questions)}": one
        for one in (load_dataset("deepeval", [p], contexts="items") for p in paths)
    }


def _of_set(dataset: RetrievalDataset, embedder: Embedder, given: object) -> Texts:
    """Return the passages of a set, each with its title as one chunk."""
    titled = dataset.kind != "deepeval"
    texts = [raw_document(p, title=titled).raw for p in dataset.passages]
    titles = [p.title or p.id for p in dataset.passages]
    return Texts(texts=texts, titles=titles, vectors=_vectors(texts, embedder, given))


def _wikipedia(embedder: Embedder, given: object) -> Texts:
    """Return windows of articles, in an order by their keys."""
    windows = IngestOptions(window=3, stride=3, themes="none")
    rows = [
        (chunk["text"][:1500], item.title)
        for item in DumpSource([DUMP]).items()
        if isinstance(item, RawDocument)
        for chunk in prepare(item, corpus="haystack", options=windows).chunks
    ]
    rows.sort(key=lambda row: content_key(*row))
    texts = [text for text, _ in rows]
    return Texts(
        texts=texts,
        titles=[title for _, title in rows],
        vectors=_vectors(texts, embedder, given),
    )


def _vectors(texts: Sequence[str], embedder: Embedder, given: object) -> Vector:
    """Embed texts, those of like length together, or read what was kept."""
    folder: Path | None = getattr(given, "vectors", None)
    name = f"{getattr(given, 'embedder', '')}\n" + "\n".join(texts)
    key = hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=8).hexdigest()
    if folder is not None and (folder / f"{key}.npy").exists():
        return np.asarray(np.load(folder / f"{key}.npy"), dtype=np.float64)
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    parts = [
        embed_texts(embedder, [texts[i] for i in order[at : at + 64]])
        for at in range(0, len(order), 64)
    ]
    vectors = np.concatenate(parts)[np.argsort(order)]
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / f"{key}.npy", vectors)
    return vectors.astype(np.float64)


def _made(real: Texts, count: int) -> Texts:
    """Return chunks of two halves of real ones, with the mean of their vectors."""
    pairs = np.random.default_rng(7).integers(len(real.texts), size=(count, 2))
    halves = [(text[: len(text) // 2], text[len(text) // 2 :]) for text in real.texts]
    unit = real.vectors / np.linalg.norm(real.vectors, axis=1, keepdims=True)
    vectors = (unit[pairs[:, 0]] + unit[pairs[:, 1]]) / 2
    return Texts(
        texts=[halves[a][0] + halves[b][1] for a, b in pairs.tolist()],
        titles=[f"{real.titles[a]} ({n})" for n, (a, _) in enumerate(pairs.tolist())],
        vectors=vectors / np.maximum(np.linalg.norm(vectors, axis=1)[:, None], 1e-9),
    )


def _likeness(made: Texts, embedder: Embedder) -> str:
    """Say how near the vectors of made chunks are to those of their texts."""
    real = embed_texts(embedder, made.texts[:CHECKED]).astype(np.float64)
    real /= np.linalg.norm(real, axis=1, keepdims=True)
    near = (real * made.vectors[:CHECKED]).sum(axis=1)
    return (
        f"Vectors of made chunks have a mean cosine of {near.mean():.2f} to those of "
        f"their texts ({len(near)} of them embedded)."
    )


def _counted(texts: Sequence[str]) -> Names:
    names, small = counted_names(texts)
    return dict(names), small


def _found(texts: Sequence[str]) -> list[set[str]]:
    return [set(_FINDER[0].find(text)) for text in texts]


def _named(texts: Texts, processes: int) -> list[tuple[str, ...]]:
    """Return the terms of each chunk, by the usual rules; processes share the work."""
    parts = [texts.texts[n : n + 1000] for n in range(0, len(texts.texts), 1000)]

    def mapped(work: Callable[[Sequence[str]], Any]) -> list[Any]:
        if processes < 2:
            return [work(part) for part in parts]
        with get_context("fork").Pool(processes) as pool:
            return pool.map(work, parts)

    tally = NameTally()
    for counts in mapped(_counted):
        tally.add(counts)
    titled = title_names(texts.titles)
    _FINDER[:] = [TermFinder({*tally.chosen(), *titled})]
    found = [names for part in mapped(_found) for names in part]
    counts = Counter(name for names in found for name in names)
    most = max(MOST_LINKED, len(found) // LINKED_SHARE)
    kept = {n for n, c in counts.items() if (n not in titled) < c <= most}
    return [tuple(sorted(names & kept)) for names in found]


def _measured(
    dataset: RetrievalDataset,
    texts: Texts,
    embedder: Embedder,
    given: argparse.Namespace,
) -> list[float]:
    """Return the mean Recall@5 of each system."""
    ids = [content_key("haystack", str(i), t) for i, t in enumerate(texts.texts)]
    chunks = tuple(
        ChunkText(
            id=key,
            document_id=key,
            text=text,
            title=title,
            index=0,
            first_sentence=0,
            last_sentence=0,
            start_char=0,
            end_char=len(text),
        )
        for key, text, title in zip(ids, texts.texts, texts.titles, strict=True)
    )
    graph = MemoryGraph(
        chunks=chunks,
        vectors=texts.vectors,
        sentences={
            chunk.id: (
                StoredSentence(
                    id=chunk.id,
                    text=chunk.text,
                    index=0,
                    start_char=0,
                    end_char=chunk.end_char,
                    vector=vector,
                ),
            )
            for chunk, vector in zip(chunks, texts.vectors, strict=True)
        },
        edges={},
        names=dict(zip(ids, _named(texts, given.processes), strict=True)),
    )
    reader = Reader(graph)
    passages = {p.id: key for p, key in zip(dataset.passages, ids, strict=False)}
    recalls: list[list[float]] = [[] for _ in SYSTEMS]
    for question in dataset.questions:
        gold = {passages[name] for name in question.gold_documents}
        vector = np.asarray(embedder.embed_query(question.text), dtype=np.float64)
        near = reader.near(vector, DEPTH)
        worded = reader.by_words(question.text, DEPTH)
        both = [key for key, _ in fused((near, worded))]
        options = WalkOptions(
            max_sentences=None, max_chunks=5, max_hops=50, question=question.text
        )
        trail = drive(reader, Auto().walk(vector, options))
        own = [step.chunk.id for step in trail.steps]
        most = min(5, len(gold))
        for values, order in zip(recalls, (own, near, both, worded), strict=True):
            values.append(100 * len(gold.intersection(order[:5])) / most)
    if reader.cut:
        names = ", ".join(sorted(reader.cut))
        print(f"Names with more than {LOOKED:,} chunks: {names}", flush=True)
    return [float(np.mean(values)) for values in recalls]

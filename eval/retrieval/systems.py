"""The systems that can be measured, by name.

`bm25`: passages by the words that they share with the question, the rare ones more.

The index is made of the corpus's chunks in memory by the package bm25s, with the words
of `knowtrail.retrieval.rerank.bm25`: no stemming, no stop words, any language; k1 and
b are Lucene's, and a word counts once however often the question has it. The database's
full-text index is not used, since it counts how rare a word is over all corpora.

`dense+1hop`: the naive expansion that a graph invites to, as a control.

The five chunks nearest to the question pass their cosines on along their SIMILAR_TO
edges, each times the cosine of the two chunks; what comes to a chunk adds up. The rest
of the ranking is filled from the dense one.

Walking algorithms are measured as they were published, and as rankers.

`NAME:published` walks by the rules of the published code for ten sentences and is
measured by the passages that these come from, in the order of their best chunks.
`NAME` walks on until it has read five passages, its early stop turned off, or until it
finds no way; passages stand by the cosine of their best chunk, and the rest is filled
from the dense ranking, marked.
`auto` ranks by itself, so its chunks stay in its order.
"""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from knowtrail.eval.retrieval.dataset import (
    RankedDocument,
    Ranking,
    ReturnedChunk,
    ReturnedSentence,
    WalkStep,
)
from knowtrail.graph.errors import InputError, near_name
from knowtrail.retrieval.algorithms import ALGORITHMS, DETERMINISTIC, ORDERED
from knowtrail.retrieval.algorithms.asking import Ranking as ChunkRanking
from knowtrail.retrieval.algorithms.asking import ask_visits
from knowtrail.retrieval.algorithms.hybrid import fused
from knowtrail.retrieval.algorithms.rules import Rules
from knowtrail.retrieval.cosine import cosines
from knowtrail.retrieval.driving import run
from knowtrail.retrieval.questions import Task, check_question
from knowtrail.retrieval.recording import Recording, record
from knowtrail.retrieval.rerank.bm25 import words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from knowtrail.eval.retrieval.bench import Bench
    from knowtrail.eval.retrieval.dataset import RetrievalQuestion, System
    from knowtrail.graph.models.language_models import LanguageModel
    from knowtrail.retrieval.protocols import Algorithm, Vector, Walking
    from knowtrail.retrieval.walk import RankedChunk, Trail

_LOG = logging.getLogger(__name__)
_Found: TypeAlias = "tuple[list[tuple[str, float]], Sequence[RankedChunk]]"


SENTENCES = 10
"""Sentences that a system hands on, unless its walk says otherwise: as published."""


def documents_of(
    bench: Bench, chunks: Iterable[tuple[str, float]], k: int
) -> tuple[RankedDocument, ...]:
    """Return passages by their best chunks, best first, ties by id."""
    best: dict[str, float] = {}
    for chunk_id, score in chunks:
        if (chunk := bench.chunks.get(chunk_id)) is not None:
            best[chunk.document] = max(score, best.get(chunk.document, score))
    order = sorted(best, key=lambda name: (-best[name], name))[:k]
    return tuple(RankedDocument(id=name, score=best[name]) for name in order)


def chunks_of(
    bench: Bench, chunks: Iterable[tuple[str, float]]
) -> tuple[ReturnedChunk, ...]:
    """Return chunks in terms of the data set, in their order."""
    return tuple(
        ReturnedChunk(document=at.document, first=at.first, last=at.last, score=score)
        for chunk_id, score in chunks
        if (at := bench.chunks.get(chunk_id)) is not None
    )


def sentences_of(
    bench: Bench, chunks: Sequence[ReturnedChunk], *, most: int = SENTENCES
) -> tuple[ReturnedSentence, ...]:
    """Return the first sentences of chunks in their order, each once."""
    found: dict[tuple[str, int], ReturnedSentence] = {}
    for chunk in chunks:
        for number in range(chunk.first, chunk.last + 1):
            if len(found) >= most:
                return tuple(found.values())
            found.setdefault(
                (chunk.document, number),
                ReturnedSentence(
                    document=chunk.document,
                    sentence=number,
                    text=bench.sentence(chunk.document, number),
                ),
            )
    return tuple(found.values())


def nearest(
    bench: Bench, ranking: ChunkRanking, k: int, *, known: Iterable[str] = ()
) -> Walking[list[RankedChunk]]:
    """Take chunks from a ranking until there are enough passages, or no more."""
    documents = set(known)
    before = frozenset(documents)
    taken: list[RankedChunk] = []
    while len(documents) < k and (hit := (yield from ranking.next())) is not None:
        chunk = bench.chunks.get(hit.id)
        if chunk is not None and chunk.document not in before:
            taken.append(hit)
            documents.add(chunk.document)
    return taken


def filled_up(
    bench: Bench,
    documents: Sequence[RankedDocument],
    rest: Iterable[RankedChunk],
    k: int,
) -> tuple[RankedDocument, ...]:
    """Return a ranking with passages of the dense one after its end, marked."""
    more = documents_of(bench, ((hit.id, hit.score) for hit in rest), k)
    marked = (replace(document, filled=True) for document in more)
    return tuple([*documents, *marked][:k])


class _System(ABC):
    """What all systems share."""

    name = ""

    def prepare(self, bench: Bench) -> None:
        """Take the corpus."""
        self._bench = bench

    def warm_up(self, question: RetrievalQuestion) -> None:
        """Answer a question, so that the server has planned it; keep nothing of it."""
        bench = self._bench
        self._bench = replace(bench, record=False)
        try:
            self.rank(question, 1)
        finally:
            self._bench = bench

    @abstractmethod
    def rank(self, question: RetrievalQuestion, k: int) -> Ranking:
        """Rank passages for a question."""


class _Chunks(_System):
    """A system that ranks chunks; its time is that from the vector to the chunks."""

    hops = 0

    @abstractmethod
    def _walk(self, question: str, query: Vector, k: int) -> Walking[_Found]:
        """Return scored chunks, best first, and the dense ones that fill the rest."""

    def rank(self, question: RetrievalQuestion, k: int) -> Ranking:
        """Return the passages of the best chunks."""
        bench = self._bench
        query = bench.vector(question.text)
        reader = bench.open_reader(question.text).reader
        begin = time.perf_counter()
        found, rest = run(reader, self._walk(question.text, query, k))
        seconds = time.perf_counter() - begin
        documents = filled_up(bench, documents_of(bench, found, k), rest, k)
        shown = {document.id for document in documents}
        known = [pair for pair in [*found, *_pairs(rest)] if pair[0] in bench.chunks]
        chunks = chunks_of(
            bench, [pair for pair in known if bench.chunks[pair[0]].document in shown]
        )
        crossed = {bench.chunks[name].document for name, _ in known[: len(found)]}
        return Ranking(
            documents=documents,
            chunks=chunks,
            sentences=sentences_of(bench, chunks),
            milliseconds=1000 * seconds,
            hops=self.hops,
            crossed=len(crossed) if self.hops else 0,
        )


def _pairs(hits: Iterable[RankedChunk]) -> list[tuple[str, float]]:
    return [(hit.id, hit.score) for hit in hits]


class DenseSystem(_Chunks):
    """The vector index, its best hits scored again exactly; one trip is timed."""

    name = "dense"

    def _walk(self, question: str, query: Vector, k: int) -> Walking[_Found]:
        hits = yield from nearest(self._bench, ChunkRanking(query, k=k), k)
        return _pairs(hits), ()


_K1 = 1.2
_B = 0.75


class Bm25System(_Chunks):
    """BM25 alone, over all chunks of the corpus."""

    name = "bm25"

    def prepare(self, bench: Bench) -> None:
        """Index the chunks."""
        import bm25s  # type: ignore[import-untyped]

        super().prepare(bench)
        logging.getLogger("bm25s").setLevel(logging.NOTSET)
        self._ids = tuple(bench.chunks)
        found = [words(chunk.text) for chunk in bench.chunks.values()]
        self._model = bm25s.BM25(k1=_K1, b=_B, dtype="float64")
        if any(found):
            self._model.index(found, create_empty_token=False, show_progress=False)

    def best(self, question: str, most: int) -> list[tuple[str, float]]:
        """Return ids of chunks with their scores, best first, ties by id."""
        known = getattr(self._model, "vocab_dict", {})
        asked = [word for word in dict.fromkeys(words(question)) if word in known]
        if not asked:
            return []
        scores = np.asarray(self._model.get_scores(asked))
        order = np.lexsort((np.arange(len(scores)), -scores))[:most]
        return [(self._ids[at], float(scores[at])) for at in order if scores[at] > 0]

    def _walk(self, question: str, query: Vector, k: int) -> Walking[_Found]:
        yield from ()
        return self.best(question, len(self._bench.chunks)), ()


_DEPTH = 100


class FusionSystem(Bm25System):
    """The hundred best chunks of either ranking, fused by their places."""

    name = "rrf"

    def _walk(self, question: str, query: Vector, k: int) -> Walking[_Found]:
        depth = max(_DEPTH, k)
        dense = ChunkRanking(query, k=depth // 10)
        near = yield from nearest(self._bench, dense, depth)
        ids = (
            [hit.id for hit in near[:depth]],
            [name for name, _ in self.best(question, depth)],
        )
        return fused(ids), ()


_SEEDS = 5


class ExpansionSystem(_Chunks):
    """One hop from the five nearest chunks."""

    name = "dense+1hop"
    hops = 1

    def _walk(self, question: str, query: Vector, k: int) -> Walking[_Found]:
        bench = self._bench
        ranking = ChunkRanking(query, k=max(k, _SEEDS))
        yield from ranking.read()
        seeds = ranking.ranked[:_SEEDS]
        visits = yield from ask_visits(tuple(seed.id for seed in seeds))
        scores = dict(_pairs(seeds))
        for seed in seeds:
            if (visit := visits.get(seed.id)) is None or not visit.neighbours.ids:
                continue
            around = visit.neighbours
            near = cosines(ranking.vectors[seed.id], around.vectors).tolist()
            for name, cosine in zip(around.ids, near, strict=True):
                scores[name] = scores.get(name, 0.0) + seed.score * cosine
        order = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
        found = [pair for pair in order if pair[0] in bench.chunks]
        known = {bench.chunks[name].document for name, _ in found}
        rest = yield from nearest(bench, ranking, k, known=known)
        return found, rest


PUBLISHED = ":published"
"""What follows the name of an algorithm that is measured as published."""

_DOCUMENTS = 5
_HOPS = 100
_MOST_CHUNKS = 320


@dataclass(frozen=True, slots=True)
class _Walked:
    task: Task
    trail: Trail
    query: Vector
    seconds: float
    reader: str
    rest: tuple[RankedChunk, ...] = ()


class _Walker(_System):
    """What the three ways of measuring a walk share."""

    suffix = ""

    def __init__(self, algorithm: str, *, model: LanguageModel | None = None) -> None:
        self.name = algorithm + self.suffix
        self._algorithm = algorithm
        self._model = model

    @property
    def model_name(self) -> str | None:
        """Return the name of the language model; None where none is asked."""
        return None if self._model is None else self._model.name

    def _ranking(
        self, walked: _Walked, documents: tuple[RankedDocument, ...]
    ) -> Ranking:
        bench, trail = self._bench, walked.trail
        chunks = chunks_of(bench, [(step.chunk.id, step.score) for step in trail.steps])
        more = chunks_of(bench, [(hit.id, hit.score) for hit in walked.rest])
        sentences = list(_found(bench, trail))[:SENTENCES]
        room = SENTENCES - len(sentences)
        return Ranking(
            documents=documents,
            chunks=(*chunks, *more),
            sentences=(*sentences, *sentences_of(bench, more, most=room)),
            milliseconds=1000 * walked.seconds,
            hops=sum(step.hop > 0 for step in trail.steps),
            crossed=len({chunk.document for chunk in chunks}),
            stop_reason=trail.stop_reason,
            steps=tuple(
                WalkStep(
                    document=bench.passages.get(step.chunk.document_id, ""),
                    hop=step.hop,
                    score=step.score,
                    reason=step.reason,
                )
                for step in trail.steps
            ),
            traversal_id=self._record(walked) if bench.record else None,
        )

    def _record(self, walked: _Walked) -> str | None:
        bench = self._bench
        walk = walked.task.walk(
            bench.corpus.name,
            walked.trail,
            walked.seconds,
            reader=walked.reader,
            model=self.model_name,
            k=walked.task.k,
            measuredAs=self.name,
        )
        stored, warning = record(
            bench.connection,
            Recording(
                walk=walk,
                query=walked.query,
                corpus_version=bench.corpus.version,
                ranking=walked.trail.ranking,
            ),
        )
        if warning:
            _LOG.warning("%s", warning)
        return stored


def _found(bench: Bench, trail: Trail) -> Iterator[ReturnedSentence]:
    for step in trail.steps:
        passage = bench.passages.get(step.chunk.document_id, "")
        for sentence in step.sentences if passage else ():
            if (number := bench.number(passage, sentence.index)) is not None:
                yield ReturnedSentence(
                    document=passage, sentence=number, text=sentence.text
                )


def _read(trail: Trail) -> list[tuple[str, float]]:
    """Return ids and scores of the chunks of which a walk read sentences."""
    return [(step.chunk.id, step.score) for step in trail.steps if step.sentences]


class PublishedWalkSystem(_Walker):
    """An algorithm as it was published: ten sentences, and no more than they give."""

    suffix = PUBLISHED

    def rank(self, question: RetrievalQuestion, k: int) -> Ranking:
        """Return the passages that the ten sentences come from."""
        bench = self._bench
        query = bench.vector(question.text)
        task = check_question(
            question.text,
            algorithm=self._algorithm,
            max_sentences=SENTENCES,
            preset="published",
            reader=bench.reader,
        )
        opened = bench.open_for(task)
        begin = time.perf_counter()
        trail = run(opened.reader, task.walking(query), self._model)
        seconds = time.perf_counter() - begin
        walked = _Walked(task, trail, query, seconds, opened.name)
        return self._ranking(walked, documents_of(bench, _read(trail), k))


class WalkSystem(_Walker):
    """An algorithm as a ranker: five passages, then the dense ranking."""

    def rank(self, question: RetrievalQuestion, k: int) -> Ranking:
        """Return the passages that the walk read, and the nearest others."""
        walked = self._walked(question, k, documents=min(_DOCUMENTS, k))
        bench = self._bench
        documents = documents_of(bench, _read(walked.trail), k)
        return self._ranking(walked, filled_up(bench, documents, walked.rest, k))

    def _walked(
        self, question: RetrievalQuestion, k: int, *, documents: int
    ) -> _Walked:
        """Walk until there are enough passages or the walk ends by itself."""
        # Where chunks of one passage follow each other, the walk is made again with
        # twice the chunks; the time is that of the last one.
        bench = self._bench
        query = bench.vector(question.text)
        task = check_question(
            question.text,
            algorithm=self._algorithm,
            k=k,
            max_hops=_HOPS,
            reader=bench.reader,
        )
        task = replace(task, algorithm=_tireless(task.algorithm))
        opened = bench.open_for(task)
        chunks = documents
        while True:
            options = replace(task.options, max_sentences=None, max_chunks=chunks)
            task = replace(task, options=options)
            begin = time.perf_counter()
            trail = run(opened.reader, task.walking(query), self._model)
            trail = _until(trail, documents)
            read = {s.chunk.document_id for s in trail.steps if s.sentences}
            seconds = time.perf_counter() - begin
            limited = trail.stop_reason == "chunk_limit" and chunks < _MOST_CHUNKS
            if len(read) >= documents or not limited:
                break
            chunks *= 2
        begin = time.perf_counter()
        ranking = ChunkRanking(query, k=k, known=trail.ranking)
        known = {bench.passages[name] for name in read if name in bench.passages}
        rest = run(opened.reader, nearest(bench, ranking, k, known=known))
        seconds += time.perf_counter() - begin
        return _Walked(task, trail, query, seconds, opened.name, tuple(rest))


def _tireless(algorithm: Algorithm) -> Algorithm:
    """Return an algorithm without its early stop, where it has one."""
    rules = getattr(algorithm, "rules", None)
    if not isinstance(rules, Rules):
        return algorithm
    changed: Any = replace(
        cast("Any", algorithm), rules=replace(rules, early_stop=False)
    )
    return cast("Algorithm", changed)


def _until(trail: Trail, documents: int) -> Trail:
    read: set[str] = set()
    for place, step in enumerate(trail.steps):
        if step.sentences:
            read.add(step.chunk.document_id)
        if len(read) >= documents:
            return replace(trail, steps=trail.steps[: place + 1])
    return trail


class OrderedWalkSystem(WalkSystem):
    """An algorithm whose steps are a ranking already, such as `auto`."""

    def rank(self, question: RetrievalQuestion, k: int) -> Ranking:
        """Return passages in the order in which the algorithm comes to them."""
        walked = self._walked(question, k, documents=k)
        bench = self._bench
        places: dict[str, RankedDocument] = {}
        for step in walked.trail.steps:
            passage = bench.passages.get(step.chunk.document_id)
            if passage is not None and step.sentences:
                places.setdefault(
                    passage, RankedDocument(id=passage, score=1 / (1 + len(places)))
                )
        documents = filled_up(bench, tuple(places.values())[:k], walked.rest, k)
        return self._ranking(walked, documents)


_PLAIN: dict[str, Callable[[], System]] = {
    kind.name: kind for kind in (DenseSystem, Bm25System, FusionSystem, ExpansionSystem)
}


def system_names(*, llm: bool = True) -> tuple[str, ...]:
    """Return the names of all systems in the order of a table."""
    known = [name for name in ALGORITHMS if llm or name in DETERMINISTIC]
    ordered = [name for name in ORDERED if name in known]
    walks = [name for name in known if name not in ORDERED]
    return (*_PLAIN, *ordered, *walks, *(f"{name}{PUBLISHED}" for name in walks))


def asks_model(name: str) -> bool:
    """Return whether a system asks a language model."""
    algorithm = name.removesuffix(PUBLISHED)
    return algorithm in ALGORITHMS and algorithm not in DETERMINISTIC


def asked_names(asked: str) -> tuple[str, ...]:
    """Return the names of the systems that are asked for."""
    if asked in {"all", "all+llm"}:
        return system_names(llm=asked == "all+llm")
    names = tuple(name.strip() for name in asked.split(",") if name.strip())
    if not names or len(set(names)) < len(names):
        raise InputError(f"The systems are {asked!r:.200}: name each once, or 'all'.")
    known = system_names()
    for name in names:
        if name not in known:
            hint = near_name(name, known, "did you mean {!r}? ", cutoff=0.4)
            raise InputError(
                f"No system {name!r:.80}: {hint}There are all, all+llm, "
                f"{', '.join(known)}."
            )
    return names


def systems_of(asked: str, *, model: LanguageModel | None = None) -> tuple[System, ...]:
    """Return the systems that are asked for, with the model of those that ask one."""
    names = asked_names(asked)
    if model is None and (asking := [name for name in names if asks_model(name)]):
        raise InputError(f"{asking[0]} asks a language model: name one with --model.")
    return tuple(_system(name, model if asks_model(name) else None) for name in names)


def _system(name: str, model: LanguageModel | None) -> System:
    if name in _PLAIN:
        return _PLAIN[name]()
    if name.endswith(PUBLISHED):
        return PublishedWalkSystem(name.removesuffix(PUBLISHED), model=model)
    kind = OrderedWalkSystem if name in ORDERED else WalkSystem
    return kind(name, model=model)

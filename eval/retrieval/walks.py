"""Walking algorithms as systems: as they were published, and as rankers.

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
from typing import TYPE_CHECKING, Any, cast

from knowtrail.eval.retrieval.system import (
    SENTENCES,
    RankedDocument,
    Ranking,
    ReturnedSentence,
    WalkStep,
    chunks_of,
    documents_of,
    filled_up,
    nearest,
    sentences_of,
)
from knowtrail.retrieval.algorithms.asking import Ranking as ChunkRanking
from knowtrail.retrieval.algorithms.rules import Rules
from knowtrail.retrieval.driving import run
from knowtrail.retrieval.questions import check_question
from knowtrail.retrieval.readers.opening import open_reader
from knowtrail.retrieval.recording import Recording, record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowtrail.eval.retrieval.bench import Bench
    from knowtrail.eval.retrieval.dataset import RetrievalQuestion
    from knowtrail.graph.models.language_models import LanguageModel
    from knowtrail.retrieval.protocols import Algorithm, GraphReader, Vector
    from knowtrail.retrieval.questions import Task
    from knowtrail.retrieval.walk import RankedChunk, Trail

_LOG = logging.getLogger(__name__)

PUBLISHED = ":published"
"""What follows the name of an algorithm that is measured as published."""

_DOCUMENTS = 5
_HOPS = 100
_MOST_CHUNKS = 320


@dataclass(frozen=True, slots=True, kw_only=True)
class _Walked:
    """A walk over a reader, timed."""

    task: Task
    trail: Trail
    query: Vector
    seconds: float
    reader: str
    rest: tuple[RankedChunk, ...] = ()


class _Walker(ABC):
    """What the three ways of measuring a walk share."""

    suffix = ""

    def __init__(self, algorithm: str, *, model: LanguageModel | None = None) -> None:
        """Name an algorithm, and the language model that it asks, if it asks one."""
        self.name = algorithm + self.suffix
        self._algorithm = algorithm
        self._model = model

    def prepare(self, bench: Bench) -> None:
        """Take the corpus."""
        self._bench = bench

    def warm_up(self, question: RetrievalQuestion) -> None:
        """Answer a question, and keep nothing of it."""
        bench = self._bench
        self._bench = replace(bench, record=False)
        try:
            self.rank(question, 1)
        finally:
            self._bench = bench

    @abstractmethod
    def rank(self, question: RetrievalQuestion, k: int) -> Ranking:
        """Rank passages for a question."""

    @property
    def model_name(self) -> str | None:
        """Return the name of the language model; None where none is asked."""
        return None if self._model is None else self._model.name

    def _opened(self, task: Task) -> tuple[GraphReader, str]:
        """Return the reader of a task and its name."""
        bench = self._bench
        opened = open_reader(
            bench.connection, bench.corpus, task, settings=bench.settings
        )
        return opened.reader, opened.name

    def _ranking(
        self, walked: _Walked, documents: tuple[RankedDocument, ...]
    ) -> Ranking:
        """Return a walk with its documents as a ranking, and record the walk."""
        bench, trail = self._bench, walked.trail
        pairs = [(step.chunk.id, step.score) for step in trail.steps]
        chunks = chunks_of(bench, pairs)
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
            traversal_id=self._record(walked),
        )

    def _record(self, walked: _Walked) -> str | None:
        """Store a walk; return its id, None where nothing is stored."""
        bench = self._bench
        if not bench.record:
            return None
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
    """Yield the sentences of a walk in terms of the data set; titles are none."""
    for step in trail.steps:
        passage = bench.passages.get(step.chunk.document_id)
        for sentence in step.sentences if passage is not None else ():
            number = bench.number(passage or "", sentence.index)
            if number is not None:
                yield ReturnedSentence(
                    document=passage or "", sentence=number, text=sentence.text
                )


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
        reader, name = self._opened(task)
        begin = time.perf_counter()
        trail = run(reader, task.walking(query), self._model)
        seconds = time.perf_counter() - begin
        walked = _Walked(
            task=task, trail=trail, query=query, seconds=seconds, reader=name
        )
        read = [(s.chunk.id, s.score) for s in trail.steps if s.sentences]
        return self._ranking(walked, documents_of(bench, read, k))


class WalkSystem(_Walker):
    """An algorithm as a ranker: five passages, then the dense ranking."""

    def rank(self, question: RetrievalQuestion, k: int) -> Ranking:
        """Return the passages that the walk read, and the nearest others."""
        walked = self._walked(question, k, documents=min(_DOCUMENTS, k))
        bench = self._bench
        read = [(s.chunk.id, s.score) for s in walked.trail.steps if s.sentences]
        documents = documents_of(bench, read, k)
        return self._ranking(walked, filled_up(bench, documents, walked.rest, k))

    def _walked(
        self, question: RetrievalQuestion, k: int, *, documents: int
    ) -> _Walked:
        """Walk until there are enough passages or the walk ends by itself.

        Where chunks of one passage follow each other, the walk is made again with
        twice the chunks; the time is that of the last one.
        """
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
        reader, name = self._opened(task)
        chunks = documents
        while True:
            options = replace(task.options, max_sentences=None, max_chunks=chunks)
            task = replace(task, options=options)
            begin = time.perf_counter()
            trail = run(reader, task.walking(query), self._model)
            trail = _until(trail, documents)
            read = {s.chunk.document_id for s in trail.steps if s.sentences}
            seconds = time.perf_counter() - begin
            if len(read) >= documents or trail.stop_reason != "chunk_limit":
                break
            if chunks >= _MOST_CHUNKS:
                break
            chunks *= 2
        begin = time.perf_counter()
        ranking = ChunkRanking(query, k=k, known=trail.ranking)
        known = {bench.passages[name] for name in read if name in bench.passages}
        rest = run(reader, nearest(bench, ranking, k, known=known))
        seconds += time.perf_counter() - begin
        return _Walked(
            task=task,
            trail=trail,
            query=query,
            seconds=seconds,
            reader=name,
            rest=tuple(rest),
        )


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
    """Return a walk up to the step that reads the last passage wanted."""
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

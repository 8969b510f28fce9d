"""The stored corpus of a data set, and what systems ask of it.

A data set has a corpus of its own for each unit and embedder, named after them and
after a checksum of the passages. The usual ingest makes it, so that one that was
interrupted goes on, and one that is there is used again.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from knowtrail.eval.retrieval.dataset import (
    PassageSource,
    passage_sentences,
    sentence_numbers,
)
from knowtrail.graph.cli.progress import Progress, silent
from knowtrail.graph.errors import IngestError
from knowtrail.graph.models.embedders import Embedder, embedder_name
from knowtrail.ingest.keys import content_key
from knowtrail.ingest.pipeline import ingest_corpus
from knowtrail.ingest.prepare import PIPELINE_VERSION, document_id
from knowtrail.retrieval.corpora import (
    corpora,
    embed_questions,
    pick_corpus,
    question_vector,
)
from knowtrail.retrieval.questions import ReaderName, Task, check_question
from knowtrail.retrieval.readers.opening import OpenReader, open_reader
from knowtrail.retrieval.snapshot.build import build_snapshot
from knowtrail.retrieval.snapshot.source import CorpusSource

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knowtrail.eval.retrieval.dataset import Passage, RetrievalDataset, Unit
    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.corpora import CorpusInfo
    from knowtrail.retrieval.protocols import GraphReader, Vector

_SHOWN = 40
_TOGETHER = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchChunk:
    """A chunk of the stored corpus, in terms of the data set."""

    document: str
    first: int
    last: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bench:
    """A data set in the graph; `numbers` are those of sentences, None of a title."""

    dataset: RetrievalDataset
    connection: Connection
    corpus: CorpusInfo
    embedder: Embedder
    settings: Settings
    unit: Unit
    reader: ReaderName
    record: bool
    chunks: Mapping[str, BenchChunk]
    passages: Mapping[str, str]
    numbers: Mapping[str, tuple[int | None, ...]]
    by_id: Mapping[str, Passage]
    unreadable: tuple[str, ...] = ()
    _vectors: dict[str, Vector] = field(default_factory=dict)
    _embedding: list[float] = field(default_factory=list)
    _sentences: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def embed_questions(self, progress: Progress = silent) -> None:
        """Embed all questions, together: the last bits depend on that."""
        texts = [question.text for question in self.dataset.questions]
        if self._vectors:
            return
        together = _TOGETHER if hasattr(self.embedder, "embed_array") else 1
        begin = time.perf_counter()
        for place in range(0, len(texts), together):
            progress("questions", place, len(texts))
            some = texts[place : place + together]
            vectors = embed_questions(self.embedder, some)
            for text, vector in zip(some, vectors, strict=True):
                self._vectors[text] = question_vector(vector, self.corpus)
        progress("questions", len(texts), len(texts))
        self._embedding.append(1000 * (time.perf_counter() - begin) / len(texts))

    def vector(self, text: str) -> Vector:
        """Return the vector of a question, embedded once."""
        self.embed_questions()
        if text not in self._vectors:
            found = question_vector(self.embedder.embed_query(text), self.corpus)
            self._vectors[text] = found
        return self._vectors[text]

    def open_reader(self, text: str) -> OpenReader[GraphReader]:
        """Return a reader of the corpus for a question."""
        return self.open_for(
            check_question(text, algorithm="basic_retrieval", reader=self.reader)
        )

    def open_for(self, task: Task) -> OpenReader[GraphReader]:
        """Return a reader of the corpus for a task."""
        return open_reader(self.connection, self.corpus, task, settings=self.settings)

    @property
    def reader_used(self) -> str:
        """Return which reader systems get: `cypher` or `snapshot`."""
        return self.open_reader("?").name

    def sentence(self, passage: str, number: int) -> str:
        """Return a sentence of a passage, empty where it has none of that number."""
        if passage not in self._sentences:
            self._sentences[passage] = passage_sentences(self.by_id[passage])
        found = self._sentences[passage]
        return found[number] if 0 <= number < len(found) else ""

    @property
    def embedding_milliseconds(self) -> float | None:
        """Return how long a question took to embed; None where none was embedded."""
        return round(self._embedding[0], 3) if self._embedding else None

    def number(self, passage: str, index: int) -> int | None:
        """Return the number that a sentence has in the data set; None for a title."""
        numbers = self.numbers.get(passage, ())
        return numbers[index] if 0 <= index < len(numbers) else None


def corpus_name(dataset: RetrievalDataset, unit: Unit, embedder: str) -> str:
    """Return the name of the corpus of a data set."""
    made_of = dataset.corpus_checksum, str(unit), unit.title, embedder
    key = content_key("eval-corpus", *made_of, PIPELINE_VERSION)
    shown = "".join(c if c.isalnum() else "-" for c in dataset.name)[:_SHOWN].strip("-")
    return f"eval-{shown or 'dataset'}-{unit.name}-{key[:8]}"


def open_bench(
    dataset: RetrievalDataset,
    connection: Connection,
    embedder: Embedder,
    *,
    settings: Settings,
    unit: Unit,
    reader: ReaderName = "auto",
    record: bool = True,
    progress: Progress = silent,
) -> Bench:
    """Bring the corpus of a data set into the graph and return it."""
    name = corpus_name(dataset, unit, embedder_name(embedder))
    report = ingest_corpus(
        connection,
        [PassageSource(dataset, title=unit.title)],
        corpus=name,
        embedder=embedder,
        settings=settings,
        options=unit.options(),
        cleanup="full",
        progress=progress,
    )
    if report.failures:
        raise IngestError(
            f"{report.failed} passages were not stored, such as {report.failures[0]}."
        )
    if reader == "snapshot":
        build_snapshot(settings.home, CorpusSource(connection, name), progress=progress)
    passages = {document_id(name, each.id): each.id for each in dataset.passages}
    title = unit.title
    numbers = {p.id: sentence_numbers(p, title=title) for p in dataset.passages}
    chunks = _chunks(connection, name, passages, numbers)
    there = {chunk.document for chunk in chunks.values()}
    return Bench(
        dataset=dataset,
        connection=connection,
        corpus=pick_corpus(corpora(connection), name),
        embedder=embedder,
        settings=settings,
        unit=unit,
        reader=reader,
        record=record,
        chunks=chunks,
        passages=passages,
        numbers=numbers,
        by_id={each.id: each for each in dataset.passages},
        unreadable=tuple(p.id for p in dataset.passages if p.id not in there),
    )


def _chunks(
    connection: Connection,
    corpus: str,
    passages: Mapping[str, str],
    numbers: Mapping[str, tuple[int | None, ...]],
) -> dict[str, BenchChunk]:
    found = {}
    for row in connection.stream("eval/retrieval_chunks", corpus=corpus):
        passage = passages[row["document"]]
        own = [
            number
            for number in numbers[passage][row["first"] : row["last"] + 1]
            if number is not None
        ]
        found[row["id"]] = BenchChunk(
            document=passage,
            first=min(own, default=0),
            last=max(own, default=-1),
            text=row["text"],
        )
    return found

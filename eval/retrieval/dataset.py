"""What retrieval is measured on, and what systems find: passages, questions, rankings.

Passages are known by ids that the loader makes, so that equal titles stay apart.
Sentences are counted from 0 within the text of a passage, its title apart: as the data
set has them, or else as `knowtrail.ingest.sentences` splits the text.

Passages become documents of a corpus. The title, where it belongs to the text, stands
on a line of its own before the first sentence and becomes a part of it. So a passage as
one chunk is "title newline text".
"""

from __future__ import annotations

import json
from bisect import bisect_right
from dataclasses import asdict, dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from knowtrail.ingest.keys import content_key
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.prepare import parse, sentence_spans
from knowtrail.ingest.records import Item, RawDocument
from knowtrail.ingest.sentences import split_sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from knowtrail.eval.retrieval.bench import Bench

ProblemKind: TypeAlias = Literal[
    "gold_missing", "gold_ambiguous", "no_gold", "duplicate", "unreadable"
]
"""What can be wrong with a question or passage without stopping the rest.

`gold_missing` is gold that points to nothing: it counts as never found.
`gold_ambiguous` names several passages, of which the first is taken, or has another
text than the one that is named. Questions of `no_gold`, and the later ones of
`duplicate`s, are left out; so is what is `unreadable`.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """One document of a data set.

    Attributes:
        title: Its title, empty where it has none; others may have the same.
        text: Its text without the title; of ready sentences their join by a space.
        sentences: Ready-made sentences, blank ones too, so that gold counts as the
            data set does; None where the text is split at ingest.
    """

    id: str
    title: str
    text: str
    sentences: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class GoldSentence:
    """A sentence that a question needs."""

    document: str
    sentence: int


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class GoldChunk:
    """A stretch of a passage that a question needs, its last sentence inclusive."""

    document: str
    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalQuestion:
    """A question, and what should be found for it.

    Gold ids that no passage has are found by no system; the keys of `grades`, where
    there are any, are `gold_documents`.
    """

    id: str
    text: str
    answer: str | None = None
    aliases: tuple[str, ...] = ()
    gold_documents: tuple[str, ...] = ()
    gold_sentences: tuple[GoldSentence, ...] = ()
    gold_chunks: tuple[GoldChunk, ...] = ()
    grades: Mapping[str, int] = field(default_factory=dict)

    def grade(self, passage_id: str) -> int:
        """Return how relevant a passage is: 0 where it is not."""
        found = 1 if passage_id in self.gold_documents else 0
        return self.grades.get(passage_id, found)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetProblem:
    """Something wrong with a part of a data set, see `ProblemKind`."""

    kind: ProblemKind
    id: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A file that a data set was read from, with its BLAKE2b of 128 bits."""

    name: str
    size: int
    checksum: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalDataset:
    """A corpus with questions about it, and what a reader of figures must know."""

    name: str
    kind: str
    passages: tuple[Passage, ...]
    questions: tuple[RetrievalQuestion, ...]
    files: tuple[SourceFile, ...] = ()
    problems: tuple[DatasetProblem, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def corpus_checksum(self) -> str:
        """Return a key of the passages, their order included."""
        return content_key(*_parts(self.passages))

    @property
    def checksum(self) -> str:
        """Return a key of passages and questions, with all that is known of these."""
        asked = (json.dumps(asdict(q), sort_keys=True) for q in self.questions)
        return content_key(self.corpus_checksum, *asked)

    @property
    def has_sentences(self) -> bool:
        """Return whether any question says which sentences it needs."""
        return any(question.gold_sentences for question in self.questions)


def _parts(passages: Iterable[Passage]) -> Iterable[str]:
    for passage in passages:
        yield passage.id
        yield passage.title
        if passage.sentences is None:
            yield passage.text
        else:
            yield str(len(passage.sentences))
            yield from passage.sentences


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedDocument:
    """A passage in a ranking; `filled` ones are dense, after the system's own end."""

    id: str
    score: float
    filled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnedChunk:
    """A chunk that a system returned, its last sentence inclusive."""

    document: str
    first: int
    last: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnedSentence:
    """A sentence that a system returned."""

    document: str
    sentence: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkStep:
    """A step of a walk, as a report shows it, `hop` edges from the anchor."""

    document: str
    hop: int
    score: float
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """What a system found for one question, best first, each passage once.

    Its time is without embedding the question; `crossed` counts passages that the walk
    went through; `traversal_id` is where the walk is recorded, None where it is not.
    """

    documents: tuple[RankedDocument, ...]
    chunks: tuple[ReturnedChunk, ...] = ()
    sentences: tuple[ReturnedSentence, ...] = ()
    milliseconds: float = 0.0
    hops: int = 0
    crossed: int = 0
    stop_reason: str = ""
    steps: tuple[WalkStep, ...] = ()
    traversal_id: str | None = None

    @property
    def filled(self) -> int:
        """Return how many passages come from the dense ranking."""
        return sum(document.filled for document in self.documents)


class System(Protocol):
    """A way of ranking passages; deterministic, ties broken by id.

    No two systems of a run share a name.
    """

    name: str

    def prepare(self, bench: Bench) -> None:
        """Make what is needed for all questions; not a part of the time measured."""
        ...

    def rank(self, question: RetrievalQuestion, k: int) -> Ranking:
        """Return k passages at most for a question, whose gold is not looked at."""
        ...


def halves(count: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the even ones of so many places, for development, and the odd ones."""
    return tuple(range(0, count, 2)), tuple(range(1, count, 2))


UnitName: TypeAlias = Literal["passage", "windows"]

_WHOLE = 100
"""Most sentences of a chunk: a longer passage is cut into chunks of so many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """What a chunk of the corpus is."""

    name: UnitName = "passage"
    title: bool = True
    window: int = 3
    stride: int = 1

    def options(self) -> IngestOptions:
        """Return how the corpus is built; without themes, which no walk follows."""
        if self.name == "passage":
            return IngestOptions(window=_WHOLE, stride=_WHOLE, themes="none")
        return IngestOptions(window=self.window, stride=self.stride, themes="none")

    def __str__(self) -> str:
        title = "with its title" if self.title else "without its title"
        if self.name == "passage":
            return f"whole passage {title}"
        first = "the title in the first" if self.title else "without the title"
        return f"windows of {self.window} sentences every {self.stride}, {first}"


class PassageSource:
    """The passages of a data set as a source for an ingest."""

    def __init__(self, dataset: RetrievalDataset, *, title: bool) -> None:
        self.name = dataset.name
        self.size: int | None = len(dataset.passages)
        self.position = 0
        self._passages = dataset.passages
        self._title = title

    def items(self) -> Iterator[Item]:
        """Yield the passages as documents."""
        for read, passage in enumerate(self._passages, start=1):
            self.position = read
            yield raw_document(passage, title=self._title, source=self.name)


def raw_document(passage: Passage, *, title: bool, source: str = "") -> RawDocument:
    """Return a passage as a document of a corpus."""
    start = f"{passage.title}\n" if title and passage.title else ""
    sentences = None
    if passage.sentences is not None:
        ready = passage.sentences or ("",)
        sentences = (start + ready[0], *ready[1:])
    return RawDocument(
        source_id=passage.id,
        title=passage.title or passage.id,
        raw=start + passage.text,
        sentences=sentences,
        source=source,
    )


def sentence_numbers(passage: Passage, *, title: bool) -> tuple[int | None, ...]:
    """Return the number of each sentence of a passage's document, None for a title."""
    raw = raw_document(passage, title=title)
    spans = sentence_spans(raw, parse(raw))
    offset = len(raw.raw) - len(passage.text)
    starts = _starts(passage)
    return tuple(
        None
        if span.end <= offset
        else max(0, bisect_right(starts, max(span.start - offset, 0)) - 1)
        for span in spans
    )


def _starts(passage: Passage) -> Sequence[int]:
    if passage.sentences is None:
        return [span.start for span in split_sentences(passage.text)]
    lengths = (len(sentence) + 1 for sentence in passage.sentences)
    return list(accumulate(lengths, initial=0))[:-1]


def passage_sentences(passage: Passage) -> tuple[str, ...]:
    """Return the sentences of a passage, as its gold counts them."""
    if passage.sentences is not None:
        return passage.sentences
    spans = split_sentences(passage.text)
    return tuple(passage.text[span.start : span.end] for span in spans)

"""What retrieval is measured on: passages, questions, and which passages answer them.

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
from typing import TYPE_CHECKING, Literal, TypeAlias

from knowtrail.ingest.keys import content_key
from knowtrail.ingest.options import IngestOptions
from knowtrail.ingest.parsing import parse, sentence_spans
from knowtrail.ingest.records import RawDocument
from knowtrail.ingest.sentences import split_sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from knowtrail.ingest.records import Item

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
        id: Tells it from every other passage of the data set.
        title: Its title, empty where it has none; others may have the same.
        text: Its text without the title; of ready-made sentences their join by one
            space.
        sentences: Ready-made sentences, blank ones too, so that gold counts as the
            data set does; None where the text is split at ingest.
    """

    id: str
    title: str
    text: str
    sentences: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class GoldSentence:
    """A sentence that a question needs.

    Attributes:
        document: Id of its passage.
        sentence: Its number within the passage, from 0.
    """

    document: str
    sentence: int


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class GoldChunk:
    """A stretch of a passage that a question needs.

    Attributes:
        document: Id of the passage.
        first: Number of its first sentence.
        last: Number of its last sentence, inclusive.
    """

    document: str
    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalQuestion:
    """A question, and what should be found for it.

    Attributes:
        id: Tells it from every other question of the data set.
        text: What is asked.
        answer: The expected answer, where there is one.
        aliases: Other ways to write the answer.
        gold_documents: Ids of the passages that are needed, each once. An id that no
            passage has is one that no system can find.
        gold_sentences: The sentences that are needed, where the data set says so.
        gold_chunks: The stretches that are needed, where the data set says so.
        grades: Passage id -> how relevant it is, where that is graded; its keys are
            `gold_documents`.
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
    """Something wrong with a part of a data set.

    Attributes:
        kind: What is wrong, see `ProblemKind`.
        id: Id of the question, or of the passage.
        message: What was found, and what became of it.
    """

    kind: ProblemKind
    id: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A file that a data set was read from.

    Attributes:
        name: Its name without folders.
        size: Its length in bytes.
        checksum: BLAKE2b of its bytes, 128 bits in hexadecimal digits.
    """

    name: str
    size: int
    checksum: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalDataset:
    """A corpus with questions about it.

    Attributes:
        name: What it is called in reports.
        kind: Format that it was read from.
        passages: The corpus.
        questions: The questions that are asked, each with gold.
        files: What it was read from.
        problems: What is wrong with parts of it.
        notes: What a reader of figures must know, one sentence each.
    """

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
    """Yield all that makes up passages."""
    for passage in passages:
        yield passage.id
        yield passage.title
        if passage.sentences is None:
            yield passage.text
        else:
            yield str(len(passage.sentences))
            yield from passage.sentences


def halves(count: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return places of the development half and of the test half.

    Args:
        count: How many questions there are; those at even places are for development.
    """
    return tuple(range(0, count, 2)), tuple(range(1, count, 2))


UnitName: TypeAlias = Literal["passage", "windows"]

_WHOLE = 100
"""Most sentences of a chunk: a longer passage is cut into chunks of so many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """What a chunk of the corpus is.

    Attributes:
        name: Whole passages, or windows of sentences.
        title: Whether a passage begins with its title.
        window: Sentences in a window.
        stride: Sentences from one window to the next.
    """

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
        """Say in words what a chunk is."""
        title = "with its title" if self.title else "without its title"
        if self.name == "passage":
            return f"whole passage {title}"
        first = "the title in the first" if self.title else "without the title"
        return f"windows of {self.window} sentences every {self.stride}, {first}"


class PassageSource:
    """The passages of a data set as a source for an ingest."""

    def __init__(self, dataset: RetrievalDataset, *, title: bool) -> None:
        """Prepare the source."""
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
    """Return which sentence of a passage each sentence of its document is.

    None stands for a title that became a sentence of its own.
    """
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
    """Return where the sentences of a passage start in its text."""
    if passage.sentences is None:
        return [span.start for span in split_sentences(passage.text)]
    starts, at = [], 0
    for sentence in passage.sentences:
        starts.append(at)
        at += len(sentence) + 1
    return starts


def passage_sentences(passage: Passage) -> tuple[str, ...]:
    """Return the sentences of a passage, as its gold counts them."""
    if passage.sentences is not None:
        return passage.sentences
    spans = split_sentences(passage.text)
    return tuple(passage.text[span.start : span.end] for span in spans)

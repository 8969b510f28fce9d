"""How passages become documents of a corpus, and sentences of one those of the other.

The title, where it belongs to the text, stands on a line of its own before the first
sentence and becomes a part of it. So a passage as one chunk is "title newline text".
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from ingest.options import IngestOptions
from ingest.parsing import parse, sentence_spans
from ingest.records import RawDocument
from ingest.sentences import split_sentences

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eval.retrieval.dataset import Passage, RetrievalDataset
    from ingest.records import Item

__all__ = [
    "PassageSource",
    "Unit",
    "UnitName",
    "passage_sentences",
    "raw_document",
    "sentence_numbers",
]

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
        """Prepare the source.

        Args:
            dataset: The data set.
            title: Whether documents begin with their titles.
        """
        self._dataset = dataset
        self._title = title
        self._position = 0

    @property
    def name(self) -> str:
        """Return the name of the data set."""
        return self._dataset.name

    @property
    def size(self) -> int | None:
        """Return how many passages there are."""
        return len(self._dataset.passages)

    @property
    def position(self) -> int:
        """Return how many have been read."""
        return self._position

    def items(self) -> Iterator[Item]:
        """Yield the passages as documents."""
        for read, passage in enumerate(self._dataset.passages, start=1):
            self._position = read
            yield raw_document(passage, title=self._title, source=self._dataset.name)


def raw_document(passage: Passage, *, title: bool, source: str = "") -> RawDocument:
    """Return a passage as a document of a corpus.

    Args:
        passage: The passage.
        title: Whether the document begins with its title.
        source: What the document says it came from.
    """
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

    Args:
        passage: The passage.
        title: Whether the document begins with the title.

    Returns:
        One number for each sentence of the document; None for a title that became a
        sentence of its own.
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

"""What flows through an ingest, from a source to the graph; several sources as one.

A source yields items: documents, redirects, pages left out on purpose, pages that
failed, and damage of the source itself. A raw document is cheap: its hash decides
whether it is parsed at all. Offsets count Unicode code points of the stored text,
start inclusive and end exclusive.
"""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from knowtrail.graph.errors import InputError, SourceError

Scalar: TypeAlias = str | int | float | bool
"""A single value that Neo4j stores as a property."""

Metadata: TypeAlias = Scalar | list[Scalar]
"""A metadata value: a scalar, or a list of texts, of numbers or of truth values."""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A piece of a text: `text[start:end]`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A hyperlink: the anchor's place in the text, and the document it leads to.

    That is a title, for a source that knows no more, or the document's own id, which
    counts whatever titles there are.
    """

    start: int
    end: int
    target: str = ""
    source_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading: its title, its level (2 is the top) and where its text begins."""

    title: str
    start: int
    level: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RawDocument:
    """A document as the source has it, not yet parsed.

    Attributes:
        source_id: Identifies the document within its source, for ever.
        raw: Wikitext or plain text.
        markup: How to read `raw`: `wikitext`, or `plain` text.
        sentences: Ready-made sentences; `raw` is then their join by one space.
        links: Links with offsets into `raw`, for plain text only.
        sections: Headings with offsets into `raw`, for plain text only.
        categories: Category names known without parsing.
        source: The file or service it came from.
        revision: Revision id or date of the page.
        language: BCP 47 code, such as `en`.
    """

    source_id: str
    title: str
    raw: str
    markup: Literal["wikitext", "plain"] = "plain"
    sentences: tuple[str, ...] | None = None
    links: tuple[Link, ...] = ()
    sections: tuple[Section, ...] = ()
    categories: tuple[str, ...] = ()
    url: str | None = None
    source: str = ""
    revision: str | None = None
    language: str = "en"
    metadata: Mapping[str, Metadata] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRedirect:
    """A page that only points to the title of another one.

    A document of the page's id has become a redirect.
    """

    title: str
    target: str
    source: str = ""
    source_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A page or file left out on purpose, such as a disambiguation page.

    The reason is a word or two that reports count: `disambiguation`, `empty`, of
    another `namespace`, a `.png` or `hidden`. A document of the id is one no longer;
    that is None where it only hangs on what this run was told to read.
    """

    title: str
    reason: str
    source_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A page or record that cannot be used; the rest of the source goes on."""

    title: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """The source breaks off here; everything before it was complete."""

    message: str


Item: TypeAlias = RawDocument | RawRedirect | LeftOut | Failure | Damage


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedDocument:
    """The readable text of a document and what was found in it.

    Paragraphs are separated by a blank line, without headings; links and sections have
    offsets into the text. Categories are in order, without duplicates.
    """

    text: str
    links: tuple[Link, ...] = ()
    sections: tuple[Section, ...] = ()
    categories: tuple[str, ...] = ()


class Measured(Protocol):
    """Something whose reading progress tells of.

    `size` is None where it is not known; what does not count documents names what it
    counts in an attribute `unit`.
    """

    @property
    def size(self) -> int | None:
        """Return the length of the source in its own unit, None where unknown."""

    @property
    def position(self) -> int:
        """Return how much of the source has been read."""


class Source(Measured, Protocol):
    """Something that documents come from; every reading streams.

    `items` may be called again and then starts from the beginning.
    """

    @property
    def name(self) -> str:
        """Say what is read, for progress and reports."""

    def items(self) -> Iterator[Item]:
        """Yield the items of the source in its order.

        Raises:
            SourceError: If the source cannot be read at all.
        """


_LOOKED_AT = 100_000
"""Failures and damage in a row after which a source is begun all the same."""


class Limited:
    """A source that ends after so many documents."""

    def __init__(self, source: Source, limit: int) -> None:
        self._source = source
        self.name = source.name
        self.size: int | None = limit
        self.position = 0
        if hasattr(source, "settle"):
            self.settle = source.settle

    def items(self) -> Iterator[Item]:
        """Yield the items of the source up to the last document."""
        return self._counted(self._source.items())

    def _counted(self, items: Iterator[Item]) -> Iterator[Item]:
        """Yield items until there are enough documents, then close what gives them."""
        self.position = 0
        try:
            for item in items:
                self.position += isinstance(item, RawDocument)
                yield item
                if self.position == self.size:
                    return
        finally:
            getattr(items, "close", lambda: None)()


@contextmanager
def begun(sources: Sequence[Source]) -> Iterator[Iterator[Item]]:
    """Yield the items of all sources, read so far that there is something to store.

    So nothing is written, and no model loaded, for sources that are of no use. Leaving
    the block closes the source that is being read.

    Raises:
        InputError: If there is no source.
        SourceError: If one cannot be read at all, or all has but failures and damage.
    """
    if not sources:
        raise InputError("Nothing to ingest: name at least one source.")
    with closing(_items(sources)) as items:
        failures: list[Item] = []
        for item in itertools.islice(items, _LOOKED_AT):
            failures.append(item)
            if not isinstance(item, Failure | Damage):
                break
        else:
            _check_some(sources, failures)
        yield itertools.chain(failures, items)


def settled(sources: Sequence[Source], root: str | None, *, new: bool) -> str | None:
    """Let the sources of files take the folder that their ids are paths in.

    The root is the folder of the corpus, None before it has one; the one from now on is
    returned.
    """
    for source in sources:
        if (settle := getattr(source, "settle", None)) is not None:
            root = settle(root, new=new)
    return root


def _items(sources: Sequence[Source]) -> Generator[Item]:
    for source in sources:
        yield from source.items()


def _check_some(sources: Sequence[Source], failures: Sequence[Item]) -> None:
    first = next(iter(failures), None)
    if len(failures) < _LOOKED_AT and isinstance(first, Failure | Damage):
        names = ", ".join(source.name for source in sources)
        title = f"{first.title}: " if isinstance(first, Failure) else ""
        told = title + first.message.rstrip(".")
        raise SourceError(f"Nothing in {names} can be used. The first: {told}.")


def position(sources: Sequence[Measured]) -> tuple[str, int, int | None]:
    """Return how much of the sources has been read, as progress is told."""
    units = {getattr(source, "unit", "documents") for source in sources}
    sizes = [source.size for source in sources]
    total = None if None in sizes else sum(s for s in sizes if s is not None)
    read = sum(source.position for source in sources)
    return f"{' and '.join(sorted(units))} read", read, total

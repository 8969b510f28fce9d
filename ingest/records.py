"""What flows through an ingest, from a source to the graph.

A source yields items: documents, redirects, pages left out on purpose, pages that
failed, and damage of the source itself. A raw document is cheap: its hash decides
whether it is parsed at all. Offsets count Unicode code points of the stored text,
start inclusive and end exclusive.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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

    Attributes:
        start: Where the anchor begins.
        end: Where it ends.
        target: Title of the document, for a source that knows no more.
        source_id: The document's own id, which counts whatever titles there are.
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
        title: Title as people read it.
        raw: Wikitext or plain text.
        markup: How to read `raw`: `wikitext`, or `plain` text.
        sentences: Ready-made sentences; `raw` is then their join by one space.
        links: Links with offsets into `raw`, for plain text only.
        sections: Headings with offsets into `raw`, for plain text only.
        categories: Category names known without parsing.
        url: Address of the page, if it has one.
        source: The file or service it came from.
        revision: Revision id or date of the page.
        language: BCP 47 code, such as `en`.
        metadata: Further properties.
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
    """A page that only points to another one.

    Attributes:
        title: Title of the page.
        target: Title that it points to.
        source: The file or service it came from.
        source_id: Identifies the page; a document of that id has become a redirect.
    """

    title: str
    target: str
    source: str = ""
    source_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A page or file left out on purpose, such as a disambiguation page.

    Attributes:
        title: Title of the page.
        reason: Why it is left out, in a word or two that reports count: it is
            `disambiguation`, `empty`, of another `namespace`, a `.png` or `hidden`.
        source_id: Identifies the page; a document of that id is one no longer. None
            where that only hangs on what this run was told to read.
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

    Attributes:
        text: Text as a person would read the page, paragraphs separated by a blank
            line, without headings.
        links: Links with offsets into `text`.
        sections: Headings with offsets into `text`.
        categories: Category names, in order, without duplicates.
    """

    text: str
    links: tuple[Link, ...] = ()
    sections: tuple[Section, ...] = ()
    categories: tuple[str, ...] = ()


class Source(Protocol):
    """Something that documents come from; every reading streams.

    `items` may be called again and then starts from the beginning. `position` and
    `size` are for progress only: `size` is None where it is not known, and a source
    that does not count documents names what it counts in an attribute `unit`.
    """

    @property
    def name(self) -> str:
        """Say what is read, for progress and reports."""
        ...

    @property
    def size(self) -> int | None:
        """Return the length of the source in its own unit, None where unknown."""
        ...

    @property
    def position(self) -> int:
        """Return how much of the source has been read."""
        ...

    def items(self) -> Iterator[Item]:
        """Yield the items of the source in its order.

        Raises:
            SourceError: If the source cannot be read at all.
        """
        ...

"""What the readers of all forms of files make: text, with headings and links beside it.

Code blocks, pictures and what only serves a screen are left out by all of them: a
sentence of code says nothing to a reader of answers, and its embedding draws in
everything that looks like code. A list item or table row is a paragraph.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from knowtrail.ingest.records import Link, Section

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Piece = tuple[str, str]
"""A text, and the address that it links to or ""."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a file says.

    The title is what the file calls itself, else its first heading, else None;
    paragraphs of the text are separated by a blank line, without headings. Links are
    places in it and where they lead: an address as it is written, or for `[[Page]]` the
    page's name behind `wiki:`.
    """

    title: str | None
    text: str
    links: tuple[Link, ...] = ()
    sections: tuple[Section, ...] = ()
    language: str | None = None


class PageWriter:
    """Puts a page together, counting where everything lands."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._links: list[Link] = []
        self._sections: list[Section] = []
        self._length = 0

    def heading(self, level: int, pieces: Sequence[Piece]) -> None:
        """Note a heading; its section begins with the next paragraph."""
        title = " ".join("".join(text for text, _ in pieces).split())
        if title:
            start = self._length + 2 if self._length else 0
            self._sections.append(Section(title=title, start=start, level=level))

    def paragraph(self, pieces: Iterable[Piece], *, glue: str = "\n\n") -> bool:
        """Append a paragraph or a cell; return whether it had any text."""
        pieces = list(pieces)
        if not any(text.strip() for text, _ in pieces):
            return False
        if self._length:
            self._append(glue)
        for text, target in pieces:
            start = self._length
            self._append(text)
            if target and text:
                self._links.append(Link(start=start, end=self._length, target=target))
        return True

    def page(self, title: str | None = None, language: str | None = None) -> Page:
        """Return what was put together, with title and language where it has them."""
        headings = self._sections
        if headings and headings[0].level == 1:
            title = title or headings[0].title
            headings = headings[1:]
        text = "".join(self._parts)
        return Page(
            title=title or (headings[0].title if headings else None),
            text=text,
            links=tuple(self._links),
            sections=tuple(
                Section(title=s.title, level=s.level, start=min(s.start, len(text)))
                for s in headings
            ),
            language=language,
        )

    def _append(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)

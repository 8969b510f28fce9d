"""From wikitext to a parsed document: the passes in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.records import Link, ParsedDocument, Section
from ingest.wikitext.blocks import read_blocks
from ingest.wikitext.brackets import expand_brackets
from ingest.wikitext.links import Links, strip_external_links
from ingest.wikitext.marks import clean_input
from ingest.wikitext.tags import strip_extensions, strip_html
from ingest.wikitext.tidy import locate_links, tidy

if TYPE_CHECKING:
    from ingest.wikitext.blocks import Block

__all__ = ["parse_wikitext"]


def parse_wikitext(raw: str, *, language: str = "en") -> ParsedDocument:
    """Return a page's text as a person would read it, and what it contains.

    Boxes, notes, references, pictures and navigation are gone; so are tables, unless
    they are most of the page, when each row becomes a sentence. Headings are not in
    the text. Nothing in `raw` makes this raise, and its time is linear in `raw`.

    Args:
        raw: Wikitext of a page.
        language: Language of the wiki, for its prefixes and headings.

    Example:
        >>> parse_wikitext("A '''[[cat]]''' {{convert|4|kg}}.").text
        'A cat 4 kg.'
    """
    links = Links(language)
    text = strip_extensions(clean_input(raw))
    text = expand_brackets(text, links)
    text = strip_external_links(strip_html(text))
    return _assembled(read_blocks(text, language), links)


def _assembled(blocks: list[Block], links: Links) -> ParsedDocument:
    """Join blocks to a document."""
    texts: list[str] = []
    found: list[Link] = []
    headings: list[Section] = []
    length = 0
    for block in blocks:
        start = length + 2 if texts else 0
        if block.kind == "heading":
            title = tidy(block.text, links.language).replace("\n", " ")
            headings.append(Section(title=title, start=start, level=block.level))
            continue
        text, located = locate_links(tidy(block.text, links.language), links.targets)
        if not text:
            continue
        texts.append(text)
        found.extend(
            Link(start=start + link.start, end=start + link.end, target=link.target)
            for link in located
        )
        length = start + len(text)
    return ParsedDocument(
        text="\n\n".join(texts),
        links=tuple(found),
        sections=_with_text(headings, length),
        categories=tuple(links.categories),
    )


def _with_text(headings: list[Section], length: int) -> tuple[Section, ...]:
    """Leave out sections without any text, also of their sub-sections.

    Args:
        headings: Sections in their order, each with its place.
        length: Length of the whole text.
    """
    kept: list[Section] = []
    open_sections: list[Section] = []
    for section in [*headings, Section(title="", start=length + 2, level=0)]:
        while open_sections and open_sections[-1].level >= section.level:
            done = open_sections.pop()
            if done.start < min(section.start, length):
                kept.append(done)
        open_sections.append(section)
    return tuple(sorted(kept, key=lambda section: (section.start, section.level)))

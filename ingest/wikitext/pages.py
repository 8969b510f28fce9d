"""A page of wikitext: a redirect, a disambiguation page, or the text of an article.

Spaces and punctuation are mended around what was taken out; links keep their places.
"""

from __future__ import annotations

import re
import unicodedata
from html import unescape
from typing import TYPE_CHECKING

from knowtrail.ingest.records import Link, ParsedDocument, Section
from knowtrail.ingest.wikitext.blocks import read_blocks
from knowtrail.ingest.wikitext.links import Links, expand_brackets, strip_external_links
from knowtrail.ingest.wikitext.marks import (
    BREAK,
    DROPPED,
    EMPTIED,
    LINK_END,
    MARKS,
    clean_input,
    link_number,
    unguard,
)
from knowtrail.ingest.wikitext.tags import strip_extensions, strip_html
from knowtrail.ingest.wikitext.words import WORDS

if TYPE_CHECKING:
    from knowtrail.ingest.wikitext.blocks import Block


_M = rf"{MARKS}*"
_ENTITY = re.compile(r"&(?:#\d{1,8}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_NOTES = re.compile(
    r"\s?\[(?:citation needed|clarification needed|when\?|who\?|which\?|by whom\?|"
    r"according to whom\?|dubious[^\[\]]{0,30}|\d{1,3}(?:[,–-]\s?\d{1,3})*)\]"
    r"(?=[\s.,;\[]|$)",
    re.IGNORECASE,
)
_SPOKEN = re.compile(
    rf" ?\((?:about )?{DROPPED} years? ago\)|(?:about )?{DROPPED} years? ago|"
    rf"(?:,?\s*\b(?:pronounced|pronunciation:|pronounced as|or|also|named{_M}|"
    rf"произнася се)\s*)?{DROPPED}"
)
_LEFTOVER = re.compile(r"\{\{+|\}\}+|\[\[+|\]\]+|\{\||(?<= )\|\}(?=\s|$)")
_BLANKS = re.compile("[ \t\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]+")
_EMPTIED = re.compile(EMPTIED)
_DOUBLE = re.compile(rf" ({_M}) +")
_LINE_EDGES = re.compile(rf" *\n *({_M}) *")
_OPENED = re.compile(rf"([(\[]{_M})[ ,;:]+(?={_M}[^\s])")
_CLOSED = re.compile(rf"[ ,;:]+({_M}[)\]])")
_EMPTY = re.compile(
    rf" ?\(({_M})[ ,;:./–—-]*({_M})\)| ?\[({_M}) *({_M})\]| ?⟨({_M}) *({_M})⟩"
)
_REPEATED = re.compile(rf"([,;])({_M})(?: *{_M}[,;])+(?={_M}(?:\s|$))")
_CUT_OFF = re.compile(rf"[,;:] ?({_M}\.)(?={_M}(?:\s|$))")
_TWO_STOPS = re.compile(rf"\.({MARKS}+)\.(?={_M}(?:\s|$))")
_LEADING = re.compile(rf"^({_M})[.,;:] +", re.MULTILINE)
_LONELY_MONEY = re.compile(
    r" ?\((?:equivalent to|about|or)? *(?:US)?[$£€](?!\d)[^()\d]{0,40}"
    r"(?:\d{4}[^()]{0,20})?\)"
)
_SPACED = re.compile(rf" +({_M}[,.;:!?])(?={_M}(?:[\s)\]\"”’]|$))")
_SPACED_FRENCH = re.compile(rf" +({_M}[,.])(?={_M}(?:[\s)\]\"”’]|$))")
_ANY_MARK = re.compile(MARKS)


def tidy(text: str, language: str) -> str:
    """Return a block with its white space and punctuation as a reader expects.

    French keeps spaces before high punctuation.
    """
    text = _EMPTIED.sub("", text.replace(BREAK, " "))
    text = _LEFTOVER.sub("", text)
    text = _unescaped(text)
    text = _BLANKS.sub(" ", text)
    if "[" in text:
        text = _NOTES.sub("", text)
    if DROPPED in text:
        text = _SPOKEN.sub("", text)
    if "(" in text or "[" in text:
        text = _brackets(text)
    text = _REPEATED.sub(r"\1\2", text)
    spaced = _SPACED_FRENCH if language.startswith("fr") else _SPACED
    text = _CUT_OFF.sub(r"\1", spaced.sub(r"\1", text))
    text = _LEADING.sub(r"\1", _TWO_STOPS.sub(r".\1", text))
    text = _DOUBLE.sub(r" \1", text)
    text = _DOUBLE.sub(r" \1", text)
    text = _LINE_EDGES.sub(r"\n\1", text)
    return unguard(text.strip(" \n"))


def _unescaped(text: str) -> str:
    """Decode entities; what they name can be text only, never a mark."""
    if "&" not in text:
        return text
    return _ENTITY.sub(lambda match: clean_input(unescape(match[0])), text)


def _brackets(text: str) -> str:
    if "$" in text or "£" in text or "€" in text:
        text = _LONELY_MONEY.sub("", text)
    for _ in range(3):
        mended = _OPENED.sub(r"\1", text)
        mended = _CLOSED.sub(r"\1", mended)
        mended = _EMPTY.sub(lambda m: "".join(filter(None, m.groups())), mended)
        if mended == text:
            break
        text = mended
    return text


def locate_links(marked: str, targets: list[str]) -> tuple[str, tuple[Link, ...]]:
    """Take the marks out of a text and say where the anchors are."""
    pieces: list[str] = []
    links: list[Link] = []
    opened: list[tuple[int, str]] = []
    position = length = 0
    for match in _ANY_MARK.finditer(marked):
        piece = marked[position : match.start()]
        pieces.append(piece)
        length += len(piece)
        position = match.end()
        number = link_number(match[0])
        if number is not None and number < len(targets):
            opened.append((length, targets[number]))
        elif match[0] == LINK_END and opened:
            start, target = opened.pop()
            links.append(Link(start=start, end=length, target=target))
    pieces.append(marked[position:])
    text = "".join(pieces)
    if not unicodedata.is_normalized("NFC", text):
        return unicodedata.normalize("NFC", text), ()
    return text, tuple(filter(None, (_trimmed(link, text) for link in links)))


def _trimmed(link: Link, text: str) -> Link | None:
    """Return a link without white space at its ends, None where nothing is left."""
    anchor = text[link.start : link.end]
    start = link.start + len(anchor) - len(anchor.lstrip())
    end = link.start + len(anchor.rstrip())
    return Link(start=start, end=end, target=link.target) if start < end else None


_DISAMBIGUATION = frozenset(WORDS["disambiguation"])
_TEMPLATE = re.compile(r"\{\{\s*([^{}|<>\n\[\]]{1,60}?)\s*(?=[|}\n<])")
_MAGIC = re.compile(r"__DISAMBIG__", re.IGNORECASE)
_REDIRECT = re.compile(
    rf"\s*#\s*(?:{'|'.join(WORDS['redirects'])})"
    r"\s*:?\s*\[\[([^\[\]|\n]{1,500})(?:\|[^\[\]]{0,500})?\]\]",
    re.IGNORECASE,
)


def is_disambiguation(raw: str) -> bool:
    """Say whether a page only tells the meanings of its title apart."""
    return _is_marked(raw) and _is_marked(strip_extensions(raw))


def _is_marked(text: str) -> bool:
    if _MAGIC.search(text):
        return True
    return any(
        match[1].replace("_", " ").lower() in _DISAMBIGUATION
        for match in _TEMPLATE.finditer(text)
    )


def redirect_target(raw: str) -> str | None:
    """Return the title that a page redirects to, as it is written, or None."""
    match = _REDIRECT.match(raw)
    return match[1].strip() if match else None


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
    """Leave out sections without any text, also of their sub-sections."""
    kept: list[Section] = []
    open_sections: list[Section] = []
    for section in [*headings, Section(title="", start=length + 2, level=0)]:
        while open_sections and open_sections[-1].level >= section.level:
            done = open_sections.pop()
            if done.start < min(section.start, length):
                kept.append(done)
        open_sections.append(section)
    return tuple(sorted(kept, key=lambda section: (section.start, section.level)))

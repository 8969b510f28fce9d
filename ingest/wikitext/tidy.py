"""Mending of spaces and punctuation around what was taken out, and offsets."""

from __future__ import annotations

import re
import unicodedata
from html import unescape

from knowtrail.ingest.records import Link
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
    """Mend brackets that lost some or all of their content."""
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

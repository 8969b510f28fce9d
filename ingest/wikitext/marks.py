"""Single characters that stand for things in a text while it is being made.

All lie in the two private planes of Unicode, from which every character of the input
is removed first; so nothing that a page contains can be taken for a mark.
"""

from __future__ import annotations

import re
import unicodedata
from html import unescape

_LINK_BASE = 0xF0000
_GUARD_BASE = 0x100000
LINK_LIMIT = 0xFFF0
"""Links of one page that are followed; more only leave their text."""

LINK_END = "\U0010fffd"
DROPPED = "\U0010fffc"
"""Where a pronunciation was dropped, so that the words around it can be mended."""
BREAK = "\U0010fffb"
"""A line break inside a paragraph."""
EMPTIED = "\U0010fffa"
"""Keeps the apostrophes around a template that shows nothing from meeting."""
MARKS = "[\U000f0000-\U000fffff\U0010fff0-\U0010ffff]"
"""Every mark that stands between characters; guarded characters are none."""

_FOREIGN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\ufeff\ufff9-\uffff\ud800-\udfff\U000f0000-\U0010ffff]"
)
_LINE_ENDS = re.compile("\r\n?|[\u2028\u2029]")
_GUARDED = re.compile("[\U00100000-\U0010007f]")
_MARKUP = {
    ord(character): _GUARD_BASE + ord(character) for character in "{}[]|=<>'*#:;!&_~+-"
}


def clean_input(text: str) -> str:
    """Remove controls, invisible characters, the private planes, lone surrogates.

    The joiners U+200C and U+200D stay: Persian, Indic scripts and emoji need them.
    """
    text = _FOREIGN.sub("", _LINE_ENDS.sub("\n", text))
    return unicodedata.normalize("NFC", text)


def guard(text: str) -> str:
    """Return literal text in which no later pass sees markup."""
    return clean_input(unescape(text)).translate(_MARKUP)


def unguard(text: str) -> str:
    """Return the text with guarded characters as they were."""
    return _GUARDED.sub(lambda match: chr(ord(match[0]) - _GUARD_BASE), text)


def link_start(number: int) -> str:
    """Return the mark that opens the anchor of a link."""
    return chr(_LINK_BASE + number)


def link_number(mark: str) -> int | None:
    """Return the number of the link that a mark opens, None for other marks."""
    number = ord(mark) - _LINK_BASE
    return number if 0 <= number < LINK_LIMIT else None

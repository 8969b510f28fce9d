"""Text of documents and questions, made fit to stand in a picture.

What people wrote is data: control characters go, as they break SVG and terminals;
what has a meaning to the drawing library is escaped; long texts are cut.
"""

from __future__ import annotations

import html
import re
import textwrap
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["cut", "markup", "plain", "width", "wrapped"]

_UNFIT = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff"
    r"\u202a-\u202e\u2066-\u2069]+"
)
"""Controls, lone surrogates, and marks that would turn the text around them."""


def plain(text: str) -> str:
    """Return a text on one line without characters that no picture can hold."""
    return " ".join(_UNFIT.sub(" ", text).split())


def width(text: str) -> int:
    """Return how many columns a text takes; East Asian characters take two."""
    return sum(
        0
        if unicodedata.combining(char)
        else 2
        if unicodedata.east_asian_width(char) in "WF"
        else 1
        for char in text
    )


def cut(text: str, most: int) -> str:
    """Return a text on one line that takes at most so many columns."""
    text = plain(text)
    if width(text) <= most:
        return text
    kept, used = [], 1
    for char in text:
        used += width(char)
        if used > most:
            break
        kept.append(char)
    return "".join(kept).rstrip() + "\N{HORIZONTAL ELLIPSIS}"


def markup(text: str) -> str:
    """Escape a text for Plotly, which reads a few HTML tags and entities."""
    return html.escape(text, quote=False)


def wrapped(text: str, *, columns: int = 64, lines: int = 6) -> str:
    """Return a text for a Plotly hover label, escaped and broken into lines."""
    parts = textwrap.wrap(plain(text), columns, max_lines=lines, placeholder=" \u2026")
    return _lines(cut(part, 2 * columns) for part in parts)


def _lines(parts: Iterable[str]) -> str:
    """Join escaped lines."""
    return "<br>".join(markup(part) for part in parts)

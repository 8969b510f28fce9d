"""Text of documents and questions, made fit to stand in a picture.

What people wrote is data: control characters go, as they break SVG and terminals;
what has a meaning to the drawing library is escaped; long texts are cut.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence

from rich.cells import cell_len

from knowtrail.graph.cli.rows import plain_text

_MORE = "\N{HORIZONTAL ELLIPSIS}"
_COLUMNS = 64


def plain(text: str) -> str:
    """Return a text on one line without characters that no picture can hold."""
    return " ".join(plain_text(text).split())


def cut(text: str, most: int) -> str:
    """Return a text on one line that takes at most so many columns."""
    text = plain(text)
    if cell_len(text) <= most:
        return text
    return _begun(text, most - 1).rstrip() + _MORE


def cut_apart(texts: Sequence[str], most: int) -> list[str]:
    """Return texts cut as by `cut`, or so that different ones do not look alike."""
    whole = [plain(text) for text in texts]
    found = [cut(text, most) for text in whole]
    same = _alike(whole, found)
    found = [
        _middle(text, most) if len(same[label]) > 1 else label
        for text, label in zip(whole, found, strict=True)
    ]
    same = _alike(whole, found)
    marks = [
        f" ({same[label].index(text) + 1})" if len(same[label]) > 1 else ""
        for text, label in zip(whole, found, strict=True)
    ]
    return [
        cut(label, most - len(mark)) + mark
        for label, mark in zip(found, marks, strict=True)
    ]


def _alike(texts: Sequence[str], labels: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for text, label in zip(texts, labels, strict=True):
        if text not in (same := found.setdefault(label, [])):
            same.append(text)
    return found


def _middle(text: str, most: int) -> str:
    if cell_len(text) <= most:
        return text
    end = _begun(text[::-1], (most - 1) // 2)[::-1]
    return _begun(text, most - 1 - cell_len(end)).rstrip() + _MORE + end.lstrip()


def _begun(text: str, most: int) -> str:
    """Return the beginning of a text that takes at most so many columns."""
    used = 0
    for place, char in enumerate(text):
        used += cell_len(char)
        if used > most:
            return text[:place]
    return text


def markup(text: str) -> str:
    """Escape a text for Plotly, which reads a few HTML tags and entities."""
    return html.escape(text, quote=False)


def wrapped(text: str) -> str:
    """Return a text for a Plotly hover label, escaped and broken into lines."""
    parts = textwrap.wrap(
        plain(text),
        _COLUMNS,
        max_lines=6,
        placeholder=" \u2026",
        break_long_words=False,
    )
    return "<br>".join(markup(cut(part, 2 * _COLUMNS)) for part in parts)

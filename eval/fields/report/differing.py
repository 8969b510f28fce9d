"""Two texts with the words in which they differ marked, as HTML."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from html import escape

from eval.records import sendable

__all__ = ["marked_difference", "shown_text"]

_PIECES = re.compile(r"\w+|\s+|[^\w\s]")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def shown_text(text: str) -> str:
    """Return a text as HTML shows it: escaped, control characters made visible.

    Args:
        text: Any text.
    """
    plain = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", sendable(text))
    return escape(plain, quote=True)


def marked_difference(gold: str, extracted: str) -> tuple[str, str]:
    """Return both texts as HTML; what only one of them has stands in `<mark>`.

    Args:
        gold: The text as it should be.
        extracted: The text as it was extracted.
    """
    left, right = _PIECES.findall(gold), _PIECES.findall(extracted)
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    if matcher.ratio() < 0.3:
        return shown_text(gold), shown_text(extracted)
    one, two = [], []
    for kind, a, b, c, d in matcher.get_opcodes():
        same = kind == "equal"
        one.append(_marked("".join(left[a:b]), same=same))
        two.append(_marked("".join(right[c:d]), same=same))
    return "".join(one), "".join(two)


def _marked(text: str, *, same: bool) -> str:
    """Return a piece of a text, marked where it differs."""
    shown = shown_text(text)
    return shown if same or not text else f"<mark>{shown}</mark>"

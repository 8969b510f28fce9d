"""Two texts with the words in which they differ marked, as HTML."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from eval.report.text import shown_text

__all__ = ["marked_difference", "shown_text"]

_PIECES = re.compile(r"\w+|\s+|[^\w\s]")


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

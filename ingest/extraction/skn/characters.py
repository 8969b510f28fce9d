"""Characters that stand for marks of the language, mapped one to one.

Because each becomes one character, places in the mapped line are places in the line.
"""

from __future__ import annotations

__all__ = ["ARROW", "mapped"]

ARROW = "\N{RIGHTWARDS ARROW}"
"""What every arrow becomes that is one character."""

_WIDE = {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_QUOTES = "\u201c\u201d\u201e\u201f\u00ab\u00bb\u300c\u300d\u2033"
_SINGLE = "\u2018\u2019\u201a\u201b\u2032"
_ARROWS = "\u21d2\u27f6\u27f9\u2794\u2799\u279c\u279d\u279e\u27a1\u27a4\u2b95\u21fe"
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
_BULLETS = "\u2022\u2023\u25cf\u25cb\u25e6\u25aa\u25ab\u00b7\u2219\u22c5"
_TILDES = "\u223c\u301c\u02dc"

_TABLE = str.maketrans({
    **_WIDE,
    **dict.fromkeys(_QUOTES, '"'),
    **dict.fromkeys(_SINGLE, "'"),
    **dict.fromkeys(_ARROWS, ARROW),
    **dict.fromkeys(_DASHES, "-"),
    **dict.fromkeys(_BULLETS, "*"),
    **dict.fromkeys(_TILDES, "~"),
    "\u3010": "[",
    "\u3011": "]",
    "\u2502": "|",
    "\u00a6": "|",
    "\u00a0": " ",
    "\u3000": " ",
    "\u200b": " ",
    "\ufeff": " ",
})


def mapped(line: str) -> str:
    """Return a line of the same length in which marks are those of the language.

    Args:
        line: What a model wrote.
    """
    return line.translate(_TABLE)

"""Prompts: what fits a model's context, and marks that documents cannot close."""

from __future__ import annotations

import hashlib
import re

_HALVES = re.compile("[\ud800-\udfff]")


def estimated_tokens(text: str) -> int:
    """Return how many tokens a text has at most, by a safe estimate.

    Three ASCII characters, or two bytes of any other, are counted as one token, as
    models cut what is too long without saying so and do not count beforehand.
    """
    ascii_only = sum(char.isascii() for char in text)
    others = len(text.encode("utf-8", "replace")) - ascii_only
    return -(-(2 * ascii_only + 3 * others) // 6)


def fitting(text: str, tokens: int) -> str:
    """Return the beginning of a text that has a number of tokens by the estimate."""
    left = 6 * tokens
    for index, char in enumerate(text):
        left -= 2 if char.isascii() else 3 * len(char.encode("utf-8", "replace"))
        if left < 0:
            return text[:index]
    return text


def marked(kind: str, text: str) -> tuple[str, str]:
    r"""Put a text between marks that nothing in it can close; return mark and passage.

    The mark holds a hash of the text, so no text can contain its own mark.

    Example:
        >>> mark, passage = marked("note", "Ice.")
        >>> passage == f"<{mark}>\nIce.\n</{mark}>"
        True
    """
    data = text.encode("utf-8", "surrogatepass")
    mark = f"{kind}-{hashlib.blake2b(data, digest_size=8).hexdigest()}"
    return mark, f"<{mark}>\n{text}\n</{mark}>"


def whole_characters(text: str) -> str:
    r"""Return a text in which half a character has become a replacement character.

    The JSON of a model's answer can hold `\ud800`, half of a pair, which is no text
    that could be stored or sent.
    """
    return _HALVES.sub("\N{REPLACEMENT CHARACTER}", text)

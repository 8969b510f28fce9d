"""Sets of words, written compactly."""

from __future__ import annotations

__all__ = ["words"]


def words(text: str) -> frozenset[str]:
    """Return the words of a text in which `|` stands between them."""
    return frozenset(word.strip() for word in text.split("|"))

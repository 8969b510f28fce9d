"""What a question does not ask for: `no museums but archives`, `except in Utrecht`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retrieval.specificity.mention import Mention

__all__ = ["excludes", "without_negated"]

_NOT = re.compile(
    r"\b(?:not|no|geen|niet|never|nooit|instead of|in plaats van|rather than)"
    r"(?:\s+(?:the|de|het|any|a|an|een|for|voor|in|of|van|uit|from|om|are|zijn|is))*\s*$",
    re.IGNORECASE,
)
_BUT = re.compile(
    r"\b(?:except|excluding|behalve|uitgezonderd|exclusief|outside|other than|"
    r"anders dan|apart from|besides|buiten|but not|maar niet|maar geen)\b",
    re.IGNORECASE,
)
_PLACES = frozenset({"city", "region", "country", "place"})


def without_negated(question: str, mentions: Sequence[Mention]) -> tuple[Mention, ...]:
    """Return mentions without those that a question says it does not mean.

    Only where it names another of the same kind instead: `are there no museums?` asks
    for museums.

    Args:
        question: The question.
        mentions: What it names.
    """
    negated = [m for m in mentions if _NOT.search(question[: m.start])]
    if not negated:
        return tuple(mentions)
    kept = [m for m in mentions if m not in negated]
    return tuple(
        m
        for m in mentions
        if m not in negated or not any(_alike(m, other) for other in kept)
    )


def excludes(question: str, mentions: Sequence[Mention]) -> bool:
    """Return whether a question asks for all but something, which no query does."""
    if any(_BUT.search(question[: m.start]) for m in mentions if m.kind != "budget"):
        return True
    negated = [m for m in mentions if _NOT.search(question[: m.start])]
    generic = any(m.kind == "generic" and m not in negated for m in mentions)
    kinds = {m.kind for m in mentions}
    return any(
        (m.kind == "institution_type" and generic)
        or (m.kind in _PLACES and bool(kinds & {"institution_type", "generic"}))
        for m in negated
    )


def _alike(one: Mention, other: Mention) -> bool:
    """Return whether one mention can stand instead of another."""
    return one.kind == other.kind or {one.kind, other.kind} <= _PLACES

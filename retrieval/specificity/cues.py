"""Words that tell what a question is after, and words that no template answers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from retrieval.specificity.words import tokens_of, word_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retrieval.specificity.mentions import Mention

__all__ = ["intents_of", "unanswerable"]

_PLACES = frozenset({"city", "region", "country", "place"})
_COUNT = re.compile(
    r"\b(?:how many|how much|hoe ?veel|numbers? of|aantal\w*|count\w*|tel|tellen|telt|"
    r"geteld|total|totaal|(?:per|each|every|elk|ieder|by) (?:type|soort|kind)|verdeeld|"
    r"distribut\w*)\b",
    re.IGNORECASE,
)
_COMPARE = re.compile(
    r"\b(?:compar\w*|vergel\w*|vergeleken|vs|versus|tegenover|verhoud\w*|difference|"
    r"verschil\w*|more|fewer|less|most|fewest|meer|minder|meeste|minste|than|dan)\b",
    re.IGNORECASE,
)
_COMPARING = re.compile(r"\b(?:compare|vergelijk|versus)\b", re.IGNORECASE)
_AGE = re.compile(
    r"\b(?:oldest|newest|youngest|earliest|latest|(?:most )?recent\w*|oudst\w*|"
    r"nieuwst\w*|jongst\w*|vroegst\w*|eerst\w*|laatst\w*|first|last|older|newer|ouder|nieuwer)\b",
    re.IGNORECASE,
)


def intents_of(question: str, mentions: Sequence[Mention]) -> frozenset[str]:
    """Return what a question is plainly after, of `templates.INTENTS`.

    Args:
        question: The question.
        mentions: What it names.
    """
    kinds = {m.kind for m in mentions}
    places = sum(m.kind in _PLACES for m in mentions)
    found = set()
    if _COUNT.search(question):
        found.add("count")
    if (places > 1 and _COMPARE.search(question)) or _COMPARING.search(question):
        found.add("compare")
    if "date" in kinds or (_AGE.search(question) and "name" not in kinds):
        found.add("date")
    if "budget" in kinds:
        found.add("budget")
    if "identifier" in kinds:
        found.add("identifier")
    return frozenset(found)


def unanswerable(question: str) -> bool:
    """Return whether a question has a word that no template can answer."""
    return any(token.form in _BEYOND for token in tokens_of(question))


_BEYOND = word_list("beyond")

"""Words that tell what a question is after, and whether that is heritage at all."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from knowtrail.retrieval.specificity.quantities import (
    asked_aggregate,
    is_number,
)
from knowtrail.retrieval.specificity.vocabulary import (
    data_file,
    is_asking,
    normal,
    spelling_of,
    tokens_of,
    word_list,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowtrail.retrieval.specificity.mention import Mention

_PLACES = frozenset({"city", "region", "country", "place"})
_COUNT = re.compile(
    r"\b(?:how many|how much|hoe ?veel|numbers? of|aantal\w*|count(?:s|ed|ing)?|tel"
    r"|tellen|telt|geteld|total|totaal|totale|"
    r"amount of|hoeveelheid|tally|breakdown|onderverd\w*"
    r"|verdel\w*|"
    r"uitgesplitst|(?:per|each|every|elk|ieder|by) (?:type|soort|kind)|verdeeld|"
    r"distribut\w*|(?:naar|over|by) (?:type|soort|category|categorie)\w*)\b",
    re.IGNORECASE,
)
_COMPARE = re.compile(
    r"\b(?:compar\w*|vergel\w*|vergeleken|vs|versus|tegenover|verhoud\w*|difference|"
    r"verschil\w*|evenveel|as many|same number|larger|bigger|smaller|groter"
    r"|kleiner|more|fewer|less|most|fewest|meer|minder|meeste|minste|than|dan)\b",
    re.IGNORECASE,
)
_COMPARING = frozenset({"compar", "vergel", "versus"})
_EACH_TYPE = re.compile(
    r"\b(?:per|each|every|by|elk|elke|ieder|iedere|naar|over(?: the| de)?) "
    r"(?:type|types|typen|soort|soorten|kind|categorie|category)\b",
    re.IGNORECASE,
)
_OTHERWISE = re.compile(
    r"\b(?:within|binnen|less than|minder dan)\s+(?:een straal van\s+)?\d+\s*"
    r"(?:km|kilomet\w+|miles?|mijl|met(?:er|re)s?|minut\w+)\b"
    r"|\b(?:nearest|closest|dichtstbij\w*|dichtst|median|mediaan)\b"
    r"|\b(?:per|each|every|elke?|iedere?) "
    r"(?:country|city|town|region|province|land|stad|plaats|regio|provincie)\b"
    r"|\b(?:which|what|welke?) "
    r"(?:country|city|town|region|province|land|stad|plaats|regio|provincie)\b.{0,40}\b(?:most|fewest|least|meeste|minste)\b",
    re.IGNORECASE,
)
"""A distance, a median or a division that no query gives."""

_PERSON = re.compile(
    r"\W*(?:by whom|door wie|van wie|(?:who|wie)\b(?!\s+(?:is|are|has|zijn|heeft|zit"
    r"|of|or)\b))",
    re.IGNORECASE,
)


_COUNTED = re.compile(r"\b(?:how many|hoe ?veel)\s+(\w+)", re.IGNORECASE)
"""What is counted: of one institution, nothing is but what is said of it anyway."""


def counts(question: str, mentions: Sequence[Mention]) -> bool:
    """Return whether a question plainly asks for a number of institutions."""
    return bool(_COUNT.search(question)) and all(m.kind != "name" for m in mentions)


def compares(question: str, mentions: Sequence[Mention]) -> bool:
    """Return whether a question compares several places, or says that it does."""
    places = sum(m.kind in _PLACES for m in mentions)
    found = _COMPARE.search(question)
    return found is not None and (places > 1 or found[0][:6].casefold() in _COMPARING)


def unanswerable(question: str, mentions: Sequence[Mention] = ()) -> bool:
    """Return whether a question has a word that no template can answer."""
    places = sum(m.kind in _PLACES for m in mentions)
    if (beyond := _OTHERWISE.search(question)) and not (
        places > 1 and _COMPARE.search(beyond[0])
    ):
        return True
    if any(m.kind == "name" for m in mentions):
        counted = _COUNTED.search(question)
        if _PERSON.match(question) or (counted and not is_asking(normal(counted[1]))):
            return True
    return any(
        token.form in _BEYOND
        for token in tokens_of(question)
        if not any(m.start <= token.start < m.end for m in mentions)
    )


def residue(question: str, mentions: Sequence[Mention]) -> tuple[str, ...]:
    """Return the words that are neither names nor words that questions are made of."""
    return tuple(
        token.form
        for token in tokens_of(question)
        if not any(m.start < token.end and token.start < m.end for m in mentions)
        and len(token.form) > 1
        and not is_number(token.form)
        and spelling_of(token.form) is None
    )


_BEYOND = word_list("beyond")


@dataclass(frozen=True, slots=True, kw_only=True)
class Relevance:
    """Whether a question is about heritage.

    Attributes:
        relevant: Whether it goes on.
        reason: The words that decided, or that there were none.
        elsewhere: Whether it has a word of another field.
    """

    relevant: bool
    reason: str
    elsewhere: bool = False


class FykeFilter:
    """Tells questions about heritage institutions from all others.

    A question is let through if it names an institution, a type of institution, an
    identifier or a budget, or has a word of heritage. Words of other fields, such as
    the weather, weigh against it, unless it asks as one does for institutions.
    """

    def __init__(self) -> None:
        words = data_file("relevance.yaml")
        self._heritage = frozenset(normal(w) for w in words["heritage"])
        self._beginnings = tuple(normal(w) for w in words["heritage_beginnings"])
        self._endings = tuple(normal(w) for w in words["heritage_endings"])
        self._others = frozenset(normal(w) for w in words["others"])

    def check(self, question: str, mentions: Sequence[Mention]) -> Relevance:
        """Return whether a question is about heritage."""
        forms = [token.form for token in tokens_of(question)]
        pairs = [f"{a} {b}" for a, b in pairwise(forms)]
        named = [m for m in mentions if m.kind in {"name", "identifier", "budget"}]
        others = [w for w in (*forms, *pairs) if w in self._others]
        if named:
            return Relevance(relevant=True, reason=named[0].text)
        if aggregate := asked_aggregate(question):
            return Relevance(relevant=True, reason=aggregate)
        types = [m.text for m in mentions if m.kind in {"institution_type", "generic"}]
        heritage = [
            w
            for w in (*forms, *pairs)
            if w in self._heritage
            or w.startswith(self._beginnings)
            or w.endswith(self._endings)  # Rijksmuseum, Stadtarchiv
        ]
        if types or (heritage and not others):
            return Relevance(relevant=True, reason=(*types, *heritage)[0])
        if others:
            return Relevance(relevant=False, reason=others[0], elsewhere=True)
        whole = [
            m.text
            for m in mentions
            if m.kind == "date" or any(option.known for option in m.options)
        ]
        if not residue(question, mentions):
            whole += ["types"] if _EACH_TYPE.search(question) else []
            if whole:
                return Relevance(relevant=True, reason=whole[0])
        return Relevance(relevant=False, reason="no word of heritage")

"""The FYKE filter: questions that have nothing to do with heritage are let go."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from retrieval.specificity.cues import for_each_type, residue
from retrieval.specificity.words import data_file, normal, tokens_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retrieval.specificity.mentions import Mention

__all__ = ["FykeFilter", "Relevance"]


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
        self._asking = re.compile("|".join(words["asking"]), re.IGNORECASE)

    def check(self, question: str, mentions: Sequence[Mention]) -> Relevance:
        """Return whether a question is about heritage.

        Args:
            question: A question that stands alone.
            mentions: What it names.
        """
        forms = [token.form for token in tokens_of(question)]
        pairs = [f"{a} {b}" for a, b in pairwise(forms)]
        named = [m for m in mentions if m.kind in {"name", "identifier", "budget"}]
        others = [w for w in (*forms, *pairs) if w in self._others]
        if named:
            return Relevance(relevant=True, reason=named[0].text)
        types = [m.text for m in mentions if m.kind in {"institution_type", "generic"}]
        heritage = [
            w
            for w in (*forms, *pairs)
            if w in self._heritage
            or w.startswith(self._beginnings)
            or w.endswith(self._endings)  # Rijksmuseum, Stadtarchiv
        ]
        signs = [*types, *heritage]
        if signs and (not others or self._asking.search(question)):
            return Relevance(relevant=True, reason=signs[0])
        if others:
            return Relevance(relevant=False, reason=others[0], elsewhere=True)
        whole = [m for m in mentions if m.kind in {"date", "city", "region", "country"}]
        asked = self._asking.search(question) or any(
            m.kind == "date" or any(option.known for option in m.options) for m in whole
        )
        if whole and asked and not residue(question, mentions):
            return Relevance(relevant=True, reason=whole[0].text)
        if for_each_type(question) and not residue(question, mentions):
            return Relevance(relevant=True, reason="types")
        return Relevance(relevant=False, reason="no word of heritage")

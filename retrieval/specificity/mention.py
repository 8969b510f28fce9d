"""Something that a question names, and what must be a name that nobody knows."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from retrieval.specificity.words import word_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retrieval.specificity.gazetteer import Entry
    from retrieval.specificity.words import Token

__all__ = [
    "Mention",
    "Taken",
    "mention_of",
    "unknown_names",
    "with_countries",
    "without_containers",
]

_BEFORE_COUNTRY = re.compile(r"\s*[,(]\s*|\s+in\s+")
_GOES_ON = re.compile(r"\s*(?:,|and|or|en|of)\s", re.IGNORECASE)
_COMPARED = re.compile(
    r"\b(?:more|fewer|less|most|meer|minder|meeste|than|dan|between|tussen|vs|versus|"
    r"tegenover|compar\w*|vergel\w*|both|allebei|beide)\b",
    re.IGNORECASE,
)
_STOP = word_list("stop")
_OF = frozenset({"of", "the", "van", "voor", "de", "het", "der", "des", "und", "for"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """Something that a question names.

    Attributes:
        kind: A slot type, or `generic` for a word for any institution.
        value: What it stands for; empty where that is unknown or ambiguous.
        text: As it was written.
        start: Where it begins.
        end: Where it ends.
        options: What it can stand for, the most likely first; more than one where
            it is ambiguous.
        score: How well it is spelt, 100 for exactly.
        relation: Of a date: `in`, `before`, `after`, `since` or `until`.
        foreign: Whether an amount is in another currency than euro.
    """

    kind: str
    value: str
    text: str
    start: int
    end: int
    options: tuple[Entry, ...] = ()
    score: float = 100.0
    relation: str = "in"
    foreign: bool = False

    def as_kind(self, kind: str) -> str | None:
        """Return the value where the mention is read as one of a kind."""
        if self.kind == kind:
            return self.value or None
        return next((o.value for o in self.options if o.kind == kind), None)


class Taken:
    """Mentions that do not overlap."""

    def __init__(self) -> None:
        self._found: list[Mention] = []

    def add(self, mention: Mention) -> None:
        """Keep a mention, unless one has its place."""
        if not self.covers(mention.start, mention.end):
            self._found.append(mention)

    def replace(self, mention: Mention) -> None:
        """Put a mention in the place of those that it overlaps."""
        self._found = [
            m for m in self._found if m.end <= mention.start or mention.end <= m.start
        ]
        self._found.append(mention)

    def kind_at(self, token: Token) -> str | None:
        """Return the kind of the mention that covers a word."""
        return next(
            (m.kind for m in self._found if m.start <= token.start < m.end), None
        )

    def covers(self, start: int, end: int) -> bool:
        """Return whether a mention lies in a range."""
        return any(m.start < end and start < m.end for m in self._found)

    def in_order(self) -> tuple[Mention, ...]:
        """Return the mentions by place."""
        return tuple(sorted(self._found, key=lambda m: m.start))


def unknown_names(
    question: str, tokens: Sequence[Token], taken: Taken
) -> list[Mention]:
    """Return what must be names of institutions that nobody knows: `the Foo Museum`.

    That is a word for a type in capitals, beside other capitals that name nothing.
    """
    found: list[Mention] = []
    for at, token in enumerate(tokens):
        if taken.kind_at(token) != "institution_type" or not token.text[0].isupper():
            continue
        first = last = at
        while first > 0 and _part_of_name(tokens[first - 1], taken, first=first == 1):
            first -= 1
        while (step := _name_goes_on(tokens, last, taken)) > 0:
            last += step
        if last > first:
            start, end = tokens[first].start, tokens[last].end
            found.append(mention_of("name", "", question, start, end, score=0.0))
    return found


def _name_goes_on(tokens: Sequence[Token], last: int, taken: Taken) -> int:
    """Return how many words more a name has, small words such as `of` among them."""
    for step in (1, 2, 3):
        if last + step >= len(tokens):
            return 0
        word = tokens[last + step]
        if _part_of_name(word, taken):
            return step
        if word.form not in _OF:
            return 0
    return 0


def _part_of_name(token: Token, taken: Taken, *, first: bool = False) -> bool:
    """Return whether a word beside a word for a type may belong to its name."""
    return (
        token.text[0].isupper()
        and token.form not in _STOP
        and taken.kind_at(token) is None
        and not first
    )


def with_countries(question: str, mentions: Sequence[Mention]) -> tuple[Mention, ...]:
    """Return mentions in which a city and its country, `Ghent, Belgium`, are one.

    Only where the city is known to be in that country, and in no other.
    """
    found: list[Mention] = []
    for mention in mentions:
        last = found[-1] if found else None
        if last is not None and _lies_in(question, last, mention):
            end = mention.end
            found[-1] = replace(last, text=question[last.start : end], end=end)
        elif last is not None and _is_elsewhere(question, last, mention):
            found[-1] = mention_of(
                "place", "", question, last.start, mention.end, score=0.0
            )
        else:
            found.append(mention)
    return tuple(found)


def without_containers(
    question: str, mentions: Sequence[Mention]
) -> tuple[Mention, ...]:
    """Return mentions without places that only say where another one lies.

    `The Dutch province of Limburg` is Limburg; nothing is left out where places are
    compared.
    """
    if _COMPARED.search(question):
        return tuple(mentions)
    return tuple(
        m
        for m in mentions
        if not any(_contains(m, other) for other in mentions if other is not m)
    )


def _contains(place: Mention, other: Mention) -> bool:
    """Return whether a place is the country or region that another one lies in."""
    if place.kind == "country":
        inside = {"city", "region"}
    else:
        inside = {"city"} if place.kind == "region" else set()
    if other.kind not in inside or not (place.value and other.value):
        return False
    about = next((o.about for o in other.options if o.value == other.value), "")
    if ";" in about:
        return False
    return bool({place.value, place.text} & set(about.split(", ")))


def _lies_in(question: str, city: Mention, country: Mention) -> bool:
    """Return whether a country is only said to tell where a city is."""
    if (city.kind, country.kind) != ("city", "country") or not country.value:
        return False
    about = next((o.about for o in city.options if o.value == city.value), "")
    between = question[city.end : country.start]
    return (
        _BEFORE_COUNTRY.fullmatch(between) is not None
        and ";" not in about
        and about.rpartition(", ")[2] == country.value
    )


def _is_elsewhere(question: str, city: Mention, country: Mention) -> bool:
    """Return whether a country says that another town of a known name is meant."""
    if (city.kind, country.kind) != ("city", "country") or not country.value:
        return False
    between = question[city.end : country.start]
    about = next((o.about for o in city.options if o.value == city.value), "")
    known = {place.rpartition(", ")[2] for place in about.split("; ")}
    return (
        _BEFORE_COUNTRY.fullmatch(between) is not None
        and bool(about)
        and country.value not in known
        and not _GOES_ON.match(question[country.end :])
    )


def mention_of(
    kind: str, value: str, question: str, start: int, end: int, *, score: float = 100.0
) -> Mention:
    """Return a mention that can stand for one thing."""
    return Mention(
        kind=kind,
        value=value,
        text=question[start:end],
        start=start,
        end=end,
        score=score,
    )

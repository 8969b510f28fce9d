"""What was asked for, in the words of answers: types, places, dates and budgets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retrieval.specificity.iso_places import place_name
from retrieval.specificity.words import data_file, type_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["amount", "criterion", "joined", "things", "where"]

_GENERIC = {"en": ("institution", "institutions"), "nl": ("instelling", "instellingen")}
_OR = {"en": " or ", "nl": " of "}
_FOUNDED = {
    "en": {
        "in": "founded in {}",
        "between": "founded between {} and {}",
        "before": "founded before {}",
        "after": "founded after {}",
        "since": "founded in {} or later",
        "until": "founded in {} or earlier",
    },
    "nl": {
        "in": "opgericht in {}",
        "between": "opgericht tussen {} en {}",
        "before": "opgericht v\u00f3\u00f3r {}",
        "after": "opgericht na {}",
        "since": "opgericht in {} of later",
        "until": "opgericht in {} of eerder",
    },
}
_BUDGET = {
    "en": {
        "above": "with a budget above {} euro",
        "at_least": "with a budget of at least {} euro",
        "below": "with a budget below {} euro",
        "at_most": "with a budget of at most {} euro",
        "equal": "with a budget of exactly {} euro",
        "between": "with a budget between {} and {} euro",
    },
    "nl": {
        "above": "met een budget boven {} euro",
        "at_least": "met een budget van minstens {} euro",
        "below": "met een budget onder {} euro",
        "at_most": "met een budget van hoogstens {} euro",
        "equal": "met een budget van precies {} euro",
        "between": "met een budget tussen {} en {} euro",
    },
}


def things(
    slots: Mapping[str, str | tuple[str, ...]], language: str, number: int = 2
) -> str:
    """Return the words for the types asked for, one or many."""
    form = 0 if number == 1 else 1
    words = [
        type_words().shown[letter][language][form]
        for letter in _each(slots, "institution_type")
        if letter in type_words().shown
    ]
    joiner = " and " if language == "en" else " en "
    return joiner.join(words) or _GENERIC[language][form]


def joined(places: Sequence[str], language: str) -> str:
    """Return places with commas and an `or`."""
    *first, last = places
    return f"{', '.join(first)}{_OR[language]}{last}" if first else last


def where(slots: Mapping[str, str | tuple[str, ...]], language: str) -> str:
    """Return the places asked for, with `in` before them."""
    for name in ("city", "region", "country"):
        if places := [_placed(value, language) for value in _each(slots, name)]:
            return f" in {joined(places, language)}"
    return ""


def criterion(slots: Mapping[str, str | tuple[str, ...]], language: str) -> str:
    """Return the date or budget asked for, with a space before it."""
    for date in _each(slots, "date"):
        relation = next(iter(_each(slots, "date_relation")), "in")
        first, _, last = date.partition("/")
        words = _FOUNDED[language]
        if last and relation == "in":
            return " " + words["between"].format(first, last)
        late = relation in {"after", "until"} and last
        return " " + words[relation].format(last if late else first)
    for budget in _each(slots, "budget"):
        comparison = next(iter(_each(slots, "comparison")), "above")
        ends = [amount(end, language) for end in budget.split("/")]
        return " " + _BUDGET[language][comparison].format(*ends)
    return ""


def amount(value: str | int | float, language: str) -> str:
    """Return an amount with separators."""
    number = float(value)
    text = f"{number:,.0f}" if number.is_integer() else f"{number:,.2f}"
    return text if language == "en" else text.translate(str.maketrans(",.", ".,"))


def _placed(value: str, language: str) -> str:
    """Return the name of a place with its article: `the Netherlands`."""
    article = data_file("places.yaml")["articles"][language].get(value, "")
    return f"{article} {place_name(value, language)}".strip()


def _each(slots: Mapping[str, str | tuple[str, ...]], name: str) -> tuple[str, ...]:
    """Return the values of a slot, none where it has none."""
    given = slots.get(name) or ()
    return (given,) if isinstance(given, str) else given

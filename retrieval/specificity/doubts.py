"""What is doubtful about an answer, in the words of its language."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from retrieval.specificity.iso_places import place_name
from retrieval.specificity.words import type_words

if TYPE_CHECKING:
    from retrieval.specificity.slots import Doubt

__all__ = ["doubt_text"]

_CODES = re.compile(r"\b[A-Z]{2}(?:-[A-Z0-9]{1,3})?\b")
_DOUBTS = {
    "typo": {"en": "I read '{}' as {}.", "nl": "Ik lees '{}' als {}."},
    "also": {
        "en": "'{}' is also a {}: say so if you mean that.",
        "nl": "'{}' is ook een {}: zeg het als je dat bedoelt.",
    },
    "several": {
        "en": "There is more than one {}, and all are taken: {}.",
        "nl": "Er is meer dan \u00e9\u00e9n {}, en alle tellen mee: {}.",
    },
    "ambiguous": {"en": "'{}' can be: {}.", "nl": "'{}' kan zijn: {}."},
    "unknown": {"en": "I do not know '{}'.", "nl": "Ik ken '{}' niet."},
    "near": {
        "en": "I do not know '{}'. Did you mean {}?",
        "nl": "Ik ken '{}' niet. Bedoel je {}?",
    },
    "only": {
        "en": "I left out '{}' and answered for {} alone: please ask for each.",
        "nl": "Ik liet '{}' weg en antwoord alleen voor {}: vraag het apart.",
    },
    "spelt": {
        "en": "{} is written in several ways, and all are taken: {}.",
        "nl": "{} staat er op meer manieren, en alle tellen mee: {}.",
    },
    "longer": {
        "en": "There are places with a longer name than {}: {}.",
        "nl": "Er zijn plaatsen met een langere naam dan {}: {}.",
    },
    "parts": {
        "en": "Nothing is recorded under {} itself: I took what lies in it, {}.",
        "nl": "Onder {} zelf staat niets: ik nam wat erin ligt, {}.",
    },
    "unrecorded": {
        "en": "I cannot tell what is in {}: no institution is recorded under it. Those "
        "of its country are recorded under {}.",
        "nl": "Ik weet niet wat er in {} is: geen instelling staat daaronder. Die van "
        "het land staan onder {}.",
    },
    "regionless": {
        "en": "{} institutions in {} have no region: they may be missing here.",
        "nl": "{} instellingen in {} hebben geen regio: zij kunnen hier ontbreken.",
    },
    "currency": {
        "en": "Budgets are in euro; '{}' is not: please give an amount in euro.",
        "nl": "Budgetten zijn in euro; '{}' niet: geef een bedrag in euro.",
    },
}
_JOINERS = {
    "ambiguous": "; ",
    "several": "; ",
    "longer": ", ",
    "parts": ", ",
    "spelt": ", ",
    "unrecorded": ", ",
}
_PLACED = frozenset({"only", "parts", "unrecorded"})
_KINDS_NL = {"city ": "stad ", "region ": "regio ", "country ": "land "}


def doubt_text(doubt: Doubt, language: str) -> str:
    """Return what is doubtful about a slot value, in words."""
    shown = [_with_names(text, language) for text in doubt.candidates]
    if doubt.slot == "institution_type":
        types = type_words().shown
        shown = [types[t][language][1] if t in types else t for t in shown]
    if language == "nl":
        shown = [_in_dutch(text) for text in shown]
    kind = "near" if doubt.kind == "unknown" and shown else doubt.kind
    joiner = " or " if language == "en" else " of "
    joiner = _JOINERS.get(kind, joiner)
    text = doubt.text
    if doubt.kind in _PLACED and doubt.slot in {"region", "country"}:
        text = _with_names(text, language)
    return _DOUBTS[kind][language].format(text, joiner.join(shown))


def _with_names(text: str, language: str) -> str:
    """Return a candidate in which codes of countries and regions are names."""
    return _CODES.sub(lambda found: place_name(found[0], language), text)


def _in_dutch(text: str) -> str:
    """Return a candidate whose kind is in Dutch."""
    for english, dutch in _KINDS_NL.items():
        if text.startswith(english):
            return dutch + text.removeprefix(english)
    return text

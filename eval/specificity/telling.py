"""Whether the text of an answer says what is right, whoever worded it.

Rows of a query may be right and the answer still not say them; so the text is read as
well: names of the institutions and of no others, numbers, and the fact that a question
about one institution asks for.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from retrieval.specificity.criteria import things
from retrieval.specificity.iso_places import place_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from eval.specificity.questions import Question
    from ingest.custodians import Custodian

__all__ = ["LISTED", "asked_facts", "says"]

LISTED = 25
"""Names that an answer must give of a longer list; it must then say how many."""

LOOKUPS = frozenset({"find_institution_by_name", "find_institution_by_identifier"})

_FACTS = {
    "founded": r"when|wanneer|founded|established|set up|opgericht|gesticht|ontstaan|"
    r"(?:what|which|welk) (?:year|jaar)|how old|hoe oud|age|leeftijd|"
    r"(?:founding|foundation|oprichting|stichting)\w*",
    "budget": r"budget\w*|\w*begroting|spends?|besteedt|(?:how much|hoeveel) "
    r"(?:money|geld)",
    "city": r"where|waar|(?:which|what|welke) (?:city|town|stad|plaats)|located|"
    r"ligt|add?ress?|location|locatie|gevestigd",
    "country": r"(?:which|what|welk) (?:country|land)",
    "region": r"(?:which|what|welke) (?:province|state|provincie|region?)",
    "type": r"(?:what|which|welke?|wat voor) (?:kind|type|sort|soort)|wat voor",
    "isil": r"isil\w*",
    "ghcid": r"ghcid",
    "url": r"(?:web)?site|url|homepage|web ?(?:page|pagina|add?ress?)|link",
}
"""Fact -> words of a question that ask for it."""

_ASKED = {name: re.compile(rf"\b(?:{words})\b") for name, words in _FACTS.items()}
_NOTHING = re.compile(
    r"\b(?:no|none|not|nothing|cannot|geen|niet|niets|nergens|nobody|zero|nul)\b|n't\b"
)
_NUMBER = re.compile(r"(?<![\w.,])\d+(?:[.,]\d{3})*(?:[.,]\d{1,2})?(?![\w])")
_MILLIONS = re.compile(r"(\d+(?:[.,]\d+)?)\s*(?:million|miljoen|mln|m)\b")
_WORDS = (
    ("zero", "nul"),
    ("one", "een", "\u00e9\u00e9n"),
    ("two", "twee"),
    ("three", "drie"),
    ("four", "vier"),
    ("five", "vijf"),
    ("six", "zes"),
    ("seven", "zeven"),
    ("eight", "acht"),
    ("nine", "negen"),
    ("ten", "tien"),
    ("eleven", "elf"),
    ("twelve", "twaalf"),
)


def says(
    question: Question,
    text: str,
    institutions: Mapping[str, Custodian],
) -> bool:
    """Return whether the text of an answer says what the labels say.

    Args:
        question: The question, with its labels.
        text: What was answered.
        institutions: What there is, by GHCID.
    """
    answer, said = question.answer, _plain(text)
    if answer.kind == "list":
        if not answer.ids:
            return bool(_NOTHING.search(said)) and not _named(
                said, institutions, but=_plain(question.question)
            )
        found = [institutions[one] for one in answer.ids if one in institutions]
        if len(found) < len(answer.ids):
            return False
        if question.template in LOOKUPS:
            facts = asked_facts(question)
            return all(_told(one, facts, said) for one in found)
        return _listed(said, answer.ids, institutions)
    if answer.kind == "count":
        return _counted(question, said, answer.value or 0)
    if answer.kind == "comparison":
        return all(
            _beside(said, _places(place, institutions), number)
            for place, number in answer.values.items()
        )
    return all(
        _beside(said, _types(letter), number)
        for letter, number in answer.values.items()
    )


def asked_facts(question: Question) -> tuple[str, ...]:
    """Return what a question about one institution asks for, by its words.

    Words of the institution's own name ask for nothing.

    Returns:
        Names of fields of an institution; none where it asks whether there is one, or
        for whatever is known of it.
    """
    text = _plain(question.question)
    for slot in ("name", "identifier"):
        given = question.slots.get(slot, ())
        for value in (given,) if isinstance(given, str | int) else given:
            for word in _plain(str(value)).split():
                text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", " ", text)
    if "identifier" in question.slots:
        text = re.sub(r"\b(?:isil\w*|ghcid)\b", " ", text)
    text = " ".join(text.split())
    return tuple(name for name, words in _ASKED.items() if words.search(text))


def _told(institution: Custodian, facts: Iterable[str], said: str) -> bool:
    """Return whether a text names an institution, and the facts that are known."""
    if _plain(institution.name) not in said:
        return False
    return all(
        any(_holds(said, form) for form in forms)
        for fact in facts
        if (forms := _forms(institution, fact))
    )


def _forms(institution: Custodian, fact: str) -> tuple[str, ...]:
    """Return how a fact may be written; none where it is not known."""
    if fact == "founded":
        year = institution.founded_year
        return () if year is None else (f"{year:04d}", str(year))
    if fact == "budget":
        euro = institution.budget
        return () if euro is None else (f"{euro:.2f}",)
    if fact == "type":
        return _types(institution.type)
    value = getattr(institution, fact)
    if value is None:
        return ()
    if fact == "url":
        return (_plain(value).rstrip("/"),)
    return tuple(_plain(place_name(value, language)) for language in ("en", "nl"))


def _holds(said: str, form: str) -> bool:
    """Return whether a text has a word, or a number however it is written."""
    if re.fullmatch(r"\d+\.\d\d", form):
        return float(form) in _numbers(said)
    return bool(re.search(rf"(?<!\w){re.escape(form)}(?!\w)", said))


def _listed(
    said: str, ids: frozenset[str], institutions: Mapping[str, Custodian]
) -> bool:
    """Return whether a text names these institutions and no others.

    Of more than `LISTED` it names as many, and says how many there are.
    """
    wanted = {_plain(institutions[one].name) for one in ids}
    named = _named(said, institutions)
    if len(ids) <= LISTED:
        return named == wanted
    return (
        named <= wanted
        and len(named) >= min(LISTED, len(wanted))
        and float(len(ids)) in _numbers(said)
    )


def _named(
    said: str, institutions: Mapping[str, Custodian], *, but: str = ""
) -> set[str]:
    """Return the names of institutions that stand in a text, the longest first.

    Args:
        said: The text.
        institutions: Whose names are looked for.
        but: A text whose names do not count, such as the question.
    """
    found = set()
    for name in sorted({_plain(i.name) for i in institutions.values()}, key=_longest):
        pattern = rf"(?<!\w){re.escape(name)}(?!\w)"
        said, times = re.subn(pattern, " | ", said)
        if times and name not in but:
            found.add(name)
    return found


def _longest(name: str) -> tuple[int, str]:
    """Order names by length, the longest first."""
    return -len(name), name


def _counted(question: Question, said: str, number: int) -> bool:
    """Return whether a text says a number, and none that nobody asked for."""
    head = said.partition("\n")[0]
    found = _numbers(head)
    if not found:
        if number == 0:
            return bool(_NOTHING.search(head))
        return number < len(_WORDS) and any(_holds(head, w) for w in _WORDS[number])
    others = found - {float(number)} - _numbers(_plain(question.question))
    return float(number) in found and not others


def _beside(said: str, words: Iterable[str], number: int) -> bool:
    """Return whether a line has one of the words, and the number."""
    forms = tuple(words)
    return any(
        float(number) in _numbers(line) or (number == 0 and bool(_NOTHING.search(line)))
        for line in said.splitlines()
        if any(_holds(line, form) for form in forms)
    )


def _places(place: str, institutions: Mapping[str, Custodian]) -> tuple[str, ...]:
    """Return the names of a place: as it is, of its code, and of its region."""
    regions = {i.region for i in institutions.values() if i.subregion == place}
    names = {place, place_name(place, "en"), place_name(place, "nl"), *regions}
    return tuple(sorted(_plain(name) for name in names if name))


def _types(letter: str) -> tuple[str, ...]:
    """Return the words for a type, one or many, in both languages."""
    return tuple(
        _plain(things({"institution_type": letter}, language, number))
        for language in ("en", "nl")
        for number in (1, 2)
    )


def _numbers(text: str) -> set[float]:
    """Return the numbers of a text; `1.250.000` and `1.25 million` are the same."""
    found = {
        round(float(one.replace(",", ".")) * 1_000_000, 2)
        for one in _MILLIONS.findall(text)
    }
    text = _MILLIONS.sub(" ", text)
    for one in _NUMBER.findall(text):
        parts = re.split(r"[.,]", one)
        cents = len(parts) > 1 and len(parts[-1]) < 3
        whole = "".join(parts[:-1] if cents else parts)
        found.add(float(f"{whole}.{parts[-1]}" if cents else whole))
    return found


def _plain(text: str) -> str:
    """Return a text line by line without what does not tell two apart."""
    lines = (" ".join(line.split()) for line in text.casefold().splitlines())
    return "\n".join(lines)

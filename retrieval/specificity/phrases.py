"""Answers in plain words, in Dutch or English, without a language model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from retrieval.specificity.gazetteer import place_name
from retrieval.specificity.words import type_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from retrieval.specificity.execution import Execution
    from retrieval.specificity.slots import Doubt

__all__ = ["asking_for", "doubt_text", "fixed_text", "plain_answer"]

SHOWN = 25
_CODES = re.compile(r"\b[A-Z]{2}(?:-[A-Z0-9]{1,3})?\b")
_GENERIC = {"en": ("institution", "institutions"), "nl": ("instelling", "instellingen")}
_FIXED = {
    "irrelevant": {
        "en": "I can only answer questions about heritage institutions, such as "
        "archives, museums and libraries: please ask me one of those.",
        "nl": "Ik kan alleen vragen over erfgoedinstellingen beantwoorden, zoals "
        "archieven, musea en bibliotheken: stel me zo'n vraag.",
    },
    "none": {
        "en": "I have no query for that question. I can list, count, find and compare "
        "institutions by type, place, name, identifier, founding date and budget.",
        "nl": "Voor die vraag heb ik geen zoekopdracht. Ik kan instellingen opnoemen, "
        "tellen, vinden en vergelijken naar type, plaats, naam, code, oprichting en "
        "budget.",
    },
    "lost": {
        "en": "That builds on something that was not said before: please ask the whole "
        "question.",
        "nl": "Dat bouwt voort op iets dat niet eerder is gezegd: stel alsjeblieft de "
        "hele vraag.",
    },
    "which": {"en": "Which one do you mean: {}?", "nl": "Welke bedoel je: {}?"},
    "missing": {"en": "Please say {}.", "nl": "Noem alsjeblieft {}."},
    "failed": {
        "en": "The query was ended before it had an answer: {}",
        "nl": "De zoekopdracht is gestopt voor er een antwoord was: {}",
    },
}
_SLOTS = {
    "institution_type": {
        "en": "what type of institution",
        "nl": "welk type instelling",
    },
    "city": {"en": "which city", "nl": "welke stad"},
    "region": {"en": "which province or region", "nl": "welke provincie of regio"},
    "country": {"en": "which country", "nl": "welk land"},
    "name": {"en": "the name of an institution", "nl": "de naam van een instelling"},
    "identifier": {"en": "an ISIL or GHCID", "nl": "een ISIL of GHCID"},
    "date": {"en": "a year", "nl": "een jaar"},
    "budget": {"en": "an amount in euro", "nl": "een bedrag in euro"},
    "two": {
        "en": "two or more cities, regions or countries",
        "nl": "twee of meer steden, regio's of landen",
    },
}
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
    "currency": {
        "en": "Budgets are in euro; '{}' is not: please give an amount in euro.",
        "nl": "Budgetten zijn in euro; '{}' niet: geef een bedrag in euro.",
    },
}
_KINDS_NL = {"city ": "stad ", "region ": "regio ", "country ": "land "}
_LABELS = {
    "institution_type": ("Type", "Type"),
    "city": ("City", "Stad"),
    "region": ("Region", "Regio"),
    "country": ("Country", "Land"),
    "isil": ("ISIL", "ISIL"),
    "ghcid": ("GHCID", "GHCID"),
    "founded": ("Founded", "Opgericht"),
    "budget": ("Budget in euro", "Budget in euro"),
    "url": ("Website", "Website"),
    "description": ("Description", "Omschrijving"),
}


def fixed_text(key: str, language: str, *values: str) -> str:
    """Return an answer that says why there is no other."""
    return _FIXED[key][language].format(*values)


def asking_for(missing: Sequence[str], language: str) -> str:
    """Return a request for slots, by their names."""
    wanted = []
    joiner = " or " if language == "en" else " of "
    for name in missing:
        parts = name.split("|")
        if name == "city|region|country:two":
            wanted.append(_SLOTS["two"][language])
        else:
            wanted.append(
                joiner.join(_SLOTS[p][language] if p in _SLOTS else p for p in parts)
            )
    return fixed_text("missing", language, ", ".join(wanted))


def doubt_text(doubt: Doubt, language: str) -> str:
    """Return what is doubtful about a slot value, in words."""
    shown = [_with_names(text, language) for text in doubt.candidates]
    if doubt.slot == "institution_type":
        types = type_words().shown
        shown = [types[t][language][1] if t in types else t for t in shown]
    if language == "nl":
        shown = [_in_dutch(text) for text in shown]
    kind = "near" if doubt.kind == "unknown" and shown else doubt.kind
    joiner = (
        ("; " if kind in {"ambiguous", "several"} else " or ")
        if language == "en"
        else ("; " if kind in {"ambiguous", "several"} else " of ")
    )
    text = doubt.text
    if doubt.kind == "only" and doubt.slot in {"region", "country"}:
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


def plain_answer(
    template_id: str,
    found: Execution,
    slots: Mapping[str, str | tuple[str, ...]],
    language: str,
) -> str:
    """Return an answer made of the rows of a query.

    Args:
        template_id: What was asked.
        found: The rows.
        slots: What was asked for.
        language: `en` or `nl`.
    """
    if template_id == "compare_locations":
        return _comparison(found, slots, language)
    if "count" in found.columns:
        return _count(found, slots, language)
    if not found.rows:
        return _nothing(template_id, slots, language)
    if template_id in {"find_institution_by_name", "find_institution_by_identifier"}:
        return "\n\n".join(
            _details(dict(zip(found.columns, row, strict=True)), language)
            for row in found.rows
        )
    return _listing(found, slots, language)


def _things(
    slots: Mapping[str, str | tuple[str, ...]], language: str, number: int = 2
) -> str:
    """Return the words for the types asked for, one or many."""
    given = slots.get("institution_type") or ()
    letters = (given,) if isinstance(given, str) else given
    form = 0 if number == 1 else 1
    words = [
        type_words().shown[x][language][form]
        for x in letters
        if x in type_words().shown
    ]
    joiner = " and " if language == "en" else " en "
    return joiner.join(words) or _GENERIC[language][form]


def _where(slots: Mapping[str, str | tuple[str, ...]], language: str) -> str:
    """Return the place asked for."""
    for name in ("city", "region", "country"):
        value = slots.get(name)
        if value:
            first = value if isinstance(value, str) else value[0]
            return f" in {place_name(first, language)}"
    return ""


def _count(
    found: Execution, slots: Mapping[str, str | tuple[str, ...]], language: str
) -> str:
    """Return a number, or one for each type."""
    place = found.columns.index("count")
    if len(found.columns) > 1:
        lines = []
        for row in found.rows:
            number = int(row[place] or 0)
            words = _things({"institution_type": str(row[0])}, language, number)
            lines.append(f"- {words}: {number}")
        head = "Institutions by type:" if language == "en" else "Instellingen per type:"
        return "\n".join([head, *lines])
    number = int(found.rows[0][place] or 0) if found.rows else 0
    things, where = _things(slots, language, number), _where(slots, language)
    if language == "nl":
        return f"Er {'is' if number == 1 else 'zijn'} {number} {things}{where}."
    return f"There {'is' if number == 1 else 'are'} {number} {things}{where}."


def _comparison(
    found: Execution, slots: Mapping[str, str | tuple[str, ...]], language: str
) -> str:
    """Return the number of each place, and which has most."""
    numbers = [
        (place_name(str(row[0]), language), int(row[-1] or 0)) for row in found.rows
    ]
    lines = [f"- {name}: {n} {_things(slots, language, n)}" for name, n in numbers]
    most = max((n for _, n in numbers), default=0)
    first = [name for name, n in numbers if n == most]
    if len(first) == 1:
        end = "has the most." if language == "en" else "heeft de meeste."
        lines.append(f"{first[0]} {end}")
    elif len(first) < len(numbers):
        joiner = " and " if language == "en" else " en "
        end = "have the most." if language == "en" else "hebben de meeste."
        lines.append(f"{', '.join(first[:-1])}{joiner}{first[-1]} {end}")
    else:
        lines.append(
            "They have as many." if language == "en" else "Ze hebben er evenveel."
        )
    return "\n".join(lines)


def _nothing(
    template_id: str, slots: Mapping[str, str | tuple[str, ...]], language: str
) -> str:
    """Return that nothing was found."""
    for name in ("identifier", "name"):
        if value := slots.get(name):
            if language == "nl":
                return f"Er is geen instelling {value} in de graaf."
            return f"There is no institution {value} in the graph."
    things, where = _things(slots, language), _where(slots, language)
    extra = {
        "find_institutions_by_founding_date": (
            " with such a founding date",
            " met zo'n oprichtingsdatum",
        ),
        "find_custodians_by_budget_threshold": (
            " with such a budget",
            " met zo'n budget",
        ),
    }.get(template_id, ("", ""))
    if language == "nl":
        return f"Er zijn geen {things}{where}{extra[1]} in de graaf."
    return f"There are no {things}{where}{extra[0]} in the graph."


def _listing(
    found: Execution, slots: Mapping[str, str | tuple[str, ...]], language: str
) -> str:
    """Return names, with what was asked beside them."""
    lines = []
    for row in found.rows[:SHOWN]:
        values = dict(zip(found.columns, row, strict=True))
        beside = ""
        if values.get("founded"):
            beside = f" ({values['founded']})"
        elif (amount := values.get("amount")) is not None:
            beside = f" ({_amount(amount, language)} euro)"
        lines.append(f"- {values.get('name')}{beside}")
    number = len(found.rows)
    things, where = _things(slots, language, number), _where(slots, language)
    least = ("at least " if language == "en" else "minstens ") if found.cut else ""
    head = f"{least}{number} {things}{where}:"
    if number > SHOWN:
        more = "and {} more" if language == "en" else "en nog {}"
        lines.append(f"- ... {more.format(number - SHOWN)}")
    return "\n".join([head, *lines])


def _details(values: Mapping[str, str | int | float | None], language: str) -> str:
    """Return all that is known of one institution."""
    lines = [str(values.get("name"))]
    for column, labels in _LABELS.items():
        value = values.get(column)
        if value is None or value == "":
            continue
        shown = str(value)
        if column == "institution_type":
            shown = _things({"institution_type": shown}, language, 1)
        elif column == "budget":
            shown = _amount(value, language)
        elif column == "country":
            shown = place_name(shown, language)
        lines.append(f"- {labels[0 if language == 'en' else 1]}: {shown}")
    return "\n".join(lines)


def _amount(value: str | int | float, language: str) -> str:
    """Return an amount with separators."""
    number = float(value)
    text = f"{number:,.0f}" if number.is_integer() else f"{number:,.2f}"
    return text if language == "en" else text.translate(str.maketrans(",.", ".,"))

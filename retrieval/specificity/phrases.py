"""Answers in plain words, in Dutch or English, without a language model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from retrieval.specificity.criteria import amount, criterion, things, where
from retrieval.specificity.iso_places import place_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from retrieval.specificity.execution import Execution
    from retrieval.specificity.templates import Template

__all__ = [
    "NOTHING",
    "SHOWN",
    "Asked",
    "asking_for",
    "fixed_text",
    "plain_answer",
    "unmeasured_text",
]

SHOWN = 25
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
    "strange": {
        "en": "I do not understand '{}' here: please ask the whole question.",
        "nl": "Ik begrijp '{}' hier niet: stel alsjeblieft de hele vraag.",
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
_ORDERS = {
    "oldest": {"en": "the oldest first", "nl": "de oudste eerst"},
    "newest": {"en": "the newest first", "nl": "de nieuwste eerst"},
}
_UNMEASURED = {
    "date": {
        "en": "No founding date is recorded for {}, so I cannot tell.",
        "nl": "Van {} is geen oprichtingsdatum bekend, dus dat kan ik niet zeggen.",
    },
    "budget": {
        "en": "No budget is recorded for {}, so I cannot tell.",
        "nl": "Van {} is geen budget bekend, dus dat kan ik niet zeggen.",
    },
}
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What an answer takes into account beside rows and slots.

    Attributes:
        counted: Whether the question asks how many there are.
        total: How many there are; None where the rows are all that is known.
        apart: IRI of an institution -> what tells it from another one of its name.
    """

    counted: bool = False
    total: int | None = None
    apart: Mapping[str, str] = field(default_factory=dict)


NOTHING = Asked()


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


def plain_answer(
    template_id: str,
    found: Execution,
    slots: Mapping[str, str | tuple[str, ...]],
    language: str,
    *,
    asked: Asked = NOTHING,
) -> str:
    """Return an answer made of the rows of a query.

    Args:
        template_id: What was asked.
        found: The rows.
        slots: What was asked for.
        language: `en` or `nl`.
        asked: What is known beside the rows.
    """
    if template_id == "compare_locations":
        return _comparison(found, slots, language)
    if "count" in found.columns:
        return _count(found, slots, language)
    if not found.rows:
        return _nothing(slots, language)
    if template_id in {"find_institution_by_name", "find_institution_by_identifier"}:
        return "\n\n".join(
            _details(dict(zip(found.columns, row, strict=True)), language)
            for row in found.rows
        )
    return _listing(found, slots, language, asked)


def _count(
    found: Execution, slots: Mapping[str, str | tuple[str, ...]], language: str
) -> str:
    """Return a number, or one for each type and place."""
    if len(found.columns) > 1:
        lines = []
        for row in found.rows:
            values = dict(zip(found.columns, row, strict=True))
            number = int(values["count"] or 0)
            letter = values.get("type") or values.get("institution_type")
            types = slots if letter is None else {"institution_type": str(letter)}
            place = values.get("place")
            begin = "" if place is None else f"{place_name(str(place), language)}: "
            words = things(types, language, number)
            lines.append(
                f"- {begin}{number} {words}" if begin else f"- {words}: {number}"
            )
        if "place" in found.columns:
            head = "By place:" if language == "en" else "Per plaats:"
        else:
            number = sum(int(n or 0) for n in found.column("count"))
            head = (
                f"Institutions by type, {number} in all:"
                if language == "en"
                else f"Instellingen per type, {number} in totaal:"
            )
        return "\n".join([head, *lines])
    number = int(found.rows[0][0] or 0) if found.rows else 0
    return f"{_there_are(number, slots, language)}."


def _there_are(
    number: int, slots: Mapping[str, str | tuple[str, ...]], language: str
) -> str:
    """Return how many there are of what was asked for."""
    wanted = _wanted(slots, language, number)
    if language == "nl":
        return f"Er {'is' if number == 1 else 'zijn'} {number} {wanted}"
    return f"There {'is' if number == 1 else 'are'} {number} {wanted}"


def _wanted(
    slots: Mapping[str, str | tuple[str, ...]], language: str, number: int
) -> str:
    """Return what was asked for: type, place, date or budget."""
    parts = things(slots, language, number), where(slots, language)
    return "".join([*parts, criterion(slots, language)])


def _comparison(
    found: Execution, slots: Mapping[str, str | tuple[str, ...]], language: str
) -> str:
    """Return the number of each place, and which has most."""
    numbers = [
        (place_name(str(row[0]), language), int(row[-1] or 0)) for row in found.rows
    ]
    lines = [f"- {name}: {n} {things(slots, language, n)}" for name, n in numbers]
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


def _nothing(slots: Mapping[str, str | tuple[str, ...]], language: str) -> str:
    """Return that nothing was found."""
    for name in ("identifier", "name"):
        if value := slots.get(name):
            if language == "nl":
                return f"Er is geen instelling {value} in de graaf."
            return f"There is no institution {value} in the graph."
    wanted = _wanted(slots, language, 2)
    if language == "nl":
        return f"Er zijn geen {wanted} in de graaf."
    return f"There are no {wanted} in the graph."


def _listing(
    found: Execution,
    slots: Mapping[str, str | tuple[str, ...]],
    language: str,
    asked: Asked,
) -> str:
    """Return names, with what was asked beside them, and how many there are."""
    lines = []
    for row in found.rows[:SHOWN]:
        values = dict(zip(found.columns, row, strict=True))
        beside = [asked.apart.get(str(values.get("custodian")), "")]
        if values.get("place"):
            beside.append(place_name(str(values["place"]), language))
        if values.get("founded"):
            beside.append(str(values["founded"]))
        elif (euro := values.get("amount")) is not None:
            beside.append(f"{amount(euro, language)} euro")
        told = ", ".join(dict.fromkeys(text for text in beside if text))
        lines.append(f"- {values.get('name')}" + (f" ({told})" if told else ""))
    number = len(found.rows) if asked.total is None else asked.total
    head = _head(found, slots, language, asked)
    if number > SHOWN:
        more = "and {} more" if language == "en" else "en nog {}"
        lines.append(f"- ... {more.format(number - SHOWN)}")
    return "\n".join([head, *lines])


def _head(
    found: Execution,
    slots: Mapping[str, str | tuple[str, ...]],
    language: str,
    asked: Asked,
) -> str:
    """Return the line above names."""
    known = asked.total is not None or not found.cut
    number = len(found.rows) if asked.total is None else asked.total
    order, limit = str(slots.get("order", "")), str(slots.get("limit", ""))
    if asked.counted and known and not limit:
        return f"{_there_are(number, slots, language)}:"
    wanted = _wanted(slots, language, number)
    if order in _ORDERS and limit and (limit == "1" or number == int(limit)):
        begin, word = ("", "Oudste") if language == "nl" else ("The ", "oldest")
        if order == "newest":
            word = "Nieuwste" if language == "nl" else "newest"
        if number > 1 and limit != "1":
            begin += f"{number} "
            word = word.lower()
        return f"{begin}{word} {wanted}:"
    least = "" if known else ("at least ", "minstens ")[language == "nl"]
    first = f", {_ORDERS[order][language]}" if order in _ORDERS and number > 1 else ""
    return f"{least}{number} {wanted}{first}:"


def unmeasured_text(
    template: Template, slots: Mapping[str, str | tuple[str, ...]], language: str
) -> str:
    """Return that no date, or no budget, is known of anything that was asked for."""
    what = _UNMEASURED["budget" if "budget" in template.slots else "date"][language]
    return what.format(f"{things(slots, language)}{where(slots, language)}")


def _details(values: Mapping[str, str | int | float | None], language: str) -> str:
    """Return all that is known of one institution."""
    lines = [str(values.get("name"))]
    for column, labels in _LABELS.items():
        value = values.get(column)
        if value is None or value == "":
            continue
        shown = str(value)
        if column == "institution_type":
            shown = things({"institution_type": shown}, language, 1)
        elif column == "budget":
            shown = amount(value, language)
        elif column == "country":
            shown = place_name(shown, language)
        lines.append(f"- {labels[0 if language == 'en' else 1]}: {shown}")
    return "\n".join(lines)

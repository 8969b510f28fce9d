"""What a question says, apart from its wording, and questions made of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from retrieval.specificity.criteria import joined, things
from retrieval.specificity.superlatives import asked_limit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from retrieval.specificity.mentions import Mention

__all__ = ["Frame", "frame_of", "merged", "sentence"]

INTENTS: Mapping[str, str] = {
    "list_institutions_by_type_city": "list",
    "list_institutions_by_type_region": "list",
    "list_institutions_by_type_country": "list",
    "list_all_institutions_in_city": "list",
    "count_institutions_by_type_location": "count",
    "count_institutions_by_type": "count",
    "find_institution_by_name": "name",
    "find_institution_by_identifier": "identifier",
    "find_institutions_by_founding_date": "date",
    "compare_locations": "compare",
    "find_custodians_by_budget_threshold": "budget",
}
"""Id of a template -> what its questions are after."""

_COUNT = r"how many|how much|hoe ?veel|\bcount(?:s|ed|ing)?\b|number of|aantal"
_CUES = (
    ("count", _COUNT),
    ("compare", r"compare|vergelijk|versus|\bvs\b"),
    (
        "date",
        r"oldest|newest|youngest|founded|established|oudst\w*|nieuwst\w*|jongst\w*|opgericht|gesticht",
    ),
    ("budget", r"budget|begroting"),
    ("list", r"which|welke?|list|name them|what are they|noem|geef|toon|show|wat zijn"),
)
_ORDER = re.compile(
    r"\b(?:(oldest|earliest|first|longest|oudst\w*|vroegst\w*|eerst\w*|langst\w*)|(newest|youngest|latest|nieuwst\w*|jongst\w*))\b",
    re.IGNORECASE,
)
_COMPARISON = re.compile(
    r"\b(?:more than|at least|at most|less than|over|above|under|below|up to|meer dan|"
    r"minstens|hoogstens|minder dan|boven|onder|minimaal|maximaal|exactly|precies)\b",
    re.IGNORECASE,
)
_SEVERAL = re.compile(r"\b(?:are|were|ones|zijn|waren)\b", re.IGNORECASE)
_PLACES = frozenset({"city", "region", "country", "place"})
_SINCE = {
    "en": {
        "in": "in",
        "before": "before",
        "after": "after",
        "since": "since",
        "until": "until",
    },
    "nl": {
        "in": "in",
        "before": "voor",
        "after": "na",
        "since": "sinds",
        "until": "tot en met",
    },
}


_WHICH = {"en": ("Which", "How many"), "nl": ("Welke", "Hoeveel")}
_COMPARISONS = {
    "above": ("more than", "meer dan", r"more than|over|above|meer dan|boven"),
    "below": ("less than", "minder dan", r"less than|under|below|minder dan|onder"),
    "at_least": ("at least", "minstens", r"at least|minstens|minimaal"),
    "at_most": ("at most", "hoogstens", r"at most|up to|hoogstens|maximaal"),
    "equal": ("exactly", "precies", r"exactly|precies"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What a question says.

    Attributes:
        intent: What it is after: `list`, `count`, `compare`, `date`, `budget`, `name`,
            `identifier`; None where it does not say.
        letters: Institution types.
        generic: Whether it speaks of institutions of any type.
        places: Kind and name of each place.
        order: `oldest` or `newest`.
        date: Relation and years as written; `between` and `first/last` for a range.
        budget: Comparison and amount, as written.
        name: An institution or identifier.
        limit: How many it asks for: one by `the oldest museum`; None where not said.
        several: Whether it speaks of several, as in `which are the oldest`.
        coded: Whether the name is an identifier.
        counted: Whether it asks for a number, whatever it is after.
    """

    intent: str | None = None
    letters: tuple[str, ...] = ()
    generic: bool = False
    places: tuple[tuple[str, str], ...] = ()
    order: str | None = None
    date: tuple[str, str] | None = None
    budget: tuple[str, str] | None = None
    name: str | None = None
    limit: str | None = None
    several: bool = False
    coded: bool = False
    counted: bool = False


def frame_of(
    question: str, mentions: Sequence[Mention], template_id: str | None = None
) -> Frame:
    """Return what a question says.

    Args:
        question: The question.
        mentions: What it names.
        template_id: What it was taken for, if that is known.
    """
    order = _ORDER.search(question)
    dates = [m for m in mentions if m.kind == "date"]
    budgets = [m for m in mentions if m.kind == "budget"]
    names = [m for m in mentions if m.kind in {"name", "identifier"}]
    comparison = _COMPARISON.search(question)
    cues = (
        intent for intent, words in _CUES if re.search(words, question, re.IGNORECASE)
    )
    return Frame(
        intent=INTENTS.get(template_id or "") or next(cues, None),
        letters=tuple(
            dict.fromkeys(m.value for m in mentions if m.kind == "institution_type")
        ),
        generic=any(m.kind == "generic" for m in mentions),
        places=tuple((m.kind, m.text) for m in mentions if m.kind in _PLACES),
        order=None if order is None else ("oldest" if order[1] else "newest"),
        date=_date(dates[0]) if dates else None,
        budget=_budget(budgets[0], comparison) if budgets else None,
        name=(names[0].value or names[0].text) if names else None,
        limit=asked_limit(question),
        several=bool(_SEVERAL.search(question)),
        coded=bool(names) and names[0].kind == "identifier",
        counted=bool(re.search(_COUNT, question, re.IGNORECASE)),
    )


def _budget(mention: Mention, comparison: re.Match[str] | None) -> tuple[str, str]:
    """Return comparison and amount of a budget, or `between` and both ends."""
    if "/" in mention.value:
        return "between", mention.value
    return (comparison[0] if comparison else ""), mention.text


def _date(mention: Mention) -> tuple[str, str]:
    """Return relation and years of a date."""
    if mention.relation == "in" and "/" in mention.value:
        return "between", mention.value
    return mention.relation, mention.text


def _when(date: tuple[str, str], language: str) -> str:
    """Return the words for a date."""
    relation, text = date
    if relation != "between":
        return f"{_SINCE[language][relation]} {text}"
    first, _, last = text.partition("/")
    if language == "nl":
        return f"tussen {first} en {last}"
    return f"between {first} and {last}"


def merged(before: Frame, now: Frame) -> Frame:
    """Return what a follow-up says together with the question before it."""
    intent = now.intent or before.intent
    counted = now.counted or (now.intent is None and before.counted)
    if intent == "count" and now.counted:
        intent = _measured(now) or _measured(before) or intent
    if intent == "list" and before.intent in {"date", "budget"}:
        intent = before.intent  # `which ones?`, of those that it was about
    if now.intent is None:
        if now.date or now.order:
            intent = "date"
        elif now.budget:
            intent = "budget"
        elif now.name:
            intent = (
                before.intent if before.intent in {"name", "identifier"} else "name"
            )
    places = now.places or before.places
    if intent == "compare" and len(now.places) == 1:
        places = tuple(dict.fromkeys((*before.places, *now.places)))
    elif intent != "compare" and not now.places and before.intent == "compare":
        places = before.places[:1]
    typed = bool(now.letters) or now.generic
    if intent in {"name", "identifier"} and not now.name and (typed or now.places):
        intent = "list" if typed and now.places else None
    frame = replace(
        now,
        intent=intent,
        letters=now.letters if typed else before.letters,
        generic=now.generic if typed else before.generic,
        places=places,
        name=now.name or before.name,
        counted=counted,
    )
    if intent == "date" and not (now.order or now.date):
        frame = replace(frame, order=before.order, date=before.date, limit=before.limit)
    elif intent == "date" and now.order and not (now.limit or now.several):
        frame = replace(frame, limit=before.limit)  # `and the newest?`: as many
    if intent == "budget" and now.budget is None:
        frame = replace(frame, budget=before.budget)
    elif (
        now.budget
        and not now.budget[0]
        and before.budget
        and before.budget[0] != "between"
    ):
        frame = replace(frame, budget=(before.budget[0], now.budget[1]))
    return frame


def _measured(frame: Frame) -> str | None:
    """Return what a number is asked of besides type and place."""
    if frame.date:
        return "date"
    return "budget" if frame.budget else None


def sentence(frame: Frame, language: str) -> str | None:
    """Return a question that says what a frame does; None where it says too little.

    Args:
        frame: What it says.
        language: `en` or `nl`.
    """
    dutch = language == "nl"
    what = _things(frame, language)
    which = _WHICH[language][frame.counted]
    where = f" in {joined(_places(frame, language), language)}" if frame.places else ""
    if frame.intent == "count":
        if dutch:
            return f"Hoeveel {what} zijn er{where}?"
        return f"How many {what} are{where or ' there'}?"
    if frame.intent == "list" and where:
        if dutch:
            return f"Welke {what} zijn er{where}?"
        return f"Which {what} are{where}?"
    if frame.intent == "compare" and len(frame.places) > 1:
        places = (" en " if dutch else " and ").join(_places(frame, language))
        if dutch:
            return f"Vergelijk het aantal {what} in {places}"
        return f"Compare the number of {what} in {places}"
    if frame.intent == "date" and frame.date:
        when = _when(frame.date, language)
        if dutch:
            return f"{which} {what}{where} zijn opgericht {when}?"
        return f"{which} {what}{where} were founded {when}?"
    if frame.intent == "date" and frame.order:
        return _extreme(frame, where, language)
    if frame.intent == "budget" and frame.budget:
        spent = _spent(frame.budget, language)
        if dutch:
            return f"{which} {what}{where} hebben een budget {spent}?"
        return f"{which} {what}{where} have a budget {spent}?"
    if frame.name and frame.coded:
        if dutch:
            return f"Welke instelling heeft de code {frame.name}?"
        return f"Which institution has the code {frame.name}?"
    if frame.intent in {"name", "identifier"} and frame.name:
        return (
            f"Vertel me over {frame.name}" if dutch else f"Tell me about {frame.name}"
        )
    return None


def _extreme(frame: Frame, where: str, language: str) -> str:
    """Return a question for the oldest or newest, one or some or all of them."""
    dutch = language == "nl"
    order = frame.order or "oldest"
    word = {"oldest": "oudste", "newest": "nieuwste"}[order] if dutch else order
    if frame.limit == "1":
        thing = _things(frame, language, single=True)
        begin = "Wat is het" if dutch else "What is the"
        return f"{begin} {word} {thing}{where}?"
    begin = "Wat zijn de" if dutch else "What are the"
    number = f"{frame.limit} " if frame.limit else ""
    return f"{begin} {number}{word} {_things(frame, language)}{where}?"


def _things(frame: Frame, language: str, *, single: bool = False) -> str:
    """Return the words for what is asked for."""
    types = {"institution_type": tuple(frame.letters)}
    return things(types, language, 1 if single else 2)


def _spent(budget: tuple[str, str], language: str) -> str:
    """Return the words for a budget."""
    relation, text = budget
    dutch = language == "nl"
    if relation == "between":
        low, _, high = text.partition("/")
        if dutch:
            return f"tussen {low} en {high} euro"
        return f"between {low} and {high} euro"
    return f"{'van' if dutch else 'of'} {_comparison(relation, language)} {text}"


def _comparison(words: str, language: str) -> str:
    """Return the words for a comparison in a language."""
    for english, dutch, pattern in _COMPARISONS.values():
        if re.fullmatch(pattern, words, re.IGNORECASE):
            return dutch if language == "nl" else english
    return "meer dan" if language == "nl" else "more than"


def _places(frame: Frame, language: str) -> list[str]:
    """Return the places with what kind they are, where a name alone would not say."""
    province = "de provincie" if language == "nl" else "the province of"
    return [
        f"{province} {name}" if kind == "region" else name
        for kind, name in frame.places
    ]

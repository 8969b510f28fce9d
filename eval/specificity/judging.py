"""Asking a pipeline labelled questions, and whether what it made of them is right.

An answer is right if the rows that it rests on are, and its text says what they say.
Rows may be right and the text still not say them; so the text is read as well: names of
the institutions and of no others, numbers, and the fact that a question about one
institution asks for.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from knowtrail.graph.cli.progress import silent
from knowtrail.ingest.custodians import CLASS_NAMES
from knowtrail.retrieval.specificity.conversation import Conversation
from knowtrail.retrieval.specificity.gazetteer import place_name
from knowtrail.retrieval.specificity.phrases import things

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from knowtrail.eval.specificity.questions import Question
    from knowtrail.graph.cli.progress import Progress
    from knowtrail.ingest.custodians import Custodian
    from knowtrail.retrieval.specificity.execution import Execution
    from knowtrail.retrieval.specificity.template_pipeline import (
        PipelineResult,
        TemplatePipeline,
    )

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
    """Return whether the text of an answer says what the labels say."""
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
        return _counted(question, said, int(answer.value or 0))
    if answer.kind == "first":
        heads = (_named(line, institutions) for line in said.splitlines())
        first = {_plain(institutions[one].name) for one in answer.ids}
        return next((names for names in heads if names), set()) == first
    if answer.kind == "amount":
        return round(answer.value or 0.0, 2) in _numbers(said)
    if answer.kind == "ambiguous":
        regions = {_plain(institutions[one].region or "") for one in answer.ids}
        return all(region in said for region in regions)
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
    """Return the names of institutions that stand in a text, the longest first."""
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


SLOTS = (
    "institution_type",
    "city",
    "region",
    "country",
    "name",
    "identifier",
    "date",
    "budget",
)
"""Slots that are compared; others, such as an order, show in the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What the institutions of the graph are, to judge answers by.

    Attributes:
        ghcids: GHCIDs by IRI of the institution.
        institutions: Institutions by GHCID.
        regions: Name of the region by its ISO 3166-2 code.
    """

    ghcids: Mapping[str, str]
    institutions: Mapping[str, Custodian]
    regions: Mapping[str, str]

    @classmethod
    def of(cls, custodians: Iterable[Custodian], iris: Mapping[str, str]) -> Key:
        """Return the key of institutions that all have a GHCID."""
        found = tuple(custodians)
        return cls(
            ghcids=dict(iris),
            institutions={c.ghcid: c for c in found if c.ghcid},
            regions={c.subregion: c.region for c in found if c.subregion and c.region},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one question.

    Attributes:
        question: The question.
        template: The template it was taken for.
        template_right: Whether that is the right one; what nothing is run for has none.
        ended_right: Whether it was answered, asked back, without a query or refused, as
            it should.
        slots_right: Slot values that are right.
        slots_found: Slot values that were found.
        slots_wanted: Slot values that there are.
        answer_right: Whether the answer is right.
        status: How the pipeline ended.
        answer: What it said.
        expected_classes: Classes that the answer is about; empty for no class.
        kept_classes: Classes that the filter kept.
        all_classes: How many classes there were; 0 where none were filtered, as in
            sessions of the control group.
        seconds: How long the pipeline took.
        told: Whether the user was told that something was left out or not certain.
    """

    question: Question
    template: str
    template_right: bool
    ended_right: bool
    slots_right: int
    slots_found: int
    slots_wanted: int
    answer_right: bool
    status: str
    answer: str
    expected_classes: frozenset[str]
    kept_classes: tuple[str, ...]
    all_classes: int
    seconds: float
    told: bool = False

    @property
    def wrong_without_notice(self) -> bool:
        """Return whether a wrong answer looks like a right one."""
        return self.status == "answered" and not (self.answer_right or self.told)


def judge(
    question: Question, result: PipelineResult, key: Key, *, seconds: float
) -> Outcome:
    """Return what became of a question."""
    wanted = _wanted_slots(question, key)
    found = _found_slots(result, key)
    classes = None if result.group == "control" else result.classes
    kept = () if classes is None else classes.names
    dropped = 0 if classes is None else len(classes.dropped)
    return Outcome(
        question=question,
        template=result.template_id,
        template_right=question.template in {None, result.template_id},
        ended_right=_ended_right(question, result),
        slots_right=len(wanted & found),
        slots_found=len(found),
        slots_wanted=len(wanted),
        answer_right=_answer_right(question, result, key),
        status=result.status,
        answer=result.answer,
        expected_classes=_expected_classes(question, key),
        kept_classes=kept,
        all_classes=len(kept) + dropped,
        seconds=seconds,
        told=bool(result.left_out)
        or any(doubt.kind not in _REMARKS for doubt in result.slots.doubts),
    )


def _wanted_slots(question: Question, key: Key) -> set[tuple[str, str]]:
    """Return the right slot values, in the form that they are compared in."""
    wanted: set[tuple[str, str]] = set()
    for name, value in question.slots.items():
        given = value if isinstance(value, tuple) else (value,)
        if name == "date" and len(given) > 1:
            given = ("/".join(str(v) for v in given),)
        wanted |= {(name, _plain_value(name, v, key)) for v in given}
    return wanted


def _found_slots(result: PipelineResult, key: Key) -> set[tuple[str, str]]:
    """Return the slot values that were found, in the same form."""
    return {
        (name, _plain_value(name, one, key))
        for name, value in result.slots.values.items()
        if name in SLOTS
        for one in ((value,) if isinstance(value, str) else value)
    }


def _plain_value(name: str, value: object, key: Key) -> str:
    """Return a value without what does not tell two apart; a region by its name."""
    text = " ".join(str(value).split())
    if name == "region":
        text = key.regions.get(text, text)
    text = text.casefold()
    if name == "budget":
        try:
            return f"{float(text):.2f}"
        except ValueError:
            return text
    return text


def _expected_classes(question: Question, key: Key) -> frozenset[str]:
    """Return the classes that the answer is about: of its type, or its institutions."""
    letter = question.slots.get("institution_type")
    if isinstance(letter, str):
        return frozenset({CLASS_NAMES[letter]})
    return frozenset(key.institutions[one].class_name for one in question.answer.ids)


def _ended_right(question: Question, result: PipelineResult) -> bool:
    """Return whether the pipeline ended as the label says, whatever it answered."""
    kind = question.answer.kind
    if kind == "refusal":
        return result.status == "irrelevant"
    if kind == "ask":
        return result.status in {"lost", "missing"}
    if kind == "unanswered":
        return result.status != "failed" and bool(
            result.execution is None or result.left_out
        )
    if kind == "none":
        return result.execution is None and result.status in {"none", "answered"}
    if kind == "ambiguous" and result.status in {"lost", "missing"}:
        return True
    if _says_unknown(question, result):
        return True
    return result.status == "answered" and result.execution is not None


_REMARKS = frozenset({"also", "spelt", "parts"})
"""Doubts that say how a name was read, and not that something is left out."""

_ENDINGS = frozenset({"refusal", "ask", "none", "unanswered"})


def _answer_right(question: Question, result: PipelineResult, key: Key) -> bool:
    """Return whether the answer is right, in its rows and in its words."""
    if not _ended_right(question, result):
        return False
    found = result.execution
    if question.answer.kind == "ambiguous":
        text = "\n".join([result.answer, *result.notes])
        return says(question, text, key.institutions)
    if question.answer.kind in _ENDINGS or result.status == "missing":
        return True
    if found is None or found.cut:
        return False
    return _rows_right(question, found, result, key) and says(
        question, result.answer, key.institutions
    )


def _rows_right(
    question: Question, found: Execution, result: PipelineResult, key: Key
) -> bool:
    """Return whether the rows are the right ones."""
    answer = question.answer
    if answer.kind in {"first", "amount"}:
        return True
    if answer.kind == "list":
        named = {str(iri) for iri in found.column("custodian")}
        return {key.ghcids.get(iri, iri) for iri in named} == answer.ids
    if answer.kind == "count":
        counted = result.counted and result.total == answer.value
        return counted or found.column("count") == (answer.value,)
    numbers = {str(row[0]): row[-1] for row in found.rows}
    return numbers == dict(answer.values)


def _says_unknown(question: Question, result: PipelineResult) -> bool:
    """Return whether there is nothing to find, and the pipeline says so.

    Where a place or name does not exist, saying that it is not known is as right as
    finding nothing.
    """
    nothing = (
        question.answer.value == 0
        if question.answer.kind == "count"
        else question.answer.kind == "list" and not question.answer.ids
    )
    unknown = any(doubt.kind == "unknown" for doubt in result.slots.doubts)
    return nothing and result.status == "missing" and unknown


def ask_questions(
    pipeline: TemplatePipeline,
    questions: Sequence[Question],
    key: Key,
    *,
    clock: Callable[[], float] = time.perf_counter,
    progress: Progress = silent,
) -> tuple[Outcome, ...]:
    """Ask every question and judge what comes of it.

    Questions of one conversation follow each other; each is asked with what the
    pipeline itself made of those before it, right or wrong.
    """
    outcomes = []
    current, said = None, Conversation()
    for done, question in enumerate(questions, start=1):
        if question.conversation is None or question.conversation != current:
            said = Conversation()
        current = question.conversation
        begin = clock()
        result = pipeline.forward(question.question, conversation=said)
        seconds = clock() - begin
        said = result.conversation
        outcomes.append(judge(question, result, key, seconds=seconds))
        progress("questions", done, len(questions))
    return tuple(outcomes)

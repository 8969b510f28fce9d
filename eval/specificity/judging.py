"""Whether what a pipeline made of a question is right.

An answer is right if the rows that it rests on are, and its text says what they say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eval.specificity.telling import says
from ingest.custodians import CLASS_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from eval.specificity.questions import Question
    from ingest.custodians import Custodian
    from retrieval.specificity.execution import Execution
    from retrieval.specificity.results import PipelineResult

__all__ = ["SLOTS", "Key", "Outcome", "judge"]

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
        """Return the key of institutions that all have a GHCID.

        Args:
            custodians: The institutions.
            iris: IRI -> GHCID.
        """
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


def judge(
    question: Question, result: PipelineResult, key: Key, *, seconds: float
) -> Outcome:
    """Return what became of a question.

    Args:
        question: The question with its labels.
        result: What the pipeline made of it.
        key: What the institutions are.
        seconds: How long the pipeline took.
    """
    wanted = _wanted_slots(question, key)
    found = _found_slots(result, key)
    classes = None if result.group == "control" else result.classes
    kept = () if classes is None else classes.names
    dropped = 0 if classes is None else len(classes.dropped)
    return Outcome(
        question=question,
        template=result.template_id,
        template_right=result.template_id == question.template,
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
    )


def _wanted_slots(question: Question, key: Key) -> set[tuple[str, str]]:
    """Return the right slot values, in the form that they are compared in."""
    wanted: set[tuple[str, str]] = set()
    for name, value in question.slots.items():
        given = value if isinstance(value, tuple) else (value,)
        if name == "date" and len(given) > 1:
            given = ("/".join(str(v) for v in given),)
        wanted |= {(name, _plain(name, v, key)) for v in given}
    return wanted


def _found_slots(result: PipelineResult, key: Key) -> set[tuple[str, str]]:
    """Return the slot values that were found, in the same form."""
    return {
        (name, _plain(name, one, key))
        for name, value in result.slots.values.items()
        if name in SLOTS
        for one in ((value,) if isinstance(value, str) else value)
    }


def _plain(name: str, value: object, key: Key) -> str:
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
    if kind == "none":
        return result.execution is None and result.status in {"none", "answered"}
    if _says_unknown(question, result):
        return True
    return result.status == "answered" and result.execution is not None


def _answer_right(question: Question, result: PipelineResult, key: Key) -> bool:
    """Return whether the answer is right, in its rows and in its words."""
    if not _ended_right(question, result):
        return False
    found = result.execution
    if question.answer.kind in {"refusal", "ask", "none"} or result.status == "missing":
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

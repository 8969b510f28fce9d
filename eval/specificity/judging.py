"""Labelled questions, asked of a pipeline, and whether what it made of them is right.

An answer is right if the rows that it rests on are, and its text says what they say.
Rows may be right and the text still not say them; so the text is read as well: names of
the institutions and of no others, numbers, and the fact that a question about one
institution asks for.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from pydantic import TypeAdapter, ValidationError
from rdflib import Graph

from knowtrail.graph.cli.progress import Progress, silent
from knowtrail.graph.errors import SourceError
from knowtrail.graph.files import read_json_lines
from knowtrail.graph.rdf.mapping import Mapping as RdfMapping
from knowtrail.graph.rdf.patterns import TYPE
from knowtrail.graph.rdf.run import triple_terms
from knowtrail.graph.rdf.triples import node_triples
from knowtrail.ingest.custodians import (
    CLASS_NAMES,
    Custodian,
    CustodianFile,
    CustodianSource,
    bundled_custodians,
    class_uri,
)
from knowtrail.ingest.keys import Seen
from knowtrail.ingest.prepare import document_id
from knowtrail.ingest.records import Failure
from knowtrail.retrieval.specificity.class_scores import FILTERED
from knowtrail.retrieval.specificity.conversation import Conversation
from knowtrail.retrieval.specificity.gazetteer import build_gazetteer, place_name
from knowtrail.retrieval.specificity.phrases import things
from knowtrail.retrieval.specificity.quantities import read_number
from knowtrail.retrieval.specificity.query_templates import SLOT_TYPES, each_of
from knowtrail.retrieval.specificity.template_pipeline import TemplatePipeline

if TYPE_CHECKING:
    from knowtrail.retrieval.specificity.execution import Execution
    from knowtrail.retrieval.specificity.template_pipeline import PipelineResult
    from knowtrail.retrieval.specificity.understanding import Understanding

_DATA = Path(__file__).with_name("data")
OTHERS = ("hard", "fresh")
"""Questions about more institutions, to mend causes with and to report on."""

AnswerKind = Literal[
    "list",
    "count",
    "comparison",
    "breakdown",
    "first",
    "amount",
    "ambiguous",
    "none",
    "ask",
    "refusal",
    "unanswered",
]
SlotValue = str | int | tuple[str | int, ...]
Institutions = Mapping[str, Custodian]
"""By GHCID."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A right answer.

    Attributes:
        kind: `list` of institutions, `count`, `comparison` of places, `breakdown` by
            type, `first` of several institutions, `amount` in euro, `ambiguous` (asked
            back, or all with a notice), `none` (no template fits), `ask` (something is
            missing), `refusal` (nothing to do with heritage) or `unanswered` (any of
            those three, or told which words were not heeded).
        ids: GHCIDs of a list.
        values: Numbers by place or by type letter.
    """

    kind: AnswerKind
    ids: frozenset[str] = frozenset()
    value: int | float | None = None
    values: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question with its labels; `template` is None where several would do.

    Slots have type letters and ISO 3166 codes; `turn` counts from 1 in its
    conversation, which is None for a question that stands alone.
    """

    id: str
    language: str
    question: str
    template: str | None = None
    slots: Mapping[str, SlotValue]
    relation: str | None = None
    answer: Answer
    conversation: str | None = None
    turn: int = 1


_QUESTION = TypeAdapter(Question)


def bundled_questions(half: str) -> Path:
    """Return a file of questions that come with Knowtrail."""
    return _DATA / f"questions_{half}.jsonl"


def institutions_of(half: str) -> Path:
    """Return the file of the institutions that a half is about."""
    return _DATA / "custodians_fresh.jsonl" if half in OTHERS else bundled_custodians()


def load_questions(path: Path) -> tuple[Question, ...]:
    """Return the questions of a file, or raise `SourceError`, which says the line."""
    questions: list[Question] = []
    seen: set[str] = set()
    for number, record in read_json_lines(path):
        try:
            question = _QUESTION.validate_python(record)
            if question.id in seen:
                raise ValueError(f"id {question.id!r} was there before")
        except ValueError as error:
            msg = f"{path}, line {number} is no labelled question: {_reason(error)}."
            raise SourceError(msg) from error
        seen.add(question.id)
        questions.append(question)
    if not questions:
        raise SourceError(f"{path} has no questions: write one JSON object a line.")
    return tuple(questions)


def _reason(error: Exception) -> str:
    """Return what is wrong first, on one line."""
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors()[0]
    name = " ".join(map(str, first["loc"]))
    if first["type"] == "missing":
        return f"no {name!r}"
    return f"{name} {str(first['input'])[:80]!r}: {first['msg']}"


_CORPUS = "fixture"


def custodians_of(path: Path) -> tuple[Custodian, ...]:
    """Return the institutions of a file, with nothing guessed."""
    source = CustodianSource(CustodianFile(path), corpus=_CORPUS, guess=False)
    with Seen() as seen:
        found = tuple(source.custodians(seen))
    for one in found:
        if isinstance(one, Failure):
            raise SourceError(f"{one.title}: {one.message}.")
    return cast("tuple[Custodian, ...]", found)


def graph_of(custodians: Iterable[Custodian]) -> Graph:
    """Return institutions as RDF in memory, as the live graph answers."""
    mapping = RdfMapping()
    graph = Graph(bind_namespaces="none")
    for custodian in custodians:
        properties = custodian.properties(_CORPUS)
        iri = mapping.node_iri("Custodian", properties)
        if iri is None:
            continue
        record = (iri, "Custodian", ["Custodian"], properties)
        for triple in node_triples(mapping, record):
            graph.add(triple_terms(triple))
        graph.add(triple_terms((iri, TYPE, class_uri(custodian.class_name))))
    return graph


def key_of(custodians: Sequence[Custodian], corpus: str | None = None) -> Key:
    """Return what answers are judged by, of a corpus or of a graph in memory."""
    mapping, name = RdfMapping(), corpus or _CORPUS
    institutions = {one.ghcid: one for one in custodians if one.ghcid}
    ghcids: dict[str, str] = {}
    for code, one in institutions.items():
        iri = mapping.node_iri("Custodian", one.properties(name))
        ghcids |= {str(iri): code, document_id(name, one.id(name)): code}
    return Key(
        ghcids=ghcids,
        institutions=institutions,
        regions={c.subregion: c.region for c in custodians if c.subregion and c.region},
    )


def memory_pipeline(
    custodians: Sequence[Custodian], understanding: Understanding | None = None
) -> TemplatePipeline:
    """Return a pipeline over institutions in memory, which searches no chunks."""
    names = build_gazetteer(map(asdict, custodians))
    return TemplatePipeline(graph_of(custodians), names, understanding=understanding)


LISTED = 25
"""Names that an answer must give of a longer list; it must then say how many."""

LOOKUPS = frozenset({"find_institution_by_name", "find_institution_by_identifier"})

_FACTS = json.loads((_DATA / "facts.json").read_bytes())
"""Fact -> words of a question that ask for it."""

_ASKED = {name: re.compile(rf"\b(?:{words})\b") for name, words in _FACTS.items()}
_NOTHING = re.compile(
    r"\b(?:no|none|not|nothing|cannot|geen|niet|niets|nergens|nobody|zero|nul)\b|n't\b"
)
_NUMBER = re.compile(r"(?<![\w.,])\d+(?:[.,]\d{3})*(?:[.,]\d{1,2})?(?![\w])")
_MILLIONS = re.compile(r"(\d+(?:[.,]\d+)?)\s*(?:million|miljoen|mln|m)\b")


def says(question: Question, text: str, institutions: Institutions) -> bool:
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
    forms = partial(_places, institutions) if answer.kind == "comparison" else _types
    return all(_beside(said, forms(one), n) for one, n in answer.values.items())


def asked_facts(question: Question) -> tuple[str, ...]:
    """Return what a question about one institution asks for, its own name apart."""
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
    if _plain(institution.name) not in said:
        return False
    return all(
        any(_holds(said, form) for form in forms)
        for fact in facts
        if (forms := _forms(institution, fact))
    )


def _forms(institution: Custodian, fact: str) -> tuple[str, ...]:
    """Return how a fact may be written; none where it is not known."""
    value = getattr(institution, "founded_year" if fact == "founded" else fact)
    if value is None:
        return ()
    if fact == "founded":
        return f"{value:04d}", str(value)
    if fact == "budget":
        return (f"{value:.2f}",)
    if fact == "type":
        return _types(value)
    if fact == "url":
        return (_plain(value).rstrip("/"),)
    return tuple(_plain(place_name(value, language)) for language in ("en", "nl"))


def _holds(said: str, form: str) -> bool:
    """Return whether a text has a word, or a number however it is written."""
    if re.fullmatch(r"\d+\.\d\d", form):
        return float(form) in _numbers(said)
    return bool(re.search(rf"(?<!\w){re.escape(form)}(?!\w)", said))


def _listed(said: str, ids: frozenset[str], institutions: Institutions) -> bool:
    wanted = {_plain(institutions[one].name) for one in ids}
    named = _named(said, institutions)
    if len(ids) <= LISTED:
        return named == wanted
    return (
        named <= wanted
        and len(named) >= min(LISTED, len(wanted))
        and float(len(ids)) in _numbers(said)
    )


def _named(said: str, institutions: Institutions, *, but: str = "") -> set[str]:
    """Return the names of institutions that stand in a text, the longest first."""
    found = set()
    names = {_plain(one.name) for one in institutions.values()}
    for name in sorted(names, key=lambda name: (-len(name), name)):
        said, times = re.subn(rf"(?<!\w){re.escape(name)}(?!\w)", " | ", said)
        if times and name not in but:
            found.add(name)
    return found


def _counted(question: Question, said: str, number: int) -> bool:
    """Return whether a text says a number, and none that nobody asked for."""
    from text_to_num import alpha2digit

    head = said.partition("\n")[0]
    found = _numbers(head)
    if not found:
        if number == 0:
            return bool(_NOTHING.search(head))
        written = (alpha2digit(head, language, 0) for language in ("en", "nl"))
        return any(float(number) in _numbers(text) for text in written)
    others = found - {float(number)} - _numbers(_plain(question.question))
    return float(number) in found and not others


def _beside(said: str, forms: Sequence[str], number: int) -> bool:
    return any(
        float(number) in _numbers(line) or (number == 0 and bool(_NOTHING.search(line)))
        for line in said.splitlines()
        if any(_holds(line, form) for form in forms)
    )


def _places(institutions: Institutions, place: str) -> tuple[str, ...]:
    """Return the names of a place: as it is, of its code, and of its region."""
    regions = {i.region for i in institutions.values() if i.subregion == place}
    names = {place, place_name(place, "en"), place_name(place, "nl"), *regions}
    return tuple(sorted(_plain(name) for name in names if name))


def _types(letter: str) -> tuple[str, ...]:
    return tuple(
        _plain(things({"institution_type": letter}, language, number))
        for language in ("en", "nl")
        for number in (1, 2)
    )


def _numbers(text: str) -> set[float]:
    """Return the numbers of a text; `1.250.000` and `1.25 million` are the same."""
    millions = (one.replace(",", ".") for one in _MILLIONS.findall(text))
    found = {round(float(one) * 1_000_000, 2) for one in millions}
    written = _NUMBER.findall(_MILLIONS.sub(" ", text))
    return found | {
        float(number) for one in written if (number := read_number(one)) is not None
    }


def _plain(text: str) -> str:
    """Return a text line by line without what does not tell two apart."""
    return "\n".join(" ".join(line.split()) for line in text.casefold().splitlines())


SLOTS = SLOT_TYPES[:8]
"""Slots that are compared; others, such as an order, show in the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What answers are judged by; GHCIDs by IRI and by the id of their documents.

    Names of regions are by ISO 3166-2 code.
    """

    ghcids: Mapping[str, str]
    institutions: Institutions
    regions: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one question.

    `ended_right` is whether it was answered, asked back, without a query or refused, as
    it should; `slots_right` counts values that are right of `slots_found` and
    `slots_wanted`; `all_classes` is 0 where none were filtered, as in the control
    group; `told` is whether the user was told that something was left out or not
    certain. `filtered` is whether questions of its kind search kept classes alone, and
    `ranks` as `reciprocal_ranks` gives them.
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
    filtered: bool = False
    ranks: Mapping[str, float] = field(default_factory=dict)

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
        filtered=result.context_template in FILTERED,
    )


def reciprocal_ranks(
    pipeline: TemplatePipeline, question: Question, result: PipelineResult, key: Key
) -> dict[str, float]:
    """Return 1 / place of the first chunk about a right institution, by what is done.

    0 where none is among the first ten. `filtered` searches kept classes alone and
    ranks by class, `ranked` only ranks, `nearest` does neither. Empty where nothing is
    searched or no institution is right.
    """
    classes, gold = result.classes, question.answer.ids
    if pipeline.search is None or classes is None or not gold:
        return {}
    ways = {
        "filtered": (classes, True),
        "ranked": (classes, False),
        "nearest": (None, False),
    }
    ranks = dict.fromkeys(ways, 0.0)
    for way, (heeded, filtered) in ways.items():
        asked = result.resolution.question
        chunks = pipeline.ranked_chunks(asked, heeded, filtered=filtered)
        right = [key.ghcids.get(chunk.document_id) in gold for chunk in chunks]
        if True in right:
            ranks[way] = 1 / (right.index(True) + 1)
    return ranks


def _wanted_slots(question: Question, key: Key) -> set[tuple[str, str]]:
    wanted: set[tuple[str, str]] = set()
    for name, value in question.slots.items():
        given = value if isinstance(value, tuple) else (value,)
        if name == "date" and len(given) > 1:
            given = ("/".join(str(v) for v in given),)
        wanted |= {(name, _plain_value(name, v, key)) for v in given}
    return wanted


def _found_slots(result: PipelineResult, key: Key) -> set[tuple[str, str]]:
    return {
        (name, _plain_value(name, one, key))
        for name in SLOTS
        for one in each_of(result.slots.values, name)
    }


def _plain_value(name: str, value: object, key: Key) -> str:
    """Return a value without what does not tell two apart; a region by its name."""
    text = " ".join(str(value).split())
    if name == "region":
        text = key.regions.get(text, text)
    if name == "budget":
        with suppress(ValueError):
            return f"{float(text):.2f}"
    return text.casefold()


def _expected_classes(question: Question, key: Key) -> frozenset[str]:
    letter = question.slots.get("institution_type")
    if isinstance(letter, str):
        return frozenset({CLASS_NAMES[letter]})
    return frozenset(key.institutions[one].class_name for one in question.answer.ids)


def _ended_right(question: Question, result: PipelineResult) -> bool:
    kind, status, found = question.answer.kind, result.status, result.execution
    if kind == "refusal":
        return status == "irrelevant"
    asked_back = status in {"lost", "missing"}
    if kind == "ask":
        return asked_back
    if kind == "unanswered":
        return status != "failed" and (found is None or bool(result.left_out))
    if kind == "none":
        return found is None and status in {"none", "answered"}
    if (kind == "ambiguous" and asked_back) or _says_unknown(question, result):
        return True
    return status == "answered" and found is not None


_REMARKS = frozenset({"also", "spelt", "parts"})
"""Doubts that say how a name was read, and not that something is left out."""

_ENDINGS = frozenset({"refusal", "ask", "none", "unanswered"})


def _answer_right(question: Question, result: PipelineResult, key: Key) -> bool:
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
    answer = question.answer
    if answer.kind in {"first", "amount"}:
        return True
    if answer.kind == "list":
        named = {str(iri) for iri in found.column("custodian")}
        return {key.ghcids.get(iri, iri) for iri in named} == answer.ids
    if answer.kind == "count":
        counted = result.counted and result.total == answer.value
        return counted or found.column("count") == (answer.value,)
    return {str(row[0]): row[-1] for row in found.rows} == dict(answer.values)


def _says_unknown(question: Question, result: PipelineResult) -> bool:
    """Return whether there is nothing to find, and the pipeline says so."""
    answer = question.answer
    empty = answer.kind == "list" and not answer.ids
    nothing = empty or (answer.kind == "count" and answer.value == 0)
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
    """Ask every question, with what the pipeline made of those before; judge it."""
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
        ranks = reciprocal_ranks(pipeline, question, result, key)
        outcome = judge(question, result, key, seconds=seconds)
        outcomes.append(replace(outcome, ranks=ranks))
        progress("questions", done, len(questions))
    return tuple(outcomes)

"""Labelled questions, and the bundled institutions as a graph in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from knowtrail.graph.errors import SourceError
from knowtrail.graph.files import read_json_lines
from knowtrail.ingest.custodians import (
    CustodianFile,
    bundled_custodians,
    class_uri,
)
from knowtrail.ingest.custodians.custodian_file import Findings, custodian_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rdflib import Graph

    from knowtrail.eval.specificity.judging import Key
    from knowtrail.ingest.custodians import Custodian
    from knowtrail.retrieval.specificity.template_pipeline import TemplatePipeline

HALVES = ("dev", "more", "test")
"""Questions to tune on, more of them, and those that are only reported on."""

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
_KINDS = get_args(AnswerKind)
SlotValue = str | int | tuple[str, ...]


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
        value: The number of a count, or an amount.
        values: Numbers by place or by type letter.
    """

    kind: AnswerKind
    ids: frozenset[str] = frozenset()
    value: float | None = None
    values: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question with its labels.

    Attributes:
        id: Its id.
        language: `en` or `nl`.
        question: What is asked.
        template: The right template; None where several would do.
        slots: Right values: type letter, ISO 3166 codes of countries and regions.
        relation: Such as `before`, `above` or `oldest`; None without one.
        answer: The right answer.
        conversation: What it is a turn of; None for one that stands alone.
        turn: Its place in that, from 1.
    """

    id: str
    language: str
    question: str
    template: str | None
    slots: Mapping[str, SlotValue]
    relation: str | None
    answer: Answer
    conversation: str | None = None
    turn: int = 1


def bundled_questions(half: str) -> Path:
    """Return the file of a half of the questions that come with Knowtrail."""
    return _data(f"questions_{half}.jsonl")


def institutions_of(half: str) -> Path:
    """Return the file of the institutions that a half is about."""
    return _data("custodians_fresh.jsonl") if half in OTHERS else bundled_custodians()


def _data(name: str) -> Path:
    """Return a file that comes with Knowtrail."""
    return Path(str(resources.files("knowtrail.eval.specificity") / "data" / name))


def load_questions(path: Path) -> tuple[Question, ...]:
    """Return the questions of a file.

    Raises:
        SourceError: If the file or a line of it cannot be used; says which.
    """
    questions: list[Question] = []
    seen: set[str] = set()
    for number, record in read_json_lines(path):
        try:
            question = _question(record)
            if question.id in seen:
                msg = f"id {question.id!r} was there before"
                raise ValueError(msg)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            reason = f"no {error}" if isinstance(error, KeyError) else str(error)
            msg = f"{path}, line {number} is no labelled question: {reason}."
            raise SourceError(msg) from error
        seen.add(question.id)
        questions.append(question)
    if not questions:
        msg = f"{path} has no questions: write one JSON object a line."
        raise SourceError(msg)
    return tuple(questions)


def _question(record: dict[str, Any]) -> Question:
    """Return the question of a record."""
    answer = record["answer"]
    if answer["kind"] not in _KINDS:
        msg = f"answer kind {answer['kind']!r} is none of {', '.join(_KINDS)}"
        raise ValueError(msg)
    return Question(
        id=str(record["id"]),
        language=record["language"],
        question=record["question"],
        template=record.get("template"),
        slots={
            name: tuple(value) if isinstance(value, list) else value
            for name, value in record["slots"].items()
        },
        relation=record.get("relation"),
        answer=Answer(
            kind=answer["kind"],
            ids=frozenset(answer.get("ids", ())),
            value=answer.get("value"),
            values=dict(answer.get("values", {})),
        ),
        conversation=record.get("conversation"),
        turn=record.get("turn", 1),
    )


_CORPUS = "fixture"


def custodians_of(path: Path) -> tuple[Custodian, ...]:
    """Return the institutions of a file, with nothing guessed."""
    file = CustodianFile(path)
    return tuple(
        custodian_of(
            row,
            place=place,
            source=file.name,
            towns=file.towns,
            country=None,
            guess=False,
            findings=Findings(),
        )
        for place, row in file.rows()
    )


def graph_of(custodians: Iterable[Custodian]) -> Graph:
    """Return institutions as RDF in memory, by the mapping of the whole graph.

    The triples of a node are those that the live graph answers with; its class is a
    type of it too.
    """
    from rdflib import Graph, URIRef
    from rdflib.namespace import RDF

    from knowtrail.graph.rdf.mapping import Mapping
    from knowtrail.graph.rdf.triples import node_triples
    from knowtrail.graph.rdf.values import literal_term, node_term
    from knowtrail.graph.rdf.vocabulary import Value

    mapping = Mapping()
    graph = Graph(bind_namespaces="none")
    for custodian in custodians:
        properties = custodian.properties(_CORPUS)
        iri = mapping.node_iri("Custodian", properties)
        if iri is None:
            continue
        record = (iri, "Custodian", ["Custodian"], properties)
        for subject, predicate, found in node_triples(mapping, record):
            target = literal_term(found) if isinstance(found, Value) else None
            graph.add((
                node_term(subject),
                URIRef(predicate),
                node_term(str(found)) if target is None else target,
            ))
        graph.add((node_term(iri), RDF.type, URIRef(class_uri(custodian.class_name))))
    return graph


def key_of(custodians: Sequence[Custodian], corpus: str = _CORPUS) -> Key:
    """Return what answers about institutions are judged by."""
    from knowtrail.eval.specificity.judging import Key
    from knowtrail.graph.rdf.mapping import Mapping

    mapping = Mapping()
    iris = {}
    for custodian in custodians:
        iri = mapping.node_iri("Custodian", custodian.properties(corpus))
        if iri is not None and custodian.ghcid is not None:
            iris[iri] = custodian.ghcid
    return Key.of(custodians, iris)


def memory_pipeline(custodians: Sequence[Custodian]) -> TemplatePipeline:
    """Return a pipeline over institutions in memory, which searches no chunks."""
    from knowtrail.retrieval.specificity.execution import DEFAULT_BASE
    from knowtrail.retrieval.specificity.gazetteer import gazetteer_of_graph
    from knowtrail.retrieval.specificity.template_pipeline import TemplatePipeline

    graph = graph_of(custodians)
    return TemplatePipeline(graph, gazetteer_of_graph(graph, base=DEFAULT_BASE))

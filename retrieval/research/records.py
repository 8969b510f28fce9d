"""What research knows so far: rows that are a state of LangGraph and nodes alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias, TypedDict

from knowtrail.ingest.keys import content_key
from knowtrail.retrieval.questions import LONGEST_QUESTION

Reason: TypeAlias = Literal[
    "question", "clause", "name", "model", "person", "follow", "gap"
]
"""Why a sub-question is asked: it is the question, a clause of it, a name in it, one
that the model or a person made, a name that was found, or what an extraction says is
missing."""

VerdictWord: TypeAlias = Literal[
    "quoted", "supported", "contradicted", "unsupported", "gone"
]
"""What its sentences say to a claim; `quoted` is one of them word for word, `gone` that
none of them is stored any more."""

Judge: TypeAlias = Literal["text", "model", "cosine"]


class SubQuestion(TypedDict):
    """A question to walk for; `chunks` are the ids of the passages that it brought.

    `depth` is how many questions led to it, `parent` the id of the last of them;
    `noted` is whether what its walk found is among the findings.
    """

    id: str
    place: int
    text: str
    reason: Reason
    parent: str | None
    depth: int
    walked: bool
    noted: bool
    traversal: str | None
    chunks: list[str]


class Finding(TypedDict):
    """What a walk said, with the ids of the sentences that say it.

    `score` is the cosine of its best sentence and the sub-question.
    """

    id: str
    place: int
    question: str
    text: str
    sentences: list[str]
    score: float


class Verdict(TypedDict):
    """What the sentences of a claim say to it; `score` is of the cosine alone."""

    id: str
    verdict: VerdictWord
    by: Judge
    score: float | None


class Claim(TypedDict):
    """A statement of the report with the ids of the findings that it is drawn from."""

    id: str
    place: int
    text: str
    findings: list[str]
    verdict: Verdict | None


class Cost(TypedDict):
    """What was spent: walks, calls of the model, tokens, and answers of no use."""

    walks: int
    calls: int
    tokens: int
    useless: int


class Walked(TypedDict):
    """Sentences that the last walk found first, and their chunks."""

    question: str
    chunks: list[str]
    documents: list[str]
    sentences: list[tuple[str, str, float]]


class ResearchState(TypedDict, total=False):
    """The state of the graph; `unread` findings had no room in the draft's prompt."""

    questions: list[SubQuestion]
    approved: bool
    walked: Walked
    findings: list[Finding]
    claims: list[Claim]
    cost: Cost
    stop: str
    unread: int


def sub_question(
    run: str,
    text: str,
    reason: Reason,
    *,
    place: int,
    parent: SubQuestion | None = None,
) -> SubQuestion:
    """Return a question of a run that is not walked for yet, cut where it is long."""
    text = text[:LONGEST_QUESTION]
    return SubQuestion(
        id=content_key("sub-question", run, text),
        place=place,
        text=text,
        reason=reason,
        parent=None if parent is None else parent["id"],
        depth=0 if parent is None else parent["depth"] + 1,
        walked=False,
        noted=False,
        traversal=None,
        chunks=[],
    )


def passages(questions: Iterable[SubQuestion]) -> list[str]:
    """Return the ids of all chunks that were read, each once, in their order."""
    return list(dict.fromkeys(c for question in questions for c in question["chunks"]))


def depth_first(questions: Iterable[SubQuestion]) -> list[SubQuestion]:
    """Return questions each followed by those that it led to."""
    led: dict[str | None, list[SubQuestion]] = {}
    for question in questions:
        led.setdefault(question["parent"], []).append(question)
    ordered, waiting = [], led.get(None, [])[::-1]
    while waiting:
        ordered.append(waiting.pop())
        waiting += led.get(ordered[-1]["id"], [])[::-1]
    return ordered


def open_questions(questions: Sequence[SubQuestion]) -> list[SubQuestion]:
    """Return the questions that are not walked for yet."""
    return [question for question in questions if not question["walked"]]

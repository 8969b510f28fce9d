"""Labelled questions: what template, slots and answer are right."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from graph.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["HALVES", "Answer", "Question", "bundled_questions", "load_questions"]

HALVES = ("dev", "more", "test")
"""Questions to tune on, more of them, and those that are only reported on."""

_KINDS = ("list", "count", "comparison", "breakdown", "none", "ask", "refusal")
AnswerKind = Literal[
    "list", "count", "comparison", "breakdown", "none", "ask", "refusal"
]
SlotValue = str | int | tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A right answer.

    Attributes:
        kind: `list` of institutions, `count`, `comparison` of places, `breakdown` by
            type, `none` (no template fits), `ask` (something is missing) or `refusal`
            (nothing to do with heritage).
        ids: GHCIDs of a list.
        value: The number of a count.
        values: Numbers by place or by type letter.
    """

    kind: AnswerKind
    ids: frozenset[str] = frozenset()
    value: int | None = None
    values: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question with its labels.

    Attributes:
        id: Its id.
        language: `en` or `nl`.
        question: What is asked.
        template: The right template.
        slots: Right values: type letter, ISO 3166 codes of countries and regions.
        relation: Such as `before`, `above` or `oldest`; None without one.
        answer: The right answer.
        conversation: What it is a turn of; None for one that stands alone.
        turn: Its place in that, from 1.
    """

    id: str
    language: str
    question: str
    template: str
    slots: Mapping[str, SlotValue]
    relation: str | None
    answer: Answer
    conversation: str | None = None
    turn: int = 1


def bundled_questions(half: str) -> Path:
    """Return the file of a half of the questions that come with Knowtrail.

    Args:
        half: `dev` or `more`, for tuning, or `test`, for reporting only.
    """
    return Path(
        str(resources.files("eval.specificity") / "data" / f"questions_{half}.jsonl")
    )


def load_questions(path: Path) -> tuple[Question, ...]:
    """Return the questions of a file.

    Args:
        path: JSON Lines as `data/questions_dev.jsonl`.

    Raises:
        SourceError: If the file or a line of it cannot be used; says which.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        msg = f"Cannot read questions from {path}: {error}."
        raise SourceError(msg) from error
    questions: list[Question] = []
    seen: set[str] = set()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            question = _question(json.loads(line))
            if question.id in seen:
                msg = f"id {question.id!r} was there before"
                raise ValueError(msg)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            reason = f"no {error}" if isinstance(error, KeyError) else str(error)
            msg = f"{path}:{number} is no labelled question: {reason}."
            raise SourceError(msg) from error
        seen.add(question.id)
        questions.append(question)
    if not questions:
        msg = f"{path} has no questions: write one JSON object a line."
        raise SourceError(msg)
    return tuple(questions)


def _question(record: dict[str, Any]) -> Question:
    """Return the question of a record.

    Raises:
        ValueError: If the kind of answer is unknown.
    """
    answer = record["answer"]
    if answer["kind"] not in _KINDS:
        msg = f"answer kind {answer['kind']!r} is none of {', '.join(_KINDS)}"
        raise ValueError(msg)
    return Question(
        id=str(record["id"]),
        language=record["language"],
        question=record["question"],
        template=record["template"],
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

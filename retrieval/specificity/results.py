"""What a pipeline made of a question, step by step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from retrieval.specificity.classifying import Classification
    from retrieval.specificity.conversation import Conversation
    from retrieval.specificity.execution import Execution
    from retrieval.specificity.experiment import Group
    from retrieval.specificity.instantiation import Instantiated
    from retrieval.specificity.mapping import ContextTemplate
    from retrieval.specificity.mentions import Mention
    from retrieval.specificity.ranking import FilteredClasses, RankedChunk
    from retrieval.specificity.relevance import Relevance
    from retrieval.specificity.resolver import Resolution
    from retrieval.specificity.slots import Slots

__all__ = ["PipelineResult", "Status"]

Status: TypeAlias = Literal[
    "answered", "irrelevant", "none", "lost", "missing", "failed"
]
"""`answered`; `irrelevant` to heritage; `none`: no template; `lost`: a follow-up to
nothing; `missing`: a slot has no value; `failed`: the query was ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineResult:
    """Every result on the way from a question to its answer.

    A step that was not reached is None or empty.

    Attributes:
        question: As it was asked.
        language: `en` or `nl`.
        status: How it ended.
        answer: What is said to the user.
        resolution: The question standing alone.
        mentions: What it names.
        relevance: Whether it is about heritage.
        classification: Its template with a confidence.
        slots: Values and doubts.
        missing: Slots that are asked for, by name.
        instantiated: The queries with what their variables are bound to.
        execution: Their rows.
        counted: Whether the question asks for the number of what rows list.
        total: How many institutions there are, where that is asked or there are more
            than rows; None otherwise, or where it cannot be told.
        unmeasured: Whether nothing was found because nothing there has any date, or
            any budget.
        context_template: By which classes are scored.
        boosts: What the conversation adds to the scores of classes.
        classes: Classes kept and dropped, with their scores.
        chunks: Found among the kept classes, ranked.
        context: What the answer rests on, as a model is told it.
        notes: What the user should know beside the answer.
        group: Of the experiment; None where there is none.
        model: What wrote the answer; None for a plain one.
        conversation: With this turn.
        turn_id: Where the turn is stored; None where it is not.
        seconds: How long each step took, by name.
    """

    question: str
    language: str
    status: Status
    answer: str
    resolution: Resolution
    mentions: tuple[Mention, ...] = ()
    relevance: Relevance | None = None
    classification: Classification | None = None
    slots: Slots
    missing: tuple[str, ...] = ()
    instantiated: Instantiated | None = None
    execution: Execution | None = None
    counted: bool = False
    total: int | None = None
    unmeasured: bool = False
    context_template: ContextTemplate | None = None
    boosts: Mapping[str, float] = field(default_factory=dict)
    classes: FilteredClasses | None = None
    chunks: tuple[RankedChunk, ...] = ()
    context: str = ""
    notes: tuple[str, ...] = ()
    group: Group | None = None
    model: str | None = None
    conversation: Conversation
    turn_id: str | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def template_id(self) -> str:
        """Return the template; `none` where it came to none."""
        return (
            "none" if self.classification is None else self.classification.template_id
        )

    @property
    def relevant_classes(self) -> tuple[str, ...]:
        """Return the names of the classes that were kept."""
        return () if self.classes is None else self.classes.names

    def as_dict(self) -> dict[str, Any]:
        """Return what matters to a caller as JSON values with camelCase names."""
        found = self.execution
        return {
            "question": self.question,
            "resolved": self.resolution.question,
            "language": self.language,
            "route": "templates",
            "status": self.status,
            "answer": self.answer,
            "notes": list(self.notes),
            "template": self.template_id,
            "confidence": (
                None if self.classification is None else self.classification.confidence
            ),
            "slots": {
                n: v if isinstance(v, str) else list(v)
                for n, v in self.slots.values.items()
            },
            "missing": list(self.missing),
            "columns": [] if found is None else list(found.columns),
            "rows": [] if found is None else [list(row) for row in found.rows],
            "total": self.total,
            "contextTemplate": self.context_template,
            "classes": {} if self.classes is None else dict(self.classes.kept),
            "chunks": [
                {
                    "chunkId": c.chunk_id,
                    "title": c.title,
                    "className": c.class_name,
                    "score": c.score,
                    "similarity": c.similarity,
                    "specificity": c.specificity,
                }
                for c in self.chunks
            ],
            "model": self.model,
            "conversation": self.conversation.id,
            "turn": self.turn_id,
        }

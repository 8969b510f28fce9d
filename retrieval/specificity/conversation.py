"""What was said before: turns, and the classes that they lend weight to."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["BOOST", "RECENCY", "Conversation", "PastTurn", "context_boosts"]

BOOST = 0.1
RECENCY = (1.0, 0.85, 0.70, 0.55, 0.40)
"""What a boost is multiplied by, for the last turn first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastTurn:
    """A turn, as far as later ones build on it.

    Attributes:
        question: As it was asked.
        resolved: The same, standing alone.
        language: `en` or `nl`.
        template_id: What it was taken for.
        slots: Its slot values.
        classes: Names of the classes that were kept.
        names: Institutions in its answer, a few.
        answer: What was answered.
    """

    question: str
    resolved: str
    language: str = "en"
    template_id: str = "none"
    slots: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    classes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    answer: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Turns of one conversation, the oldest first.

    Attributes:
        id: Its name in the graph; None for one that is not stored.
        turns: The turns.
    """

    id: str | None = None
    turns: tuple[PastTurn, ...] = ()

    def with_turn(self, turn: PastTurn) -> Conversation:
        """Return the conversation with one turn more."""
        return replace(self, turns=(*self.turns, turn))

    @property
    def last(self) -> PastTurn | None:
        """Return the last turn that a follow-up can build on, if there is one."""
        found = (t for t in reversed(self.turns) if t.template_id != "none")
        return next(found, None)


def context_boosts(conversation: Conversation | None) -> dict[str, float]:
    """Return what is added to the scores of classes of the last five turns.

    A class of several turns has the boost of the latest.
    """
    boosts: dict[str, float] = {}
    turns = conversation.turns[-len(RECENCY) :] if conversation else ()
    for factor, turn in zip(RECENCY, reversed(turns), strict=False):
        for name in turn.classes:
            boosts.setdefault(name, BOOST * factor)
    return boosts

"""How questions are made of contexts, and what comes of it."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eval.generation.contexts import ContextGroup, ContextSentence

__all__ = [
    "DEFAULT_EVOLUTIONS",
    "EVOLUTIONS",
    "GeneratedQuestion",
    "QuestionFailure",
    "QuestionOptions",
    "evolution_plan",
]

EVOLUTIONS = ("reasoning", "multi-context", "comparative")
"""How a question may be made harder."""

DEFAULT_EVOLUTIONS = {"reasoning": 0.4, "multi-context": 0.4, "comparative": 0.2}
"""Evolution -> its share, as published."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionOptions:
    """How questions are made; the defaults are those of the published data sets.

    Attributes:
        evolutions: Evolution -> its share.
        rounds: How often a question is evolved; 0 for never.
        threshold: Quality, from 0 to 1, that the critic must see in a question.
        retries: How often the critic looks at a question and has it written anew.
        retry_failed: Whether what failed in an earlier run is tried again.
        seed: Repeats the choice of evolutions.
    """

    evolutions: Mapping[str, float] = field(
        default_factory=lambda: dict(DEFAULT_EVOLUTIONS)
    )
    rounds: int = 1
    threshold: float = 0.8
    retries: int = 5
    retry_failed: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        """Check names and numbers.

        Raises:
            InputError: If one is out of range or unknown.
        """
        unknown = [name for name in self.evolutions if name not in EVOLUTIONS]
        if unknown:
            msg = f"No evolution {unknown[0]!r}: use one of {', '.join(EVOLUTIONS)}."
            raise InputError(msg)
        weights = list(self.evolutions.values())
        if any(not math.isfinite(w) or w < 0 for w in weights) or not sum(weights) > 0:
            msg = (
                f"The shares of evolutions are {dict(self.evolutions)}: give numbers "
                "of 0 or more, not all 0."
            )
            raise InputError(msg)
        if not 0 <= self.threshold <= 1:
            msg = f"The threshold is {self.threshold:g}: give a number from 0 to 1."
            raise InputError(msg)
        if not 0 <= self.rounds <= 5:
            msg = f"{self.rounds} rounds of evolution: give 0 to 5."
            raise InputError(msg)
        if not 1 <= self.retries <= 20:
            msg = f"{self.retries} looks of the critic: give 1 to 20."
            raise InputError(msg)


def evolution_plan(count: int, options: QuestionOptions) -> list[tuple[str, ...]]:
    """Return the evolutions of each of a number of questions.

    The shares hold exactly, as far as whole numbers can, not only on average.

    Args:
        count: How many questions.
        options: Shares, rounds and seed.
    """
    chance = random.Random(f"evolutions:{options.seed}")  # noqa: S311 - no secret
    parts = _nearest(count * options.rounds, options.evolutions)
    kinds = [name for name, part in parts.items() for _ in range(part)]
    chance.shuffle(kinds)
    return [tuple(kinds[i :: max(count, 1)][: options.rounds]) for i in range(count)]


def _nearest(count: int, weights: Mapping[str, float]) -> dict[str, int]:
    """Divide a number by weights: what is left goes to the largest remainders."""
    total = sum(weights.values())
    exact = {name: count * weight / total for name, weight in weights.items()}
    parts = {name: int(part) for name, part in exact.items()}
    by_rest = sorted(exact, key=lambda name: parts[name] - exact[name])
    for name in by_rest[: count - sum(parts.values())]:
        parts[name] += 1
    return parts


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedQuestion:
    """A question with its answer and what it is about.

    Attributes:
        id: Derived from the question and its context.
        question: The question.
        answer: The answer that the context gives.
        group: Its context.
        gold: The context's sentences that the answer rests on.
        evolutions: How the question was made harder.
        quality: What the critic thinks of it, from 0 to 1.
        synthesizer: What made it.
        model: Name of the language model.
    """

    id: str
    question: str
    answer: str
    group: ContextGroup
    gold: tuple[ContextSentence, ...]
    evolutions: tuple[str, ...] = ()
    quality: float | None = None
    synthesizer: str = "chain"
    model: str = ""

    def metadata(self) -> dict[str, Any]:
        """Return what is known of how it was made, as JSON values."""
        return {
            "grouping": self.group.grouping,
            "group": self.group.id,
            "chunks": list(self.group.chunks),
            "documents": list(self.group.documents),
            "context_sentences": [s.id for s in self.group.sentences],
            "gold_sentences": [s.id for s in self.gold],
            "evolutions": list(self.evolutions),
            "quality": self.quality,
            "synthesizer": self.synthesizer,
            "model": self.model,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionFailure:
    """A question that did not come.

    Attributes:
        group: Id of its context.
        grouping: How that was made.
        number: Which question of that context.
        step: Where it ended, such as `critique`.
        reason: Why.
    """

    group: str
    grouping: str
    number: int
    step: str
    reason: str

"""What an SKN block says, as typed objects that are valid once they exist.

A part that the model left out is None: nothing is made up in its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "LEVELS",
    "SYMBOLS",
    "Level",
    "Priority",
    "Repair",
    "SknBlock",
    "SknError",
    "SknFact",
    "SknLink",
    "SknRisk",
    "SknSource",
]

Level = Literal["high", "medium", "low"]
LEVELS: tuple[Level, ...] = ("high", "medium", "low")

Priority = Literal["critical", "supporting", "uncertain"]
SYMBOLS: Mapping[str, Priority] = {
    "!": "critical",
    ".": "supporting",
    "~": "uncertain",
}
"""Symbol before a fact -> its priority."""


class SknError(InputError):
    """A text is not an SKN block, or an object cannot be part of one.

    Attributes:
        line: Line of the text where it went wrong, 1 first; 0 for objects.
        column: Column in that line, 1 first; 0 for objects.
    """

    def __init__(self, message: str, *, line: int = 0, column: int = 0) -> None:
        """Say what is wrong and where."""
        place = f"line {line}, column {column}: " if line else ""
        super().__init__(f"{place}{message}")
        self.line = line
        self.column = column


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """Something in an answer that was put right.

    Attributes:
        line: Line of the answer, 1 first; 0 where it concerns the whole.
        code: Kind of repair, such as `unicode_arrow`.
        message: What was found and what it became.
    """

    line: int
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SknSource:
    """What the text is: its field, how fresh and how reliable it is (0 to 1)."""

    domain: str
    freshness: Level | None = None
    reliability: float | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be written."""
        _check_text("domain", self.domain)
        _check_level("freshness", self.freshness)
        _check_number("reliability", self.reliability)


@dataclass(frozen=True, slots=True, kw_only=True)
class SknFact:
    """A statement of the text with how sure it is (0 to 1)."""

    text: str
    priority: Priority
    confidence: float | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be written."""
        _check_text("fact", self.text)
        if self.priority not in SYMBOLS.values():
            msg = f"Priority {self.priority!r}: use {', '.join(SYMBOLS.values())}."
            raise SknError(msg)
        _check_number("confidence", self.confidence)

    @property
    def symbol(self) -> str:
        """Return the symbol that is written before it."""
        return next(s for s, name in SYMBOLS.items() if name == self.priority)


@dataclass(frozen=True, slots=True, kw_only=True)
class SknLink:
    """A cause and its effect, with the strength of the link (0 to 1)."""

    cause: str
    effect: str
    strength: float | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be written."""
        _check_text("cause", self.cause)
        _check_text("effect", self.effect)
        _check_number("strength", self.strength)


@dataclass(frozen=True, slots=True, kw_only=True)
class SknRisk:
    """How likely the text misleads, and how likely it lacks what matters."""

    misdirection: Level | None = None
    missing_context: Level | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be written."""
        _check_level("misdirection", self.misdirection)
        _check_level("missing_context", self.missing_context)
        if self.misdirection is None and self.missing_context is None:
            msg = "A risk without misdirection and missing_context: leave it out."
            raise SknError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class SknBlock:
    """What an extraction says.

    Attributes:
        source: What the text is; None where it is not said.
        facts: Statements, the most important first.
        causal: Causes and effects.
        gaps: What the text does not say.
        risk: How far it may mislead; None where it is not said.
    """

    source: SknSource | None = None
    facts: tuple[SknFact, ...] = ()
    causal: tuple[SknLink, ...] = ()
    gaps: tuple[str, ...] = ()
    risk: SknRisk | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be written."""
        for gap in self.gaps:
            _check_text("gap", gap)

    @property
    def is_empty(self) -> bool:
        """Say whether it has neither facts nor links nor gaps."""
        return not (self.facts or self.causal or self.gaps)


def _check_text(what: str, text: str) -> None:
    """Refuse a text without a visible character."""
    if not text.strip():
        msg = f"The {what} is {text!r}: write something, or leave it out."
        raise SknError(msg)


def _check_level(what: str, level: str | None) -> None:
    """Refuse a level that is none."""
    if level is not None and level not in LEVELS:
        msg = f"The {what} is {level!r}: use {', '.join(LEVELS)}."
        raise SknError(msg)


def _check_number(what: str, value: float | None) -> None:
    """Refuse a number outside 0 to 1, NaN too."""
    if value is not None and not 0 <= value <= 1:
        msg = f"The {what} is {value!r}: use a number from 0 to 1."
        raise SknError(msg)

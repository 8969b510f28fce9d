"""How judges behave: what they leave open, and whether places sway them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eval.zelo.judgements import Judgement

__all__ = ["Conduct", "JudgeReport"]

ENOUGH = 10
"""Answers below which nothing is said of a habit."""
_HABIT = 0.95
_FAILING = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeReport:
    """How one judge behaved.

    Attributes:
        judge: Its name.
        answered: Judgements with a score.
        failed: Judgements without.
        ties: Share of scores that are 0.
        first: Share, among the others, that went to the document shown first; about
            one half for a judge that the order does not sway.
        shortened: Judgements for which a document was shortened to fit.
        error: The reason that was given most often for a failure.
    """

    judge: str
    answered: int
    failed: int
    ties: float
    first: float
    shortened: int = 0
    error: str = ""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what makes its judgements doubtful."""
        found = []
        if self.answered >= ENOUGH and self.ties >= _HABIT:
            found.append(
                f"Judge {self.judge!r} nearly always ties ({self.ties:.0%} of "
                f"{self.answered} answers): it tells nothing."
            )
        elif self.answered * (1 - self.ties) >= ENOUGH:
            for share, place in ((self.first, "first"), (1 - self.first, "second")):
                if share >= _HABIT:
                    found.append(
                        f"Judge {self.judge!r} nearly always prefers the document "
                        f"shown {place} ({share:.0%}): its answers are noise."
                    )
        if self.failed and self.failed >= _FAILING * (self.failed + self.answered):
            found.append(
                f"Judge {self.judge!r} failed {self.failed} of "
                f"{self.failed + self.answered} times, mostly: {self.error}"
            )
        return tuple(found)


class Conduct:
    """Counts judgements into a report a judge."""

    def __init__(self, judges: Sequence[str]) -> None:
        """Name the judges."""
        self._counts: dict[str, Counter[str]] = {name: Counter() for name in judges}
        self._errors: dict[str, Counter[str]] = {name: Counter() for name in judges}

    def add(self, judgement: Judgement) -> None:
        """Count a judgement."""
        count = self._counts[judgement.judge]
        count["shortened"] += judgement.shortened
        score = judgement.score
        if score is None:
            count["failed"] += 1
            self._errors[judgement.judge][judgement.error or ""] += 1
            return
        count["answered"] += 1
        if score == 0:
            count["ties"] += 1
        elif (score < 0) != judgement.swapped:
            count["first"] += 1

    def reports(self) -> tuple[JudgeReport, ...]:
        """Return a report a judge, in the order of the names."""
        found = []
        for name, count in self._counts.items():
            answered, ties = count["answered"], count["ties"]
            chosen = answered - ties
            worst = self._errors[name].most_common(1)
            found.append(
                JudgeReport(
                    judge=name,
                    answered=answered,
                    failed=count["failed"],
                    ties=ties / max(1, answered),
                    first=count["first"] / chosen if chosen else 0.5,
                    shortened=count["shortened"],
                    error=worst[0][0] if worst else "",
                )
            )
        return tuple(found)

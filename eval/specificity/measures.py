"""Numbers of many outcomes: four of the class filter, four of the answers.

The class filter is measured over questions that are about classes at all and came as
far as the filter; the answers over every question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eval.exact_intervals import widened
from eval.statistics import bootstrap_interval, ratio_f1

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from eval.specificity.judging import Outcome
    from eval.statistics import Interval

__all__ = ["FILTER_METRICS", "METRICS", "class_scores", "measure"]

FILTER_METRICS = ("precision", "recall", "class_reduction", "response_time")
"""Of one question: kept classes that are relevant, relevant classes that were kept,
share of all classes that was left out, and seconds."""

METRICS = (
    "template_accuracy",
    "slot_f1",
    "ending_accuracy",
    "answer_accuracy",
    *FILTER_METRICS,
)


def class_scores(outcome: Outcome) -> dict[str, float] | None:
    """Return the four numbers of the class filter for one question.

    Args:
        outcome: What became of it.

    Returns:
        None where no class is relevant, or the filter was not reached.
    """
    if not outcome.expected_classes or not outcome.all_classes:
        return None
    kept = set(outcome.kept_classes)
    both = len(kept & outcome.expected_classes)
    return {
        "precision": both / len(kept) if kept else 0.0,
        "recall": both / len(outcome.expected_classes),
        "class_reduction": 1 - len(kept) / outcome.all_classes,
        "response_time": outcome.seconds,
    }


def measure(
    outcomes: Sequence[Outcome], *, resamples: int = 2000, seed: int = 0
) -> dict[str, Interval]:
    """Return every metric with its bootstrap interval of 95 %.

    Where a metric is the same for all questions there is nothing to resample: the
    interval then is as wide as the exact one of so many questions.

    Args:
        outcomes: One for each question, at least one.
        resamples: How many times questions are drawn.
        seed: Seed of the drawing.
    """
    found: dict[str, Interval] = {}
    for name, of in _RIGHT.items():
        rows = [float(of(outcome)) for outcome in outcomes]
        found[name] = bootstrap_interval(rows, resamples=resamples, seed=seed)
    slots = [
        (float(o.slots_right), float(o.slots_found), float(o.slots_wanted))
        for o in outcomes
    ]
    found["slot_f1"] = bootstrap_interval(
        slots, ratio_f1, resamples=resamples, seed=seed
    )
    scored = [s for o in outcomes if (s := class_scores(o)) is not None]
    for name in FILTER_METRICS if scored else ():
        rows = [s[name] for s in scored]
        found[name] = bootstrap_interval(rows, resamples=resamples, seed=seed)
    return {
        name: found[name] if name == "response_time" else widened(found[name])
        for name in METRICS
        if name in found
    }


_RIGHT: Mapping[str, Callable[[Outcome], bool]] = {
    "template_accuracy": lambda outcome: outcome.template_right,
    "ending_accuracy": lambda outcome: outcome.ended_right,
    "answer_accuracy": lambda outcome: outcome.answer_right,
}

"""The metrics of a pipeline as statistics of its samples, each with a direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from eval.skn.metrics import (
    abstention_rows,
    calibration_rows,
    normalized_hallucination,
    summed_gaps,
)
from eval.statistics import first_mean
from graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from eval.statistics import Statistic

__all__ = ["MEASURES", "Measure", "Scored", "scored"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """The verdicts on one answer, as numbers.

    Attributes:
        id: The sample.
        category: Its kind of question.
        answerable: Whether it has an answer.
        correct: Whether the answer is right; None where there is no right one.
        confidence: The agent's, from 0 to 1.
        hallucinated: Whether something is made up.
        severity: How bad that is, from 0 to 1.
        normalized: Share of claims that are made up.
        groundedness: From 0 to 1.
        unsupported: Share of statements without support.
        abstained: Whether the answer refuses.
        failed: Judges that gave no verdict.
    """

    id: str
    category: str
    answerable: bool
    correct: bool | None
    confidence: float
    hallucinated: bool
    severity: float
    normalized: float
    groundedness: float
    unsupported: float
    abstained: bool
    failed: frozenset[str] = frozenset()


def scored(row: dict[str, Any], variant: str) -> Scored:
    """Return the verdicts of a detailed row on one variant.

    Args:
        row: As in `detailed_results.json`.
        variant: Whose answer.

    Raises:
        InputError: If a verdict is missing, a word in the place of a truth value, or
            no number; the message names the row.
    """
    try:
        return _scored(row, variant)
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        said = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        msg = f"The verdicts of row {row.get('id')!r} on {variant!r}: {said}."
        raise InputError(msg) from error


def _scored(row: dict[str, Any], variant: str) -> Scored:
    """Return the verdicts; one that is none raises what it may."""
    hallucination = row[f"{variant}_hallucination"]
    grounded = row[f"{variant}_groundedness"]
    answerable = _truth(row.get("answerable", True))
    correct = row[f"{variant}_correct"]
    judges = row.get(f"{variant}_judges", {})
    return Scored(
        id=str(row["id"]),
        category=str(row.get("category", "other")),
        answerable=answerable,
        correct=_truth(correct or False) if answerable else None,
        confidence=min(1.0, max(0.0, _number(row.get(f"{variant}_confidence", 0.0)))),
        hallucinated=_truth(hallucination["hallucination_detected"]),
        severity=_number(hallucination["hallucination_severity"]),
        normalized=_normalized(hallucination),
        groundedness=_number(grounded["groundedness_score"]),
        unsupported=_number(grounded["unsupported_fraction"]),
        abstained=_truth(row[f"{variant}_abstained"]),
        failed=frozenset(name for name, said in judges.items() if said.get("error")),
    )


def _truth(value: Any) -> bool:
    """Return a truth value; the word "false" is none."""
    if value in (True, False):
        return bool(value)
    msg = f"{value!r} is neither true nor false"
    raise ValueError(msg)


def _number(value: Any) -> float:
    """Return a finite number."""
    number = float(value)
    if not np.isfinite(number):
        msg = f"{value!r} is no finite number"
        raise ValueError(msg)
    return number


def _normalized(hallucination: dict[str, Any]) -> float:
    """Return the share of made-up claims, as it stands there or worked out."""
    if (share := hallucination.get("normalized_hallucination")) is not None:
        return _number(share)
    made_up = hallucination.get("fabricated_claims") or ()
    count = len(made_up) if isinstance(made_up, list | tuple) else 1
    return normalized_hallucination(count, int(hallucination.get("total_claims", 1)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One metric.

    Attributes:
        name: What results call it.
        label: What people read.
        better: Which way is good.
        judge: Whose verdicts it rests on; empty for none.
        rows: Makes the rows of the samples it is about.
        statistic: Function of their column means.
        main: Whether pipelines are compared by it.
    """

    name: str
    label: str
    better: Literal["higher", "lower"]
    judge: str
    rows: Callable[[Sequence[Scored]], NDArray[np.float64]]
    statistic: Statistic = first_mean
    main: bool = True


def _each(
    value: Callable[[Scored], float],
) -> Callable[[Sequence[Scored]], NDArray[np.float64]]:
    """Return a function that makes a row of one number for each sample."""

    def rows(samples: Sequence[Scored]) -> NDArray[np.float64]:
        return np.array([[value(one)] for one in samples]).reshape(-1, 1)

    return rows


def _correct(samples: Sequence[Scored]) -> NDArray[np.float64]:
    """Return a row for each answerable sample."""
    found = [[float(bool(one.correct))] for one in samples if one.answerable]
    return np.array(found).reshape(-1, 1)


def _calibration(samples: Sequence[Scored]) -> NDArray[np.float64]:
    """Return the rows of the calibration error, of answerable samples."""
    asked = [one for one in samples if one.answerable]
    return calibration_rows(
        [one.confidence for one in asked], [bool(one.correct) for one in asked]
    )


def _abstention(samples: Sequence[Scored]) -> NDArray[np.float64]:
    """Return the rows of precision, recall and F1 of refusing."""
    return abstention_rows(
        [one.answerable for one in samples], [one.abstained for one in samples]
    )


def _divided(
    top: NDArray[np.float64], bottom: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Divide; by nothing it is 0."""
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)


def _precision(means: NDArray[np.float64]) -> NDArray[np.float64]:
    return _divided(means[:, 0], means[:, 1])


def _recall(means: NDArray[np.float64]) -> NDArray[np.float64]:
    return _divided(means[:, 0], means[:, 2])


def _f1(means: NDArray[np.float64]) -> NDArray[np.float64]:
    return _divided(2 * means[:, 0], means[:, 1] + means[:, 2])


MEASURES: tuple[Measure, ...] = (
    Measure(
        name="accuracy",
        label="accuracy",
        better="higher",
        judge="accuracy",
        rows=_correct,
    ),
    Measure(
        name="ece",
        label="calibration error",
        better="lower",
        judge="accuracy",
        rows=_calibration,
        statistic=summed_gaps,
    ),
    Measure(
        name="hallucination_rate",
        label="hallucination rate",
        better="lower",
        judge="hallucination",
        rows=_each(lambda one: float(one.hallucinated)),
    ),
    Measure(
        name="hallucination_severity",
        label="hallucination severity",
        better="lower",
        judge="hallucination",
        rows=_each(lambda one: one.severity),
        main=False,
    ),
    Measure(
        name="normalized_hallucination",
        label="made-up claims of all",
        better="lower",
        judge="hallucination",
        rows=_each(lambda one: one.normalized),
    ),
    Measure(
        name="groundedness",
        label="groundedness",
        better="higher",
        judge="groundedness",
        rows=_each(lambda one: one.groundedness),
    ),
    Measure(
        name="unsupported_fraction",
        label="unsupported statements",
        better="lower",
        judge="groundedness",
        rows=_each(lambda one: one.unsupported),
        main=False,
    ),
    Measure(
        name="abstention_precision",
        label="abstention precision",
        better="higher",
        judge="abstention",
        rows=_abstention,
        statistic=_precision,
        main=False,
    ),
    Measure(
        name="abstention_recall",
        label="abstention recall",
        better="higher",
        judge="abstention",
        rows=_abstention,
        statistic=_recall,
        main=False,
    ),
    Measure(
        name="abstention_f1",
        label="abstention F1",
        better="higher",
        judge="abstention",
        rows=_abstention,
        statistic=_f1,
    ),
)
"""In the order of all tables; those that are `main` are compared and tested."""

"""What the benchmark measures, as functions of plain numbers.

Every metric of a pipeline is a `Statistic` of rows, one a sample, as in
`knowtrail.eval.statistics`: so its interval resamples samples, and two pipelines are
compared on the samples they share. Calibration error and F1 are such functions too: the
mean of each bin, or of each count, is a column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from knowtrail.eval.statistics import SHARE, Statistic, exact_ends, first_mean
from knowtrail.graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from knowtrail.eval.statistics import Bounds

ABSTENTION_PHRASES = (
    "insufficient information",
    "not enough information",
    "cannot determine",
    "cannot be determined",
    "unable to determine",
    "not specified",
    "not provided",
    "not enough data",
    "insufficient data",
    "no information",
    "cannot answer",
    "impossible to determine",
    "not available",
    "lack of information",
    "missing information",
    "does not contain",
    "do not contain",
    "cannot provide",
    "unable to provide",
    "cannot identify",
    "unable to identify",
    "no relevant information",
    "no specific information",
    "not contain any information",
    "i cannot",
    "i'm unable",
    "i am unable",
    "no details about",
    "no mention of",
    "does not include",
    "does not reference",
)


def abstains(answer: str) -> bool:
    """Return whether an answer has one of the phrases, in any case.

    A phrase counts wherever it stands, so "the flag is not available by default" counts
    as a refusal too: a judge can be asked instead, see `knowtrail.eval.skn.judging`.
    """
    lowered = answer.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    return any(phrase in lowered for phrase in ABSTENTION_PHRASES)


BINS = 10
DIGITS = 4
RESAMPLES = 1_000
SEED = 42
_CELLS = 2_000_000
_NARROW = 1e-12


def mean(values: Sequence[float]) -> float:
    """Return the mean; of nothing it is 0."""
    return float(np.mean(values)) if len(values) else 0.0


def _bins(confidences: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the bin of each confidence; the last takes 1 as well."""
    edges = np.linspace(0.0, 1.0, BINS + 1)
    placed: NDArray[np.intp] = np.searchsorted(edges, confidences, side="right") - 1
    return np.clip(placed, 0, BINS - 1)


def calibration_rows(confidences: ArrayLike, correct: ArrayLike) -> NDArray[np.float64]:
    """Return n x 10 rows whose `summed_gaps` are the calibration error.

    A row has correctness less confidence in the column of its bin, and 0 elsewhere:
    the column means then are what each bin adds, up to their sign.
    """
    sure = np.asarray(confidences, dtype=np.float64).reshape(-1)
    right = np.asarray(correct, dtype=np.float64).reshape(-1)
    if sure.shape != right.shape:
        msg = (
            f"{sure.size} confidences and {right.size} verdicts: give as many of each."
        )
        raise InputError(msg)
    if not ((sure >= 0) & (sure <= 1)).all():
        bad = sure[~((sure >= 0) & (sure <= 1))][0]
        msg = f"A confidence is {bad}: give numbers from 0 to 1."
        raise InputError(msg)
    rows = np.zeros((sure.size, BINS))
    rows[np.arange(sure.size), _bins(sure)] = right - sure
    return rows


def summed_gaps(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the calibration error of column means of `calibration_rows`."""
    total: NDArray[np.float64] = np.abs(means).sum(axis=1)
    return total


def normalized_hallucination(fabricated: int, total: int) -> float:
    """Return the share of claims that are made up."""
    return fabricated / max(total, 1)


def abstention_rows(
    answerable: Sequence[bool], abstained: Sequence[bool]
) -> NDArray[np.float64]:
    """Return n x 3 rows (hit, refused, unanswerable)."""
    can = np.asarray(answerable, dtype=bool)
    refused = np.asarray(abstained, dtype=bool)
    return np.column_stack([refused & ~can, refused, ~can]).astype(np.float64)


def token_estimate(text: str) -> int:
    """Return the published estimate of tokens: a quarter of the characters."""
    return max(1, len(text) // 4)


def bootstrap_ci(
    values: Sequence[float], n_bootstrap: int = RESAMPLES, ci: float = 0.95
) -> dict[str, float]:
    """Return the mean of values with its percentile bootstrap interval.

    The generator starts from seed 42 in every call, so equal values give equal
    intervals.

    Args:
        values: One number for each sample.
        n_bootstrap: How many times as many values are drawn with replacement.
        ci: Share of the drawn means inside the interval.

    Returns:
        `mean`, `ci_low`, `ci_high` and `std` (of the drawn means), each rounded to
        four digits; zeros for no values.

    Raises:
        InputError: If a number is not finite, or an option is out of range.
    """
    return bootstrap_rows(
        np.asarray(values, dtype=np.float64).reshape(-1, 1),
        first_mean,
        n_bootstrap=n_bootstrap,
        ci=ci,
    )


def bootstrap_rows(
    rows: NDArray[np.float64],
    statistic: Statistic,
    *,
    n_bootstrap: int = RESAMPLES,
    ci: float = 0.95,
    bounds: Bounds | None = None,
) -> dict[str, float]:
    """Return any metric of n x k rows with its interval, as `bootstrap_ci` does.

    Args:
        rows: A row for each sample.
        statistic: Function of the column means.
        n_bootstrap: How many times n rows are drawn with replacement.
        ci: Share of the drawn metrics inside the interval.
        bounds: Those of the metric, for samples that are all alike, as in
            `knowtrail.eval.statistics`; None leaves their interval without width.
    """
    if not 1 <= n_bootstrap <= 1_000_000 or not 0 < ci < 1:
        msg = (
            f"{n_bootstrap} resamples at level {ci}: choose 1 to 1,000,000, and a "
            "level between 0 and 1 such as 0.95."
        )
        raise InputError(msg)
    if not np.isfinite(rows).all():
        msg = "Some values are not finite numbers: leave them out."
        raise InputError(msg)
    if not len(rows):
        return dict.fromkeys(("mean", "ci_low", "ci_high", "std"), 0.0)
    means = _resampled_means(rows, n_bootstrap)
    drawn = statistic(means)
    tail = 100 * (1 - ci) / 2
    low, high = np.percentile(drawn, [tail, 100 - tail])
    value = statistic(rows.mean(axis=0, keepdims=True))[0]
    if bounds is not None and high - low < _NARROW:
        low, high = exact_ends(float(value), bounds, ci, len(rows))
    found = {"mean": value, "ci_low": low, "ci_high": high, "std": drawn.std()}
    return {name: round(float(number), DIGITS) for name, number in found.items()}


def _resampled_means(
    rows: NDArray[np.float64], n_bootstrap: int
) -> NDArray[np.float64]:
    """Return the column means of each resample, in blocks of bounded size."""
    rng = np.random.default_rng(SEED)
    most = max(1, _CELLS // rows.size)
    blocks = []
    for start in range(0, n_bootstrap, most):
        size = (min(most, n_bootstrap - start), len(rows))
        blocks.append(rows[rng.integers(0, len(rows), size=size)].mean(axis=1))
    return np.concatenate(blocks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """The verdicts on one answer, as numbers from 0 to 1.

    Attributes:
        correct: Whether the answer is right; None where there is no right one.
        confidence: The agent's; None where it gave none.
        normalized: Share of claims that are made up.
        usable: Whether the extraction can be used: not failed, nor of no text.
    """

    id: str
    category: str
    answerable: bool
    correct: bool | None
    confidence: float | None
    hallucinated: bool
    severity: float
    normalized: float
    groundedness: float
    unsupported: float
    abstained: bool
    failed: frozenset[str] = frozenset()
    usable: bool = True


def scored(row: dict[str, Any], variant: str) -> Scored:
    """Return the verdicts of a detailed row on one variant."""
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
        confidence=_confidence(row.get(f"{variant}_confidence")),
        hallucinated=_truth(hallucination["hallucination_detected"]),
        severity=_number(hallucination["hallucination_severity"]),
        normalized=_normalized(hallucination),
        groundedness=_number(grounded["groundedness_score"]),
        unsupported=_number(grounded["unsupported_fraction"]),
        abstained=_truth(row[f"{variant}_abstained"]),
        failed=frozenset(name for name, said in judges.items() if said.get("error")),
        usable=is_usable(row, variant),
    )


def is_usable(row: dict[str, Any], variant: str) -> bool:
    """Return whether a row has an extraction that can be used."""
    return row.get(f"{variant}_extraction_status") not in {"failed", "empty"}


def _confidence(value: Any) -> float | None:
    """Return a confidence; None where there is none."""
    if value is None:
        return None
    number = _number(value)
    if not 0 <= number <= 1:
        msg = f"the confidence {value!r} is not from 0 to 1"
        raise ValueError(msg)
    return number


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
        rows: Makes the rows of samples; none where it is undefined for them.
        called: What people read, where that is not its name.
        about: Whether a sample is of the kind that it is about.
    """

    name: str
    judge: str
    rows: Callable[[Sequence[Scored]], NDArray[np.float64]]
    better: Literal["higher", "lower"] = "higher"
    called: str = ""
    statistic: Statistic = first_mean
    about: Callable[[Scored], bool] = lambda _: True
    main: bool = True

    @property
    def label(self) -> str:
        """Return what people read."""
        return self.called or self.name.replace("_", " ")

    def value(self, samples: Sequence[Scored]) -> float | None:
        """Return the metric, rounded; None where it is undefined."""
        rows = self.rows([one for one in samples if self.about(one)])
        if not len(rows):
            return None
        return round(float(self.statistic(rows.mean(axis=0, keepdims=True))[0]), DIGITS)

    def interval(self, samples: Sequence[Scored]) -> dict[str, float] | None:
        """Return the metric with its interval, as `bootstrap_rows` does, or None."""
        rows = self.rows([one for one in samples if self.about(one)])
        return bootstrap_rows(rows, self.statistic, bounds=SHARE) if len(rows) else None


def _each(
    value: Callable[[Scored], float],
) -> Callable[[Sequence[Scored]], NDArray[np.float64]]:
    """Return a function that makes a row of one number for each sample."""

    def rows(samples: Sequence[Scored]) -> NDArray[np.float64]:
        return np.array([[value(one)] for one in samples]).reshape(-1, 1)

    return rows


def _calibration(samples: Sequence[Scored]) -> NDArray[np.float64]:
    """Return the rows of the calibration error."""
    return calibration_rows(
        [one.confidence or 0.0 for one in samples],
        [bool(one.correct) for one in samples],
    )


def _abstention(samples: Sequence[Scored]) -> NDArray[np.float64]:
    """Return the rows of recall and F1 of refusing, where there is what to refuse."""
    rows = abstention_rows(
        [one.answerable for one in samples], [one.abstained for one in samples]
    )
    return rows[:0] if all(one.answerable for one in samples) else rows


def _refusals(samples: Sequence[Scored]) -> NDArray[np.float64]:
    """Return the rows of precision, where something was refused."""
    rows = _abstention(samples)
    return rows if any(one.abstained for one in samples) else rows[:0]


def _divided(
    top: NDArray[np.float64], bottom: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Divide; by nothing it is 0."""
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)


MEASURES: tuple[Measure, ...] = (
    Measure(
        name="accuracy",
        judge="accuracy",
        rows=_each(lambda one: float(bool(one.correct))),
        about=lambda one: one.answerable,
    ),
    Measure(
        name="ece",
        called="calibration error",
        better="lower",
        judge="accuracy",
        rows=_calibration,
        statistic=summed_gaps,
        about=lambda one: one.answerable and one.confidence is not None,
    ),
    Measure(
        name="hallucination_rate",
        better="lower",
        judge="hallucination",
        rows=_each(lambda one: float(one.hallucinated)),
    ),
    Measure(
        name="hallucination_severity",
        better="lower",
        judge="hallucination",
        rows=_each(lambda one: one.severity),
        main=False,
    ),
    Measure(
        name="normalized_hallucination",
        called="made-up claims of all",
        better="lower",
        judge="hallucination",
        rows=_each(lambda one: one.normalized),
    ),
    Measure(
        name="groundedness",
        judge="groundedness",
        rows=_each(lambda one: one.groundedness),
    ),
    Measure(
        name="unsupported_fraction",
        called="unsupported statements",
        better="lower",
        judge="groundedness",
        rows=_each(lambda one: one.unsupported),
        main=False,
    ),
    Measure(
        name="abstention_precision",
        judge="abstention",
        rows=_refusals,
        statistic=lambda means: _divided(means[:, 0], means[:, 1]),
        main=False,
    ),
    Measure(
        name="abstention_recall",
        judge="abstention",
        rows=_abstention,
        statistic=lambda means: _divided(means[:, 0], means[:, 2]),
        main=False,
    ),
    Measure(
        name="abstention_f1",
        called="abstention F1",
        judge="abstention",
        rows=_abstention,
        statistic=lambda means: _divided(2 * means[:, 0], means[:, 1] + means[:, 2]),
    ),
)
"""In the order of all tables; those that are `main` are compared and tested."""

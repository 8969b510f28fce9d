"""What the benchmark measures: from judged rows to the metrics of each format.

Every metric of a pipeline is a `Statistic` of rows, one a sample, as in
`knowtrail.eval.statistics`: so its interval resamples samples, and two pipelines are
compared on the samples they share. Calibration error and F1 are such functions too: the
mean of each bin, or of each count, is a column.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from knowtrail.eval.models import DEFAULT_MODEL, TEXTS, ModelLike, Respondent, as_model
from knowtrail.eval.skn.phases import (
    NOTHING_TO_JUDGE,
    is_judged,
    judge_row,
    normalized_hallucination,
    verdict_of,
)
from knowtrail.eval.statistics import (
    SHARE,
    Statistic,
    compare_paired,
    corrected_differences,
    divided,
    exact_ends,
    first_mean,
    resampled_means,
)
from knowtrail.graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from knowtrail.eval.statistics import Bounds, Difference

    Rows: TypeAlias = NDArray[np.float64]

BINS = 10
DIGITS = 4
RESAMPLES = 1_000
SEED = 42
_NARROW = 1e-12


def calibration_rows(confidences: ArrayLike, correct: ArrayLike) -> Rows:
    """Return n x 10 rows, right less sure in its bin, for `summed_gaps`."""
    sure = np.asarray(confidences, dtype=np.float64).reshape(-1)
    right = np.asarray(correct, dtype=np.float64).reshape(-1)
    if sure.shape != right.shape:
        raise InputError(
            f"{sure.size} confidences and {right.size} verdicts: give as many of each."
        )
    if not ((sure >= 0) & (sure <= 1)).all():
        bad = sure[~((sure >= 0) & (sure <= 1))][0]
        raise InputError(f"A confidence is {bad}: give numbers from 0 to 1.")
    bins = np.searchsorted(np.linspace(0.0, 1.0, BINS + 1), sure, side="right") - 1
    rows = np.zeros((sure.size, BINS))
    rows[np.arange(sure.size), np.clip(bins, 0, BINS - 1)] = right - sure
    return rows


def summed_gaps(means: Rows) -> Rows:
    """Return the calibration error of column means of `calibration_rows`."""
    total: Rows = np.abs(means).sum(axis=1)
    return total


def bootstrap_ci(
    values: Sequence[float], n_bootstrap: int = RESAMPLES, ci: float = 0.95
) -> dict[str, float]:
    """Return the mean of values with its percentile bootstrap interval.

    The generator starts from seed 42 in every call, so equal values give equal
    intervals. The result is `mean`, `ci_low`, `ci_high` and `std` (of the drawn means),
    each rounded to four digits; zeros for no values.
    """
    rows = np.asarray(values, dtype=np.float64).reshape(-1, 1)
    return bootstrap_rows(rows, first_mean, n_bootstrap=n_bootstrap, ci=ci)


def bootstrap_rows(
    rows: Rows,
    statistic: Statistic,
    *,
    n_bootstrap: int = RESAMPLES,
    ci: float = 0.95,
    bounds: Bounds | None = None,
) -> dict[str, float]:
    """Return any metric of n x k rows with its interval, as `bootstrap_ci` does."""
    if not 1 <= n_bootstrap <= 1_000_000 or not 0 < ci < 1:
        raise InputError(
            f"{n_bootstrap} resamples at level {ci}: choose 1 to 1,000,000, and a "
            "level between 0 and 1 such as 0.95."
        )
    if not np.isfinite(rows).all():
        raise InputError("Some values are not finite numbers: leave them out.")
    if not len(rows):
        return dict.fromkeys(("mean", "ci_low", "ci_high", "std"), 0.0)
    drawn = statistic(resampled_means(rows, np.ones(len(rows)), n_bootstrap, SEED))
    tail = 100 * (1 - ci) / 2
    low, high = np.percentile(drawn, [tail, 100 - tail])
    value = statistic(rows.mean(axis=0, keepdims=True))[0]
    if bounds is not None and high - low < _NARROW:
        low, high = exact_ends(float(value), bounds, ci, len(rows))
    found = {"mean": value, "ci_low": low, "ci_high": high, "std": drawn.std()}
    return {name: round(float(number), DIGITS) for name, number in found.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """The verdicts on one answer, as numbers from 0 to 1; None where there is none."""

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
    if value is None:
        return None
    number = _number(value)
    if not 0 <= number <= 1:
        raise ValueError(f"the confidence {value!r} is not from 0 to 1")
    return number


def _truth(value: Any) -> bool:
    """Return a truth value; the word "false" is none."""
    if value in (True, False):
        return bool(value)
    raise ValueError(f"{value!r} is neither true nor false")


def _number(value: Any) -> float:
    number = float(value)
    if not np.isfinite(number):
        raise ValueError(f"{value!r} is no finite number")
    return number


def _normalized(hallucination: dict[str, Any]) -> float:
    if (share := hallucination.get("normalized_hallucination")) is not None:
        return _number(share)
    made_up = hallucination.get("fabricated_claims") or ()
    count = len(made_up) if isinstance(made_up, list | tuple) else 1
    return normalized_hallucination(count, int(hallucination.get("total_claims", 1)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One metric: `rows` of samples that it is `about`, none for undefined."""

    name: str
    judge: str
    rows: Callable[[Sequence[Scored]], Rows]
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


def _each(value: Callable[[Scored], float]) -> Callable[[Sequence[Scored]], Rows]:
    def rows(samples: Sequence[Scored]) -> Rows:
        return np.array([[value(one)] for one in samples]).reshape(-1, 1)

    return rows


def _calibration(samples: Sequence[Scored]) -> Rows:
    return calibration_rows(
        [one.confidence or 0.0 for one in samples],
        [bool(one.correct) for one in samples],
    )


def _abstention(samples: Sequence[Scored]) -> Rows:
    """Return rows (hit, refused, unanswerable), where there is what to refuse."""
    can = np.array([one.answerable for one in samples], dtype=bool)
    refused = np.array([one.abstained for one in samples], dtype=bool)
    rows = np.column_stack([refused & ~can, refused, ~can]).astype(np.float64)
    return rows[:0] if can.all() else rows


def _refusals(samples: Sequence[Scored]) -> Rows:
    """Return the rows of precision, where something was refused."""
    rows = _abstention(samples)
    return rows if any(one.abstained for one in samples) else rows[:0]


MEASURES: tuple[Measure, ...] = (
    Measure(name="accuracy", judge="accuracy",
            rows=_each(lambda one: float(bool(one.correct))),
            about=lambda one: one.answerable),
    Measure(name="ece", called="calibration error", better="lower", judge="accuracy",
            rows=_calibration, statistic=summed_gaps,
            about=lambda one: one.answerable and one.confidence is not None),
    Measure(name="hallucination_rate", better="lower", judge="hallucination",
            rows=_each(lambda one: float(one.hallucinated))),
    Measure(name="hallucination_severity", better="lower", judge="hallucination",
            rows=_each(lambda one: one.severity), main=False),
    Measure(name="normalized_hallucination", called="made-up claims of all",
            better="lower", judge="hallucination",
            rows=_each(lambda one: one.normalized)),
    Measure(name="groundedness", judge="groundedness",
            rows=_each(lambda one: one.groundedness)),
    Measure(name="unsupported_fraction", called="unsupported statements",
            better="lower", judge="groundedness",
            rows=_each(lambda one: one.unsupported), main=False),
    Measure(name="abstention_precision", judge="abstention", rows=_refusals,
            statistic=lambda means: divided(means[:, 0], means[:, 1]), main=False),
    Measure(name="abstention_recall", judge="abstention", rows=_abstention,
            statistic=lambda means: divided(means[:, 0], means[:, 2]), main=False),
    Measure(name="abstention_f1", called="abstention F1", judge="abstention",
            rows=_abstention,
            statistic=lambda m: divided(2 * m[:, 0], m[:, 1] + m[:, 2])),
)  # fmt: skip
"""In the order of all tables; those that are `main` are compared and tested."""

_TIMES = {
    "avg_search_time_s": "search_time_s",
    "avg_extraction_time_s": "{}_extraction_time_s",
    "avg_reasoning_time_s": "{}_reasoning_time_s",
}
_TOKENS = {"avg_context_tokens": "{}_tokens_est"} | {
    f"avg_{name}_tokens": f"{{}}_{name}_tokens"
    for phase in ("extraction", "reasoning")
    for name in (f"{phase}_prompt", f"{phase}_completion")
}
"""Metric -> key of a row; means over rows with a usable extraction and a number."""

NUMBERS: dict[str, str] = TEXTS["skn"]["numbers"]
"""Metric without an interval -> what it is called."""


def calculate_metrics(
    results: list[dict[str, Any]],
    pipelines: list[str] | None = None,
    model: ModelLike = DEFAULT_MODEL,
) -> dict[str, Any]:
    """Return the metrics of each pipeline; rows without verdicts are judged first.

    Args:
        results: Rows with `id`, `raw_text`, `ground_truth`, `answerable`, and for each
            pipeline `<name>_answer` and `<name>_confidence`; verdicts are added to
            them.
        pipelines: Names of the pipelines; None takes those that the rows have.
        model: The judge, which is not asked where all rows have verdicts.

    Returns:
        `efficiency`, and an object for each pipeline, rounded to four digits: the
        published metrics by their names, None where they are undefined; `<metric>_ci`
        with the interval of each; rates of failed judges, extractions, answers and
        searches; tokens as the server counts them, of the `usable_extractions`;
        `judged_only`, the metrics of the answers that were judged; `by_category`.
    """
    ends = "_answer"
    known = [key for row in results for key in row if key.endswith(ends)]
    names = pipelines or list(dict.fromkeys(key.removesuffix(ends) for key in known))
    if not results or not names:
        msg = "There are no rows with answers: give results with `<name>_answer`."
        raise InputError(msg)
    waiting = [(row, v) for row in results for v in names if not is_judged(row, v)]
    if waiting:
        who = Respondent(model=as_model(model))
        for row, variant in waiting:
            judge_row(row, variant, partial(verdict_of, who))
    metrics: dict[str, Any] = {v: _pipeline_metrics(results, v) for v in names}
    metrics["efficiency"] = _efficiency(results, names)
    return metrics


def _pipeline_metrics(rows: Sequence[dict[str, Any]], variant: str) -> dict[str, Any]:
    samples = [scored(row, variant) for row in rows]
    return {
        **_measured(samples),
        **_confidences(samples),
        **_costs(rows, variant),
        **_failures(rows, variant),
        "n": len(samples),
        "usable_extractions": sum(one.usable for one in samples),
        "answerable": sum(one.answerable for one in samples),
        "judged_only": {
            of.name: of.value([one for one in samples if of.judge not in one.failed])
            for of in MEASURES
        },
        "by_category": _by_category(samples),
    }


def _measured(samples: Sequence[Scored]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for measure in MEASURES:
        found[f"{measure.name}_ci"] = interval = measure.interval(samples)
        found[measure.name] = interval["mean"] if interval else None
    return found


def _confidences(samples: Sequence[Scored]) -> dict[str, float | None]:
    asked = [one for one in samples if one.answerable]
    groups = {
        "avg_confidence": asked,
        "confidence_when_correct": [one for one in asked if one.correct],
        "confidence_when_wrong": [one for one in asked if not one.correct],
    }
    return {
        name: _mean([one.confidence for one in group if one.confidence is not None])
        for name, group in groups.items()
    }


def _mean(numbers: Sequence[float]) -> float | None:
    return round(float(np.mean(numbers)), DIGITS) if numbers else None


def _costs(rows: Sequence[dict[str, Any]], variant: str) -> dict[str, float | None]:
    times = {n: _mean(_numbers(rows, k.format(variant))) for n, k in _TIMES.items()}
    known = [seconds for seconds in times.values() if seconds is not None]
    usable = [row for row in rows if is_usable(row, variant)]
    tokens = {n: _mean(_numbers(usable, k.format(variant))) for n, k in _TOKENS.items()}
    total = round(sum(known), DIGITS) if known else None
    return {**times, "avg_total_latency_s": total, **tokens}


def _numbers(rows: Sequence[dict[str, Any]], key: str) -> list[float]:
    return [float(row[key]) for row in rows if row.get(key) is not None]


def _failures(rows: Sequence[dict[str, Any]], variant: str) -> dict[str, Any]:
    asked = [
        (name, said)
        for row in rows
        for name, said in row.get(f"{variant}_judges", {}).items()
        if said.get("error") != NOTHING_TO_JUDGE
    ]
    failed = dict.fromkeys((name for name, _ in asked), 0)
    for name, said in asked:
        failed[name] += bool(said.get("error"))
    lost = sum(bool(row.get("search_failed")) for row in rows)
    empty = sum(not str(row.get("raw_text", "-")).strip() for row in rows)
    statuses = [row.get(f"{variant}_extraction_status") for row in rows]
    shortened = sum(_was_shortened(row, variant) for row in rows)
    silent = sum(bool(row.get(f"{variant}_reasoning_error")) for row in rows)
    return {
        "judge_failure_rate": _share(sum(failed.values()), len(asked)),
        "judge_failures": failed,
        "extraction_failure_rate": _share(statuses.count("failed"), len(rows)),
        "extraction_repair_rate": _share(statuses.count("repaired"), len(rows)),
        "extraction_shortened_rate": _share(shortened, len(rows)),
        "agent_failure_rate": _share(silent, len(rows)),
        "search_failure_rate": _share(lost, len(rows)),
        "empty_search_rate": _share(empty - lost, len(rows)),
    }


def _was_shortened(row: dict[str, Any], variant: str) -> bool:
    """Return whether passages of the search results could not be used."""
    read = row.get(f"{variant}_extraction_read_characters")
    whole = row.get(f"{variant}_extraction_source_characters")
    return read is not None and whole is not None and 0 < read < whole


def _share(count: int, total: int) -> float | None:
    return round(count / total, DIGITS) if total else None


def _by_category(samples: Sequence[Scored]) -> dict[str, Any]:
    groups: dict[str, list[Scored]] = {}
    for one in samples:
        groups.setdefault(one.category, []).append(one)
    return {
        category: {"n": len(group), **_measured(group)}
        for category, group in groups.items()
    }


def _efficiency(
    rows: Sequence[dict[str, Any]], pipelines: Sequence[str]
) -> dict[str, float | None]:
    """Return tokens of SKN as a share of those of JSON, where both can be used."""
    pair = ("skn", "json")
    if not set(pair) <= set(pipelines):
        return {}
    usable = [row for row in rows if all(is_usable(row, v) for v in pair)]
    tokens = [tuple(row.get(f"{v}_tokens_est") or 0 for v in pair) for row in usable]
    known = [both for both in tokens if all(both)]
    ratio = sum(s for s, _ in known) / sum(j for _, j in known) if known else None
    return {
        "token_ratio_skn_vs_json": None if ratio is None else round(ratio, DIGITS),
        "token_ratio_n": len(known),
    }


FULL = "skn"


def compare_pipelines(
    rows: Sequence[dict[str, Any]], pipelines: Sequence[str]
) -> tuple[Difference, ...]:
    """Compare pipelines with the first one, and ablated ones with the whole."""
    pairs = [(pipelines[0], other) for other in pipelines[1:]]
    if FULL in pipelines:
        known = {frozenset(pair) for pair in pairs}
        pairs += [
            (FULL, other)
            for other in pipelines
            if other != FULL and frozenset((FULL, other)) not in known
        ]
    tested = []
    samples = {v: [scored(row, v) for row in rows] for v in pipelines}
    for first, second in pairs:
        for measure in MEASURES:
            kept = [
                pair
                for pair in zip(samples[first], samples[second], strict=True)
                if all(one.usable and measure.about(one) for one in pair)
            ]
            if not measure.main or not kept:
                continue
            one, two = (measure.rows(side) for side in zip(*kept, strict=True))
            if not len(one):
                continue
            found = compare_paired(
                one,
                two,
                measure.statistic,
                resamples=RESAMPLES,
                method="percentile",
                seed=SEED,
                bounds=SHARE,
            )
            tested.append((second, first, measure.name, found))
    return corrected_differences(tested)


def ahead(one: Difference) -> str:
    """Return the pipeline that a metric speaks for, empty for neither."""
    if abs(one.found.difference.value) < 10**-DIGITS:
        return ""
    (better,) = (each.better for each in MEASURES if each.name == one.metric)
    higher = one.found.difference.value > 0
    return one.name if higher == (better == "higher") else one.base


def difference_row(one: Difference) -> dict[str, Any]:
    """Return a difference as the result files have it, rounded."""
    interval = one.found.difference
    return {
        "metric": one.metric,
        "first": one.base,
        "second": one.name,
        "first_value": round(one.found.first, DIGITS),
        "second_value": round(one.found.second, DIGITS),
        "difference": round(interval.value, DIGITS),
        "low": _end(interval.low),
        "high": _end(interval.high),
        "p_value": round(one.found.p_value, DIGITS),
        "p_corrected": round(one.p_value, DIGITS),
        "better": ahead(one),
        "n": one.found.n,
    }


def _end(value: float) -> float | None:
    return round(value, DIGITS) if value == value else None

"""From judged rows to the metrics of each pipeline, and what sets two of them apart."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from knowtrail.eval.differences import corrected_differences
from knowtrail.eval.models import DEFAULT_MODEL, Respondent, as_model
from knowtrail.eval.skn.judging import (
    NOTHING_TO_JUDGE,
    is_judged,
    judge_row,
    verdict_of,
)
from knowtrail.eval.skn.metrics import (
    DIGITS,
    MEASURES,
    RESAMPLES,
    SEED,
    Scored,
    is_usable,
    mean,
    scored,
)
from knowtrail.eval.statistics import SHARE, compare_paired
from knowtrail.graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.language_models import BaseChatModel

    from knowtrail.eval.differences import Difference
    from knowtrail.graph.models.language_models import LanguageModel

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

NUMBERS = {
    "usable_extractions": "extractions that can be used, count",
    "avg_context_tokens": "context tokens, a quarter of the characters",
    "avg_extraction_prompt_tokens": "tokens of the extractor's prompt, counted",
    "avg_extraction_completion_tokens": "tokens of the extraction, counted",
    "avg_reasoning_prompt_tokens": "tokens of the agent's prompt, counted",
    "avg_reasoning_completion_tokens": "tokens of the answer, counted",
    "avg_search_time_s": "seconds of searching",
    "avg_extraction_time_s": "seconds of extracting",
    "avg_reasoning_time_s": "seconds of reasoning",
    "avg_total_latency_s": "seconds in all",
    "avg_confidence": "confidence of the agent",
    "confidence_when_correct": "confidence where it is right",
    "confidence_when_wrong": "confidence where it is wrong",
    "judge_failure_rate": "judges that gave no verdict, of all",
    "extraction_failure_rate": "extractions that failed, of all",
    "extraction_repair_rate": "extractions that were repaired, of all",
    "extraction_shortened_rate": "texts that were read in part, of all",
    "agent_failure_rate": "answers that did not come, of all",
    "search_failure_rate": "searches that failed, of all",
    "empty_search_rate": "searches that found nothing, of all",
}
"""Metric without an interval -> what it is called."""


def calculate_metrics(
    results: list[dict[str, Any]],
    pipelines: list[str] | None = None,
    model: str | BaseChatModel | LanguageModel = DEFAULT_MODEL,
) -> dict[str, Any]:
    """Return the metrics of each pipeline; rows without verdicts are judged first.

    Args:
        results: Rows with `id`, `raw_text`, `ground_truth`, `answerable`, and for each
            pipeline `<name>_answer` and `<name>_confidence`; verdicts are added to
            them.
        pipelines: Names of the pipelines; None takes those that the rows have.
        model: The judge: name of a model, or any LangChain chat model. It is
            not asked where all rows have verdicts.

    Returns:
        `efficiency`, and an object for each pipeline, rounded to four digits: the
        published metrics by their names, None where they are undefined; `<metric>_ci`
        with the interval of each; rates of failed judges, extractions, answers and
        searches; tokens as the server counts them, of the `usable_extractions`;
        `judged_only`, the metrics of the answers that were judged; `by_category`.

    Raises:
        InputError: If there are no rows, or one lacks something.
        ModelError: If the judge's server is down or refuses.
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
    """Return the metrics of one pipeline, None where they are undefined."""
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
    """Return each metric, and its interval."""
    found: dict[str, Any] = {}
    for measure in MEASURES:
        found[f"{measure.name}_ci"] = interval = measure.interval(samples)
        found[measure.name] = interval["mean"] if interval else None
    return found


def _confidences(samples: Sequence[Scored]) -> dict[str, float | None]:
    """Return mean confidences over the answerable samples."""
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
    """Return a mean, rounded; None of nothing."""
    return round(mean(numbers), DIGITS) if numbers else None


def _costs(rows: Sequence[dict[str, Any]], variant: str) -> dict[str, float | None]:
    """Return mean times and tokens; None where no row has the number."""
    times = {n: _mean(_numbers(rows, k.format(variant))) for n, k in _TIMES.items()}
    known = [seconds for seconds in times.values() if seconds is not None]
    usable = [row for row in rows if is_usable(row, variant)]
    tokens = {n: _mean(_numbers(usable, k.format(variant))) for n, k in _TOKENS.items()}
    total = round(sum(known), DIGITS) if known else None
    return {**times, "avg_total_latency_s": total, **tokens}


def _numbers(rows: Sequence[dict[str, Any]], key: str) -> list[float]:
    """Return the numbers under a key, as far as rows have one."""
    return [float(row[key]) for row in rows if row.get(key) is not None]


def _failures(rows: Sequence[dict[str, Any]], variant: str) -> dict[str, Any]:
    """Return how much went wrong, as shares and counts."""
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
    """Return a share, rounded; None of nothing."""
    return round(count / total, DIGITS) if total else None


def _by_category(samples: Sequence[Scored]) -> dict[str, Any]:
    """Return each metric with its interval for each category, in their order."""
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
    """Return a difference as the result files have it, rounded.

    `n` are the samples of which both have a usable extraction, as far as the metric is
    about them.
    """
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
    """Return an end of an interval; None where there is none."""
    return round(value, DIGITS) if value == value else None

"""From judged rows to the metrics of each pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eval.skn.judging import NOTHING_TO_JUDGE, asking, is_judged, judge_row
from eval.skn.measures import MEASURES, Scored, scored
from eval.skn.metrics import DIGITS, bootstrap_rows, mean
from eval.skn.models import DEFAULT_MODEL, Respondent, as_model
from graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.language_models import BaseChatModel

    from graph.language_models import LanguageModel

__all__ = ["calculate_metrics", "pipeline_metrics", "pipelines_of"]

_TIMES = {
    "avg_search_time_s": "search_time_s",
    "avg_extraction_time_s": "{}_extraction_time_s",
    "avg_reasoning_time_s": "{}_reasoning_time_s",
}
_TOKENS = {
    "avg_context_tokens": "{}_tokens_est",
    "avg_extraction_prompt_tokens": "{}_extraction_prompt_tokens",
    "avg_extraction_completion_tokens": "{}_extraction_completion_tokens",
    "avg_reasoning_prompt_tokens": "{}_reasoning_prompt_tokens",
    "avg_reasoning_completion_tokens": "{}_reasoning_completion_tokens",
}
"""Metric -> key of a row; means over the rows that have a number there."""


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
        model: The judge: name of an Ollama model, or any LangChain chat model. It is
            not asked where all rows have verdicts.

    Returns:
        An object for each pipeline, see `pipeline_metrics`, and `efficiency`.

    Raises:
        InputError: If there are no rows, or one lacks something.
        ModelError: If the judge's server is down or refuses.
    """
    names = list(pipelines) if pipelines else pipelines_of(results)
    if not results or not names:
        msg = "There are no rows with answers: give results with `<name>_answer`."
        raise InputError(msg)
    waiting = [(row, v) for row in results for v in names if not is_judged(row, v)]
    if waiting:
        verdict = asking(Respondent(model=as_model(model)))
        for row, variant in waiting:
            judge_row(row, variant, verdict)
    metrics: dict[str, Any] = {v: pipeline_metrics(results, v) for v in names}
    metrics["efficiency"] = _efficiency(metrics)
    return metrics


def pipelines_of(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the names of the pipelines that rows have answers of.

    Args:
        rows: Rows with `<name>_answer`.
    """
    ends = "_answer"
    found = [
        key.removesuffix(ends) for row in rows for key in row if key.endswith(ends)
    ]
    return list(dict.fromkeys(found))


def pipeline_metrics(rows: Sequence[dict[str, Any]], variant: str) -> dict[str, Any]:
    """Return the metrics of one pipeline, each rounded to four digits.

    Args:
        rows: Judged rows.
        variant: The pipeline.

    Returns:
        The published metrics by their names; `<metric>_ci` with the interval of each;
        rates of failed judges, extractions, answers and searches; tokens as the
        server counts them; `judged_only`, the metrics of the answers that were judged;
        `by_category`.
    """
    samples = [scored(row, variant) for row in rows]
    metrics: dict[str, Any] = {}
    for measure in MEASURES:
        interval = bootstrap_rows(measure.rows(samples), measure.statistic)
        metrics[measure.name] = interval["mean"]
        metrics[f"{measure.name}_ci"] = interval
    metrics |= _confidences(samples)
    metrics |= _costs(rows, variant)
    metrics |= _failures(rows, samples, variant)
    metrics["n"] = len(samples)
    metrics["answerable"] = sum(one.answerable for one in samples)
    metrics["judged_only"] = _judged_only(samples)
    metrics["by_category"] = _by_category(samples)
    return metrics


def _confidences(samples: Sequence[Scored]) -> dict[str, float]:
    """Return mean confidences over the answerable samples."""
    asked = [one for one in samples if one.answerable]
    groups = {
        "avg_confidence": asked,
        "confidence_when_correct": [one for one in asked if one.correct],
        "confidence_when_wrong": [one for one in asked if not one.correct],
    }
    return {
        name: round(mean([one.confidence for one in group]), DIGITS)
        for name, group in groups.items()
    }


def _costs(rows: Sequence[dict[str, Any]], variant: str) -> dict[str, float | None]:
    """Return mean times and tokens; None where no row has the number."""
    times = {
        name: round(mean(_numbers(rows, key.format(variant))), DIGITS)
        for name, key in _TIMES.items()
    }
    tokens = {}
    for name, key in _TOKENS.items():
        numbers = _numbers(rows, key.format(variant))
        tokens[name] = round(mean(numbers), DIGITS) if numbers else None
    total = round(sum(times.values()), DIGITS)
    return {**times, "avg_total_latency_s": total, **tokens}


def _numbers(rows: Sequence[dict[str, Any]], key: str) -> list[float]:
    """Return the numbers under a key, as far as rows have one."""
    return [float(row[key]) for row in rows if row.get(key) is not None]


def _failures(
    rows: Sequence[dict[str, Any]], samples: Sequence[Scored], variant: str
) -> dict[str, Any]:
    """Return how much went wrong, as shares and counts."""
    asked = [
        (name, said)
        for row in rows
        for name, said in row.get(f"{variant}_judges", {}).items()
        if said.get("error") != NOTHING_TO_JUDGE
    ]
    failed: dict[str, int] = {}
    for name, said in asked:
        failed[name] = failed.get(name, 0) + bool(said.get("error"))
    statuses = [row.get(f"{variant}_extraction_status") for row in rows]
    return {
        "judge_failure_rate": _share(sum(failed.values()), len(asked)),
        "judge_failures": failed,
        "extraction_failure_rate": _share(statuses.count("failed"), len(rows)),
        "extraction_repair_rate": _share(statuses.count("repaired"), len(rows)),
        "extraction_shortened_rate": _share(
            sum(_was_shortened(row, variant) for row in rows), len(rows)
        ),
        "agent_failure_rate": _share(
            sum(bool(row.get(f"{variant}_reasoning_error")) for row in rows), len(rows)
        ),
        "empty_search_rate": _share(
            sum(not str(row.get("raw_text", "-")).strip() for row in rows), len(rows)
        ),
    }


def _was_shortened(row: dict[str, Any], variant: str) -> bool:
    """Return whether the extractor was shown less than all search results."""
    read = row.get(f"{variant}_extraction_read_characters")
    whole = row.get(f"{variant}_extraction_source_characters")
    return read is not None and whole is not None and read < whole


def _share(count: int, total: int) -> float:
    """Return a share, rounded; of nothing it is 0."""
    return round(count / total, DIGITS) if total else 0.0


def _judged_only(samples: Sequence[Scored]) -> dict[str, Any]:
    """Return metrics over the answers that their judge gave a verdict on."""
    found: dict[str, Any] = {}
    for measure in MEASURES:
        kept = [one for one in samples if measure.judge not in one.failed]
        rows = measure.rows(kept)
        value = None
        if len(rows):
            value = round(
                float(measure.statistic(rows.mean(axis=0, keepdims=True))[0]), DIGITS
            )
        found[measure.name] = value
    return found


def _by_category(samples: Sequence[Scored]) -> dict[str, Any]:
    """Return each metric with its interval for each category, in their order."""
    found: dict[str, Any] = {}
    for category in dict.fromkeys(one.category for one in samples):
        group = [one for one in samples if one.category == category]
        entry: dict[str, Any] = {"n": len(group)}
        for measure in MEASURES:
            rows = measure.rows(group)
            interval = bootstrap_rows(rows, measure.statistic) if len(rows) else None
            entry[measure.name] = interval["mean"] if interval else None
            entry[f"{measure.name}_ci"] = interval
        found[category] = entry
    return found


def _efficiency(metrics: dict[str, Any]) -> dict[str, float]:
    """Return tokens of SKN as a share of those of JSON, where both were run."""
    tokens = [metrics.get(v, {}).get("avg_context_tokens") for v in ("skn", "json")]
    if not all(tokens):
        return {}
    return {"token_ratio_skn_vs_json": round(tokens[0] / tokens[1], DIGITS)}

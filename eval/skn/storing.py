"""Results of the benchmark in the result store: a run for each model and format.

So the saved queries that set two runs side by side set two formats side by side. The
metrics of a category have its name as their path; a difference between formats is a
metric of the second one, with the first one's name as its path.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from eval.records import EvalRecord, EvalRun, Metric
from eval.skn.measures import MEASURES, scored
from eval.store import link_judged, open_run
from graph.prompts import whole_characters
from ingest.keys import content_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eval.skn.model_run import ModelOutcome
    from graph.connection import Connection

__all__ = ["store_outcome"]

_PLAIN = (
    "avg_confidence",
    "confidence_when_correct",
    "confidence_when_wrong",
    "avg_search_time_s",
    "avg_extraction_time_s",
    "avg_reasoning_time_s",
    "avg_total_latency_s",
    "avg_context_tokens",
    "avg_extraction_prompt_tokens",
    "avg_extraction_completion_tokens",
    "avg_reasoning_prompt_tokens",
    "avg_reasoning_completion_tokens",
    "judge_failure_rate",
    "extraction_failure_rate",
    "extraction_repair_rate",
    "extraction_shortened_rate",
    "agent_failure_rate",
    "empty_search_rate",
)
"""Metrics without an interval."""


def store_outcome(
    connection: Connection,
    outcome: ModelOutcome,
    *,
    dataset: str,
    configuration: Mapping[str, Any],
) -> dict[str, str]:
    """Store what a benchmark gave; the same results again write nothing.

    A record judges the Extraction nodes of its model and format that came from the same
    answer of the model, also those that came into the graph after an earlier attempt.

    Args:
        connection: The database.
        outcome: What the benchmark of one model gave.
        dataset: What the data set is called.
        configuration: How it was run.

    Returns:
        The id of the run of each format.

    Raises:
        DatabaseError: If the store fails; the next attempt goes on.
    """
    runs = {}
    created = datetime.now(UTC)
    for variant in outcome.pipelines:
        run = EvalRun(
            kind="skn",
            dataset=dataset,
            configuration={
                **configuration,
                "model": outcome.model,
                "judge": outcome.judge,
                "variant": variant,
            },
            commit=_version(),
            key=_results_key(outcome, variant),
            created=created,
        )
        with open_run(connection, run) as writer:
            for row in outcome.rows:
                writer.add(_record(row, variant))
            writer.metric(*_metrics(outcome, variant))
        link_judged(connection, run.id, _judged(connection, outcome, variant))
        runs[variant] = run.id
    return runs


def _judged(
    connection: Connection, outcome: ModelOutcome, variant: str
) -> dict[int, list[str]]:
    """Return the ids of stored extractions from the same answer, by row."""
    answers = {_raw_answer(row, variant) for row in outcome.rows} - {""}
    found: dict[str, list[str]] = {}
    for row in connection.read(
        "eval/skn_extractions",
        model=outcome.model,
        variant=variant,
        answers=sorted(answers),
    ):
        found.setdefault(row["answer"], []).append(row["id"])
    return {
        number: found.get(_raw_answer(row, variant), [])
        for number, row in enumerate(outcome.rows)
    }


def _raw_answer(row: dict[str, Any], variant: str) -> str:
    """Return the extractor's answer as it is stored; empty where there was none."""
    return whole_characters(row.get(f"{variant}_extraction_raw") or "")


def _version() -> str:
    """Return the version of this program."""
    try:
        return version("knowtrail")
    except PackageNotFoundError:
        return ""


def _results_key(outcome: ModelOutcome, variant: str) -> str:
    """Return a key of the verdicts, so that other verdicts are another run."""
    verdicts = [
        [row[key] for key in ("id", *(f"{variant}_{name}" for name in _VERDICTS))]
        for row in outcome.rows
    ]
    return content_key("skn", json.dumps(verdicts, sort_keys=True))


_VERDICTS = (
    "answer",
    "confidence",
    "correct",
    "hallucination",
    "groundedness",
    "abstained",
)


def _record(row: dict[str, Any], variant: str) -> EvalRecord:
    """Return one answer as the store takes it."""
    one = scored(row, variant)
    numbers: dict[str, Any] = {
        "correct": None if one.correct is None else float(one.correct),
        "confidence": one.confidence,
        "hallucinated": float(one.hallucinated),
        "severity": one.severity,
        "normalizedHallucination": one.normalized,
        "groundedness": one.groundedness,
        "unsupported": one.unsupported,
        "abstained": float(one.abstained),
        "answerable": float(one.answerable),
        "failedJudges": float(len(one.failed)),
        "contextTokens": row.get(f"{variant}_tokens_est"),
        "extractionSeconds": row.get(f"{variant}_extraction_time_s"),
        "reasoningSeconds": row.get(f"{variant}_reasoning_time_s"),
    }
    return EvalRecord(
        record_id=one.id,
        scores={name: value for name, value in numbers.items() if value is not None},
    )


def _metrics(outcome: ModelOutcome, variant: str) -> Iterator[Metric]:
    """Yield the metrics of one format: whole, by category, against other formats."""
    metrics = outcome.metrics[variant]
    for measure in MEASURES:
        yield _interval(measure.name, metrics[f"{measure.name}_ci"], n=metrics["n"])
    for name in _PLAIN:
        if metrics[name] is not None:
            yield Metric(name=name, value=metrics[name], n=metrics["n"])
    for category, entry in metrics["by_category"].items():
        for measure in MEASURES:
            if (found := entry[f"{measure.name}_ci"]) is not None:
                yield _interval(measure.name, found, n=entry["n"], path=category)
    for one in outcome.differences:
        if one.second == variant:
            yield Metric(
                name=f"{one.metric}_difference",
                value=one.difference,
                path=f"less {one.first}",
                low=one.low,
                high=one.high,
                n=one.n,
                counts={"pValue": one.p_value, "pCorrected": one.p_corrected},
            )


def _interval(
    name: str, found: Mapping[str, float], *, n: int, path: str = ""
) -> Metric:
    """Return a metric with its interval."""
    return Metric(
        name=name,
        value=found["mean"],
        path=path,
        low=found["ci_low"],
        high=found["ci_high"],
        n=n,
    )

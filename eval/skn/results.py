"""What a benchmark gave: for people, as files, and as runs in the graph.

In the graph there is a run for each format, so the saved queries that set two runs side
by side set two formats side by side. The metrics of a category have its name as their
path; a difference between formats is a metric of the second one, with the first one's
name as its path.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from math import isnan
from typing import TYPE_CHECKING, Any

from knowtrail.eval.report import NOTES, Table, aligned, filled, table, told
from knowtrail.eval.skn.metrics import MEASURES, NUMBERS, ahead, difference_row, scored
from knowtrail.eval.store import EvalRecord, EvalRun, Metric, sendable, store_run
from knowtrail.graph.errors import StorageError
from knowtrail.graph.files import disk_errors, write_file
from knowtrail.graph.models.prompts import whole_characters
from knowtrail.ingest.keys import content_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from knowtrail.eval.skn.benchmark import ModelOutcome
    from knowtrail.eval.skn.metrics import Measure, Scored
    from knowtrail.graph.db.connection import Connection

WORST = 15
_ALPHA = 0.05


def benchmark_page(
    outcomes: Sequence[ModelOutcome], *, title: str, about: Mapping[str, str]
) -> str:
    """Return the report as HTML, with what was run and how by name."""
    return filled(
        "skn/report.html",
        title=title,
        about=about,
        measures=MEASURES,
        models=[_model(one, several=len(outcomes) > 1) for one in outcomes],
    )


def _model(outcome: ModelOutcome, *, several: bool) -> dict[str, Any]:
    prefix, pipelines = f"{outcome.model}: " if several else "", outcome.pipelines
    samples = [[scored(row, v) for v in pipelines] for row in outcome.rows]
    shared = [of for of in samples if all(one.usable for one in of)]
    kept = {v: [of[place] for of in shared] for place, v in enumerate(pipelines)}
    ranked = sorted(outcome.rows, key=lambda row: -_badness(row, pipelines))
    return {
        "prefix": prefix,
        "rows": outcome.rows,
        "metrics": {v: outcome.metrics[v] for v in pipelines},
        "answerable": sum(bool(row["answerable"]) for row in outcome.rows),
        "shared": len(shared),
        "best": {measure.name: _best(kept, measure) for measure in MEASURES},
        "differences": _differences(outcome, prefix),
        "costs": _costs(outcome, prefix),
        "worst": ranked[:WORST],
    }


def _best(samples: Mapping[str, Sequence[Scored]], measure: Measure) -> list[str]:
    values = {v: measure.value(of) for v, of in samples.items()}
    known = [value for value in values.values() if value is not None]
    if len(known) < len(values):
        return []
    best = (max if measure.better == "higher" else min)(known)
    found = [v for v, value in values.items() if value == best]
    return found if len(found) < len(values) else []


def _differences(outcome: ModelOutcome, prefix: str = "") -> Table:
    labels = {measure.name: measure.label for measure in MEASURES}
    rows = []
    for one in outcome.differences:
        sure, found = one.p_value < _ALPHA, one.found.difference
        ends = "-" if isnan(found.low) else f"{found.low:+.3f} to {found.high:+.3f}"
        better = (ahead(one) or "neither") if sure else "not told apart"
        rows.append((labels[one.metric], one, ends, better))
    return table("formats", rows, prefix=prefix)


def _costs(outcome: ModelOutcome, prefix: str = "") -> Table:
    shown = {v: f"{{one[1][{v}]}}" for v in outcome.pipelines}
    rows = [
        (label, {v: _shown(outcome.metrics[v][name]) for v in outcome.pipelines})
        for name, label in NUMBERS.items()
    ]
    return table("costs", rows, shown, prefix=prefix)


def _shown(value: float | None) -> str:
    return (
        "-" if value is None else f"{value:,.4g}" if value < 1000 else f"{value:,.0f}"
    )


def _badness(row: dict[str, Any], pipelines: Sequence[str]) -> float:
    total = 0.0
    for v in pipelines:
        wrong = (
            row[f"{v}_correct"] is False
            if row["answerable"]
            else not row[f"{v}_abstained"]
        )
        total += wrong + row[f"{v}_hallucination"]["hallucination_severity"]
        total += 1 - row[f"{v}_groundedness"]["groundedness_score"]
    return total


VERDICT = ["accuracy", "ece", "hallucination_rate", "groundedness", "abstention_f1"]
"""The metrics by which two formats are set against each other."""


def summary_text(outcome: ModelOutcome) -> str:
    """Return the summary of a run."""
    pipelines, metrics = outcome.pipelines, outcome.metrics
    costs, apart = _costs(outcome), _differences(outcome)
    named = [f"{measure.name}_ci" for measure in MEASURES]
    values = [[_interval_text(metrics[v][ci]) for v in pipelines] for ci in named]
    labels = [measure.label for measure in MEASURES]
    verdict, won = _verdict(outcome)
    text = told(
        "skn/summary.txt",
        outcome=outcome,
        formats=pipelines,
        answerable=sum(bool(row["answerable"]) for row in outcome.rows),
        metrics=[
            ["metric (95 % interval)", *pipelines],
            *([label, *of] for label, of in zip(labels, values, strict=True)),
        ],
        costs=[costs.columns, *costs.rows],
        efficiency=metrics["efficiency"],
        verdict=verdict,
        won=won,
        apart=[apart.columns, *apart.rows],
        aligned=lambda rows: "\n".join(aligned(rows)),
        note=NOTES["skn_summary"],
    )
    return f"{text}\n"


def _interval_text(ci: Mapping[str, float] | None) -> str:
    return f"{ci['mean']:.4f} [{ci['ci_low']:.4f}, {ci['ci_high']:.4f}]" if ci else "-"


def _verdict(outcome: ModelOutcome) -> tuple[list[list[str]], list[int]]:
    """Return which format each metric speaks for, first or last, and how often each."""
    first, second = outcome.pipelines[0], outcome.pipelines[-1]
    found = {
        one.metric: one
        for one in outcome.differences
        if (one.base, one.name) == (first, second)
    }
    rows = [["metric, both extractions usable", "n", first, second, "ahead"]]
    for name in VERDICT:
        cells = ["-"] * 4
        if one := found.get(name):
            values = [f"{value:.4f}" for value in (one.found.first, one.found.second)]
            cells = [str(one.found.n), *values, ahead(one) or "tie"]
        rows.append([name.replace("_", " "), *cells])
    won = [ahead(found[name]) for name in VERDICT if name in found]
    return rows, [won.count(name) for name in (first, second, "")] if won else []


def write_results(folder: Path, name: str, value: Any) -> None:
    """Write a file of JSON into the folder of a run, which is made where missing."""
    told = "Cannot make the folder {folder}: {reason}."
    with disk_errors(StorageError, told, folder=folder):
        folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
    write_file(folder / name, f"{sendable(text)}\n")


def write_search_results(folder: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write what was found; the file can be given to another run."""
    names = ("id", "question", "raw_text")
    entries = [
        {name: row[name] for name in names} | {"raw_text_chars": len(row["raw_text"])}
        for row in rows
    ]
    write_results(folder, "search_results.json", entries)


def write_extractions(
    folder: Path, rows: Sequence[dict[str, Any]], pipelines: Sequence[str]
) -> None:
    """Write the extractions of each format."""
    entries = []
    for row in rows:
        entry: dict[str, Any] = {"id": row["id"]}
        for v in pipelines:
            entry[f"{v}_extraction"] = row[f"{v}_context"]
            entry[f"{v}_tokens_est"] = row[f"{v}_tokens_est"]
            entry[f"{v}_status"] = row[f"{v}_extraction_status"]
            entry[f"{v}_repairs"] = row[f"{v}_extraction_repairs"] or []
            if row[f"{v}_extraction_error"]:
                entry[f"{v}_error"] = row[f"{v}_extraction_error"]
                entry[f"{v}_raw"] = row[f"{v}_extraction_raw"]
        entries.append(entry)
    write_results(folder, "extractions.json", entries)


def write_responses(
    folder: Path, rows: Sequence[dict[str, Any]], pipelines: Sequence[str]
) -> None:
    """Write the answers to each format."""
    names = ("answer", "confidence", "reasoning")
    entries = [
        {"id": row["id"], "question": row["question"]}
        | {f"{v}_response": {n: row[f"{v}_{n}"] for n in names} for v in pipelines}
        for row in rows
    ]
    write_results(folder, "agent_responses.json", entries)


def write_outcome(outcome: ModelOutcome) -> None:
    """Write detailed results, metrics, comparisons and the summary."""
    comparisons = [difference_row(one) for one in outcome.differences]
    write_results(outcome.folder, "detailed_results.json", list(outcome.rows))
    write_results(outcome.folder, "metrics.json", outcome.metrics)
    write_results(outcome.folder, "comparisons.json", comparisons)
    write_file(outcome.folder / "summary.txt", summary_text(outcome))


def store_outcome(
    connection: Connection,
    outcome: ModelOutcome,
    *,
    dataset: str,
    configuration: Mapping[str, Any],
) -> dict[str, str]:
    """Store a run a format, which judges Extractions; return ids by format."""
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
                "modelDigest": outcome.digest,
                "judgeDigest": outcome.judge_digest,
                "formats": ",".join(outcome.pipelines),
                "variant": variant,
            },
            key=_samples_key(outcome),
            created=created,
        )
        judged = _judged(connection, outcome, variant)
        records = [
            _stored_record(row, variant, judged.get(_raw_answer(row, variant), ()))
            for row in outcome.rows
        ]
        metrics = _stored_metrics(outcome, variant)
        store_run(connection, run, records=records, metrics=metrics)
        runs[variant] = run.id
    return runs


def _judged(
    connection: Connection, outcome: ModelOutcome, variant: str
) -> dict[str, list[str]]:
    """Return the ids of stored extractions, by the answer that they came from."""
    answers = {_raw_answer(row, variant) for row in outcome.rows} - {""}
    found: dict[str, list[str]] = {}
    for row in connection.read(
        "eval/skn_extractions",
        model=outcome.model,
        variant=variant,
        answers=sorted(answers),
    ):
        found.setdefault(row["answer"], []).append(row["id"])
    return found


def _raw_answer(row: dict[str, Any], variant: str) -> str:
    """Return the extractor's answer as it is stored; empty where there was none."""
    return whole_characters(row.get(f"{variant}_extraction_raw") or "")


_SAMPLE = ("id", "category", "question", "raw_text", "ground_truth", "answerable")


def _samples_key(outcome: ModelOutcome) -> str:
    asked = [[row.get(name) for name in _SAMPLE] for row in outcome.rows]
    return content_key("skn", json.dumps(asked, sort_keys=True, default=str))


_VERDICTS = (
    *("correct", "confidence", "hallucinated", "severity", "groundedness"),
    *("unsupported", "abstained", "answerable", "usable"),
)


def _stored_record(
    row: dict[str, Any], variant: str, judges: Sequence[str]
) -> EvalRecord:
    one = scored(row, variant)
    numbers: dict[str, Any] = {
        **{name: getattr(one, name) for name in _VERDICTS},
        "normalizedHallucination": one.normalized,
        "failedJudges": float(len(one.failed)),
        "contextTokens": row.get(f"{variant}_tokens_est"),
        "extractionSeconds": row.get(f"{variant}_extraction_time_s"),
        "reasoningSeconds": row.get(f"{variant}_reasoning_time_s"),
    }
    return EvalRecord(
        record_id=one.id,
        scores={
            name: float(value) if isinstance(value, bool) else value
            for name, value in numbers.items()
            if value is not None
        },
        judges=judges,
    )


def _stored_metrics(outcome: ModelOutcome, variant: str) -> Iterator[Metric]:
    metrics = outcome.metrics[variant]
    for path, entry in {"": metrics, **metrics["by_category"]}.items():
        for name in (measure.name for measure in MEASURES):
            if (found := entry[f"{name}_ci"]) is not None:
                ends = {"low": found["ci_low"], "high": found["ci_high"]}
                value, n = found["mean"], entry["n"]
                yield Metric(name=name, value=value, path=path, n=n, **ends)
    for name in NUMBERS:
        if metrics[name] is not None:
            n = metrics["usable_extractions" if name.endswith("_tokens") else "n"]
            yield Metric(name=name, value=metrics[name], n=n)
    for one in outcome.differences:
        if one.name == variant:
            counts = {"pValue": one.found.p_value, "pCorrected": one.p_value}
            name, path = f"{one.metric}_difference", f"less {one.base}"
            metric = Metric.of(name, one.found.difference, path=path)
            yield replace(metric, counts=counts)

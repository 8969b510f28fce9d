"""A benchmark for people: a summary as text, a page with the worst samples besides."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Any

from knowtrail.eval.report import Table, filled
from knowtrail.eval.skn.metrics import MEASURES, scored
from knowtrail.eval.skn.scoring import NUMBERS, ahead

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from knowtrail.eval.skn.benchmark import ModelOutcome
    from knowtrail.eval.skn.metrics import Measure, Scored

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
    """Return everything about one model."""
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
    """Return the formats that are best by a metric; none where all are alike."""
    values = {v: measure.value(of) for v, of in samples.items()}
    known = [value for value in values.values() if value is not None]
    if len(known) < len(values):
        return []
    best = (max if measure.better == "higher" else min)(known)
    found = [v for v, value in values.items() if value == best]
    return found if len(found) < len(values) else []


def _differences(outcome: ModelOutcome, prefix: str = "") -> Table:
    """Return the paired differences as a table."""
    labels = {measure.name: measure.label for measure in MEASURES}
    rows = []
    for one in outcome.differences:
        sure, found = one.p_value < _ALPHA, one.found.difference
        rows.append([
            labels[one.metric],
            f"{one.name} less {one.base}",
            str(one.found.n),
            f"{found.value:+.3f}",
            "-" if isnan(found.low) else f"{found.low:+.3f} to {found.high:+.3f}",
            f"{one.found.p_value:.4f}",
            f"{one.p_value:.4f}",
            (ahead(one) or "neither") if sure else "not told apart",
        ])
    columns = "metric, formats, n, difference, interval, p, p (Holm), better"
    return Table(
        title=f"{prefix}Differences between formats on the same samples",
        note=(
            "Over samples of which both extractions can be used. "
            "Interval: paired bootstrap of samples, 95 %. p: swapping the formats of "
            "each sample, two-sided; beside it corrected by Holm's method for all "
            "rows of the metric. Better is only said where the corrected p is below "
            "0.05."
        ),
        columns=columns.split(", "),
        rows=rows,
    )


def _costs(outcome: ModelOutcome, prefix: str = "") -> Table:
    """Return means of tokens, times and failures as a table."""
    return Table(
        title=f"{prefix}Cost, and what went wrong",
        note=(
            "Means over the samples, those of tokens over the extractions that can be "
            "used; counted tokens are what the server reports."
        ),
        columns=["", *outcome.pipelines],
        rows=[
            [label, *(_shown(outcome.metrics[v][name]) for v in outcome.pipelines)]
            for name, label in NUMBERS.items()
        ],
    )


def _shown(value: float | None) -> str:
    """Return a number in few digits; a dash where nobody counted."""
    return (
        "-" if value is None else f"{value:,.4g}" if value < 1000 else f"{value:,.0f}"
    )


def _badness(row: dict[str, Any], pipelines: Sequence[str]) -> float:
    """Return how bad the answers to a sample are, all formats together."""
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
    lines = [
        f"Extraction formats compared: {', '.join(outcome.pipelines)}",
        f"Model {outcome.model}, judge {outcome.judge}, {len(outcome.rows)} samples, "
        f"{sum(bool(row['answerable']) for row in outcome.rows)} of them answerable",
        "",
        *_metric_lines(outcome),
        "",
        *_table(_costs(outcome)),
        *_ratio(outcome),
        "",
        *_verdict(outcome),
        *(_table(_differences(outcome)) if outcome.differences else ()),
        "",
        "A judge that gives no verdict counts as the worst one; metrics.json has the "
        "metrics without them too (judged_only). Quality figures mean little below a "
        "model of 7 billion parameters.",
        "",
    ]
    return "\n".join(lines)


def _table(table: Table) -> Iterator[str]:
    """Yield a table with its columns aligned; the first is text."""
    rows = [table.columns, *table.rows]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        first = row[0].ljust(widths[0])
        rest = [
            cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)
        ]
        yield "  ".join([first, *rest]).rstrip()


def _metric_lines(outcome: ModelOutcome) -> Iterator[str]:
    """Yield the metrics with their intervals."""
    rows = []
    for measure in MEASURES:
        found = [outcome.metrics[v][f"{measure.name}_ci"] for v in outcome.pipelines]
        rows.append([measure.label, *map(_interval, found)])
    columns = ["metric (95 % interval)", *outcome.pipelines]
    yield from _table(Table(title="", note="", columns=columns, rows=rows))


def _interval(ci: Mapping[str, float] | None) -> str:
    """Return a number with its interval; a dash for none."""
    return f"{ci['mean']:.4f} [{ci['ci_low']:.4f}, {ci['ci_high']:.4f}]" if ci else "-"


def _ratio(outcome: ModelOutcome) -> Iterator[str]:
    """Yield how many tokens SKN has of those of JSON."""
    if efficiency := outcome.metrics["efficiency"]:
        ratio, n = (efficiency[f"token_ratio_{of}"] for of in ("skn_vs_json", "n"))
        said = "-" if ratio is None else f"{ratio:.4g}"
        yield f"Context tokens of skn / json: {said}, of {n} samples with both"


def _verdict(outcome: ModelOutcome) -> Iterator[str]:
    """Yield which format each metric speaks for, the first against the last."""
    if len(outcome.pipelines) < 2:
        return
    first, second = outcome.pipelines[0], outcome.pipelines[-1]
    found = {
        one.metric: one
        for one in outcome.differences
        if (one.base, one.name) == (first, second)
    }
    rows = []
    for name in VERDICT:
        label, one = name.replace("_", " "), found.get(name)
        if one is None:
            rows.append([label, "-", "-", "-", "-"])
            continue
        values = [f"{value:.4f}" for value in (one.found.first, one.found.second)]
        rows.append([label, str(one.found.n), *values, ahead(one) or "tie"])
    columns = ("metric, both extractions usable", "n", first, second, "ahead")
    yield from _table(Table(title="", note="", columns=columns, rows=rows))
    won = [ahead(found[name]) for name in VERDICT if name in found]
    if won:
        counted = [won.count(name) for name in (first, second, "")]
        yield (
            f"{first} {counted[0]}, {second} {counted[1]}, ties {counted[2]}: by the "
            "values alone; the tests below say what is more than chance"
        )
    else:
        yield f"{first} and {second} have no usable extraction of the same sample"
    yield ""

"""The summary of a benchmark for people, as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eval.skn.measures import MEASURES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eval.skn.model_run import ModelOutcome

__all__ = ["VERDICT", "summary_text", "verdicts"]

VERDICT = (
    "accuracy",
    "ece",
    "hallucination_rate",
    "groundedness",
    "abstention_f1",
)
"""The metrics by which two formats are set against each other."""
TIE = 0.0001


def summary_text(outcome: ModelOutcome) -> str:
    """Return the summary of a run.

    Args:
        outcome: What the run gave.
    """
    lines = [
        f"Extraction formats compared: {', '.join(outcome.pipelines)}",
        f"Model {outcome.model}, judge {outcome.judge}, {len(outcome.rows)} samples, "
        f"{sum(bool(row['answerable']) for row in outcome.rows)} of them answerable",
        "",
        *_metrics(outcome),
        "",
        *_costs(outcome),
        "",
        *_verdict(outcome),
        *_tests(outcome),
        "",
        "A judge that gives no verdict counts as the worst one; metrics.json has the "
        "metrics without them too (judged_only). Quality figures mean little below a "
        "model of 7 billion parameters.",
        "",
    ]
    return "\n".join(lines)


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield rows with their columns aligned; the first is text."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        first = row[0].ljust(widths[0])
        rest = [
            cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)
        ]
        yield "  ".join([first, *rest]).rstrip()


def _metrics(outcome: ModelOutcome) -> Iterator[str]:
    """Yield the metrics with their intervals."""
    rows = [["metric (95 % interval)", *outcome.pipelines]]
    for measure in MEASURES:
        cells = []
        for v in outcome.pipelines:
            ci = outcome.metrics[v][f"{measure.name}_ci"]
            cells.append(f"{ci['mean']:.4f} [{ci['ci_low']:.4f}, {ci['ci_high']:.4f}]")
        rows.append([measure.label, *cells])
    yield from _table(rows)


_COSTS = {
    "avg_context_tokens": "context tokens, estimated",
    "avg_extraction_completion_tokens": "tokens of extractions, counted",
    "avg_reasoning_prompt_tokens": "tokens of the agent's prompt, counted",
    "avg_search_time_s": "seconds of searching",
    "avg_extraction_time_s": "seconds of extracting",
    "avg_reasoning_time_s": "seconds of reasoning",
    "avg_total_latency_s": "seconds in all",
    "judge_failure_rate": "judges that failed",
    "extraction_failure_rate": "extractions that failed",
    "extraction_repair_rate": "extractions that were repaired",
    "extraction_shortened_rate": "search results that were too long",
    "agent_failure_rate": "answers that did not come",
    "empty_search_rate": "searches that found nothing",
}


def _costs(outcome: ModelOutcome) -> Iterator[str]:
    """Yield mean costs and what went wrong."""
    rows = [["mean of a sample", *outcome.pipelines]]
    for name, label in _COSTS.items():
        values = [outcome.metrics[v][name] for v in outcome.pipelines]
        shown = ["-" if value is None else f"{value:.4g}" for value in values]
        rows.append([label, *shown])
    yield from _table(rows)


def verdicts(metrics: dict[str, Any], first: str, second: str) -> dict[str, str]:
    """Return which of two pipelines each metric speaks for; empty for a tie.

    Args:
        metrics: As in `metrics.json`.
        first: One pipeline.
        second: The other.
    """
    found = {}
    for measure in MEASURES:
        if measure.name not in VERDICT:
            continue
        gap = metrics[second][measure.name] - metrics[first][measure.name]
        won = second if (gap > 0) == (measure.better == "higher") else first
        found[measure.name] = "" if abs(gap) < TIE else won
    return found


def _verdict(outcome: ModelOutcome) -> Iterator[str]:
    """Yield which format each metric speaks for, the first against the last."""
    if len(outcome.pipelines) < 2:
        return
    first, second = outcome.pipelines[0], outcome.pipelines[-1]
    won = verdicts(outcome.metrics, first, second)
    rows = [["metric", first, second, "ahead"]]
    for name, winner in won.items():
        values = [f"{outcome.metrics[v][name]:.4f}" for v in (first, second)]
        rows.append([name.replace("_", " "), *values, winner or "tie"])
    yield from _table(rows)
    counted = [list(won.values()).count(name) for name in (first, second, "")]
    yield (
        f"{first} {counted[0]}, {second} {counted[1]}, ties {counted[2]}: by the "
        "values alone; the tests below say what is more than chance"
    )
    yield ""


def _tests(outcome: ModelOutcome) -> Iterator[str]:
    """Yield the paired differences and their p-values."""
    if not outcome.differences:
        return
    rows = [["paired difference (95 % interval)", "value", "p", "p by Holm"]]
    for one in outcome.differences:
        ends = "" if one.low is None else f" [{one.low:.4f}, {one.high:.4f}]"
        rows.append([
            f"{one.metric}: {one.second} less {one.first}",
            f"{one.difference:+.4f}{ends}",
            f"{one.p_value:.4f}",
            f"{one.p_corrected:.4f}",
        ])
    yield from _table(rows)

"""The report of a benchmark: formats with intervals, differences, the worst samples."""

from __future__ import annotations

from importlib import resources
from math import isnan
from typing import TYPE_CHECKING, Any

from knowtrail.eval.report import (
    Table,
    facts,
    html_page,
    interval_cells,
    shown_text,
    table,
)
from knowtrail.eval.skn.metrics import MEASURES, scored
from knowtrail.eval.skn.scoring import ahead

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from knowtrail.eval.skn.benchmark import ModelOutcome
    from knowtrail.eval.skn.metrics import Measure, Scored

WORST = 15
LONGEST = 1_500
_ALPHA = 0.05
_NUMBERS = {
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


def benchmark_page(
    outcomes: Sequence[ModelOutcome], *, title: str, about: Mapping[str, str]
) -> str:
    """Return the report as HTML."""
    style = (
        resources.files("knowtrail.eval.skn").joinpath("report.css").read_text("utf-8")
    )
    body = [
        *facts(about),
        "<p>A judge that gives no verdict counts as the worst one. Quality figures "
        "need a model of 7 billion parameters or more, and samples enough: look at the "
        "intervals first.</p>",
    ]
    for outcome in outcomes:
        body += _model(outcome, several=len(outcomes) > 1)
    return html_page(title, body, style=style)


def _model(outcome: ModelOutcome, *, several: bool) -> Iterator[str]:
    """Yield everything about one model."""
    prefix = f"{outcome.model}: " if several else ""
    yield from _formats(outcome, prefix)
    yield from table(_differences(outcome, prefix))
    yield from _categories(outcome, prefix)
    yield from table(_costs(outcome, prefix))
    yield from _worst(outcome, prefix)


def _formats(outcome: ModelOutcome, prefix: str) -> Iterator[str]:
    """Yield the formats with their metrics, format below format for each metric."""
    answerable = sum(bool(row["answerable"]) for row in outcome.rows)
    samples = {v: [scored(row, v) for row in outcome.rows] for v in outcome.pipelines}
    shared = [
        place
        for place in range(len(outcome.rows))
        if all(of[place].usable for of in samples.values())
    ]
    kept = {v: [of[place] for place in shared] for v, of in samples.items()}
    yield (
        f"<h2>{shown_text(prefix)}Formats</h2><p>{len(outcome.rows)} samples, "
        f"{answerable} of them answerable; each metric with its 95 % bootstrap "
        "interval over samples. Bold is what is best on the "
        f"{len(shared)} samples of which every format has a usable extraction.</p>"
        '<div class="wide"><table class="metrics skn"><tbody>'
    )
    for measure in MEASURES:
        best = _best(kept, measure)
        for place, v in enumerate(outcome.pipelines):
            ci = outcome.metrics[v][f"{measure.name}_ci"]
            cells = (
                interval_cells(ci["mean"], ci["ci_low"], ci["ci_high"], none="-")
                if ci
                else '<td class="number">-</td><td class="ends">-</td><td></td>'
            )
            label = f"{measure.label}<small>{measure.better} is better</small>"
            head = (
                f'<th rowspan="{len(outcome.pipelines)}">{label}</th>'
                if not place
                else ""
            )
            first = ' class="first"' if not place else ""
            name = f"<b>{shown_text(v)}</b>" if v in best else shown_text(v)
            yield f"<tr{first}>{head}<td>{name}</td>{cells}</tr>"
    yield "</tbody></table></div>"
    if answerable == len(outcome.rows):
        yield "<p>Every sample has an answer: refusing one is not measured.</p>"


def _best(samples: Mapping[str, Sequence[Scored]], measure: Measure) -> list[str]:
    """Return the formats that are best by a metric; none where all are alike."""
    values = {v: measure.value(of) for v, of in samples.items()}
    known = [value for value in values.values() if value is not None]
    if len(known) < len(values):
        return []
    best = (max if measure.better == "higher" else min)(known)
    found = [v for v, value in values.items() if value == best]
    return found if len(found) < len(values) else []


def _differences(outcome: ModelOutcome, prefix: str) -> Table:
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
    return Table(
        title=f"{prefix}Differences between formats on the same samples",
        note=(
            "Over samples of which both extractions can be used. "
            "Interval: paired bootstrap of samples, 95 %. p: swapping the formats of "
            "each sample, two-sided; beside it corrected by Holm's method for all "
            "rows of the metric. Better is only said where the corrected p is below "
            "0.05."
        ),
        columns=[
            "metric",
            "formats",
            "n",
            "difference",
            "interval",
            "p",
            "p (Holm)",
            "better",
        ],
        rows=rows,
    )


def _categories(outcome: ModelOutcome, prefix: str) -> Iterator[str]:
    """Yield the main metrics of each category, format beside format."""
    main = [measure for measure in MEASURES if measure.main]
    first = outcome.metrics[outcome.pipelines[0]]["by_category"]
    yield (
        f"<h2>{shown_text(prefix)}By kind of question</h2><p>Below each value its 95 % "
        "interval; a dash where the kind has no such samples.</p>"
        '<div class="wide"><table class="plain kinds"><thead><tr><th>kind</th>'
        "<th>n</th><th>format</th>"
    )
    yield "".join(f"<th>{measure.label}</th>" for measure in main)
    yield "</tr></thead><tbody>"
    for category, entry in first.items():
        for place, v in enumerate(outcome.pipelines):
            found = outcome.metrics[v]["by_category"][category]
            head = (
                f'<th rowspan="{len(outcome.pipelines)}"><bdi>'
                f"{shown_text(category.replace('_', ' '))}</bdi></th>"
                f'<td rowspan="{len(outcome.pipelines)}">{entry["n"]}</td>'
                if not place
                else ""
            )
            cells = "".join(_small(found[f"{measure.name}_ci"]) for measure in main)
            yield f"<tr>{head}<td>{shown_text(v)}</td>{cells}</tr>"
    yield "</tbody></table></div>"


def _small(found: Mapping[str, float] | None) -> str:
    """Return a cell with a value and its interval."""
    if found is None:
        return "<td>-</td>"
    return (
        f"<td>{found['mean']:.2f}<small>{found['ci_low']:.2f} to "
        f"{found['ci_high']:.2f}</small></td>"
    )


def _costs(outcome: ModelOutcome, prefix: str) -> Table:
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
            for name, label in _NUMBERS.items()
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


def _worst(outcome: ModelOutcome, prefix: str) -> Iterator[str]:
    """Yield the worst samples with their answers."""
    ranked = sorted(outcome.rows, key=lambda row: -_badness(row, outcome.pipelines))[
        :WORST
    ]
    yield (
        f"<h2>{shown_text(prefix)}Worst samples</h2><p>The {len(ranked)} samples whose "
        "answers are wrong, made up or not grounded most, over all formats.</p>"
    )
    for place, row in enumerate(ranked):
        opened = " open" if place < 2 else ""
        yield (
            f"<details{opened}><summary><b>{shown_text(str(row['id']))}</b> "
            f"<bdi>{shown_text(row['question'])}</bdi></summary>"
            '<p class="truth">Right is: <bdi>'
            f"{shown_text(row['ground_truth'])}</bdi></p>"
            '<table class="answers"><thead><tr><th>format</th><th>answer</th>'
            "<th>verdicts</th></tr></thead><tbody>"
        )
        for v in outcome.pipelines:
            answer = row[f"{v}_answer"][:LONGEST] or "(no answer)"
            yield (
                f"<tr><th>{shown_text(v)}</th><td><bdi>{shown_text(answer)}</bdi></td>"
                f"<td>{_verdicts(row, v)}</td></tr>"
            )
        yield "</tbody></table></details>"


def _verdicts(row: dict[str, Any], variant: str) -> str:
    """Return the verdicts on an answer as lines of HTML."""
    correct = row[f"{variant}_correct"]
    hallucination = row[f"{variant}_hallucination"]
    lines = [
        "no right answer exists"
        if correct is None
        else "right"
        if correct
        else "wrong",
        "gave no answer of the form asked for"
        if (sure := row[f"{variant}_confidence"]) is None
        else f"confidence {sure:.2f}",
        "refuses to answer" if row[f"{variant}_abstained"] else "",
        f"{len(hallucination['fabricated_claims'])} of {hallucination['total_claims']} "
        f"claims made up, severity {hallucination['hallucination_severity']:.2f}",
        f"grounded {row[f'{variant}_groundedness']['groundedness_score']:.2f}",
    ]
    lines += [
        f"made up: {claim[:200]}" for claim in hallucination["fabricated_claims"][:5]
    ]
    lines += [
        f"no verdict on {name}: {said['error'][:200]}"
        for name, said in row[f"{variant}_judges"].items()
        if said.get("error")
    ]
    return "<br>".join(shown_text(line) for line in lines if line)

"""The report of an evaluation: one page of HTML that needs nothing else."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

from eval.report import Table, facts, html_page, interval_cells, shown_text, table
from eval.retrieval.cases import matrix, worst_cases
from eval.retrieval.output import TITLES, facts_of, main_k, per_cent, table_facts
from eval.statistics import EXACT, RESAMPLES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eval.retrieval.evaluation import Evaluation, Part
    from eval.retrieval.summary import SystemSummary
    from eval.statistics import Interval

__all__ = ["retrieval_page"]

_ALPHA = 0.05


def retrieval_page(evaluation: Evaluation) -> str:
    """Return an evaluation as HTML.

    Args:
        evaluation: What came out.
    """
    style = resources.files("eval.retrieval").joinpath("report.css").read_text("utf-8")
    title = f"Retrieval on {evaluation.dataset.name}"
    return html_page(title, _body(evaluation), style=style)


def _body(evaluation: Evaluation) -> Iterator[str]:
    """Yield what stands below the heading."""
    yield from facts(facts_of(evaluation))
    for note in evaluation.notes:
        yield f"<p>{shown_text(note)}</p>"
    for part in evaluation.parts:
        yield from _part(evaluation, part)
    yield from matrix(evaluation)
    yield from worst_cases(evaluation)
    yield from _dataset(evaluation)


def _part(evaluation: Evaluation, part: Part) -> Iterator[str]:
    """Yield the tables of a part of the questions."""
    name = TITLES[part.name]
    about = (
        f"{table_facts(evaluation, part.n)} Means in per cent with their 95 % "
        f"bootstrap intervals (BCa, {RESAMPLES:,} resamples) over questions. The "
        "highest mean of a column is in bold type, which says nothing about the "
        "differences: see below."
    )
    yield f"<h2>{name}</h2><p>{shown_text(about)}</p>"
    yield from _means(evaluation.measures, part.systems)
    yield from _drawn(evaluation, part)
    yield from table(_costs(evaluation, part))
    if part.differences:
        yield from table(_differences(evaluation, part))


def _means(measures: Sequence[str], systems: Sequence[SystemSummary]) -> Iterator[str]:
    """Yield all measures, a row for each system."""
    known = [name for name in measures if any(name in s.measures for s in systems)]
    yield '<div class="wide"><table class="measures"><thead><tr><th>system</th>'
    yield "".join(f"<th>{shown_text(_label(name))}</th>" for name in known)
    yield "</tr></thead><tbody>"
    best = {
        name: max(s.measures[name].value for s in systems if name in s.measures)
        for name in known
    }
    for system in systems:
        cells = []
        for name in known:
            if name not in system.measures:
                cells.append("<td>-</td>")
                continue
            found = system.measures[name]
            value = per_cent(found.value)
            if len(systems) > 1 and found.value == best[name] > 0:
                value = f"<b>{value}</b>"
            ends = (
                f"{per_cent(found.low)} to {per_cent(found.high)}"
                if found.low == found.low
                else "no interval"
            )
            fewer = f", n = {found.n}" if found.n != system.n else ""
            cells.append(f"<td>{value}<small>{ends}{fewer}</small></td>")
        yield f"<tr><th>{shown_text(system.name)}</th>{''.join(cells)}</tr>"
    yield "</tbody></table></div>"


def _label(measure: str) -> str:
    """Return the name of a measure as a heading."""
    return measure.replace("_", " ")


def _drawn(evaluation: Evaluation, part: Part) -> Iterator[str]:
    """Yield the main measure of each system, drawn."""
    name = f"recall@{main_k(evaluation)}"
    yield f"<p>{shown_text(_label(name))}, from 0 to 1:</p>"
    yield '<table class="metrics drawn"><tbody>'
    for system in part.systems:
        found = system.measures[name]
        cells = interval_cells(
            found.value, found.low, found.high, none="one question: no interval"
        )
        yield f"<tr><td>{shown_text(system.name)}</td>{cells}</tr>"
    yield "</tbody></table>"


def _costs(evaluation: Evaluation, part: Part) -> Table:
    """Return time and what was returned."""
    rows = []
    for system in part.systems:
        p50, p95 = system.latency["p50"], system.latency["p95"]
        counted = system.quantities
        rows.append((
            system.name,
            _milliseconds(p50),
            _milliseconds(p95),
            *(f"{counted[name].value:.1f}" for name in _COUNTED),
            f"{100 * system.filled:.0f} %",
            str(system.empty),
        ))
    return Table(
        title=f"{TITLES[part.name]}: time and extent",
        note=(
            f"{table_facts(evaluation, part.n)} Milliseconds without embedding the "
            "question, median and 95th percentile with 95 % intervals. The others are "
            "means; filled is the share of passages that come from the dense ranking "
            "after a walk's end, empty the number of questions for which nothing was "
            "found."
        ),
        columns=("system", "p50 ms", "p95 ms", *_COUNTED.values(), "filled", "empty"),
        rows=rows,
    )


def _milliseconds(found: Interval) -> str:
    """Return a time with its interval, where there is one."""
    if found.low != found.low:
        return f"{found.value:.1f}"
    return f"{found.value:.1f} ({found.low:.1f} to {found.high:.1f})"


_COUNTED = {
    "documents": "passages",
    "sentences": "sentences",
    "hops": "hops",
    "documents_crossed": "passages crossed",
}


def _differences(evaluation: Evaluation, part: Part) -> Table:
    """Return how systems differ from the base."""
    base = part.differences[0].base
    shown = ("recall@", "all_recall@", "mrr", "sentence_f1", "chunk_recall@")
    rows = [
        (
            each.name,
            _label(each.measure),
            per_cent(each.found.difference.value, "+"),
            f"{per_cent(each.found.difference.low, '+')} to "
            f"{per_cent(each.found.difference.high, '+')}",
            f"{each.p_value:.4f}{' *' if each.p_value < _ALPHA else ''}",
        )
        for each in part.differences
        if each.measure.startswith(shown)
    ]
    return Table(
        title=f"{TITLES[part.name]}: differences from {base}",
        note=(
            f"{table_facts(evaluation, part.n)} Paired by question, in points with "
            "95 % bootstrap intervals; p from a permutation test (all swaps up to "
            f"{EXACT} questions, {RESAMPLES:,} random ones above), corrected by "
            "Holm's method for the number of systems, measure by measure, * below 0.05."
        ),
        columns=("system", "measure", "difference", "interval", "p"),
        rows=rows,
    )


def _dataset(evaluation: Evaluation) -> Iterator[str]:
    """Yield what the data set was read from and what is wrong with it."""
    dataset = evaluation.dataset
    yield from table(
        Table(
            title="Data set",
            note=f"{len(dataset.passages)} passages, {len(dataset.questions)} "
            "questions; checksums are BLAKE2b, 128 bits.",
            columns=("file", "bytes", "checksum"),
            rows=[(f.name, f"{f.size:,}", f.checksum) for f in dataset.files],
        )
    )
    if dataset.problems:
        yield from table(
            Table(
                title="Problems of the data set",
                note="Questions and passages that are not as they should be.",
                columns=("kind", "id", "what"),
                rows=[(p.kind, p.id, p.message) for p in dataset.problems],
            )
        )

"""The report of an evaluation: one page of HTML that needs nothing else."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from knowtrail.eval.judged import ANSWER_MEASURES
from knowtrail.eval.report import Table, filled
from knowtrail.eval.retrieval.output import (
    JUDGED,
    TITLES,
    facts_of,
    main_k,
    mean_text,
    per_cent,
    table_facts,
)
from knowtrail.eval.statistics import EXACT, RESAMPLES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowtrail.eval.retrieval.evaluation import Evaluation, Part
    from knowtrail.eval.retrieval.measures import SystemSummary
    from knowtrail.eval.statistics import Interval

_WORST = 15
_ALPHA = 0.05
_ANSWERS = (*ANSWER_MEASURES, *JUDGED)


def retrieval_page(evaluation: Evaluation) -> str:
    """Return an evaluation as HTML."""
    k = main_k(evaluation)
    measure = f"recall@{k}"
    return filled(
        "retrieval/report.html",
        title=f"Retrieval on {evaluation.dataset.name}",
        evaluation=evaluation,
        questions=evaluation.results[0].questions,
        facts_told=facts_of(evaluation),
        titles=TITLES,
        k=k,
        measure=measure,
        told=partial(table_facts, evaluation),
        known=partial(_known, evaluation),
        best_of=_best,
        costs=partial(_costs, evaluation),
        differences=partial(_differences, evaluation),
        worst=_worst(evaluation, measure),
        dataset_tables=list(_dataset(evaluation)),
        label=_label,
        mean_text=mean_text,
        per_cent=per_cent,
        resamples=RESAMPLES,
    )


def _known(
    evaluation: Evaluation, systems: Sequence[SystemSummary], answers: bool
) -> list[str]:
    """Return the measures of answers, or the others, that any system has."""
    return [
        name
        for name in (_ANSWERS if answers else evaluation.measures)
        if (name in _ANSWERS) == answers and any(name in s.measures for s in systems)
    ]


def _best(measure: str, systems: Sequence[SystemSummary]) -> float:
    """Return the highest mean of a measure."""
    return max(s.measures[measure].value for s in systems if measure in s.measures)


def _worst(evaluation: Evaluation, measure: str) -> list[tuple[int, float]]:
    """Return the places of the questions with the lowest means, and these."""
    rows = zip(*(result.values for result in evaluation.results), strict=True)
    count = len(evaluation.results)
    means = [sum(values[measure] for values in row) / count for row in rows]
    return sorted(enumerate(means), key=lambda one: (one[1], one[0]))[:_WORST]


def _label(measure: str) -> str:
    """Return the name of a measure as a heading."""
    return JUDGED.get(measure, measure).replace("_", " ")


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
    shown = ("recall@", "all_recall@", "mrr", "sentence_f1", "chunk_recall@", *_ANSWERS)
    rows = [
        (
            each.name,
            _label(each.metric),
            per_cent(each.found.difference.value, "+"),
            f"{per_cent(each.found.difference.low, '+')} to "
            f"{per_cent(each.found.difference.high, '+')}",
            f"{each.p_value:.4f}{' *' if each.p_value < _ALPHA else ''}",
        )
        for each in part.differences
        if each.metric.startswith(shown)
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


def _dataset(evaluation: Evaluation) -> Iterator[Table]:
    """Yield what the data set was read from and what is wrong with it."""
    dataset = evaluation.dataset
    yield Table(
        title="Data set",
        note=f"{len(dataset.passages)} passages, {len(dataset.questions)} "
        "questions; checksums are BLAKE2b, 128 bits.",
        columns=("file", "bytes", "checksum"),
        rows=[(f.name, f"{f.size:,}", f.checksum) for f in dataset.files],
    )
    if dataset.problems:
        yield Table(
            title="Problems of the data set",
            note="Questions and passages that are not as they should be.",
            columns=("kind", "id", "what"),
            rows=[(p.kind, p.id, p.message) for p in dataset.problems],
        )

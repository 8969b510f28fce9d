"""The report of an evaluation: one page of HTML that needs nothing else."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

from knowtrail.eval.judged import ANSWER_MEASURES
from knowtrail.eval.report import (
    Table,
    facts,
    html_page,
    interval_cells,
    shown_text,
    table,
)
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

    from knowtrail.eval.retrieval.dataset import RetrievalQuestion
    from knowtrail.eval.retrieval.evaluation import Evaluation, Part
    from knowtrail.eval.retrieval.measures import SystemSummary
    from knowtrail.eval.retrieval.system import Ranking
    from knowtrail.eval.statistics import Interval

_ROWS = 200
_WORST = 15
_STEPS = 12


def matrix(evaluation: Evaluation) -> Iterator[str]:
    """Yield which system found how much for each question."""
    k, results = main_k(evaluation), evaluation.results
    measure = f"recall@{k}"
    questions = results[0].questions
    yield (
        f"<h2>Question by question</h2><p>Recall at {k} in per cent; blue is all of "
        f"the gold, red none. {shown_text(table_facts(evaluation, len(questions)))}</p>"
        '<div class="wide"><table class="matrix"><thead><tr><th>question</th>'
    )
    yield "".join(f"<th><span>{shown_text(r.name)}</span></th>" for r in results)
    yield "</tr></thead><tbody>"
    for place, question in enumerate(questions[:_ROWS]):
        cells = "".join(_cell(result.values[place][measure]) for result in results)
        text = shown_text(question.text[:160])
        yield (
            f'<tr><th title="{shown_text(question.id)}"><bdi>{text}</bdi></th>'
            f"{cells}</tr>"
        )
    yield "</tbody></table></div>"
    if (left := len(questions) - _ROWS) > 0:
        yield f"<p>{left} more questions are not shown.</p>"


def _cell(value: float) -> str:
    """Return a cell of the matrix."""
    kind = "full" if value >= 1 else "part" if value > 0 else "none"
    return f'<td class="cell {kind}">{100 * value:.0f}</td>'


def worst_cases(evaluation: Evaluation) -> Iterator[str]:
    """Yield the questions for which least was found, with the walks."""
    k, results = main_k(evaluation), evaluation.results
    measure = f"recall@{k}"
    count = len(results[0].questions)
    means = [sum(r.values[place][measure] for r in results) for place in range(count)]
    order = sorted(range(count), key=lambda place: (means[place], place))[:_WORST]
    yield (
        f"<h2>Worst cases</h2><p>The {len(order)} questions with the least recall at "
        f"{k} over all systems, with what each found and how it walked. Gold is in "
        "bold type.</p>"
    )
    for place in order:
        yield from _case(evaluation, place, means[place] / len(results), k)


def _case(evaluation: Evaluation, place: int, mean: float, k: int) -> Iterator[str]:
    """Yield one question with all systems."""
    results = evaluation.results
    question = results[0].questions[place]
    gold = ", ".join(shown_text(name) for name in question.gold_documents)
    answer = f" Answer: {shown_text(question.answer)}." if question.answer else ""
    yield (
        f'<details class="case"><summary><bdi>{shown_text(question.text)}</bdi> '
        f"({100 * mean:.0f} % on average)</summary><p>{shown_text(question.id)}. "
        f'Gold: <span class="gold">{gold}</span>.{answer}</p>'
    )
    for result in results:
        said = evaluation.answers.get(result.name, {}).get(question.id)
        yield from _found(question, result.name, result.rankings[place], k, said)
    yield "</details>"


def _found(
    question: RetrievalQuestion, name: str, ranking: Ranking, k: int, said: str | None
) -> Iterator[str]:
    """Yield what a system found for a question, and what was answered from it."""
    shown = ", ".join(
        _named(question, document.id, filled=document.filled)
        for document in ranking.documents[:k]
    )
    found = {document.id for document in ranking.documents[:k]}
    missed = [each for each in question.gold_documents if each not in found]
    yield (
        f"<details><summary>{shown_text(name)}: {len(missed)} of "
        f"{len(question.gold_documents)} missed</summary><p>{shown or 'nothing'}</p>"
    )
    if said is not None:
        yield f"<p>Answered: <bdi>{shown_text(said)}</bdi></p>"
    if missed:
        names = ", ".join(shown_text(each) for each in missed)
        yield f'<p class="missed">Missed: {names}</p>'
    if ranking.steps:
        yield '<ol class="walk">'
        for step in ranking.steps[:_STEPS]:
            yield (
                f"<li>{_named(question, step.document)}, hop {step.hop}, "
                f"{step.score:.3f}, {shown_text(step.reason)}</li>"
            )
        yield "</ol>"
        reason = shown_text(ranking.stop_reason.replace("_", " "))
        yield f"<p>{len(ranking.steps)} steps; ended by: {reason}</p>"
    yield "</details>"


def _named(question: RetrievalQuestion, passage: str, *, filled: bool = False) -> str:
    """Return the name of a passage, marked where it is gold or filled."""
    text = f"<bdi>{shown_text(passage)}</bdi>{' (filled)' if filled else ''}"
    if passage in question.gold_documents:
        return f'<span class="gold">{text}</span>'
    return text


_ALPHA = 0.05
_ANSWERS = (*ANSWER_MEASURES, *JUDGED)
_ABOUT_ANSWERS = (
    "Exact match and F1 compare the words of answers with those of the data set; what "
    "else is here, a model judges. Passed are cases in which all four of its measures "
    "reach the threshold, of those that have all four. A dash: nothing was measured."
)


def retrieval_page(evaluation: Evaluation) -> str:
    """Return an evaluation as HTML."""
    style = (
        resources
        .files("knowtrail.eval.retrieval")
        .joinpath("report.css")
        .read_text("utf-8")
    )
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
    answers = [name for name in _ANSWERS if name in evaluation.measures]
    found = [name for name in evaluation.measures if name not in answers]
    yield from _means(found, part.systems)
    if answers:
        yield f"<h2>{name}: answers</h2><p>{shown_text(_ABOUT_ANSWERS)}</p>"
        yield from _means(answers, part.systems)
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
            value = mean_text(found, name)
            if len(systems) > 1 and found.value == best[name] > 0:
                value = f"<b>{value}</b>"
            ends = (
                f"{per_cent(found.low)} to {per_cent(found.high)}"
                if found.low == found.low
                else "no interval"
            )
            fewer = f", n = {found.n}" if found.n != system.n else ""
            fewer = "" if name == "passed" else fewer
            cells.append(f"<td>{value}<small>{ends}{fewer}</small></td>")
        yield f"<tr><th>{shown_text(system.name)}</th>{''.join(cells)}</tr>"
    yield "</tbody></table></div>"


def _label(measure: str) -> str:
    """Return the name of a measure as a heading."""
    return JUDGED.get(measure, measure).replace("_", " ")


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

"""Parts of the report about single questions: who found what, and the worst cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eval.report import shown_text
from eval.retrieval.output import main_k, table_facts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eval.retrieval.dataset import RetrievalQuestion
    from eval.retrieval.evaluation import Evaluation
    from eval.retrieval.system import Ranking

__all__ = ["matrix", "worst_cases"]

_ROWS = 200
_WORST = 15
_STEPS = 12


def matrix(evaluation: Evaluation) -> Iterator[str]:
    """Yield which system found how much for each question.

    Args:
        evaluation: What came out.
    """
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
    """Yield the questions for which least was found, with the walks.

    Args:
        evaluation: What came out.
    """
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

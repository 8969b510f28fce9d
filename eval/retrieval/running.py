"""Ask systems all questions of a data set, and keep each answer as it comes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eval.retrieval.measures import measure_rankings
from graph.errors import InputError
from graph.progress import silent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eval.retrieval.bench import Bench
    from eval.retrieval.dataset import RetrievalQuestion
    from eval.retrieval.journal import Journal
    from eval.retrieval.system import Ranking, System
    from graph.progress import Progress

__all__ = ["SystemResult", "check_ks", "run_systems"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemResult:
    """What a system found for every question.

    Attributes:
        name: The system.
        questions: The questions.
        rankings: What it found, one by one.
        values: Its measures, one by one.
    """

    name: str
    questions: tuple[RetrievalQuestion, ...]
    rankings: tuple[Ranking, ...]
    values: tuple[Mapping[str, float], ...]


def check_ks(ks: Sequence[int]) -> tuple[int, ...]:
    """Return places at which rankings are cut, in order, each once.

    Raises:
        InputError: If there is none, or one is below 1 or above 1,000.
    """
    if not ks or not all(1 <= k <= 1000 for k in ks):
        msg = f"k is {', '.join(map(str, ks)) or 'missing'}: give numbers 1 to 1000."
        raise InputError(msg)
    return tuple(sorted(set(ks)))


def run_systems(
    bench: Bench,
    systems: Sequence[System],
    *,
    ks: Sequence[int] = (2, 5, 10),
    journal: Journal | None = None,
    progress: Progress = silent,
) -> tuple[SystemResult, ...]:
    """Ask every system every question.

    Args:
        bench: The stored corpus, with the questions.
        systems: The systems, each prepared here before its first question.
        ks: Places at which rankings are cut; rankings are as long as the greatest.
        journal: What an interrupted run has found already, and where this one keeps
            what it finds.
        progress: Told of the rankings.

    Raises:
        InputError: If two systems share a name, or a k is out of range.
    """
    cuts = check_ks(ks)
    names = [system.name for system in systems]
    if len(set(names)) < len(names) or not names:
        raise InputError(
            f"The systems are {', '.join(names) or 'none'}: name each once."
        )
    found = _asked(bench, systems, cuts[-1], journal=journal, progress=progress)
    return tuple(
        _result(bench.dataset.questions, name, found[name], cuts) for name in names
    )


def _asked(
    bench: Bench,
    systems: Sequence[System],
    k: int,
    *,
    journal: Journal | None,
    progress: Progress,
) -> dict[str, list[Ranking]]:
    """Return the rankings of every system, those that are not known already made now.

    Each question is put to all systems before the next, and each time another one is
    the first, so that what else the machine does and what the last system left in
    memory slows and helps them alike.
    """
    questions, count = bench.dataset.questions, len(systems)
    found: dict[str, list[Ranking]] = {system.name: [] for system in systems}
    prepared: set[str] = set()
    for place, question in enumerate(questions):
        for turn in range(count):
            progress("rankings", place * count + turn, len(questions) * count)
            system = systems[(place + turn) % count]
            kept = _kept_as(system)
            known = None if journal is None else journal.get(kept, question.id)
            if known is None:
                if system.name not in prepared:
                    bench.embed_questions(progress)
                    system.prepare(bench)
                    _warm_up(system, question)
                    prepared.add(system.name)
                known = system.rank(question, k)
                if journal is not None:
                    journal.add(kept, question.id, known)
            found[system.name].append(known)
    progress("rankings", len(questions) * count, len(questions) * count)
    return found


def _warm_up(system: System, question: RetrievalQuestion) -> None:
    """Let a system answer once before its time counts, if it can without a trace.

    What the server does once for each statement, such as planning it, is then over.
    """
    warm_up = getattr(system, "warm_up", None)
    if warm_up is not None and getattr(system, "model_name", None) is None:
        warm_up(question)


def _kept_as(system: System) -> str:
    """Return what rankings of a system are kept under: not those of another model."""
    model = getattr(system, "model_name", None)
    return system.name if model is None else f"{system.name} {model}"


def _result(
    questions: tuple[RetrievalQuestion, ...],
    name: str,
    rankings: Sequence[Ranking],
    ks: Sequence[int],
) -> SystemResult:
    """Return what a system found, measured."""
    return SystemResult(
        name=name,
        questions=questions,
        rankings=tuple(rankings),
        values=tuple(measure_rankings(questions, rankings, ks=ks)),
    )

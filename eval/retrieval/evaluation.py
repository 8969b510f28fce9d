"""One evaluation: a data set, a corpus, systems, and what came out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from eval.retrieval.bench import open_bench
from eval.retrieval.commit import code_version
from eval.retrieval.dataset import halves
from eval.retrieval.journal import Journal
from eval.retrieval.measures import measure_names
from eval.retrieval.running import check_ks, run_systems
from eval.retrieval.storing import store_evaluation
from eval.retrieval.summary import differences, summarise
from eval.retrieval.units import Unit
from graph.embedders import embedder_name
from graph.progress import silent
from ingest.keys import content_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eval.judged import JudgingOptions
    from eval.retrieval.bench import Bench
    from eval.retrieval.dataset import RetrievalDataset
    from eval.retrieval.running import SystemResult
    from eval.retrieval.summary import Difference, SystemSummary
    from eval.retrieval.system import System
    from graph.connection import Connection
    from graph.embedders import Embedder
    from graph.progress import Progress
    from graph.settings import Settings
    from retrieval.questions import ReaderName

__all__ = ["Evaluation", "EvaluationOptions", "Part", "evaluate_retrieval", "parts_of"]

FOLDER = "evaluations"
"""Folder of the home where interrupted runs leave what they found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationOptions:
    """How systems are measured.

    Attributes:
        unit: What a chunk of the corpus is.
        ks: Places at which rankings are cut.
        seed: Of intervals and tests.
        base: The system that the others are compared with; where it does not take
            part, the first one.
        halves: Whether the questions at even and at odd places are reported too.
        reader: Where walks read.
        record: Whether walks are stored as Traversals.
        resume: Whether what an interrupted run left is taken up.
        store: Whether results are stored as EvalRuns.
        judging: Which models answer and judge; None for neither.
    """

    unit: Unit = field(default_factory=Unit)
    ks: tuple[int, ...] = (2, 5, 10)
    seed: int = 0
    base: str = "dense"
    halves: bool = False
    reader: ReaderName = "auto"
    record: bool = True
    resume: bool = True
    store: bool = True
    judging: JudgingOptions | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What came out on some of the questions.

    Attributes:
        name: `all`, `dev` or `test`.
        n: How many questions these are.
        systems: The systems.
        differences: Each system less the one that all are compared with.
    """

    name: str
    n: int
    systems: tuple[SystemSummary, ...]
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evaluation:
    """What came out.

    Attributes:
        dataset: The data set.
        options: How it was measured.
        corpus: Name of the corpus.
        embedder: Name of the embedder.
        commit: Version of the code.
        measures: Names of the measures in the order of a table.
        results: What each system found.
        parts: All questions, and the halves where they are asked for.
        facts: What else a table must say, by name.
        notes: What a reader must know, one sentence each.
        runs: System -> id of its EvalRun, where results are stored.
        answers: System -> question id -> what a model answered, where it was asked.
    """

    dataset: RetrievalDataset
    options: EvaluationOptions
    corpus: str
    embedder: str
    commit: str
    measures: tuple[str, ...]
    results: tuple[SystemResult, ...]
    parts: tuple[Part, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    runs: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def evaluate_retrieval(
    dataset: RetrievalDataset,
    systems: Sequence[System],
    *,
    connection: Connection,
    embedder: Embedder,
    settings: Settings,
    options: EvaluationOptions | None = None,
    progress: Progress = silent,
) -> Evaluation:
    """Measure systems on a data set; its corpus is brought into the graph first.

    Args:
        dataset: Passages, questions and gold.
        systems: What is measured.
        connection: The database.
        embedder: The model; must be the one the database was made with.
        settings: Where working files go.
        options: How to measure; None for the defaults.
        progress: Told of the ingest and of each system.

    Raises:
        InputError: If an option is no good.
        CorpusDriftError: If the database's vectors were made by another embedder.
        DatabaseError: If the database fails; the next run goes on from there.
        MissingExtraError: If a model is to judge and the extra `deepeval` is missing.
    """
    chosen = options or EvaluationOptions()
    ks = check_ks(chosen.ks)
    bench = _bench(dataset, connection, embedder, settings, chosen, progress)
    commit = code_version()
    journal = _journal(settings, chosen, _key(bench, chosen, ks, commit))
    resumed = len(journal)
    results = run_systems(bench, systems, ks=ks, journal=journal, progress=progress)
    judged = _judged(results, dataset, chosen, ks, settings, progress)
    evaluation = Evaluation(
        dataset=dataset,
        options=chosen,
        corpus=bench.corpus.name,
        embedder=embedder_name(embedder),
        commit=commit,
        measures=judged.measures,
        results=judged.results,
        parts=parts_of(judged.results, judged.measures, chosen),
        facts=_facts(bench, resumed),
        notes=(
            *_notes(bench, ks),
            *_notes_of_results(judged.results, chosen),
            *judged.notes,
        ),
        answers=judged.answers,
    )
    if chosen.store:
        stored = store_evaluation(connection, evaluation)
        evaluation = replace(evaluation, runs=stored)
    if not judged.stopped:
        journal.remove()
    return evaluation


def _bench(
    dataset: RetrievalDataset,
    connection: Connection,
    embedder: Embedder,
    settings: Settings,
    options: EvaluationOptions,
    progress: Progress,
) -> Bench:
    """Return the corpus of a data set as the options want it."""
    return open_bench(
        dataset,
        connection,
        embedder,
        settings=settings,
        unit=options.unit,
        reader=options.reader,
        record=options.record,
        progress=progress,
    )


def _journal(settings: Settings, options: EvaluationOptions, key: str) -> Journal:
    """Return what an interrupted run has left, empty where that is not wanted."""
    journal = Journal(settings.home / FOLDER, key)
    if not options.resume:
        journal.remove()
    return journal


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    """Results with the measures of answers, where answers were asked for.

    Attributes:
        results: The systems.
        measures: Names of all measures in the order of a table.
        notes: What a reader must know, one sentence each.
        answers: System -> question id -> what was answered.
        stopped: Why not all was judged; empty where all was.
    """

    results: tuple[SystemResult, ...]
    measures: tuple[str, ...]
    notes: tuple[str, ...] = ()
    answers: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    stopped: str = ""


def _judged(
    results: tuple[SystemResult, ...],
    dataset: RetrievalDataset,
    options: EvaluationOptions,
    ks: Sequence[int],
    settings: Settings,
    progress: Progress,
) -> _Judged:
    """Return results with answers measured too, if that is asked for."""
    measures = measure_names(ks, sentences=dataset.has_sentences)
    if options.judging is None:
        return _Judged(results=results, measures=measures)
    from eval.judged import judge_results

    found = judge_results(
        results,
        dataset=dataset,
        options=options.judging,
        settings=settings,
        progress=progress,
    )
    return _Judged(
        results=found.results,
        measures=(*measures, *found.measures),
        notes=found.notes,
        answers=found.answers,
        stopped=found.stopped,
    )


def _facts(bench: Bench, resumed: int) -> dict[str, Any]:
    """Return what else is worth knowing of a run."""
    embedding = bench.embedding_milliseconds
    return {
        "resumed": resumed,
        "embeddingMilliseconds": None if embedding is None else round(embedding, 3),
        "reader": bench.reader_used,
    }


def _key(
    bench: Bench, options: EvaluationOptions, ks: Sequence[int], commit: str
) -> str:
    """Return all that rankings depend on as a key."""
    return content_key(
        "retrieval-journal",
        bench.dataset.checksum,
        bench.corpus.name,
        bench.corpus.version,
        str(bench.corpus.stamp),
        ks[-1],
        bench.reader_used,
        options.record,
        commit,
    )


def parts_of(
    results: Sequence[SystemResult],
    measures: Sequence[str],
    options: EvaluationOptions,
) -> tuple[Part, ...]:
    """Return what came out on all questions and, if asked, on both halves."""
    count = len(results[0].questions)
    dev, test = halves(count)
    chosen = {"all": tuple(range(count))}
    if options.halves and test:
        chosen |= {"dev": dev, "test": test}
    named = {result.name: result for result in results}
    base = named.get(options.base, results[0])
    return tuple(
        Part(
            name=name,
            n=len(places),
            systems=tuple(
                summarise(result, seed=options.seed, places=places)
                for result in results
            ),
            differences=differences(
                results, base, measures, seed=options.seed, places=places
            ),
        )
        for name, places in chosen.items()
    )


def _notes_of_results(
    results: Sequence[SystemResult], options: EvaluationOptions
) -> list[str]:
    """Return what a reader of intervals and differences must know."""
    notes = []
    names = [result.name for result in results]
    if len(names) > 1 and options.base not in names:
        notes.append(
            f"{options.base} is not measured here: differences are from {names[0]}."
        )
    base = next((each for each in results if each.name == options.base), results[0])
    if any(_alike(each, None) or _alike(each, base) for each in results):
        notes.append(
            "Where a measure, or a difference, is the same for all questions, there is "
            "nothing to resample: its interval then says how far as many other "
            "questions as the exact interval for 0 of n allows for (Clopper and "
            "Pearson, 95 %) could move it."
        )
    return notes


def _alike(result: SystemResult, base: SystemResult | None) -> bool:
    """Return whether a measure, or the gain over a base, is the same for several."""
    if base is result:
        return False
    others = result.values if base is None else base.values
    found: dict[str, list[float]] = {}
    for row, other in zip(result.values, others, strict=True):
        for name in row:
            if name in other:
                gain = row[name] - (0.0 if base is None else other[name])
                found.setdefault(name, []).append(gain)
    return any(len(each) > 1 and len(set(each)) == 1 for each in found.values())


def _notes(bench: Bench, ks: Sequence[int]) -> list[str]:
    """Return what a reader of the figures must know."""
    notes = list(bench.dataset.notes)
    count = len(bench.dataset.passages)
    if ks[-1] > count:
        notes.append(
            f"k = {ks[-1]} is more than the {count} passages of the corpus: a ranking "
            "ends with the last of them."
        )
    if bench.unreadable:
        notes.append(
            f"{len(bench.unreadable)} passages have no text and are not in the corpus, "
            f"such as {bench.unreadable[0]!r:.80}."
        )
    return notes

"""One evaluation: a data set, a corpus, systems, and what came out.

Rankings are kept on disk as they come, by which a run that was interrupted goes on: one
file a run, named after all that the rankings depend on; one ranking a line. When a run
is complete its file goes, so that the next one measures anew.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from knowtrail.eval.journal import LineJournal
from knowtrail.eval.judged import JudgedResults, judge_results
from knowtrail.eval.retrieval.bench import open_bench
from knowtrail.eval.retrieval.dataset import Unit, halves
from knowtrail.eval.retrieval.measures import (
    differences,
    measure_names,
    measure_rankings,
    summarise,
)
from knowtrail.eval.retrieval.output import store_evaluation
from knowtrail.eval.retrieval.system import Ranking
from knowtrail.eval.store import code_version
from knowtrail.graph.cli.progress import silent
from knowtrail.graph.errors import InputError
from knowtrail.graph.models.embedders import embedder_name
from knowtrail.ingest.keys import content_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from knowtrail.eval.differences import Difference
    from knowtrail.eval.judged import JudgingOptions
    from knowtrail.eval.retrieval.bench import Bench
    from knowtrail.eval.retrieval.dataset import RetrievalDataset, RetrievalQuestion
    from knowtrail.eval.retrieval.measures import SystemSummary
    from knowtrail.eval.retrieval.system import System
    from knowtrail.graph.cli.progress import Progress
    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.models.embedders import Embedder
    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.questions import ReaderName


_RANKING = TypeAdapter(Ranking)


class Journal(LineJournal):
    """The rankings that an interrupted run has left behind, and those that come."""

    def __init__(self, folder: Path, key: str) -> None:
        """Read what is there under a key of all that the rankings depend on.

        Raises:
            InputError: If another run with this key is under way.
            StorageError: If it cannot be written.
        """
        super().__init__(folder / f"retrieval-{key}.jsonl", sync_seconds=1.0)
        self._found: dict[tuple[str, str], Ranking] = {}
        self.read(self._take)

    def __len__(self) -> int:
        """Return how many rankings there are."""
        return len(self._found)

    def _take(self, _: int, row: Any) -> None:
        ranking = _RANKING.validate_python(row["ranking"])
        self._found[row["system"], row["question"]] = ranking

    def get(self, system: str, question: str) -> Ranking | None:
        """Return what a system found for a question, None where it is not kept."""
        return self._found.get((system, question))

    def add(self, system: str, question: str, ranking: Ranking) -> None:
        """Keep what a system found for a question.

        Raises:
            StorageError: If it cannot be written.
        """
        row = {"system": system, "question": question, "ranking": asdict(ranking)}
        self.append(row)
        self._found[system, question] = ranking

    def remove(self) -> None:
        """Forget all rankings and remove the file: the run is complete."""
        self.path.unlink(missing_ok=True)
        self._found.clear()


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemResult:
    """What a system found for every question.

    Attributes:
        rankings: What it found, one by one.
        values: Its measures, one by one.
        model: The language model that it asks; None where it asks none.
    """

    name: str
    questions: tuple[RetrievalQuestion, ...]
    rankings: tuple[Ranking, ...]
    values: tuple[Mapping[str, float], ...]
    model: str | None = None


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
    questions = bench.dataset.questions
    return tuple(
        SystemResult(
            name=system.name,
            questions=questions,
            rankings=tuple(rankings),
            values=tuple(measure_rankings(questions, rankings, ks=cuts)),
            model=_model(system),
        )
        for system, rankings in zip(systems, found.values(), strict=True)
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
            model = _model(system)
            kept_as = system.name if model is None else f"{system.name} {model}"
            known = None if journal is None else journal.get(kept_as, question.id)
            if known is None:
                if system.name not in prepared:
                    bench.embed_questions(progress)
                    system.prepare(bench)
                    _warm_up(system, question)
                    prepared.add(system.name)
                known = system.rank(question, k)
                if journal is not None:
                    journal.add(kept_as, question.id, known)
            found[system.name].append(known)
    progress("rankings", len(questions) * count, len(questions) * count)
    return found


def _warm_up(system: System, question: RetrievalQuestion) -> None:
    """Let a system answer once before its time counts, if it can without a trace.

    What the server does once for each statement, such as planning it, is then over.
    """
    warm_up = getattr(system, "warm_up", None)
    if warm_up is not None and _model(system) is None:
        warm_up(question)


def _model(system: System) -> str | None:
    """Return the name of the language model that a system asks, if any."""
    name: str | None = getattr(system, "model_name", None)
    return name


FOLDER = "evaluations"
"""Folder of the home where interrupted runs leave what they found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationOptions:
    """How systems are measured.

    Attributes:
        ks: Places at which rankings are cut.
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
        measures: Names of the measures in the order of a table.
        results: What each system found.
        parts: All questions, and the halves where they are asked for.
        facts: What else a table must say, by name.
        notes: What a reader must know, one sentence each.
        runs: System -> id of its EvalRun, where results are stored.
        answers: System -> question id -> what a model answered, where it was asked.
        models: Who answered and judged, and how, by what a run calls it.
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
    models: Mapping[str, Any] = field(default_factory=dict)


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

    Raises:
        InputError: If an option is no good.
        CorpusDriftError: If the database's vectors were made by another embedder.
        DatabaseError: If the database fails; the next run goes on from there.
        MissingExtraError: If a model is to judge and the extra `deepeval` is missing.
    """
    chosen = options or EvaluationOptions()
    ks = check_ks(chosen.ks)
    bench = open_bench(
        dataset,
        connection,
        embedder,
        settings=settings,
        unit=chosen.unit,
        reader=chosen.reader,
        record=chosen.record,
        progress=progress,
    )
    commit = code_version()
    with _journal(settings, chosen, _key(bench, chosen, ks, commit)) as journal:
        resumed = len(journal)
        results = run_systems(bench, systems, ks=ks, journal=journal, progress=progress)
    judged = _judged(results, dataset, chosen, settings, progress)
    evaluation = _evaluation(bench, judged, chosen, commit=commit, resumed=resumed)
    if chosen.store:
        stored = store_evaluation(connection, evaluation)
        evaluation = replace(evaluation, runs=stored)
    if not judged.stopped:
        journal.remove()
    return evaluation


def _evaluation(
    bench: Bench,
    judged: JudgedResults,
    options: EvaluationOptions,
    *,
    commit: str,
    resumed: int,
) -> Evaluation:
    """Return what came out, summed up."""
    ks = check_ks(options.ks)
    names = measure_names(ks, sentences=bench.dataset.has_sentences)
    measures = (*names, *judged.measures)
    return Evaluation(
        dataset=bench.dataset,
        options=options,
        corpus=bench.corpus.name,
        embedder=embedder_name(bench.embedder),
        commit=commit,
        measures=measures,
        results=judged.results,
        parts=parts_of(judged.results, measures, options),
        facts={
            "resumed": resumed,
            "embeddingMilliseconds": bench.embedding_milliseconds,
            "reader": bench.reader_used,
        },
        notes=(
            *_notes(bench, ks),
            *_notes_of_results(judged.results, options),
            *judged.notes,
        ),
        answers=judged.answers,
        models=judged.models,
    )


def _judged(
    results: tuple[SystemResult, ...],
    dataset: RetrievalDataset,
    options: EvaluationOptions,
    settings: Settings,
    progress: Progress,
) -> JudgedResults:
    """Return results with answers measured too, if that is asked for."""
    if options.judging is None:
        return JudgedResults(results=results, measures=())
    return judge_results(
        results,
        dataset=dataset,
        options=options.judging,
        settings=settings,
        progress=progress,
    )


def _journal(settings: Settings, options: EvaluationOptions, key: str) -> Journal:
    """Return what an interrupted run has left, empty where that is not wanted."""
    journal = Journal(settings.home / FOLDER, key)
    if options.resume:
        return journal
    with journal:
        journal.remove()
    return Journal(settings.home / FOLDER, key)


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

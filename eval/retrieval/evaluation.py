"""One evaluation: a data set, a corpus, systems, and what came out.

Rankings are kept on disk as they come, by which a run that was interrupted goes on: one
file a run, named after all that the rankings depend on; one ranking a line. When a run
is complete its file goes, so that the next one measures anew.

| measure | of one question |
|---|---|
| `recall@k` | share of its gold passages that are among the first k |
| `all_recall@k` | 1 where all of them are, else 0 |
| `precision@k` | share of the first k that are gold; fewer than k count as wrong |
| `ndcg@k` | normalised discounted cumulative gain, by grades where there are any |
| `mrr` | 1 / place of the first gold passage; 0 beyond the greatest k |
| `chunk_recall@k` | share of its gold stretches that the first k chunks touch |
| `chunk_precision@k` | share of the first k chunks that touch one |
| `sentence_precision` | share of the returned sentences that are gold |
| `sentence_recall` | share of its gold sentences that were returned |
| `sentence_f1` | harmonic mean of the two |

Recall, precision, nDCG and MRR come from ir-measures. Chunks and sentences are only
measured for questions whose data set names gold at that level; a gold sentence is a
stretch of one sentence. A system that returns fewer passages than k is measured by
those that it returns.
"""

from __future__ import annotations

import inspect
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import TypeAdapter

from knowtrail.eval.judged import JudgedResults, JudgingOptions, judge_results
from knowtrail.eval.report import NOTES, told
from knowtrail.eval.retrieval.bench import Bench, open_bench
from knowtrail.eval.retrieval.dataset import Ranking, Unit, halves
from knowtrail.eval.retrieval.output import store_evaluation
from knowtrail.eval.statistics import (
    RESAMPLES,
    SHARE,
    Interval,
    bootstrap_interval,
    compare_systems,
    resample_blocks,
)
from knowtrail.eval.store import code_version
from knowtrail.graph.cli.progress import Progress, silent
from knowtrail.graph.errors import InputError
from knowtrail.graph.files import file_digest
from knowtrail.graph.files.journal import State
from knowtrail.graph.models.embedders import Embedder, embedder_name
from knowtrail.ingest.keys import content_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from knowtrail.eval.retrieval.dataset import (
        RetrievalDataset,
        RetrievalQuestion,
        ReturnedChunk,
        System,
    )
    from knowtrail.eval.statistics import Difference
    from knowtrail.graph.db.connection import Connection
    from knowtrail.graph.settings import Settings
    from knowtrail.retrieval.questions import ReaderName


def measure_names(ks: Sequence[int], *, sentences: bool) -> tuple[str, ...]:
    """Return the names of the measures in the order of a table."""
    heads = ["recall", "all_recall", "precision", "ndcg"]
    names = [f"{head}@{k}" for head in heads for k in ks]
    names.append("mrr")
    if sentences:
        chunked = ("chunk_recall", "chunk_precision")
        names += [f"{head}@{k}" for head in chunked for k in ks]
        names += ["sentence_precision", "sentence_recall", "sentence_f1"]
    return tuple(names)


def measure_rankings(
    questions: Sequence[RetrievalQuestion],
    rankings: Sequence[Ranking],
    *,
    ks: Sequence[int],
) -> list[dict[str, float]]:
    """Return the measures of each question, those that are defined for it."""
    found = _standard(questions, rankings, ks)
    for question, ranking, values in zip(questions, rankings, found, strict=True):
        for k in ks:
            values[f"all_recall@{k}"] = float(values[f"recall@{k}"] >= 1)
        values.update(_chunks(question, ranking.chunks, ks))
        values.update(_sentences(question, ranking))
    return found


def _standard(
    questions: Sequence[RetrievalQuestion],
    rankings: Sequence[Ranking],
    ks: Sequence[int],
) -> list[dict[str, float]]:
    """Return what ir-measures says; a question for which nothing was found has 0."""
    import ir_measures

    names = {f"R@{k}": f"recall@{k}" for k in ks}
    names |= {f"P@{k}": f"precision@{k}" for k in ks}
    names |= {f"nDCG@{k}": f"ndcg@{k}" for k in ks}
    names["RR"] = "mrr"
    measures = {ir_measures.parse_measure(each): name for each, name in names.items()}
    truth, run = {}, {}
    for place, (question, ranking) in enumerate(zip(questions, rankings, strict=True)):
        truth[str(place)] = {
            name: question.grade(name) for name in question.gold_documents
        }
        if ranking.documents:
            run[str(place)] = {
                document.id: -float(rank)
                for rank, document in enumerate(ranking.documents)
            }
    found = [dict.fromkeys(names.values(), 0.0) for _ in questions]
    if run:
        for metric in ir_measures.iter_calc(list(measures), truth, run):
            found[int(metric.query_id)][measures[metric.measure]] = float(metric.value)
    return found


def _chunks(
    question: RetrievalQuestion, chunks: Sequence[ReturnedChunk], ks: Sequence[int]
) -> Mapping[str, float]:
    gold = [(g.document, g.first, g.last) for g in question.gold_chunks] or [
        (g.document, g.sentence, g.sentence) for g in question.gold_sentences
    ]
    if not gold:
        return {}
    touched = [
        [
            chunk.document == document and chunk.first <= last and first <= chunk.last
            for document, first, last in gold
        ]
        for chunk in chunks
    ]
    found = {}
    for k in ks:
        top = touched[:k]
        hit = sum(any(row[place] for row in top) for place in range(len(gold)))
        found[f"chunk_recall@{k}"] = hit / len(gold)
        found[f"chunk_precision@{k}"] = sum(any(row) for row in top) / k
    return found


def _sentences(question: RetrievalQuestion, ranking: Ranking) -> Mapping[str, float]:
    gold = {(g.document, g.sentence) for g in question.gold_sentences}
    if not gold:
        return {}
    returned = {(s.document, s.sentence) for s in ranking.sentences}
    right = len(gold & returned)
    precision = right / len(returned) if returned else 0.0
    recall = right / len(gold)
    both = precision + recall
    return {
        "sentence_precision": precision,
        "sentence_recall": recall,
        "sentence_f1": 2 * precision * recall / both if both else 0.0,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemSummary:
    """A system's means, and `p50` and `p95` of its milliseconds.

    `filled` is the share of passages of its rankings that come from the dense ranking.
    """

    name: str
    n: int
    measures: Mapping[str, Interval] = field(default_factory=dict)
    latency: Mapping[str, Interval] = field(default_factory=dict)
    quantities: Mapping[str, Interval] = field(default_factory=dict)
    empty: int = 0
    filled: float = 0.0


_COUNTED: dict[str, Callable[[Ranking], float]] = {
    "documents": lambda ranking: len(ranking.documents),
    "sentences": lambda ranking: len(ranking.sentences),
    "hops": lambda ranking: ranking.hops,
    "documents_crossed": lambda ranking: ranking.crossed,
}


def summarise(
    result: SystemResult, *, seed: int = 0, places: Sequence[int] | None = None
) -> SystemSummary:
    """Return the means of a system."""
    chosen = range(len(result.questions)) if places is None else places
    rankings = [result.rankings[place] for place in chosen]
    values = [result.values[place] for place in chosen]
    names = dict.fromkeys(name for row in values for name in row)
    times = [ranking.milliseconds for ranking in rankings]
    shown = sum(len(ranking.documents) for ranking in rankings)
    return SystemSummary(
        name=result.name,
        n=len(rankings),
        measures={
            name: bootstrap_interval(
                [r[name] for r in values if name in r], seed=seed, bounds=SHARE
            )
            for name in names
        },
        latency={
            "p50": quantile_interval(times, 0.5, seed=seed),
            "p95": quantile_interval(times, 0.95, seed=seed),
        },
        quantities={
            name: bootstrap_interval([count(each) for each in rankings], seed=seed)
            for name, count in _COUNTED.items()
        },
        empty=sum(not ranking.documents for ranking in rankings),
        filled=sum(ranking.filled for ranking in rankings) / shown if shown else 0.0,
    )


def quantile_interval(
    numbers: Sequence[float], share: float, *, seed: int = 0
) -> Interval:
    """Return a quantile with its percentile bootstrap interval."""
    found = np.asarray(numbers, dtype=np.float64)
    value, n = float(np.quantile(found, share)), len(found)
    if n < 2:
        nan = float("nan")
        return Interval(value=value, low=nan, high=nan, level=0.95, n=n)
    rng = np.random.default_rng(seed)
    drawn = np.concatenate([
        np.quantile(found[rng.integers(0, n, size=(size, n))], share, axis=1)
        for size in resample_blocks(RESAMPLES, n)
    ])
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Interval(value=value, low=float(low), high=float(high), level=0.95, n=n)


def differences(
    results: Sequence[SystemResult],
    base: SystemResult,
    measures: Sequence[str],
    *,
    seed: int = 0,
    places: Sequence[int] | None = None,
) -> tuple[Difference, ...]:
    """Return each system less one of them, measure by measure."""
    chosen = range(len(base.questions)) if places is None else places
    values = {
        result.name: {
            measure: {
                place: result.values[place][measure]
                for place in chosen
                if measure in result.values[place]
            }
            for measure in measures
        }
        for result in (base, *results)
    }
    return compare_systems(values, base.name, metrics=measures, seed=seed)


_RANKING = TypeAdapter(Ranking)


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemResult:
    """What a system found for every question."""

    name: str
    questions: tuple[RetrievalQuestion, ...]
    rankings: tuple[Ranking, ...]
    values: tuple[Mapping[str, float], ...]
    model: str | None = None
    code: str = ""


def check_ks(ks: Sequence[int]) -> tuple[int, ...]:
    """Return places at which rankings are cut, in order, each once."""
    if not ks or not all(1 <= k <= 1000 for k in ks):
        msg = f"k is {', '.join(map(str, ks)) or 'missing'}: give numbers 1 to 1000."
        raise InputError(msg)
    return tuple(sorted(set(ks)))


def run_systems(
    bench: Bench,
    systems: Sequence[System],
    *,
    ks: Sequence[int] = (2, 5, 10),
    state: State | None = None,
    progress: Progress = silent,
) -> tuple[SystemResult, ...]:
    """Ask every system every question."""
    cuts = check_ks(ks)
    names = [system.name for system in systems]
    if len(set(names)) < len(names) or not names:
        raise InputError(
            f"The systems are {', '.join(names) or 'none'}: name each once."
        )
    found = _asked(bench, systems, cuts[-1], state=state, progress=progress)
    questions = bench.dataset.questions
    return tuple(
        SystemResult(
            name=system.name,
            questions=questions,
            rankings=tuple(rankings),
            values=tuple(measure_rankings(questions, rankings, ks=cuts)),
            model=_model(system),
            code=_code(system),
        )
        for system, rankings in zip(systems, found.values(), strict=True)
    )


def _asked(
    bench: Bench,
    systems: Sequence[System],
    k: int,
    *,
    state: State | None,
    progress: Progress,
) -> dict[str, list[Ranking]]:
    """Return the rankings of every system; those that are not known are made now."""
    # Each question is put to all systems, another one first each time, so that what
    # else goes on slows and helps them alike.
    questions, count = bench.dataset.questions, len(systems)
    found: dict[str, list[Ranking]] = {system.name: [] for system in systems}
    codes = {system.name: _code(system) for system in systems}
    prepared: set[str] = set()
    for place, question in enumerate(questions):
        for turn in range(count):
            progress("rankings", place * count + turn, len(questions) * count)
            system = systems[(place + turn) % count]
            model, code = _model(system), codes[system.name]
            key = content_key("ranking", system.name, model or "", code, question.id)
            if code and state is not None and (known := state.get(key)) is not None:
                ranking = _RANKING.validate_python(known)
            else:
                if system.name not in prepared:
                    bench.embed_questions(progress)
                    system.prepare(bench)
                    # What the server does once a statement, as planning, is then over.
                    if model is None and (warm_up := getattr(system, "warm_up", None)):
                        warm_up(question)
                    prepared.add(system.name)
                ranking = system.rank(question, k)
                if state is not None:
                    state.put(key, asdict(ranking), system=system.name)
            found[system.name].append(ranking)
    progress("rankings", len(questions) * count, len(questions) * count)
    return found


def _model(system: System) -> str | None:
    name: str | None = getattr(system, "model_name", None)
    return name


def _code(system: System) -> str:
    """Return a digest of the file that makes a system, empty where there is none."""
    try:
        return file_digest(Path(inspect.getfile(type(system))))
    except (OSError, TypeError):  # of a notebook: nobody knows what it was before
        return ""


FOLDER = "evaluations"
"""Folder of the home where interrupted runs leave what they found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationOptions:
    """How systems are measured; without `base` others are compared with the first."""

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
    """What came out on some of the questions: `all`, `dev` or `test`."""

    name: str
    n: int
    systems: tuple[SystemSummary, ...]
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evaluation:
    """What came out; ids of EvalRuns and answers of models are by system."""

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
    key = _key(bench, ks[-1], commit)
    folder, file = settings.home / FOLDER, f"retrieval-{key}.jsonl"
    if not chosen.resume:
        with State(folder, name=file) as state:
            state.remove()
    with State(folder, name=file, sync_seconds=1.0) as state:
        resumed = len(state)
        results = run_systems(bench, systems, ks=ks, state=state, progress=progress)
        judged = JudgedResults(results=results, measures=())
        if chosen.judging is not None:
            judged = judge_results(
                results,
                dataset=dataset,
                options=chosen.judging,
                settings=settings,
                progress=progress,
            )
        evaluation = _evaluation(bench, judged, chosen, commit=commit, resumed=resumed)
        if chosen.store:
            stored = store_evaluation(connection, evaluation)
            evaluation = replace(evaluation, runs=stored)
        if not judged.stopped:
            state.remove()
    return evaluation


def _key(bench: Bench, k: int, commit: str) -> str:
    """Return all that rankings depend on as a key."""
    corpus = bench.corpus
    stored = bench.dataset.checksum, corpus.name, corpus.version, str(corpus.stamp)
    asked = k, bench.reader_used, bench.record, commit
    return content_key("retrieval-journal", *stored, *asked)


def _evaluation(
    bench: Bench,
    judged: JudgedResults,
    options: EvaluationOptions,
    *,
    commit: str,
    resumed: int,
) -> Evaluation:
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


def parts_of(
    results: Sequence[SystemResult], measures: Sequence[str], options: EvaluationOptions
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
    notes = []
    names = [result.name for result in results]
    if len(names) > 1 and options.base not in names:
        notes.append(
            f"{options.base} is not measured here: differences are from {names[0]}."
        )
    base = next((each for each in results if each.name == options.base), results[0])
    if any(_alike(each, None) or _alike(each, base) for each in results):
        notes.append(NOTES["alike"])
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
    lacking = [f"{name!r:.80}" for name in bench.unreadable]
    count = len(bench.dataset.passages)
    text = told("retrieval/notes.txt", most=ks[-1], count=count, lacking=lacking)
    return [*bench.dataset.notes, *text.splitlines()]

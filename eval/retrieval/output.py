"""What an evaluation says: data, lines, a page of HTML, and runs in the graph.

    (:EvalRun {kind: 'retrieval', system})-[:HAS_RECORD]->(:EvalRecord)
    (:EvalRecord)-[:JUDGES]->(:Traversal), (:EvalRun)-[:HAS_METRIC]->(:Metric)

There is a run for each system and a record for each question, which says which passages
are gold, found and missed, so that a query can ask why a question failed.
"""

from __future__ import annotations

import json
import math
from functools import partial
from typing import TYPE_CHECKING, Any

from knowtrail.eval.judged import ANSWER_MEASURES
from knowtrail.eval.report import aligned, filled, plain, told
from knowtrail.eval.statistics import EXACT, RESAMPLES, Difference, Interval
from knowtrail.eval.store import (
    LONGEST_TEXT,
    EvalRecord,
    EvalRun,
    Metric,
    property_name,
    sendable,
    store_run,
)
from knowtrail.ingest.keys import content_key
from knowtrail.ingest.prepare import document_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from knowtrail.eval.retrieval.dataset import Ranking, RetrievalQuestion
    from knowtrail.eval.retrieval.evaluation import (
        Evaluation,
        Part,
        SystemResult,
        SystemSummary,
    )
    from knowtrail.graph.db.connection import Connection

_DIGITS = 6

TITLES = {"all": "All questions", "dev": "Development half", "test": "Test half"}
"""Part of the questions -> what it is called."""

JUDGED = {
    "contextual_precision": "precision",
    "contextual_recall": "recall",
    "answer_relevancy": "relevancy",
    "faithfulness": "faithfulness",
    "passed": "passed",
}
"""What a model judges -> its column, in the order of the published tables."""


def as_dict(evaluation: Evaluation) -> dict[str, Any]:
    """Return an evaluation as JSON values; means are from 0 to 1."""
    whole, *rest = evaluation.parts
    dataset = evaluation.dataset
    return {
        **_part(whole),
        "seed": evaluation.options.seed,
        "corpus": evaluation.corpus,
        "embedder": evaluation.embedder,
        "commit": evaluation.commit,
        "unit": str(evaluation.options.unit),
        "dataset": {
            "name": dataset.name,
            "kind": dataset.kind,
            "passages": len(dataset.passages),
            "questions": len(dataset.questions),
            "checksum": dataset.checksum,
            "files": [
                {"name": file.name, "bytes": file.size, "checksum": file.checksum}
                for file in dataset.files
            ],
            "problems": plain(dataset.problems),
        },
        "halves": {part.name: _part(part) for part in rest},
        "notes": list(evaluation.notes),
        "facts": dict(evaluation.facts),
        "runs": dict(evaluation.runs),
    }


def _part(part: Part) -> dict[str, Any]:
    return {
        "n": part.n,
        "systems": {
            system.name: {
                **plain(system.measures),
                "milliseconds": plain(system.latency),
                **plain(system.quantities),
                "n": system.n,
                "empty": system.empty,
                "filled": round(system.filled, 6),
            }
            for system in part.systems
        },
        "differences": [
            {
                "system": each.name,
                "base": each.base,
                "measure": each.metric,
                **plain(each.found.difference),
                "p": each.p_value,
            }
            for each in part.differences
        ],
    }


def rankings_of(evaluation: Evaluation) -> Iterator[dict[str, Any]]:
    """Yield what each system found for each question, as JSON values."""
    for result in evaluation.results:
        for question, ranking, values in zip(
            result.questions, result.rankings, result.values, strict=True
        ):
            yield {
                "system": result.name,
                "id": question.id,
                "gold": {
                    name: question.grade(name) for name in question.gold_documents
                },
                "documents": plain(ranking.documents),
                "measures": {name: round(values[name], _DIGITS) for name in values},
                "milliseconds": round(ranking.milliseconds, 3),
                "traversal": ranking.traversal_id,
                "answer": evaluation.answers.get(result.name, {}).get(question.id),
            }


def facts_of(evaluation: Evaluation) -> dict[str, str]:
    """Return what every table must say, by name."""
    dataset, options = evaluation.dataset, evaluation.options
    return {
        "data set": f"{dataset.name} ({dataset.kind})",
        "questions": str(len(dataset.questions)),
        "passages": str(len(dataset.passages)),
        "unit": str(options.unit),
        "embedder": evaluation.embedder,
        "corpus": evaluation.corpus,
        "reader": str(evaluation.facts.get("reader", options.reader)),
        "seed": str(options.seed),
        "commit": evaluation.commit,
        "checksum": dataset.checksum,
    }


def lines(evaluation: Evaluation) -> list[str]:
    """Return an evaluation for people."""
    return told(
        "retrieval/summary.txt",
        evaluation=evaluation,
        facts=facts_of(evaluation),
        titles=TITLES,
        measures=_main_measures(evaluation),
        judged=JUDGED,
        table=_table,
    ).splitlines()


def _main_measures(evaluation: Evaluation) -> dict[str, str]:
    shown = (
        *(f"recall@{k}" for k in evaluation.options.ks),
        f"all_recall@{main_k(evaluation)}",
        "sentence_f1",
        "f1",
    )
    return {name: name for name in shown if name in evaluation.measures}


def _table(part: Part, columns: Mapping[str, str], *, timed: bool = False) -> str:
    rows = [["", *(_head(part, name, head) for name, head in columns.items())]]
    rows += [
        [system.name, *(_cell(system.measures, name) for name in columns)]
        for system in part.systems
    ]
    if timed:
        times = (f"{system.latency['p50'].value:.1f}" for system in part.systems)
        rows = [[*row, t] for row, t in zip(rows, ["p50 ms", *times], strict=True)]
    return "\n".join(aligned(rows))


def _head(part: Part, measure: str, head: str) -> str:
    """Return a column with its number of questions, where it has not all of them."""
    counts = {s.measures[measure].n for s in part.systems if measure in s.measures}
    if measure == "passed" or counts <= {part.n}:
        return head
    least, most = min(counts), max(counts)
    return f"{head} n={most}" if least == most else f"{head} n={least}-{most}"


def mean_text(found: Interval, measure: str) -> str:
    """Return a mean in per cent; of what passes, how many of how many."""
    if measure == "passed":
        return f"{round(found.value * found.n)}/{found.n}"
    return per_cent(found.value)


def main_k(evaluation: Evaluation) -> int:
    """Return the k that is nearest to 5, by which questions are told apart."""
    return min(evaluation.options.ks, key=lambda k: (abs(k - 5), k))


def per_cent(value: float, sign: str = "") -> str:
    """Return a share in per cent with one digit after the point, 5 rounded up."""
    if value != value:
        return "-"
    scaled = math.copysign(math.floor(abs(value) * 1000 + 0.5 + 1e-9) / 10, value)
    return f"{scaled:{sign}.1f}"


def _cell(found: Mapping[str, Interval], name: str) -> str:
    if name not in found:
        return "-"
    each = found[name]
    if each.low != each.low:
        return mean_text(each, name)
    ends = f"[{per_cent(each.low)}, {per_cent(each.high)}]"
    return f"{mean_text(each, name)} {ends}"


def store_evaluation(connection: Connection, evaluation: Evaluation) -> dict[str, str]:
    """Store an evaluation; return the id of each system's run."""
    runs = {}
    for result in evaluation.results:
        run = run_of(evaluation, result)
        rows = zip(result.questions, result.rankings, result.values, strict=True)
        records = (_record(evaluation.corpus, *row) for row in rows)
        metrics = _metrics(evaluation, result.name)
        store_run(connection, run, records=records, metrics=metrics)
        runs[result.name] = run.id
    return runs


def run_of(evaluation: Evaluation, result: SystemResult) -> EvalRun:
    """Return the run of a system; see `EvalRun`."""
    dataset, options = evaluation.dataset, evaluation.options
    shared = {
        "corpus": evaluation.corpus,
        "embedder": evaluation.embedder,
        "unit": str(options.unit),
        "seed": options.seed,
        "k": ",".join(map(str, options.ks)),
        "reader": evaluation.facts.get("reader", options.reader),
        "halves": options.halves,
        "record": options.record,
        "questions": len(dataset.questions),
        "passages": len(dataset.passages),
        "checksum": dataset.checksum,
        **evaluation.models,
    }
    systems = [[each.name, each.model, each.code] for each in evaluation.results]
    together = content_key(
        "retrieval-evaluation", json.dumps([shared, systems], sort_keys=True)
    )
    return EvalRun(
        kind="retrieval",
        dataset=dataset.name,
        configuration={
            **shared,
            "system": result.name,
            "model": result.model,
            "systemCode": result.code,
            "evaluation": together,
        },
        key=dataset.checksum,
        commit=evaluation.commit,
        notes=evaluation.notes,
    )


def _record(
    corpus: str,
    question: RetrievalQuestion,
    ranking: Ranking,
    values: Mapping[str, float],
) -> EvalRecord:
    found = [document.id for document in ranking.documents]
    missed = [name for name in question.gold_documents if name not in found]
    texts: dict[str, Any] = {
        "question": sendable(question.text[:LONGEST_TEXT]),
        "gold": [sendable(name) for name in question.gold_documents],
        "found": [sendable(name) for name in found],
        "missed": [sendable(name) for name in missed],
        "missedDocuments": [document_id(corpus, name) for name in missed],
        "stopReason": ranking.stop_reason,
    }
    counted = {
        "milliseconds": ranking.milliseconds,
        "hops": float(ranking.hops),
        "documentsCrossed": float(ranking.crossed),
        "sentences": float(len(ranking.sentences)),
        "filled": float(ranking.filled),
    }
    measured = {property_name(name): value for name, value in values.items()}
    walks = () if ranking.traversal_id is None else (ranking.traversal_id,)
    return EvalRecord(
        record_id=question.id, scores={**texts, **counted, **measured}, judges=walks
    )


def _metrics(evaluation: Evaluation, system: str) -> Iterator[Metric]:
    """Yield the means of a system; those of a half have its name as path."""
    for part in evaluation.parts:
        path = "" if part.name == "all" else part.name
        (summary,) = (each for each in part.systems if each.name == system)
        times = {f"milliseconds_{name}": one for name, one in summary.latency.items()}
        for name, one in {**summary.measures, **times, **summary.quantities}.items():
            yield Metric.of(name, one, path=path)


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
        judged=JUDGED,
        known=partial(_known, evaluation),
        best_of=_best,
        differences=_shown_differences,
        worst=_worst(evaluation, measure),
        mean_text=mean_text,
        per_cent=per_cent,
        resamples=RESAMPLES,
        exact=EXACT,
        alpha=_ALPHA,
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
    return max(s.measures[measure].value for s in systems if measure in s.measures)


def _worst(evaluation: Evaluation, measure: str) -> list[tuple[int, float]]:
    rows = zip(*(result.values for result in evaluation.results), strict=True)
    count = len(evaluation.results)
    means = [sum(values[measure] for values in row) / count for row in rows]
    return sorted(enumerate(means), key=lambda one: (one[1], one[0]))[:_WORST]


def _shown_differences(part: Part) -> list[Difference]:
    """Return the differences in what is mostly asked for."""
    shown = ("recall@", "all_recall@", "mrr", "sentence_f1", "chunk_recall@", *_ANSWERS)
    return [each for each in part.differences if each.metric.startswith(shown)]

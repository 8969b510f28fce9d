"""Evaluations in the graph: a run for each system, a record for each question.

    (:EvalRun {kind: 'retrieval', system})-[:HAS_RECORD]->(:EvalRecord)
    (:EvalRecord)-[:JUDGES]->(:Traversal), (:EvalRun)-[:HAS_METRIC]->(:Metric)

A record says which passages are gold, found and missed, so that a query can ask why a
question failed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eval.records import LONGEST_TEXT, EvalRecord, EvalRun, Metric, sendable
from eval.store import open_run
from ingest.keys import content_key
from ingest.prepare import document_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eval.retrieval.dataset import RetrievalQuestion
    from eval.retrieval.evaluation import Evaluation
    from eval.retrieval.running import SystemResult
    from eval.retrieval.system import Ranking
    from graph.connection import Connection

__all__ = ["property_name", "store_evaluation"]


def store_evaluation(connection: Connection, evaluation: Evaluation) -> dict[str, str]:
    """Store an evaluation.

    Args:
        connection: The database.
        evaluation: What came out.

    Returns:
        System -> id of its run.
    """
    together = content_key(
        "retrieval-evaluation", *(_digest(result) for result in evaluation.results)
    )
    return {
        result.name: _store(connection, evaluation, result, together)
        for result in evaluation.results
    }


def _digest(result: SystemResult) -> str:
    """Return what tells one measurement of a system from another.

    Its values are a part of it: a run whose judge broke off is not the one that has
    judged all, though both have the same rankings.
    """
    return content_key(
        result.name,
        *(
            part
            for ranking, values in zip(result.rankings, result.values, strict=True)
            for part in (
                ranking.traversal_id or "",
                repr(ranking.milliseconds),
                *(document.id for document in ranking.documents),
                *(f"{name}={value!r}" for name, value in sorted(values.items())),
            )
        ),
    )


def _store(
    connection: Connection,
    evaluation: Evaluation,
    result: SystemResult,
    together: str,
) -> str:
    """Store a system's run."""
    run = EvalRun(
        kind="retrieval",
        dataset=evaluation.dataset.name,
        configuration=_configuration(evaluation, result.name, together),
        commit=evaluation.commit,
        key=_digest(result),
    )
    with open_run(connection, run) as writer:
        rows = zip(result.questions, result.rankings, result.values, strict=True)
        for question, ranking, values in rows:
            writer.add(_record(evaluation.corpus, question, ranking, values))
        writer.metric(*_metrics(evaluation, result.name))
    return run.id


def _configuration(
    evaluation: Evaluation, system: str, together: str
) -> dict[str, Any]:
    """Return how a system was measured."""
    dataset, options = evaluation.dataset, evaluation.options
    return {
        "system": system,
        "evaluation": together,
        "corpus": evaluation.corpus,
        "embedder": evaluation.embedder,
        "unit": str(options.unit),
        "seed": options.seed,
        "k": ",".join(map(str, options.ks)),
        "reader": options.reader,
        "questions": len(dataset.questions),
        "passages": len(dataset.passages),
        "checksum": dataset.checksum,
        "notes": list(evaluation.notes),
    }


def _record(
    corpus: str,
    question: RetrievalQuestion,
    ranking: Ranking,
    values: Mapping[str, float],
) -> EvalRecord:
    """Return a question with what was found for it."""
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
        for name, interval in summary.measures.items():
            yield Metric.of(name, interval, path=path)
        for name, interval in summary.latency.items():
            yield Metric.of(f"milliseconds_{name}", interval, path=path)
        for name, interval in summary.quantities.items():
            yield Metric.of(name, interval, path=path)


def property_name(measure: str) -> str:
    """Return the name of a measure as a property: `recall_5` for `recall@5`."""
    return "".join(char if char.isalnum() else "_" for char in measure)

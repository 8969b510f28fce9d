"""Results in the graph: a run of kind `specificity`, a record for each question."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from eval.records import EvalRecord, EvalRun, Metric, StoredField
from eval.specificity.measures import class_scores
from eval.store import open_run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eval.specificity.experiments import ExperimentTable
    from eval.specificity.judging import Outcome
    from eval.statistics import Interval
    from graph.connection import Connection
    from retrieval.specificity.experiment import SpecificityExperiment

__all__ = ["outcomes_key", "store_experiment", "store_outcomes", "stored_groups"]


def store_outcomes(
    connection: Connection,
    outcomes: Sequence[Outcome],
    metrics: Mapping[str, Interval],
    *,
    dataset: str,
    configuration: Mapping[str, Any],
    commit: str = "",
) -> str:
    """Store what was measured; return the id of the run.

    The same outcomes by the same labels, times apart, are the same run and are stored
    once.

    Args:
        connection: The database.
        outcomes: One for each question.
        metrics: Metrics with their intervals.
        dataset: Name of the questions.
        configuration: How they were asked.
        commit: Version of the code.
    """
    run = EvalRun(
        kind="specificity",
        dataset=dataset,
        configuration=dict(configuration),
        commit=commit,
        key=outcomes_key(outcomes),
    )
    with open_run(connection, run) as writer:
        for outcome in outcomes:
            writer.add(_record(outcome))
        writer.metric(*(Metric.of(name, value) for name, value in metrics.items()))
    return run.id


def outcomes_key(outcomes: Sequence[Outcome]) -> str:
    """Return a digest of all that metrics depend on, but for times.

    Args:
        outcomes: One for each question, with its labels.
    """
    digest = hashlib.blake2b(digest_size=16)
    for one in outcomes:
        told = json.dumps(_told(one), sort_keys=True, default=str)
        digest.update(told.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _told(outcome: Outcome) -> list[Any]:
    """Return what makes an outcome another one: labels, findings and judgement."""
    question, answer = outcome.question, outcome.question.answer
    return [
        question.id,
        question.question,
        question.template,
        dict(question.slots),
        question.relation,
        [answer.kind, sorted(answer.ids), answer.value, dict(answer.values)],
        [outcome.template, outcome.status, outcome.answer],
        [outcome.slots_right, outcome.slots_found, outcome.slots_wanted],
        [outcome.template_right, outcome.ended_right, outcome.answer_right],
        [sorted(outcome.expected_classes), outcome.kept_classes, outcome.all_classes],
    ]


def _record(outcome: Outcome) -> EvalRecord:
    """Return the record of a question."""
    question = outcome.question
    scores = {
        "templateRight": float(outcome.template_right),
        "endedRight": float(outcome.ended_right),
        "answerRight": float(outcome.answer_right),
        "slotsRight": float(outcome.slots_right),
        "slotsFound": float(outcome.slots_found),
        "slotsWanted": float(outcome.slots_wanted),
    }
    measured = class_scores(outcome) or {}
    return EvalRecord(
        record_id=question.id,
        scores=scores | {_camel(name): value for name, value in measured.items()},
        fields=(
            _field(
                "template", question.template, outcome.template, outcome.template_right
            ),
            StoredField(
                path="answer",
                schema_path="answer",
                status="match" if outcome.answer_right else "mismatch",
                score=float(outcome.answer_right),
                gold=question.question,
                extracted=outcome.answer,
                comparator=question.answer.kind,
                reason=outcome.status,
            ),
        ),
    )


def _field(name: str, gold: str, found: str, right: bool) -> StoredField:
    """Return a value that is right or wrong."""
    return StoredField(
        path=name,
        schema_path=name,
        status="match" if right else "mismatch",
        score=float(right),
        gold=gold,
        extracted=found,
        comparator="exact",
    )


def _camel(name: str) -> str:
    """Return a name as properties are written."""
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


def stored_groups(
    connection: Connection, sessions: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Return the groups in which sessions were answered, by their stored turns.

    Args:
        connection: The database.
        sessions: Ids of sessions, which are those of their conversations.

    Returns:
        Session -> groups; a session without a turn of an experiment is left out.
    """
    rows = connection.read("eval/experiment_groups", sessions=list(sessions))
    return {row["session"]: tuple(row["groups"]) for row in rows}


def store_experiment(
    connection: Connection,
    table: ExperimentTable,
    *,
    experiment: SpecificityExperiment,
    dataset: str,
    commit: str = "",
) -> str:
    """Store the result of an experiment; return the id of the run.

    Args:
        connection: The database.
        table: The result.
        experiment: What dealt the sessions.
        dataset: Where their qualities come from.
        commit: Version of the code.
    """
    run = EvalRun(
        kind="specificity-experiment",
        dataset=dataset,
        configuration={
            "experiment": experiment.name,
            "trafficSplit": experiment.traffic_split,
        },
        commit=commit,
        key=repr(table),
    )
    with open_run(connection, run) as writer:
        for group, value, n in (
            ("control", table.control, table.control_sessions),
            ("treatment", table.treatment, table.treatment_sessions),
        ):
            if value is not None:
                writer.metric(Metric(name=f"{group}_quality", value=value, n=n))
        if table.difference is not None:
            writer.metric(Metric.of("quality_difference", table.difference))
    return run.id

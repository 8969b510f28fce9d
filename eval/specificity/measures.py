"""Numbers of many outcomes: four of the class filter, four of the answers.

The class filter is measured over questions that are about classes at all and came as
far as the filter; the answers over every question.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from knowtrail.eval.statistics import (
    SHARE,
    bootstrap_interval,
    first_mean,
    ratio_f1,
    wilson_interval,
)
from knowtrail.eval.store import EvalRecord, EvalRun, Metric, StoredField, store_run
from knowtrail.ingest.keys import content_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from knowtrail.eval.specificity.judging import Outcome
    from knowtrail.eval.statistics import Interval, Statistic

    Row = tuple[float, ...]
    from knowtrail.eval.specificity.experiments import ExperimentTable
    from knowtrail.graph.db.connection import Connection
    from knowtrail.retrieval.specificity.monitoring import SpecificityExperiment

FILTER_METRICS = ("precision", "recall", "class_reduction", "response_time")
"""Of one question: kept classes that are relevant, relevant classes that were kept,
share of all classes that was left out, and seconds."""

METRICS = (
    "template_accuracy",
    "slot_f1",
    "ending_accuracy",
    "answer_accuracy",
    "right_ending",
    "wrong_without_notice",
    *FILTER_METRICS,
)


def class_scores(outcome: Outcome) -> dict[str, float] | None:
    """Return the four numbers of the class filter for one question."""
    if not outcome.expected_classes or not outcome.all_classes:
        return None
    kept = set(outcome.kept_classes)
    both = len(kept & outcome.expected_classes)
    return {
        "precision": both / len(kept) if kept else 0.0,
        "recall": both / len(outcome.expected_classes),
        "class_reduction": 1 - len(kept) / outcome.all_classes,
        "response_time": outcome.seconds,
    }


def measure(
    outcomes: Sequence[Outcome], *, resamples: int = 2000, seed: int = 0
) -> dict[str, Interval]:
    """Return every metric with its bootstrap interval of 95 %.

    Conversations are what is drawn, since the turns of one are not independent; a
    question that stands alone is drawn by itself.
    """
    found: dict[str, Interval] = {}

    def add(
        name: str,
        rows: Sequence[tuple[Outcome, Row]],
        statistic: Statistic = first_mean,
    ) -> None:
        found[name] = bootstrap_interval(
            [row for _, row in rows],
            statistic,
            resamples=resamples,
            seed=seed,
            bounds=None if name == "response_time" else SHARE,
            clusters=[
                one.question.conversation or place
                for place, (one, _) in enumerate(rows)
            ],
        )

    labelled = [one for one in outcomes if one.question.template is not None]
    for name, right in _RIGHT.items():
        some = labelled if name == "template_accuracy" else outcomes
        if some:
            add(name, [(one, (float(right(one)),)) for one in some])
    for name, holds in _ENDS.items():
        found[name] = wilson_interval(sum(map(holds, outcomes)), len(outcomes))
    if labelled:
        add("slot_f1", [(one, _slots(one)) for one in labelled], ratio_f1)
    scored = [(one, s) for one in outcomes if (s := class_scores(one)) is not None]
    for name in FILTER_METRICS if scored else ():
        add(name, [(one, (scores[name],)) for one, scores in scored])
    return {name: found[name] for name in METRICS if name in found}


def _slots(outcome: Outcome) -> Row:
    """Return how many slots are right, found and wanted."""
    counts = outcome.slots_right, outcome.slots_found, outcome.slots_wanted
    return tuple(map(float, counts))


_ENDS: Mapping[str, Callable[[Outcome], bool]] = {
    "right_ending": lambda outcome: outcome.answer_right,
    "wrong_without_notice": lambda outcome: outcome.wrong_without_notice,
}
"""Shares of single questions, whose intervals are Wilson's: few are turns of talks."""

_RIGHT: Mapping[str, Callable[[Outcome], bool]] = {
    "template_accuracy": lambda outcome: outcome.template_right,
    "ending_accuracy": lambda outcome: outcome.ended_right,
    "answer_accuracy": lambda outcome: outcome.answer_right,
}


def store_outcomes(
    connection: Connection,
    outcomes: Sequence[Outcome],
    metrics: Mapping[str, Interval],
    *,
    dataset: str,
    configuration: Mapping[str, Any],
) -> str:
    """Store what was measured; return the id of the run, see `EvalRun`."""
    run = EvalRun(
        kind="specificity",
        dataset=dataset,
        configuration=dict(configuration),
        key=labels_key(outcomes),
    )
    store_run(
        connection,
        run,
        records=map(_record, outcomes),
        metrics=(Metric.of(name, value) for name, value in metrics.items()),
    )
    return run.id


def labels_key(outcomes: Sequence[Outcome]) -> str:
    """Return a digest of the questions with their labels."""
    labels = [asdict(one.question) for one in outcomes]
    return content_key(json.dumps(labels, sort_keys=True, default=sorted))


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
                "template",
                question.template or "",
                outcome.template,
                outcome.template_right,
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
    """Return the groups in which sessions were answered, by their stored turns."""
    rows = connection.read("eval/experiment_groups", sessions=list(sessions))
    return {row["session"]: tuple(row["groups"]) for row in rows}


def store_experiment(
    connection: Connection,
    table: ExperimentTable,
    *,
    experiment: SpecificityExperiment,
    dataset: str,
    key: str,
    seed: int = 0,
) -> str:
    """Store the result of an experiment; return the id of the run, see `EvalRun`."""
    run = EvalRun(
        kind="specificity-experiment",
        dataset=dataset,
        configuration={
            "experiment": experiment.name,
            "trafficSplit": experiment.traffic_split,
            "seed": seed,
        },
        key=key,
    )
    found = [
        Metric(name=f"{group}_quality", value=value, n=n)
        for group, value, n in (
            ("control", table.control, table.control_sessions),
            ("treatment", table.treatment, table.treatment_sessions),
        )
        if value is not None
    ]
    if table.difference is not None:
        found.append(Metric.of("quality_difference", table.difference))
    store_run(connection, run, metrics=found)
    return run.id

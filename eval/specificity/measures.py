"""Numbers of many outcomes, and of an experiment that filtered some sessions by class.

The class filter is measured over questions that are about classes at all and came as
far as the filter; the answers over every question. Groups of an experiment are dealt in
`knowtrail.retrieval.specificity.monitoring`. Sessions are what its interval is made of,
not single results, since those of one session are not independent.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from knowtrail.eval.statistics import (
    SHARE,
    Interval,
    Statistic,
    bootstrap_interval,
    first_mean,
    ratio_f1,
    resample_blocks,
    wilson_interval,
)
from knowtrail.eval.store import EvalRecord, EvalRun, Metric, StoredField, store_run
from knowtrail.graph.errors import InputError, SourceError
from knowtrail.graph.files import read_json_lines
from knowtrail.ingest.keys import camel_case, content_key
from knowtrail.retrieval.specificity.monitoring import Group, SpecificityExperiment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from knowtrail.eval.specificity.judging import Outcome
    from knowtrail.graph.db.connection import Connection

    Array = NDArray[np.float64]
    Row = tuple[float, ...]

FEWEST = 5
"""Sessions that each group must have for an interval of the difference."""

_ROUNDING = 1e-24
"""Variance of a mean that comes from rounding alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentTable:
    """What came of an experiment: mean qualities of sessions, None without any.

    `treatment` are those that were filtered. `difference` is treatment minus control
    with its interval, which has no ends with fewer than `FEWEST` sessions in a group;
    None where a group has none.
    """

    control: float | None
    treatment: float | None
    control_sessions: int
    treatment_sessions: int
    difference: Interval | None

    def groups(self) -> tuple[tuple[str, float | None, int], ...]:
        """Return name, mean quality and number of sessions of both groups."""
        return (
            ("control", self.control, self.control_sessions),
            ("treatment", self.treatment, self.treatment_sessions),
        )


@dataclass(slots=True)
class SpecificityResults:
    """Quality scores of sessions, by the group that `experiment` deals to each."""

    experiment: SpecificityExperiment = field(default_factory=SpecificityExperiment)
    _scores: dict[str, list[float]] = field(default_factory=dict)
    _checked: set[str] = field(default_factory=set)

    def log_result(
        self, session_id: str, quality_score: float, *, group: str | None = None
    ) -> Group:
        """Take note of the quality of one answer; return the session's group."""
        if isinstance(quality_score, bool) or not math.isfinite(quality_score):
            msg = f"quality_score is {quality_score!r}: give a finite number."
            raise InputError(msg)
        if group is not None:
            self.check_group(session_id, group)
        self._scores.setdefault(session_id, []).append(float(quality_score))
        return self.experiment.group(session_id)

    def check_group(self, session_id: str, group: str) -> None:
        """Refuse a session that was in another group than the one that is dealt."""
        dealt = self.experiment.group(session_id)
        if group != dealt:
            raise InputError(
                f"Session {session_id!r} was in group {group!r}, and experiment "
                f"{self.experiment.name!r} with a share of "
                f"{self.experiment.traffic_split:g} deals it {dealt!r}: give the name "
                "and the share that were used."
            )
        self._checked.add(session_id)

    @property
    def sessions(self) -> tuple[str, ...]:
        """Return the ids of all sessions, sorted."""
        return tuple(sorted(self._scores))

    @property
    def unchecked(self) -> tuple[str, ...]:
        """Return the sessions whose group is only dealt, and known from nowhere."""
        return tuple(sorted(self._scores.keys() - self._checked))

    def session_means(self, group: Group) -> list[float]:
        """Return the mean quality of each session of a group, by session id."""
        return [
            float(np.mean(scores))
            for session, scores in sorted(self._scores.items())
            if self.experiment.group(session) == group
        ]

    def table(self, *, seed: int = 0) -> ExperimentTable:
        """Return the result so far."""
        groups = self.session_means("control"), self.session_means("treatment")
        control, treatment = (float(np.mean(g)) if g else None for g in groups)
        return ExperimentTable(
            control=control,
            treatment=treatment,
            control_sessions=len(groups[0]),
            treatment_sessions=len(groups[1]),
            difference=difference_interval(*groups, seed=seed) if all(groups) else None,
        )


def read_results(
    path: Path, *, traffic_split: float = 0.5, name: str = "specificity"
) -> SpecificityResults:
    """Return the results of a file, or raise `SourceError`, which says the line."""
    results = SpecificityResults(
        SpecificityExperiment(traffic_split=traffic_split, name=name)
    )
    for number, record in read_json_lines(path):
        try:
            results.log_result(
                str(record["session"]), record["quality"], group=record.get("group")
            )
        except (ValueError, KeyError, TypeError) as error:
            reason = f"no {error}" if isinstance(error, KeyError) else str(error)
            said = reason.rstrip(".")
            msg = f"{path}, line {number} is no result of a session: {said}."
            raise SourceError(msg) from error
    return results


def difference_interval(
    first: Sequence[float],
    second: Sequence[float],
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """Return mean(second) - mean(first) of two independent groups, with its interval.

    The interval is the bootstrap-t one (Efron and Tibshirani 1993, section 12.5): both
    groups are drawn from, with replacement, and what varies is the difference in its
    own standard errors. So few members make it wide, as percentiles would not.

    Raises:
        InputError: If a group is empty or an option is out of range.
    """
    if not first or not second:
        raise InputError("A group has no member: both need one.")
    if not 0 < level < 1 or not 100 <= resamples <= 1_000_000:
        msg = f"level {level}, resamples {resamples}: use 0 to 1 and 100 to 1,000,000."
        raise InputError(msg)
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    value = float(b.mean() - a.mean())
    low = high = math.nan
    few = min(len(a), len(b)) < FEWEST
    variance = 0.0 if few else (_squared_errors(a) + _squared_errors(b)).item()
    if variance > _ROUNDING:
        error = math.sqrt(variance)
        drawn = _studentised(a, b, resamples, np.random.default_rng(seed))
        below, above = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
        low, high = value - float(above) * error, value - float(below) * error
    return Interval(value=value, low=low, high=high, level=level, n=len(a) + len(b))


def _studentised(a: Array, b: Array, resamples: int, rng: np.random.Generator) -> Array:
    """Return what resamples are off, in standard errors of their own."""
    value = b.mean() - a.mean()
    parts = []
    for size in resample_blocks(resamples, len(a) + len(b)):
        one = a[rng.integers(0, len(a), size=(size, len(a)))]
        other = b[rng.integers(0, len(b), size=(size, len(b)))]
        variance = _squared_errors(one) + _squared_errors(other)
        some = variance > _ROUNDING
        off = other.mean(axis=1) - one.mean(axis=1) - value
        parts.append(off[some] / np.sqrt(variance[some]))
    return np.concatenate(parts)


def _squared_errors(rows: Array) -> Array:
    return np.asarray(rows.var(axis=-1, ddof=1) / rows.shape[-1])


def class_scores(outcome: Outcome) -> dict[str, float]:
    """Return the numbers of the class filter for one question, if it has them.

    They are kept classes that are relevant, relevant classes that were kept, share of
    all classes that was left out, and seconds.
    """
    if not outcome.expected_classes or not outcome.all_classes:
        return {}
    kept = set(outcome.kept_classes)
    both = len(kept & outcome.expected_classes)
    return {
        "precision": both / len(kept) if kept else 0.0,
        "recall": both / len(outcome.expected_classes),
        "class_reduction": 1 - len(kept) / outcome.all_classes,
        "response_time": outcome.seconds,
    }


def rank_scores(outcome: Outcome) -> dict[str, float]:
    """Return the reciprocal ranks of one question, if it has them, and their gains.

    `mrr` is as the pipeline searches, the others as `reciprocal_ranks` says. Ranking
    gains over neither, and filtering over ranking alone, told apart by whether the
    pipeline filters.
    """
    if not (ranks := outcome.ranks):
        return {}
    gain = ranks["filtered"] - ranks["ranked"]
    return {
        "mrr": ranks["filtered" if outcome.filtered else "ranked"],
        **{f"mrr_{way}": rank for way, rank in ranks.items()},
        "rank_gain": ranks["ranked"] - ranks["nearest"],
        "filter_gain": gain,
        f"filter_gain_{'used' if outcome.filtered else 'unused'}": gain,
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
        share = None if name == "response_time" else SHARE
        found[name] = bootstrap_interval(
            [row for _, row in rows],
            statistic,
            resamples=resamples,
            seed=seed,
            bounds=(-1.0, 1.0) if "gain" in name else share,
            clusters=[
                one.question.conversation or place
                for place, (one, _) in enumerate(rows)
            ],
        )

    labelled = [one for one in outcomes if one.question.template is not None]
    if labelled:
        add("template_accuracy", _rows(labelled, "template_right"))
        add("slot_f1", _rows(labelled, *_SLOTS), ratio_f1)
    add("ending_accuracy", _rows(outcomes, "ended_right"))
    add("answer_accuracy", _rows(outcomes, "answer_right"))
    for name, holds in _ENDS.items():
        held = sum(getattr(one, holds) for one in outcomes)
        found[name] = wilson_interval(held, len(outcomes))
    scored = [(one, class_scores(one) | rank_scores(one)) for one in outcomes]
    for name in dict.fromkeys(name for _, scores in scored for name in scores):
        add(name, [(one, (scores[name],)) for one, scores in scored if name in scores])
    return found


def _rows(outcomes: Sequence[Outcome], *names: str) -> list[tuple[Outcome, Row]]:
    return [(one, tuple(float(getattr(one, n)) for n in names)) for one in outcomes]


_ENDS = {"right_ending": "answer_right", "wrong_without_notice": "wrong_without_notice"}
"""Shares of single questions, whose intervals are Wilson's: few are turns of talks."""

_SLOTS = ("slots_right", "slots_found", "slots_wanted")
_RIGHT = ("template_right", "ended_right", "answer_right")


def store_outcomes(
    connection: Connection,
    outcomes: Sequence[Outcome],
    metrics: Mapping[str, Interval],
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
    means = (Metric.of(name, value) for name, value in metrics.items())
    store_run(connection, run, records=map(_record, outcomes), metrics=means)
    return run.id


def labels_key(outcomes: Sequence[Outcome]) -> str:
    """Return a digest of the questions with their labels."""
    labels = [asdict(one.question) for one in outcomes]
    return content_key(json.dumps(labels, sort_keys=True, default=sorted))


def _record(outcome: Outcome) -> EvalRecord:
    question = outcome.question
    scores = {name: float(getattr(outcome, name)) for name in (*_RIGHT, *_SLOTS)}
    scores |= class_scores(outcome) | rank_scores(outcome)
    return EvalRecord(
        record_id=question.id,
        scores={camel_case(name): value for name, value in scores.items()},
        fields=(
            _field(
                outcome.template_right,
                path="template",
                gold=question.template or "",
                extracted=outcome.template,
            ),
            _field(
                outcome.answer_right,
                path="answer",
                gold=question.question,
                extracted=outcome.answer,
                comparator=question.answer.kind,
                reason=outcome.status,
            ),
        ),
    )


def _field(
    right: bool, *, path: str, comparator: str = "exact", **given: str
) -> StoredField:
    return StoredField(
        path=path,
        schema_path=path,
        status="match" if right else "mismatch",
        score=float(right),
        comparator=comparator,
        **given,
    )


def store_experiment(
    connection: Connection,
    table: ExperimentTable,
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
        for group, value, n in table.groups()
        if value is not None
    ]
    if table.difference is not None:
        found.append(Metric.of("quality_difference", table.difference))
    store_run(connection, run, metrics=found)
    return run.id

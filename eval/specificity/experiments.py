"""Results of an experiment: sessions that were filtered by class against the others.

The groups are dealt in `retrieval.specificity.experiment`; here is what came of them.
Sessions are what is drawn for the interval, not single results, since those of one
session are not independent.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from eval.statistics import Interval
from graph.errors import InputError, SourceError
from retrieval.specificity.experiment import SpecificityExperiment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from retrieval.specificity.experiment import Group

__all__ = [
    "ExperimentTable",
    "SpecificityResults",
    "difference_interval",
    "read_results",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentTable:
    """What came of an experiment.

    Attributes:
        control: Mean quality of its sessions; None without any.
        treatment: The same of those that were filtered.
        control_sessions: How many sessions were not filtered.
        treatment_sessions: How many were.
        difference: Treatment minus control with its interval; None where a group has
            no session.
    """

    control: float | None
    treatment: float | None
    control_sessions: int
    treatment_sessions: int
    difference: Interval | None


@dataclass(slots=True)
class SpecificityResults:
    """Quality scores of sessions, by the group that each session belongs to.

    Attributes:
        experiment: Deals the groups.
    """

    experiment: SpecificityExperiment = field(default_factory=SpecificityExperiment)
    _scores: dict[str, list[float]] = field(default_factory=dict)

    def log_result(self, session_id: str, quality_score: float) -> Group:
        """Take note of the quality of one answer; return the session's group.

        Raises:
            InputError: If the score is not a finite number.
        """
        if isinstance(quality_score, bool) or not math.isfinite(quality_score):
            msg = f"quality_score is {quality_score!r}: give a finite number."
            raise InputError(msg)
        self._scores.setdefault(session_id, []).append(float(quality_score))
        return self.experiment.group(session_id)

    def session_means(self, group: Group) -> list[float]:
        """Return the mean quality of each session of a group, by session id."""
        return [
            float(np.mean(scores))
            for session, scores in sorted(self._scores.items())
            if self.experiment.group(session) == group
        ]

    def table(self, *, resamples: int = 2000, seed: int = 0) -> ExperimentTable:
        """Return the result so far.

        Args:
            resamples: How many times sessions are drawn.
            seed: Seed of the drawing.
        """
        control = self.session_means("control")
        treatment = self.session_means("treatment")
        return ExperimentTable(
            control=float(np.mean(control)) if control else None,
            treatment=float(np.mean(treatment)) if treatment else None,
            control_sessions=len(control),
            treatment_sessions=len(treatment),
            difference=(
                difference_interval(control, treatment, resamples=resamples, seed=seed)
                if control and treatment
                else None
            ),
        )


def read_results(
    path: Path, *, traffic_split: float = 0.5, name: str = "specificity"
) -> SpecificityResults:
    """Return the results of a file.

    Args:
        path: JSON Lines, each with a `session` and a `quality`. A `group`, where there
            is one, must be that in which the session is dealt.
        traffic_split: Share of sessions that were treated.
        name: Name of the experiment, by which its sessions were dealt.

    Raises:
        SourceError: If the file or a line of it cannot be used; says which.
    """
    results = SpecificityResults(
        SpecificityExperiment(traffic_split=traffic_split, name=name)
    )
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        msg = f"Cannot read results of sessions from {path}: {error}."
        raise SourceError(msg) from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            dealt = results.log_result(str(record["session"]), record["quality"])
            if record.get("group", dealt) != dealt:
                msg = (
                    f"its group is {record['group']!r}, and experiment {name!r} with "
                    f"a share of {traffic_split:g} deals it {dealt!r}: give the name "
                    "and the share that were used"
                )
                raise ValueError(msg)
        except (ValueError, KeyError, TypeError) as error:
            reason = f"no {error}" if isinstance(error, KeyError) else str(error)
            msg = f"{path}:{number} is no result of a session: {reason}."
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

    Each group is drawn from by itself, with replacement; the ends are percentiles.

    Args:
        first: One number for each member of the first group, at least one.
        second: The same of the second.
        level: Share of resamples inside the interval.
        resamples: How many times both are drawn.
        seed: Seed of the drawing.

    Returns:
        The interval; its ends are NaN where a group has one member only.

    Raises:
        InputError: If a group is empty or an option is out of range.
    """
    if not first or not second:
        msg = "A group has no member: both need one."
        raise InputError(msg)
    if not 0 < level < 1 or not 1 <= resamples <= 1_000_000:
        msg = f"level {level}, resamples {resamples}: use 0 to 1 and 1 to 1,000,000."
        raise InputError(msg)
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    low = high = math.nan
    if min(len(a), len(b)) > 1:
        rng = np.random.default_rng(seed)
        drawn = _means(b, resamples, rng) - _means(a, resamples, rng)
        ends = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
        low, high = float(ends[0]), float(ends[1])
    return Interval(
        value=float(b.mean() - a.mean()),
        low=low,
        high=high,
        level=level,
        n=len(a) + len(b),
    )


def _means(
    values: NDArray[np.float64], resamples: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the mean of each resample, a few resamples at a time."""
    most = max(1, 4_000_000 // len(values))
    parts = []
    for start in range(0, resamples, most):
        size = min(most, resamples - start)
        drawn = rng.integers(0, len(values), size=(size, len(values)))
        parts.append(values[drawn].mean(axis=1))
    return np.concatenate(parts)

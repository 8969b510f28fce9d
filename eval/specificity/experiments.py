"""Results of an experiment: sessions that were filtered by class against the others.

The groups are dealt in `knowtrail.retrieval.specificity.monitoring`; here is what came
of them. Sessions are what the interval is made of, not single results, since those of
one session are not independent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from knowtrail.eval.statistics import Interval
from knowtrail.graph.errors import InputError, SourceError
from knowtrail.graph.files import read_json_lines
from knowtrail.retrieval.specificity.monitoring import SpecificityExperiment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from knowtrail.retrieval.specificity.monitoring import Group

FEWEST = 5
"""Sessions that each group must have for an interval of the difference."""

_ROUNDING = 1e-24
"""Variance of a mean that comes from rounding alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentTable:
    """What came of an experiment.

    Attributes:
        control: Mean quality of its sessions; None without any.
        treatment: The same of those that were filtered.
        control_sessions: How many sessions were not filtered.
        treatment_sessions: How many were.
        difference: Treatment minus control with its interval, which has no ends with
            fewer than `FEWEST` sessions in a group; None where a group has none.
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
    _unchecked: set[str] = field(default_factory=set)

    def log_result(
        self, session_id: str, quality_score: float, *, group: str | None = None
    ) -> Group:
        """Take note of the quality of one answer; return the session's group.

        Raises:
            InputError: If the score is not a finite number, or the group is another.
        """
        if isinstance(quality_score, bool) or not math.isfinite(quality_score):
            msg = f"quality_score is {quality_score!r}: give a finite number."
            raise InputError(msg)
        if group is not None:
            self.check_group(session_id, group)
        elif session_id not in self._scores:
            self._unchecked.add(session_id)
        self._scores.setdefault(session_id, []).append(float(quality_score))
        return self.experiment.group(session_id)

    def check_group(self, session_id: str, group: str) -> None:
        """Compare the group that a session was in with the one that is dealt.

        Raises:
            InputError: If they differ: then another experiment dealt the session.
        """
        dealt = self.experiment.group(session_id)
        if group != dealt:
            msg = (
                f"Session {session_id!r} was in group {group!r}, and experiment "
                f"{self.experiment.name!r} with a share of "
                f"{self.experiment.traffic_split:g} deals it {dealt!r}: give the name "
                "and the share that were used."
            )
            raise InputError(msg)
        self._unchecked.discard(session_id)

    @property
    def sessions(self) -> tuple[str, ...]:
        """Return the ids of all sessions."""
        return tuple(sorted(self._scores))

    @property
    def unchecked(self) -> tuple[str, ...]:
        """Return the sessions whose group is only dealt, and known from nowhere."""
        return tuple(sorted(self._unchecked))

    def session_means(self, group: Group) -> list[float]:
        """Return the mean quality of each session of a group, by session id."""
        return [
            float(np.mean(scores))
            for session, scores in sorted(self._scores.items())
            if self.experiment.group(session) == group
        ]

    def table(self, *, resamples: int = 2000, seed: int = 0) -> ExperimentTable:
        """Return the result so far."""
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

    Raises:
        SourceError: If the file or a line of it cannot be used; says which.
    """
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
        msg = "A group has no member: both need one."
        raise InputError(msg)
    if not 0 < level < 1 or not 100 <= resamples <= 1_000_000:
        msg = f"level {level}, resamples {resamples}: use 0 to 1 and 100 to 1,000,000."
        raise InputError(msg)
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    value = float(b.mean() - a.mean())
    low = high = math.nan
    variance = float(_squared_errors(a[None])[0] + _squared_errors(b[None])[0])
    if min(len(a), len(b)) >= FEWEST and variance > _ROUNDING:
        error = math.sqrt(variance)
        drawn = _studentised(a, b, resamples, np.random.default_rng(seed))
        below, above = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
        low, high = value - float(above) * error, value - float(below) * error
    return Interval(value=value, low=low, high=high, level=level, n=len(a) + len(b))


def _studentised(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    resamples: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return what resampled differences are off, in standard errors of their own.

    Resamples whose members are all alike have none, and are left out.
    """
    value = b.mean() - a.mean()
    most = max(1, 4_000_000 // (len(a) + len(b)))
    parts = []
    for start in range(0, resamples, most):
        size = min(most, resamples - start)
        one = a[rng.integers(0, len(a), size=(size, len(a)))]
        other = b[rng.integers(0, len(b), size=(size, len(b)))]
        variance = _squared_errors(one) + _squared_errors(other)
        some = variance > _ROUNDING
        off = other.mean(axis=1) - one.mean(axis=1) - value
        parts.append(off[some] / np.sqrt(variance[some]))
    return np.concatenate(parts)


def _squared_errors(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the squared standard error of the mean of each row."""
    if rows.shape[1] < 2:
        return np.zeros(len(rows))
    found: NDArray[np.float64] = rows.var(axis=1, ddof=1) / rows.shape[1]
    return found

"""Means with intervals of each system, and how systems differ."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from eval.corrections import corrected
from eval.exact_intervals import widened
from eval.statistics import (
    RESAMPLES,
    Interval,
    bootstrap_interval,
    compare_paired,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eval.retrieval.running import SystemResult
    from eval.retrieval.system import Ranking
    from eval.statistics import Comparison

__all__ = [
    "Difference",
    "SystemSummary",
    "differences",
    "quantile_interval",
    "summarise",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemSummary:
    """A system's means.

    Attributes:
        name: The system.
        n: How many questions it was asked.
        measures: Measure -> mean with interval, over the questions that have it.
        latency: `p50` and `p95` -> milliseconds with interval.
        quantities: What was counted -> mean with interval.
        empty: Questions for which it returned nothing.
        filled: Share of the passages of its rankings that come from the dense ranking.
    """

    name: str
    n: int
    measures: Mapping[str, Interval] = field(default_factory=dict)
    latency: Mapping[str, Interval] = field(default_factory=dict)
    quantities: Mapping[str, Interval] = field(default_factory=dict)
    empty: int = 0
    filled: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A system less another, for one measure, on the same questions.

    Attributes:
        name: The system.
        base: The other.
        measure: The measure.
        found: Both means and their difference with its interval.
        p_value: That of the permutation test, corrected by Holm's method for how many
            systems are compared with the other by this measure.
    """

    name: str
    base: str
    measure: str
    found: Comparison
    p_value: float


def summarise(
    result: SystemResult, *, seed: int = 0, places: Sequence[int] | None = None
) -> SystemSummary:
    """Return the means of a system.

    Args:
        result: What it found.
        seed: Of the intervals.
        places: Places of the questions that count; None for all.
    """
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
            name: widened(
                bootstrap_interval([r[name] for r in values if name in r], seed=seed)
            )
            for name in names
        },
        latency={
            "p50": quantile_interval(times, 0.5, seed=seed),
            "p95": quantile_interval(times, 0.95, seed=seed),
        },
        quantities={
            name: bootstrap_interval(counts, seed=seed)
            for name, counts in _counted(rankings).items()
        },
        empty=sum(not ranking.documents for ranking in rankings),
        filled=sum(ranking.filled for ranking in rankings) / shown if shown else 0.0,
    )


def _counted(rankings: Sequence[Ranking]) -> dict[str, list[float]]:
    """Return what is counted of each ranking."""
    return {
        "documents": [float(len(ranking.documents)) for ranking in rankings],
        "sentences": [float(len(ranking.sentences)) for ranking in rankings],
        "hops": [float(ranking.hops) for ranking in rankings],
        "documents_crossed": [float(ranking.crossed) for ranking in rankings],
    }


def quantile_interval(
    numbers: Sequence[float], share: float, *, level: float = 0.95, seed: int = 0
) -> Interval:
    """Return a quantile with its percentile bootstrap interval.

    Args:
        numbers: At least one number.
        share: Which quantile, from 0 to 1.
        level: Share of resamples inside the interval.
        seed: Of the drawing.
    """
    found = np.asarray(numbers, dtype=np.float64)
    value = float(np.quantile(found, share))
    if len(found) < 2:
        nan = float("nan")
        return Interval(value=value, low=nan, high=nan, level=level, n=len(found))
    rng = np.random.default_rng(seed)
    drawn = np.array([
        np.quantile(found[rng.integers(0, len(found), size=len(found))], share)
        for _ in range(RESAMPLES)
    ])
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Interval(
        value=value, low=float(low), high=float(high), level=level, n=len(found)
    )


def differences(
    results: Sequence[SystemResult],
    base: SystemResult,
    measures: Sequence[str],
    *,
    seed: int = 0,
    places: Sequence[int] | None = None,
) -> tuple[Difference, ...]:
    """Return each system less one of them, measure by measure.

    Args:
        results: The systems.
        base: The one that the others are compared with.
        measures: The measures.
        seed: Of intervals and tests.
        places: Places of the questions that count; None for all.
    """
    chosen = range(len(base.questions)) if places is None else places
    found = []
    for measure in measures:
        compared = []
        for other in results:
            pairs = [
                (base.values[place][measure], other.values[place][measure])
                for place in chosen
                if measure in base.values[place] and measure in other.values[place]
            ]
            if other.name != base.name and pairs:
                one, two = zip(*pairs, strict=True)
                pair = compare_paired(one, two, seed=seed)
                wide = widened(pair.difference, least=-1.0)
                compared.append((other.name, replace(pair, difference=wide)))
        p_values = corrected([each.p_value for _, each in compared])
        found += [
            Difference(
                name=name, base=base.name, measure=measure, found=each, p_value=float(p)
            )
            for (name, each), p in zip(compared, p_values, strict=True)
        ]
    return tuple(found)

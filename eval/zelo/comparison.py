"""Several rankings against one ground truth: means with intervals, paired differences.

Queries are what is drawn: a metric's interval is over the queries for which it is
defined, a difference over those for which both rankings have it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from math import isnan
from typing import TYPE_CHECKING

from knowtrail.eval.differences import compare_systems
from knowtrail.eval.statistics import (
    SHARE,
    bootstrap_interval,
)
from knowtrail.eval.store import EvalRecord, EvalRun, Metric, property_name
from knowtrail.eval.zelo.metrics import (
    accuracy,
    ndcg,
    recall,
    relevant_above,
    standard_measures,
    truth_scores,
    two_scores,
)
from knowtrail.graph.errors import InputError, SourceError
from knowtrail.graph.files import file_digest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from knowtrail.eval.differences import Difference
    from knowtrail.eval.statistics import Interval
    from knowtrail.eval.zelo.metrics import Ties


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingSettings:
    """How rankings are compared with the truth.

    Attributes:
        k: How many of a ranking recall and the standard measures look at.
        k_gt: How many of the truth recall looks for; None for k.
        document_limit: How many documents of each query are looked at, the first of the
            ranking's file; None for all.
        skip_unjudged: Whether what the truth lacks is passed over.
        ties: How pairs with equal scores count in the accuracy.
        threshold: Above which a true score is relevant to the standard measures; None
            takes the scores as grades where all of the truth are whole numbers from 0
            up, and else 0.
    """

    k: int = 10
    k_gt: int | None = None
    document_limit: int | None = None
    skip_unjudged: bool = False
    ties: Ties = "wrong"
    threshold: float | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One ranking against the truth.

    Attributes:
        queries: Ids of its queries, in its order.
        values: For each metric one number a query, NaN where it is not defined.
        means: For each metric its mean with the interval; None where no query has it.
        unjudged: Documents that were passed over since the truth lacks them.
        absent: Queries of the truth that the ranking lacks.
        relevant_above: True scores above it are relevant to the standard measures; None
            where they are grades.
    """

    name: str
    queries: tuple[str, ...]
    values: Mapping[str, tuple[float, ...]]
    means: Mapping[str, Interval | None] = field(default_factory=dict)
    unjudged: int = 0
    absent: int = 0
    relevant_above: float | None = None

    @property
    def relevance(self) -> str:
        """Return what makes a document relevant to the standard measures."""
        if self.relevant_above is None:
            return "true scores are grades"
        return f"true scores above {self.relevant_above:g} are relevant"


def benchmark_files(
    truth: Path, rankings: Sequence[Path], *, settings: RankingSettings | None = None
) -> list[Benchmark]:
    """Return each ranking against the truth."""
    chosen = settings or RankingSettings()
    true = truth_scores(truth)
    if chosen.threshold is None:
        above = relevant_above(scores.values() for scores in true.values())
        chosen = replace(chosen, threshold=above)
    return [
        _benchmark(true, path, name, chosen)
        for path, name in zip(rankings, _names(rankings), strict=True)
    ]


def _names(paths: Sequence[Path]) -> list[str]:
    """Return names by which the files can be told apart, short where they may be."""
    stems = [path.stem for path in paths]
    if len(set(stems)) == len(stems):
        return stems
    names = [path.as_posix() for path in paths]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"The ranking {twice} is given twice: give each once.")
    return names


def _benchmark(
    truth: Mapping[str, Mapping[str, float]],
    path: Path,
    name: str,
    chosen: RankingSettings,
) -> Benchmark:
    """Return one ranking against the truth."""
    try:
        pairs = list(
            two_scores(
                truth,
                path,
                document_limit=chosen.document_limit,
                skip_unjudged=chosen.skip_unjudged,
            )
        )
    except SourceError:
        raise
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    if not pairs:
        raise InputError(f"{path} has no query that the truth has: nothing to compare.")
    k, wanted = chosen.k, chosen.k_gt or chosen.k
    found = f"recall@{k}" if wanted == k else f"recall@{k} of {wanted}"
    values = {
        "ndcg": [ndcg(pair.truth, pair.test) for pair in pairs],
        "accuracy": [
            accuracy(pair.truth, pair.test, ties=chosen.ties) for pair in pairs
        ],
        found: [recall(pair.truth, pair.test, k, k_gt=wanted) for pair in pairs],
        **standard_measures(
            pairs, (f"nDCG@{k}", "RR", f"R@{k}"), threshold=chosen.threshold
        ),
    }
    return Benchmark(
        name=name,
        queries=tuple(pair.query_id for pair in pairs),
        values={metric: tuple(numbers) for metric, numbers in values.items()},
        means={
            metric: _mean(numbers, chosen.seed) for metric, numbers in values.items()
        },
        unjudged=sum(pair.unjudged for pair in pairs),
        absent=len(truth) - len(pairs),
        relevant_above=chosen.threshold,
    )


def _mean(numbers: Sequence[float], seed: int) -> Interval | None:
    """Return the mean of the numbers that are defined."""
    defined = [number for number in numbers if not isnan(number)]
    if not defined:
        return None
    return bootstrap_interval(defined, seed=seed, bounds=SHARE)


def differences(
    benchmarks: Sequence[Benchmark], *, seed: int = 0
) -> tuple[Difference, ...]:
    """Return each ranking less the first one, metric by metric."""
    values = {
        one.name: {
            metric: {
                query: number
                for query, number in zip(one.queries, numbers, strict=True)
                if not isnan(number)
            }
            for metric, numbers in one.values.items()
        }
        for one in benchmarks
    }
    first = benchmarks[0]
    return compare_systems(values, first.name, metrics=list(first.values), seed=seed)


def as_run(
    benchmark: Benchmark, truth: Path, ranking: Path, settings: RankingSettings
) -> EvalRun:
    """Return a benchmark as a run of kind `zelo`, see `EvalRun`."""
    return EvalRun(
        kind="zelo",
        dataset=truth.stem,
        configuration={
            "ranking": benchmark.name,
            **asdict(settings),
            "relevance": benchmark.relevance,
        },
        key=f"{file_digest(truth)}:{file_digest(ranking)}",
    )


def as_records(benchmark: Benchmark) -> Iterator[EvalRecord]:
    """Yield the queries of a benchmark as records of a run."""
    for place, query in enumerate(benchmark.queries):
        scores = {
            property_name(metric): numbers[place]
            for metric, numbers in benchmark.values.items()
            if not isnan(numbers[place])
        }
        yield EvalRecord(record_id=query, scores=scores)


def as_metrics(benchmark: Benchmark) -> Iterator[Metric]:
    """Yield the means of a benchmark as metrics of a run."""
    for metric, mean in benchmark.means.items():
        if mean is not None:
            yield Metric.of(metric, mean)

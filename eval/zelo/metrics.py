"""How well a ranking agrees with ground truth, query by query.

    benchmark_ndcg("truth.jsonl", "ranking.jsonl")

The first argument is the ground truth, such as zELO scores or grades by people, the
second the ranking under test; each is an annotated file or its queries. There is one
number for each query of the ranking, in its order; NaN is one that is not defined.

| case | rule |
|---|---|
| a query or document that the truth lacks | an error, or passed over if asked |
| a document that the ranking lacks | it is not looked at |
| equal scores in the ranking | the document that comes later is ranked higher |
| accuracy of fewer than two documents | NaN |
| nDCG and recall without documents | NaN; with one document, nDCG is 1 |
| recall, fewer than `k_gt` documents | divided by `k_gt` all the same |

nDCG has the gain exp(score of the truth) and the discount log2(rank + 1), over all
documents. zELO scores are logarithms of odds, so the gain is the odds.

What others call nDCG, RR and recall are the standard measures of `ir-measures`, for
which the truth is turned into grades first, once a data set. Where all its scores are
whole numbers from 0 up, they are grades as they are; else those above a threshold are
relevant (grade 1), by default 0, the mean of a query's zELO scores.

Of several rankings each is compared with the first. Queries are what is drawn: an
interval is over the queries for which its metric is defined, a difference over those
for which both rankings have it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import floor, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

import numpy as np

from knowtrail.eval.statistics import (
    SHARE,
    Difference,
    Interval,
    bootstrap_interval,
    compare_systems,
)
from knowtrail.eval.store import EvalRecord, EvalRun, Metric, property_name
from knowtrail.graph.errors import InputError, SourceError
from knowtrail.graph.files import file_digest
from knowtrail.retrieval.rerank.datasets import AnnotatedQueryDocuments, read_annotated

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Annotated = str | Path | Iterable[AnnotatedQueryDocuments]

Ties = Literal["wrong", "half"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoScores:
    """A query whose documents have two scores, those that the truth lacks left out."""

    query_id: str
    documents: tuple[str, ...]
    truth: NDArray[np.float64]
    test: NDArray[np.float64]
    unjudged: int = 0


class Scope(TypedDict, total=False):
    """What of a ranking is looked at: the first documents, and what is not judged."""

    document_limit: int | None
    skip_unjudged: bool


def benchmark_ndcg(
    ground_truth: Annotated, ranking: Annotated, **scope: Unpack[Scope]
) -> list[float]:
    """Return the nDCG of each query of a ranking; see the module, and `Scope`."""
    pairs = two_scores(ground_truth, ranking, **scope)
    return [ndcg(pair.truth, pair.test) for pair in pairs]


def benchmark_accuracy(
    ground_truth: Annotated,
    ranking: Annotated,
    *,
    ties: Ties = "wrong",
    **scope: Unpack[Scope],
) -> list[float]:
    """Return the share of document pairs that each query has in the right order."""
    pairs = two_scores(ground_truth, ranking, **scope)
    return [accuracy(pair.truth, pair.test, ties=ties) for pair in pairs]


def recall_at_k(
    ground_truth: Annotated,
    ranking: Annotated,
    k: int,
    k_gt: int | None = None,
    **scope: Unpack[Scope],
) -> list[float]:
    """Return which share of the truth's best is among the k best of the ranking."""
    pairs = two_scores(ground_truth, ranking, **scope)
    return [recall(pair.truth, pair.test, k, k_gt=k_gt) for pair in pairs]


def two_scores(
    ground_truth: Annotated | Mapping[str, Mapping[str, float]],
    ranking: Annotated,
    *,
    document_limit: int | None = None,
    skip_unjudged: bool = False,
) -> Iterator[TwoScores]:
    """Yield the queries of a ranking with the true scores of their documents."""
    if document_limit is not None and document_limit < 1:
        msg = f"document_limit is {document_limit}: give 1 or more, or None for all."
        raise InputError(msg)
    if not isinstance(ground_truth, Mapping):
        ground_truth = truth_scores(ground_truth)
    for item in _queries(ranking):
        name = item.query.id
        if name not in ground_truth:
            if skip_unjudged:
                continue
            raise InputError(
                f"Query {name!r:.80} is in the ranking but not in the ground truth: "
                "judge it, or pass over what is not judged."
            )
        first = {one.id: one.score for one in item.documents[:document_limit]}
        kept = tuple(one for one in first if one in ground_truth[name])
        if len(kept) < len(first) and not skip_unjudged:
            unjudged = next(one for one in first if one not in ground_truth[name])
            raise InputError(
                f"Document {unjudged!r:.80} of query {name!r:.80} is in the ranking "
                "but not in the ground truth: judge it, limit the documents, or pass "
                "over what is not judged."
            )
        yield TwoScores(
            query_id=name,
            documents=kept,
            truth=np.array([ground_truth[name][one] for one in kept], dtype=np.float64),
            test=np.array([first[one] for one in kept], dtype=np.float64),
            unjudged=len(first) - len(kept),
        )


def truth_scores(ground_truth: Annotated) -> dict[str, dict[str, float]]:
    """Return the scores of each document of each query, without any text."""
    return {
        item.query.id: {document.id: document.score for document in item.documents}
        for item in _queries(ground_truth)
    }


def _queries(source: Annotated) -> Iterable[AnnotatedQueryDocuments]:
    return read_annotated(source) if isinstance(source, str | Path) else source


def ranked(scores: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return places by falling score; of equal scores the later place comes first."""
    return np.argsort(scores, kind="stable")[::-1]


def ndcg(truth: NDArray[np.float64], test: NDArray[np.float64]) -> float:
    """Return the discounted gain of a ranking over that of the true order."""
    if not len(truth):
        return float("nan")
    gain = np.exp(truth - truth.max())  # the quotient is the same, without overflow
    discount = np.log2(np.arange(len(truth)) + 2)
    best = float((np.sort(gain)[::-1] / discount).sum())
    return float((gain[ranked(test)] / discount).sum()) / best


def accuracy(
    truth: NDArray[np.float64], test: NDArray[np.float64], *, ties: Ties = "wrong"
) -> float:
    """Return the share of pairs of documents that are in the right order.

    `wrong` counts every pair, and one that is equal on either side is wrong, as
    published; `half` counts those that differ in truth, one that is equal under test as
    half right.
    """
    if ties not in {"wrong", "half"}:
        raise InputError(f"No rule for ties {ties!r:.80}: use 'wrong' or 'half'.")
    right = counted = 0.0
    for place in range(len(truth) - 1):
        real = np.sign(truth[place] - truth[place + 1 :])
        said = np.sign(test[place] - test[place + 1 :])
        right += float((real * said > 0).sum())
        if ties == "half":
            right += float(((said == 0) & (real != 0)).sum()) / 2
            counted += float((real != 0).sum())
        else:
            counted += len(real)
    return right / counted if counted else float("nan")


def recall(
    truth: NDArray[np.float64],
    test: NDArray[np.float64],
    k: int,
    *,
    k_gt: int | None = None,
) -> float:
    """Return which share of the `k_gt` truly best documents is among the best k."""
    wanted = k if k_gt is None else k_gt
    if min(k, wanted) < 1:
        raise InputError(f"k is {k} and k_gt {wanted}: give 1 or more.")
    if not len(truth):
        return float("nan")
    return len(np.intersect1d(ranked(truth)[:wanted], ranked(test)[:k])) / wanted


STANDARD = ("nDCG@10", "RR", "R@10")
"""Normalised discounted gain of the first ten, reciprocal rank of the first relevant
document, share of the relevant ones among the first ten."""


def standard_measures(
    queries: Iterable[TwoScores],
    names: Sequence[str] = STANDARD,
    *,
    threshold: float | None = None,
) -> dict[str, list[float]]:
    """Return measures by ir-measures of each query, NaN where nothing is relevant.

    A true score above the threshold is relevant; None decides by all these queries.
    """
    import ir_measures

    try:
        measures = {name: ir_measures.parse_measure(name) for name in names}
    except (NameError, ValueError, SyntaxError) as error:
        raise InputError(f"ir-measures has none of {list(names)}: {error}.") from error
    asked = list(queries)
    if threshold is None:
        threshold = relevant_above(query.truth.tolist() for query in asked)
    truth: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    order = []
    for query in asked:
        order.append(query.query_id)
        found = grades(query.truth, threshold=threshold)
        if not found.any():
            continue
        truth[query.query_id] = dict(zip(query.documents, found.tolist(), strict=True))
        place = np.empty(len(found))
        place[ranked(query.test)] = -np.arange(len(found), dtype=np.float64)
        run[query.query_id] = dict(zip(query.documents, place.tolist(), strict=True))
    values = {
        (str(metric.measure), metric.query_id): float(metric.value)
        for metric in ir_measures.iter_calc(list(measures.values()), truth, run)
    }
    return {
        name: [values.get((str(measure), query), float("nan")) for query in order]
        for name, measure in measures.items()
    }


def relevant_above(truths: Iterable[Iterable[float]]) -> float | None:
    """Return above which true scores are relevant; None where they are grades."""
    whole = all(score >= 0 and score == floor(score) for t in truths for score in t)
    return None if whole else 0.0


def grades(truth: NDArray[np.float64], *, threshold: float | None) -> NDArray[np.int64]:
    """Return true scores as whole numbers from 0 up; see the module."""
    found = truth if threshold is None else truth > threshold
    return found.astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingSettings:
    """How rankings are compared with the truth; None is no limit, or `k` for `k_gt`."""

    k: int = 10
    k_gt: int | None = None
    document_limit: int | None = None
    skip_unjudged: bool = False
    ties: Ties = "wrong"
    threshold: float | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One ranking against the truth, a number a query, NaN for undefined."""

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
    """Return names by which the files can be told apart."""
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
    limit, skip = chosen.document_limit, chosen.skip_unjudged
    try:
        scored = two_scores(truth, path, document_limit=limit, skip_unjudged=skip)
        pairs = list(scored)
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

"""What a ranking is worth, question by question, and how systems differ.

| measure | of one question |
|---|---|
| `recall@k` | share of its gold passages that are among the first k |
| `all_recall@k` | 1 where all of them are, else 0 |
| `precision@k` | share of the first k that are gold; fewer than k count as wrong |
| `ndcg@k` | normalised discounted cumulative gain, by grades where there are any |
| `mrr` | 1 / place of the first gold passage; 0 beyond the greatest k |
| `chunk_recall@k` | share of its gold stretches that the first k chunks touch |
| `chunk_precision@k` | share of the first k chunks that touch one |
| `sentence_precision` | share of the returned sentences that are gold |
| `sentence_recall` | share of its gold sentences that were returned |
| `sentence_f1` | harmonic mean of the two |

Recall, precision, nDCG and MRR come from ir-measures. Chunks and sentences are only
measured for questions whose data set names gold at that level; a gold sentence is a
stretch of one sentence. All are numbers from 0 to 1. A system that returns fewer
passages than k is measured by those that it returns.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from knowtrail.eval.differences import compare_systems
from knowtrail.eval.statistics import (
    RESAMPLES,
    SHARE,
    Interval,
    bootstrap_interval,
    resample_blocks,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from knowtrail.eval.differences import Difference
    from knowtrail.eval.retrieval.dataset import RetrievalQuestion
    from knowtrail.eval.retrieval.evaluation import SystemResult
    from knowtrail.eval.retrieval.system import Ranking, ReturnedChunk


def measure_names(ks: Sequence[int], *, sentences: bool) -> tuple[str, ...]:
    """Return the names of the measures in the order of a table."""
    heads = ["recall", "all_recall", "precision", "ndcg"]
    names = [f"{head}@{k}" for head in heads for k in ks]
    names.append("mrr")
    if sentences:
        chunked = ("chunk_recall", "chunk_precision")
        names += [f"{head}@{k}" for head in chunked for k in ks]
        names += ["sentence_precision", "sentence_recall", "sentence_f1"]
    return tuple(names)


def measure_rankings(
    questions: Sequence[RetrievalQuestion],
    rankings: Sequence[Ranking],
    *,
    ks: Sequence[int],
) -> list[dict[str, float]]:
    """Return the measures of each question, those that are defined for it."""
    found = _standard(questions, rankings, ks)
    for question, ranking, values in zip(questions, rankings, found, strict=True):
        for k in ks:
            values[f"all_recall@{k}"] = float(values[f"recall@{k}"] >= 1)
        values.update(_chunks(question, ranking.chunks, ks))
        values.update(_sentences(question, ranking))
    return found


def _standard(
    questions: Sequence[RetrievalQuestion],
    rankings: Sequence[Ranking],
    ks: Sequence[int],
) -> list[dict[str, float]]:
    """Return what ir-measures says; a question for which nothing was found has 0."""
    import ir_measures

    names = {f"R@{k}": f"recall@{k}" for k in ks}
    names |= {f"P@{k}": f"precision@{k}" for k in ks}
    names |= {f"nDCG@{k}": f"ndcg@{k}" for k in ks}
    names["RR"] = "mrr"
    measures = {ir_measures.parse_measure(each): name for each, name in names.items()}
    truth, run = {}, {}
    for place, (question, ranking) in enumerate(zip(questions, rankings, strict=True)):
        truth[str(place)] = {
            name: question.grade(name) for name in question.gold_documents
        }
        if ranking.documents:
            run[str(place)] = {
                document.id: -float(rank)
                for rank, document in enumerate(ranking.documents)
            }
    found = [dict.fromkeys(names.values(), 0.0) for _ in questions]
    if run:
        for metric in ir_measures.iter_calc(list(measures), truth, run):
            found[int(metric.query_id)][measures[metric.measure]] = float(metric.value)
    return found


def _chunks(
    question: RetrievalQuestion, chunks: Sequence[ReturnedChunk], ks: Sequence[int]
) -> Mapping[str, float]:
    """Return how the chunks of a ranking meet the gold stretches."""
    gold = [(g.document, g.first, g.last) for g in question.gold_chunks] or [
        (g.document, g.sentence, g.sentence) for g in question.gold_sentences
    ]
    if not gold:
        return {}
    touched = [
        [
            chunk.document == document and chunk.first <= last and first <= chunk.last
            for document, first, last in gold
        ]
        for chunk in chunks
    ]
    found = {}
    for k in ks:
        top = touched[:k]
        hit = sum(any(row[place] for row in top) for place in range(len(gold)))
        found[f"chunk_recall@{k}"] = hit / len(gold)
        found[f"chunk_precision@{k}"] = sum(any(row) for row in top) / k
    return found


def _sentences(question: RetrievalQuestion, ranking: Ranking) -> Mapping[str, float]:
    """Return how the returned sentences meet the gold ones."""
    gold = {(g.document, g.sentence) for g in question.gold_sentences}
    if not gold:
        return {}
    returned = {(s.document, s.sentence) for s in ranking.sentences}
    right = len(gold & returned)
    precision = right / len(returned) if returned else 0.0
    recall = right / len(gold)
    both = precision + recall
    return {
        "sentence_precision": precision,
        "sentence_recall": recall,
        "sentence_f1": 2 * precision * recall / both if both else 0.0,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemSummary:
    """A system's means.

    Attributes:
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


_COUNTED: dict[str, Callable[[Ranking], float]] = {
    "documents": lambda ranking: len(ranking.documents),
    "sentences": lambda ranking: len(ranking.sentences),
    "hops": lambda ranking: ranking.hops,
    "documents_crossed": lambda ranking: ranking.crossed,
}


def summarise(
    result: SystemResult, *, seed: int = 0, places: Sequence[int] | None = None
) -> SystemSummary:
    """Return the means of a system."""
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
            name: bootstrap_interval(
                [r[name] for r in values if name in r], seed=seed, bounds=SHARE
            )
            for name in names
        },
        latency={
            "p50": quantile_interval(times, 0.5, seed=seed),
            "p95": quantile_interval(times, 0.95, seed=seed),
        },
        quantities={
            name: bootstrap_interval([count(each) for each in rankings], seed=seed)
            for name, count in _COUNTED.items()
        },
        empty=sum(not ranking.documents for ranking in rankings),
        filled=sum(ranking.filled for ranking in rankings) / shown if shown else 0.0,
    )


def quantile_interval(
    numbers: Sequence[float], share: float, *, level: float = 0.95, seed: int = 0
) -> Interval:
    """Return a quantile with its percentile bootstrap interval."""
    found = np.asarray(numbers, dtype=np.float64)
    value, n = float(np.quantile(found, share)), len(found)
    if n < 2:
        nan = float("nan")
        return Interval(value=value, low=nan, high=nan, level=level, n=n)
    rng = np.random.default_rng(seed)
    drawn = np.concatenate([
        np.quantile(found[rng.integers(0, n, size=(size, n))], share, axis=1)
        for size in resample_blocks(RESAMPLES, n)
    ])
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Interval(value=value, low=float(low), high=float(high), level=level, n=n)


def differences(
    results: Sequence[SystemResult],
    base: SystemResult,
    measures: Sequence[str],
    *,
    seed: int = 0,
    places: Sequence[int] | None = None,
) -> tuple[Difference, ...]:
    """Return each system less one of them, measure by measure."""
    chosen = range(len(base.questions)) if places is None else places
    values = {
        result.name: {
            measure: {
                place: result.values[place][measure]
                for place in chosen
                if measure in result.values[place]
            }
            for measure in measures
        }
        for result in (base, *results)
    }
    return compare_systems(values, base.name, metrics=measures, seed=seed)

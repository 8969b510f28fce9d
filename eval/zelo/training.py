"""A pointwise reranker is trained on annotated queries, and measured on held-out ones.

Scores of one query say which of its documents is better and nothing beyond; zELO scores
have the mean 0 in every query, however good its documents are. So the mean over each
query is taken from features and scores before the fit (fixed effects): what is learned
is what sets a document apart from its rivals, and a constant for each query costs
nothing.

The model is ridge regression (Hoerl and Kennard, Technometrics 12, 1970). Features are
scaled to a standard deviation of 1 within queries and each block of n embedding
features then by 1 / sqrt(n), so that before the data speak each block counts as much as
the cosine or BM25 alone. The penalty is chosen by cross-validation over whole queries
of the training part. Queries are held out whole, by a hash of seed and id, so that a
query stays where it is when others are added.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from operator import add, sub
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from knowtrail.eval.statistics import (
    SHARE,
    Comparison,
    Interval,
    bootstrap_interval,
    compare_paired,
)
from knowtrail.eval.zelo.metrics import ndcg
from knowtrail.graph.cli.progress import Progress, silent
from knowtrail.graph.errors import InputError
from knowtrail.graph.models.embedders import Embedder, dimensions_of, embedder_name
from knowtrail.ingest.keys import content_key
from knowtrail.retrieval.rerank.datasets import AnnotatedQueryDocuments, read_annotated
from knowtrail.retrieval.rerank.pointwise import PointwiseModel, features

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from knowtrail.retrieval.protocols import Vector

PENALTIES = tuple(float(10**power) for power in range(-2, 5))
FOLDS = 5
STAGE = "Embedding documents"


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """What was trained, and how good it is on queries that it never saw.

    `against` has the cosine, as `embedding`, and `bm25` (first) and the model (second).
    """

    model: PointwiseModel
    trained: tuple[str, ...]
    held_out: tuple[str, ...]
    documents: int
    penalty: float
    ndcg: Interval
    against: Mapping[str, Comparison]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Rows:
    query_id: str
    features: NDArray[np.float32]
    scores: Vector

    @property
    def exact(self) -> Vector:
        return self.features.astype(np.float64)

    @property
    def centred(self) -> tuple[Vector, Vector]:
        rows = self.exact
        return rows - rows.mean(axis=0), self.scores - self.scores.mean()


def train(
    source: str | Path | Iterable[AnnotatedQueryDocuments],
    embedder: Embedder,
    *,
    share: float = 0.2,
    seed: int = 0,
    progress: Progress = silent,
) -> Training:
    """Train a pointwise model on annotated queries."""
    if not 0 < share < 1:
        msg = f"The held-out share is {share}: give a number between 0 and 1."
        raise InputError(msg)
    items = read_annotated(source) if isinstance(source, str | Path) else source
    rows = [row for row in _embedded(items, embedder, progress) if len(row.scores) > 1]
    names = held_out([row.query_id for row in rows], share=share, seed=seed)
    test = [row for row in rows if row.query_id in names]
    fitted = [row for row in rows if row.query_id not in names]
    penalty = _chosen_penalty(fitted, seed)
    mean, scale, weights = _Sums.of(fitted).fit(penalty)
    model = PointwiseModel(
        embedder=embedder_name(embedder),
        dimensions=dimensions_of(embedder),
        mean=mean,
        scale=scale,
        weights=weights,
        trained={
            "queries": len(fitted),
            "documents": sum(len(row.scores) for row in fitted),
            "heldOutQueries": len(test),
            "penalty": penalty,
            "seed": seed,
        },
    )
    measured = [ndcg(row.scores, model.scores(row.exact)) for row in test]
    return Training(
        model=model,
        trained=tuple(row.query_id for row in fitted),
        held_out=tuple(row.query_id for row in test),
        documents=sum(len(row.scores) for row in rows),
        penalty=penalty,
        ndcg=bootstrap_interval(measured, seed=seed, bounds=SHARE),
        against={
            name: _compared(test, column, measured, seed)
            for name, column in (("embedding", -2), ("bm25", -1))
        },
    )


def held_out(names: Sequence[str], *, share: float, seed: int) -> set[str]:
    """Return the ids of the queries to hold out: those with the least hashes."""
    if len(names) < 3:
        raise InputError(
            f"There are {len(names)} queries with two documents or more: training "
            "needs three, better hundreds."
        )
    count = min(max(1, round(share * len(names))), len(names) - 2)
    return set(sorted(names, key=lambda name: content_key(seed, name))[:count])


def _embedded(
    items: Iterable[AnnotatedQueryDocuments], embedder: Embedder, progress: Progress
) -> Iterable[_Rows]:
    for done, item in enumerate(items, start=1):
        if item.documents:
            texts = [document.content for document in item.documents]
            yield _Rows(
                query_id=item.query.id,
                features=features(embedder, item.query.query, texts).astype(np.float32),
                scores=np.array([document.score for document in item.documents]),
            )
        progress(STAGE, done, None)


def _compared(
    test: Sequence[_Rows], column: int, measured: Sequence[float], seed: int
) -> Comparison:
    other = [ndcg(row.scores, row.exact[:, column]) for row in test]
    return compare_paired(other, measured, seed=seed, bounds=SHARE)


class _Sums(NamedTuple):
    """All that a ridge regression needs to know of its rows, however many they are."""

    # Features times features and times scores are without their query's means.

    products: Vector
    answers: Vector
    features: Vector
    total: int

    @classmethod
    def of(cls, rows: Iterable[_Rows]) -> _Sums:
        return reduce(_Sums.plus, map(cls._one, rows))

    @classmethod
    def _one(cls, row: _Rows) -> _Sums:
        own, target = row.centred
        features = row.features.sum(axis=0, dtype=np.float64)
        return cls(own.T @ own, own.T @ target, features, len(target))

    def plus(self, other: _Sums) -> _Sums:
        return _Sums(*map(add, self, other))

    def fit(self, penalty: float) -> tuple[Vector, Vector, Vector]:
        spread = np.sqrt(np.maximum(np.diag(self.products), 0) / self.total)
        spread[spread < 1e-9] = 1.0
        blocks = np.full(len(spread), math.sqrt((len(spread) - 2) // 2))
        blocks[-2:] = 1.0
        scale = spread * blocks
        system = self.products / np.outer(scale, scale)
        system[np.diag_indices_from(system)] += penalty
        weights: Vector = np.linalg.solve(system, self.answers / scale)
        return self.features / self.total, scale, weights


def _chosen_penalty(rows: Sequence[_Rows], seed: int) -> float:
    """Return the penalty with the best nDCG over folds of whole queries."""
    if not any(row.centred[1].any() for row in rows):
        raise InputError(
            "The documents of each query have equal scores: there is nothing to learn. "
            "Annotate them with another judge."
        )
    order = sorted(rows, key=lambda row: content_key("fold", seed, row.query_id))
    folds = [order[fold::FOLDS] for fold in range(min(FOLDS, len(order)))]
    sums = [_Sums.of(fold) for fold in folds]
    whole = reduce(_Sums.plus, sums)
    totals = dict.fromkeys(PENALTIES, 0.0)
    for fold, own in zip(folds, sums, strict=True):
        others = _Sums(*map(sub, whole, own))
        for penalty in PENALTIES:
            mean, scale, weights = others.fit(penalty)
            for row in fold:
                found = ((row.exact - mean) / scale) @ weights
                totals[penalty] += ndcg(row.scores, found)
    # Of equal ones the largest is taken, which trusts the data least.
    return max(PENALTIES, key=lambda penalty: (totals[penalty], penalty))

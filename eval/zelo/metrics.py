"""How well a ranking agrees with ground truth, query by query.

    benchmark_ndcg("truth.jsonl", "ranking.jsonl")

The first argument is the ground truth, such as zELO scores or grades by people, the
second the ranking under test; each is an annotated file or its queries. There is one
number for each query of the ranking, in its order; NaN is one that is not defined.

| case | rule |
|---|---|
| `document_limit` | only the first so many documents of the ranking, in file order |
| a query or document that the truth lacks | an error, or passed over if asked |
| a document that the ranking lacks | it is not looked at |
| equal scores in the ranking | the document that comes later is ranked higher |
| accuracy, equal scores on a side | wrong; or, with `ties="half"`, see there |
| accuracy of fewer than two documents | NaN |
| nDCG and recall without documents | NaN; with one document, nDCG is 1 |
| recall, fewer than `k_gt` documents | divided by `k_gt` all the same |

nDCG has the gain exp(score of the truth) and the discount log2(rank + 1), over all
documents. zELO scores are logarithms of odds, so the gain is the odds, and the best
document has most of it.

What others call nDCG, RR and recall are the standard measures of `ir-measures`, for
which the truth is turned into grades first. Where all scores of a data set are whole
numbers from 0 up, they are grades as they are; else those above a threshold are
relevant (grade 1), which by default is 0, the mean of a query's zELO scores: half of
its documents. That is decided once a data set, never query by query: see
`relevant_above`. Documents with equal scores are ranked likewise, the later one higher.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import floor
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

import numpy as np

from knowtrail.graph.errors import InputError
from knowtrail.retrieval.rerank.datasets import read_annotated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from knowtrail.retrieval.rerank.datasets import AnnotatedQueryDocuments

    Annotated = str | Path | Iterable[AnnotatedQueryDocuments]
    from collections.abc import Iterable, Sequence

Ties = Literal["wrong", "half"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoScores:
    """A query whose documents have two scores.

    Attributes:
        documents: Ids of its documents, in the order of the ranking's file.
        test: Their scores in the ranking under test.
        unjudged: How many documents were left out since the truth has no score.
    """

    query_id: str
    documents: tuple[str, ...]
    truth: NDArray[np.float64]
    test: NDArray[np.float64]
    unjudged: int = 0


class Scope(TypedDict, total=False):
    """What of a ranking is looked at.

    Attributes:
        document_limit: How many documents of each query; None for all.
        skip_unjudged: Whether queries and documents without a true score are passed
            over.
    """

    document_limit: int | None
    skip_unjudged: bool


def benchmark_ndcg(
    ground_truth: Annotated, ranking: Annotated, **scope: Unpack[Scope]
) -> list[float]:
    """Return the nDCG of each query of a ranking; see the module.

    Args:
        ground_truth: The true scores.
        ranking: The scores under test.
        **scope: See `Scope`.

    Raises:
        InputError: If there is no true score and none may be passed over, or the limit
            is below 1.
        SourceError: If a file is no good.
    """
    pairs = two_scores(ground_truth, ranking, **scope)
    return [ndcg(pair.truth, pair.test) for pair in pairs]


def benchmark_accuracy(
    ground_truth: Annotated,
    ranking: Annotated,
    *,
    ties: Ties = "wrong",
    **scope: Unpack[Scope],
) -> list[float]:
    """Return the share of document pairs that each query has in the right order.

    Takes what `benchmark_ndcg` does, and how equal scores count as in `accuracy`.
    """
    pairs = two_scores(ground_truth, ranking, **scope)
    return [accuracy(pair.truth, pair.test, ties=ties) for pair in pairs]


def recall_at_k(
    ground_truth: Annotated,
    ranking: Annotated,
    k: int,
    k_gt: int | None = None,
    **scope: Unpack[Scope],
) -> list[float]:
    """Return which share of the truth's best is among the ranking's best.

    Takes what `benchmark_ndcg` does, how many of the ranking are taken, and how many of
    the truth are looked for, as many if None; both are 1 or more.
    """
    pairs = two_scores(ground_truth, ranking, **scope)
    return [recall(pair.truth, pair.test, k, k_gt=k_gt) for pair in pairs]


def two_scores(
    ground_truth: Annotated | Mapping[str, Mapping[str, float]],
    ranking: Annotated,
    *,
    document_limit: int | None = None,
    skip_unjudged: bool = False,
) -> Iterator[TwoScores]:
    """Yield the queries of a ranking with the true scores of their documents.

    The true scores may be given as `truth_scores` returns them; the ranking is taken
    one query at a time.
    """
    if document_limit is not None and document_limit < 1:
        msg = f"document_limit is {document_limit}: give 1 or more, or None for all."
        raise InputError(msg)
    truth = (
        ground_truth
        if isinstance(ground_truth, Mapping)
        else truth_scores(ground_truth)
    )
    for item in _queries(ranking):
        name = item.query.id
        if name not in truth:
            if skip_unjudged:
                continue
            msg = (
                f"Query {name!r:.80} is in the ranking but not in the ground truth: "
                "judge it, or pass over what is not judged."
            )
            raise InputError(msg)
        first = {one.id: one.score for one in item.documents[:document_limit]}
        kept = tuple(one for one in first if one in truth[name])
        if len(kept) < len(first) and not skip_unjudged:
            unjudged = next(one for one in first if one not in truth[name])
            msg = (
                f"Document {unjudged!r:.80} of query {name!r:.80} is in the ranking "
                "but not in the ground truth: judge it, limit the documents, or pass "
                "over what is not judged."
            )
            raise InputError(msg)
        yield TwoScores(
            query_id=name,
            documents=kept,
            truth=np.array([truth[name][one] for one in kept], dtype=np.float64),
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
    """Return annotated queries of a file or as they are."""
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

    `wrong` counts every pair, and one that is equal on either side is wrong, as it was
    published; `half` counts the pairs that differ in truth, and one that is equal under
    test is half right, so that chance gives 0.5.
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
    best = np.intersect1d(ranked(truth)[:wanted], ranked(test)[:k])
    return len(best) / wanted


STANDARD = ("nDCG@10", "RR", "R@10")
"""Normalised discounted gain of the first ten, reciprocal rank of the first relevant
document, share of the relevant ones among the first ten."""


def standard_measures(
    queries: Iterable[TwoScores],
    names: Sequence[str] = STANDARD,
    *,
    threshold: float | None = None,
) -> dict[str, list[float]]:
    """Return measures of each query, NaN where it has no relevant document.

    Args:
        queries: Queries with true scores and scores under test.
        names: Measures as ir-measures writes them, such as `nDCG@5` or `AP`.
        threshold: Above which a true score is relevant; None decides by the scores of
            all these queries.
    """
    import ir_measures

    try:
        measures = {name: ir_measures.parse_measure(name) for name in names}
    except (NameError, ValueError, SyntaxError) as error:
        msg = f"ir-measures has none of {list(names)}: {error}."
        raise InputError(msg) from error
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

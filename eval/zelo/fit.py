"""Scores of documents from battles between them.

    fit = fit_scores(n, left, right, preference)

By default scores are those of greatest likelihood with standard errors (`newton`);
`method="published"` follows the published iteration (`published`). Scores are natural
logarithms of odds: a document that is 1 ahead wins with probability 0.73. They have
mean 0 for each query, so those of two queries cannot be compared.

Only documents that are connected by battles can be compared. Each connected component
has scores of its own, with mean 0, and `Fit.component` tells which is which; a document
without a battle has no score (NaN). The published method does as it always did: such
documents have about 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from typing import TYPE_CHECKING, Literal

import numpy as np

from eval.zelo.battles import answers, document_numbers, preferences
from eval.zelo.newton import Sample, solve_samples
from eval.zelo.published import published_scores, win_matrix
from graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from eval.zelo.battles import Battles

__all__ = ["REGULARISATION", "Fit", "Method", "fit_battles", "fit_many", "fit_scores"]

Method = Literal["maximum_likelihood", "published"]

REGULARISATION = 0.1
"""Weight of the squared scores; that of a normal prior with standard deviation 3.2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Scores of the documents of one query.

    Attributes:
        scores: n scores, higher is better; NaN for documents without a battle.
        standard_errors: Of the scores, given that those of a component sum to 0; NaN
            where there is no score, and all NaN by the published method. They hold if
            judges err independently of each other; where they err together, the true
            ones are greater, by up to the square root of the number of judges.
        iterations: How many steps were made.
        losses: What was minimised; by the published method after each iteration, else
            before the first step and after each.
        converged: Whether the last step changed as little as it should.
        component: For each document the number of its connected component, counted
            from 0 in the order of their first documents; -1 without a battle.
        degree: In how many battles each document was judged.
        method: How the scores were found.
    """

    scores: NDArray[np.float64]
    standard_errors: NDArray[np.float64]
    iterations: int
    losses: tuple[float, ...]
    converged: bool
    component: NDArray[np.intp]
    degree: NDArray[np.intp]
    method: Method

    @property
    def components(self) -> int:
        """Return how many connected components there are."""
        return int(self.component.max(initial=-1)) + 1

    @property
    def connected(self) -> bool:
        """Return whether all judged documents can be compared with each other."""
        return self.components <= 1

    @property
    def unjudged(self) -> int:
        """Return how many documents have no battle."""
        return int((self.component < 0).sum())


def fit_scores(
    n: int,
    left: ArrayLike,
    right: ArrayLike,
    preference: ArrayLike,
    *,
    weight: ArrayLike | None = None,
    method: Method = "maximum_likelihood",
    regularisation: float = REGULARISATION,
) -> Fit:
    """Return the scores of n documents.

    Args:
        n: How many documents there are.
        left: Left document of each of m battles, from 0 to n - 1.
        right: Right document of each.
        preference: What the right document gets of each battle, from 0 to 1; NaN where
            the battle was not judged, which leaves it out.
        weight: How often each battle counts, such as by the number of judges; None for
            once. The published method counts each once.
        method: See the module.
        regularisation: Weight of the squared scores against the log-likelihood; the
            published method has none. With 0, documents that only won or only lost
            have no finite score.

    Raises:
        InputError: If numbers are out of their ranges, lengths differ, or there is no
            finite answer without regularisation.
    """
    one, two = document_numbers(n, left), document_numbers(n, right)
    share = np.asarray(preference, dtype=np.float64)
    times = np.ones(len(one)) if weight is None else np.asarray(weight, np.float64)
    if not share.shape == times.shape == one.shape == two.shape:
        msg = (
            f"There are {len(one)} left documents, {len(two)} right ones, preferences "
            f"of shape {share.shape} and weights of shape {times.shape}: give as many."
        )
        raise InputError(msg)
    if ((share < 0) | (share > 1)).any():
        bad = share[(share < 0) | (share > 1)][0]
        raise InputError(f"A preference is {bad}: it lies between 0 and 1.")
    if not (np.isfinite(times) & (times >= 0)).all():
        bad = times[~(np.isfinite(times) & (times >= 0))][0]
        raise InputError(f"A weight is {bad}: it is finite and not below 0.")
    (fit,) = _fit_all([(n, one, two, share, times)], method, regularisation)
    return fit


def fit_battles(
    battles: Battles,
    *,
    magnitude: bool = False,
    method: Method = "maximum_likelihood",
    regularisation: float = REGULARISATION,
) -> Fit:
    """Return the scores of the documents of one query; see `fit_many`."""
    (fit,) = fit_many(
        [battles], magnitude=magnitude, method=method, regularisation=regularisation
    )
    return fit


def fit_many(
    queries: Sequence[Battles],
    *,
    magnitude: bool = False,
    method: Method = "maximum_likelihood",
    regularisation: float = REGULARISATION,
) -> list[Fit]:
    """Return the scores of the documents of many queries, solved together.

    Every answer of a judge counts once: a vote for the document its score points at,
    half a vote for each where it is 0. An answer that is missing counts nowhere.

    Args:
        queries: Battles of each query.
        magnitude: Whether a judge's score divides its vote, (1 + score) / 2 for the
            right document, instead of only naming the winner.
        method: `published` reads answers as it was published: each battle counts once,
            0 is a vote for the left document, and magnitudes are not looked at.
        regularisation: As in `fit_scores`.

    Raises:
        InputError: As `fit_scores`.
    """
    reading: Literal["votes", "magnitude", "published"] = (
        "published" if method == "published" else "magnitude" if magnitude else "votes"
    )
    return _fit_all(
        [
            (
                battles.n,
                battles.left,
                battles.right,
                preferences(battles.score, reading=reading),
                answers(battles.score),
            )
            for battles in queries
        ],
        method,
        regularisation,
    )


_Given = tuple[
    int,
    "NDArray[np.intp]",
    "NDArray[np.intp]",
    "NDArray[np.float64]",
    "NDArray[np.float64]",
]


def _fit_all(queries: Sequence[_Given], method: str, ridge: float) -> list[Fit]:
    """Fit queries whose arrays are checked."""
    if method not in {"maximum_likelihood", "published"}:
        msg = f"No method {method!r}: use 'maximum_likelihood' or 'published'."
        raise InputError(msg)
    if not (isfinite(ridge) and ridge >= 0):
        raise InputError(f"The regularisation is {ridge}: it is finite, at least 0.")
    if method == "published":
        return [_published(given) for given in queries]
    samples = _samples(queries)
    if ridge == 0:
        for number, sample in enumerate(samples):
            _check_finite(number, sample)
    fits = []
    for sample, solved in zip(
        samples, solve_samples(samples, ridge=ridge), strict=True
    ):
        judged = sample.group >= 0
        fits.append(
            Fit(
                scores=np.where(judged, solved.scores, np.nan),
                standard_errors=np.where(judged, solved.errors, np.nan),
                iterations=len(solved.losses) - 1,
                losses=solved.losses,
                converged=solved.settled,
                component=sample.group,
                degree=_degree(sample),
                method="maximum_likelihood",
            )
        )
    return fits


def _samples(queries: Sequence[_Given]) -> list[Sample]:
    """Return the battles that count: judged, and of two different documents."""
    counted = []
    for n, left, right, share, weight in queries:
        counts = ~np.isnan(share) & (weight > 0) & (left != right)
        parts = left[counts], right[counts], share[counts], weight[counts]
        counted.append((n, *parts))
    groups = _components([(n, left, right) for n, left, right, _, _ in counted])
    return [
        Sample(n=n, left=left, right=right, share=share, weight=weight, group=group)
        for (n, left, right, share, weight), group in zip(counted, groups, strict=True)
    ]


def _components(
    queries: Sequence[tuple[int, NDArray[np.intp], NDArray[np.intp]]],
) -> list[NDArray[np.intp]]:
    """Return, for each query, the component of each document; -1 without a battle."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    starts = np.cumsum([0, *(n for n, _, _ in queries)])
    total = int(starts[-1])
    if not total:
        return [np.zeros(0, dtype=np.intp) for _ in queries]
    pairs = list(zip(starts[:-1], queries, strict=True))
    left = np.concatenate([start + left for start, (_, left, _) in pairs])
    right = np.concatenate([start + right for start, (_, _, right) in pairs])
    edges = coo_array((np.ones(len(left)), (left, right)), shape=(total, total))
    _, label = connected_components(edges, directed=False)
    judged = np.zeros(total, dtype=np.bool_)
    judged[left] = judged[right] = True
    return [
        _numbered(label[start:end], judged[start:end])
        for start, end in pairwise(starts)
    ]


def _numbered(label: NDArray[np.int32], judged: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return labels counted from 0 in the order they come, -1 where not judged."""
    group = np.full(len(label), -1, dtype=np.intp)
    _, first, place = np.unique(label[judged], return_index=True, return_inverse=True)
    order = np.empty(len(first), dtype=np.intp)
    order[np.argsort(first)] = np.arange(len(first))
    group[judged] = order[place]
    return group


def _degree(sample: Sample) -> NDArray[np.intp]:
    """Return in how many battles each document is."""
    both = np.concatenate([sample.left, sample.right])
    return np.bincount(both, minlength=sample.n).astype(np.intp)


def _published(given: _Given) -> Fit:
    """Fit by the published iteration."""
    n, left, right, share, _ = given
    judged = ~np.isnan(share)
    wins = win_matrix(n, left[judged], right[judged], share[judged])
    scores, losses, settled = published_scores(wins)
    (sample,) = _samples([(n, left, right, share, np.ones(len(left)))])
    return Fit(
        scores=scores,
        standard_errors=np.full(n, np.nan),
        iterations=len(losses),
        losses=tuple(losses),
        converged=settled,
        component=sample.group,
        degree=_degree(sample),
        method="published",
    )


def _check_finite(number: int, sample: Sample) -> None:
    """Refuse battles whose likelihood grows for ever without regularisation.

    Ford's condition (American Mathematical Monthly 64, 1957): there is a finite answer
    where each document has a way of wins to each other one of its component.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if not len(sample.left):
        return
    won, lost = sample.share > 0, sample.share < 1
    source = np.concatenate([sample.right[won], sample.left[lost]])
    target = np.concatenate([sample.left[won], sample.right[lost]])
    ways = coo_array((np.ones(len(source)), (source, target)), shape=(sample.n,) * 2)
    _, strong = connected_components(ways, directed=True, connection="strong")
    judged = sample.group >= 0
    if len(np.unique(strong[judged])) > int(sample.group.max()) + 1:
        msg = (
            f"Query {number} has documents that only won or only lost against others: "
            "without regularisation they have no finite score. Give one, such as "
            f"{REGULARISATION}."
        )
        raise InputError(msg)

"""Scores of documents from battles between them.

    fit = fit_battles(battles)

The model is Bradley and Terry's (Biometrika 39, 1952): document i wins over j with
probability 1 / (1 + exp(s_j - s_i)), so scores are natural logarithms of odds. They
have mean 0 for each query: those of two queries cannot be compared.

By default what is maximised is the log-likelihood less `regularisation / 2` times the
sum of squared scores, a normal prior: there is one best answer, and documents that
never lost stay finite. `method="published"` follows the published iteration step for
step, to compare with results of others: it has no regulariser, so the score of a
document that never lost depends on when it stops.

Only documents that are connected by battles can be compared. Each connected component
has scores of its own, with mean 0; a document without a battle has no score (NaN), or
about 0 by the published method.

Documents are numbered from 0 in the order of their file. A judge's score lies in
[-1, 1]: below 0 it prefers the left document, above 0 the right one, NaN says that it
gave no answer.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from knowtrail.graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

Reading = Literal["votes", "magnitude", "published"]
"""How a judge's score is read: `votes` takes its sign, 0 being half a vote for each;
`magnitude` takes (score + 1) / 2; `published` takes its sign, 0 being a vote for the
left document (what was published scores a failed answer 0, see `battles_of`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Battles:
    """The m battles of a query of n documents, numbered from 0.

    `score` is m x judges, in [-1, 1], NaN where a judge gave none; judges may be
    unnamed.
    """

    n: int
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    score: NDArray[np.float64]
    judges: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        n: int,
        left: ArrayLike,
        right: ArrayLike,
        score: ArrayLike,
        *,
        judges: tuple[str, ...] = (),
    ) -> Battles:
        """Return battles from anything that numpy takes, checked."""
        one, two = document_numbers(n, left), document_numbers(n, right)
        table = np.asarray(score, dtype=np.float64)
        if table.ndim == 1:
            table = table.reshape(len(one), -1) if table.size else table[:, None]
        if not len(one) == len(two) == len(table) or table.ndim != 2:
            raise InputError(
                f"There are {len(one)} left documents, {len(two)} right ones and scores"
                f" of shape {table.shape}: give one row of scores for each pair."
            )
        if judges and len(judges) != table.shape[1]:
            msg = f"There are {len(judges)} judges and {table.shape[1]} columns."
            raise InputError(msg)
        bad = np.flatnonzero((np.abs(table) > 1).any(axis=1))
        if bad.size:
            row = int(bad[0])
            msg = f"Battle {row} has scores {table[row].tolist()}: they lie in [-1, 1]."
            raise InputError(msg)
        return cls(n=n, left=one, right=two, score=table, judges=judges)


def document_numbers(n: int, numbers: ArrayLike) -> NDArray[np.intp]:
    """Return numbers of documents as an array, checked."""
    found = np.asarray(numbers)
    if found.size == 0:
        return np.zeros(0, dtype=np.intp)
    if found.ndim != 1 or found.dtype.kind not in "iu":
        msg = f"Documents are given as {found.dtype} of shape {found.shape}: number "
        raise InputError(msg + "them from 0, in one row.")
    wrong = found[(found < 0) | (found >= n)]
    if wrong.size:
        msg = f"There is no document {int(wrong[0])} of {n}: they are counted from 0."
        raise InputError(msg)
    return found.astype(np.intp)


def preferences(
    score: NDArray[np.float64],
    *,
    reading: Reading = "votes",
    weight: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return the share of each battle that the judges give to the right document.

    Means over the m x judges answers that there are, by their weights; NaN without any.
    """
    if reading == "magnitude":
        share = (score + 1) / 2
    else:
        share = (score > 0).astype(np.float64)
        if reading == "votes":
            share[score == 0] = 0.5
        share[np.isnan(score)] = np.nan
    times = ~np.isnan(score) if weight is None else weight
    count = times.sum(axis=1)
    total = np.nansum(share * times, axis=1)
    mean: NDArray[np.float64] = np.full(len(score), np.nan)
    np.divide(total, count, out=mean, where=count > 0)
    return mean


def answers(battles: Battles) -> NDArray[np.float64]:
    """Return what each answer counts, m x judges; 0 where there is none.

    What one judge said of one pair counts 1 in all, however often it was asked and in
    either order: a judge that says the same again tells nothing new.
    """
    given = ~np.isnan(battles.score)
    low = np.minimum(battles.left, battles.right)
    high = np.maximum(battles.left, battles.right)
    _, pair = np.unique(low * battles.n + high, return_inverse=True)
    times = np.zeros((len(pair), given.shape[1]))
    np.add.at(times, pair, given)
    weight: NDArray[np.float64] = given / np.maximum(times[pair], 1)
    return weight


Method = Literal["maximum_likelihood", "published"]

REGULARISATION = 0.1
"""Weight of the squared scores; that of a normal prior with standard deviation 3.2."""
_STEPS = 100
_STEP = 1e-6
"""A step that moves no score by more than this is the last: the next would move it by
about the square of it."""
_HALVINGS = 40
_PUBLISHED_STEPS = 1000
_PUBLISHED_CHANGE = 1e-4
_PUBLISHED_SELF = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Scores of the documents of one query.

    Attributes:
        scores: n scores, higher is better; NaN for documents without a battle.
        standard_errors: Of the scores, given that those of a component sum to 0; all
            NaN by the published method. They hold if judges err independently of each
            other; where they err together, the true ones are greater, by up to the
            square root of the number of judges.
        losses: What was minimised; by the published method after each iteration, else
            before the first step and after each.
        component: For each document the number of its connected component, counted
            from 0 in the order of their first documents; -1 without a battle.
        degree: In how many battles each document was judged.
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


def fit_battles(
    battles: Battles,
    *,
    magnitude: bool = False,
    method: Method = "maximum_likelihood",
    regularisation: float = REGULARISATION,
) -> Fit:
    """Return the scores of the documents of one query.

    Every answer of a judge counts once: a vote for the document its score points at,
    half a vote for each where it is 0; with `magnitude` it divides its vote, (1 +
    score) / 2 for the right document. Answers of one judge about one pair, in either
    order, count once together. The published method counts each battle once, 0 as a
    vote for the left document, and does not look at magnitudes. Without
    `regularisation`, documents that only won or only lost have no finite score, which
    is an `InputError`.
    """
    reading: Literal["votes", "magnitude", "published"] = (
        "published" if method == "published" else "magnitude" if magnitude else "votes"
    )
    weight = None if reading == "published" else answers(battles)
    share = preferences(battles.score, reading=reading, weight=weight)
    times = np.ones(len(share)) if weight is None else weight.sum(axis=1)
    given = _Given(battles.n, battles.left, battles.right, share, times)
    return _fit(given, method, regularisation)


class _Given(NamedTuple):
    n: int
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    share: NDArray[np.float64]
    weight: NDArray[np.float64]

    def counted(self) -> _Given:
        """Return the battles that count: judged, and of two different documents."""
        counts = ~np.isnan(self.share) & (self.weight > 0) & (self.left != self.right)
        return _Given(self.n, *(array[counts] for array in self[1:]))


def _fit(given: _Given, method: str, ridge: float) -> Fit:
    if method not in {"maximum_likelihood", "published"}:
        msg = f"No method {method!r}: use 'maximum_likelihood' or 'published'."
        raise InputError(msg)
    if not (isfinite(ridge) and ridge >= 0):
        raise InputError(f"The regularisation is {ridge}: it is finite, at least 0.")
    if method == "published":
        return _published(given)
    counted = given.counted()
    group = _components(counted)
    if ridge == 0:
        _check_finite(counted, group)
    with _one_thread():
        return _likeliest(counted, group, ridge)


def _likeliest(given: _Given, group: NDArray[np.intp], ridge: float) -> Fit:
    """Return the scores of greatest likelihood, by Newton's method with line search."""
    from scipy.linalg import lapack
    from scipy.special import expit

    n, left, right, share, weight = given
    fixed, size = _fixed(group, ridge)
    # LAPACK reads the upper triangle of a matrix in Fortran's order.
    low, high = np.minimum(left, right), np.maximum(left, right)
    cells = np.concatenate([left * n + left, right * n + right, high * n + low])

    def loss(scores: NDArray[np.float64]) -> float:
        gap = scores[right] - scores[left]
        fit = (weight * (np.logaddexp(0, gap) - share * gap)).sum()
        return float(fit + ridge / 2 * (scores**2).sum())

    def matrix(chance: NDArray[np.float64]) -> NDArray[np.float64]:
        told = weight * chance * (1 - chance)
        second = np.bincount(cells, np.concatenate([told, told, -told]), n * n)
        return (fixed + second.reshape(n, n)).T

    scores, settled = np.zeros(n), not len(left)
    losses = [loss(scores)]
    while not settled and len(losses) <= _STEPS:
        chance = expit(scores[right] - scores[left])
        surprise = weight * (share - chance)
        won = np.bincount(right, surprise, n) - np.bincount(left, surprise, n)
        slope = won - ridge * scores
        _, step, failed = lapack.dposv(matrix(chance), slope)
        if failed:  # numerically singular: going downhill is always possible
            step = slope
        settled = bool(np.abs(step).max() < _STEP)
        most = losses[-1] + 1e-12 * (1 + abs(losses[-1]))
        found = loss(scores + step)
        for _ in range(_HALVINGS):
            if found <= most:
                break
            step /= 2
            found = loss(scores + step)
        scores += step
        losses.append(found)
    errors = np.full(n, np.nan)
    if len(left):
        factor, failed = lapack.dpotrf(matrix(expit(scores[right] - scores[left])))
        if not failed:
            spread = lapack.dpotri(factor)[0].diagonal() - 1 / ((1 + ridge) * size)
            errors = np.sqrt(np.maximum(spread, 0))
    return Fit(
        scores=np.where(group >= 0, scores, np.nan),
        standard_errors=np.where(group >= 0, errors, np.nan),
        iterations=len(losses) - 1,
        losses=tuple(losses),
        converged=settled,
        component=group,
        degree=_degree(given),
        method="maximum_likelihood",
    )


def _fixed(
    group: NDArray[np.intp], ridge: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the part of the matrix that no score changes, and sizes of components."""
    # To the ridge is added, for each component, a matrix that is 1 / size between its
    # documents. It acts only along "all scores of the component move together", to
    # which the likelihood is blind, and so makes the matrix regular without touching
    # the answer, whose components have mean 0.
    judged = group >= 0
    size = np.where(judged, np.bincount(group + 1, minlength=1)[group + 1], 1)
    together = (group[:, None] == group) & judged
    fixed = together / size + np.diag(np.where(judged, ridge, 1.0))
    return fixed, size.astype(np.float64)


_ALONE = threading.Lock()


@contextmanager
def _one_thread() -> Iterator[None]:
    # The matrices are small: on a busy machine, spreading each over threads takes five
    # times as long. The limit is the process's: without waiting, one caller's would
    # become the state that another one restores.
    with _ALONE, _pools().limit(limits=1, user_api="blas"):
        yield


@cache
def _pools() -> Any:
    import scipy.linalg.lapack  # noqa: F401 - what is to be limited
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _components(given: _Given) -> NDArray[np.intp]:
    """Return the component of each document, from 0 as they come; -1 for no battle."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n, left, right, _, _ = given
    group = np.full(n, -1, dtype=np.intp)
    if not len(left):
        return group
    edges = coo_array((np.ones(len(left)), (left, right)), shape=(n, n))
    _, label = connected_components(edges, directed=False)
    judged = np.unique(np.concatenate([left, right]))
    _, first, place = np.unique(label[judged], return_index=True, return_inverse=True)
    group[judged] = np.argsort(np.argsort(first))[place]
    return group


def _degree(given: _Given) -> NDArray[np.intp]:
    both = np.concatenate([given.left, given.right])
    return np.bincount(both, minlength=given.n).astype(np.intp)


def _published(given: _Given) -> Fit:
    from scipy.special import expit

    n = given.n
    wins = win_matrix(n, given.left, given.right, given.share)
    scores, losses, settled = np.zeros(n), list[float](), n == 0
    while not settled and len(losses) < _PUBLISHED_STEPS:
        loses = wins * expit(scores - scores[:, None])
        moved = np.log(loses.sum(axis=1)) - np.log(loses.sum(axis=0))
        scores = scores + moved * (1 + len(losses)) ** -0.125
        scores -= scores.mean()
        gap = scores[:, None] - scores
        losses.append(float((wins * np.logaddexp(0, -gap)).sum()))
        settled = len(losses) >= 3 and abs(losses[-1] - losses[-2]) < _PUBLISHED_CHANGE
    counted = given._replace(weight=np.ones(len(given.left))).counted()
    return Fit(
        scores=scores,
        standard_errors=np.full(n, np.nan),
        iterations=len(losses),
        losses=tuple(losses),
        converged=settled,
        component=_components(counted),
        degree=_degree(counted),
        method="published",
    )


def win_matrix(
    n: int, left: NDArray[np.intp], right: NDArray[np.intp], share: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return n x n wins, [i, j] of i over j, with half a win on the diagonal."""
    judged = ~np.isnan(share)
    left, right, share = left[judged], right[judged], share[judged]
    wins = np.diag(np.full(n, _PUBLISHED_SELF))
    np.add.at(wins, (right, left), share)
    np.add.at(wins, (left, right), 1 - share)
    return wins


def _check_finite(given: _Given, group: NDArray[np.intp]) -> None:
    """Refuse battles whose likelihood grows for ever without regularisation."""
    # Ford's condition (American Mathematical Monthly 64, 1957): there is a finite
    # answer where each document has a way of wins to each other one of its component.
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    if not len(given.left):
        return
    won, lost = given.share > 0, given.share < 1
    source = np.concatenate([given.right[won], given.left[lost]])
    target = np.concatenate([given.left[won], given.right[lost]])
    ways = coo_array((np.ones(len(source)), (source, target)), shape=(given.n,) * 2)
    _, strong = connected_components(ways, directed=True, connection="strong")
    judged = group >= 0
    if len(np.unique(strong[judged])) > int(group.max()) + 1:
        raise InputError(
            "There are documents that only won or only lost against others: without "
            "regularisation they have no finite score. Give one, such as "
            f"{REGULARISATION}."
        )

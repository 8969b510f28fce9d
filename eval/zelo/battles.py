"""Battles of the documents of one query, as arrays, and what judges prefer in them.

A battle is one pair of documents that judges compared. Documents are numbered from 0 in
the order of their file. A judge's score lies in [-1, 1]: below 0 it prefers the left
document, above 0 the right one, NaN says that it gave no answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from knowtrail.graph.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Reading = Literal["votes", "magnitude", "published"]
"""How a judge's score is read: `votes` takes its sign, 0 being half a vote for each;
`magnitude` takes (score + 1) / 2; `published` takes its sign, 0 being a vote for the
left document (what was published scores a failed answer 0, see `battles_of`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Battles:
    """The battles of one query.

    Attributes:
        n: How many documents the query has, judged or not.
        left: Number of the left document of each of m battles.
        right: Number of the right document of each battle.
        score: m x judges scores in [-1, 1]; NaN where a judge gave none.
        judges: Names of the judges, in the order of the columns; may be empty.
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
            msg = (
                f"There are {len(one)} left documents, {len(two)} right ones and scores"
                f" of shape {table.shape}: give one row of scores for each pair."
            )
            raise InputError(msg)
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

    Args:
        score: m x judges scores in [-1, 1], NaN where missing.
        reading: How a score is read, see `Reading`.
        weight: What each answer counts, such as by `answers`; None for 1 each.

    Returns:
        m means over the judges that answered; NaN where none did.
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

"""The fit of zELO scores as it was published, step for step.

For comparison with results of others. An iteration moves every score by the damped
difference of two logarithms and stops when the loss hardly changes; it has no
regulariser (the half win of each document over itself slows it down and no more), so
the score of a document that never lost depends on when it stops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["published_scores", "win_matrix"]

_MOST = 1000
_CHANGE = 1e-4
_SELF = 0.5


def win_matrix(
    n: int,
    left: NDArray[np.intp],
    right: NDArray[np.intp],
    share: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return how often each document won over each other one.

    Args:
        n: How many documents there are.
        left: Left document of each battle.
        right: Right document of each battle.
        share: What the right document gets of each battle, from 0 to 1; no NaN.

    Returns:
        n x n wins, [i, j] of i over j; half a win on the diagonal.
    """
    wins = np.diag(np.full(n, _SELF))
    np.add.at(wins, (right, left), share)
    np.add.at(wins, (left, right), 1 - share)
    return wins


def published_scores(
    wins: NDArray[np.float64],
) -> tuple[NDArray[np.float64], list[float], bool]:
    """Return scores with mean 0, the loss after each iteration, and whether it settled.

    Args:
        wins: n x n wins, with half a win on the diagonal.
    """
    n = len(wins)
    scores = np.zeros(n)
    losses: list[float] = []
    if n == 0:
        return scores, losses, True
    for step in range(_MOST):
        gap = scores[:, None] - scores[None, :]
        loses = _logistic(-gap)
        wins_of = (wins * loses).sum(axis=1)
        losses_of = (wins * loses).sum(axis=0)
        scores = scores + (np.log(wins_of) - np.log(losses_of)) * (1 + step) ** -0.125
        scores -= scores.mean()
        gap = scores[:, None] - scores[None, :]
        losses.append(float((wins * np.logaddexp(0, -gap)).sum()))
        if len(losses) >= 3 and abs(losses[-1] - losses[-2]) < _CHANGE:
            return scores, losses, True
    return scores, losses, False


def _logistic(gap: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 / (1 + exp(-gap)) without overflow."""
    from scipy.special import expit

    found: NDArray[np.float64] = expit(gap)
    return found

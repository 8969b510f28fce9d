"""Maximum-likelihood scores of many queries at once, by Newton's method.

The model is Bradley and Terry's (Biometrika 39, 1952): document i wins over j with
probability 1 / (1 + exp(s_j - s_i)). What is maximised is the log-likelihood less
`ridge / 2` times the sum of squared scores, a normal prior of variance 1 / ridge. It is
strictly concave, so there is one best answer, reached from zeros in a few steps, and it
keeps documents that never lost finite.

Queries of about the same size are worked on together in blocks of bounded memory. Only
the factors of their matrices are made one after the other: they are small, so the
library is kept from spreading each over threads, which on a busy machine takes five
times as long.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

__all__ = ["Sample", "Solved", "solve_samples"]

_CELLS = 2_000_000
"""Most numbers in the matrices of a block: 16 MB, of which a few copies live."""
_MOST = 100
_STEP = 1e-6
"""A step that moves no score by more than this is the last: the next would move it by
about the square of it."""
_HALVINGS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Battles that count, of one query.

    Attributes:
        n: How many documents there are.
        left: Left document of each battle.
        right: Right document, another one.
        share: What the right document gets of it, from 0 to 1.
        weight: How often the battle counts, above 0.
        group: For each document the number of its connected component, from 0; -1 of
            one without battles.
    """

    n: int
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    share: NDArray[np.float64]
    weight: NDArray[np.float64]
    group: NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """Scores of one query.

    Attributes:
        scores: With mean 0 in each component; 0 for documents without battles.
        errors: Their standard errors.
        losses: What was minimised, at the start and after each step.
        settled: Whether the last step was short enough.
    """

    scores: NDArray[np.float64]
    errors: NDArray[np.float64]
    losses: tuple[float, ...]
    settled: bool


def solve_samples(samples: Sequence[Sample], *, ridge: float) -> list[Solved]:
    """Return the scores of each query, in the order given.

    Args:
        samples: The queries.
        ridge: Weight of the squared scores, at least 0. With 0 every component must
            be such that each document has won and lost along some way to each other
            one, or there is no finite answer.
    """
    found: list[Solved | None] = [None] * len(samples)
    with _one_thread():
        for numbers in _blocks(samples):
            block = _Block([samples[number] for number in numbers], ridge)
            for number, solved in zip(numbers, block.solve(), strict=True):
                found[number] = solved
    return [solved for solved in found if solved is not None]


_ALONE = threading.Lock()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Keep linear algebra on one thread; callers wait for each other.

    The limit is the process's: without waiting, one caller's would become the state
    that another one restores.
    """
    with _ALONE, _pools().limit(limits=1, user_api="blas"):
        yield


@cache
def _pools() -> Any:
    """Return what sets the threads of the libraries, once they are loaded."""
    import scipy.linalg.lapack  # noqa: F401 - what is to be limited
    from threadpoolctl import (  # type: ignore[import-untyped,unused-ignore]
        ThreadpoolController,
    )

    return ThreadpoolController()


def _blocks(samples: Sequence[Sample]) -> Iterator[list[int]]:
    """Yield numbers of queries that fit into one block, the smallest first."""
    order = sorted(range(len(samples)), key=lambda number: samples[number].n)
    block: list[int] = []
    for number in order:
        if block and (len(block) + 1) * samples[number].n ** 2 > _CELLS:
            yield block
            block = []
        block.append(number)
    if block:
        yield block


class _Block:
    """Queries that are solved together, each padded to the size of the largest."""

    def __init__(self, samples: list[Sample], ridge: float) -> None:
        self.samples = samples
        self.ridge = ridge
        self.count = len(samples)
        self.width = max(1, *(sample.n for sample in samples))
        lengths = [len(sample.left) for sample in samples]
        self.query = np.repeat(np.arange(self.count), lengths)
        base = self.query * self.width
        self.left = base + np.concatenate([sample.left for sample in samples])
        self.right = base + np.concatenate([sample.right for sample in samples])
        self.share = np.concatenate([sample.share for sample in samples])
        self.weight = np.concatenate([sample.weight for sample in samples])
        self.group = np.full((self.count, self.width), -1, dtype=np.intp)
        for row, sample in enumerate(samples):
            self.group[row, : sample.n] = sample.group
        self.fixed = self._fixed()

    def _fixed(self) -> NDArray[np.float64]:
        """Return the part of the matrices that no score changes.

        To the ridge is added, for each component, a matrix that is 1 / size between its
        documents. It acts only along "all scores of the component move together", to
        which the likelihood is blind, and so makes the matrix regular without touching
        the answer, whose components have mean 0.
        """
        inside = self.group >= 0
        label = np.arange(self.count)[:, None] * (self.width + 1) + self.group + 1
        sizes = np.bincount(label.ravel())
        self.size = np.where(inside, sizes[label], 1).astype(np.float64)
        together = self.group[:, :, None] == self.group[:, None, :]
        fixed: NDArray[np.float64] = together / self.size[:, :, None]
        fixed[~inside] = 0
        diagonal = np.arange(self.width)
        fixed[:, diagonal, diagonal] += np.where(inside, self.ridge, 1.0)
        return fixed

    def solve(self) -> list[Solved]:
        """Return the scores of each query."""
        scores = np.zeros((self.count, self.width))
        losses = [self._loss(scores)]
        settled = np.zeros(self.count, dtype=np.bool_)
        stopped = np.full(self.count, _MOST)
        for number in range(_MOST):
            step = self._step(scores, ~settled)
            scores, loss = self._better(scores, step, losses[-1])
            losses.append(loss)
            now = ~settled & (np.abs(step).max(axis=1, initial=0) < _STEP)
            stopped[now] = number + 1
            settled |= now
            if settled.all():
                break
        errors = self._errors(scores)
        table = np.array(losses)
        return [
            Solved(
                scores=scores[row, : sample.n],
                errors=errors[row, : sample.n],
                losses=tuple(table[: stopped[row] + 1, row].tolist()),
                settled=bool(settled[row]),
            )
            for row, sample in enumerate(self.samples)
        ]

    def _step(
        self, scores: NDArray[np.float64], wanted: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return Newton's step of the queries wanted, 0 for the rest."""
        from scipy.linalg import lapack

        slope, matrix = self._slope(scores), self._matrix(scores)
        step = np.zeros_like(scores)
        for row in np.flatnonzero(wanted):
            # Fortran's order turns the lower triangle, which is filled, to the upper.
            _, found, failed = lapack.dposv(matrix[row].T, slope[row], lower=0)
            # Numerically singular: going downhill is always possible.
            step[row] = slope[row] if failed else found
        return step

    def _better(
        self,
        scores: NDArray[np.float64],
        step: NDArray[np.float64],
        loss: NDArray[np.float64],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Go a step, halved for the queries where it would make things worse."""
        most = loss + 1e-12 * (1 + np.abs(loss))
        moved = scores + step
        found = self._loss(moved)
        for _ in range(_HALVINGS):
            worse = ~(found <= most)
            if not worse.any():
                break
            step = np.where(worse[:, None], step / 2, step)
            moved = scores + step
            found = self._loss(moved)
        return moved, found

    def _gap(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return by how much the right document of each battle is ahead."""
        flat = scores.ravel()
        gap: NDArray[np.float64] = flat[self.right] - flat[self.left]
        return gap

    def _loss(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what is minimised, for each query."""
        gap = self._gap(scores)
        each = self.weight * (np.logaddexp(0, gap) - self.share * gap)
        fit = np.bincount(self.query, each, self.count)
        penalty: NDArray[np.float64] = self.ridge / 2 * (scores**2).sum(axis=1)
        return fit + penalty

    def _slope(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the direction in which the loss falls."""
        from scipy.special import expit

        surprise = self.weight * (self.share - expit(self._gap(scores)))
        cells = self.count * self.width
        slope = np.bincount(self.right, surprise, cells)
        slope -= np.bincount(self.left, surprise, cells)
        found: NDArray[np.float64] = slope.reshape(scores.shape) - self.ridge * scores
        return found

    def _matrix(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the second derivatives of the loss, made regular.

        Only the lower triangles are right.
        """
        from scipy.special import expit

        chance = expit(self._gap(scores))
        told = self.weight * chance * (1 - chance)
        matrix = self.fixed.copy()
        flat = matrix.reshape(-1)
        high, low = np.maximum(self.left, self.right), np.minimum(self.left, self.right)
        for one, two, amount in (
            (self.left, self.left, told),
            (self.right, self.right, told),
            (high, low, -told),
        ):
            np.add.at(flat, one * self.width + two % self.width, amount)
        return matrix

    def _errors(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return standard errors: the inverse information where components sum to 0."""
        from scipy.linalg import lapack

        spread = np.full(scores.shape, np.nan)
        for row, matrix in enumerate(self._matrix(scores)):
            factor, failed = lapack.dpotrf(matrix.T, lower=0)
            if not failed:
                inverse, _ = lapack.dpotri(factor, lower=0)
                spread[row] = inverse.diagonal()
        spread -= 1 / ((1 + self.ridge) * self.size)
        found: NDArray[np.float64] = np.sqrt(np.maximum(spread, 0))
        return found

"""Which documents of a query are judged against each other.

- `cycles`: the documents are put in a random circle and each is judged against the
  next, `cycle_num` times, so that all are connected. Where a later circle has a pair
  again, in either order, a new one of documents with few pairs takes its place; where
  there are no more new ones, all are taken, which is `dense`. With `cycles="published"`
  circles are drawn without looking at each other, and a pair that comes again is judged
  again.
- `dense`: every two documents once, n (n - 1) / 2 pairs.
- `adaptive`: one circle, then as many further pairs as `cycles` has, in rounds of n;
  each round takes the new pairs that reduce the uncertainty of the scores most, given
  what was answered (`most_informative`).

A circle is drawn from seed, query id, document ids and its number alone: it does not
depend on the order of queries or documents or on what else runs, and asking for more
circles keeps the pairs of the first ones.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from knowtrail.graph.errors import InputError
from knowtrail.ingest.keys import content_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from knowtrail.retrieval.rerank.datasets import Document

PairMode = Literal["cycles", "dense", "adaptive"]
Cycles = Literal["distinct", "published"]
Pair = tuple[int, int]
"""Numbers of the left and the right document, counted from 0."""

LARGEST_DENSE = 1_000
"""Documents whose pairs are all taken, or weighed against each other, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairSettings:
    """How pairs are chosen; `adaptive` chooses as many as `cycle_num` circles have.

    The first `document_threshold` documents of a query are taken; None takes all.
    """

    mode: PairMode = "cycles"
    cycle_num: int = 4
    document_threshold: int | None = None
    seed: int = 0
    cycles: Cycles = "distinct"

    def __post_init__(self) -> None:
        for what, value, known in (
            ("mode of pairs", self.mode, get_args(PairMode)),
            ("cycles", self.cycles, get_args(Cycles)),
        ):
            if value not in known:
                raise InputError(f"No {what} {value!r}: use {', '.join(known)}.")
        whole = {"cycle_num": self.cycle_num}
        if self.document_threshold is not None:
            whole["document_threshold"] = self.document_threshold
        for name, number in whole.items():
            if type(number) is not int or number < 1:
                raise InputError(f"{name} is {number!r}: give a whole number from 1.")

    def considered(self, documents: Sequence[Document]) -> tuple[Document, ...]:
        """Return the documents of a query that are judged."""
        taken = tuple(documents[: self.document_threshold])
        if self.mode != "cycles" and len(taken) > LARGEST_DENSE:
            raise InputError(
                f"{len(taken)} documents are too many for pairs by mode {self.mode!r}: "
                f"set a document threshold of at most {LARGEST_DENSE}."
            )
        return taken

    def begin(self, query_id: str, ids: Sequence[str]) -> list[Pair]:
        """Return the pairs that are judged first: all of them, but for `adaptive`."""
        if self.mode == "dense":
            return dense_pairs(len(ids))
        count = 1 if self.mode == "adaptive" else self.cycle_num
        return cycle_pairs(
            query_id, ids, cycle_num=count, seed=self.seed, again=self._again
        )

    def planned(self, n: int) -> int:
        """Return how many pairs n documents will have in all."""
        if n < 2:
            return 0
        every, circles = n * (n - 1) // 2, self.cycle_num * n
        if self.mode == "dense":
            return every
        return circles if self._again else min(circles, every)

    @property
    def _again(self) -> bool:
        return self.mode == "cycles" and self.cycles == "published"


def cycle_pairs(
    query_id: str,
    ids: Sequence[str],
    *,
    cycle_num: int = 4,
    seed: int = 0,
    again: bool = False,
) -> list[Pair]:
    """Return the pairs of random circles through all documents."""
    if len(ids) < 2:
        return []
    pairs: list[Pair] = []
    for cycle in range(cycle_num):
        # Sorting by hashes is a shuffle that no order of the input changes.
        circle = sorted(
            range(len(ids)),
            key=lambda i: content_key("zelo-circle", seed, query_id, cycle, ids[i]),
        )
        drawn = list(zip(circle, [*circle[1:], circle[0]], strict=True))
        pairs += drawn if again else _new(drawn, pairs)
    return pairs


def _new(drawn: Sequence[Pair], pairs: Sequence[Pair]) -> list[Pair]:
    n = len(drawn)
    met = {frozenset(pair) for pair in pairs}
    found: list[Pair] = []
    for pair in drawn:
        if frozenset(pair) not in met:
            met.add(frozenset(pair))
            found.append(pair)
    lefts = Counter(left for left, _ in (*pairs, *found))
    degree = lefts + Counter(right for _, right in (*pairs, *found))
    for _ in range(min(len(pairs) + n, n * (n - 1) // 2) - len(pairs) - len(found)):
        order = sorted((left for left, _ in drawn), key=degree.__getitem__)
        both = ((one, two) for one in order for two in order if one != two)
        one, two = next(pair for pair in both if frozenset(pair) not in met)
        pair = (two, one) if lefts[one] > lefts[two] else (one, two)
        met.add(frozenset(pair))
        found.append(pair)
        lefts[pair[0]] += 1
        degree.update(pair)
    return found


def dense_pairs(n: int) -> list[Pair]:
    """Return every two of n documents once, each about as often left as right."""
    return [
        (i, j) if (i + j) % 2 else (j, i) for i in range(n) for j in range(i + 1, n)
    ]


def most_informative(
    scores: NDArray[np.float64],
    pairs: Sequence[Pair],
    answers: Sequence[float],
    *,
    count: int,
    judges: int = 1,
    ridge: float = 0.1,
) -> list[Pair]:
    """Return the next pairs to be judged: those that reduce uncertainty most.

    The answer of one judge about i and j carries the information p (1 - p) about the
    difference of their scores, p being the chance that j wins by the current scores.
    The covariance of the scores is the inverse of all information so far; what a new
    pair takes from the sum of its variances follows by the formula of Sherman and
    Morrison. Pairs are taken one after the other, each counted as judged before the
    next is chosen; a pair that was judged comes again only when all were. This is the
    sequential A-optimal design of V. V. Fedorov (Theory of Optimal Experiments, 1972),
    for paired comparisons as in Glickman and Jensen (Adaptive paired comparison design,
    J. Stat. Plan. Inference 127, 2005), who use another measure of information. Ties go
    to documents with lower numbers; the document that stood on the left less often
    stands there. A score
    of NaN is 0; `answers` are how many judges answered each pair so far, `judges` how
    many will answer a new one, `ridge` is the precision of the prior of the scores.
    """
    n = len(scores)
    if n < 2:
        return []
    known = np.nan_to_num(scores, nan=0.0)
    half = np.clip(np.subtract.outer(known, known) / 2, -300, 300)
    information = 0.25 / np.cosh(half) ** 2  # p (1 - p) of one answer
    left, right = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    told = np.asarray(answers) * information[left, right]
    precision = np.eye(n) * ridge
    for row, column, sign in ((left, left, 1), (right, right, 1), (left, right, -1)):
        np.add.at(precision, (row, column), sign * told)
    np.add.at(precision, (right, left), -told)
    lefts = np.bincount(left, minlength=n)
    met = np.zeros((n, n), dtype=bool)
    met[np.minimum(left, right), np.maximum(left, right)] = True
    chosen: list[Pair] = []
    spread = np.asarray(np.linalg.inv(precision), dtype=np.float64)
    for i, j in _greedy(spread, judges * information, met, count):
        pair = (j, i) if lefts[i] > lefts[j] else (i, j)
        lefts[pair[0]] += 1
        chosen.append(pair)
    return chosen


def _greedy(
    spread: NDArray[np.float64],
    weights: NDArray[np.float64],
    met: NDArray[np.bool_],
    count: int,
) -> Iterator[Pair]:
    one, two = np.triu_indices(len(spread), 1)
    weight = weights[one, two]
    squared = spread @ spread  # kept up to date, as a product a pair takes n times more
    for _ in range(count):
        between = _between(spread, one, two)
        gain = weight * _between(squared, one, two) / (1 + weight * between)
        old = met[one, two]
        if not old.all():
            gain[old] = -1.0
        best = int(np.argmax(np.round(gain, 12)))
        i, j = int(one[best]), int(two[best])
        met[i, j] = True
        step = spread[:, i] - spread[:, j]
        share = weight[best] / (1 + weight[best] * between[best])
        side = np.outer(share * (spread @ step), step)
        less = np.outer(step, step) * share
        squared -= side + side.T - share * (step @ step) * less
        spread -= less
        yield i, j


def _between(
    matrix: NDArray[np.float64], one: NDArray[np.intp], two: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return (e_i - e_j)' M (e_i - e_j) for many i and j."""
    diagonal = np.diag(matrix)
    return np.asarray(diagonal[one] + diagonal[two] - 2 * matrix[one, two])

"""Pairs: circles, all of them, or those that tell most."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from knowtrail.eval.zelo.fit import Battles, fit_battles
from knowtrail.eval.zelo.pairs import (
    PairSettings,
    cycle_pairs,
    dense_pairs,
    most_informative,
)
from knowtrail.graph.errors import InputError
from knowtrail.retrieval.rerank.datasets import Document

if TYPE_CHECKING:
    from collections.abc import Sequence

IDS = [f"d{number}" for number in range(10)]


def _degrees(n: int, pairs: Sequence[tuple[int, int]]) -> list[int]:
    """Return in how many pairs each of n documents is."""
    counts = Counter(number for pair in pairs for number in pair)
    return [counts[number] for number in range(n)]


@pytest.mark.parametrize("cycles", [1, 4])
def test_circles_are_fair(cycles: int) -> None:
    """Each document stands once on the left and once on the right of each circle."""
    pairs = cycle_pairs("q", IDS, cycle_num=cycles, again=True)

    assert Counter(i for i, _ in pairs) == dict.fromkeys(range(10), cycles)
    assert Counter(j for _, j in pairs) == dict.fromkeys(range(10), cycles)
    assert fit_battles(
        Battles.of(10, *zip(*pairs[:10], strict=True), [0.0] * 10)
    ).connected
    assert _degrees(10, pairs) == [2 * cycles] * 10


@pytest.mark.parametrize("n", [6, 9, 10, 25])
def test_no_pair_comes_again_while_another_was_never_judged(n: int) -> None:
    """Four circles have as many pairs as they can, and documents share them evenly."""
    ids = [f"d{number}" for number in range(n)]
    every = n * (n - 1) // 2

    for seed in range(20):
        pairs = cycle_pairs("q", ids, seed=seed)

        degree = _degrees(n, pairs)
        assert len({frozenset(pair) for pair in pairs}) == len(pairs)
        assert len(pairs) == min(4 * n, every) == PairSettings().planned(n)
        assert max(degree) - min(degree) <= 2


def test_published_circles_do_not_look_at_each_other() -> None:
    """Six documents then have 24 pairs of which some are the same."""
    settings = PairSettings(cycles="published")

    pairs = settings.begin("q", IDS[:6])

    assert len(pairs) == settings.planned(6) == 24
    assert len({frozenset(pair) for pair in pairs}) < 15


def test_circles_are_drawn_again_alike() -> None:
    """Seed and query decide, and further circles keep the first ones."""
    pairs = cycle_pairs("q", IDS)

    assert cycle_pairs("q", IDS) == pairs
    assert cycle_pairs("q", IDS, cycle_num=2) == pairs[:20]
    assert cycle_pairs("q", IDS, seed=1) != pairs
    assert cycle_pairs("other", IDS) != pairs


def test_circles_do_not_depend_on_the_order_of_documents() -> None:
    """The same documents in another order meet the same ones."""
    turned = IDS[::-1]

    met = {(IDS[i], IDS[j]) for i, j in cycle_pairs("q", IDS)}

    assert {(turned[i], turned[j]) for i, j in cycle_pairs("q", turned)} == met


@pytest.mark.parametrize(
    ("n", "pairs"),
    [(0, []), (1, []), (2, [(0, 1), (1, 0)])],
)
def test_few_documents(n: int, pairs: list[Any]) -> None:
    """Nothing is judged against itself; two meet once, or in both orders a circle."""
    published = PairSettings(cycles="published")

    assert sorted(cycle_pairs("q", IDS[:n], cycle_num=1, again=True)) == pairs
    assert len(cycle_pairs("q", IDS[:n])) == PairSettings().planned(n) == n // 2
    assert dense_pairs(n) == pairs[: n - 1 if n else 0]
    assert published.planned(n) == 4 * len(pairs)


def test_three_documents_have_every_pair_in_a_circle() -> None:
    """A circle of three is dense."""
    pairs = cycle_pairs("q", IDS[:3], cycle_num=1)

    assert {frozenset(pair) for pair in pairs} == {
        frozenset({0, 1}),
        frozenset({1, 2}),
        frozenset({0, 2}),
    }


def test_dense_pairs_are_every_two_once() -> None:
    """Each document stands on either side about as often."""
    pairs = dense_pairs(9)

    lefts = Counter(i for i, _ in pairs)
    assert len({frozenset(pair) for pair in pairs}) == len(pairs) == 36
    assert max(lefts.values()) - min(lefts.values()) <= 1
    assert PairSettings(mode="dense").planned(9) == 36


def test_the_next_pair_joins_what_is_least_known() -> None:
    """Two parts are joined before anything else is asked."""
    scores = np.zeros(4)

    (pair,) = most_informative(scores, [(0, 1), (2, 3)], [1, 1], count=1)

    assert {frozenset(pair)} <= {frozenset((i, j)) for i in (0, 1) for j in (2, 3)}


def test_pairs_that_are_decided_are_not_asked_for() -> None:
    """Of documents known equally well, those that are close tell more."""
    scores = np.array([-6.0, 0.0, 0.1, 6.0])
    pairs = cycle_pairs("q", IDS[:4], cycle_num=4, again=True)

    (pair,) = most_informative(scores, pairs, [1e-9] * 16, count=1)

    assert frozenset(pair) == {1, 2}


def test_a_round_spreads_its_pairs() -> None:
    """Each pair counts before the next is chosen, so that all documents get some."""
    pairs = cycle_pairs("q", IDS, cycle_num=1)

    chosen = most_informative(np.zeros(10), pairs, [3] * 10, count=10, judges=3)

    assert min(_degrees(10, chosen)) >= 1
    assert len({frozenset(pair) for pair in chosen}) == 10
    assert chosen == most_informative(np.zeros(10), pairs, [3] * 10, count=10, judges=3)


def test_a_pair_comes_again_when_all_were_judged() -> None:
    """A judge that answers as before tells nothing new before that."""
    pairs = dense_pairs(5)[:8]
    rest = {frozenset(pair) for pair in dense_pairs(5)[8:]}
    scores = np.array([9.0, 0.0, 0.0, 0.0, -9.0])

    chosen = most_informative(scores, pairs, [1] * 8, count=3)

    assert {frozenset(pair) for pair in chosen[:2]} == rest
    assert frozenset(chosen[2]) not in rest


def test_adaptive_pairs_reduce_the_variance_more_than_circles() -> None:
    """The sum of variances after a round is less than after a random circle."""
    scores = np.linspace(-3, 3, 10)
    first = cycle_pairs("q", IDS, cycle_num=1)
    circle = cycle_pairs("q", IDS, cycle_num=2)[10:]

    chosen = most_informative(scores, first, [1] * 10, count=10)

    def variance(pairs: list[tuple[int, int]]) -> float:
        precision = np.eye(10) * 0.1
        for i, j in first + pairs:
            p = 1 / (1 + math.exp(scores[i] - scores[j]))
            step = np.eye(10)[i] - np.eye(10)[j]
            precision += p * (1 - p) * np.outer(step, step)
        return float(np.trace(np.linalg.inv(precision)))

    assert variance(chosen) < variance(circle)


def test_documents_without_a_score_can_be_chosen() -> None:
    """NaN stands for a document that no battle reached."""
    chosen = most_informative(
        np.array([np.nan, 1.0, -1.0]), [(1, 2)], [3], count=1, judges=1
    )

    assert 0 in chosen[0]


def test_the_threshold_takes_the_first_documents() -> None:
    """In the order of the file; None takes all."""
    documents = [Document(id=name, content="x") for name in IDS]

    taken = PairSettings(document_threshold=3).considered(documents)

    assert [d.id for d in taken] == ["d0", "d1", "d2"]
    assert len(PairSettings().considered(documents)) == 10


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"mode": "all"}, "No mode of pairs 'all'"),
        ({"cycles": "other"}, "No cycles 'other'"),
        ({"cycle_num": 0}, "cycle_num is 0"),
        ({"cycle_num": None}, "cycle_num is None"),
        ({"document_threshold": 0}, "document_threshold is 0"),
        ({"document_threshold": True}, "document_threshold is True"),
    ],
)
def test_settings_are_checked(values: dict[str, Any], message: str) -> None:
    """What makes no sense is refused at once."""
    with pytest.raises(InputError, match=message):
        PairSettings(**values)


def test_too_many_documents_for_every_two() -> None:
    """A million pairs are refused with what to do."""
    documents = [Document(id=str(n), content="x") for n in range(1001)]

    with pytest.raises(InputError, match="set a document threshold of at most 1000"):
        PairSettings(mode="dense").considered(documents)

"""Whether judges agree with themselves and with each other."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from knowtrail.eval.zelo.fit import Battles
from knowtrail.eval.zelo.inspection import (
    agreement,
    judge_figures,
    kendall_w,
    rankings_concordance,
    triads,
)

CIRCLE = Battles.of(3, [0, 1, 2], [1, 2, 0], [1.0, 1.0, 1.0])
"""1 beats 0, 2 beats 1, 0 beats 2."""


def _dense(*orders: list[int]) -> Battles:
    """Return all pairs as judges with these orders, the best first, answer them."""
    n = len(orders[0])
    pairs = list(combinations(range(n), 2))
    score = [
        [1.0 if order.index(b) < order.index(a) else -1.0 for order in orders]
        for a, b in pairs
    ]
    left, right = zip(*pairs, strict=True)
    return Battles.of(n, left, right, score)


def test_an_order_has_only_transitive_triads() -> None:
    """Five documents have ten triads."""
    found = triads(_dense([4, 2, 0, 1, 3]))

    assert (found.count, found.transitive, found.share) == (10, 10, 1.0)


def test_a_circle_is_not_transitive() -> None:
    """Its only triad goes round."""
    assert triads(CIRCLE).transitive == 0
    assert triads(CIRCLE).count == 1


def test_a_coin_makes_three_triads_in_four_transitive() -> None:
    """It is what chance gives."""
    generator = np.random.default_rng(0)
    left, right = np.triu_indices(60, 1)
    coin = np.where(generator.random(len(left)) < 0.5, -1.0, 1.0)

    assert triads(Battles.of(60, left, right, coin)).share == pytest.approx(
        0.75, abs=0.02
    )


def test_ties_and_missing_pairs_make_no_triads() -> None:
    """A pair without a winner takes part in none."""
    tied = Battles.of(3, [0, 1, 2], [1, 2, 0], [1.0, 1.0, 0.0])

    assert triads(tied).count == 0
    assert np.isnan(triads(tied).share)


def test_judges_of_one_order_are_in_concord() -> None:
    """W is 1, and for two opposite orders 0."""
    order = [2, 0, 3, 1]

    assert kendall_w(_dense(order, order, order)) == pytest.approx(1)
    assert kendall_w(_dense(order, order[::-1])) == pytest.approx(0, abs=1e-9)


def test_ties_are_corrected_for() -> None:
    """Judges that tie the same documents still agree fully."""
    scores = np.array([[3.0, 1.0, 1.0, 0.0], [9.0, 5.0, 5.0, 2.0]])

    assert rankings_concordance(scores) == pytest.approx(1)


def test_w_of_a_worked_example() -> None:
    """W is 12 S over m^2 (n^3 - n) where nothing ties."""
    scores = np.array([[1.0, 2, 3, 4], [1, 3, 2, 4], [2, 1, 3, 4]])

    found = rankings_concordance(scores)

    assert found == pytest.approx(12 * 35 / (9 * 60))


@pytest.mark.parametrize("shape", [(0, 0), (1, 5), (3, 1), (3, 0)])
def test_too_little_has_no_concordance(shape: tuple[int, int]) -> None:
    """One ranking, or one item, agrees with nothing."""
    assert np.isnan(rankings_concordance(np.ones(shape)))


def test_judges_that_only_tie_have_no_concordance() -> None:
    """There is no order to agree on."""
    assert np.isnan(rankings_concordance(np.ones((2, 3))))


def test_w_is_of_what_all_judges_judged() -> None:
    """A judge without any answer leaves nothing."""
    battles = Battles.of(3, [0, 1], [1, 2], [[1.0, 1.0, np.nan], [1.0, np.nan, np.nan]])
    some = Battles.of(3, [0, 1], [1, 2], [[1.0, 1.0], [1.0, np.nan]])

    assert np.isnan(kendall_w(battles))
    assert kendall_w(some) == pytest.approx(1)


def test_agreement_counts_decided_answers() -> None:
    """Ties and missing answers are left out."""
    battles = Battles.of(
        3,
        [0, 1, 2, 0],
        [1, 2, 0, 2],
        [[1.0, 0.5, -1], [0.0, 1, 1], [np.nan, -1, -0.2], [1, -1, np.nan]],
    )

    found = agreement(battles)

    assert found.pairs == {(0, 1): (2, 0.5), (0, 2): (1, 0.0), (1, 2): (3, 2 / 3)}
    assert found.unanimous == 0.5


def test_one_judge_agrees_with_nobody() -> None:
    """There is no pair, and nothing is unanimous."""
    found = agreement(CIRCLE)

    assert found.pairs == {}
    assert found.alpha is None
    assert np.isnan(found.unanimous)


def test_figures_of_a_judge_show_what_is_odd() -> None:
    """Always left, always even, never there."""
    battles = Battles.of(
        3,
        [0, 1, 2],
        [1, 2, 0],
        [[-1.0, 0.0, np.nan]] * 3,
        judges=("left", "even", "gone"),
    )

    left, even, gone = judge_figures(battles)

    assert (left.name, left.left, left.triads.share) == ("left", 1.0, 0.0)
    assert (even.ties, even.answered) == (3, 3)
    assert (gone.missing, gone.answered) == (3, 0)
    assert np.isnan([even.left, gone.left]).all()

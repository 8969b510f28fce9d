"""Few battles of simulated judges against all of them."""

from __future__ import annotations

from typing import get_args

import choix
import numpy as np
import pytest

from benchmarks.simulated_judges import Noise, cycles_picture, measure, simulate, tau
from knowtrail.eval.statistics import compare_paired
from knowtrail.eval.zelo.fit import fit_battles
from knowtrail.graph.errors import InputError

RUNS = 20


def test_four_cycles_recover_most_of_the_dense_order() -> None:
    """Fifty documents, three judges with a pair accuracy of 0.85 to 0.95."""
    (point,) = measure(50, [4], runs=RUNS)

    assert point.to_dense.value >= 0.80
    assert point.to_dense.n == RUNS


@pytest.mark.thorough
def test_four_cycles_are_as_good_as_an_independent_fit() -> None:
    """The same battles in another library, which minimises with its own code."""
    differences = []
    for run in range(RUNS):
        drawn = simulate(50, seed=run)
        battles = drawn.sparse(4)
        votes = [
            (b, a) if score > 0 else (a, b)
            for a, b, row in zip(
                battles.left, battles.right, battles.score, strict=True
            )
            for score in row
        ]
        whole = fit_battles(drawn.dense()).scores
        other = choix.opt_pairwise(50, votes, alpha=0.05)
        ours = fit_battles(battles).scores
        differences.append(tau(ours, whole) - tau(other, whole))

    assert abs(np.mean(differences)) <= 0.02


def test_three_judges_beat_one() -> None:
    """Nearer to the truth on the same pairs, beyond the noise of the runs."""
    one, three = measure(50, [4], runs=RUNS, asked=(1, 3))

    found = compare_paired(one.truths, three.truths)

    assert found.difference.low > 0


def test_more_cycles_are_nearer_and_surer() -> None:
    """Both curves go the way they should."""
    few, more, most = measure(20, [1, 4, 16], runs=RUNS)

    assert few.to_dense.value < more.to_dense.value < most.to_dense.value
    assert few.error.value > more.error.value > most.error.value


def test_standard_errors_tell_how_far_the_dense_scores_are() -> None:
    """Most of them are within 1.96; some are not, or the errors would say nothing."""
    (point,) = measure(50, [4], runs=RUNS)

    assert 0.85 < point.covered.value < 0.99


@pytest.mark.parametrize("noise", ["scores", "flips"])
def test_judges_are_as_accurate_as_said(noise: Noise) -> None:
    """Of all pairs, over several draws, the share that is right."""
    right = []
    for seed in range(20):
        drawn = simulate(
            60,
            judges=1,
            accuracy=(0.9, 0.9),
            noise=noise,
            cycles=1,
            seed=seed,
        )
        left, rest = np.triu_indices(60, 1)
        gap = drawn.truth[rest] - drawn.truth[left]
        right.append((np.sign(gap) == np.sign(drawn.answers[left, rest, 0])).mean())

    assert np.mean(right) == pytest.approx(0.9, abs=0.01)


def test_the_same_seed_draws_the_same() -> None:
    """Other seeds draw something else."""
    one, same, other = (simulate(10, seed=seed) for seed in (1, 1, 2))

    assert np.array_equal(one.answers, same.answers)
    assert one.pairs == same.pairs
    assert not np.array_equal(one.answers, other.answers)


def test_a_cycle_has_each_document_once_on_each_side() -> None:
    """So every document fights twice a cycle, and all are connected."""
    battles = simulate(12, cycles=3).sparse(1)

    assert sorted(battles.left) == sorted(battles.right) == [*range(12)]
    assert fit_battles(battles).connected


@pytest.mark.thorough
def test_the_curves_are_drawn_the_same_again() -> None:
    """A panel for each noise and one of standard errors; the same bytes each time."""
    points = {
        noise: [*measure(8, [1, 2], runs=3, noise=noise)] for noise in get_args(Noise)
    }

    first, second = (cycles_picture(points, ".svg") for _ in range(2))

    assert first == second
    assert b"noise on votes" in first
    assert b"K = 8" in first


@pytest.mark.parametrize(
    "changed",
    [{"accuracy": (0.4, 0.9)}, {"judges": 0}, {"noise": "hum"}, {"cycles": 0}],
)
def test_what_cannot_be_drawn_is_refused(changed: dict[str, object]) -> None:
    """Numbers are checked first."""
    with pytest.raises(InputError):
        simulate(5, **changed)  # type: ignore[arg-type]

"""Whether pairs that are chosen by what they tell beat random circles, at one price.

Simulated judges as in zelo-simulation, as many battles for both: Kendall's tau to the
fit of all pairs and to the truth, mean standard error, and the paired difference, with
95 % intervals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from measure import Table
from simulated_judges import simulate, tau

from knowtrail.eval.statistics import bootstrap_interval, compare_paired
from knowtrail.eval.zelo.fit import Battles, fit_battles
from knowtrail.eval.zelo.pairs import most_informative

if TYPE_CHECKING:
    import argparse

    from simulated_judges import Noise, Simulated

    from knowtrail.eval.zelo.fit import Fit

NOISES: tuple[Noise, ...] = ("scores", "flips")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--runs", type=int, help="runs (default 40)")


def run(given: argparse.Namespace) -> None:
    """Simulate, and print what came out."""
    runs = given.runs or (5 if given.small else 40)
    table = Table(
        title="zelo-adaptive: three judges of accuracy .85-.95, tau to the fit of all "
        f"pairs, {runs} runs",
        columns=(
            "noise",
            "K",
            "cycles",
            "tau, circles",
            "tau, adaptive",
            "gain",
            "standard error, circles",
            "standard error, adaptive",
        ),
    )
    for noise in NOISES:
        for size in (20, 50):
            for cycles in (2, 4):
                table.add(*_row(noise, size, cycles, runs))
    table.print()


def _row(noise: Noise, size: int, cycles: int, runs: int) -> list[str]:
    """Return a row of the table."""
    found = []
    for seed in range(runs):
        drawn = simulate(size, noise=noise, seed=seed)
        dense = fit_battles(drawn.dense())
        fits = (fit_battles(drawn.sparse(cycles)), _adaptive(drawn, cycles))
        found.append([
            value
            for fit in fits
            for value in (tau(fit.scores, dense.scores), fit.standard_errors.mean())
        ])
    circles, errors, adaptive, fewer = np.array(found).T
    gain = compare_paired(circles, adaptive).difference
    shown = [bootstrap_interval(values) for values in (circles, adaptive)]
    return [
        noise,
        str(size),
        str(cycles),
        *(f"{one.value:.3f} ({one.low:.3f}-{one.high:.3f})" for one in shown),
        f"{gain.value:+.3f} ({gain.low:+.3f} to {gain.high:+.3f})",
        f"{errors.mean():.2f}",
        f"{fewer.mean():.2f}",
    ]


def _adaptive(drawn: Simulated, cycles: int) -> Fit:
    """Return the fit of one circle and further rounds of adaptive pairs."""
    size = len(drawn.truth)
    pairs = list(drawn.pairs[:size])

    def fitted() -> Fit:
        left, right = np.array(pairs).T
        return fit_battles(Battles.of(size, left, right, drawn.answers[left, right]))

    for _ in range(cycles - 1):
        judges = drawn.answers.shape[2]
        pairs += most_informative(
            fitted().scores,
            pairs,
            [float(judges)] * len(pairs),
            count=size,
            judges=judges,
        )
    return fitted()

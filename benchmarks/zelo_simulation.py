"""How much of a dense comparison few cycles of battles recover: simulated judges.

Kendall's tau to the fit of all pairs, and the mean standard error of the scores, for 1
to 16 cycles and K documents, over several runs with 95 % intervals; then one judge
against three, and ways to read their answers. `--figure FILE.svg` draws the curves.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from measure import Table
from simulated_judges import cycles_picture, measure

from knowtrail.eval.statistics import compare_paired

if TYPE_CHECKING:
    import argparse

    from simulated_judges import Noise, Point

    from knowtrail.eval.statistics import Interval

SHOWN = (1, 2, 3, 4, 6, 8, 12, 16)
NOISES: tuple[Noise, ...] = ("scores", "flips")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--runs", type=int, help="runs (default 40)")
    parser.add_argument("--figure", type=Path, help="draw the curves, .svg or .png")


def run(given: argparse.Namespace) -> None:
    """Simulate, and print what came out."""
    runs = given.runs or (5 if given.small else 40)
    sizes = (20, 50) if given.small else (20, 50, 100)
    points = {
        noise: [
            point
            for size in sizes
            for point in measure(size, range(1, 17), runs=runs, noise=noise)
        ]
        for noise in NOISES
    }
    for noise, found in points.items():
        _curves(found, noise, sizes, runs)
    _covered(points, sizes, runs)
    _judges(sizes, runs)
    _readings(sizes, runs)
    if given.figure is not None:
        from knowtrail.graph.files import write_file

        write_file(given.figure, cycles_picture(points, given.figure.suffix))
        print(f"\n{given.figure} is drawn.")


def _shown(interval: Interval) -> str:
    """Return a number with its interval."""
    return f"{interval.value:.3f} ({interval.low:.3f}-{interval.high:.3f})"


def _curves(
    points: list[Point], noise: Noise, sizes: tuple[int, ...], runs: int
) -> None:
    """Print tau to the dense fit, and standard errors, by cycles."""
    by_place = {(point.documents, point.cycles): point for point in points}
    table = Table(
        title=f"zelo-simulation: three judges, noise on {noise}, accuracy .85-.95, "
        f"{runs} runs",
        columns=("cycles", *(f"tau, K = {size}" for size in sizes),
                 *(f"standard error, K = {size}" for size in sizes)),
    )  # fmt: skip
    for cycles in SHOWN:
        table.add(
            str(cycles),
            *(_shown(by_place[size, cycles].to_dense) for size in sizes),
            *(_shown(by_place[size, cycles].error) for size in sizes),
        )
    table.print()


def _covered(
    points: dict[Noise, list[Point]], sizes: tuple[int, ...], runs: int
) -> None:
    """Print how often the dense scores are as near as standard errors say."""
    table = Table(
        title="zelo-simulation: share of scores within 1.96 standard errors of the "
        f"dense fit, {runs} runs",
        columns=("noise", "cycles", *(f"K = {size}" for size in sizes)),
    )
    for noise, found in points.items():
        for cycles in (1, 4, 16):
            some = [point for point in found if point.cycles == cycles]
            table.add(noise, str(cycles), *(_shown(point.covered) for point in some))
    table.print()


def _judges(sizes: tuple[int, ...], runs: int) -> None:
    """Print how near one judge and three come to the truth, on the same battles."""
    table = Table(
        title=f"zelo-simulation: one judge and three at 4 cycles, {runs} runs",
        columns=("noise", "K", "tau to the truth, one", "three", "difference", "p"),
    )
    for noise in NOISES:
        for size in sizes:
            one, three = measure(size, [4], runs=runs, asked=(1, 3), noise=noise)
            found = compare_paired(one.truths, three.truths)
            table.add(
                noise,
                str(size),
                _shown(one.to_truth),
                _shown(three.to_truth),
                _shown(found.difference),
                f"{found.p_value:.4f}",
            )
    table.print()


def _readings(sizes: tuple[int, ...], runs: int) -> None:
    """Print how near votes and magnitudes come to the truth."""
    table = Table(
        title=f"zelo-simulation: votes and magnitudes at 4 cycles, {runs} runs",
        columns=("noise", "K", "tau to the truth, votes", "magnitudes", "difference"),
    )
    for noise in NOISES:
        for size in sizes:
            (votes,) = measure(size, [4], runs=runs, noise=noise)
            (aware,) = measure(size, [4], runs=runs, noise=noise, magnitude=True)
            found = compare_paired(votes.truths, aware.truths)
            table.add(
                noise,
                str(size),
                _shown(votes.to_truth),
                _shown(aware.to_truth),
                _shown(found.difference),
            )
    table.print()

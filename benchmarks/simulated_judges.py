"""Simulated judges, to see how much of a dense comparison few battles recover.

K documents have true relevances from a standard normal distribution. Each judge looks
once at each pair, and its error there is independent of every other: with the noise
`scores` it sees the difference of relevances plus a normal error, so near pairs are
harder; with `flips` it errs on every pair alike, however far apart its documents are.
Either way each judge has its own accuracy, the chance that it names the better of two
documents drawn at random.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import pi, sqrt, tan
from typing import TYPE_CHECKING, Literal

import numpy as np

from knowtrail.eval.statistics import SHARE, Interval, bootstrap_interval
from knowtrail.eval.zelo.fit import Battles, fit_battles
from knowtrail.eval.zelo.pairs import cycle_pairs
from knowtrail.graph.errors import InputError
from knowtrail.retrieval.views.drawing import drawing, empty_figure, picture_bytes
from knowtrail.retrieval.views.layout import Heading
from knowtrail.retrieval.views.palette import COLORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from knowtrail.eval.zelo.fit import Fit
    from knowtrail.eval.zelo.pairs import Pair

__all__ = [
    "Noise",
    "Point",
    "Simulated",
    "cycles_picture",
    "measure",
    "simulate",
    "tau",
]

Noise = Literal["scores", "flips"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """Documents with true relevances, and what judges say of every pair.

    Attributes:
        truth: K relevances.
        answers: K x K x judges scores in [-1, 1]; [a, b] is of a on the left and b on
            the right, [b, a] its negative.
        pairs: Pairs of cycles, one cycle after the other, as an annotation has them.
    """

    truth: NDArray[np.float64]
    answers: NDArray[np.float64]
    pairs: tuple[Pair, ...]

    def dense(self) -> Battles:
        """Return the battles of all pairs."""
        left, right = np.triu_indices(len(self.truth), 1)
        return self._battles(left, right)

    def sparse(self, cycles: int, *, judges: int | None = None) -> Battles:
        """Return the battles of the first cycles: each document with the next.

        Args:
            cycles: How many, up to those that were drawn.
            judges: How many judges, the first; None for all.
        """
        some = self.pairs[: cycles * len(self.truth)]
        left, right = np.array(some, dtype=np.intp).reshape(-1, 2).T
        return self._battles(left, right, judges)

    def _battles(
        self,
        left: NDArray[np.intp],
        right: NDArray[np.intp],
        judges: int | None = None,
    ) -> Battles:
        """Return the battles of some pairs."""
        score = self.answers[left, right, :judges]
        return Battles.of(len(self.truth), left, right, score)


def simulate(
    documents: int,
    *,
    judges: int = 3,
    accuracy: tuple[float, float] = (0.85, 0.95),
    noise: Noise = "scores",
    cycles: int = 16,
    seed: int = 0,
) -> Simulated:
    """Return documents, judges and cycles drawn from a seed.

    Args:
        documents: How many documents there are.
        judges: How many judges.
        accuracy: Each judge's is drawn between these, above 0.5 and below 1.
        noise: How judges err, see the module.
        cycles: How many cycles are drawn.
        seed: Of all that is drawn.

    Raises:
        InputError: If a number is out of its range.
    """
    if not 0.5 < accuracy[0] <= accuracy[1] < 1:
        msg = f"accuracy is {accuracy}: give two numbers between 0.5 and 1, in order."
        raise InputError(msg)
    if min(documents, judges, cycles) < 1 or noise not in {"scores", "flips"}:
        msg = (
            f"{documents} documents, {judges} judges, {cycles} cycles and noise "
            f"{noise!r:.40}: give 1 or more of each, and 'scores' or 'flips'."
        )
        raise InputError(msg)
    generator = np.random.default_rng([seed, documents, judges])
    truth = generator.standard_normal(documents)
    rate = generator.uniform(*accuracy, size=judges)
    left, right = np.triu_indices(documents, 1)
    gap = np.repeat((truth[right] - truth[left])[:, None], judges, axis=1)
    if noise == "scores":
        # P(sign right) = 1/2 + arctan(sqrt(2) / s) / pi, of differences with variance 2
        spread = np.array([sqrt(2) / tan(pi * (each - 0.5)) for each in rate])
        seen = gap + spread * generator.standard_normal(gap.shape)
    else:
        seen = np.where(generator.random(gap.shape) < rate, gap, -gap)
    answers = np.zeros((documents, documents, judges))
    answers[left, right] = np.tanh(seen)
    answers[right, left] = -answers[left, right]
    ids = [str(number) for number in range(documents)]
    pairs = cycle_pairs("", ids, cycle_num=cycles, seed=seed)
    return Simulated(truth=truth, answers=answers, pairs=tuple(pairs))


def tau(one: NDArray[np.float64], two: NDArray[np.float64]) -> float:
    """Return Kendall's tau-b of two scores of the same documents."""
    from scipy.stats import kendalltau

    return float(kendalltau(one, two).statistic)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What a number of cycles gave, over several runs, with 95 % intervals.

    Attributes:
        documents: K.
        cycles: How many cycles were judged.
        judges: By how many judges.
        to_dense: Kendall's tau to the fit of all pairs by all judges.
        to_truth: Kendall's tau to the true relevances.
        error: Mean standard error of the scores.
        covered: Share of the scores from which the fit of all pairs is less than 1.96
            standard errors away; 0.95 would be right for independent samples.
        taus: The taus to the dense fit, run by run.
        truths: The taus to the truth, run by run.
    """

    documents: int
    cycles: int
    judges: int
    to_dense: Interval
    to_truth: Interval
    error: Interval
    covered: Interval
    taus: tuple[float, ...]
    truths: tuple[float, ...]


def measure(
    documents: int,
    cycles: Sequence[int],
    *,
    runs: int = 20,
    judges: int = 3,
    asked: Sequence[int] | None = None,
    noise: Noise = "scores",
    magnitude: bool = False,
    seed: int = 0,
) -> Iterator[Point]:
    """Yield a point for each number of cycles and of judges.

    Args:
        documents: How many documents there are.
        cycles: Numbers of cycles, each at least 1.
        runs: How often everything is drawn anew; the same for all points.
        judges: How many judges there are.
        asked: Numbers of judges that are asked, the first ones; None for all.
        noise: How judges err.
        magnitude: Whether the fit looks at magnitudes.
        seed: Of all that is drawn.
    """
    drawn = [
        simulate(
            documents,
            judges=judges,
            noise=noise,
            cycles=max(cycles),
            seed=seed * 1_000_003 + run,
        )
        for run in range(runs)
    ]
    dense = [fit_battles(one.dense(), magnitude=magnitude) for one in drawn]
    for count in cycles:
        for some in asked or (judges,):
            sparse = [one.sparse(count, judges=some) for one in drawn]
            fits = [fit_battles(one, magnitude=magnitude) for one in sparse]
            yield _point(count, some, drawn, dense, fits)


def _point(
    cycles: int,
    judges: int,
    drawn: Sequence[Simulated],
    dense: Sequence[Fit],
    fits: Sequence[Fit],
) -> Point:
    """Return what the fits of all runs gave."""
    pairs = list(zip(fits, dense, drawn, strict=True))
    taus = tuple(tau(fit.scores, whole.scores) for fit, whole, _ in pairs)
    truths = tuple(tau(fit.scores, one.truth) for fit, _, one in pairs)
    errors = [float(fit.standard_errors.mean()) for fit in fits]
    near = [
        np.abs(fit.scores - whole.scores) < 1.96 * fit.standard_errors
        for fit, whole, _ in pairs
    ]
    return Point(
        documents=len(drawn[0].truth),
        cycles=cycles,
        judges=judges,
        to_dense=bootstrap_interval(taus, bounds=(-1.0, 1.0)),
        to_truth=bootstrap_interval(truths, bounds=(-1.0, 1.0)),
        error=bootstrap_interval(errors),
        covered=bootstrap_interval([float(each.mean()) for each in near], bounds=SHARE),
        taus=taus,
        truths=truths,
    )


def cycles_picture(points: Mapping[Noise, Sequence[Point]], suffix: str) -> bytes:
    """Draw what cycles bring: tau to the dense fit, and standard errors.

    Args:
        points: What was measured, by the kind of noise.
        suffix: `.png` or `.svg`.

    Raises:
        MissingExtraError: If the extra `view` is not installed.
    """
    runs = next(iter(points.values()))[0].to_dense.n
    said = Heading(
        title="How much of the dense order do few cycles recover?",
        about=(
            "Three simulated judges with pair accuracies of 0.85 to 0.95. Left: near "
            "pairs are harder. Middle: all pairs are equally hard. Bands are 95 % "
            f"intervals over {runs} runs; the dotted line is at 4 cycles."
        ),
    )
    titles = {
        "scores": "noise on scores",
        "flips": "noise on votes",
    }
    with drawing():
        figure, cells = empty_figure(said, (13.2, 5.0), 1, len(points) + 1)
        for axes, (noise, found) in zip(cells, points.items(), strict=False):
            _curves(axes, found, "to_dense")
            axes.set_title(titles[noise], fontsize=10)
            axes.set_ylabel("Kendall's tau to the fit of all pairs")
            axes.set_ylim(0.4, 1)
        _curves(cells[-1], next(iter(points.values())), "error")
        cells[-1].set_title("standard error, noise on scores", fontsize=10)
        cells[-1].set_ylabel("mean standard error of a score")
        cells[-1].set_ylim(0, None)
        cells[0].legend(loc="lower right", frameon=False)
        return picture_bytes(figure, suffix)


def _curves(axes: Axes, points: Sequence[Point], what: str) -> None:
    """Draw a figure by cycles, one curve for each number of documents."""
    axes.axvline(4, color="#9aa8b5", linewidth=1, linestyle=":")
    for place, size in enumerate(sorted({point.documents for point in points})):
        some = [point for point in points if point.documents == size]
        cycles = [point.cycles for point in some]
        found = [getattr(point, what) for point in some]
        color = COLORS[place]
        axes.fill_between(
            cycles,
            [each.low for each in found],
            [each.high for each in found],
            color=color,
            alpha=0.2,
            linewidth=0,
        )
        values = [each.value for each in found]
        axes.plot(
            cycles, values, marker="o", markersize=3, color=color, label=f"K = {size}"
        )
    axes.set_xticks([1, 2, 4, 6, 8, 10, 12, 14, 16])
    axes.set_xlabel("cycles")
    axes.grid(axis="y", color="#e3e6ea")
    axes.spines[["top", "right"]].set_visible(False)

"""Battles, scores and rankings as PNG and SVG; see `retrieval.views.drawing`.

Green and red are hard to tell apart for many people: who wins is blue here, who loses
red, as dark as it is clear.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from retrieval.views.drawing import drawing, empty_figure, picture_bytes
from retrieval.views.labels import cut
from retrieval.views.layout import Heading
from retrieval.views.palette import COLORS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from eval.zelo.comparison import Benchmark
    from eval.zelo.inspection import Inspection
    from eval.zelo.simulation import Noise, Point

__all__ = ["battles_picture", "cycles_picture", "histogram_picture"]

LOSES_WINS = ("#67001f", "#d6604d", "#f7f7f7", "#4393c3", "#053061")
"""Brewer's red to blue; in the middle nobody wins."""
_NONE = "#d9dde2"
_NAMED = 40
"""With more documents than this only some are named along a side."""


def battles_picture(one: Inspection, suffix: str) -> bytes:
    """Draw the battles of a query in input order and in zELO order, and the scores.

    Args:
        one: The query.
        suffix: `.png` or `.svg`.

    Raises:
        MissingExtraError: If the extra `view` is not installed.
    """
    said = Heading(
        title=one.judged.query.query,
        about=(
            "Blue: the document of the row beats that of the column; red: it loses; "
            "grey: they did not meet. In zELO order, the best first, consistent judges "
            "leave blue above the diagonal and red below. Scores with their standard "
            "errors."
        ),
    )
    with drawing():
        figure, axes = empty_figure(said, (14.4, 6.4), 1, 3)
        lead, order = one.lead(), one.order()
        names = [document.id for document in one.judged.documents]
        given = list(range(len(names)))
        drawn = _matrix(axes[0], lead, given, names, "input order")
        _matrix(axes[1], lead, order, names, "zELO order")
        figure.colorbar(
            drawn,
            ax=axes[1],
            label="mean score of the judges for the row",
            shrink=0.6,
            pad=0.02,
        )
        _scores(axes[2], one, order, names)
        return picture_bytes(figure, suffix)


def _matrix(
    axes: Axes, lead: Any, order: Sequence[int], names: Sequence[str], title: str
) -> Any:
    """Draw who beats whom."""
    from matplotlib.colors import LinearSegmentedColormap

    colors = LinearSegmentedColormap.from_list("knowtrail-battles", LOSES_WINS)
    colors.set_bad(_NONE)
    drawn = axes.imshow(
        np.ma.masked_invalid(lead[np.ix_(order, order)]),
        cmap=colors,
        vmin=-1,
        vmax=1,
        interpolation="nearest",
        aspect="equal",
    )
    axes.set_title(title, fontsize=10)
    _names(axes, [names[place] for place in order], both=True)
    return drawn


def _names(axes: Axes, names: Sequence[str], *, both: bool) -> None:
    """Name the rows, and the columns where wanted; some of them where many."""
    step = max(1, ceil(len(names) / _NAMED))
    places = list(range(0, len(names), step))
    shown = [cut(names[place], 14) for place in places]
    size = 8 if len(places) <= 25 else 6
    axes.set_yticks(places, shown, fontsize=size)
    if both:
        axes.set_xticks(places, shown, fontsize=size, rotation=90)


def _scores(
    axes: Axes, one: Inspection, order: Sequence[int], names: Sequence[str]
) -> None:
    """Draw the scores with their standard errors, the best above."""
    scores = np.array([one.scores[number] for number in order])
    errors = np.array([one.errors[number] for number in order])
    rows = np.arange(len(order))
    bare = np.isfinite(scores) & ~np.isfinite(errors)
    whole = np.isfinite(scores) & np.isfinite(errors)
    axes.axvline(0, color=_NONE, linewidth=1, zorder=0)
    axes.errorbar(
        scores[whole],
        rows[whole],
        xerr=errors[whole],
        fmt="o",
        markersize=4,
        color=COLORS[0],
        ecolor="#8fb9d9",
        elinewidth=1.6,
    )
    axes.plot(scores[bare], rows[bare], "o", markersize=4, color=COLORS[0])
    for row in rows[~np.isfinite(scores)].tolist():
        axes.text(0, row, "not judged", fontsize=7, va="center", ha="center")
    axes.set_ylim(len(order) - 0.5, -0.5)
    axes.set_xlabel("zELO score (natural logarithm of odds)")
    axes.set_title("scores", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    _names(axes, [names[place] for place in order], both=False)


def histogram_picture(truth: str, found: Sequence[Benchmark], suffix: str) -> bytes:
    """Draw how the nDCGs of the queries are distributed, one panel a ranking.

    Args:
        truth: Name of the ground truth.
        found: The rankings.
        suffix: `.png` or `.svg`.

    Raises:
        MissingExtraError: If the extra `view` is not installed.
    """
    said = Heading(
        title=f"nDCG against {truth}",
        about="Queries by nDCG; the line is their mean, the band its 95 % interval.",
    )
    columns = min(3, len(found))
    rows = ceil(len(found) / columns)
    with drawing():
        from matplotlib.ticker import MaxNLocator

        size = (max(5.6, 4.4 * columns), 3.1 * rows + 0.9)
        figure, cells = empty_figure(said, size, rows, columns)
        for axes in cells[len(found) :]:
            axes.set_axis_off()
        for place, (axes, one) in enumerate(zip(cells, found, strict=False)):
            values = np.array(one.values["ndcg"])
            axes.hist(
                values[np.isfinite(values)],
                bins=30,
                range=(0, 1),
                color=COLORS[place % len(COLORS)],
            )
            mean = one.means["ndcg"]
            if mean is not None:
                if mean.low == mean.low:
                    axes.axvspan(mean.low, mean.high, color="#1d2329", alpha=0.15)
                axes.axvline(mean.value, color="#1d2329", linewidth=1.4)
                axes.set_title(f"{cut(one.name, 40)}: {mean.value:.3f}", fontsize=10)
            axes.set_xlim(0, 1)
            axes.set_xlabel("nDCG")
            axes.set_ylabel("queries")
            axes.yaxis.set_major_locator(MaxNLocator(integer=True))
            axes.spines[["top", "right"]].set_visible(False)
        return picture_bytes(figure, suffix)


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

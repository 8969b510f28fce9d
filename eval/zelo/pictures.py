"""Battles, scores and rankings as PNG and SVG; see `knowtrail.retrieval.views.drawing`.

Green and red are hard to tell apart for many people: who wins is blue here, who loses
red, as dark as it is clear.
"""

from __future__ import annotations

from math import ceil, isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from knowtrail.retrieval.views.drawing import drawing, empty_figure, picture_bytes
from knowtrail.retrieval.views.labels import cut_apart
from knowtrail.retrieval.views.layout import Heading
from knowtrail.retrieval.views.palette import COLORS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from knowtrail.eval.zelo.comparison import Benchmark
    from knowtrail.eval.zelo.inspection import Inspection

LOSES_WINS = ("#67001f", "#d6604d", "#f7f7f7", "#4393c3", "#053061")
"""Brewer's red to blue; in the middle nobody wins."""
_NONE = "#d9dde2"
_BINS = 30
BATTLES = (
    "Blue: the document of the row has most of the votes against that of the column; "
    "red: it has fewer; grey: they did not meet. In zELO order, the best first, "
    "consistent judges leave blue above the diagonal and red below. Scores with their "
    "standard errors."
)
"""What a picture of battles shows, in words."""
_NAMED = 40
"""With more documents than this only some are named along a side."""


def battles_picture(one: Inspection, suffix: str) -> bytes:
    """Draw the battles of a query in input order and in zELO order, and the scores."""
    said = Heading(
        title=one.judged.query.query,
        about=BATTLES,
    )
    with drawing():
        figure, axes = empty_figure(said, (14.4, 6.4), 1, 3)
        shares, order = one.shares(), one.order()
        names = cut_apart([document.id for document in one.judged.documents], 14)
        given = list(range(len(names)))
        drawn = _matrix(axes[0], shares, given, names, "input order")
        _matrix(axes[1], shares, order, names, "zELO order")
        figure.colorbar(
            drawn,
            ax=axes[1],
            label="share of the votes for the row",
            shrink=0.6,
            pad=0.02,
        )
        _scores(axes[2], one, order, names)
        return picture_bytes(figure, suffix)


def _matrix(
    axes: Axes, shares: Any, order: Sequence[int], names: Sequence[str], title: str
) -> Any:
    """Draw who beats whom."""
    from matplotlib.colors import LinearSegmentedColormap

    colors = LinearSegmentedColormap.from_list("knowtrail-battles", LOSES_WINS)
    colors.set_bad(_NONE)
    drawn = axes.imshow(
        np.ma.masked_invalid(shares[np.ix_(order, order)]),
        cmap=colors,
        vmin=0,
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
    shown = [names[place] for place in places]
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


def bin_counts(values: Sequence[float]) -> list[int]:
    """Return how many numbers from 0 to 1 are in each bin; NaN in none."""
    known = [value for value in values if isfinite(value)]
    return [int(n) for n in np.histogram(known, bins=_BINS, range=(0, 1))[0]]


def histogram_picture(truth: str, found: Sequence[Benchmark], suffix: str) -> bytes:
    """Draw how the nDCGs of the queries are distributed, one panel a ranking."""
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
        names = cut_apart([one.name for one in found], 40)
        top = max(count for one in found for count in bin_counts(one.values["ndcg"]))
        for place, (axes, one) in enumerate(zip(cells, found, strict=False)):
            axes.stairs(
                bin_counts(one.values["ndcg"]),
                np.linspace(0, 1, _BINS + 1),
                fill=True,
                color=COLORS[place % len(COLORS)],
            )
            mean = one.means["ndcg"]
            if mean is not None:
                if mean.low == mean.low:
                    axes.axvspan(mean.low, mean.high, color="#1d2329", alpha=0.15)
                axes.axvline(mean.value, color="#1d2329", linewidth=1.4)
                axes.set_title(f"{names[place]}: {mean.value:.3f}", fontsize=10)
            axes.set_xlim(0, 1)
            axes.set_ylim(0, max(1, top) * 1.05)
            axes.set_xlabel("nDCG")
            axes.set_ylabel("queries")
            axes.yaxis.set_major_locator(MaxNLocator(integer=True))
            axes.spines[["top", "right"]].set_visible(False)
        return picture_bytes(figure, suffix)

"""Battles, scores and nDCGs as SVG inside a page of HTML, without any library.

Each is a figure with its own text for those who cannot see it, and a cell or point
tells its numbers when the pointer rests on it.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from eval.report import shown_text
from retrieval.views.labels import cut

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eval.statistics import Interval
    from eval.zelo.inspection import Inspection

__all__ = ["histogram_figure", "matrix_figure", "scores_figure"]

_RED, _WHITE, _BLUE = (103, 0, 31), (247, 247, 247), (5, 48, 97)
_SIDE = 480
_NAMED = 60
BINS = 30


def matrix_figure(one: Inspection, order: Sequence[int], title: str) -> Iterator[str]:
    """Yield who beats whom, as cells: blue where the row wins, red where it loses.

    Args:
        one: The query.
        order: Documents from the top and from the left.
        title: What stands above it.
    """
    n = max(1, len(order))
    cell = max(2.0, min(22.0, _SIDE / n))
    names = [document.id[:60] for document in one.judged.documents]
    margin = 8 + 6 * max((min(len(name), 16) for name in names), default=0)
    named = n <= _NAMED and cell >= 8
    left = margin if named else 4
    side = left + cell * n + 2
    lead = one.lead()
    yield f'<figure class="matrix"><figcaption>{shown_text(title)}</figcaption>'
    yield (
        f'<svg role="img" aria-label="{shown_text(title)}" width="{side:.0f}" '
        f'height="{side:.0f}" viewBox="0 0 {side:.1f} {side:.1f}">'
        f'<rect class="blank" x="{left}" y="{left}" width="{cell * n:.1f}" '
        f'height="{cell * n:.1f}"/>'
    )
    for row, first in enumerate(order):
        if named:
            yield from _side(names[first], left, left + cell * (row + 0.5))
        for column, second in enumerate(order):
            value = float(lead[first, second])
            if isfinite(value):
                yield (
                    f'<rect x="{left + cell * column:.1f}" '
                    f'y="{left + cell * row:.1f}" width="{cell:.1f}" '
                    f'height="{cell:.1f}" fill="{_color(value)}">'
                    f"<title>{shown_text(names[first])} over "
                    f"{shown_text(names[second])}: {value:+.2f}</title>"
                    "</rect>"
                )
    yield "</svg></figure>"


def _side(name: str, left: float, at: float) -> Iterator[str]:
    """Yield a document's name beside its row and above its column."""
    short = shown_text(cut(name, 16))
    yield (
        f'<text x="{left - 4}" y="{at + 3.5:.1f}" text-anchor="end">{short}</text>'
        f'<text transform="translate({at + 3.5:.1f} {left - 4}) rotate(-90)">'
        f"{short}</text>"
    )


def _color(value: float) -> str:
    """Return the colour of a lead from -1 to 1."""
    end = _BLUE if value > 0 else _RED
    # The root keeps slight leads apart from none.
    share = min(1.0, abs(value)) ** 0.6
    mixed = (round(a + (b - a) * share) for a, b in zip(_WHITE, end, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def scores_figure(one: Inspection) -> Iterator[str]:
    """Yield the scores with their standard errors, the best above."""
    order = [number for number in one.order() if isfinite(one.scores[number])]
    ends = [
        float(one.scores[number]) + sign * _spread(one, number)
        for number in order
        for sign in (-1, 1)
    ]
    low, high = min(ends, default=-1.0), max(ends, default=1.0)
    width, step, left = 620.0, 18.0, 130.0
    scale = (width - left - 20) / ((high - low) or 1.0)

    def place(score: float) -> float:
        return left + (score - low) * scale

    height = step * max(1, len(order)) + 30
    yield "<figure><figcaption>Scores with standard errors</figcaption>"
    yield (
        f'<svg role="img" aria-label="Scores of {len(order)} documents" '
        f'width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}">'
    )
    if low <= 0 <= high:
        yield (
            f'<line class="zero" x1="{place(0):.1f}" x2="{place(0):.1f}" y1="0" '
            f'y2="{height - 24:.0f}"/>'
        )
    for row, number in enumerate(order):
        score, spread = float(one.scores[number]), _spread(one, number)
        at = step * (row + 0.7)
        name = shown_text(one.document(number).id[:60])
        short = shown_text(cut(one.document(number).id, 18))
        yield (
            f'<text x="{left - 8:.0f}" y="{at + 4:.1f}" text-anchor="end">'
            f"{short}</text>"
            f'<line class="error" x1="{place(score - spread):.1f}" '
            f'x2="{place(score + spread):.1f}" y1="{at:.1f}" y2="{at:.1f}"/>'
            f'<circle cx="{place(score):.1f}" cy="{at:.1f}" r="4">'
            f"<title>{name}: {score:.2f} \N{PLUS-MINUS SIGN} {spread:.2f}</title>"
            "</circle>"
        )
    for score in (low, high):
        yield (
            f'<text x="{place(score):.1f}" y="{height - 8:.0f}" '
            f'text-anchor="middle">{score:.1f}</text>'
        )
    yield "</svg></figure>"


def _spread(one: Inspection, number: int) -> float:
    """Return a standard error, 0 where there is none."""
    error = float(one.errors[number])
    return error if isfinite(error) else 0.0


def histogram_figure(
    name: str, values: Sequence[float], mean: Interval | None
) -> Iterator[str]:
    """Yield how numbers from 0 to 1 are distributed, with their mean.

    Args:
        name: What stands above it.
        values: The numbers; those that are NaN are left out.
        mean: Their mean with its interval.
    """
    counts = [0] * BINS
    for value in values:
        if isfinite(value):
            counts[min(BINS - 1, max(0, int(value * BINS)))] += 1
    width, height = 420.0, 150.0
    bar, top = width / BINS, max([*counts, 1])
    said = name if mean is None else f"{name}: mean {mean.value:.3f}"
    yield f"<figure><figcaption>{shown_text(said)}</figcaption>"
    yield (
        f'<svg role="img" aria-label="{shown_text(said)}" width="{width + 20:.0f}" '
        f'height="{height + 24:.0f}" '
        f'viewBox="-10 0 {width + 20:.0f} {height + 24:.0f}">'
    )
    for place, count in enumerate(counts):
        if count:
            tall = height * count / top
            yield (
                f'<rect class="bin" x="{bar * place:.1f}" y="{height - tall:.1f}" '
                f'width="{bar - 1:.1f}" height="{tall:.1f}"><title>'
                f"{place / BINS:.2f} to {(place + 1) / BINS:.2f}: {count}"
                "</title></rect>"
            )
    if mean is not None:
        if isfinite(mean.low):
            yield (
                f'<rect class="band" x="{width * mean.low:.1f}" y="0" '
                f'width="{width * (mean.high - mean.low):.1f}" height="{height}"/>'
            )
        yield (
            f'<line class="mean" x1="{width * mean.value:.1f}" '
            f'x2="{width * mean.value:.1f}" y1="0" y2="{height}"/>'
        )
    yield f'<line class="zero" x1="0" x2="{width}" y1="{height}" y2="{height}"/>'
    for tick in (0.0, 0.5, 1.0):
        yield (
            f'<text x="{width * tick}" y="{height + 16}" text-anchor="middle">'
            f"{tick:g}</text>"
        )
    yield "</svg></figure>"

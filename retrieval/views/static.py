"""Similarity matrices and walks over them as PNG and SVG; see `drawing`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retrieval.views.drawing import drawing, empty_figure, picture_bytes
from retrieval.views.labels import cut
from retrieval.views.layout import Heading, rows_of, spread, ticks
from retrieval.views.palette import ANCHOR, HEAT, JUMP, PATH, STOP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from retrieval.views.grid import Grid
    from retrieval.views.path import Mark, Panel

__all__ = ["matrix_picture", "path_picture"]


def matrix_picture(grid: Grid, heading: Heading, suffix: str) -> bytes:
    """Draw the similarity matrix of a document.

    Args:
        grid: The matrix.
        heading: What stands above it.
        suffix: `.png` or `.svg`.

    Raises:
        MissingExtraError: If the extra `view` is not installed.
    """
    with drawing():
        figure, (axes,) = empty_figure(heading, (9.4, 9.4), 1, 1)
        _heat(figure, axes, grid)
        return picture_bytes(figure, suffix)


def path_picture(panels: Sequence[Panel], heading: Heading, suffix: str) -> bytes:
    """Draw a walk over one matrix, or over one for each window.

    Args:
        panels: The matrices, in the order of the walk.
        heading: What stands above them.
        suffix: `.png` or `.svg`.

    Raises:
        MissingExtraError: If the extra `view` is not installed.
    """
    with drawing():
        if len(panels) == 1:
            documents = {s.document for s in panels[0].grid.segments}
            size = (10.4, 9.2) if len(documents) > 1 else (9.4, 9.8)
            figure, (axes,) = empty_figure(heading, size, 1, 1)
            _heat(figure, axes, panels[0].grid)
            if len(documents) == 1:
                axes.set_title(cut(panels[0].grid.segments[0].title, 60), fontsize=10)
            _walk(axes, panels[0])
        else:
            rows, columns = rows_of(len(panels))
            size = (3.5 * columns + 0.8, 3.4 * rows + 1.7)
            figure, cells = empty_figure(heading, size, rows, columns)
            for place, axes in enumerate(cells):
                _window(axes, panels, place)
            drawn = cells[0].images[0]
            figure.colorbar(
                drawn,
                ax=cells,
                label="cosine",
                aspect=22,
                pad=0.03,
                shrink=min(1.0, 1.5 / rows),
                anchor=(0.0, 1.0),
            )
        _legend(figure, panels)
        return picture_bytes(figure, suffix)


def _image(axes: Axes, grid: Grid) -> Any:
    """Draw the cells."""
    from matplotlib.colors import LinearSegmentedColormap

    return axes.imshow(
        grid.values,
        cmap=LinearSegmentedColormap.from_list("knowtrail", HEAT),
        vmin=0.0,
        vmax=1.0,
        interpolation="nearest",
        aspect="equal",
    )


def _heat(figure: Figure, axes: Axes, grid: Grid) -> None:
    """Draw a whole matrix with its documents along the side."""
    drawn = _image(axes, grid)
    figure.colorbar(drawn, ax=axes, label="cosine", shrink=0.7, pad=0.02)
    if len({segment.document for segment in grid.segments}) > 1:
        _documents(axes, grid)
        return
    places, names = ticks(grid)
    axes.set_xticks(places, names)
    axes.set_yticks(places, names)
    axes.set_xlabel("chunk")
    axes.set_ylabel("chunk")


def _documents(axes: Axes, grid: Grid) -> None:
    """Part the documents by lines and write their titles beside the matrix."""
    side = len(grid.values)
    axes.set_xticks([])
    axes.set_yticks([])
    for start in grid.starts[1:-1]:
        for line in (axes.axhline, axes.axvline):
            line(start - 0.5, color="white", linewidth=2.2)
            line(start - 0.5, color="#6b7680", linewidth=0.8)
    middles = [
        (a + b) / 2 - 0.5 for a, b in zip(grid.starts, grid.starts[1:], strict=False)
    ]
    for middle, at, segment in zip(
        middles, spread(middles, 0.026 * side, side), grid.segments, strict=True
    ):
        axes.annotate(
            f"{cut(segment.title, 28)}",
            xy=(-0.5, middle),
            xytext=(-0.045 * side, at),
            ha="right",
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": "#9aa6b2", "linewidth": 0.8},
        )


def _window(axes: Axes, panels: Sequence[Panel], place: int) -> None:
    """Draw one window of a walk, with the way to the next."""
    if place >= len(panels):
        axes.set_axis_off()
        return
    panel = panels[place]
    _image(axes, panel.grid)
    places, names = ticks(panel.grid, most=6)
    axes.set_xticks(places, names)
    axes.set_yticks(places, names)
    axes.tick_params(labelsize=7, length=2)
    axes.set_title(f"{cut(panel.grid.segments[0].title, 30)}", fontsize=10)
    _walk(axes, panel)
    after = panels[place + 1] if place + 1 < len(panels) else None
    if after is None or after.arrival is None:
        return
    here, there = panel.grid.segments[0].document, after.grid.segments[0].document
    axes.annotate(
        "",
        xy=(1.17, 0.5),
        xytext=(1.03, 0.5),
        xycoords="axes fraction",
        annotation_clip=False,
        arrowprops={
            "arrowstyle": "-|>",
            "color": JUMP if here != there else PATH,
            "linewidth": 2,
            "linestyle": "--" if here != there else "-",
        },
    )
    axes.text(
        1.1,
        0.56,
        f"{after.arrival:.2f}",
        transform=axes.transAxes,
        ha="center",
        fontsize=8,
    )


def _walk(axes: Axes, panel: Panel) -> None:
    """Draw the hops, then the steps over them."""
    from matplotlib import patheffects

    halo = [patheffects.withStroke(linewidth=4.0, foreground="white")]
    for hop in panel.hops:
        axes.plot(
            [hop.start, hop.end, hop.end],
            [hop.start, hop.start, hop.end],
            color=JUMP if hop.jump else PATH,
            linewidth=1.7,
            linestyle=(0, (4, 2)) if hop.jump else "-",
            path_effects=halo,
            zorder=3,
        )
        axes.plot(
            [hop.end],
            [hop.start],
            marker="o",
            markersize=5,
            color=JUMP if hop.jump else PATH,
            markeredgecolor="white",
            zorder=4,
        )
    for mark in panel.marks:
        _mark(axes, mark)


def _mark(axes: Axes, mark: Mark) -> None:
    """Write the numbers of steps at their place."""
    axes.text(
        mark.place,
        mark.place,
        mark.label,
        ha="center",
        va="center",
        fontsize=9,
        weight="bold",
        color="#000000",
        zorder=6,
        bbox={
            "boxstyle": "round,pad=0.28",
            "facecolor": ANCHOR if mark.anchor else "white",
            "edgecolor": STOP if mark.stop else PATH,
            "linewidth": 2.4 if mark.stop else 1.2,
        },
    )


def _legend(figure: Figure, panels: Sequence[Panel]) -> None:
    """Say what the signs mean."""
    from matplotlib.lines import Line2D

    def box(face: str, edge: str, label: str) -> Line2D:
        return Line2D(
            [],
            [],
            linestyle="none",
            marker="s",
            markersize=9,
            markerfacecolor=face,
            markeredgecolor=edge,
            markeredgewidth=1.6,
            label=label,
        )

    signs = [
        box(ANCHOR, PATH, "anchor"),
        box("white", PATH, "step"),
        box("white", STOP, "where it ended"),
    ]
    if len(panels) > 1 or any(panel.hops for panel in panels):
        signs += [
            Line2D([], [], color=PATH, linewidth=1.7, label="hop"),
            Line2D(
                [],
                [],
                color=JUMP,
                linewidth=1.7,
                linestyle="--",
                label="jump to another document",
            ),
        ]
    figure.legend(
        handles=signs,
        loc="lower left",
        bbox_to_anchor=(0.015, 0.002),
        ncols=len(signs),
        frameon=False,
        fontsize=9,
        handletextpad=0.5,
        columnspacing=1.4,
    )

"""Similarity matrices and walks over them as PNG and SVG, by matplotlib.

The same picture has the same bytes: no time and no random name is written. Text is
never read as a formula, and in SVG it stays text, set in the viewer's own fonts.
"""

from __future__ import annotations

import io
import logging
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from graph.errors import MissingExtraError
from retrieval.views.labels import cut
from retrieval.views.layout import Heading, rows_of, spread, ticks
from retrieval.views.palette import ANCHOR, HEAT, INK, JUMP, PATH, STOP

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from retrieval.views.grid import Grid
    from retrieval.views.path import Mark, Panel

__all__ = ["matrix_picture", "path_picture"]

_LOG = logging.getLogger(__name__)
_FONTS = (
    "DejaVu Sans",
    "Noto Sans",
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans SC",
    "Noto Sans Arabic",
    "Noto Sans Hebrew",
    "Noto Sans Devanagari",
    "Noto Sans Thai",
    "Arial Unicode MS",
    "Hiragino Sans",
    "PingFang SC",
    "Microsoft YaHei",
    "Yu Gothic",
    "Malgun Gothic",
    "Nirmala UI",
    "Segoe UI",
)
"""Looked for in this order, each for the characters that those before it lack."""

_DPI = 150


def matrix_picture(grid: Grid, heading: Heading, suffix: str) -> bytes:
    """Draw the similarity matrix of a document.

    Args:
        grid: The matrix.
        heading: What stands above it.
        suffix: `.png` or `.svg`.

    Raises:
        MissingExtraError: If the extra `view` is not installed.
    """
    with _drawing():
        figure, (axes,) = _figure(heading, (9.4, 9.4), 1, 1)
        _heat(figure, axes, grid)
        return _bytes(figure, suffix)


def path_picture(panels: Sequence[Panel], heading: Heading, suffix: str) -> bytes:
    """Draw a walk over one matrix, or over one for each window.

    Args:
        panels: The matrices, in the order of the walk.
        heading: What stands above them.
        suffix: `.png` or `.svg`.

    Raises:
        MissingExtraError: If the extra `view` is not installed.
    """
    with _drawing():
        if len(panels) == 1:
            documents = {s.document for s in panels[0].grid.segments}
            size = (10.4, 9.2) if len(documents) > 1 else (9.4, 9.8)
            figure, (axes,) = _figure(heading, size, 1, 1)
            _heat(figure, axes, panels[0].grid)
            if len(documents) == 1:
                axes.set_title(cut(panels[0].grid.segments[0].title, 60), fontsize=10)
            _walk(axes, panels[0])
        else:
            rows, columns = rows_of(len(panels))
            size = (3.5 * columns + 0.8, 3.4 * rows + 1.7)
            figure, cells = _figure(heading, size, rows, columns)
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
        return _bytes(figure, suffix)


@contextmanager
def _drawing() -> Iterator[None]:
    """Load matplotlib, set it up for one picture, tell of missing letters."""
    try:
        import matplotlib as mpl
        from matplotlib import font_manager
    except ImportError as error:
        msg = (
            "Pictures as PNG and SVG need the extra `view`: "
            "pip install 'knowtrail[view]'"
        )
        raise MissingExtraError(msg) from error
    installed = {font.name for font in font_manager.fontManager.ttflist}
    options: Any = {
        "font.family": [name for name in _FONTS if name in installed] or ["sans-serif"],
        "font.size": 9,
        "svg.fonttype": "none",
        "svg.hashsalt": "knowtrail",
        "text.parse_math": False,
        "text.color": INK,
        "axes.edgecolor": "#9aa6b2",
        "axes.labelcolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
    }
    with warnings.catch_warnings(record=True) as caught, mpl.rc_context(options):
        warnings.simplefilter("always")
        yield
    lacking = [str(w.message) for w in caught if "missing from font" in str(w.message)]
    if lacking:
        _LOG.warning(
            "No installed font has %d of the letters: install the Noto fonts, or write "
            ".svg or .html, which are set in the fonts of who looks at them.",
            len(set(lacking)),
        )


def _figure(
    heading: Heading, size: tuple[float, float], rows: int, columns: int
) -> tuple[Figure, list[Axes]]:
    """Begin a figure with its heading and empty axes."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    figure = Figure(figsize=size, dpi=_DPI, facecolor="white")
    at = 1 - 0.12 / size[1]
    for line in heading.title_lines(int(size[0] * 7.2)):
        figure.text(0.02, at, line, fontsize=13, weight="bold", va="top")
        at -= 0.27 / size[1]
    at -= 0.05 / size[1]
    for line in heading.lines(int(size[0] * 12)):
        figure.text(0.02, at, line, fontsize=9, va="top", color="#4d5761")
        at -= 0.2 / size[1]
    below = 0.4 / size[1]
    engine = ConstrainedLayoutEngine(rect=(0, below, 1, at - 0.08 / size[1] - below))
    figure.set_layout_engine(engine)
    return figure, [
        figure.add_subplot(rows, columns, n + 1) for n in range(rows * columns)
    ]


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


def _bytes(figure: Figure, suffix: str) -> bytes:
    """Return the picture as a file's content."""
    file = io.BytesIO()
    kind = suffix.removeprefix(".")
    metadata = {"Date" if kind == "svg" else "Software": None}
    # The layout does not count all of the titles beside a matrix: nothing is clipped
    # where the picture takes the size of what is drawn.
    figure.savefig(
        file, format=kind, metadata=metadata, bbox_inches="tight", pad_inches=0.15
    )
    return file.getvalue()

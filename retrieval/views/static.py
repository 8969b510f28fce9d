"""What is drawn by matplotlib: matrices, walks over them, and space from one side."""

from __future__ import annotations

import base64
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from knowtrail.graph.files.packaged import packaged
from knowtrail.retrieval.views.drawing import drawing, empty_figure, picture_bytes
from knowtrail.retrieval.views.labels import cut, plain
from knowtrail.retrieval.views.layout import Heading, rows_of, spread, ticks
from knowtrail.retrieval.views.page import svg_page
from knowtrail.retrieval.views.palette import (
    ANCHOR,
    BOXES,
    HEAT,
    HOP,
    JUMP,
    JUMPED,
    LEADER,
    LEADS,
    LINES,
    MARKERS,
    OTHERS,
    PATH,
    STOP,
)
from knowtrail.retrieval.views.scene import hops_of
from knowtrail.retrieval.views.walks import is_anchor

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from knowtrail.retrieval.views.layout import Grid
    from knowtrail.retrieval.views.matrix import Mark, Panel
    from knowtrail.retrieval.views.scene import Scene
    from knowtrail.retrieval.walk import Step

_LOOK: dict[str, dict[str, Any]] = packaged(__package__, "static.toml")
_LEADER = {"color": LEADER, **_LOOK["leader"]}
"""A line from a label to what it names, which is no edge."""

_NUMBER = 0.006
"""Room of a step's number, in the units of points in space as they are seen."""


def path_picture(panels: Sequence[Panel], heading: Heading, suffix: str) -> bytes | str:
    """Draw a walk over one matrix, or one for each window; or a matrix without one."""
    page = suffix == ".html"
    with drawing():
        said = Heading(title="", about="") if page else heading
        figure = _whole(panels[0], said) if len(panels) == 1 else _windows(panels, said)
        if any(panel.marks for panel in panels):
            _legend(figure, lines_drawn(panels))
        picture = picture_bytes(figure, ".svg" if page else suffix)
    if not page:
        return picture
    rows, _ = rows_of(len(panels))
    told = [_told(panel) for panel in panels]
    height = None if rows == 1 else 330 * rows + 60
    return svg_page(heading, picture.decode(), told, height=height)


def lines_drawn(panels: Sequence[Panel]) -> set[str]:
    """Return which lines of `palette.LINES` are drawn."""
    jumps = {hop.jump for panel in panels for hop in panel.hops} | {
        one.grid.segments[0].document != after.grid.segments[0].document
        for one, after in pairwise(panels)
        if after.arrival is not None
    }
    drawn = {JUMPED if jump else HOP for jump in jumps}
    return drawn | {LEADS for p in panels for mark in p.marks if mark.aside}


def _whole(panel: Panel, heading: Heading) -> Figure:
    """Draw one matrix with its documents along the side."""
    documents = {segment.document for segment in panel.grid.segments}
    size = (9.4, 9.8 if panel.marks else 9.4) if len(documents) == 1 else (10.4, 9.2)
    figure, (axes,) = empty_figure(heading, size, 1, 1)
    axes.set_gid("matrix-0")
    _heat(figure, axes, panel.grid)
    if len(documents) == 1 and panel.marks:
        axes.set_title(cut(panel.grid.segments[0].title, 60), fontsize=10)
    _walk(axes, panel)
    return figure


def _windows(panels: Sequence[Panel], heading: Heading) -> Figure:
    """Draw a small matrix for each window of a walk."""
    rows, columns = rows_of(len(panels))
    size = (3.5 * columns + 0.8, 3.4 * rows + 1.7)
    figure, cells = empty_figure(heading, size, rows, columns)
    for place, axes in enumerate(cells):
        axes.set_gid(f"matrix-{place}")
        _window(axes, panels, place)
    figure.colorbar(
        cells[0].images[0],
        ax=cells,
        shrink=min(1.0, 1.5 / rows),
        anchor=(0.0, 1.0),
        **_LOOK["bar"],
    )
    return figure


def _told(panel: Panel) -> dict[str, Any]:
    """Return what a page says of the cells and steps that are pointed at."""
    values = np.ascontiguousarray(panel.grid.values, dtype="<f4")
    names = []
    for cell, text in enumerate(panel.texts):
        segment, first, last = panel.grid.span(cell)
        run = f"chunk {first}" if first == last else f"chunks {first} to {last}"
        names.append((f"{cut(segment.title, 80)}, {run}: ", plain(text)))
    steps = {}
    for mark in panel.marks:
        step = mark.step
        reason = f"{cut(step.reason, 80)}: " if step.reason else ""
        steps[f"step-{step.index}"] = (
            f"Step {step.index}. {cut(step.chunk.title, 60)}, chunk "
            f"{step.chunk.index}, cosine to the question {step.score:.3f}",
            f"{reason}{cut(step.chunk.text, 400)}",
        )
    bits = base64.b64encode(values.tobytes()).decode("ascii")
    return {"values": bits, "names": names, "steps": steps}


def scene_picture(scene: Scene, heading: Heading, suffix: str) -> bytes:
    """Draw chunks as points in space, with the walk through them."""
    with drawing():
        figure, cells = empty_figure(heading, (10.4, 9.2), 1, 1, projection="3d")
        axes: Any = cells[0]
        axes.computed_zorder = False  # else points cover the question and the walk
        _cloud(axes, scene)
        places = scene.places
        hops = hops_of(scene)
        for jump, pairs in hops.items():
            for pair in pairs:
                _stroke(axes, scene.points[list(pair)], jump=jump)
        if scene.query is not None:
            star = {**_LOOK["question"], "color": JUMP, "label": "question"}
            axes.plot(*scene.query[:, None], **star)
        if scene.walk is not None:
            steps = [s for s in scene.steps if s.chunk.id in places]
            at = scene.points[[places[step.chunk.id] for step in steps]]
            moved = _numbers(axes, at, steps, scene)
        axes.set(xticklabels=[], yticklabels=[], zticklabels=[])
        axes.set(**dict(zip(("xlabel", "ylabel", "zlabel"), scene.axes, strict=True)))
        axes.legend(loc="upper left", bbox_to_anchor=(1.05, 1.0), frameon=False)
        if scene.walk is not None:
            drawn = {JUMPED if jump else HOP for jump, pairs in hops.items() if pairs}
            _legend(figure, drawn | ({LEADS} if moved else set()))
        return picture_bytes(figure, suffix)


def _cloud(axes: Any, scene: Scene) -> None:
    """Draw the chunks, one colour a document, and what is similar between documents."""
    places = scene.places
    for edge in scene.edges:
        ends = scene.points[[places[edge.source], places[edge.target]]]
        axes.plot(*ends.T, **_LOOK["similarity"])
    walked = {step.chunk.document_id for step in scene.steps}
    for document, style in scene.styles.items():
        rows = [n for n, row in enumerate(scene.rows) if row.document == document]
        axes.scatter(
            *scene.points[rows].T,
            s=34 if len(scene.rows) <= 1_200 else 14,
            color=style.color if style.named else OTHERS,
            marker=MARKERS[style.mark],
            alpha=0.95 if not walked or document in walked else 0.5,
            **_LOOK["chunk"],
            label=cut(scene.rows[rows[0]].title, 28) if style.named and rows else None,
        )


def _stroke(axes: Any, ends: npt.NDArray[np.float64], *, jump: bool) -> None:
    axes.plot(
        *ends.T,
        color=JUMP if jump else PATH,
        linewidth=2.2,
        linestyle="--" if jump else "-",
        zorder=20,
    )


def _numbers(
    axes: Any, points: npt.NDArray[np.float64], steps: Sequence[Step], scene: Scene
) -> bool:
    """Number the steps at their points; return whether any number stands beside."""
    seen = _seen(axes, points)
    order = np.argsort(-seen[:, 1], kind="stable")
    taken = [] if scene.query is None else [*_seen(axes, scene.query[None])]
    for n in order:
        at = seen[n].copy()
        while any((abs(at - other) < _NUMBER).all() for other in taken):
            at[0] += _NUMBER / 2
        taken.append(at)
        axes.annotate(
            str(steps[n].index),
            seen[n],
            xytext=at,
            arrowprops=None
            if (at == seen[n]).all()
            else {"arrowstyle": "-", **_LEADER},
            **_LOOK["number"],
            bbox=_box(anchor=is_anchor(steps[n]), stop=steps[n] is scene.steps[-1]),
        )
    placed = np.array(taken[len(taken) - len(order) :]).reshape(-1, 2)
    return not np.array_equal(placed, seen[order])


def _seen(axes: Any, points: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    turned = np.insert(points, 3, 1.0, axis=1) @ axes.get_proj().T
    found: npt.NDArray[np.float64] = turned[:, :2] / turned[:, 3:]
    return found


def _box(*, anchor: bool, stop: bool) -> dict[str, Any]:
    return {
        "boxstyle": "round,pad=0.28",
        "facecolor": ANCHOR if anchor else "white",
        "edgecolor": STOP if stop else PATH,
        "linewidth": 2.4 if stop else 1.2,
    }


def _image(axes: Axes, grid: Grid) -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    cmap = LinearSegmentedColormap.from_list("knowtrail", HEAT)
    return axes.imshow(grid.values, cmap=cmap, **_LOOK["matrix"])


def _heat(figure: Figure, axes: Axes, grid: Grid) -> None:
    figure.colorbar(_image(axes, grid), ax=axes, label="cosine", shrink=0.7, pad=0.02)
    several = len({segment.document for segment in grid.segments}) > 1
    places, names = ticks(grid, most=20 if several else 10)
    axes.set_xticks(places, names)
    axes.set_yticks(places, names)
    axes.set_xlabel("chunk")
    if several:
        axes.tick_params(labelsize=6.5)
        _documents(axes, grid)
    else:
        axes.set_ylabel("chunk")


def _documents(axes: Axes, grid: Grid) -> None:
    """Part the documents by lines and write their titles beside the matrix."""
    side = len(grid.values)
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
            xy=(-0.5 - 0.035 * side, middle),
            xytext=(-0.5 - 0.06 * side, at),
            arrowprops={**_LEADER, "arrowstyle": "-"},
            **_LOOK["title"],
        )


def _window(axes: Axes, panels: Sequence[Panel], place: int) -> None:
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
    axes.set_xlabel("chunk", fontsize=8)
    if place % rows_of(len(panels))[1] == 0:  # beside the others arrows arrive
        axes.set_ylabel("chunk", fontsize=8)
    _walk(axes, panel, room=9)
    after = panels[place + 1] if place + 1 < len(panels) else None
    if after is None or after.arrival is None:
        return
    here, there = panel.grid.segments[0].document, after.grid.segments[0].document
    axes.annotate(
        **_LOOK["arrow"],
        arrowprops={
            "arrowstyle": "-|>",
            "color": JUMP if here != there else PATH,
            "linewidth": 2,
            "linestyle": "--" if here != there else "-",
        },
    )
    axes.text(s=f"{after.arrival:.2f}", transform=axes.transAxes, **_LOOK["arrival"])


def _walk(axes: Axes, panel: Panel, *, room: int = 30) -> None:
    """Draw the hops, then the steps over them, small where they are more than room."""
    from matplotlib import patheffects

    halo = [patheffects.withStroke(linewidth=4.0, foreground="white")]
    for hop in panel.hops:
        short = abs(hop.end - hop.start) < 0.03 * len(panel.grid.values)
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
            *([hop.end], [hop.start]),
            markersize=3 if short else 5,
            color=JUMP if hop.jump else PATH,
            **_LOOK["corner"],
        )
    size = 9 * min(1.0, room / max(1, len(panel.marks)))
    for mark in panel.marks:
        _mark(axes, mark, size)
    side = len(panel.grid.values) - 0.5
    axes.set(xlim=(-0.5, side), ylim=(side, -0.5))


def _mark(axes: Axes, mark: Mark, size: float) -> None:
    from matplotlib import patheffects

    if mark.aside:
        axes.plot(
            [mark.place, mark.at[0]],
            [mark.place, mark.at[1]],
            **_LEADER,
            path_effects=[patheffects.withStroke(linewidth=2.4, foreground="white")],
            clip_on=False,
            zorder=5,
        )
        axes.plot([mark.place], [mark.place], color=PATH, **_LOOK["place"])
    axes.text(
        *mark.at,
        str(mark.step.index),
        fontsize=size,
        **_LOOK["step"],
        bbox=_box(anchor=mark.anchor, stop=mark.stop),
        gid=f"step-{mark.step.index}",
    )


def _legend(figure: Figure, drawn: set[str]) -> None:
    from matplotlib.lines import Line2D

    signs = [
        Line2D(
            *([], []),
            markerfacecolor=face,
            markeredgecolor=edge,
            label=label,
            **_LOOK["sign"],
        )
        for label, (face, edge) in BOXES.items()
    ]
    signs += [
        Line2D(*([], []), color=color, linewidth=1.7, linestyle=style, label=label)
        for label, (color, style) in LINES.items()
        if label in drawn
    ]
    figure.legend(handles=signs, ncols=len(signs), **_LOOK["legend"])

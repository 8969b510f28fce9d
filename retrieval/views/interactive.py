"""Similarity matrices and walks over them as pages that one can point at."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np

from knowtrail.retrieval.views.labels import cut, markup, plain, wrapped
from knowtrail.retrieval.views.layout import rows_of, spread, ticks
from knowtrail.retrieval.views.page import BASE_LAYOUT, page_of
from knowtrail.retrieval.views.palette import (
    ANCHOR,
    BOXES,
    HEAT,
    JUMP,
    LEADER,
    LINES,
    PATH,
    STOP,
)
from knowtrail.retrieval.views.path import lines_drawn

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from knowtrail.retrieval.views.grid import Grid
    from knowtrail.retrieval.views.layout import Heading
    from knowtrail.retrieval.views.path import Hop, Mark, Panel

_GAP = 0.05
"""Share of the width between two matrices."""


def matrix_page(grid: Grid, texts: Sequence[str], heading: Heading) -> str:
    """Return a page with the similarity matrix of a document.

    Args:
        grid: The matrix.
        texts: The beginning of the first chunk of each cell.
        heading: What stands above it.

    Raises:
        MissingExtraError: If the extra `view` is not installed.
    """
    layout = _layout() | _axes(grid, 1, (0.0, 1.0), (0.0, 1.0))
    return page_of(heading, [_heat(grid, 1)], layout, cells={0: _cells(grid, texts)})


def path_page(panels: Sequence[Panel], heading: Heading) -> str:
    """Return a page with a walk over one matrix, or over one for each window.

    Args:
        panels: The matrices, in the order of the walk.
        heading: What stands above them.

    Raises:
        MissingExtraError: If the extra `view` is not installed.
    """
    rows, columns = rows_of(len(panels))
    layout = _layout()
    layout["showlegend"] = True
    traces: list[dict[str, Any]] = []
    cells = {}
    for place, panel in enumerate(panels):
        number = place + 1
        x, y = _domain(place, rows, columns)
        layout |= _axes(panel.grid, number, x, y, small=len(panels) > 1)
        layout["annotations"] += _captions(panels, place, x, y)
        layout["annotations"] += [_number(mark, number) for mark in panel.marks]
        layout["shapes"] += _borders(panel.grid, number)
        cells[len(traces)] = _cells(panel.grid, panel.texts)
        traces.append(_heat(panel.grid, number))
        traces += [
            _hop(hop, number, halo=halo) for halo in (True, False) for hop in panel.hops
        ]
        traces += [_mark(mark, number) for mark in panel.marks]
    traces += _signs(lines_drawn(panels))
    height = None if rows == 1 else 330 * rows + 60
    return page_of(heading, traces, layout, cells=cells, height=height)


def _layout() -> dict[str, Any]:
    """Begin a layout with one scale of colours for all matrices."""
    last = len(HEAT) - 1
    return {
        **BASE_LAYOUT,
        "margin": {"l": 10, "r": 10, "t": 34, "b": 50},
        "showlegend": False,
        "annotations": [],
        "shapes": [],
        "coloraxis": {
            "colorscale": [[n / last, color] for n, color in enumerate(HEAT)],
            "cmin": 0,
            "cmax": 1,
            "colorbar": {
                "title": {"text": "cosine"},
                "len": 320,
                "lenmode": "pixels",
                "y": 1,
                "yanchor": "top",
                "thickness": 16,
            },
        },
        "legend": {"orientation": "h", "x": 0, "y": -0.05, "yanchor": "top"},
    }


def _domain(
    place: int, rows: int, columns: int
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the part of the page that a matrix takes."""
    row, column = divmod(place, columns)
    wide, high = 1 / columns, 1 / rows
    top = 1 - row * high
    inner = _GAP if columns > 1 else 0.0
    return (
        (column * wide, (column + 1) * wide - inner),
        (top - high + (0.1 * high if rows > 1 else 0.0), top - 0.04 * high),
    )


def _axes(
    grid: Grid,
    number: int,
    x: tuple[float, float],
    y: tuple[float, float],
    *,
    small: bool = False,
) -> dict[str, Any]:
    """Return the two axes of a matrix."""
    side = len(grid.values)
    suffix = "" if number == 1 else str(number)
    chunk = {"text": "chunk", "font": {"size": 12}, "standoff": 4}
    down: dict[str, Any] = {}
    if len({segment.document for segment in grid.segments}) > 1:
        middles = [
            (a + b) / 2 - 0.5
            for a, b in zip(grid.starts, grid.starts[1:], strict=False)
        ]
        titles = [f"<b>{markup(cut(s.title, 26))}</b>" for s in grid.segments]
        heads = zip(spread(middles, 0.026 * side, side), titles, strict=True)
        at, numbers = ticks(grid, most=20)
        across: dict[str, Any] = {"tickvals": at, "ticktext": numbers}
        places, names = _beside(zip(at, numbers, strict=True), list(heads), side)
    else:
        places, names = ticks(grid, most=6 if small else 10)
        across = {"tickvals": places, "ticktext": names}
        down = {"title": chunk} if x[0] == 0 else {}  # beside the others arrows arrive
    common = {"showgrid": False, "zeroline": False, "constrain": "domain"}
    return {
        f"xaxis{suffix}": {
            **common,
            **across,
            "title": chunk,
            "domain": x,
            "anchor": f"y{suffix}",
            "range": [-0.5, side - 0.5],
        },
        f"yaxis{suffix}": {
            **common,
            **down,
            "tickvals": places,
            "ticktext": names,
            "domain": y,
            "anchor": f"x{suffix}",
            "range": [side - 0.5, -0.5],
            "scaleanchor": f"x{suffix}",
            "constraintoward": "top",
            "showticklabels": not small,
            "automargin": True,
        },
    }


def _beside(
    numbers: Iterable[tuple[float, str]], titles: Sequence[tuple[float, str]], side: int
) -> tuple[list[float], list[str]]:
    """Return ticks: titles, and numbers of chunks where they leave room."""
    kept = [
        (at, name)
        for at, name in numbers
        if all(abs(at - there) > 0.02 * side for there, _ in titles)
    ]
    both = sorted([*kept, *titles])
    return [at for at, _ in both], [name for _, name in both]


def _borders(grid: Grid, number: int) -> list[dict[str, Any]]:
    """Return the lines between documents."""
    axes = {f"{k[0]}ref": v for k, v in _on(number).items()}
    side = len(grid.values) - 0.5
    return [
        {
            "type": "line",
            **axes,
            **dict(zip(("x0", "y0", "x1", "y1"), ends, strict=True)),
            "line": {"color": "#4d5761", "width": 1},
        }
        for at in (start - 0.5 for start in grid.starts[1:-1])
        for ends in ((at, -0.5, at, side), (-0.5, at, side, at))
    ]


def _heat(grid: Grid, number: int) -> dict[str, Any]:
    """Return the cells of a matrix."""
    values = np.ascontiguousarray(grid.values, dtype="<f4")
    return {
        "type": "heatmap",
        "z": {
            "dtype": "f4",
            "bdata": base64.b64encode(values.tobytes()).decode("ascii"),
            "shape": ", ".join(map(str, values.shape)),
        },
        "coloraxis": "coloraxis",
        "hovertemplate": "cosine %{z:.3f}<extra></extra>",
        **_on(number),
    }


def _on(number: int) -> dict[str, str]:
    """Return the axes that a trace is drawn on."""
    suffix = "" if number == 1 else str(number)
    return {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}


def _cells(grid: Grid, texts: Sequence[str]) -> list[tuple[str, str]]:
    """Return name and text of each row."""
    found = []
    for cell, text in enumerate(texts):
        segment, first, last = grid.span(cell)
        run = f"chunk {first}" if first == last else f"chunks {first} to {last}"
        found.append((f"{cut(segment.title, 80)}, {run}: ", plain(text)))
    return found


def _hop(hop: Hop, number: int, *, halo: bool) -> dict[str, Any]:
    """Return a hop as a line with a corner, or the white below it."""
    color, dash = (JUMP, "dash") if hop.jump else (PATH, "solid")
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [hop.start, hop.end, hop.end],
        "y": [hop.start, hop.start, hop.end],
        "line": {
            "color": "#ffffff" if halo else color,
            "width": 5 if halo else 2.4,
            "dash": "solid" if halo else dash,
        },
        "hoverinfo": "skip",
        "showlegend": False,
        **_on(number),
    }


def _mark(mark: Mark, number: int) -> dict[str, Any]:
    """Return what is said when one points at a step, and the line to its number."""
    step = mark.step
    said = (
        f"<b>{step.index}. {markup(cut(step.chunk.title, 60))}</b>, chunk "
        f"{step.chunk.index}, cosine to the question {step.score:.3f}<br>"
        f"{markup(cut(step.reason, 80))}{'<br>' if step.reason else ''}"
        f"{wrapped(step.chunk.text, lines=4)}"
    )
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "x": [mark.place, mark.at[0]],
        "y": [mark.place, mark.at[1]],
        "hovertext": [said] * 2,
        "hoverinfo": "text",
        "marker": {"size": 24, "opacity": 0},
        "line": {"color": LEADER, "width": 1, "dash": "dot"},
        "cliponaxis": False,
        "showlegend": False,
        **_on(number),
    }


def _number(mark: Mark, number: int) -> dict[str, Any]:
    """Return the box with the number of a step."""
    axes = {f"{key[0]}ref": value for key, value in _on(number).items()}
    return {
        **axes,
        "x": mark.at[0],
        "y": mark.at[1],
        "text": f"<b>{mark.step.index}</b>",
        "showarrow": False,
        "font": {"size": 12, "color": "#000000"},
        "bgcolor": ANCHOR if mark.anchor else "#ffffff",
        "bordercolor": STOP if mark.stop else PATH,
        "borderwidth": 3 if mark.stop else 1.5,
        "borderpad": 2,
    }


def _signs(drawn: set[str]) -> list[dict[str, Any]]:
    """Return entries of the legend."""
    squares = [
        {
            "mode": "markers",
            "name": name,
            "marker": {
                "symbol": "square",
                "size": 12,
                "color": face,
                "line": {"color": edge, "width": 2},
            },
        }
        for name, (face, edge) in BOXES.items()
    ]
    lines = [
        {
            "mode": "lines",
            "name": name,
            "line": {
                "color": color,
                "width": 2.4,
                "dash": {"dashed": "dash", "dotted": "dot"}.get(style, style),
            },
        }
        for name, (color, style) in LINES.items()
        if name in drawn
    ]
    return [
        {"type": "scatter", "x": [None], "y": [None], "hoverinfo": "skip", **sign}
        for sign in (*squares, *lines)
    ]


def _captions(
    panels: Sequence[Panel],
    place: int,
    x: tuple[float, float],
    y: tuple[float, float],
) -> list[dict[str, Any]]:
    """Return the title above a matrix, and the way to the next one."""
    if len(panels) == 1:
        return []
    here = panels[place].grid.segments[0]
    common = {"xref": "paper", "yref": "paper", "showarrow": False}
    found: list[dict[str, Any]] = [
        {
            **common,
            "x": (x[0] + x[1]) / 2,
            "y": y[1],
            "xanchor": "center",
            "yanchor": "bottom",
            "text": markup(cut(here.title, 30)),
        }
    ]
    after = panels[place + 1] if place + 1 < len(panels) else None
    if after is not None and after.arrival is not None:
        jump = after.grid.segments[0].document != here.document
        found.append({
            **common,
            "x": x[1] + 0.4 * _GAP,
            "y": (y[0] + y[1]) / 2,
            "xanchor": "center",
            "yanchor": "middle",
            "text": f"{after.arrival:.2f}<br>\N{RIGHTWARDS ARROW}",
            "font": {"size": 15, "color": JUMP if jump else PATH},
        })
    return found

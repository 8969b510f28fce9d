"""How a picture in space is looked at: the camera, the legend, labels above all."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from retrieval.views.labels import cut, markup
from retrieval.views.page import BASE_LAYOUT
from retrieval.views.palette import JUMP, PATH
from retrieval.views.scene import rounded

if TYPE_CHECKING:
    import numpy.typing as npt

    from retrieval.views.scene import Scene

__all__ = ["scene_layout"]

_FEW = 16
"""With so many documents each has its title written at its middle."""

_MOST_WALKED = 4
"""With so many documents in a walk these have, beside the numbers of its steps."""


def scene_layout(scene: Scene) -> dict[str, Any]:
    """Return the camera, the legend and the titles beside documents."""
    axis = {
        "showticklabels": False,
        "title": {"text": ""},
        "showspikes": False,
        "backgroundcolor": "#fbfcfd",
        "gridcolor": "#e6eaee",
        "zerolinecolor": "#e6eaee",
    }
    return {
        **BASE_LAYOUT,
        "margin": {"l": 0, "r": 0, "t": 34, "b": 0},
        "legend": {
            "itemsizing": "constant",
            "font": {"size": 12},
            "bgcolor": "rgba(255,255,255,0.85)",
            "x": 1.0,
            "xanchor": "left",
            "y": 1.0,
            "yanchor": "top",
            "title": {
                "text": "click hides, double-click isolates",
                "font": {"size": 11},
            },
        },
        "scene": {
            "xaxis": axis,
            "yaxis": axis,
            "zaxis": axis,
            "aspectmode": "data",
            "camera": _camera(scene),
            "annotations": _titles(scene) + _numbers(scene),
        },
    }


def _camera(scene: Scene) -> dict[str, Any]:
    """Look at the middle of everything, or half way from there to that of the walk."""
    center = np.zeros(3)
    places = {row.id: n for n, row in enumerate(scene.rows)}
    steps = () if scene.walk is None else scene.walk.steps
    walked = [places[s.chunk.id] for s in steps if s.chunk.id in places]
    spans = np.ptp(scene.points, axis=0)
    if walked and bool(np.all(spans > 0)):
        middle = (scene.points.max(axis=0) + scene.points.min(axis=0)) / 2
        scale = float(np.prod(spans)) ** (1 / 3)
        center = (scene.points[walked].mean(axis=0) - middle) / scale / 2
    eye = center + np.array([0.9, 0.9, 0.6])
    names = "xyz"
    return {
        "center": dict(zip(names, rounded(center), strict=True)),
        "eye": dict(zip(names, rounded(eye), strict=True)),
    }


def _numbers(scene: Scene) -> list[dict[str, Any]]:
    """Return the numbers of the steps and the question mark, above all else."""
    places = {row.id: n for n, row in enumerate(scene.rows)}
    steps = () if scene.walk is None else scene.walk.steps
    at: dict[int, list[int]] = {}
    for step in steps:
        if step.chunk.id in places:
            at.setdefault(places[step.chunk.id], []).append(step.index)
    found = [
        _note(scene.points[row], ",".join(map(str, numbers)), n, PATH)
        for n, (row, numbers) in enumerate(at.items())
    ]
    if scene.query is not None:
        found.append(_note(scene.query, "question", len(found), JUMP))
    return found


def _note(
    point: npt.NDArray[np.float64], text: str, number: int, color: str
) -> dict[str, Any]:
    """Return a label with a line to its point; neighbours lie to other sides."""
    turn = 2.4 * number - 1.0
    reach = 40 + 22 * (number % 3)
    x, y, z = rounded(point)
    return {
        "x": x,
        "y": y,
        "z": z,
        "text": f"<b>{text}</b>",
        "ax": round(reach * math.cos(turn)),
        "ay": round(reach * math.sin(turn)),
        "arrowhead": 0,
        "arrowwidth": 1.2,
        "arrowcolor": color,
        "bgcolor": "rgba(255,255,255,0.9)",
        "bordercolor": color,
        "borderpad": 2,
        "font": {"size": 14, "color": color},
    }


def _titles(scene: Scene) -> list[dict[str, Any]]:
    """Return titles at the middle of documents: the walk's, or all where few."""
    members: dict[str, list[int]] = {}
    for n, row in enumerate(scene.rows):
        members.setdefault(row.document, []).append(n)
    if scene.walk is not None:
        walked = [step.chunk.document_id for step in scene.walk.steps]
        chosen = [d for d in dict.fromkeys(walked) if d in members]
        chosen = chosen if len(chosen) <= _MOST_WALKED else []
    else:
        chosen = list(scene.styles) if len(scene.styles) <= _FEW else []
    found = []
    for document in chosen:
        numbers = members[document]
        middle = rounded(scene.points[numbers].mean(axis=0))
        found.append({
            "x": middle[0],
            "y": middle[1],
            "z": middle[2],
            "text": markup(cut(scene.rows[numbers[0]].title, 28)),
            "showarrow": False,
            "bgcolor": "rgba(255,255,255,0.8)",
            "borderpad": 1,
            "font": {"size": 13, "color": scene.styles[document].color},
        })
    return found

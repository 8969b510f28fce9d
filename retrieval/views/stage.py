"""How a picture in space is looked at: the camera, the legend, labels above all."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from knowtrail.retrieval.views.labels import cut, markup
from knowtrail.retrieval.views.page import BASE_LAYOUT
from knowtrail.retrieval.views.palette import JUMP, LEADER, PATH
from knowtrail.retrieval.views.scene import coordinates, rounded

if TYPE_CHECKING:
    import numpy.typing as npt

    from knowtrail.retrieval.views.scene import Scene

    _Point = npt.NDArray[np.float64]

_FEW = 16
"""With so many documents each has its title written at its middle."""

_EYE = np.array([0.9, 0.9, 0.6])
_RIGHT = np.array([-1.0, 1.0, 0.0]) / math.sqrt(2)
_UP = np.cross(_EYE, _RIGHT) / np.linalg.norm(_EYE)
"""Where the camera is at first, from what it looks at, and what are its sides."""

_MOST_WALKED = 4
"""With so many documents in a walk these have, beside the numbers of its steps."""


def scene_layout(scene: Scene) -> dict[str, Any]:
    """Return the camera, the legend and the titles beside documents."""
    axis = {
        "showticklabels": False,
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
            **{
                f"{letter}axis": axis | {"title": {"text": name, "font": {"size": 12}}}
                for letter, name in zip("xyz", scene.axes, strict=True)
            },
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
    eye = center + _EYE
    names = "xyz"
    return {
        "center": dict(zip(names, rounded(center), strict=True)),
        "eye": dict(zip(names, rounded(eye), strict=True)),
    }


def leaders(scene: Scene) -> dict[str, Any]:
    """Return the lines from labels to their points, which are no edges: dotted."""
    lines = [(point, at) for at, point, *_ in _labels(scene)]
    return {
        "type": "scatter3d",
        "mode": "lines",
        **coordinates(np.array(lines).reshape(-1, 2, 3)),
        "line": {"color": LEADER, "width": 2, "dash": "dot"},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _labels(scene: Scene) -> list[tuple[_Point, _Point, str, str]]:
    """Return where labels of steps and question stand, points, texts and colours."""
    places = {row.id: n for n, row in enumerate(scene.rows)}
    steps = () if scene.walk is None else scene.walk.steps
    at: dict[int, list[int]] = {}
    for step in steps:
        if step.chunk.id in places:
            at.setdefault(places[step.chunk.id], []).append(step.index)
    found = [
        (scene.points[row], ",".join(map(str, numbers)), PATH)
        for row, numbers in at.items()
    ]
    if scene.query is not None:
        found.append((scene.query, "question", JUMP))
    size = float(np.ptp(scene.points, axis=0).max()) or 1.0
    labels = []
    for number, (point, text, color) in enumerate(found):
        turn = 2.4 * number - 1.0
        reach = size * (0.06 + 0.03 * (number % 3))
        aside = reach * (math.cos(turn) * _RIGHT + math.sin(turn) * _UP)
        labels.append((point + aside, point, text, color))
    return labels


def _numbers(scene: Scene) -> list[dict[str, Any]]:
    """Return the labels above all else."""
    return [
        {
            **dict(zip("xyz", rounded(at), strict=True)),
            "text": f"<b>{text}</b>",
            "showarrow": False,
            "bgcolor": "rgba(255,255,255,0.9)",
            "bordercolor": color,
            "borderpad": 2,
            "font": {"size": 14, "color": color},
        }
        for at, _, text, color in _labels(scene)
    ]


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
            **dict(zip("xyz", middle, strict=True)),
            "text": markup(cut(scene.rows[numbers[0]].title, 28)),
            "showarrow": False,
            "bgcolor": "rgba(255,255,255,0.8)",
            "borderpad": 1,
            "font": {"size": 13, "color": scene.styles[document].color},
        })
    return found

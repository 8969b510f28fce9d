"""A picture in space for Plotly: points, edges and the walk; camera and labels."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from knowtrail.retrieval.views.labels import cut, markup, wrapped
from knowtrail.retrieval.views.palette import ANCHOR, JUMP, LEADER, OTHERS, PATH, STOP
from knowtrail.retrieval.views.walks import has_edge, is_anchor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from knowtrail.retrieval.views.palette import Style
    from knowtrail.retrieval.views.reading import Edge, Passage
    from knowtrail.retrieval.walk import Step, Walk

    _Point = npt.NDArray[np.float64]

_LOOK: dict[str, Any] = json.loads(Path(__file__).with_name("plotly.json").read_bytes())
"""What never changes of the layout, its axes and its labels."""

_DENSE = 1_200
"""With more points than this they are smaller."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scene:
    """Everything that is seen: chunks at points `(n, 3)`, in the order of the legend.

    The query is where the question is and the scores are cosines to it, if that is
    known.
    """

    rows: tuple[Passage, ...]
    points: npt.NDArray[np.float64]
    edges: Sequence[Edge]
    styles: Mapping[str, Style]
    walk: Walk | None
    query: npt.NDArray[np.float64] | None
    scores: npt.NDArray[np.float64] | None
    axes: tuple[str, str, str]

    @property
    def places(self) -> dict[str, int]:
        """Which chunk is which row."""
        return {row.id: n for n, row in enumerate(self.rows)}

    @property
    def steps(self) -> tuple[Step, ...]:
        """Of the walk, if there is one."""
        return () if self.walk is None else self.walk.steps


def coordinates(points: npt.NDArray[np.float64]) -> dict[str, list[float | None]]:
    """Return points `(n, 3)`, or lines `(n, 2, 3)` with gaps behind, for Plotly."""
    if points.ndim == 2:
        return {name: rounded(points[:, n]) for n, name in enumerate("xyz")}
    return {
        name: [value for line in points for value in (*rounded(line[:, n]), None)]
        for n, name in enumerate("xyz")
    }


def rounded(values: npt.NDArray[np.float64]) -> list[float | None]:
    """Return coordinates with as many digits as a screen shows."""
    return [round(float(value), 4) for value in values]


def scene_traces(scene: Scene) -> list[dict[str, Any]]:
    """Return edges, documents, the question and the walk, in drawing order."""
    places = scene.places
    traces = _edges(scene, places)
    members: dict[str, list[int]] = {document: [] for document in scene.styles}
    for n, row in enumerate(scene.rows):
        members[row.document].append(n)
    others = []
    for document, numbers in members.items():
        if scene.styles[document].named:
            traces.append(_document(scene, numbers, scene.styles[document]))
        else:
            others += numbers
    if others:
        traces.append(_others(scene, others))
    traces += _hops(scene, places) + _steps(scene, places)
    if scene.query is not None:
        traces.append(_question(scene))
    return traces


def hops_of(scene: Scene) -> dict[bool, list[tuple[int, int]]]:
    """Return the edges that the walk followed as rows, those that jump by True."""
    places, steps = scene.places, scene.steps
    hops: dict[bool, list[tuple[int, int]]] = {False: [], True: []}
    for n in range(1, len(steps)):
        before, here = steps[n - 1].chunk, steps[n].chunk
        if has_edge(steps, n) and before.id in places and here.id in places:
            jump = before.document_id != here.document_id
            hops[jump].append((places[before.id], places[here.id]))
    return hops


def _edges(scene: Scene, places: Mapping[str, int]) -> list[dict[str, Any]]:
    traces = []
    for scope, name, color in (
        ("intra", "similar, same document", "rgba(120,132,144,0.35)"),
        ("inter", "similar, other document", "rgba(90,60,140,0.35)"),
    ):
        pairs = [
            (places[e.source], places[e.target])
            for e in scene.edges
            if e.scope == scope
        ]
        traces += _lines(scene, pairs, name, {"color": color, "width": 1.5})
    return traces


def _lines(
    scene: Scene,
    pairs: Sequence[tuple[int, int]],
    name: str,
    line: Mapping[str, Any],
    *,
    rank: int = 2_000,
) -> list[dict[str, Any]]:
    """Return lines between pairs of points, one trace if there are any."""
    trace = {
        **_LOOK["lines"],
        **coordinates(scene.points[np.array(pairs, dtype=int).reshape(-1, 2)]),
        "name": name,
        "legendrank": rank,
        "line": dict(line),
    }
    return [trace] if pairs else []


def _document(scene: Scene, numbers: Sequence[int], style: Style) -> dict[str, Any]:
    first = scene.rows[numbers[0]]
    walked = scene.walk is None or any(
        step.chunk.document_id == first.document for step in scene.steps
    )
    return {
        **_points(scene, numbers),
        "name": markup(cut(first.title, 32)),
        "marker": {
            "size": (5 if walked else 4) * (1.0 if len(scene.rows) <= _DENSE else 0.65),
            "color": style.color,
            "symbol": style.mark,
            "opacity": 0.9 if walked else 0.55,
            "line": {"width": 0},
        },
    }


def _others(scene: Scene, numbers: Sequence[int]) -> dict[str, Any]:
    """Return the chunks of the documents that have no style of their own."""
    count = len({scene.rows[n].document for n in numbers})
    marker = {"size": 2.5, "color": OTHERS, "opacity": 0.55}
    return {
        **_points(scene, numbers),
        "name": f"{count} further documents",
        "marker": marker,
    }


def _points(scene: Scene, numbers: Sequence[int]) -> dict[str, Any]:
    rows = list(numbers)
    return {
        **_LOOK["points"],
        **coordinates(scene.points[rows]),
        "hovertext": [_hover(scene, n) for n in rows],
    }


def _hover(scene: Scene, number: int) -> str:
    row = scene.rows[number]
    score = (
        ""
        if scene.scores is None
        else f", cosine to the question {scene.scores[number]:.3f}"
    )
    head = f"<b>{markup(cut(row.title, 60))}</b><br>chunk {row.index}{score}"
    return f"{head}<br>{wrapped(row.text)}"


def _hops(scene: Scene, places: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return what the walk considered, and where it went."""
    considered = [
        (places[step.chunk.id], places[chunk.id])
        for step in scene.steps
        for chunk in step.considered
        if step.chunk.id in places and chunk.id in places
    ]
    hops = hops_of(scene)
    line = {"color": "rgba(29,35,41,0.25)", "width": 1.5}
    jump = {"color": JUMP, "width": 6, "dash": "dash"}
    return [
        *_lines(scene, considered, "considered", line),
        *_lines(scene, hops[False], "hop", {"color": PATH, "width": 6}, rank=3),
        *_lines(scene, hops[True], "jump", jump, rank=3),
    ]


def _steps(scene: Scene, places: Mapping[str, int]) -> list[dict[str, Any]]:
    drawn = [step for step in scene.steps if step.chunk.id in places]
    if not drawn:
        return []
    end = scene.steps[-1]
    rows = [places[step.chunk.id] for step in drawn]
    trace = _points(scene, rows)
    trace["hovertext"] = [
        f"Step {step.index}: {_hover(scene, row)}{_found(step)}"
        for step, row in zip(drawn, rows, strict=True)
    ]
    trace |= {
        "name": "walk: anchor, steps, end",
        "legendrank": 1,
        "marker": {
            "size": [11 if is_anchor(step) else 8 for step in drawn],
            "symbol": [
                "diamond" if is_anchor(step) else "square" if step is end else "circle"
                for step in drawn
            ],
            "color": [
                ANCHOR if is_anchor(step) else STOP if step is end else "#ffffff"
                for step in drawn
            ],
            "line": {"color": PATH, "width": 2},
            "opacity": 1,
        },
    }
    return [trace]


def _found(step: Step) -> str:
    reason = f"<br><i>{markup(cut(step.reason, 80))}</i>" if step.reason else ""
    return f"{reason}<br>{len(step.sentences)} new sentences"


def _question(scene: Scene) -> dict[str, Any]:
    text = "" if scene.walk is None else wrapped(scene.walk.question)
    return {
        **_LOOK["points"],
        **coordinates(np.array([scene.query], dtype=np.float64)),
        "name": "question",
        "legendrank": 2,
        "hovertext": [f"<b>Question</b><br>{text}"],
        "marker": {"size": 9, "symbol": "circle", "color": JUMP},
    }


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
    return {
        **_LOOK["layout"],
        "scene": {
            **{
                f"{letter}axis": _LOOK["axis"]
                | {"title": {"text": name, "font": {"size": 12}}}
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
    places = scene.places
    walked = [places[s.chunk.id] for s in scene.steps if s.chunk.id in places]
    spans = np.ptp(scene.points, axis=0)
    if walked and bool(np.all(spans > 0)):
        middle = (scene.points.max(axis=0) + scene.points.min(axis=0)) / 2
        scale = float(np.prod(spans)) ** (1 / 3)
        center = (scene.points[walked].mean(axis=0) - middle) / scale / 2
    return {"center": _at(center), "eye": _at(center + _EYE)}


def _at(point: _Point) -> dict[str, float | None]:
    return dict(zip("xyz", rounded(point), strict=True))


def leaders(scene: Scene) -> dict[str, Any]:
    """Return the lines from labels to their points, which are no edges: dotted."""
    lines = [(point, at) for at, point, *_ in _labels(scene)]
    return {
        **_LOOK["lines"],
        **coordinates(np.array(lines).reshape(-1, 2, 3)),
        "line": {"color": LEADER, "width": 2, "dash": "dot"},
        "showlegend": False,
    }


def _labels(scene: Scene) -> list[tuple[_Point, _Point, str, str]]:
    """Return where labels of steps and question stand, points, texts and colours."""
    places = scene.places
    at: dict[int, list[int]] = {}
    for step in scene.steps:
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
            **_LOOK["number"],
            **_at(at),
            "text": f"<b>{text}</b>",
            "bordercolor": color,
            "font": {"size": 14, "color": color},
        }
        for at, _, text, color in _labels(scene)
    ]


def _titles(scene: Scene) -> list[dict[str, Any]]:
    members: dict[str, list[int]] = {}
    for n, row in enumerate(scene.rows):
        members.setdefault(row.document, []).append(n)
    if scene.walk is not None:
        walked = [step.chunk.document_id for step in scene.steps]
        chosen = [d for d in dict.fromkeys(walked) if d in members]
        chosen = chosen if len(chosen) <= _MOST_WALKED else []
    else:
        chosen = list(scene.styles) if len(scene.styles) <= _FEW else []
    found = []
    for document in chosen:
        numbers = members[document]
        found.append({
            **_LOOK["title"],
            **_at(scene.points[numbers].mean(axis=0)),
            "text": markup(cut(scene.rows[numbers[0]].title, 28)),
            "font": {"size": 13, "color": scene.styles[document].color},
        })
    return found

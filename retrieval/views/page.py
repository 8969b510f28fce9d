"""A page that holds a Plotly picture and all it needs: it never asks the network.

The page builds itself from JSON. Headings and texts become text nodes; Plotly's own
labels are escaped before (`labels.markup`). A policy in the page forbids every
connection.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import TYPE_CHECKING, Any

from knowtrail.graph.extras import extra
from knowtrail.retrieval.views.labels import plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knowtrail.retrieval.views.layout import Heading

BASE_LAYOUT: dict[str, Any] = {
    "paper_bgcolor": "#ffffff",
    "plot_bgcolor": "#ffffff",
    "font": {
        "family": "system-ui, Noto Sans, DejaVu Sans, sans-serif",
        "size": 13,
        "color": "#1d2329",
    },
    "hoverlabel": {"align": "left", "bgcolor": "#ffffff", "font": {"size": 13}},
    "margin": {"l": 10, "r": 10, "t": 10, "b": 10},
}
"""What all interactive pictures have in common."""


def page_of(
    heading: Heading,
    traces: Sequence[Mapping[str, Any]],
    layout: Mapping[str, Any],
    *,
    cells: Mapping[int, Sequence[Any]] | None = None,
    hint: str = "Point at a cell to read its two chunks.",
    height: int | None = None,
) -> str:
    """Return a page with a picture.

    Args:
        heading: What stands above it.
        traces: Plotly's traces, as JSON values.
        layout: Plotly's layout.
        cells: What a panel tells of what is pointed at, by the place of its trace: of
            a heat map name and text of each row, of points a list of them each.
        hint: What the panel says at first.
        height: Height of the picture in pixels; None fills the window.

    Raises:
        MissingExtraError: If the extra `view` is not installed.
    """
    with extra("view", "An interactive picture"):
        from plotly.offline import get_plotlyjs  # type: ignore[import-untyped,unused-ignore]
    data = json.dumps(
        {
            "title": plain(heading.title),
            "about": plain(heading.about),
            "traces": traces,
            "layout": layout,
            "cells": cells,
            "hint": hint,
            "height": height,
        },
        ensure_ascii=True,
        allow_nan=False,
    )
    page = (
        resources
        .files("knowtrail.retrieval.views")
        .joinpath("page.html")
        .read_text("utf-8")
    )
    head, rest = page.split("__DATA__")
    middle, tail = rest.split("__PLOTLY__")
    # `<` occurs in JSON only inside strings, where its escape means the same.
    script: str = get_plotlyjs()
    return head + data.replace("<", "\\u003c") + middle + script + tail

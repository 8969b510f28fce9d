"""Pages that hold a picture and all it needs: they never ask the network.

They are made of the templates beside this file, in which everything is escaped. What
changes is drawn from JSON, whose texts become text nodes; Plotly's own labels are
escaped before (`labels.markup`). A policy in each page forbids every connection.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowtrail.graph.extras import extra
from knowtrail.graph.files.templates import templates
from knowtrail.retrieval.views.labels import plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knowtrail.retrieval.views.layout import Heading


def rendered(template: str, **values: Any) -> str:
    """Return the page that a template beside this file makes."""
    return templates(Path(__file__).parent).get_template(template).render(values)


def svg_page(
    heading: Heading,
    svg: str,
    panels: Sequence[Mapping[str, Any]],
    *,
    height: int | None,
) -> str:
    """Return a page with a picture over matrices, that tells what is pointed at.

    `#matrix-N` of the picture is the Nth panel, `#step-N` a step of it; a height in
    pixels is for pictures that are higher than the window.
    """
    from markupsafe import Markup

    return rendered(
        "page.html",
        data={**_said(heading), "height": height, "panels": panels},
        svg=Markup(svg[svg.index("<svg") :]),  # noqa: S704  (matplotlib's)
        plotly="",
    )


def page_of(
    heading: Heading, traces: Sequence[Mapping[str, Any]], layout: Mapping[str, Any]
) -> str:
    """Return a page with Plotly's traces and layout, which fill the window."""
    from markupsafe import Markup

    with extra("view", "An interactive picture"):
        from plotly.offline import get_plotlyjs  # type: ignore[import-untyped,unused-ignore]
    data: dict[str, Any] = {**_said(heading), "traces": traces, "layout": layout}
    plotly = Markup(get_plotlyjs())  # noqa: S704  (its own)
    return rendered("page.html", data=data, svg="", plotly=plotly)


def _said(heading: Heading) -> dict[str, str]:
    return {"title": plain(heading.title), "about": plain(heading.about)}

"""The walks of research as one picture: a row a question, a dot a passage."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowtrail.graph.files.templates import templates
from knowtrail.retrieval.views.labels import cut, plain
from knowtrail.retrieval.views.palette import COLORS, INK, OTHERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knowtrail.retrieval.research.records import SubQuestion

LABEL, GAP = 380, 24


def walks_svg(
    rows: Sequence[tuple[SubQuestion, Sequence[Mapping[str, Any]]]], cited: set[str]
) -> str:
    """Return SVG: documents have colours, those with a cited id a rim, hops a line."""
    steps = [step for _, walk in rows for step in walk]
    visits = Counter(step["document"] for step in steps)
    first = sorted(visits, key=lambda d: (d not in cited, -visits[d], d))
    longest = max((len(walk) for _, walk in rows), default=0)
    page = templates(Path(__file__).parent).get_template("walks.svg")
    return page.render(
        width=max(LABEL + GAP * longest + 24, 640),
        rows=rows,
        cited=cited,
        colors=dict(zip(first, COLORS, strict=False)),
        titles={step["document"]: step["title"] for step in steps},
        label=LABEL,
        gap=GAP,
        ink=INK,
        others=OTHERS,
        cut=cut,
        plain=plain,
    )

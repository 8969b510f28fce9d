"""How every picture as PNG or SVG is made, by matplotlib.

The same picture has the same bytes: no time and no random name is written. Text is
never read as a formula, and in SVG it stays text, set in the viewer's own fonts.
"""

from __future__ import annotations

import io
import logging
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowtrail.graph.extras import extra
from knowtrail.retrieval.views.palette import FONTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from knowtrail.retrieval.views.layout import Heading

_LOG = logging.getLogger(__name__)
_DPI = 150


@contextmanager
def drawing() -> Iterator[None]:
    """Load matplotlib, set it up for one picture, tell of missing letters."""
    with extra("view", "A picture as PNG or SVG"):
        import matplotlib as mpl
        from matplotlib import font_manager
    installed = {font.name for font in font_manager.fontManager.ttflist}
    fonts: Any = [name for name in FONTS if name in installed] or ["sans-serif"]
    style = Path(__file__).with_name("pictures.mplstyle")
    with (
        warnings.catch_warnings(record=True) as caught,
        mpl.rc_context({"font.family": fonts}, style),
    ):
        warnings.simplefilter("always")
        yield
    lacking = [str(w.message) for w in caught if "missing from font" in str(w.message)]
    if lacking:
        _LOG.warning(
            "No installed font has %d of the letters: install the Noto fonts, or write "
            ".svg or .html, which are set in the fonts of who looks at them.",
            len(set(lacking)),
        )


def empty_figure(
    heading: Heading,
    size: tuple[float, float],
    rows: int,
    columns: int,
    *,
    projection: str | None = None,
) -> tuple[Figure, list[Axes]]:
    """Begin a figure of a size in inches: its heading, and empty axes row by row."""
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
        figure.add_subplot(rows, columns, n + 1, projection=projection)
        for n in range(rows * columns)
    ]


def picture_bytes(figure: Figure, suffix: str) -> bytes:
    """Return a figure as a file's content."""
    file = io.BytesIO()
    kind = suffix.removeprefix(".")
    metadata = {"Date" if kind == "svg" else "Software": None}
    # The layout does not count all of the titles beside a matrix: nothing is clipped
    # where the picture takes the size of what is drawn.
    figure.savefig(
        file, format=kind, metadata=metadata, bbox_inches="tight", pad_inches=0.15
    )
    return file.getvalue()

"""Colours and marks that colour-blind people can tell apart, and grey readers too.

Eight colours are as many as can be told apart, so a document has a colour and a mark;
after forty-eight of these pairs the colours come again in a lighter tone. The
documents of the walk come first: they have the strong colours.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

_TABLE: dict[str, Any] = json.loads(
    Path(__file__).with_name("palette.json").read_bytes()
)

COLORS: tuple[str, ...] = tuple(_TABLE["colors"])
"""Okabe and Ito's, the yellow darkened so that it is seen on white."""

MARKERS: Mapping[str, str] = _TABLE["marks"]
"""Plotly's names of marks -> those of matplotlib, whose filled ones are seen better."""

MARKS = tuple(MARKERS)
"""Marks in space that every font has: Plotly sets them as letters."""

FONTS: tuple[str, ...] = tuple(_TABLE["fonts"])
"""Looked for in this order, each for the characters that those before it lack."""

TONES = 3
INK = "#1d2329"
FAINT = "#9aa8b5"
OTHERS = "#b4bec8"
ANCHOR = "#e69f00"
PATH = "#111111"
JUMP = "#c2185b"
STOP = "#d00000"
BOXES = {
    "anchor": (ANCHOR, PATH),
    "step": ("#ffffff", PATH),
    "where it ended": ("#ffffff", STOP),
}
"""What the number of a step stands for -> colours of its box and of the edge."""
LEADER = "#4d5761"
"""Of dotted lines from a label to what it names, which are no edges."""
HOP, JUMPED, LEADS = "hop", "jump to another document", "from a number to its step"
LINES: dict[str, tuple[str, Literal["solid", "dashed", "dotted"]]] = {
    HOP: (PATH, "solid"),
    JUMPED: (JUMP, "dashed"),
    LEADS: (LEADER, "dotted"),
}
"""What a line stands for -> its colour, and how matplotlib draws it."""
HEAT: tuple[str, ...] = tuple(_TABLE["heat"])
"""Brewer's yellow to blue: told apart by colour-blind people, evenly darker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How a document is drawn, with a mark of Plotly's, and whether a legend has it."""

    color: str
    mark: str
    named: bool = True


def style_documents(
    walked: Iterable[str], sizes: Mapping[str, int]
) -> dict[str, Style]:
    """Give each document (id -> chunks) a style of its own, as far as styles go.

    The documents of the walk come first, then the longest; the rest is grey.
    """
    first = dict.fromkeys(walked)
    rest = sorted((d for d in sizes if d not in first), key=lambda d: (-sizes[d], d))
    return {document: _style(n) for n, document in enumerate([*first, *rest])}


def _style(number: int) -> Style:
    pair, color = divmod(number, len(COLORS))
    tone, mark = divmod(pair, len(MARKS))
    if tone >= TONES:
        return Style(color=OTHERS, mark="circle", named=False)
    return Style(color=_lighter(COLORS[color], 0.3 * tone), mark=MARKS[mark])


def _lighter(color: str, share: float) -> str:
    return "#" + "".join(f"{round(p + (255 - p) * share):02x}" for p in _parts(color))


def darker(color: str) -> str:
    """Return a colour for an edge around it."""
    return "#" + "".join(f"{round(part * 0.75):02x}" for part in _parts(color))


def ink_on(color: str) -> str:
    """Return the colour of text that is read on another."""
    red, green, blue = _parts(color)
    return INK if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "#ffffff"


def _parts(color: str) -> list[int]:
    return [int(color[i : i + 2], 16) for i in (1, 3, 5)]

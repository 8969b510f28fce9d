"""The class diagram of heritage, shaded or filtered by how specific classes are.

The picture is SVG made here, so that it needs no extra and no network. Parents stand
above their kinds; an arrow with an open head leads from a class to its parent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from knowtrail.graph.errors import InputError
from knowtrail.retrieval.views.page import rendered
from knowtrail.retrieval.views.palette import FAINT, HEAT, INK
from knowtrail.retrieval.views.uml_layout import DROP, Place, lay_out

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from knowtrail.retrieval.specificity.class_scores import ClassScores

WIDTH = 236
LINE = 15
HEAD = 24
MARGIN = 24
TOP = 92
ATTRIBUTES = 5
PAD = 9
NAME = 12.5
BODY = 11.5
SCORE = 38
NARROWEST = 480
"""So broad are the legend and most titles."""
DARK = "#56616c"
_FONT = "system-ui, Noto Sans, DejaVu Sans, sans-serif"
_WORDS = re.compile(r"[A-Z]?[^A-Z_\s-]+[_\s-]*|[A-Z]+(?![^A-Z_\s-])[_\s-]*|.")
_NARROW = frozenset("fijlrtI.,:;'|!()[] ")
_BROAD = frozenset("mwMWQOGD@%&\u2026")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Box:
    """A class at its place."""

    item: ClassScores
    score: float
    kept: bool
    name: tuple[str, ...]
    place: Place
    height: float

    @property
    def x(self) -> float:
        """Return its left edge."""
        return self.place.x

    @property
    def y(self) -> float:
        """Return its upper edge."""
        return self.place.y

    @property
    def bottom(self) -> float:
        """Return its lower edge."""
        return self.y + self.height


def uml_svg(
    classes: Mapping[str, ClassScores],
    scores: Mapping[str, float],
    *,
    title: str,
    threshold: float = 0.5,
    only_kept: bool = False,
) -> str:
    """Return the class diagram as SVG; classes scored below the threshold are faint.

    With `only_kept` they are left out, but for parents of classes that are kept.

    Raises:
        InputError: If no class would be left.
    """
    shown = _shown(classes, scores, threshold) if only_kept else set(classes)
    if not shown:
        msg = f"No class has a score of {threshold:g} or more: lower --threshold."
        raise InputError(msg)
    boxes = _placed({n: c for n, c in classes.items() if n in shown}, scores, threshold)
    right = max(box.x for box in boxes.values()) + WIDTH + MARGIN
    width = max(right, NARROWEST, _width(title, 18, bold=True) + 2 * MARGIN)
    height = max(box.bottom for box in boxes.values()) + MARGIN
    kept = sum(scores[name] >= threshold for name in classes)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" font-family="{_FONT}" '
        f'font-size="{BODY}" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width:g}" height="{height:g}" fill="#ffffff"/>',
        _text(MARGIN, 32, title, size=18, weight=600),
        _text(
            MARGIN,
            52,
            f"{kept} of {len(classes)} classes have a score of {threshold:g} or more",
            color=DARK,
        ),
        *_legend(threshold),
        *(
            _arrow(box, boxes[box.item.parent])
            for box in sorted(boxes.values(), key=lambda b: b.kept)
            if box.item.parent
        ),
        *(_box(box) for box in boxes.values()),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def uml_page(svg: str, title: str) -> str:
    """Return a page that holds a diagram and can reach nothing."""
    from markupsafe import Markup

    return rendered("uml.html", title=title, svg=Markup(svg))  # noqa: S704  (escaped)


def _shown(
    classes: Mapping[str, ClassScores], scores: Mapping[str, float], threshold: float
) -> set[str]:
    """Return the classes that are kept, with all their parents."""
    found: set[str] = set()
    for name in classes:
        parent: str | None = name if scores[name] >= threshold else None
        while parent is not None:
            found.add(parent)
            parent = classes[parent].parent
    return found


def _placed(
    classes: Mapping[str, ClassScores], scores: Mapping[str, float], threshold: float
) -> dict[str, _Box]:
    """Return the classes at their places: kinds below a parent, best first."""
    children: dict[str | None, list[str]] = {}
    for name, item in classes.items():
        children.setdefault(item.parent, []).append(name)
    for names in children.values():
        names.sort(key=lambda n: (n not in children, -scores[n], n))
    titles = {name: _name_lines(name) for name in classes}
    heights = {
        name: _head(titles[name]) + LINE * min(len(item.attributes), ATTRIBUTES + 1) + 4
        for name, item in classes.items()
    }
    places = lay_out(heights, children, width=WIDTH)
    return {
        name: _Box(
            item=classes[name],
            score=scores[name],
            kept=scores[name] >= threshold,
            name=titles[name],
            place=place.moved(MARGIN, TOP),
            height=heights[name],
        )
        for name, place in places.items()
    }


def _box(box: _Box) -> str:
    """Return a class as a rectangle with its name, score and attributes."""
    fill = _fill(box.score) if box.kept else "#ffffff"
    ink = _ink(fill) if box.kept else "#7a8793"
    border = INK if box.kept else FAINT
    dash = "" if box.kept else ' stroke-dasharray="4 3"'
    style = ' font-style="italic"' if box.item.abstract else ""
    about = f"{box.item.name}: {box.item.description} Score {box.score:.2f}."
    parts = [
        "<g>",
        f"<title>{escape(about)}</title>",
        f'<rect x="{box.x:g}" y="{box.y:g}" width="{WIDTH}" height="{box.height:g}" '
        f'rx="3" fill="{fill}" stroke="{border}"{dash}/>',
        *(
            f'<text x="{box.x + PAD:g}" y="{box.y + 16 + LINE * n:g}" fill="{ink}" '
            f'font-weight="600" font-size="{NAME}"{style}>{escape(text)}</text>'
            for n, text in enumerate(box.name)
        ),
        f'<text x="{box.x + WIDTH - PAD:g}" y="{box.y + 16:g}" fill="{ink}" '
        f'text-anchor="end">{box.score:.2f}</text>',
    ]
    head = box.y + _head(box.name)
    if box.item.attributes:
        parts.append(
            f'<path d="M{box.x:g} {head - 1:g}h{WIDTH}" stroke="{ink}" '
            f'stroke-opacity="0.45" fill="none"{dash}/>'
        )
    for n, text in enumerate(_lines(box.item)):
        short = _cut(text, WIDTH - 2 * PAD, size=BODY)
        parts.append(_text(box.x + PAD, head + LINE * (n + 1) - 3, short, color=ink))
    return "\n".join([*parts, "</g>"])


def _head(name: tuple[str, ...]) -> int:
    """Return the height of the part of a box that has its name."""
    return HEAD + LINE * (len(name) - 1)


def _name_lines(name: str) -> tuple[str, ...]:
    """Return a name in one line, or two where it would run into its score."""
    most = WIDTH - 2 * PAD - SCORE
    if _width(name, NAME, bold=True) <= most:
        return (name,)
    first = ""
    for word in _WORDS.findall(name):
        if first and _width(first + word, NAME, bold=True) > most:
            break
        first += word
    rest = name[len(first) :]
    shown = (_cut(first, most, size=NAME, bold=True),)
    if not rest:
        return shown
    return (*shown, _cut(rest, WIDTH - 2 * PAD, size=NAME, bold=True))


def _lines(item: ClassScores) -> Iterator[str]:
    """Yield the attributes of a class, and how many more there are."""
    for name, kind in item.attributes[:ATTRIBUTES]:
        yield f"{name}: {kind}"
    if len(item.attributes) > ATTRIBUTES:
        yield f"and {len(item.attributes) - ATTRIBUTES} more"


def _arrow(box: _Box, parent: _Box) -> str:
    """Return an arrow with an open head from a class up to its parent."""
    x, line, tip = parent.x + DROP, box.place.line, parent.bottom
    color = DARK if box.kept else FAINT
    way = f"V{box.place.trunk:g}H{x:g}" if line != x else ""
    return (
        f'<path d="M{box.x:g} {box.y + HEAD / 2:g}H{line:g}{way}V{tip + 10:g}" '
        f'stroke="{color}" fill="none"/>'
        f'<path d="M{x:g} {tip:g}l-6 10h12z" stroke="{DARK}" fill="#ffffff"/>'
    )


def _legend(threshold: float) -> list[str]:
    """Return what the shades mean."""
    parts = [_text(MARGIN, 74, "0", color=DARK)]
    step = 18
    for n in range(10):
        x = MARGIN + 14 + n * step
        score = (n + 0.5) / 10
        fill = _fill(score) if n / 10 >= threshold - 1e-9 else "#ffffff"
        parts.append(
            f'<rect x="{x}" y="64" width="{step}" height="12" fill="{fill}" '
            f'stroke="{FAINT}"/>'
        )
    end = MARGIN + 14 + 10 * step + 6
    parts.append(_text(end, 74, "1", color=DARK))
    parts.append(_text(end + 26, 74, "dashed: below the threshold", color=DARK))
    return parts


def _fill(score: float) -> str:
    """Return the shade of a score."""
    return HEAT[min(round(score * (len(HEAT) - 1)), len(HEAT) - 1)]


def _ink(fill: str) -> str:
    """Return the colour of text that can be read on a shade."""
    red, green, blue = (int(fill[i : i + 2], 16) for i in (1, 3, 5))
    return INK if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "#ffffff"


def _text(
    x: float,
    y: float,
    text: str,
    *,
    color: str = INK,
    size: float | None = None,
    weight: int | None = None,
) -> str:
    """Return a line of text."""
    more = "" if size is None else f' font-size="{size:g}"'
    more += "" if weight is None else f' font-weight="{weight}"'
    return f'<text x="{x:g}" y="{y:g}" fill="{color}"{more}>{escape(text)}</text>'


def _width(text: str, size: float, *, bold: bool = False) -> float:
    """Return about how broad a text is in the broadest of our fonts."""
    ems = 0.0
    for letter in text:
        if ord(letter) >= 0x1100:
            ems += 1.05
        elif letter in _NARROW:
            ems += 0.42
        elif letter in _BROAD:
            ems += 0.98
        else:
            ems += 0.72 if letter.isupper() else 0.63
    return ems * size * (1.08 if bold else 1.0)


def _cut(text: str, most: float, *, size: float, bold: bool = False) -> str:
    """Return a text, or its beginning with three dots, that is no broader than that."""
    if _width(text, size, bold=bold) <= most:
        return text
    while text and _width(text + "\u2026", size, bold=bold) > most:
        text = text[:-1]
    return text + "\u2026"

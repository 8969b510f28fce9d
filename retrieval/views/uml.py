"""The class diagram of heritage, shaded or filtered by how specific classes are.

The picture is SVG made here, so that it needs no extra and no network. Parents stand
above their kinds; an arrow with an open head leads from a class to its parent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
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
_WORDS = re.compile(r"[A-Z]?[^A-Z_\s-]+[_\s-]*|[A-Z]+(?![^A-Z_\s-])[_\s-]*|.")
_NARROW = frozenset("fijlrtI.,:;'|!()[] ")
_BROAD = frozenset("mwMWQOGD@%&\u2026")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Box:
    """A class at its place, with its texts as they fit and the colours of its parts."""

    item: ClassScores
    score: float
    kept: bool
    name: tuple[str, ...]
    lines: tuple[str, ...]
    place: Place
    head: int
    height: float
    fill: str
    ink: str


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
    right = max(box.place.x for box in boxes) + WIDTH + MARGIN
    at = {box.item.name: box for box in boxes}
    shades = [(n + 0.5) / 10 if n / 10 >= threshold - 1e-9 else None for n in range(10)]
    return rendered(
        "uml.svg",
        title=title,
        width=max(right, NARROWEST, _width(title, 18, bold=True) + 2 * MARGIN),
        height=max(box.place.y + box.height for box in boxes) + MARGIN,
        threshold=threshold,
        kept=sum(scores[name] >= threshold for name in classes),
        count=len(classes),
        shades=["#ffffff" if score is None else _fill(score) for score in shades],
        arrows=[
            (box, at[box.item.parent])
            for box in sorted(boxes, key=lambda b: b.kept)
            if box.item.parent
        ],
        boxes=boxes,
        ink=INK,
        dark=DARK,
        faint=FAINT,
        box_width=WIDTH,
        drop=DROP,
        head=HEAD,
        pad=PAD,
        line_height=LINE,
        name_size=NAME,
        body_size=BODY,
    )


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
) -> list[_Box]:
    """Return the classes at their places: kinds below a parent, best first."""
    children: dict[str | None, list[str]] = {}
    for name, item in classes.items():
        children.setdefault(item.parent, []).append(name)
    for names in children.values():
        names.sort(key=lambda n: (n not in children, -scores[n], n))
    titles = {name: _name_lines(name) for name in classes}
    heads = {name: HEAD + LINE * (len(title) - 1) for name, title in titles.items()}
    heights = {
        name: heads[name] + LINE * min(len(item.attributes), ATTRIBUTES + 1) + 4
        for name, item in classes.items()
    }
    boxes = []
    for name, place in lay_out(heights, children, width=WIDTH).items():
        kept = scores[name] >= threshold
        fill = _fill(scores[name]) if kept else "#ffffff"
        boxes.append(
            _Box(
                item=classes[name],
                score=scores[name],
                kept=kept,
                name=titles[name],
                lines=tuple(_lines(classes[name])),
                place=place.moved(MARGIN, TOP),
                head=heads[name],
                height=heights[name],
                fill=fill,
                ink=_ink(fill) if kept else "#7a8793",
            )
        )
    return boxes


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
        yield _cut(f"{name}: {kind}", WIDTH - 2 * PAD, size=BODY)
    if len(item.attributes) > ATTRIBUTES:
        yield f"and {len(item.attributes) - ATTRIBUTES} more"


def _fill(score: float) -> str:
    return HEAT[min(round(score * (len(HEAT) - 1)), len(HEAT) - 1)]


def _ink(fill: str) -> str:
    red, green, blue = (int(fill[i : i + 2], 16) for i in (1, 3, 5))
    return INK if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "#ffffff"


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

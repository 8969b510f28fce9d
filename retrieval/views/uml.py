"""The class diagram of heritage, shaded or filtered by how specific classes are.

The picture is SVG made here, so that it needs no extra and no network. Parents stand
above their kinds, which are indented below it; an arrow with an open head leads from a
class to its parent. A list of kinds that is too long goes on in further columns. How
long is too long is tried out, and the picture that fits a screen best is taken.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from knowtrail.graph.errors import InputError
from knowtrail.retrieval.views.page import rendered
from knowtrail.retrieval.views.palette import FAINT, HEAT, INK, ink_on

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
GAP = 10
"""Between two boxes above each other."""
DROP = 14
"""From the left edge of a parent to the line that leads down to its kinds."""
INDENT = 16
"""From that line to the kinds."""
TRUNK = 18
"""From a parent to the line that leads to further columns."""
BELOW_TRUNK = 10
BESIDE = 22
"""Between two columns."""
_SHAPE = 1.5
"""Width to height of a screen or a page on its side."""
_STEP = 1.12
"""Each limit that is tried is so many times the one before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a box stands: its left and upper edge, and where the line to it runs.

    The line comes down at x = `line` (None without one) from height `trunk`, which it
    reaches from the parent's first column.
    """

    x: float
    y: float
    line: float | None = None
    trunk: float = 0.0

    def moved(self, x: float, y: float) -> Place:
        """Return the place as far away as that."""
        line = None if self.line is None else self.line + x
        return Place(x=self.x + x, y=self.y + y, line=line, trunk=self.trunk + y)


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
    for name, place in lay_out(heights, children).items():
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
                ink=ink_on(fill) if kept else "#7a8793",
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
    if _width(text, size, bold=bold) <= most:
        return text
    while text and _width(text + "\u2026", size, bold=bold) > most:
        text = text[:-1]
    return text + "\u2026"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    width: float
    height: float
    places: Mapping[str, Place]


def lay_out(
    heights: Mapping[str, float], children: Mapping[str | None, Sequence[str]]
) -> dict[str, Place]:
    """Return the place of each box of a height; the first at (0, 0), no two overlap.

    `children` are the kinds of each class, in order; those of None are roots.
    """
    limits = _limits(heights)
    layouts = (_block(None, limit, heights, children) for limit in limits)
    best = min(layouts, key=lambda b: (max(b.width / _SHAPE, b.height), b.width))
    return dict(best.places)


def _limits(heights: Mapping[str, float]) -> Iterator[float]:
    """Yield the heights of columns that are tried, up to one column of all."""
    limit = 2 * max(heights.values(), default=1.0)
    total = sum(height + GAP + TRUNK for height in heights.values())
    while limit < total:
        yield limit
        limit *= _STEP
    yield total


def _block(
    name: str | None,
    limit: float,
    heights: Mapping[str, float],
    children: Mapping[str | None, Sequence[str]],
) -> _Block:
    """Lay out a class with its kinds below it, or the roots, for one limit."""
    places: dict[str, Place] = {}
    left = right = start = bottom = indent = 0.0
    if name is not None:
        places[name] = Place(x=0, y=0)
        left, right, bottom, indent = float(DROP), WIDTH, heights[name], INDENT
        limit = max(limit - bottom - GAP, 1.0)
    kinds = children.get(name, ())
    blocks = [_block(kind, limit, heights, children) for kind in kinds]
    columns, trunk = _columns(blocks, limit), bottom + TRUNK
    if name is not None:
        start = bottom + (GAP if len(columns) < 2 else TRUNK + BELOW_TRUNK)
    names = iter(kinds)
    for column in columns:
        top, x = start, left + indent
        for block in column:
            kind = next(names)
            places |= {n: p.moved(x, top) for n, p in block.places.items()}
            if name is not None:
                places[kind] = Place(x=x, y=top, line=left, trunk=trunk)
            right = max(right, x + block.width)
            bottom = max(bottom, top + block.height)
            top += block.height + GAP
        left = right + BESIDE
    return _Block(width=right, height=bottom, places=places)


def _columns(blocks: Sequence[_Block], limit: float) -> list[list[_Block]]:
    """Return the blocks in columns of at most that height, of heights much alike."""
    columns = _filled(blocks, limit)
    low, high = 0.0, max([limit, *(block.height for block in blocks)])
    while len(columns) > 1 and high - low > 1:
        middle = (low + high) / 2
        tried = _filled(blocks, middle)
        fits = len(tried) <= len(columns) and all(_height(c) <= middle for c in tried)
        low, high = (low, middle) if fits else (middle, high)
    return _filled(blocks, high)


def _filled(blocks: Sequence[_Block], limit: float) -> list[list[_Block]]:
    """Return the blocks in columns, each as full as the limit allows."""
    columns: list[list[_Block]] = []
    for block in blocks:
        if columns and _height([*columns[-1], block]) <= limit:
            columns[-1].append(block)
        else:
            columns.append([block])
    return columns


def _height(column: Sequence[_Block]) -> float:
    return sum(block.height + GAP for block in column) - GAP

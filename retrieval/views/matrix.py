"""Pictures over similarity matrices: of a document, and of a walk.

A step lies on the diagonal. A hop leads from its step along the row to the cell of the
two chunks, whose colour is how similar they are, and from there to the next step.
The *global* picture has the whole of every visited document side by side; the
*sequential* one follows the walk from window to window, as far as it stays near; the
*windowed* one has for each document the chunks between its first and last step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from knowtrail.graph.errors import InputError
from knowtrail.retrieval.cosine import cosines
from knowtrail.retrieval.views.layout import (
    Heading,
    numbers_beside,
    pooling,
    similarity_grid,
)
from knowtrail.retrieval.views.reading import (
    MAX_CHUNKS,
    Passages,
    find_document,
    read_passages,
    read_sample,
    segments_of,
)
from knowtrail.retrieval.views.static import path_picture
from knowtrail.retrieval.views.walks import GONE, has_edge, heading, is_anchor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowtrail.graph.db.connection import Connection
    from knowtrail.retrieval.views.layout import Grid
    from knowtrail.retrieval.walk import Step, Walk

AROUND = 3
"""Chunks shown on both sides of a window."""

FAR = 8
"""A hop over more chunks than this begins a new window."""

_WINDOW = 9
"""Steps in a window at most: so many numbers stand beside each other there."""

_APART = 0.033
"""How far apart numbers stand where one matrix is all of the picture, of its side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A step at its place of the diagonal, in cells, and where its number is `at`."""

    place: float
    step: Step
    at: tuple[float, float]
    anchor: bool
    stop: bool

    @property
    def aside(self) -> bool:
        """Return whether the number stands beside its place."""
        return self.at != (self.place, self.place)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """An edge that was followed, from one place of the diagonal to another."""

    start: float
    end: float
    jump: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One matrix with the part of a walk that lies on it, if any.

    `texts` are the beginnings of the first chunk of each cell; `arrival` is the cosine
    of the first chunk to the last of the panel before, None where no edge leads here.
    """

    grid: Grid
    texts: tuple[str, ...]
    marks: tuple[Mark, ...]
    hops: tuple[Hop, ...]
    arrival: float | None = None


def read_visited(connection: Connection, walk: Walk) -> Passages:
    """Return all chunks of the documents that a walk visited, in its order."""
    ids = list(
        dict.fromkeys(
            step.chunk.document_id for step in walk.steps if step.chunk.index != GONE
        )
    )
    order = {document: place for place, document in enumerate(ids)}
    found = read_sample(connection, ids)
    if not found.rows:
        msg = "No chunk of this walk is left to draw: walk again, or take another one."
        raise InputError(msg)
    if len(found.rows) > MAX_CHUNKS:
        raise InputError(
            f"The visited documents have {len(found.rows)} chunks, a matrix is made of "
            f"{MAX_CHUNKS} at most: use knowtrail view graph."
        )
    return found.ordered(lambda row: (order[row.document], row.index))


def global_panel(walk: Walk, visited: Passages) -> Panel:
    """Return the whole walk over the whole of its documents."""
    return panel_of(visited, walk.steps, range(len(walk.steps)))


def sequential_panels(walk: Walk, visited: Passages) -> tuple[Panel, ...]:
    """Return the walk window by window, as far as it stays near."""
    return _panels(walk, visited, _windows(walk.steps))


def windowed_panels(walk: Walk, visited: Passages) -> tuple[Panel, ...]:
    """Return the part of each document that the walk has seen, in its order."""
    parts: dict[str, list[int]] = {}
    for number, step in enumerate(walk.steps):
        if step.chunk.index != GONE:
            parts.setdefault(step.chunk.document_id, []).append(number)
    return _panels(walk, visited, list(parts.values()))


def _panels(
    walk: Walk, visited: Passages, windows: Sequence[list[int]]
) -> tuple[Panel, ...]:
    """Return a matrix for each group of steps of one document."""
    rows = {(row.document, row.index): n for n, row in enumerate(visited.rows)}
    panels: list[Panel] = []
    last: int | None = None
    before = -1
    for numbers in windows:
        steps = [walk.steps[n].chunk for n in numbers]
        low = min(chunk.index for chunk in steps) - AROUND
        high = max(chunk.index for chunk in steps) + AROUND
        document = steps[0].document_id
        window = [
            rows[document, index]
            for index in range(low, high + 1)
            if (document, index) in rows
        ]
        first = rows.get((document, steps[0].index))
        if first is None:
            continue
        arrival = None
        follows = panels and numbers[0] == before + 1
        if last is not None and follows and has_edge(walk.steps, numbers[0]):
            one, other = visited.vectors[[last, first]].astype(np.float64)
            arrival = float(cosines(one, other[np.newaxis])[0])
        part = Passages(
            rows=tuple(visited.rows[i] for i in window), vectors=visited.vectors[window]
        )
        apart = 1 / _WINDOW if len(windows) > 1 else _APART
        panels.append(panel_of(part, walk.steps, numbers, arrival=arrival, apart=apart))
        last, before = rows.get((document, steps[-1].index)), numbers[-1]
    return tuple(panels)


def _windows(steps: Sequence[Step]) -> list[list[int]]:
    """Group steps that stay near each other in one document, by number."""
    windows: list[list[int]] = []
    for number, step in enumerate(steps):
        if step.chunk.index == GONE:
            continue
        before = steps[windows[-1][-1]].chunk if windows else None
        near = (
            before is not None
            and before.document_id == step.chunk.document_id
            and abs(before.index - step.chunk.index) <= FAR
            and len(windows[-1]) < _WINDOW
        )
        if near:
            windows[-1].append(number)
        else:
            windows.append([number])
    return windows


def panel_of(
    passages: Passages,
    steps: tuple[Step, ...] = (),
    numbers: Sequence[int] = (),
    *,
    arrival: float | None = None,
    apart: float = _APART,
) -> Panel:
    """Put steps on a matrix, their numbers so far apart, as part of its side."""
    grid = similarity_grid(passages.vectors, segments_of(passages.rows))
    texts = {(row.document, row.index): row.text for row in passages.rows}
    spans = [grid.span(cell) for cell in range(len(grid.values))]
    places = {
        n: place
        for n in numbers
        if (place := grid.place(steps[n].chunk.document_id, steps[n].chunk.index))
        is not None
    }
    hops = tuple(
        Hop(
            start=places[n - 1],
            end=places[n],
            jump=steps[n - 1].chunk.document_id != steps[n].chunk.document_id,
        )
        for n in numbers
        if n in places and n - 1 in places and has_edge(steps, n)
    )
    return Panel(
        grid=grid,
        texts=tuple(texts[segment.document, first] for segment, first, _ in spans),
        marks=_marks(steps, places, hops, side=len(grid.values), apart=apart),
        hops=hops,
        arrival=arrival,
    )


def _marks(
    steps: tuple[Step, ...],
    places: dict[int, float],
    hops: Sequence[Hop],
    *,
    side: int,
    apart: float,
) -> tuple[Mark, ...]:
    """Return the steps with places for their numbers, which cover little."""
    order = sorted(places, key=lambda n: (places[n], n))
    gap = apart * side
    stands = numbers_beside(
        [places[n] for n in order], gap, side, [(hop.start, hop.end) for hop in hops]
    )
    return tuple(
        Mark(
            place=places[n],
            step=steps[n],
            at=at,
            anchor=is_anchor(steps[n]),
            stop=n == len(steps) - 1,
        )
        for n, at in zip(order, stands, strict=True)
    )


def matrix_of(
    connection: Connection, document: str, *, corpus: str | None, suffix: str
) -> bytes | str:
    """Draw the similarity matrix of a document, by its title, alias or id.

    Raises `InputError` if there is no such document, or it has no chunks or too many.
    """
    found = find_document(connection, document, corpus=corpus)
    if found.chunks > MAX_CHUNKS:
        raise InputError(
            f"{found.title!r} has {found.chunks} chunks, a matrix is made of "
            f"{MAX_CHUNKS} at most: use knowtrail view graph."
        )
    passages = read_sample(connection, [found.id])
    if not passages.rows:
        msg = f"{found.title!r} has no chunks with vectors: ingest it first."
        raise InputError(msg)
    panel = panel_of(passages)
    said = Heading(
        title=found.title,
        about=(
            f"How similar its {len(passages.rows)} chunks are to each other, in the "
            f"order of the text.{pooling(panel.grid)}"
        ),
    )
    return path_picture([panel], said, suffix)


def chunks_of(
    connection: Connection, ids: Sequence[str], heading: Heading, *, suffix: str
) -> bytes | str:
    """Draw how similar to each other those of some chunks are that are left."""
    found = read_passages(connection, ids)
    if not found.rows:
        msg = "None of these chunks is left to draw: make the contexts again."
        raise InputError(msg)
    order = {key: place for place, key in enumerate(ids)}
    panel = panel_of(found.ordered(lambda row: order[row.id]))
    return path_picture([panel], heading, suffix)


def path_of(
    connection: Connection, walk: Walk, *, layout: str, suffix: str
) -> bytes | str:
    """Draw a walk over the similarities of the documents that it visited.

    The layout is `global`, `sequential` or `windowed`, the suffix `.html`, `.png` or
    `.svg`. Raises `InputError` if no chunk is left, or the documents are too long.
    """
    visited = read_visited(connection, walk)
    if layout == "global":
        panels: Sequence[Panel] = (global_panel(walk, visited),)
        note = pooling(panels[0].grid)
    else:
        windowed = layout == "windowed"
        panels = (windowed_panels if windowed else sequential_panels)(walk, visited)
        between = any(panel.arrival is not None for panel in panels)
        note = " Beside an arrow between windows: the cosine." if between else ""
    return path_picture(panels, heading(walk, note), suffix)

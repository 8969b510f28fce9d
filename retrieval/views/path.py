"""A walk laid over the similarities of the documents that it visited.

A step lies on the diagonal. A hop leads from its step along the row to the cell of the
two chunks, whose colour is how similar they are, and from there to the next step.
The *global* picture has the whole of every visited document side by side; the
*sequential* one follows the walk from window to window, as far as it stays near.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from graph.errors import InputError
from retrieval.views.grid import MAX_CELLS, similarity_grid
from retrieval.views.reading import (
    MAX_CHUNKS,
    Passages,
    read_sample,
    segments_of,
)
from retrieval.views.walks import GONE, has_edge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graph.connection import Connection
    from retrieval.views.grid import Grid
    from retrieval.walk import Step, Walk

__all__ = ["Hop", "Mark", "Panel", "global_panel", "read_visited", "sequential_panels"]

AROUND = 3
"""Chunks shown on both sides of a window."""

FAR = 8
"""A hop over more chunks than this begins a new window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One or more steps at nearly the same place of the diagonal.

    Attributes:
        place: Where, in cells.
        steps: The steps, in the order of the walk.
        anchor: Whether the walk started here.
        stop: Whether it ended here.
    """

    place: float
    steps: tuple[Step, ...]
    anchor: bool
    stop: bool

    @property
    def label(self) -> str:
        """Return the numbers of the steps, runs of them shortened."""
        runs: list[list[int]] = []
        for number in (step.index for step in self.steps):
            if runs and runs[-1][-1] + 1 == number:
                runs[-1].append(number)
            else:
                runs.append([number])
        return ",".join(
            "\N{EN DASH}".join(map(str, dict.fromkeys((run[0], run[-1]))))
            for run in runs
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """An edge that was followed, from one place of the diagonal to another."""

    start: float
    end: float
    jump: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One matrix with the part of a walk that lies on it.

    Attributes:
        grid: The matrix.
        texts: The beginning of the first chunk of each cell.
        marks: The steps.
        hops: The hops between them.
        arrival: Cosine of the first chunk to the last of the panel before; None for
            the first panel, or where no edge leads here.
    """

    grid: Grid
    texts: tuple[str, ...]
    marks: tuple[Mark, ...]
    hops: tuple[Hop, ...]
    arrival: float | None = None


def read_visited(connection: Connection, walk: Walk) -> Passages:
    """Return all chunks of the documents that a walk visited, in its order.

    Raises:
        InputError: If none is left, or they are more than a matrix is made of.
    """
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
        msg = (
            f"The visited documents have {len(found.rows)} chunks, a matrix is made of "
            f"{MAX_CHUNKS} at most: use knowtrail view graph."
        )
        raise InputError(msg)
    sort = sorted(
        range(len(found.rows)),
        key=lambda i: (order[found.rows[i].document], found.rows[i].index),
    )
    return Passages(
        rows=tuple(found.rows[i] for i in sort), vectors=found.vectors[sort]
    )


def global_panel(walk: Walk, visited: Passages, *, most: int = MAX_CELLS) -> Panel:
    """Return the whole walk over the whole of its documents.

    Args:
        walk: The walk.
        visited: All chunks of its documents, see `read_visited`.
        most: Cells on a side at most.
    """
    return _panel(visited, walk.steps, range(len(walk.steps)), most=most)


def sequential_panels(walk: Walk, visited: Passages) -> tuple[Panel, ...]:
    """Return the walk window by window.

    Args:
        walk: The walk.
        visited: All chunks of its documents, see `read_visited`.
    """
    rows = {(row.document, row.index): n for n, row in enumerate(visited.rows)}
    panels: list[Panel] = []
    last: int | None = None
    for numbers in _windows(walk.steps):
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
        if last is not None and has_edge(walk.steps, numbers[0]):
            arrival = _cosine(visited, last, first)
        part = Passages(
            rows=tuple(visited.rows[i] for i in window), vectors=visited.vectors[window]
        )
        panels.append(_panel(part, walk.steps, numbers, arrival=arrival))
        last = rows.get((document, steps[-1].index))
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
        )
        if near:
            windows[-1].append(number)
        else:
            windows.append([number])
    return windows


def _panel(
    passages: Passages,
    steps: tuple[Step, ...],
    numbers: Sequence[int],
    *,
    most: int = MAX_CELLS,
    arrival: float | None = None,
) -> Panel:
    """Put steps on a matrix."""
    grid = similarity_grid(passages.vectors, segments_of(passages.rows), most=most)
    texts = {(row.document, row.index): row.text for row in passages.rows}
    spans = [grid.span(cell) for cell in range(len(grid.values))]
    places = {
        n: place
        for n in numbers
        if (place := grid.place(steps[n].chunk.document_id, steps[n].chunk.index))
        is not None
    }
    return Panel(
        grid=grid,
        texts=tuple(texts[segment.document, first] for segment, first, _ in spans),
        marks=_marks(steps, places, gap=0.024 * len(grid.values)),
        hops=tuple(
            Hop(
                start=places[n - 1],
                end=places[n],
                jump=steps[n - 1].chunk.document_id != steps[n].chunk.document_id,
            )
            for n in numbers
            if n in places and n - 1 in places and has_edge(steps, n)
        ),
        arrival=arrival,
    )


def _marks(
    steps: tuple[Step, ...], places: dict[int, float], *, gap: float
) -> tuple[Mark, ...]:
    """Join steps whose marks would cover each other."""
    groups: list[list[int]] = []
    for number in sorted(places, key=lambda n: (places[n], n)):
        if groups and places[number] - places[groups[-1][0]] < gap:
            groups[-1].append(number)
        else:
            groups.append([number])
    return tuple(
        Mark(
            place=float(np.mean([places[n] for n in group])),
            steps=tuple(steps[n] for n in sorted(group)),
            anchor=any(steps[n].index == 0 for n in group),
            stop=len(steps) - 1 in group,
        )
        for group in groups
    )


def _cosine(passages: Passages, one: int, other: int) -> float:
    """Return the cosine of two rows."""
    a, b = passages.vectors[one], passages.vectors[other]
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))

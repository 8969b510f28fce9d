"""Walks over matrices: every step at its place, every hop between two of them."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from itertools import chain, combinations, pairwise
from typing import TYPE_CHECKING

from knowtrail.retrieval.views.layout import numbers_beside
from knowtrail.retrieval.views.matrix import (
    global_panel,
    sequential_panels,
    windowed_panels,
)
from knowtrail.retrieval.views.walks import GONE, heading, stop_words
from tests.cases import each

if TYPE_CHECKING:
    from knowtrail.retrieval.views.reading import Passages
    from knowtrail.retrieval.walk import Walk


def test_whole_walk_is_on_the_global_picture(walk: Walk, visited: Passages) -> None:
    """Each step has one mark, the first at the anchor, the last where it ended."""
    panel = global_panel(walk, visited)

    numbers = sorted(mark.step.index for mark in panel.marks)
    (anchor,) = (mark for mark in panel.marks if mark.anchor)
    (stop,) = (mark for mark in panel.marks if mark.stop)
    assert numbers == [step.index for step in walk.steps]
    assert walk.steps[0] == anchor.step
    assert walk.steps[-1] == stop.step


def test_every_anchor_is_marked(walk: Walk, visited: Passages) -> None:
    """A walk from two anchors has two marks of a start; a ranking has one."""
    second = replace(walk.steps[2], hop=0, reason="anchor")
    ranked = replace(walk.steps[2], hop=0, reason="nearest to the question")
    found = []
    for third in (second, ranked):
        steps = (*walk.steps[:2], third, *walk.steps[3:])
        panel = global_panel(replace(walk, steps=steps), visited)
        found.append(sorted(m.step.index for m in panel.marks if m.anchor))

    assert found == [[0, 2], [0]]


def test_hops_are_those_of_the_walk(walk: Walk, visited: Passages) -> None:
    """A hop leads from step to step, and is a jump where the document changes."""
    panel = global_panel(walk, visited)

    places = [panel.grid.place(s.chunk.document_id, s.chunk.index) for s in walk.steps]
    titles = [s.chunk.document_id for s in walk.steps]
    assert [(h.start, h.end) for h in panel.hops] == list(pairwise(places))
    assert [h.jump for h in panel.hops] == [a != b for a, b in pairwise(titles)]


def test_windows_follow_the_walk(walk: Walk, visited: Passages) -> None:
    """The windows together have every step once, in order, each one document."""
    panels = sequential_panels(walk, visited)

    steps = [sorted(mark.step.index for mark in panel.marks) for panel in panels]
    assert list(chain.from_iterable(steps)) == [step.index for step in walk.steps]
    assert len(panels) > 1
    assert all(len({s.document for s in p.grid.segments}) == 1 for p in panels)
    assert panels[0].arrival is None
    assert all(p.arrival is not None and -1 <= p.arrival <= 1 for p in panels[1:])


def test_each_document_has_one_window(walk: Walk, visited: Passages) -> None:
    """It reaches three chunks beyond its first and last step, and has all its steps."""
    panels = windowed_panels(walk, visited)

    assert len(panels) == len({step.chunk.document_id for step in walk.steps})
    for panel in panels:
        (segment,) = panel.grid.segments
        seen = [mark.step.chunk.index for mark in panel.marks]
        assert segment.first == max(0, min(seen) - 3)
        assert segment.first + segment.length <= max(seen) + 4
    assert sum(len(panel.marks) for panel in panels) == len(walk.steps)


def test_ranking_has_no_hops(walk: Walk, visited: Passages) -> None:
    """A walk that follows no edges has marks and neither hops nor arrivals."""
    ranked = replace(walk, steps=tuple(replace(s, hop=0) for s in walk.steps))

    assert global_panel(ranked, visited).hops == ()
    assert {p.arrival for p in sequential_panels(ranked, visited)} == {None}


def test_steps_whose_chunk_is_gone_are_left_out(walk: Walk, visited: Passages) -> None:
    """A deleted chunk is in no picture, and the heading says so."""
    first = walk.steps[0]
    chunk = replace(first.chunk, index=GONE)
    torn = replace(walk, steps=(replace(first, chunk=chunk), *walk.steps[1:]))

    panel = global_panel(torn, visited)

    assert len(panel.marks) == len(walk.steps) - 1
    assert "Not shown: 1 step whose" in heading(torn).about


def test_unknown_stop_reason_is_shown_as_it_is() -> None:
    """A walk recorded by another version has a picture too."""
    assert stop_words("<new>") == "<new>"
    assert stop_words("max_hops") == "the hop limit was reached"


def test_numbers_hide_no_hop_between_neighbours() -> None:
    """A hop is shorter than a number is wide: that stands beside, near its place."""
    places = [float(n) for n in (40, 41, 42, 43, 90)]
    hops = [*pairwise(places)]
    gap = 0.033 * 97

    stands = numbers_beside(places, gap, 97, hops)

    seen = [*((place, place) for place in places), *((b, a) for a, b in hops)]
    hidden = [
        at
        for at in stands[:4]
        for x, y in seen
        if max(abs(at[0] - x), abs(at[1] - y)) < 0.4 * gap
    ]
    away = [math.dist(at, (p, p)) for at, p in zip(stands, places, strict=True)]
    assert hidden == []
    assert stands[4] == (90.0, 90.0)
    assert max(away) < 4 * gap


def test_a_walk_in_one_window_has_its_numbers_on_the_steps(
    walk: Walk, visited: Passages
) -> None:
    """There is as much room as in the whole picture of a document."""
    held = [row.document for row in visited.rows]
    document = max(held, key=held.count)
    chunk = replace(walk.steps[0].chunk, document_id=document)
    steps = tuple(
        replace(walk.steps[0], index=n, chunk=replace(chunk, index=n + 3))
        for n in range(4)
    )

    (panel,) = sequential_panels(replace(walk, steps=steps), visited)

    assert len(panel.grid.values) == 10
    assert [mark.step.index for mark in panel.marks if not mark.aside] == [0, 1, 2, 3]


@each(("side", "apart"), [(7, 1 / 9), (15, 1 / 9), (60, 0.033), (200, 0.033)])
def test_numbers_stand_in_the_matrix_and_apart(side: int, apart: float) -> None:
    """Also those of many steps at a corner; none is outside, none covers another."""
    rng = random.Random(7)
    gap = apart * side
    for _ in range(200):
        middle = rng.choice([0, side - 1, rng.randrange(side)])
        near = range(max(0, middle - 2), min(side, middle + 3))
        places = sorted(float(rng.choice(near)) for _ in range(rng.randrange(1, 8)))

        stands = numbers_beside(places, gap, side)

        assert all(-0.5 < x < side - 0.5 for at in stands for x in at), places
        pairs = list(combinations(stands, 2))
        near = [max(abs(a - c), abs(b - d)) for (a, b), (c, d) in pairs]
        assert all(distance >= 0.4 * gap for distance in near), (places, stands)

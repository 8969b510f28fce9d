"""Walks over matrices: every step at its place, every hop between two of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, pairwise
from typing import TYPE_CHECKING

import pytest

from retrieval.views.path import Mark, global_panel, sequential_panels
from retrieval.views.walks import GONE, heading, stop_words

if TYPE_CHECKING:
    from retrieval.views.reading import Passages
    from retrieval.walk import Walk


def test_whole_walk_is_on_the_global_picture(walk: Walk, visited: Passages) -> None:
    """Each step is in one mark, the first at the anchor, the last where it ended."""
    panel = global_panel(walk, visited)

    numbers = sorted(step.index for mark in panel.marks for step in mark.steps)
    (anchor,) = (mark for mark in panel.marks if mark.anchor)
    (stop,) = (mark for mark in panel.marks if mark.stop)
    assert numbers == [step.index for step in walk.steps]
    assert walk.steps[0] in anchor.steps
    assert walk.steps[-1] in stop.steps


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

    steps = [
        sorted(step.index for mark in panel.marks for step in mark.steps)
        for panel in panels
    ]
    assert list(chain.from_iterable(steps)) == [step.index for step in walk.steps]
    assert len(panels) > 1
    assert all(len({s.document for s in p.grid.segments}) == 1 for p in panels)
    assert panels[0].arrival is None
    assert all(p.arrival is not None and -1 <= p.arrival <= 1 for p in panels[1:])


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

    assert sum(len(mark.steps) for mark in panel.marks) == len(walk.steps) - 1
    assert "Not shown: 1 step whose" in heading(torn).about


@pytest.mark.parametrize(
    ("numbers", "label"),
    [([0], "0"), ([0, 1, 2], "0\u20132"), ([1, 4, 5, 9], "1,4\u20135,9")],
)
def test_mark_names_its_steps(walk: Walk, numbers: list[int], label: str) -> None:
    """Runs of steps are shortened."""
    steps = tuple(replace(walk.steps[0], index=n) for n in numbers)

    assert Mark(place=0, steps=steps, anchor=False, stop=False).label == label


def test_unknown_stop_reason_is_shown_as_it_is() -> None:
    """A walk recorded by another version has a picture too."""
    assert stop_words("<new>") == "<new>"
    assert stop_words("max_hops") == "the hop limit was reached"

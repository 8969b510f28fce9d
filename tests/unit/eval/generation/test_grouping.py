"""The four groupings of chunks, and how many contexts there are of each."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from knowtrail.eval.generation import GroupPlan, WalkParameters, context_groups
from knowtrail.eval.generation.contexts import gather, shares
from knowtrail.graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowtrail.eval.generation.contexts import ContextChunk, Gathered
    from tests.unit.eval.generation.conftest import MemoryContexts


def _gathered(
    grouping: str, source: MemoryContexts, anchor: str, **sizes: int | bool
) -> Gathered:
    parameters = WalkParameters(**sizes)  # type: ignore[arg-type]
    return gather(
        grouping, source, anchor, parameters=parameters, chance=random.Random(1)
    )


def test_intra_document_takes_chunks_without_overlap(source: MemoryContexts) -> None:
    """The strongest edges to chunks that share no sentence are followed."""
    found = _gathered("intra_document", source, "d0c0")

    assert [chunk.id for chunk in found.chunks] == ["d0c0", "d0c3"]
    assert [s.index for s in found.sentences] == [0, 1, 2, 3, 4, 5]


def test_last_chunk_is_cut_at_the_limit(source: MemoryContexts) -> None:
    """A context has no more sentences than it may."""
    found = _gathered("intra_document", source, "d0c0", max_sentences=4)

    assert [s.index for s in found.sentences] == [0, 1, 2, 3]


def test_theme_based_prefers_the_document_of_like_themes(
    source: MemoryContexts,
) -> None:
    """A weaker edge into the themed document beats a stronger one elsewhere."""
    found = _gathered("theme_based", source, "d0c1", max_sentences=6)

    assert [chunk.id for chunk in found.chunks] == ["d0c1", "d2c1"]
    assert found.fallbacks == 0


def test_theme_based_falls_back_to_any_document(source: MemoryContexts) -> None:
    """Where the themed document is read already, the best other one will do."""
    found = _gathered("theme_based", source, "d0c1", max_sentences=9)

    assert [chunk.id for chunk in found.chunks] == ["d0c1", "d2c1", "d3c1"]
    assert found.fallbacks == 1


def test_theme_based_ends_without_fallback(source: MemoryContexts) -> None:
    """Without the fallback the walk ends where themes lead nowhere."""
    found = _gathered("theme_based", source, "d0c1", fallback=False)

    assert [chunk.id for chunk in found.chunks] == ["d0c1", "d2c1"]


def test_sequential_reads_on_and_crosses_documents(source: MemoryContexts) -> None:
    """Three documents are read in, five sentences in each, along NEXT_CHUNK."""
    found = _gathered("sequential_multi_hop", source, "d0c0")

    assert [chunk.id for chunk in found.chunks] == [
        *("d0c0", "d0c1", "d0c2"),
        *("d2c2", "d2c3", "d2c4"),
        *("d3c4", "d3c5"),
    ]
    assert [s.document for s in found.sentences].count("d2") == 5


def test_native_takes_chunks_of_different_documents(source: MemoryContexts) -> None:
    """Three documents, ten sentences at most, and nothing else in common."""
    found = _gathered("deepeval_native", source, "d0c0")

    assert len({chunk.document for chunk in found.chunks}) == 3
    assert len(found.sentences) == 9


def test_shares_are_rounded_down_and_the_heaviest_gets_the_rest() -> None:
    """The parts add up to the whole."""
    assert shares(10, {"a": 0.33, "b": 0.33, "c": 0.33, "d": 0.2}) == {
        "a": 4,
        "b": 2,
        "c": 2,
        "d": 1,
    } | {"a": 10 - 2 - 2 - 1}


def test_another_anchor_is_tried_where_one_leaves_the_rule(
    source: MemoryContexts,
) -> None:
    """Of the anchors that give a context, one that keeps to the rule is taken."""
    anchors = [chunk for chunk, _ in source.chunk_ids()]
    sizes = WalkParameters(max_sentences=6, theme_targets=1)
    plan = GroupPlan(
        goldens=10, weights={"theme_based": 1, "sequential_multi_hop": 1}, sizes=sizes
    )

    groups = context_groups(_Strays(source, anchors[::2]), plan).groups

    themed = [g.fallbacks for g in groups if g.grouping == "theme_based"]
    read = [len(g.documents) for g in groups if g.grouping == "sequential_multi_hop"]
    assert (themed, read) == ([0] * 5, [3] * 5)


class _Strays:
    """A corpus in which themes lead nowhere from some of the chunks."""

    def __init__(self, source: MemoryContexts, strays: list[str]) -> None:
        self._source, self._strays = source, strays

    def chunk_ids(self) -> Sequence[tuple[str, str]]:
        return self._source.chunk_ids()

    def open(self, chunk_id: str) -> ContextChunk:
        chunk = self._source.open(chunk_id)
        return replace(chunk, themed=()) if chunk_id in self._strays else chunk


def test_a_seed_repeats_the_groups(source: MemoryContexts) -> None:
    """The same seed gives the same groups, another one others."""
    plan = GroupPlan(goldens=8, seed=3)

    groups = context_groups(source, plan).groups

    assert groups == context_groups(source, plan).groups
    assert groups != context_groups(source, GroupPlan(goldens=8, seed=4)).groups
    assert {group.grouping for group in groups} == set(plan.weights)


def test_groups_hold_what_they_are_made_of(source: MemoryContexts) -> None:
    """Documents, titles and sentences of a group belong together."""
    (group,) = context_groups(
        source, GroupPlan(goldens=1, weights={"sequential_multi_hop": 1.0})
    ).groups

    assert list(group.documents) == list(
        dict.fromkeys(s.document for s in group.sentences)
    )
    assert len(group.titles) == len(group.documents) == 3
    assert group.hops == len(group.chunks) - 1
    assert " ".join(group.passages()) == " ".join(s.text for s in group.sentences)


def test_groups_that_cannot_be_made_are_counted(source: MemoryContexts) -> None:
    """A grouping that crosses documents finds none where there is only one."""
    plan = GroupPlan(
        goldens=4,
        weights={"theme_based": 1.0},
        sizes=WalkParameters(max_sentences=1),
    )

    grouped = context_groups(source, plan)

    assert grouped.groups == ()
    assert grouped.missing == {"theme_based": 4}


@pytest.mark.parametrize(
    "wrong",
    [
        {"goldens": 0},
        {"goldens_per_context": 0},
        {"weights": {"inter_document": 1.0}},
        {"weights": {"theme_based": -1.0}},
        {"weights": {"theme_based": 0.0}},
    ],
)
def test_plans_that_make_no_sense_are_refused(wrong: dict[str, object]) -> None:
    """Numbers out of range and unknown groupings are the user's to mend."""
    with pytest.raises(InputError):
        GroupPlan(**wrong)  # type: ignore[arg-type]


def test_an_unknown_grouping_is_told(source: MemoryContexts) -> None:
    """The message has those that there are."""
    with pytest.raises(InputError, match="No grouping 'nope': use one of intra_doc"):
        _gathered("nope", source, "d0c0")

"""How many contexts of which grouping, from which anchors: seeded, and each kept."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eval.generation.contexts import ContextGroup
from eval.generation.walks import GROUPINGS, WalkParameters, gather
from graph.errors import InputError
from ingest.keys import content_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eval.generation.contexts import ContextSource
    from eval.generation.walks import Gathered
    from graph.progress import Progress

__all__ = ["DEFAULT_WEIGHTS", "GroupPlan", "Grouped", "context_groups", "shares"]

DEFAULT_WEIGHTS = {
    "intra_document": 0.33,
    "theme_based": 0.33,
    "sequential_multi_hop": 0.33,
    "deepeval_native": 0.2,
}
"""Grouping -> its share of the contexts, as published."""

ANCHORS_A_GROUP = 20
"""Anchors that are tried for one group before it is given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPlan:
    """Which contexts are wanted.

    Attributes:
        goldens: Questions wanted.
        goldens_per_context: Questions asked about one context, at most.
        weights: Grouping -> its share of the contexts.
        seed: Repeats every random choice.
        sizes: Sizes of contexts.
    """

    goldens: int = 10
    goldens_per_context: int = 1
    weights: Mapping[str, float] = field(default_factory=lambda: dict(DEFAULT_WEIGHTS))
    seed: int = 0
    sizes: WalkParameters = field(default_factory=WalkParameters)

    def __post_init__(self) -> None:
        """Check names and numbers.

        Raises:
            InputError: If one is out of range or unknown.
        """
        for name, most in (("goldens", 100_000), ("goldens_per_context", 100)):
            value = getattr(self, name)
            if isinstance(value, bool) or not 1 <= value <= most:
                msg = f"{name} is {value!r}: give a whole number from 1 to {most:,}."
                raise InputError(msg)
        unknown = [name for name in self.weights if name not in GROUPINGS]
        if unknown:
            msg = f"No grouping {unknown[0]!r}: use one of {', '.join(GROUPINGS)}."
            raise InputError(msg)
        wrong = [w for w in self.weights.values() if not math.isfinite(w) or w < 0]
        if wrong or not sum(self.weights.values()) > 0:
            msg = (
                f"The weights of groupings are {dict(self.weights)}: give numbers of "
                "0 or more, not all 0."
            )
            raise InputError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouped:
    """The contexts that were found.

    Attributes:
        groups: In the order in which they are asked about.
        missing: Grouping -> how many contexts were wanted and not found.
    """

    groups: tuple[ContextGroup, ...]
    missing: Mapping[str, int]


def shares(count: int, weights: Mapping[str, float]) -> dict[str, int]:
    """Divide a number by weights, rounded down; the heaviest gets what is left.

    Args:
        count: What is divided.
        weights: Name -> weight, not all 0.
    """
    total = sum(weights.values())
    parts = {name: int(count * weight / total) for name, weight in weights.items()}
    heaviest = max(weights, key=lambda name: weights[name])
    parts[heaviest] += count - sum(parts.values())
    return {name: part for name, part in parts.items() if part}


def context_groups(
    source: ContextSource, plan: GroupPlan, *, progress: Progress | None = None
) -> Grouped:
    """Make the contexts of a plan; the same seed and corpus give the same.

    A context of one chunk, or, where a grouping crosses documents, of one document, is
    not taken, nor is one that was made before: another anchor is tried.

    Args:
        source: Where chunks come from.
        plan: What is wanted.
        progress: Told of each context.
    """
    ids = source.chunk_ids()
    count = math.ceil(plan.goldens / plan.goldens_per_context)
    count = min(len(ids), count)
    chance = random.Random(f"groups:{plan.seed}")  # noqa: S311 - no secret
    wanted = [name for name, n in shares(count, plan.weights).items() for _ in range(n)]
    chance.shuffle(wanted)
    # Further anchors come after those that each group gets first.
    anchors = _Anchors(ids, chance)
    groups: dict[str, ContextGroup] = {}
    missing: dict[str, int] = {}
    for number, grouping in enumerate(wanted, start=1):
        group = _group(source, grouping, anchors, plan.sizes, groups)
        if group is None:
            missing[grouping] = missing.get(grouping, 0) + 1
        else:
            groups[group.id] = group
        if progress is not None:
            progress("making contexts", number, len(wanted))
    return Grouped(groups=tuple(groups.values()), missing=missing)


class _Anchors:
    """Chunks at random, each once until all were taken."""

    def __init__(self, ids: Sequence[tuple[str, str]], chance: random.Random) -> None:
        self.chance = chance
        self._ids = ids
        self._left: list[int] = []

    def next(self) -> str:
        """Return the next anchor."""
        if not self._left:
            self._left = self.chance.sample(range(len(self._ids)), len(self._ids))
        return self._ids[self._left.pop()][0]


def _group(
    source: ContextSource,
    grouping: str,
    anchors: _Anchors,
    sizes: WalkParameters,
    known: Mapping[str, ContextGroup],
) -> ContextGroup | None:
    """Return a new group of a grouping, None where no anchor gives one."""
    for _ in range(ANCHORS_A_GROUP):
        found = gather(
            grouping,
            source,
            anchors.next(),
            parameters=sizes,
            chance=anchors.chance,
        )
        group = _as_group(grouping, found)
        one_document = len(group.documents) < 2
        too_small = len(found.chunks) < 2
        if grouping != "intra_document":
            too_small = one_document
        if not too_small and group.id not in known:
            return group
    return None


def _as_group(grouping: str, found: Gathered) -> ContextGroup:
    """Return what was gathered as a group."""
    kept = {sentence.document for sentence in found.sentences}
    titles = {c.document: c.title for c in found.chunks if c.document in kept}
    return ContextGroup(
        id=content_key("context", grouping, *(s.id for s in found.sentences)),
        grouping=grouping,
        chunks=tuple(dict.fromkeys(chunk.id for chunk in found.chunks)),
        documents=tuple(titles),
        titles=tuple(titles.values()),
        sentences=tuple(found.sentences),
        hops=len(found.chunks) - 1,
        fallbacks=found.fallbacks,
    )

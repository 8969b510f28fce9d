"""Where walks start: one chunk, or several of different documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from knowtrail.retrieval.algorithms.asking import Ranking
    from knowtrail.retrieval.algorithms.harvest import Harvest
    from knowtrail.retrieval.protocols import Walking
    from knowtrail.retrieval.walk import RankedChunk, StopReason

_FARTHEST = 800
"""Chunks that are read at most to find anchors of different documents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What the walk from one anchor may use: totals at its end, None for no limit."""

    sentences: int | None
    chunks: int | None
    hops: int


def shares(harvest: Harvest, *, left: int) -> Share | None:
    """Return the next anchor's part of what is left; None where a budget is used up."""
    options = harvest.options
    sentences = _part(_enough(harvest), harvest.found, left)
    chunks = _part(options.max_chunks, harvest.fruitful, left)
    if sentences == harvest.found or chunks == harvest.fruitful:
        return None
    used = harvest.hops
    return Share(
        sentences=sentences, chunks=chunks, hops=-((used - options.max_hops) // left)
    )


def _part(whole: int | None, used: int, left: int) -> int | None:
    """Return up to where a budget may be used, rounding a part up."""
    if whole is None:
        return None
    return used - min(0, (used - whole) // left)


def spent(harvest: Harvest) -> StopReason | None:
    """Return which budget of the whole walk is used up, or None."""
    options = harvest.options
    full = harvest.full(_enough(harvest), options.max_chunks)
    if full is None and harvest.hops >= options.max_hops:
        return "max_hops"
    return full


def _enough(harvest: Harvest) -> int | None:
    """Return the sentences at which the whole walk ends."""
    rules = harvest.rules
    return harvest.options.max_sentences if rules.enough is None else rules.enough


def read_anchors(ranking: Ranking, wanted: int) -> Walking[list[RankedChunk]]:
    """Read the ranking and return the chunks to start from, nearest first.

    It is read until there are as many documents as anchors, or `_FARTHEST` chunks; of
    several anchors only the nearer half of what was read is taken, as all readers agree
    on it.
    """
    while True:
        yield from ranking.read()
        read = ranking.ranked
        if wanted == 1 or ranking.complete:
            return list(read)
        pool = read[: max(wanted, len(read) // 2)]
        documents = {ranking.documents.get(hit.id) for hit in pool}
        if len(documents) >= wanted or len(read) >= _FARTHEST:
            return list(pool)


def in_turn(
    hits: list[RankedChunk], documents: Mapping[str, str], walked: Collection[str]
) -> list[RankedChunk]:
    """Return anchors in the order of their use.

    The best chunk of each document that has not been walked in comes first, then the
    best of the rest.
    """
    best = {documents.get(hit.id, hit.id): hit.id for hit in reversed(hits)}
    first = {chunk_id for document, chunk_id in best.items() if document not in walked}
    return sorted(hits, key=lambda hit: hit.id not in first)

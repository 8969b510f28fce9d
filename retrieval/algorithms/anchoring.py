"""Where walks start: one chunk, or several of different documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from retrieval.protocols import anchor_hits

if TYPE_CHECKING:
    from retrieval.algorithms.asking import Ranking
    from retrieval.algorithms.harvest import Harvest
    from retrieval.walk import RankedChunk

__all__ = ["Share", "pick_anchors", "shares"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What the walk from one anchor may use.

    Attributes:
        sentences: How many sentences there may be when it ends; None for any number.
        chunks: How many chunks with new sentences there may be then.
        hops: Edges that it may follow.
    """

    sentences: int | None
    chunks: int | None
    hops: int


def shares(harvest: Harvest, *, left: int) -> Share | None:
    """Return the next anchor's part of what is left of the budgets.

    Args:
        harvest: What has been used.
        left: Anchors that have not been walked from, the next one among them.

    Returns:
        The share; None where a budget is used up.
    """
    options, rules = harvest.options, harvest.rules
    enough = options.max_sentences if rules.enough is None else rules.enough
    sentences = _part(enough, harvest.found, left)
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


def pick_anchors(ranking: Ranking, wanted: int) -> list[RankedChunk]:
    """Return the chunks to start from, best first.

    The best chunk of each document comes first, then the best of the rest. Only the
    nearer half of the chunks that a reader returns is looked at, as all readers agree
    on it; none of them is far from the question.

    Args:
        ranking: The ranking, read once.
        wanted: How many anchors there should be.
    """
    pool = ranking.ranked[: max(wanted, anchor_hits(wanted) // 2)]
    if wanted == 1:
        return list(pool[:1])
    best = {ranking.documents.get(hit.id, hit.id): hit for hit in reversed(pool)}
    first = {hit.id for hit in best.values()}
    return sorted(pool, key=lambda hit: hit.id not in first)[:wanted]

"""The loop that walking algorithms share: anchor, open, choose, move.

An algorithm supplies one function that looks at a `Position` and either names the
chunk to go to or says why to stop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from retrieval.algorithms.asking import Ranking, ask_visits
from retrieval.algorithms.harvest import Harvest
from retrieval.cosine import cosines
from retrieval.protocols import Candidates
from retrieval.walk import RankedChunk, StopReason

if TYPE_CHECKING:
    from retrieval.protocols import Vector, Visit, Walking, WalkOptions
    from retrieval.walk import Trail

__all__ = ["Choose", "Position", "hop_walk"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Position:
    """Where a walk stands when it must choose.

    Attributes:
        query: The question's vector.
        visit: The chunk it is at.
        candidates: Its unvisited out-neighbours; never empty.
        scores: Cosines of the candidates and the question.
        found: Sentences found so far.
        best: Highest cosine of a sentence found.
    """

    query: Vector
    visit: Visit
    candidates: Candidates
    scores: Vector
    found: int
    best: float


Choose: TypeAlias = Callable[[Position], RankedChunk | StopReason]
"""Name the next chunk, with its cosine to the question, or a reason to stop."""


def hop_walk(query: Vector, options: WalkOptions, choose: Choose) -> Walking[Trail]:
    """Walk from the anchor along SIMILAR_TO edges until something says stop.

    The tests come in this order after each visit: budgets, hop limit, dead end, then
    whatever `choose` decides. A chunk deleted meanwhile is passed over.

    Args:
        query: The question's vector.
        options: Budgets and the hop limit.
        choose: The algorithm's decision at each position.

    Returns:
        The trail; its ranking is that of the anchors.
    """
    harvest = Harvest(query, options)
    ranking = Ranking(query)
    here = yield from _open_anchor(ranking)
    hop = 0
    while here is not None:
        hit, visit = here
        harvest.gather(visit, score=hit.score, hop=hop)
        if reason := harvest.full():
            return harvest.trail(reason, ranking.ranked)
        if hop >= options.max_hops:
            return harvest.trail("max_hops", ranking.ranked)
        move = yield from _move(harvest, visit, choose)
        if isinstance(move, str):
            return harvest.trail(move, ranking.ranked)
        here = move
        hop += 1
    return harvest.trail("no_anchor", ranking.ranked)


def _open_anchor(ranking: Ranking) -> Walking[tuple[RankedChunk, Visit] | None]:
    """Open the chunk nearest to the question; None where there is no chunk."""
    while (hit := (yield from ranking.next())) is not None:
        visits = yield from ask_visits((hit.id,))
        if hit.id in visits:
            return hit, visits[hit.id]
    return None


def _move(
    harvest: Harvest, visit: Visit, choose: Choose
) -> Walking[tuple[RankedChunk, Visit] | StopReason]:
    """Choose among the unvisited neighbours and open the chosen one."""
    if not visit.neighbours.ids:
        return "no_connections"
    while (candidates := _unvisited(visit, harvest.visited)).ids:
        scores = cosines(harvest.query, candidates.vectors)
        harvest.consider(candidates, scores)
        choice = choose(
            Position(
                query=harvest.query,
                visit=visit,
                candidates=candidates,
                scores=scores,
                found=harvest.found,
                best=harvest.best,
            )
        )
        if isinstance(choice, str):
            return choice
        visits = yield from ask_visits((choice.id,))
        if choice.id in visits:
            return choice, visits[choice.id]
        harvest.visited.add(choice.id)
    return "no_unvisited_chunk"


def _unvisited(visit: Visit, visited: set[str]) -> Candidates:
    """Return the neighbours that the walk has not been at."""
    around = visit.neighbours
    rows = [i for i, chunk_id in enumerate(around.ids) if chunk_id not in visited]
    return Candidates(
        ids=tuple(around.ids[i] for i in rows), vectors=around.vectors[rows]
    )

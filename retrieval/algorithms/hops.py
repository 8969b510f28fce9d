"""The loop that walking algorithms share: anchor, open, choose, move.

An algorithm supplies one function that looks at a `Position` and either names the chunk
to go to or says why to stop; `knowtrail.retrieval.algorithms.best_first` makes it of a
way to score candidates. A walk starts at one chunk, or at several of different
documents, between which its budgets are shared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from knowtrail.retrieval.algorithms.asking import Ranking, ask_visits
from knowtrail.retrieval.algorithms.harvest import Harvest
from knowtrail.retrieval.cosine import cosines
from knowtrail.retrieval.protocols import Candidates, Vector, Visit, Walking
from knowtrail.retrieval.walk import StopReason

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from knowtrail.retrieval.algorithms.harvest import ScoreOf
    from knowtrail.retrieval.algorithms.rules import Rules
    from knowtrail.retrieval.protocols import WalkOptions
    from knowtrail.retrieval.walk import RankedChunk, Trail

_FINAL: frozenset[StopReason] = frozenset({"model_stopped", "time_limit"})
"""Reasons that end a walk whatever anchors are left."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sight:
    """What a score may be made of, its cosines worked out once.

    The query and the current chunk's vector have shape (d,), those to be scored (n, d).
    """

    query: Vector
    here: Vector
    nearness: float
    vectors: Vector
    scores: Vector


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Position:
    """Where a walk stands when it must choose.

    `around` are the out-neighbours as the reader gave them, with sentences as keys of
    the rules in force; `open` the rows of those it may go to; `previous` what the
    algorithm measured at the hop that led here, None at an anchor.
    """

    query: Vector
    here: Vector
    nearness: float
    visit: Visit
    around: Candidates
    scores: Vector
    open: list[int]
    harvest: Harvest
    previous: float | None

    def sight(self, vectors: Vector, scores: Vector) -> Sight:
        """Return what vectors may be scored by, their cosines to the question known."""
        return Sight(
            query=self.query,
            here=self.here,
            nearness=self.nearness,
            vectors=vectors,
            scores=scores,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Move:
    """Where a walk goes next: a row of those around, its measure, and why."""

    row: int
    measure: float
    reason: str


Choose: TypeAlias = Callable[[Position], Walking[Move | StopReason]]
"""Name the next chunk, or a reason to stop; may ask for data."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Place:
    """A chunk that a walk is at."""

    visit: Visit
    vector: Vector
    score: float
    reason: str
    measure: float | None = None


def hop_walk(
    query: Vector,
    options: WalkOptions,
    choose: Choose,
    *,
    rules: Rules,
    apart: bool = False,
    score_of: ScoreOf = "sentences",
) -> Walking[Trail]:
    """Walk from each anchor along SIMILAR_TO edges until something says stop.

    The tests come in this order after each visit: budgets, hop limit, then whatever
    `choose` decides. A chunk deleted meanwhile is passed over. Where there are several
    anchors, each gets an equal share of what is left, and a step with hop 0; one that
    was walked over meanwhile is replaced by the next best. Such a walk ends with the
    budget that is used up, else with `anchors_exhausted`.
    """
    rules.check(options)
    harvest = Harvest(query, options, rules)
    ranking = Ranking(
        query, k=options.anchors, rules=rules, documents=options.anchors > 1
    )
    hits = yield from _read_anchors(ranking, options.anchors)
    ranking.skip(hit.id for hit in hits)
    stop: StopReason = "no_anchor"
    for left in range(min(options.anchors, len(hits)), 0, -1):
        share = _shares(harvest, left=left)
        if share is None:
            break
        anchor = yield from _next_anchor(harvest, ranking, hits, left)
        if anchor is None:
            break
        stop = yield from _leg(harvest, anchor, share, choose, apart=apart)
        if stop in _FINAL:
            break
    if options.anchors > 1 and harvest.last and stop not in _FINAL:
        stop = _spent(harvest) or "anchors_exhausted"
    return harvest.trail(stop, ranking.ranked, score_of=score_of)


def _next_anchor(
    harvest: Harvest, ranking: Ranking, hits: list[RankedChunk], left: int
) -> Walking[_Place | None]:
    """Return the next anchor that was not walked over; None where there is none."""
    while True:
        rest = _in_turn(
            [hit for hit in hits if hit.id not in harvest.visited],
            ranking.documents,
            harvest.documents,
        )
        if not rest:
            hit = yield from ranking.next()
            if hit is None:
                return None
            hits.append(hit)
            continue
        opened = yield from harvest.open([hit.id for hit in rest[:left]])
        if visit := opened.get(rest[0].id):
            return _Place(
                visit=visit,
                vector=ranking.vectors[rest[0].id],
                score=rest[0].score,
                reason="anchor",
            )


def _leg(
    harvest: Harvest, anchor: _Place, share: _Share, choose: Choose, *, apart: bool
) -> Walking[StopReason]:
    """Walk from one anchor until its share is used up or `choose` says stop."""
    here = anchor
    late = harvest.rules.late_reading
    hop = 0
    while True:
        yield from harvest.arrive(
            here.visit, score=here.score, hop=hop, reason=here.reason
        )
        if hop == 0 or not late:
            harvest.read(here.visit)
        if reason := harvest.full(share.sentences, share.chunks):
            return reason
        if hop >= share.hops:
            return "max_hops"
        if hop > 0 and late:
            harvest.read(here.visit)
        move = yield from _move(harvest, here, choose, apart=apart)
        if isinstance(move, str):
            return move
        here = move
        hop += 1


def _move(
    harvest: Harvest, here: _Place, choose: Choose, *, apart: bool
) -> Walking[_Place | StopReason]:
    """Choose among the neighbours and open the chosen one."""
    around = here.visit.neighbours
    if apart and harvest.rules.by_text:
        around = yield from _with_texts(around)
    scores = cosines(harvest.query, around.vectors)
    while True:
        rows = open_rows(around, harvest.visited, harvest.seen if apart else None)
        harvest.consider([around.ids[i] for i in rows], scores[rows])
        choice = yield from choose(
            Position(
                query=harvest.query,
                here=here.vector,
                nearness=here.score,
                visit=here.visit,
                around=around,
                scores=scores,
                open=rows,
                harvest=harvest,
                previous=here.measure,
            )
        )
        if isinstance(choice, str):
            return choice
        chunk_id = around.ids[choice.row]
        opened = yield from harvest.open((chunk_id,))
        if chunk_id in opened:
            if not harvest.rules.sentence_ends:
                harvest.measured.append(choice.measure)
            return _Place(
                visit=opened[chunk_id],
                vector=around.vectors[choice.row],
                score=float(scores[choice.row]),
                reason=choice.reason,
                measure=choice.measure,
            )


def open_rows(
    around: Candidates, visited: set[str], seen: set[str] | None
) -> list[int]:
    """Return the rows of chunks that are not visited and have no sentence seen."""
    rows = [i for i, chunk_id in enumerate(around.ids) if chunk_id not in visited]
    if not seen:
        return rows
    return [i for i in rows if seen.isdisjoint(around.sentences[i])]


def dead_end(position: Position, *, apart: bool = False) -> StopReason:
    """Say in which way there is nowhere to go."""
    if not position.around.ids and not position.harvest.rules.visited_too:
        return "no_connections"
    return "all_candidates_overlap" if apart else "no_unvisited_chunk"


def _with_texts(around: Candidates) -> Walking[Candidates]:
    """Return chunks with the texts of their sentences instead of the ids."""
    if not around.ids:
        return around
    visits = yield from ask_visits(around.ids, neighbours=False)
    texts = (
        tuple(s.text for s in visits[i].sentences) if i in visits else ()
        for i in around.ids
    )
    return replace(around, sentences=tuple(texts))


_FARTHEST = 800
"""Chunks that are read at most to find anchors of different documents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Share:
    """What the walk from one anchor may use: totals at its end, None for no limit."""

    sentences: int | None
    chunks: int | None
    hops: int


def _shares(harvest: Harvest, *, left: int) -> _Share | None:
    """Return the next anchor's part of what is left; None where a budget is used up."""
    options = harvest.options
    sentences = _part(_enough(harvest), harvest.found, left)
    chunks = _part(options.max_chunks, harvest.fruitful, left)
    if sentences == harvest.found or chunks == harvest.fruitful:
        return None
    used = harvest.hops
    return _Share(
        sentences=sentences, chunks=chunks, hops=-((used - options.max_hops) // left)
    )


def _part(whole: int | None, used: int, left: int) -> int | None:
    """Return up to where a budget may be used, rounding a part up."""
    if whole is None:
        return None
    return used - min(0, (used - whole) // left)


def _spent(harvest: Harvest) -> StopReason | None:
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


def _read_anchors(ranking: Ranking, wanted: int) -> Walking[list[RankedChunk]]:
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


def _in_turn(
    hits: list[RankedChunk], documents: Mapping[str, str], walked: Collection[str]
) -> list[RankedChunk]:
    """Return anchors in the order of their use.

    The best chunk of each document that has not been walked in comes first, then the
    best of the rest.
    """
    best = {documents.get(hit.id, hit.id): hit.id for hit in reversed(hits)}
    first = {chunk_id for document, chunk_id in best.items() if document not in walked}
    return sorted(hits, key=lambda hit: hit.id not in first)

"""Choosing the best neighbour by a score, with a look ahead where one is wanted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from knowtrail.retrieval.algorithms.hops import (
    Choose,
    Move,
    Position,
    Sight,
    dead_end,
    open_rows,
)
from knowtrail.retrieval.cosine import cosines
from knowtrail.retrieval.protocols import Vector, Walking
from knowtrail.retrieval.walk import StopReason

if TYPE_CHECKING:
    from knowtrail.retrieval.algorithms.rules import Rules
    from knowtrail.retrieval.protocols import Candidates, WalkOptions

Measure: TypeAlias = Callable[[Sight], Vector]
"""Score vectors, row by row; the greater the better."""

Stop: TypeAlias = Callable[[Position, list[int], Vector], Walking[StopReason | None]]
"""Say why to stop, of a position, the rows to compare with and what was measured."""


def keep_going(
    position: Position, rows: list[int], measures: Vector
) -> Walking[StopReason | None]:
    """Never stop."""
    return None
    yield


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Way:
    """How an algorithm chooses: the score of a candidate, and when to stop before.

    `apart` allows only chunks without any sentence already found.
    """

    measure: Measure
    reason: str
    stop: Stop = keep_going
    apart: bool = False


def best_first(way: Way, options: WalkOptions, rules: Rules) -> Choose:
    """Return the choice of the best candidate, or of the best path's beginning.

    Looking ahead changes which chunk is chosen, not when to stop: the stop compares
    with the best candidate by its own score.
    """

    def choose(position: Position) -> Walking[Move | StopReason]:
        around = position.around
        measures = way.measure(position.sight(around.vectors, position.scores))
        if not rules.visited_too and not position.open:
            return dead_end(position, apart=way.apart)
        rows = list(range(len(around.ids))) if rules.visited_too else position.open
        if reason := (yield from way.stop(position, rows, measures)):
            return reason
        if not position.open:
            return dead_end(position, apart=way.apart)
        ids = [around.ids[i] for i in position.open]
        best = rules.rank(ids, measures[position.open], position.scores[position.open])
        order = [position.open[i] for i in best]
        row, text = order[0], way.reason
        if options.lookahead:
            row = yield from _look_ahead(way, position, options, measures, order)
            steps = "step" if options.lookahead == 1 else "steps"
            text = f"{text}, {options.lookahead} further {steps} looked at"
        return Move(row=row, measure=float(measures[row]), reason=text)

    return choose


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Path:
    """A path that a walk might take, as far as the chunk whose vector it has."""

    ids: tuple[str, ...]
    vector: Vector
    nearness: float
    keys: frozenset[str]
    measures: tuple[float, ...]
    ended: bool = False

    def order(self) -> tuple[float, tuple[str, ...]]:
        return -sum(self.measures) / len(self.measures), self.ids


def _look_ahead(
    way: Way,
    position: Position,
    options: WalkOptions,
    measures: Vector,
    order: list[int],
) -> Walking[int]:
    """Return the row that the best path begins with."""
    # A path is as good as the mean of its steps; one that comes to a dead end stays as
    # it is. The `beam` best paths are opened at each level, in one request.
    start = _Path(
        ids=(),
        vector=position.here,
        nearness=position.nearness,
        keys=frozenset(),
        measures=(),
    )
    paths = _extended(start, position.around, order, measures, position.scores)
    for _ in range(options.lookahead):
        paths = sorted(paths, key=_Path.order)[: options.beam]
        paths = yield from _grown(way, position, paths)
        if not paths:
            return order[0]
    return position.around.ids.index(min(paths, key=_Path.order).ids[0])


def _grown(way: Way, position: Position, paths: list[_Path]) -> Walking[list[_Path]]:
    """Return every path with each step that it could take next."""
    harvest = position.harvest
    ends = tuple(dict.fromkeys(path.ids[-1] for path in paths if not path.ended))
    opened = (yield from harvest.open(ends)) if ends else {}
    grown: list[_Path] = []
    for path in paths:
        if path.ended:
            grown.append(path)
        elif path.ids[-1] in opened:
            around = opened[path.ids[-1]].neighbours
            seen = harvest.seen | path.keys if way.apart else None
            rows = open_rows(around, harvest.visited | set(path.ids), seen)
            scores = cosines(position.query, around.vectors)
            there = replace(position, here=path.vector, nearness=path.nearness)
            measures = way.measure(there.sight(around.vectors, scores))
            grown += _extended(path, around, rows, measures, scores)
    return grown


def _extended(
    path: _Path, around: Candidates, rows: list[int], measures: Vector, scores: Vector
) -> list[_Path]:
    """Return a path with each of some next steps, or as ended where there is none."""
    if not rows:
        return [replace(path, ended=True)]
    return [
        _Path(
            ids=(*path.ids, around.ids[i]),
            vector=around.vectors[i],
            nearness=float(scores[i]),
            keys=path.keys.union(around.sentences[i] if around.sentences else ()),
            measures=(*path.measures, float(measures[i])),
        )
        for i in rows
    ]

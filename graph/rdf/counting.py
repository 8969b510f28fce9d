"""COUNT of nodes done by the database, where its count is that of their solutions.

Nodes with an `id` and texts as values count as one solution each for every group of
equal values. All others are read one by one. Where two nodes could be the same one,
nothing is counted so, and the query is evaluated as any other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rdflib.term import Variable

from knowtrail.graph.rdf.patterns import block_of
from knowtrail.graph.rdf.translation import confirmed, prefixes_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rdflib.plugins.sparql.parserutils import CompValue
    from rdflib.term import Node

    from knowtrail.graph.rdf.plan import Component
    from knowtrail.graph.rdf.values import Solution

Key = tuple["Node | None", ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """What a part of a query counts.

    Attributes:
        patterns: Triple patterns that find it.
        subject: What is counted.
        keys: What it is grouped by; None for one group of all.
        counts: Variable of each count, and whether it is of different ones.
        samples: Variable of each value of a group, and which of the keys it is.
    """

    patterns: tuple[Any, ...]
    subject: Variable
    keys: tuple[Variable, ...] | None
    counts: tuple[tuple[Variable, bool], ...]
    samples: tuple[tuple[Variable, Variable], ...]


@dataclass(slots=True)
class Counted:
    """Solutions of a group.

    Attributes:
        solutions: How many there are.
        nodes: Different nodes among those that the database counted.
        others: Different ones among those that were read.
    """

    solutions: int = 0
    nodes: int = 0
    others: set[Node] = field(default_factory=set)

    def number(self, *, distinct: bool) -> int:
        """Return the number of solutions, or of different nodes."""
        return self.nodes + len(self.others) if distinct else self.solutions


def counting_of(part: CompValue) -> Counting | None:
    """Return what an aggregation counts, None if it does anything else."""
    block = block_of(part.p.p)
    if block is None or len(block) != 1 or block[0].optional:
        return None
    patterns = block[0].patterns
    subjects = {subject for subject, _, _ in patterns}
    subject = next(iter(subjects))
    expression = part.p.expr
    keys = None if expression is None else tuple(expression)
    objects = [found for _, _, found in patterns]
    free = [one for one in objects if isinstance(one, Variable)]
    counts = [a for a in part.A if a.name == "Aggregate_Count"]
    samples = [a for a in part.A if a.name == "Aggregate_Sample"]
    if len(subjects) != 1 or not isinstance(subject, Variable):
        return None
    fits = (
        len(free) == len(set(free))
        and subject not in free
        and len(counts) + len(samples) == len(part.A)
        and all(a.vars == subject for a in counts)
        and all(a.vars in (keys or ()) for a in samples)
        and set(keys or ()) <= set(free)
    )
    if not fits:
        return None
    return Counting(
        patterns=patterns,
        subject=subject,
        keys=keys,
        counts=tuple((a.res, bool(a.distinct)) for a in counts),
        samples=tuple((a.res, a.vars) for a in samples),
    )


def count(
    run: Any, component: Component, wanted: Counting, known: Solution
) -> dict[Key, Counted] | None:
    """Return the groups with what was counted, None where that cannot be."""
    messages = list(component.messages([known], 0))
    if len(messages) != 1:
        return None
    query, _, sent = messages[0]
    statement = query.counting([*(wanted.keys or ()), *known])
    if statement is None:
        return None
    width = query.width + 2
    params = query.params | {"x": "x", query.rows: sent}
    arms = [statement]
    if run.confirm is not None:
        arms.insert(0, prefixes_text(width))
    found: dict[Key, Counted] = {}
    records = confirmed(run("\nUNION ALL\n".join(arms), params), run.confirm)
    for _, *record in records:
        number, different = record[-2:]
        for solution in query.decode(record, known):
            key = tuple(solution.get(one, known.get(one)) for one in wanted.keys or ())
            group = found.setdefault(key, Counted())
            if number and (group.nodes or number != different):
                return None
            group.nodes += different
            group.solutions += number or 1
            if not number:
                group.others.add(solution[wanted.subject])
    own = component.mapping.vocabulary.parse_node
    mixed = (
        group.nodes and any(own(str(one)) is not None for one in group.others)
        for group in found.values()
    )
    return None if any(mixed) else found


def rows_of(
    wanted: Counting, groups: dict[Key, Counted]
) -> Sequence[dict[Variable, Any]]:
    """Return the groups as rdflib's aggregation does."""
    from rdflib.term import Literal

    if wanted.keys is None:
        groups = groups or {(): Counted()}
    rows: list[dict[Variable, Any]] = []
    for key, group in groups.items():
        row: dict[Variable, Any] = {
            name: Literal(group.number(distinct=distinct))
            for name, distinct in wanted.counts
        }
        for name, one in wanted.samples:
            row[name] = key[(wanted.keys or ()).index(one)]
        rows.append(row)
    return rows or [{}]

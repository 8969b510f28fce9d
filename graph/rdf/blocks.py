"""Parts of a query that one statement can answer: patterns, UNION and OPTIONAL of them.

A block is what such a part means as alternatives of one basic graph pattern each, with
patterns that need not match. Joins are spread over the alternatives of a UNION, which
gives the same solutions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rdflib.term import Literal, URIRef, Variable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rdflib.plugins.sparql.parserutils import CompValue

    from graph.rdf.readings import Pattern

__all__ = ["Alternative", "block_of"]

_MOST = 8
"""Alternatives that a block has at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """One basic graph pattern with what need not match.

    Attributes:
        patterns: Triple patterns; a predicate may be a variable or a path.
        optional: Those of each OPTIONAL: of one variable that the others have, whose
            objects are variables that no other pattern has, or literals.
    """

    patterns: tuple[Pattern, ...]
    optional: tuple[tuple[Pattern, ...], ...] = ()

    @property
    def unbound(self) -> set[Variable]:
        """Return the variables that may stay unbound."""
        return _variables(found for one in self.optional for _, _, found in one)


def block_of(part: CompValue) -> tuple[Alternative, ...] | None:
    """Return the alternatives that a part of a query means, None where it is no block.

    Args:
        part: A part of the algebra of rdflib.
    """
    found: tuple[Alternative, ...] | None = None
    if part.name == "BGP":
        triples = tuple((s, p, o) for s, p, o in part.triples)
        found = (Alternative(patterns=triples),) if triples else None
    elif part.name == "Join" and _is_nothing(part.p1):
        found = block_of(part.p2)
    elif part.name == "Join" and _is_nothing(part.p2):
        found = block_of(part.p1)
    elif part.name in {"Union", "Join", "LeftJoin"}:
        left, right = block_of(part.p1), block_of(part.p2)
        if left is None or right is None:
            return None
        if part.name == "Union":
            found = left + right
        elif part.name == "Join":
            found = _joined(left, right)
        elif getattr(part.expr, "name", "") == "TrueFilter":
            found = _extended(left, right)
    return None if found is None or len(found) > _MOST else found


def _is_nothing(part: CompValue) -> bool:
    """Return whether a part is a pattern without triples, which says nothing."""
    return bool(part.name == "BGP" and not part.triples)


def _joined(
    left: tuple[Alternative, ...], right: tuple[Alternative, ...]
) -> tuple[Alternative, ...] | None:
    """Return the join of alternatives, None where one side may leave a term unbound."""
    if any(one.optional for one in right):
        return None
    made = []
    for one in left:
        for other in right:
            if one.unbound & _terms(other.patterns):
                return None
            made.append(
                Alternative(
                    patterns=one.patterns + other.patterns, optional=one.optional
                )
            )
    return tuple(made)


def _extended(
    left: tuple[Alternative, ...], right: tuple[Alternative, ...]
) -> tuple[Alternative, ...] | None:
    """Return alternatives with one more OPTIONAL, None where it is not simple."""
    if len(right) != 1 or right[0].optional:
        return None
    patterns = right[0].patterns
    subjects = {subject for subject, _, _ in patterns}
    objects = [found for _, _, found in patterns if isinstance(found, Variable)]
    simple = (
        len(subjects) == 1
        and all(isinstance(one, Variable) for one in subjects)
        and all(isinstance(p, URIRef) for _, p, _ in patterns)
        and all(isinstance(o, Variable | Literal) for _, _, o in patterns)
        and len(objects) == len(set(objects))
        and not subjects & set(objects)
    )
    if not simple:
        return None
    for one in left:
        known = _terms(one.patterns)
        if not subjects <= known or (known | one.unbound) & set(objects):
            return None
    return tuple(
        Alternative(patterns=one.patterns, optional=(*one.optional, patterns))
        for one in left
    )


def _terms(patterns: Iterable[Pattern]) -> set[Variable]:
    """Return the variables of patterns, those of predicates included."""
    return _variables(term for pattern in patterns for term in pattern)


def _variables(terms: Iterable[Any]) -> set[Variable]:
    """Return the variables among terms."""
    return {term for term in terms if isinstance(term, Variable)}

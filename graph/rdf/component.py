"""A connected part of a basic graph pattern, answered for a batch of rows at once."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from rdflib.term import Literal

from graph.rdf.clauses import arms_of
from graph.rdf.readings import NODE, VALUE, Reading, is_variable, readings
from graph.rdf.sending import send
from graph.rdf.terms import candidates, iri_of_term
from graph.rdf.translation import Translation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Mapping as Dictionary

    from rdflib.term import Node

    from graph.rdf.mapping import Mapping
    from graph.rdf.readings import Pattern
    from graph.rdf.sending import Message
    from graph.rdf.terms import Runner, Solution

__all__ = ["Component", "solve_all"]

Signature = tuple[tuple[Any, ...], ...]

_MOST_MADE = 32
"""Statements that a component keeps for the next time."""


class Component:
    """Patterns that are joined by the nodes and statements they share.

    Args:
        mapping: The mapping of the database.
        patterns: Triple patterns whose predicates are given.
        bounds: Comparisons that a filter makes, as conditions on variables.
        optional: Patterns that need not match, those of each OPTIONAL; `holds` said
            that they may be asked for together with the others.

    Attributes:
        overlaps: Whether two choices of readings can find the same solution.
    """

    def __init__(
        self,
        mapping: Mapping,
        patterns: Sequence[Pattern],
        bounds: Dictionary[Node, Sequence[tuple[str, float]]] | None = None,
        optional: Sequence[Sequence[Pattern]] = (),
    ) -> None:
        self.mapping = mapping
        self.patterns = list(patterns)
        self.bounds = bounds or {}
        choices = [readings(mapping, pattern) for pattern in self.patterns]
        self.combinations = [
            chosen for chosen in itertools.product(*choices) if _kinds(chosen)
        ]
        self.overlaps = any(
            {"type", "class"} <= {reading.form for reading in choice}
            for choice in choices
        )
        self._optional = [
            [next(r for r in readings(mapping, p) if r.subject == NODE) for p in one]
            for one in optional
        ]
        self._made: dict[Any, Translation] = {}

    def holds(self, subject: Node) -> bool:
        """Return whether a term stands for a node, whatever the patterns mean."""
        kinds = [_kinds(chosen) or {} for chosen in self.combinations]
        return bool(kinds) and all(one.get(subject) == NODE for one in kinds)

    def solve(
        self, run: Runner, rows: Sequence[Solution]
    ) -> Iterator[tuple[int, Solution]]:
        """Yield the solutions, each with the number of the row it extends.

        Args:
            run: Runs a statement.
            rows: What is bound so far, a batch.
        """
        yield from solve_all([self], run, rows)

    def messages(self, rows: Sequence[Solution], first: int) -> Iterator[Message]:
        """Yield what to send, for every choice of readings.

        Args:
            rows: What is bound so far, a batch.
            first: Number of the first statement.
        """
        for place, chosen in enumerate(self.combinations):
            groups: dict[Signature, list[tuple[int, dict[str, Any]]]] = {}
            kinds = _kinds(chosen) or {}
            for number, row in enumerate(rows):
                found = self._bound(kinds, row)
                if found is not None:
                    signature, params = found
                    groups.setdefault(signature, []).append((number, params))
            for signature, group in groups.items():
                query = self._translation(place, signature, first)
                numbers = [number for number, _ in group]
                sent = [params | {"i": i} for i, (_, params) in enumerate(group)]
                yield query, numbers, sent
                first += 1

    def _translation(self, place: int, signature: Signature, first: int) -> Translation:
        """Return the statement of a choice of readings, made once."""
        key = (place, signature, first)
        if key not in self._made:
            if len(self._made) >= _MOST_MADE:
                self._made = {}
            self._made[key] = Translation(
                self.mapping,
                self.combinations[place],
                dict(signature),
                self.bounds,
                optional=self._optional,
                number=first,
            )
        return self._made[key]

    def _bound(
        self, kinds: Dictionary[Node, str], row: Solution
    ) -> tuple[Signature, dict[str, Any]] | None:
        """Return what is known of a row's terms; None where it has no solution."""
        signature: list[tuple[Any, ...]] = []
        params: dict[str, Any] = {}
        for place, (term, kind) in enumerate(kinds.items()):
            known = row.get(term) if is_variable(term) else term
            if known is None:
                continue
            if kind == VALUE:
                values = candidates(self.mapping, known)
                if values is not None:
                    are_texts = all(isinstance(value, str) for value in values)
                    params[f"b{place}"] = values
                    signature.append((term, (f"b{place}", are_texts)))
                continue
            if isinstance(known, Literal):
                return None
            iri = iri_of_term(known)
            if kind == NODE:
                arms = arms_of(self.mapping, iri)
                params[f"b{place}"] = list(arms.values())
                signature.append((term, (f"b{place}", tuple(arms))))
                continue
            parsed = self.mapping.vocabulary.parse_statement(iri)
            if parsed is None:
                return None
            source, name, target, _ = parsed
            ends = [arms_of(self.mapping, end) for end in (source, target)]
            params[f"b{place}s"], params[f"b{place}t"] = map(
                list, (end.values() for end in ends)
            )
            signature.append((term, (f"b{place}", name, *(tuple(e) for e in ends))))
        return tuple(signature), params


def solve_all(
    components: Sequence[Component], run: Runner, rows: Sequence[Solution]
) -> Iterator[tuple[int, Solution]]:
    """Yield the solutions of each of some components, asked for together.

    Args:
        components: Alternatives, as those of a UNION.
        run: Runs a statement.
        rows: What is bound so far, a batch.

    Yields:
        Number of the row that is extended, and what is added to it.
    """
    messages: list[Message] = []
    owners: list[Component] = []
    for component in components:
        messages += component.messages(rows, len(messages))
        owners += [component] * (len(messages) - len(owners))
    seen: set[Any] = set()
    for place, number, solution in send(run, messages, rows):
        if owners[place].overlaps:
            key = (id(owners[place]), number, frozenset(solution.items()))
            if key in seen:
                continue
            seen.add(key)
        yield number, solution


def _kinds(chosen: Sequence[Reading]) -> dict[Node, str] | None:
    """Return the kind of each term, None where a term would have two."""
    kinds: dict[Any, str] = {}
    for reading in chosen:
        subject, _, found = reading.pattern
        pairs = [(subject, reading.subject)]
        if is_variable(found) or reading.object == NODE:
            pairs.append((found, reading.object))
        elif reading.form == "property":
            pairs.append((found, VALUE))
        for term, kind in pairs:
            if kinds.setdefault(term, kind) != kind:
                return None
    return kinds

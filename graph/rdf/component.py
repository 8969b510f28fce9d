"""A connected part of a basic graph pattern, answered for a batch of rows at once."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from rdflib.term import Literal

from graph.rdf.clauses import arms_of
from graph.rdf.readings import NODE, VALUE, Reading, is_variable, readings
from graph.rdf.terms import candidates, iri_of_term
from graph.rdf.translation import Translation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Mapping as Dictionary

    from rdflib.term import Node

    from graph.rdf.mapping import Mapping
    from graph.rdf.readings import Pattern
    from graph.rdf.terms import Runner, Solution

__all__ = ["Component"]

Signature = tuple[tuple[Any, ...], ...]


class Component:
    """Patterns that are joined by the nodes and statements they share.

    Args:
        mapping: The mapping of the database.
        patterns: Triple patterns whose predicates are given.
        bounds: Comparisons that a filter makes, as conditions on variables.
    """

    def __init__(
        self,
        mapping: Mapping,
        patterns: Sequence[Pattern],
        bounds: Dictionary[Node, Sequence[tuple[str, float]]] | None = None,
    ) -> None:
        self.mapping = mapping
        self.patterns = list(patterns)
        self.bounds = bounds or {}
        choices = [readings(mapping, pattern) for pattern in self.patterns]
        self.combinations = [
            chosen for chosen in itertools.product(*choices) if _kinds(chosen)
        ]
        self._overlap = any(
            {"type", "class"} <= {reading.form for reading in choice}
            for choice in choices
        )

    def solve(
        self, run: Runner, rows: Sequence[Solution]
    ) -> Iterator[tuple[int, Solution]]:
        """Yield the solutions, each with the number of the row it extends.

        Args:
            run: Runs a statement.
            rows: What is bound so far, a batch.
        """
        seen: set[Any] = set()
        for chosen in self.combinations:
            for number, found in self._solve_one(chosen, run, rows):
                if self._overlap:
                    key = (number, frozenset(found.items()))
                    if key in seen:
                        continue
                    seen.add(key)
                yield number, found

    def _solve_one(
        self, chosen: tuple[Reading, ...], run: Runner, rows: Sequence[Solution]
    ) -> Iterator[tuple[int, Solution]]:
        """Yield the solutions of one choice of readings."""
        groups: dict[Signature, list[tuple[int, dict[str, Any]]]] = {}
        kinds = _kinds(chosen) or {}
        for number, row in enumerate(rows):
            found = self._bound(kinds, row)
            if found is not None:
                signature, params = found
                groups.setdefault(signature, []).append((number, params))
        for signature, group in groups.items():
            query = Translation(self.mapping, chosen, dict(signature), self.bounds)
            numbers = [number for number, _ in group]
            if not query.takes_rows:
                for record in run(query.text, query.params):
                    for number in numbers:
                        for solution in query.decode(record, rows[number]):
                            yield number, solution
                continue
            sent = [params | {"i": place} for place, (_, params) in enumerate(group)]
            for record in run(query.text, query.params | {"rows": sent}):
                number = numbers[record[0]]
                for solution in query.decode(record, rows[number]):
                    yield number, solution

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
                    params[f"b{place}"] = values
                    signature.append((term, f"b{place}"))
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

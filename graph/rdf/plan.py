"""How a basic graph pattern is answered: which patterns together, in which order."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from rdflib.paths import InvPath, Path, SequencePath
from rdflib.term import Literal, Node, URIRef, Variable

from knowtrail.graph.rdf.clauses import arms_of
from knowtrail.graph.rdf.patterns import NODE, VALUE, Reading, is_variable, readings
from knowtrail.graph.rdf.translation import Message, Translation, send
from knowtrail.graph.rdf.values import candidates, iri_of_term

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from collections.abc import Mapping as Dictionary

    from knowtrail.graph.rdf.mapping import Mapping
    from knowtrail.graph.rdf.patterns import Pattern
    from knowtrail.graph.rdf.values import Numbered, Runner, Solution

Signature = tuple[tuple[Any, ...], ...]

_MOST_MADE = 32
"""Statements that a component keeps for the next time."""

_BATCHES = (1, 50, 500)
"""Rows taken at once."""

_MOST_CHOICES = 16
_HIDDEN = "knowtrail-path-"


@dataclass(eq=False, repr=False)
class Component:
    """Patterns that are joined by the nodes and statements they share."""

    mapping: Mapping
    patterns: Sequence[Pattern]
    bounds: Dictionary[Node, Sequence[tuple[str, float]]]

    def __post_init__(self) -> None:
        choices = [readings(self.mapping, pattern) for pattern in self.patterns]
        self.combinations = [
            (chosen, kinds)
            for chosen in itertools.product(*choices)
            if (kinds := _kinds(chosen))
        ]
        # Whether two choices of readings can find the same solution.
        self.overlaps = any(
            {"type", "class"} <= {reading.form for reading in choice}
            for choice in choices
        )
        self._optional: list[list[Reading]] = []
        self._translation = lru_cache(_MOST_MADE)(self._made)

    def extend(self, optional: Sequence[Pattern]) -> bool:
        """Ask for patterns of an OPTIONAL too, if they mean properties of a node."""
        subject = optional[0][0]
        meant = [
            [one for one in readings(self.mapping, pattern) if one.subject == NODE]
            for pattern in optional
        ]
        fits = (
            bool(self.combinations)
            and all(kinds.get(subject) == NODE for _, kinds in self.combinations)
            and all([one.form for one in some] == ["property"] for some in meant)
        )
        if fits:
            self._optional.append([one for (one,) in meant])
        return fits

    def messages(self, rows: Sequence[Solution], first: int) -> Iterator[Message]:
        """Yield what to send, for every choice of readings."""
        for place, (_, kinds) in enumerate(self.combinations):
            groups: dict[Signature, list[tuple[int, dict[str, Any]]]] = {}
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

    def _made(self, place: int, signature: Signature, first: int) -> Translation:
        chosen, _ = self.combinations[place]
        return Translation(
            self.mapping, chosen, dict(signature), self.bounds, self._optional, first
        )

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
            for suffix, end in zip("st", ends, strict=True):
                params[f"b{place}{suffix}"] = list(end.values())
            signature.append((term, (f"b{place}", name, *(tuple(e) for e in ends))))
        return tuple(signature), params


def solve(
    components: Sequence[Component], run: Runner, rows: Sequence[Solution]
) -> Numbered:
    """Yield the solutions of components, each with the number of the row it extends."""
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
    kinds: dict[Any, str] = {}
    for reading in chosen:
        subject, _, found = reading.pattern
        pairs = [(subject, reading.subject)]
        is_value = reading.object == VALUE and reading.form != "property"
        if is_variable(found) or not is_value:
            pairs.append((found, reading.object))
        for term, kind in pairs:
            if kinds.setdefault(term, kind) != kind:
                return None
    return kinds


def batches(rows: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield rows in batches, small ones first: the first answer may be enough."""
    waiting = iter(rows)
    sizes = itertools.chain(_BATCHES, itertools.repeat(_BATCHES[-1]))
    while batch := list(islice(waiting, next(sizes))):
        yield batch


class Plan:
    """The steps that answer a basic graph pattern.

    It is of no use unless it `fits`: optional patterns cannot always be asked for
    with the others. `alone` is its only group of patterns, None where it has more.
    """

    def __init__(
        self,
        mapping: Mapping,
        patterns: Sequence[Pattern],
        bound: Collection[Node] = (),
        bounds: Iterable[tuple[Node, Sequence[tuple[str, float]]]] = (),
        optional: Sequence[Sequence[Pattern]] = (),
    ) -> None:
        self._mapping = mapping
        held = dict(bounds)
        plain, self._loose = _spread(patterns)
        self._groups = [
            Component(mapping, group, held)
            for group in _ordered(self._grouped(plain), set(bound))
        ]
        self.fits = all(
            any(group.extend(patterns) for group in self._groups)
            for patterns in optional
        )
        several = bool(self._loose) or len(self._groups) != 1
        self.alone = None if several else self._groups[0]

    def numbered(
        self, run: Runner, triples: Any, batch: Sequence[Solution]
    ) -> Numbered:
        """Yield a batch's solutions, each with the number of the row it extends."""
        found: Numbered = iter(enumerate(batch))
        for group in self._groups:
            found = _extended(group, run, found)
        for pattern in self._loose:
            found = _matched(pattern, run, triples, found)
        for number, solution in found:
            yield number, _visible(solution)

    def _grouped(self, patterns: Sequence[Pattern]) -> list[list[Pattern]]:
        """Return patterns in groups that share nodes or statements."""
        choices = {p: readings(self._mapping, p) for p in dict.fromkeys(patterns)}
        subjects = {pattern[0] for pattern in choices}
        groups: list[tuple[set[Any], list[Pattern], int]] = []
        for pattern, chosen in choices.items():
            subject, _, found = pattern
            terms = {subject}
            is_node = bool(chosen) and all(r.object == NODE for r in chosen)
            if is_variable(found) and (found in subjects or is_node):
                terms.add(found)
            joined = [group for group in groups if group[0] & terms]
            width = math.prod([len(chosen), *(group[2] for group in joined)])
            if width > _MOST_CHOICES or _apart(pattern, chosen, subjects, choices):
                groups.append((set(), [pattern], len(chosen)))
                continue
            groups = [group for group in groups if group not in joined]
            groups.append((
                terms.union(*(group[0] for group in joined)),
                [*(p for group in joined for p in group[1]), pattern],
                width,
            ))
        return [group[1] for group in groups]


def numbered_all(
    plans: Sequence[Plan], run: Runner, triples: Any, batch: Sequence[Solution]
) -> Numbered:
    """Yield a batch's solutions by each of some plans, asked together if possible."""
    alone = [plan.alone for plan in plans if plan.alone is not None]
    if len(alone) == len(plans):
        for place, added in solve(alone, run, batch):
            yield place, _visible(batch[place] | added)
    else:
        for plan in plans:
            yield from plan.numbered(run, triples, batch)


def _apart(
    pattern: Pattern,
    chosen: Sequence[Any],
    subjects: set[Any],
    others: Collection[Pattern],
) -> bool:
    """Return whether a pattern must not be joined with others in one statement."""
    # Its object is a type or a predicate that other patterns take for a node, or it
    # says a second time where a statement begins or ends.
    subject, _, found = pattern
    forms = {reading.form for reading in chosen}
    if forms & {"type", "predicate"} and is_variable(found):
        return found in subjects or any(
            other != pattern and other[2] == found for other in others
        )
    if forms & {"subject", "object"}:
        first = next(p for p in others if p[0] == subject and p[1] == pattern[1])
        return first != pattern
    return False


def _ordered(groups: list[list[Pattern]], bound: set[Any]) -> Iterator[list[Pattern]]:
    """Yield groups, those that more is known of first."""
    left = list(groups)
    while left:
        best = max(left, key=lambda group: _known(group, bound))
        left.remove(best)
        bound |= {term for s, _, o in best for term in (s, o)}
        yield best


def _known(group: list[Pattern], bound: Collection[Any]) -> float:
    terms = {term for s, _, o in group for term in (s, o)}
    given = sum(1 for term in terms if term in bound or not is_variable(term))
    return given / len(terms)


def _spread(patterns: Sequence[Pattern]) -> tuple[list[Pattern], list[Pattern]]:
    """Return patterns with given predicates, and the others."""
    # Sequences and inverses of paths become patterns with variables in between.
    plain: list[Pattern] = []
    loose: list[Pattern] = []
    waiting: list[Any] = list(patterns)
    made = 0
    while waiting:
        subject, predicate, found = waiting.pop(0)
        if isinstance(predicate, InvPath):
            waiting.insert(0, (found, predicate.arg, subject))
        elif isinstance(predicate, SequencePath):
            links: list[Any] = [subject]
            for _ in predicate.args[1:]:
                links.append(Variable(f"{_HIDDEN}{made}"))
                made += 1
            links.append(found)
            waiting[:0] = [
                (links[place], step, links[place + 1])
                for place, step in enumerate(predicate.args)
            ]
        elif isinstance(predicate, URIRef):
            plain.append((subject, predicate, found))
        else:
            loose.append((subject, predicate, found))
    return plain, loose


def _visible(solution: Solution) -> Solution:
    if any(str(term).startswith(_HIDDEN) for term in solution):
        return {t: v for t, v in solution.items() if not str(t).startswith(_HIDDEN)}
    return solution


def _extended(group: Component, run: Runner, found: Numbered) -> Numbered:
    """Yield rows extended by what a group of patterns adds."""
    for batch in batches(found):
        for place, added in solve([group], run, [solution for _, solution in batch]):
            number, solution = batch[place]
            yield number, solution | added


def _matched(pattern: Pattern, run: Any, triples: Any, found: Numbered) -> Numbered:
    """Yield rows extended by the triples of one pattern, looked up for each."""
    # The steps of a path are read for a batch of rows before.
    is_path = isinstance(pattern[1], Path)
    for batch in batches(found):
        asked: list[Any] = [
            tuple(row.get(term) if is_variable(term) else term for term in pattern)
            for _, row in batch
        ]
        if is_path:
            run.steps.prepare(pattern[1], [(s, o) for s, _, o in asked])
        for (number, solution), one in zip(batch, asked, strict=True):
            for triple in triples(one):
                added: dict[Any, Any] = {}
                for term, value in zip(pattern, triple, strict=True):
                    if is_variable(term) and added.setdefault(term, value) != value:
                        break
                else:
                    yield number, solution | added

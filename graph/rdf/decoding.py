"""What the rows of a statement mean: terms for the variables of its patterns.

A row counts where its terms are exactly those of the patterns. So no answer depends on
how Neo4j compares values.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rdflib.term import URIRef

from knowtrail.graph.rdf.mapping import LABELS, numbered
from knowtrail.graph.rdf.patterns import (
    NODE,
    STATEMENT,
    STATEMENT_CLASS,
    is_variable,
    table_types,
)
from knowtrail.graph.rdf.values import literal_term, node_term

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Mapping as Dictionary

    from rdflib.term import Node

    from knowtrail.graph.rdf.clauses import Arm
    from knowtrail.graph.rdf.mapping import Mapping
    from knowtrail.graph.rdf.patterns import Reading
    from knowtrail.graph.rdf.values import Solution

_ORDER = {label: place for place, label in enumerate(LABELS)}
_SHORT = 24
_REMEMBERED = 1_000


@dataclass(slots=True)
class Entity:
    """A node of the statement.

    A node follows the rule of the first of its labels in the table, its leading one.

    Attributes:
        term: What it stands for in the pattern; a number for one that has no term.
        variable: Its name in the statement.
        held: Lists of labels; it must have one of each.
        leads: Labels in the table that its leading one must be among, None for any.
        arms: Where it is looked up, None where it is not.
        place: The parameter of a row that says what to look for there.
        columns: Numbers of its labels, `id`, `name` and `uri`, None where not needed.
    """

    term: Any
    variable: str
    held: list[list[str]] = field(default_factory=list)
    leads: frozenset[str] | None = None
    arms: tuple[Arm, ...] | None = None
    place: str = ""
    columns: tuple[int | None, ...] = ()

    def hold(self, labels: Sequence[str]) -> None:
        """Demand one of some labels."""
        if list(labels) not in self.held:
            self.held.append(list(labels))

    def lead(self, labels: Iterable[str]) -> None:
        """Demand that the leading label is one of some."""
        chosen = frozenset(labels)
        self.leads = chosen if self.leads is None else self.leads & chosen

    @property
    def possible(self) -> list[str]:
        """Return the labels that can be its leading one, in the table's order."""
        last = [max(_ORDER.get(x, len(_ORDER)) for x in one) for one in self.held]
        return [
            label
            for label, place in _ORDER.items()
            if (self.leads is None or label in self.leads)
            and all(place <= most for most in last)
        ]

    @property
    def labels(self) -> list[str] | None:
        """Return labels that it has one of, as few as can be; None for any."""
        if self.leads is None and not self.held:
            return None
        possible = self.possible if self.leads is not None else None
        if not self.held or not possible:
            return possible if possible is not None else self.held[0]
        fewest = min(self.held, key=len)
        return fewest if len(fewest) <= len(possible) else possible

    @property
    def label(self) -> str | None:
        """Return the one label it can have, None where there are several."""
        if self.arms is not None:
            return self.arms[0][0] if len(self.arms) == 1 else None
        if self.labels is not None and len(self.labels) == 1:
            return self.labels[0] if self.labels[0] in LABELS else None
        return None


@dataclass(slots=True)
class Edge:
    """A relationship of the statement.

    Attributes:
        term: The statement it stands for; None where the pattern has none.
        variable: Its name.
        source: Where it begins.
        target: Where it leads.
        names: Its types, empty for any.
        columns: Numbers of its type, the server's name, and its siblings.
    """

    term: Any
    variable: str
    source: Entity
    target: Entity
    names: tuple[str, ...] = ()
    columns: tuple[int, ...] = ()


Field = tuple["Reading", Any, list[tuple[str, int]]]
"""A reading, its object, and the properties that it needs with their columns."""


class Decoder:
    """Turns rows into solutions."""

    def __init__(
        self,
        mapping: Mapping,
        nodes: Dictionary[Any, Entity],
        edges: Sequence[Edge],
        fields: Sequence[Field],
        optional: Sequence[Sequence[Field]] = (),
    ) -> None:
        self.mapping = mapping
        self._nodes = nodes
        self._edges = edges
        self._fields = fields
        self._optional = optional
        self._table_types = table_types(mapping)
        self._known: dict[Any, frozenset[Node]] = {}

    def decode(self, record: Sequence[Any], row: Solution) -> Iterator[Solution]:
        """Yield what a row of the answer means."""
        found: dict[Any, set[Node]] = {}
        labels: dict[Any, tuple[str, list[str]]] = {}
        iris: dict[int, str] = {}
        for term, entity in self._nodes.items():
            held = self._decode_node(entity, record)
            if held is None:
                return
            iri, primary, all_labels = held
            iris[id(entity)] = iri
            labels[term] = (primary, all_labels)
            if not isinstance(term, tuple):
                found[term] = {node_term(iri)}
        for edge in self._edges:
            if edge.term is not None:
                found[edge.term] = {URIRef(self._statement_iri(edge, record, iris))}
        for reading, term, columns in self._fields:
            if reading.object == NODE:
                continue
            terms = self._objects(reading, record, columns, labels)
            held_terms = found.get(term)
            found[term] = terms if held_terms is None else held_terms & terms
        if not self._optional:
            yield from _solutions(found, row)
            return
        for solution in _solutions(found, row):
            yield from self._extended(solution, record, labels)

    def _extended(
        self,
        solution: Solution,
        record: Sequence[Any],
        labels: Dictionary[Any, tuple[str, list[str]]],
    ) -> Iterator[Solution]:
        """Yield a solution with what each OPTIONAL adds to it."""
        extended = [solution]
        for group in self._optional:
            terms = {
                term: self._objects(reading, record, columns, labels)
                for reading, term, columns in group
            }
            added = list(_solutions(terms, {}))
            if added:
                extended = [one | more for one in extended for more in added]
        yield from extended

    def _decode_node(
        self, entity: Entity, record: Sequence[Any]
    ) -> tuple[str, str, list[str]] | None:
        """Return IRI, label of the table and labels of a node."""
        values = [None if c is None else record[c] for c in entity.columns]
        labels: list[str] = values[0] or ([entity.label] if entity.label else [])
        primary = (
            labels[0]
            if len(labels) == 1 and labels[0] in LABELS
            else self.mapping.primary(labels)
        )
        if primary is None or (entity.leads and primary not in entity.leads):
            return None
        properties = {"id": values[1], "name": values[2], "uri": values[3]}
        iri = self.mapping.node_iri(primary, properties)
        return None if iri is None else (iri, primary, labels)

    def _statement_iri(
        self, edge: Edge, record: Sequence[Any], iris: Dictionary[int, str]
    ) -> str:
        """Return the IRI of a relationship as a statement."""
        name, server, siblings = (record[column] for column in edge.columns)
        number = 0
        if siblings:
            number = numbered(self.mapping, ((s[0], s[1]) for s in siblings))[server]
        source, target = iris[id(edge.source)], iris[id(edge.target)]
        return self.mapping.vocabulary.statement(source, name, target, number)

    def _objects(
        self,
        reading: Reading,
        record: Sequence[Any],
        columns: Sequence[tuple[str, int]],
        labels: Dictionary[Any, tuple[str, list[str]]],
    ) -> set[Node]:
        """Return the literals, types or predicates that a pattern finds in a row."""
        subject = reading.pattern[0]
        if reading.form == "type":
            if reading.subject == STATEMENT:
                return {URIRef(STATEMENT_CLASS)}
            primary, held = labels[subject]
            types = set(self.mapping.types(held, primary))
            if columns and primary == "Custodian":
                types |= self._class_iris(record[columns[0][1]])
            return {URIRef(kind) for kind in types}
        if reading.form == "predicate":
            edge = next(e for e in self._edges if e.term == subject)
            return {URIRef(self.mapping.relationship(record[edge.columns[0]]))}
        predicate = str(reading.pattern[1])
        label = "" if reading.subject == STATEMENT else labels[subject][0]
        found: set[Node] = set()
        for name, column in columns:
            if record[column] is not None:
                found |= self._literals(predicate, label, name, record[column])
        return found

    def _literals(
        self, predicate: str, label: str, name: str, value: Any
    ) -> frozenset[Node]:
        """Return the literals that a property has under a predicate.

        Short texts, which often come again, are remembered.
        """
        key = (predicate, label, name, value) if _is_short(value) else None
        if key in self._known:
            return self._known[key]
        found: frozenset[Node] = frozenset(
            literal_term(literal)
            for held_by, literals in self.mapping.property_values(label, name, value)
            if held_by == predicate
            for literal in literals
        )
        if key is not None and len(self._known) < _REMEMBERED:
            self._known[key] = found
        return found

    def _class_iris(self, classes: Sequence[Sequence[Any]]) -> set[str]:
        """Return the types that a custodian has by its classes."""
        iris = set()
        for labels, key, uri in classes:
            if self.mapping.primary(labels) == "OntologyClass":
                iri = self.mapping.node_iri("OntologyClass", {"id": key, "uri": uri})
                if iri is not None and not iri.startswith("_:"):
                    iris.add(iri)
        return iris - self._table_types


def _is_short(value: Any) -> bool:
    """Return whether a value is a text short enough to be remembered."""
    return isinstance(value, str) and len(value) <= _SHORT


def _solutions(found: Dictionary[Any, set[Node]], row: Solution) -> Iterator[Solution]:
    """Yield each way to choose one term for each variable."""
    fixed: Solution = {}
    several: list[tuple[Node, list[Node]]] = []
    for term, terms in found.items():
        known = row.get(term) if row and is_variable(term) else None
        if known is None and not is_variable(term):
            known = term
        if known is not None:
            if known not in terms:
                return
        elif not terms:
            return
        if not is_variable(term):
            continue
        if known is None and len(terms) > 1:
            several.append((term, sorted(terms, key=str)))
        else:
            fixed[term] = next(iter(terms)) if known is None else known
    if not several:
        yield fixed
        return
    for choice in itertools.product(*(terms for _, terms in several)):
        yield fixed | {
            term: one for (term, _), one in zip(several, choice, strict=True)
        }

"""One Cypher statement for joined patterns, and what its rows mean.

The statement finds at least what the patterns mean, by labels, keys, types and values;
what it returns is turned into terms here, and a row counts where they are exactly those
of the patterns. So no answer depends on how Neo4j compares values.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rdflib.term import URIRef

from graph.rdf.clauses import Arm, Statement
from graph.rdf.mapping import LABELS
from graph.rdf.readings import (
    NODE,
    STATEMENT,
    STATEMENT_CLASS,
    Reading,
    is_variable,
    table_types,
)
from graph.rdf.statements import numbered
from graph.rdf.terms import literal_term, node_term

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Mapping as Dictionary

    from rdflib.term import Node

    from graph.rdf.mapping import Mapping
    from graph.rdf.terms import Solution

__all__ = ["Translation"]


@dataclass(slots=True)
class _Entity:
    """A node of the statement.

    Attributes:
        term: What it stands for in the pattern; a number for one that has no term.
        variable: Its name in the statement.
        labels: Labels that it must have one of, None for any.
        arms: Where it is looked up, None where it is not.
        place: The parameter of a row that says what to look for there.
        columns: Numbers of its labels, `id`, `name` and `uri`, None where not needed.
    """

    term: Any
    variable: str
    labels: list[str] | None = None
    arms: tuple[Arm, ...] | None = None
    place: str = ""
    columns: tuple[int | None, ...] = ()

    def narrow(self, labels: Sequence[str]) -> None:
        """Allow only labels that are among these, too."""
        held = self.labels
        self.labels = [x for x in labels if held is None or x in held]

    @property
    def label(self) -> str | None:
        """Return the one label it can have, None where there are several."""
        if self.arms is not None:
            return self.arms[0][0] if len(self.arms) == 1 else None
        if self.labels is not None and len(self.labels) == 1:
            return self.labels[0] if self.labels[0] in LABELS else None
        return None


@dataclass(slots=True)
class _Edge:
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
    source: _Entity
    target: _Entity
    names: tuple[str, ...] = ()
    columns: tuple[int, ...] = ()


class Translation:
    """A statement for one choice of readings and one way their terms are bound.

    Args:
        mapping: The mapping of the database.
        chosen: A reading of each pattern; each term is of one kind.
        known: Term -> where rows have its value: for a literal the name of a list of
            candidates; for a node that name and where to look it up; for a statement
            that name, its type, and where to look up its ends.
        bounds: Comparisons of variables with numbers.
    """

    def __init__(
        self,
        mapping: Mapping,
        chosen: Sequence[Reading],
        known: Dictionary[Node, Any],
        bounds: Dictionary[Node, Sequence[tuple[str, float]]],
    ) -> None:
        self.mapping = mapping
        self.chosen = chosen
        self.known = known
        self.bounds = bounds
        self.takes_rows = bool(known)
        self._statement = Statement()
        self._nodes: dict[Any, _Entity] = {}
        self._edges: list[_Edge] = []
        self._kinds: dict[Any, str] = {}
        self._fields: list[tuple[Reading, Any, list[tuple[str, int]]]] = []
        self._conditions: list[str] = []
        self._table_types = table_types(mapping)
        self._classes: dict[Any, int] = {}
        if self.takes_rows:
            self._statement.lines.append("UNWIND $rows AS row")
            self._statement.column("row.i")
        self._gather()
        self._match()
        self._return()
        self.text = self._statement.text()
        self.params = self._statement.params

    def _gather(self) -> None:
        """Collect the nodes and relationships that the readings speak of."""
        for reading in self.chosen:
            subject, _, found = reading.pattern
            if reading.subject == NODE:
                entity = self._node(subject)
                if reading.form == "type" and not is_variable(found):
                    self._narrow_by_type(entity, reading)
                elif reading.labels is not None:
                    entity.narrow(sorted(reading.labels))
            if reading.form == "relationship":
                self._edge(None, subject, found, reading.names)
            elif reading.form == "class":
                self._node(subject).narrow(["Custodian"])
                self._edge(None, subject, found, ("INSTANCE_OF",))
                self._node(found).narrow(["OntologyClass"])
        for term in {r.pattern[0]: 0 for r in self.chosen if r.subject == STATEMENT}:
            self._gather_statement(term)

    def _narrow_by_type(self, entity: _Entity, reading: Reading) -> None:
        """Allow the labels of a given type."""
        if all(name in LABELS for name in reading.names):
            entity.narrow(reading.names)
        else:
            self._conditions.append(
                self._statement.has_label(entity.variable, reading.names)
            )

    def _gather_statement(self, term: Node) -> None:
        """Collect the relationship of a statement, and its ends."""
        ends: dict[str, Any] = {}
        names: tuple[str, ...] = ()
        for reading in self.chosen:
            if reading.subject == STATEMENT and reading.pattern[0] == term:
                found = reading.pattern[2]
                if reading.form in {"subject", "object"}:
                    ends[reading.form] = found
                elif reading.form == "predicate" and not is_variable(found):
                    own = self.mapping.vocabulary.named("rel", str(found))
                    names = (
                        *([] if own is None else [own]),
                        *self.mapping.short_names(str(found)),
                    ) or ("",)
        if term in self.known:
            names = (self.known[term][1],)
        edge = self._edge(
            term,
            ends.get("subject", (term, "source")),
            ends.get("object", (term, "target")),
            names,
        )
        if term in self.known:
            place, _, source, target = self.known[term]
            for end, arms, suffix in (
                (edge.source, source, "s"),
                (edge.target, target, "t"),
            ):
                if end.arms is None:
                    end.arms, end.place = arms, f"{place}{suffix}"

    def _node(self, term: Any) -> _Entity:
        """Return the node that a term stands for."""
        if term not in self._nodes:
            entity = _Entity(term, f"n{len(self._nodes)}")
            if term in self.known:
                entity.place, entity.arms = self.known[term]
            self._nodes[term] = entity
        return self._nodes[term]

    def _edge(
        self, term: Any, source: Any, target: Any, names: tuple[str, ...]
    ) -> _Edge:
        """Add a relationship."""
        edge = _Edge(
            term, f"r{len(self._edges)}", self._node(source), self._node(target), names
        )
        self._edges.append(edge)
        return edge

    def _match(self) -> None:
        """Write the clauses that find nodes and relationships."""
        statement = self._statement
        in_edges = {id(e.source) for e in self._edges}
        in_edges |= {id(e.target) for e in self._edges}
        for entity in self._nodes.values():
            if entity.arms is not None:
                statement.lookup(entity.variable, entity.arms, f"row.{entity.place}")
                if entity.labels is not None:
                    self._conditions.append(
                        statement.has_label(entity.variable, entity.labels)
                    )
        for entity in self._nodes.values():
            if entity.arms is None:
                if entity.labels == []:
                    self._conditions.append("false")
                if entity.labels or id(entity) not in in_edges:
                    statement.node(entity.variable, entity.labels or [])
        for edge in self._edges:
            statement.edge(
                edge.variable, edge.source.variable, edge.target.variable, edge.names
            )
            if edge.term is None:
                statement.distinct = True
            else:
                self._conditions.append(
                    f"(size(keys({edge.variable})) > 0 OR {_count(edge)} > 1)"
                )
        for reading in self.chosen:
            if reading.form == "property":
                self._filter_property(reading)
        for condition in self._conditions:
            statement.where(condition)

    def _holder(self, reading: Reading) -> str:
        """Return the variable of what a property belongs to."""
        term = reading.pattern[0]
        if reading.subject == NODE:
            return self._nodes[term].variable
        return next(e.variable for e in self._edges if e.term == term)

    def _filter_property(self, reading: Reading) -> None:
        """Ask for a property that is there, or has one of some values."""
        statement = self._statement
        holder = self._holder(reading)
        names = self._names(reading)
        found = reading.pattern[2]
        held = " OR ".join(
            f"{statement.property(holder, name)} IS NOT NULL" for name in names
        )
        if found in self.known:
            members = statement.members(holder, names)
            held = f"any(x IN {members} WHERE x IN row.{self.known[found]})"
        self._conditions.append(f"({held})" if held else "false")
        for sign, number in self.bounds.get(found, ()):
            members = statement.members(holder, names)
            place = statement.param(number)
            self._conditions.append(
                f"any(x IN {members} WHERE CASE WHEN x IS :: INTEGER | FLOAT "
                f"THEN x {sign} {place} ELSE true END)"
            )

    def _names(self, reading: Reading) -> list[str]:
        """Return the properties that a reading can mean for the labels allowed."""
        if reading.subject == STATEMENT or reading.labels is None:
            return list(reading.names)
        from graph.rdf.mapping import TERMS

        predicate = str(reading.pattern[1])
        allowed = self._nodes[reading.pattern[0]].labels
        return list(
            dict.fromkeys(
                rule.name
                for rule in TERMS
                if self.mapping.term(rule) == predicate
                and (allowed is None or rule.label in allowed)
            )
        )

    def _return(self) -> None:
        """Choose the columns."""
        statement = self._statement
        for entity in self._nodes.values():
            entity.columns = self._identity(entity)
        for edge in self._edges:
            if edge.term is not None:
                edge.columns = (
                    statement.column(f"type({edge.variable})"),
                    statement.column(f"elementId({edge.variable})"),
                    statement.column(
                        f"CASE WHEN {_count(edge)} > 1 THEN {_siblings(edge)} END"
                    ),
                )
        for reading in self.chosen:
            columns: list[tuple[str, int]] = []
            if reading.form == "property":
                holder = self._holder(reading)
                columns = [
                    (name, statement.column(statement.property(holder, name)))
                    for name in self._names(reading)
                ]
            elif (
                reading.form == "type"
                and reading.subject == NODE
                and is_variable(reading.pattern[2])
            ):
                holder = self._nodes[reading.pattern[0]].variable
                columns = [("", statement.column(_classes(holder)))]
            self._fields.append((reading, reading.pattern[2], columns))

    def _identity(self, entity: _Entity) -> tuple[int | None, ...]:
        """Return the columns that say which node it is."""
        variable = entity.variable
        column = self._statement.column
        label = entity.label
        if label is None:
            return (
                column(f"labels({variable})"),
                column(f"{variable}.id"),
                column(f"CASE WHEN {variable}:Corpus THEN {variable}.name END"),
                column(f"{variable}.uri"),
            )
        rule = LABELS[label]
        several = f"CASE WHEN size(labels({variable})) > 1 THEN labels({variable}) END"
        return (
            column(several),
            column(f"{variable}.id") if rule.key == "id" else None,
            column(f"{variable}.name") if rule.key == "name" else None,
            column(f"{variable}.uri") if rule.uri else None,
        )

    def decode(self, record: Sequence[Any], row: Solution) -> Iterator[Solution]:
        """Yield what a row of the answer means.

        Args:
            record: Its values.
            row: What was bound before.
        """
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
        yield from _solutions(found, row)

    def _decode_node(
        self, entity: _Entity, record: Sequence[Any]
    ) -> tuple[str, str, list[str]] | None:
        """Return IRI, label of the table and labels of a node."""
        values = [None if c is None else record[c] for c in entity.columns]
        labels: list[str] = values[0] or ([entity.label] if entity.label else [])
        primary = (
            labels[0]
            if len(labels) == 1 and labels[0] in LABELS
            else self.mapping.primary(labels)
        )
        if primary is None:
            return None
        properties = {"id": values[1], "name": values[2], "uri": values[3]}
        iri = self.mapping.node_iri(primary, properties)
        return None if iri is None else (iri, primary, labels)

    def _statement_iri(
        self, edge: _Edge, record: Sequence[Any], iris: Dictionary[int, str]
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
        return {
            literal_term(literal)
            for name, column in columns
            if record[column] is not None
            for held_by, literals in self.mapping.property_values(
                label, name, record[column]
            )
            if held_by == predicate
            for literal in literals
        }

    def _class_iris(self, classes: Sequence[Sequence[Any]]) -> set[str]:
        """Return the types that a custodian has by its classes."""
        iris = set()
        for labels, key, uri in classes:
            if self.mapping.primary(labels) == "OntologyClass":
                iri = self.mapping.node_iri("OntologyClass", {"id": key, "uri": uri})
                if iri is not None and not iri.startswith("_:"):
                    iris.add(iri)
        return iris - self._table_types


def _solutions(found: Dictionary[Any, set[Node]], row: Solution) -> Iterator[Solution]:
    """Yield each way to choose one term for each variable."""
    fixed: Solution = {}
    several: list[tuple[Node, list[Node]]] = []
    for term, terms in found.items():
        known = row.get(term) if is_variable(term) else term
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


def _count(edge: _Edge) -> str:
    """Return the expression of how many parallel relationships there are."""
    ends = f"({edge.source.variable})-[x]->({edge.target.variable})"
    return f"COUNT {{ {ends} WHERE type(x) = type({edge.variable}) }}"


def _siblings(edge: _Edge) -> str:
    """Return the expression of the parallel relationships, itself among them."""
    ends = f"({edge.source.variable})-[x]->({edge.target.variable})"
    same = f"WHERE type(x) = type({edge.variable})"
    return f"[{ends} {same} | [elementId(x), properties(x)]]"


def _classes(variable: str) -> str:
    """Return the expression of the classes that a custodian is an instance of."""
    path = f"({variable})-[:INSTANCE_OF]->(k:OntologyClass)"
    listed = f"[{path} | [labels(k), k.id, k.uri]]"
    return f"CASE WHEN {variable}:Custodian THEN {listed} ELSE [] END"

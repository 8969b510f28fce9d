"""Statements for joined patterns, and what their rows mean.

A statement finds at least what the patterns mean, by labels, keys, types and values. A
row of its answer counts where its terms are exactly those of the patterns; so no answer
depends on how Neo4j compares values.

Several statements are sent as one, arms of one UNION ALL told apart by a number: one
trip to the database for all that is asked. The first one of a query also brings the
prefixes of the database, so that nobody has to ask for them.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rdflib.term import Node, URIRef

from knowtrail.graph.rdf.clauses import Arm, Statement
from knowtrail.graph.rdf.mapping import LABELS, TERMS, Mapping, numbered
from knowtrail.graph.rdf.patterns import (
    NODE,
    STATEMENT,
    STATEMENT_CLASS,
    Reading,
    is_variable,
)
from knowtrail.graph.rdf.values import Runner, Solution, literal_term, node_term

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from collections.abc import Mapping as Dictionary


_ORDER = {label: place for place, label in enumerate(LABELS)}
_SHORT = 24
_REMEMBERED = 1_000


@dataclass(slots=True)
class Entity:
    """A node of the statement.

    A node follows the rule of the first of its labels in the table, its leading one,
    which must be among `leads`; it must have a label of each list in `held`. `columns`
    are those of its labels, `id`, `name` and `uri`, None where it can have none.
    """

    variable: str
    held: list[list[str]] = field(default_factory=list)
    leads: frozenset[str] | None = None
    arms: tuple[Arm, ...] | None = None
    place: str = ""
    columns: tuple[int | None, ...] = ()

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
        lists = list(self.held)
        if self.leads is not None:
            lists.append(self.possible)
        return min(lists, key=len, default=None)

    @property
    def label(self) -> str | None:
        """Return the one label it can have, None where there are several."""
        names = self.labels if self.arms is None else [label for label, _ in self.arms]
        return names[0] if names and len(names) == 1 and names[0] in LABELS else None


@dataclass(slots=True)
class Edge:
    """A relationship of the statement; `term` is the statement that it is, if any.

    `columns` are those of its type, the server's name of it, and its siblings.
    """

    term: Any
    variable: str
    source: Entity
    target: Entity
    names: tuple[str, ...]
    columns: tuple[int, ...] = ()


Field = tuple["Reading", Any, list[tuple[str, int]]]
"""A reading, its object, and the properties that it needs with their columns."""


def _solutions(found: Dictionary[Any, set[Node]], row: Solution) -> Iterator[Solution]:
    choices: dict[Node, list[Node]] = {}
    for term, terms in found.items():
        known = row.get(term) if is_variable(term) else term
        if not terms or (known is not None and known not in terms):
            return
        if known is None:
            choices[term] = sorted(terms, key=str) if len(terms) > 1 else list(terms)
        elif is_variable(term):
            choices[term] = [known]
    for choice in itertools.product(*choices.values()):
        yield dict(zip(choices, choice, strict=True))


Message = tuple["Translation", list[int], list[dict[str, Any]]]
"""A statement, the numbers of the rows it is about, and what it is told of each."""

_MOST_ARMS = 6


@dataclass(eq=False)
class Translation:
    """A statement for one choice of readings and one way their terms are bound.

    `known` says where rows have a term's value: for a literal the name of a list of
    candidates, and whether they are texts; for a node that name and where to look it
    up; for a statement that name, its type, and where to look up its ends.
    """

    mapping: Mapping
    chosen: Sequence[Reading]
    known: Dictionary[Node, Any]
    bounds: Dictionary[Node, Sequence[tuple[str, float]]]
    optional: Sequence[Sequence[Reading]]
    number: int

    def __post_init__(self) -> None:
        self.statement = Statement(number=self.number)
        self._nodes: dict[Any, Entity] = {}
        self._edges: list[Edge] = []
        self._fields: list[Field] = []
        self._conditions: list[str] = []
        if self.known:
            self.statement.lines.append(f"UNWIND ${self.statement.rows} AS row")
            self.statement.column("row.i")
        self._gather()
        self._match()
        self._return()
        self._optional = [
            [self._field(one) for one in group] for group in self.optional
        ]
        # Short texts, which often come again, are remembered.
        self._remembered = lru_cache(_REMEMBERED)(self._literals)

    def counting(self, given: Collection[Node]) -> str | None:
        """Return the statement that counts nodes for each of their values."""
        entity = next(iter(self._nodes.values()))
        fits = (
            len(self._nodes) == 1
            and not self._edges
            and entity.arms is None
            and entity.label is not None
            and LABELS[entity.label].key == "id"
            and all(
                not is_variable(term) or term in given for _, term, _ in self._fields
            )
        )
        if not fits:
            return None
        numbers = {number for _, _, columns in self._fields for _, number in columns}
        values = [self.statement.columns[number] for number in sorted(numbers)]
        return self.statement.counted_text(entity.variable, entity.columns[1], values)

    def _gather(self) -> None:
        for reading in self.chosen:
            subject, _, found = reading.pattern
            if reading.subject == NODE:
                entity = self._node(subject)
                if reading.form == "type" and not is_variable(found):
                    self._narrow_by_type(entity, reading)
                elif reading.labels is not None:
                    entity.lead(reading.labels)
            if reading.form == "relationship":
                self._edge(None, subject, found, reading.names)
            elif reading.form == "class":
                self._node(subject).lead(["Custodian"])
                self._edge(None, subject, found, ("INSTANCE_OF",))
                self._node(found).lead(["OntologyClass"])
        for term in {r.pattern[0]: 0 for r in self.chosen if r.subject == STATEMENT}:
            self._gather_statement(term)

    def _narrow_by_type(self, entity: Entity, reading: Reading) -> None:
        """Allow the labels of a given type: a standard one is of the leading label."""
        kind, own = str(reading.pattern[2]), self.mapping.own_type
        if any(n not in LABELS or own(n) == kind for n in reading.names):
            entity.held.append(list(reading.names))
        else:
            entity.lead(reading.names)

    def _gather_statement(self, term: Node) -> None:
        said: dict[str, Any] = {
            reading.form: reading.pattern[2]
            for reading in self.chosen
            if reading.subject == STATEMENT and reading.pattern[0] == term
        }
        found = said.get("predicate")
        names: tuple[str, ...] = ()
        if found is not None and not is_variable(found):
            names = tuple(self.mapping.names(str(found), "rel")) or ("",)
        place, name, *lookups = self.known.get(term, ("", None))
        source = said.get("subject", (term, "source"))
        target = said.get("object", (term, "target"))
        edge = self._edge(term, source, target, names if name is None else (name,))
        ends = (edge.source, edge.target)
        for end, arms, suffix in zip(ends, lookups, "st", strict=False):
            if end.arms is None:
                end.arms, end.place = arms, f"{place}{suffix}"

    def _node(self, term: Any) -> Entity:
        if term not in self._nodes:
            entity = Entity(f"n{len(self._nodes)}")
            if term in self.known:
                entity.place, entity.arms = self.known[term]
            self._nodes[term] = entity
        return self._nodes[term]

    def _edge(
        self, term: Any, source: Any, target: Any, names: tuple[str, ...]
    ) -> Edge:
        edge = Edge(
            term, f"r{len(self._edges)}", self._node(source), self._node(target), names
        )
        self._edges.append(edge)
        return edge

    def _match(self) -> None:
        statement = self.statement
        in_edges = {id(end) for e in self._edges for end in (e.source, e.target)}
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
                    f"(size(keys({edge.variable})) > 0 "
                    f"OR COUNT {{ {_parallel(edge)} }} > 1)"
                )
        for reading in self.chosen:
            if reading.form == "property":
                self._filter_property(reading)
        for condition in self._conditions:
            statement.where(condition)

    def _holder(self, reading: Reading) -> str:
        term = reading.pattern[0]
        if reading.subject == NODE:
            return self._nodes[term].variable
        return next(e.variable for e in self._edges if e.term == term)

    def _filter_property(self, reading: Reading) -> None:
        statement = self.statement
        holder = self._holder(reading)
        names = self._names(reading)
        found = reading.pattern[2]
        held = " OR ".join(
            f"{statement.property(holder, name)} IS NOT NULL" for name in names
        )
        if found in self.known:
            key, are_texts = self.known[found]
            held = " OR ".join(
                statement.has_value(holder, name, f"row.{key}") for name in names
            )
            if are_texts and reading.subject == NODE:
                self._conditions += self._seeks(reading, names, f"row.{key}")
        self._conditions.append(f"({held})" if held else "false")
        for sign, number in self.bounds.get(found, ()):
            members = statement.members(holder, names)
            place = statement.param(number)
            self._conditions.append(
                f"any(x IN {members} WHERE CASE WHEN x IS :: INTEGER | FLOAT "
                f"THEN x {sign} {place} ELSE true END)"
            )

    def _seeks(self, reading: Reading, names: Sequence[str], values: str) -> list[str]:
        """Return a condition that an index on the subject's label answers, if any."""
        # A node with a second label, of which another property is meant, meets it too.
        entity = self._nodes[reading.pattern[0]]
        if entity.arms is not None or entity.label is None:
            return []
        own = self._rule_names(reading, [entity.label]) or names
        if len(own) != 1:
            return []
        seek = self.statement.can_seek(entity.variable, own[0], values)
        others = [
            label
            for label in entity.possible
            if set(self._rule_names(reading, [label])) - set(own)
        ]
        other = f" OR {self.statement.has_label(entity.variable, others)}"
        return [f"({seek}{other})" if others else seek]

    def _names(self, reading: Reading) -> list[str]:
        if reading.subject == STATEMENT or reading.labels is None:
            return list(reading.names)
        return self._rule_names(reading, self._nodes[reading.pattern[0]].possible)

    def _rule_names(self, reading: Reading, allowed: Collection[str]) -> list[str]:
        predicate = str(reading.pattern[1])
        rules = (rule for rule in TERMS if rule.label in allowed)
        names = (r.name for r in rules if self.mapping.term(r) == predicate)
        return list(dict.fromkeys(names))

    def _return(self) -> None:
        statement = self.statement
        for entity in self._nodes.values():
            entity.columns = self._identity(entity)
        for edge in self._edges:
            if edge.term is not None:
                siblings = f"[{_parallel(edge)} | [elementId(x), properties(x)]]"
                several = f"COUNT {{ {_parallel(edge)} }} > 1"
                edge.columns = (
                    statement.column(f"type({edge.variable})"),
                    statement.column(f"elementId({edge.variable})"),
                    statement.column(f"CASE WHEN {several} THEN {siblings} END"),
                )
        self._fields += [self._field(reading) for reading in self.chosen]

    def _field(self, reading: Reading) -> Field:
        statement = self.statement
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
            path = f"({holder})-[:INSTANCE_OF]->(k:OntologyClass)"
            listed = f"[{path} | [labels(k), k.id, k.uri]]"
            found = f"CASE WHEN {holder}:Custodian THEN {listed} ELSE [] END"
            columns = [("", statement.column(found))]
        return reading, reading.pattern[2], columns

    def _identity(self, entity: Entity) -> tuple[int | None, ...]:
        variable, column = entity.variable, self.statement.column
        rule = None if entity.label is None else LABELS[entity.label]
        labels = f"labels({variable})"
        several = f"CASE WHEN size({labels}) > 1 THEN {labels} END"
        name = f"CASE WHEN {variable}:Corpus THEN {variable}.name END"
        return (
            column(several if rule else labels),
            column(f"{variable}.id") if rule is None or rule.key == "id" else None,
            column(name) if rule is None or "Corpus" in entity.possible else None,
            column(f"{variable}.uri") if rule is None or rule.uri else None,
        )

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
            found[term] = found.get(term, terms) & terms
        extended: list[Solution] = [{}]
        for group in self._optional:
            choices = {
                term: self._objects(reading, record, columns, labels)
                for reading, term, columns in group
            }
            if added := list(_solutions(choices, {})):
                extended = [one | more for one in extended for more in added]
        for solution in _solutions(found, row):
            yield from (solution | more for more in extended)

    def _decode_node(
        self, entity: Entity, record: Sequence[Any]
    ) -> tuple[str, str, list[str]] | None:
        held, key, name, uri = (
            None if column is None else record[column] for column in entity.columns
        )
        labels: list[str] = held or ([entity.label] if entity.label else [])
        primary = (
            labels[0]
            if len(labels) == 1 and labels[0] in LABELS
            else self.mapping.primary(labels)
        )
        if primary is None or (entity.leads and primary not in entity.leads):
            return None
        iri = self.mapping.node_iri(primary, {"id": key, "name": name, "uri": uri})
        return None if iri is None else (iri, primary, labels)

    def _statement_iri(
        self, edge: Edge, record: Sequence[Any], iris: Dictionary[int, str]
    ) -> str:
        name, server, siblings = (record[column] for column in edge.columns)
        number = numbered(self.mapping, siblings)[server] if siblings else 0
        source, target = iris[id(edge.source)], iris[id(edge.target)]
        return self.mapping.vocabulary.statement(source, name, target, number)

    def _objects(
        self,
        reading: Reading,
        record: Sequence[Any],
        columns: Sequence[tuple[str, int]],
        labels: Dictionary[Any, tuple[str, list[str]]],
    ) -> set[Node]:
        subject = reading.pattern[0]
        if reading.form == "type":
            if reading.subject == STATEMENT:
                return {URIRef(STATEMENT_CLASS)}
            primary, held = labels[subject]
            types: set[str | None] = {*self.mapping.types(held, primary)}
            if columns and primary == "Custodian":
                types |= {
                    self.mapping.class_iri(one, {"id": key, "uri": uri})
                    for one, key, uri in record[columns[0][1]]
                }
            return {URIRef(kind) for kind in types if kind is not None}
        if reading.form == "predicate":
            edge = next(e for e in self._edges if e.term == subject)
            return {URIRef(self.mapping.relationship(record[edge.columns[0]]))}
        predicate = str(reading.pattern[1])
        label = "" if reading.subject == STATEMENT else labels[subject][0]
        found: set[Node] = set()
        for name, column in columns:
            value = record[column]
            if value is not None:
                is_short = isinstance(value, str) and len(value) <= _SHORT
                read = self._remembered if is_short else self._literals
                found |= read(predicate, label, name, value)
        return found

    def _literals(
        self, predicate: str, label: str, name: str, value: Any
    ) -> frozenset[Node]:
        return frozenset(
            literal_term(literal)
            for held_by, literals in self.mapping.property_values(label, name, value)
            if held_by == predicate
            for literal in literals
        )


def _parallel(edge: Edge) -> str:
    """Return the pattern of the parallel relationships, itself among them."""
    ends = f"({edge.source.variable})-[x]->({edge.target.variable})"
    return f"{ends} WHERE type(x) = type({edge.variable})"


def send(
    run: Runner, messages: Sequence[Message], rows: Sequence[Solution]
) -> Iterator[tuple[int, int, Solution]]:
    """Yield what statements find, in their order."""
    for place in range(0, len(messages), _MOST_ARMS):
        some = messages[place : place + _MOST_ARMS]
        width = max(1, *(len(query.statement.columns) for query, _, _ in some))
        params: dict[str, Any] = {}
        for query, _, sent in some:
            params |= query.statement.params
            if query.known:
                params[query.statement.rows] = sent
        arms = [query.statement.text(width) for query, _, _ in some]
        for number, *record in ask(run, arms, params, width):
            query, numbers, _ = messages[number]
            for row in [numbers[record[0]]] if query.known else numbers:
                for solution in query.decode(record, rows[row]):
                    yield number, row, solution


def ask(
    run: Runner, arms: Sequence[str], params: dict[str, Any], width: int
) -> Iterator[Sequence[Any]]:
    """Yield what the arms of a statement find, and tell `run` of the prefixes.

    Where these have to be confirmed, one more arm brings those of the database, and
    nothing is yielded before.
    """
    confirm = getattr(run, "confirm", None)
    if confirm is not None:
        rest = "".join(f", null AS c{i}" for i in range(1, width))
        held = "COLLECT { MATCH (x:`_NsPrefDef`) RETURN properties(x) }"
        arms = [f"RETURN -1 AS i, {held} AS c0{rest}", *arms]
    waiting: list[Sequence[Any]] = []
    for record in run("\nUNION ALL\n".join(arms), params):
        if confirm is None:
            yield record
        elif record[0] >= 0:
            waiting.append(record)
        else:
            confirm(record[1])
            confirm = None
            yield from waiting

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
from typing import TYPE_CHECKING, Any

from rdflib.term import URIRef

from knowtrail.graph.rdf.clauses import Statement
from knowtrail.graph.rdf.mapping import LABELS, TERMS, numbered
from knowtrail.graph.rdf.patterns import (
    NODE,
    STATEMENT,
    STATEMENT_CLASS,
    Reading,
    is_variable,
    table_types,
)
from knowtrail.graph.rdf.values import literal_term, node_term

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from collections.abc import Mapping as Dictionary

    from rdflib.term import Node

    from knowtrail.graph.rdf.clauses import Arm
    from knowtrail.graph.rdf.mapping import Mapping
    from knowtrail.graph.rdf.values import Runner, Solution


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


Message = tuple["Translation", list[int], list[dict[str, Any]]]
"""A statement, the numbers of the rows it is about, and what it is told of each."""

_MOST_ARMS = 6


class Translation:
    """A statement for one choice of readings and one way their terms are bound.

    `known` says where rows have a term's value: for a literal the name of a list of
    candidates, and whether they are texts; for a node that name and where to look it
    up; for a statement that name, its type, and where to look up its ends.

    Attributes:
        takes_rows: Whether it is about rows, which are the parameter `rows`.
        params: Its other parameters.
        width: How many columns it has.
    """

    def __init__(
        self,
        mapping: Mapping,
        chosen: Sequence[Reading],
        known: Dictionary[Node, Any],
        bounds: Dictionary[Node, Sequence[tuple[str, float]]],
        *,
        optional: Sequence[Sequence[Reading]] = (),
        number: int = 0,
    ) -> None:
        self.mapping = mapping
        self.chosen = chosen
        self.known = known
        self.bounds = bounds
        self.takes_rows = bool(known)
        self.statement = Statement(number=number)
        self._nodes: dict[Any, Entity] = {}
        self._edges: list[Edge] = []
        self._fields: list[Field] = []
        self._conditions: list[str] = []
        if self.takes_rows:
            self.statement.lines.append(f"UNWIND ${self.statement.rows} AS row")
            self.statement.column("row.i")
        self._gather()
        self._match()
        self._return()
        groups = [[self._field(one) for one in group] for group in optional]
        self.params = self.statement.params
        self.width = len(self.statement.columns)
        self.decode = Decoder(
            mapping, self._nodes, self._edges, self._fields, groups
        ).decode

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
        """Collect the nodes and relationships that the readings speak of."""
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
        kind = str(reading.pattern[2])
        if any(kind == self.mapping.own_type(name) for name in reading.names):
            entity.hold(reading.names)
        elif all(name in LABELS for name in reading.names):
            entity.lead(reading.names)
        else:
            self._conditions.append(
                self.statement.has_label(entity.variable, reading.names)
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

    def _node(self, term: Any) -> Entity:
        """Return the node that a term stands for."""
        if term not in self._nodes:
            entity = Entity(term, f"n{len(self._nodes)}")
            if term in self.known:
                entity.place, entity.arms = self.known[term]
            self._nodes[term] = entity
        return self._nodes[term]

    def _edge(
        self, term: Any, source: Any, target: Any, names: tuple[str, ...]
    ) -> Edge:
        """Add a relationship."""
        edge = Edge(
            term, f"r{len(self._edges)}", self._node(source), self._node(target), names
        )
        self._edges.append(edge)
        return edge

    def _match(self) -> None:
        """Write the clauses that find nodes and relationships."""
        statement = self.statement
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
            if are_texts and self._has_one_label(reading):
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
        """Return a condition that an index on the subject's label answers, if any.

        A node with a second label, of which another property is meant, meets it too.
        """
        entity = self._nodes[reading.pattern[0]]
        own = self._rule_names(reading, [entity.label or ""]) or names
        others = [
            label
            for label in entity.possible
            if set(self._rule_names(reading, [label])) - set(own)
        ]
        if len(own) != 1:
            return []
        seek = self.statement.can_seek(entity.variable, own[0], values)
        if not others:
            return [seek]
        return [f"({seek} OR {self.statement.has_label(entity.variable, others)})"]

    def _has_one_label(self, reading: Reading) -> bool:
        """Return whether the subject is found by its one label."""
        if reading.subject != NODE:
            return False
        entity = self._nodes[reading.pattern[0]]
        return entity.arms is None and entity.label is not None

    def _names(self, reading: Reading) -> list[str]:
        """Return the properties that a reading can mean for the labels allowed."""
        if reading.subject == STATEMENT or reading.labels is None:
            return list(reading.names)
        return self._rule_names(reading, self._nodes[reading.pattern[0]].possible)

    def _rule_names(self, reading: Reading, allowed: Collection[str]) -> list[str]:
        """Return the properties that the table has for a reading under some labels."""
        predicate = str(reading.pattern[1])
        return list(
            dict.fromkeys(
                rule.name
                for rule in TERMS
                if self.mapping.term(rule) == predicate and rule.label in allowed
            )
        )

    def _return(self) -> None:
        """Choose the columns."""
        statement = self.statement
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
        self._fields += [self._field(reading) for reading in self.chosen]

    def _field(self, reading: Reading) -> Field:
        """Choose the columns that a reading needs."""
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
            columns = [("", statement.column(_classes(holder)))]
        return reading, reading.pattern[2], columns

    def _identity(self, entity: Entity) -> tuple[int | None, ...]:
        """Return the columns that say which node it is."""
        variable = entity.variable
        column = self.statement.column
        label = entity.label
        if label is None:
            return (
                column(f"labels({variable})"),
                column(f"{variable}.id"),
                column(_corpus_name(variable)),
                column(f"{variable}.uri"),
            )
        rule = LABELS[label]
        several = f"CASE WHEN size(labels({variable})) > 1 THEN labels({variable}) END"
        return (
            column(several),
            column(f"{variable}.id") if rule.key == "id" else None,
            column(_corpus_name(variable)) if "Corpus" in entity.possible else None,
            column(f"{variable}.uri") if rule.uri else None,
        )


def _corpus_name(variable: str) -> str:
    """Return the expression of the name that is a corpus's key."""
    return f"CASE WHEN {variable}:Corpus THEN {variable}.name END"


def _count(edge: Edge) -> str:
    """Return the expression of how many parallel relationships there are."""
    ends = f"({edge.source.variable})-[x]->({edge.target.variable})"
    return f"COUNT {{ {ends} WHERE type(x) = type({edge.variable}) }}"


def _siblings(edge: Edge) -> str:
    """Return the expression of the parallel relationships, itself among them."""
    ends = f"({edge.source.variable})-[x]->({edge.target.variable})"
    same = f"WHERE type(x) = type({edge.variable})"
    return f"[{ends} {same} | [elementId(x), properties(x)]]"


def _classes(variable: str) -> str:
    """Return the expression of the classes that a custodian is an instance of."""
    path = f"({variable})-[:INSTANCE_OF]->(k:OntologyClass)"
    listed = f"[{path} | [labels(k), k.id, k.uri]]"
    return f"CASE WHEN {variable}:Custodian THEN {listed} ELSE [] END"


def send(
    run: Runner, messages: Sequence[Message], rows: Sequence[Solution]
) -> Iterator[tuple[int, int, Solution]]:
    """Yield what statements find, in their order."""
    for place in range(0, len(messages), _MOST_ARMS):
        some = messages[place : place + _MOST_ARMS]
        confirm = getattr(run, "confirm", None)
        if len(some) == 1 and confirm is None:
            for record in run(some[0][0].statement.text(), _params(some)):
                yield from _decoded(place, some[0], record, rows)
            continue
        found = run(_text(some, checked=confirm is not None), _params(some))
        for number, *record in confirmed(found, confirm):
            yield from _decoded(number, messages[number], record, rows)


def confirmed(
    records: Iterable[Sequence[Any]], confirm: Callable[[Any], None] | None
) -> Iterator[Sequence[Any]]:
    """Yield the records, none before the prefixes have been confirmed."""
    waiting: list[Sequence[Any]] = []
    for record in records:
        if confirm is None:
            yield record
        elif record[0] >= 0:
            waiting.append(record)
        else:
            confirm(record[1])
            confirm = None
            yield from waiting


def _text(messages: Sequence[Message], *, checked: bool) -> str:
    """Return the statement that has some as its arms."""
    width = max(1, *(query.width for query, _, _ in messages))
    arms = [
        query.statement.text(width=width, numbered=True) for query, _, _ in messages
    ]
    if checked:
        arms.insert(0, prefixes_text(width))
    return "\nUNION ALL\n".join(arms)


def prefixes_text(width: int) -> str:
    """Return the arm that brings the prefixes of the database."""
    rest = "".join(f", null AS c{i}" for i in range(1, width))
    return (
        "RETURN -1 AS i, COLLECT { MATCH (x:`_NsPrefDef`) RETURN properties(x) } "
        f"AS c0{rest}"
    )


def _params(messages: Sequence[Message]) -> dict[str, Any]:
    """Return the parameters of some statements."""
    params: dict[str, Any] = {}
    for query, _, sent in messages:
        params |= query.params
        if query.takes_rows:
            params[query.statement.rows] = sent
    return params


def _decoded(
    number: int, message: Message, record: Sequence[Any], rows: Sequence[Solution]
) -> Iterator[tuple[int, int, Solution]]:
    """Yield what a row of the answer means for each row that it is about."""
    query, numbers, _ = message
    about = [numbers[record[0]]] if query.takes_rows else numbers
    for row in about:
        for solution in query.decode(record, rows[row]):
            yield number, row, solution

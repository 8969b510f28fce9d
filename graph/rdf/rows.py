"""What the triples of a subject become: a node, or a relationship's properties."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from knowtrail.graph.rdf.mapping import EMBEDDINGS, LABELS, TERMS, Mapping
from knowtrail.graph.rdf.patterns import (
    OBJECT,
    PREDICATE,
    STATEMENT_CLASS,
    SUBJECT,
    TYPE,
    table_types,
)
from knowtrail.graph.rdf.values import ordered
from knowtrail.graph.rdf.vocabulary import DATES, PREFIXES, XSD, Value

if TYPE_CHECKING:
    from collections.abc import Mapping as Dictionary

Facts = Iterable[tuple[str, str | Value]]

_NAMESPACE = re.compile(r"^(.*[#/])([^#/]+)$", re.DOTALL)
_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRow:
    """A node to be stored.

    Attributes:
        iri: Its IRI, or blank node.
        label: The label of the table that it has.
        name: The property that it is found by.
        key: What that property holds.
        labels: Other labels.
        properties: Its properties, without vectors.
        vectors: Its vectors by name.
        edges: Relationships that begin at it: name and IRI of the target.
        classes: Types of a custodian that may be classes of the ontology.
    """

    iri: str
    label: str
    name: str
    key: str
    labels: tuple[str, ...] = ()
    properties: dict[str, Any] = field(default_factory=dict)
    vectors: dict[str, list[float]] = field(default_factory=dict)
    edges: tuple[tuple[str, str], ...] = ()
    classes: tuple[str, ...] = ()


class Rows:
    """Turns subjects into rows; makes prefixes for the RDF of others as needed."""

    def __init__(self, mapping: Mapping, preferred: Dictionary[str, str]) -> None:
        self._foreign = dict(mapping.foreign)
        self.mapping = Mapping(mapping.vocabulary, self._foreign)
        self.new_prefixes: dict[str, str] = {}
        own = mapping.vocabulary.prefixes
        known = {**PREFIXES, **own}
        others = {p: n for p, n in sorted(preferred.items()) if known.get(p) != n}
        self._preferred = [*others.items(), *known.items()]
        self._types = table_types(mapping)
        self._terms = {(rule.label, mapping.term(rule)): rule for rule in TERMS}
        self._special = {
            mapping.own_type(label): label for label, rule in LABELS.items() if rule.own
        }

    def statement(self, iri: str, facts: Facts) -> tuple[str, str, str] | None:
        """Return source, type and target of a relationship as a statement."""
        parsed = self.mapping.vocabulary.parse_statement(iri)
        if parsed is None:
            return None
        held = {p: o for p, o in facts if isinstance(o, str)}
        source, name, target, _ = parsed
        if (held.get(SUBJECT), held.get(OBJECT)) != (source, target):
            return None
        said = held.get(PREDICATE, "")
        own = self.mapping.vocabulary.named("rel", said)
        if own is None or self.mapping.expand(own) is not None:
            own = self.short(said) if said else None
        return (source, name, target) if own == name else None

    def properties(self, label: str, facts: Facts) -> dict[str, Any]:
        """Return the properties that literals are."""
        members: dict[str, dict[Value, Any]] = {}
        orders: dict[str, str] = {}
        for predicate, found in facts:
            if not isinstance(found, Value):
                continue
            listed = self.mapping.vocabulary.named("list", predicate)
            if listed is not None:
                orders[listed] = found.text
                continue
            name, value = self._property(label, predicate, found)
            members.setdefault(name, {})[found] = value
        result: dict[str, Any] = {
            name: [] for name, order in orders.items() if not order
        }
        for name, values in members.items():
            result[name] = self._value(values, orders.get(name))
        return result

    def name_of(self, label: str, predicate: str) -> str | None:
        """Return the property of ours that a predicate means, if any."""
        rule = self._terms.get((label, predicate))
        if rule is None:
            return self.mapping.vocabulary.named("property", predicate)
        return rule.name

    def _property(self, label: str, predicate: str, found: Value) -> tuple[str, Any]:
        """Return name and value of the property that a literal is, or is part of."""
        rule = self._terms.get((label, predicate))
        name = self.name_of(label, predicate)
        if name is not None and self.mapping.expand(name) is None:
            value = self._plain(found, "any" if rule is None else rule.form)
            if value is not None:
                return name, value
        if not found.language:
            self.short(found.datatype or f"{XSD}string")
        return self.short(predicate), self.mapping.stored(found, foreign=True)

    def _plain(self, literal: Value, form: str) -> Any:
        """Return the value of a literal in a property of ours, None without one."""
        if form == "year" and literal.datatype in DATES:
            return literal.text
        if form == "decimal" and literal.datatype == f"{XSD}decimal":
            try:
                return float(literal.text)
            except ValueError:
                return None
        return self.mapping.stored(literal, foreign=False)

    def _value(self, values: dict[Value, Any], order: str | None) -> Any:
        """Return the value of a property from its members."""
        members = ordered(set(values), order)
        if len(members) == 1 and order is None:
            return values[members[0]]
        held = [values[member] for member in members]
        if len({type(value) for value in held}) > 1:
            return [self._text(member, values[member]) for member in members]
        return held

    def _text(self, literal: Value, value: Any) -> str:
        """Return a literal as tagged text, for a list with members of several types."""
        if isinstance(value, str):
            return value
        return f"{literal.text}^^{self.short(literal.datatype)}"

    def short(self, iri: str) -> str:
        """Return the name `prefix__local` of an IRI; make a prefix if there is none."""
        found = _NAMESPACE.match(iri)
        namespace, local = found.groups() if found else (iri, "")
        if found is None:
            scheme, _, rest = iri.partition(":")
            namespace, local = f"{scheme}:", rest
        if namespace not in self._foreign.values():
            prefix = self._prefix(namespace)
            self._foreign[prefix] = self.new_prefixes[prefix] = namespace
        return self.mapping.shorten(iri) or f"{self._prefix_of(namespace)}__{local}"

    def _prefix_of(self, namespace: str) -> str:
        """Return the prefix of a namespace that has one."""
        return next(p for p, n in sorted(self._foreign.items()) if n == namespace)

    def _prefix(self, namespace: str) -> str:
        """Choose a prefix for a namespace."""
        for prefix, other in self._preferred:
            fits = _PREFIX.fullmatch(prefix) and prefix not in self._foreign
            if other == namespace and fits:
                return prefix
        number = 0
        while f"ns{number}" in self._foreign:
            number += 1
        return f"ns{number}"

    def node(
        self, iri: str, facts: list[tuple[str, str | Value]], label: str | None
    ) -> NodeRow:
        """Return the node that a subject is."""
        types = [o for p, o in facts if p == TYPE and isinstance(o, str)]
        label = label or self.label_of(iri, types)
        properties = self.properties(label, facts)
        key_name, key = self._key(label, iri, properties)
        edges = []
        for predicate, target in facts:
            if isinstance(target, str) and predicate != TYPE:
                own = self.mapping.vocabulary.named("rel", predicate)
                if own is None or self.mapping.expand(own) is not None:
                    own = self.short(predicate)
                edges.append((own, target))
        others, classes = self._other_types(label, types)
        vectors = {
            name: properties.pop(name)
            for name in EMBEDDINGS
            if isinstance(properties.get(name), list) and self._is_single(facts, name)
        }
        return NodeRow(
            iri=iri,
            label=label,
            name=key_name,
            key=key,
            labels=tuple(others),
            properties=properties,
            vectors=vectors,
            edges=tuple(edges),
            classes=tuple(classes),
        )

    def _is_single(self, facts: Facts, name: str) -> bool:
        """Return whether a vector is in single precision, as vector indexes have it."""
        kind = self.mapping.vocabulary.datatype("float32Vector")
        predicate = self.mapping.vocabulary.property(name)
        return any(
            p == predicate and isinstance(o, Value) and o.datatype == kind
            for p, o in facts
        )

    def label_of(self, iri: str, types: Iterable[str]) -> str:
        """Return the label of the table whose rule a node follows.

        An IRI that a key leads to has that label; any other is a node's own `uri`.
        """
        parsed = self.mapping.vocabulary.parse_node(iri)
        if parsed is not None and parsed[0] in LABELS and parsed[0] != "Resource":
            return parsed[0]
        own = (
            label
            for label, rule in LABELS.items()
            if rule.uri
            and label != "Resource"
            and self.mapping.own_type(label) in types
        )
        return next(own, "Resource")

    def _key(self, label: str, iri: str, properties: dict[str, Any]) -> tuple[str, str]:
        """Return the property that a node is found by, and what it holds.

        A node that is named by its own `uri` gets it as a property.
        """
        name = LABELS[label].key
        parsed = self.mapping.vocabulary.parse_node(iri)
        if parsed is not None and parsed[0] == label and label != "Resource":
            properties[name] = parsed[1]
            return name, parsed[1]
        uri = f"bnode://{iri[2:]}" if iri.startswith("_:") else iri
        properties["uri"] = uri
        held = properties.get(name)
        return (name, held) if isinstance(held, str) else ("uri", uri)

    def _other_types(
        self, label: str, types: Iterable[str]
    ) -> tuple[list[str], list[str]]:
        """Return the labels that types stand for, and types that may be classes."""
        known = {self.mapping.own_type(label), *LABELS[label].types}
        others: list[str] = []
        classes: list[str] = []
        for kind in types:
            if kind in known:
                continue
            if kind in self._special and label != "Resource":
                others.append(self._special[kind])
                continue
            own = self.mapping.vocabulary.named("class", kind)
            plain = own is not None and self.mapping.expand(own) is None
            if (
                own is not None
                and plain
                and not (label == "Resource" and own in LABELS)
            ):
                others.append(own)
            elif label == "Custodian" and kind not in self._types:
                classes.append(kind)
            elif kind != STATEMENT_CLASS or label == "Resource":
                others.append(self.short(kind))
        return others, classes

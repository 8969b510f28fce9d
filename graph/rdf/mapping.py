"""Which node, property and relationship of the graph is which RDF, and back.

`LABELS` and `TERMS` are the whole table; docs/reference/rdf-mapping.md is tested
against it. `Mapping` applies it, with the prefixes that the database has for RDF of
others, which is stored by the conventions of neosemantics: nodes `:Resource {uri}`, and
labels, properties and relationship types called `prefix__name`.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING, Any

from knowtrail.graph.db import labels
from knowtrail.graph.files.packaged import packaged
from knowtrail.graph.rdf.values import (
    decimal_text,
    is_vector,
    literal_of,
    order_of,
    value_of,
    vector_of,
)
from knowtrail.graph.rdf.vocabulary import PREFIXES, XSD, Value, Vocabulary, is_iri

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Mapping as Dictionary

EMBEDDINGS = frozenset({"embedding", "themeEmbedding"})
"""Properties that an export without embeddings leaves out."""

ORDER = "order"
"""Datatype of the literal that says how a list is made from its members."""

_DATED = {
    "gYear": re.compile(r"(?!0000)\d{4}", re.ASCII),
    "gYearMonth": re.compile(r"(?!0000)\d{4}-(?:0[1-9]|1[0-2])", re.ASCII),
    "date": re.compile(r"\d{4}-\d\d-\d\d", re.ASCII),
}
_FOREIGN = re.compile(r"([A-Za-z][A-Za-z0-9]*)__(.+)", re.DOTALL)
_TYPED = re.compile(r"(.*)\^\^([A-Za-z][A-Za-z0-9]*)__([A-Za-z_][\w.-]*)", re.DOTALL)
_TAGGED = re.compile(r"(.*)@([A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class TermRule:
    """A standard predicate of a property of nodes of a label.

    Attributes:
        term: The predicate; one that begins with `hc:` is below the base.
        form: `any` value; `year` for text that is a year, a month of one or a date,
            `decimal` for finite numbers. A value that does not fit has the general
            predicate.
    """

    label: str
    name: str
    term: str
    form: str = "any"


def _iri(name: str) -> str:
    prefix, _, local = name.partition(":")
    return name if prefix == "hc" else PREFIXES[prefix] + local


LABELS = {
    label: replace(rule, types=tuple(_iri(name) for name in rule.types))
    for label, rule in labels.LABELS.items()
    if label != "SchemaVersion"
}
"""Label -> rule. A node with several of them has the rule of the first one."""

TERMS = tuple(
    TermRule(label=label, name=name, term=_iri(term), form=next(iter(form), "any"))
    for label, name, term, *form in packaged(__package__, "vocabulary.toml")["terms"]
)
"""Every property with a standard predicate; any other has `BASE/property/NAME`."""


@dataclass(frozen=True, eq=False)
class Mapping:
    """The table, for one base and the prefixes (`foreign`) of RDF of others."""

    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    foreign: Dictionary[str, str] = field(default_factory=dict)

    def term(self, rule: TermRule) -> str:
        """Return the predicate of a rule."""
        if rule.term.startswith("hc:"):
            return self.vocabulary.heritage + rule.term.removeprefix("hc:")
        return rule.term

    def own_type(self, label: str) -> str:
        """Return the type that says which label a node has."""
        rule = LABELS.get(label)
        if rule is not None and rule.own:
            return self.vocabulary.base + rule.own
        return self.vocabulary.own_class(label)

    @cached_property
    def table_types(self) -> frozenset[str]:
        """Every type that nodes have by their labels in the table."""
        own = {self.own_type(label) for label in LABELS}
        return frozenset(own.union(*(rule.types for rule in LABELS.values())))

    def primary(self, labels: Iterable[str]) -> str | None:
        """Return the label whose rule a node follows, None where it has none."""
        held = set(labels)
        return next((label for label in LABELS if label in held), None)

    def node_iri(self, label: str, properties: Dictionary[str, Any]) -> str | None:
        """Return a node's IRI, or blank node; None where it has no usable key."""
        rule = LABELS[label]
        uri = properties.get("uri") if rule.uri else None
        if uri is not None and self.is_own_uri(uri):
            return self.vocabulary.blank(uri) or str(uri)
        key = properties.get(rule.key)
        if not isinstance(key, str) or rule.key == "uri":
            return None
        return self.vocabulary.node(label, key)

    def class_iri(
        self, labels: Iterable[str], properties: Dictionary[str, Any]
    ) -> str | None:
        """Return the type that a custodian has by an instance-of to a node, if any."""
        if self.primary(labels) != "OntologyClass":
            return None
        iri = self.node_iri("OntologyClass", properties)
        is_none = iri is None or iri.startswith("_:") or iri in self.table_types
        return None if is_none else iri

    def is_own_uri(self, uri: object) -> bool:
        """Return whether a `uri` can be a node's IRI: one that no key leads to."""
        if not is_iri(uri):
            return False
        parsed = self.vocabulary.parse_node(str(uri))
        return parsed is None or parsed[0] not in LABELS

    def types(self, labels: Iterable[str], primary: str) -> list[str]:
        """Return the types that a node has by its labels, sorted.

        `Resource` is how RDF of others is stored, and no type.
        """
        found = set(LABELS[primary].types)
        for label in labels:
            if label != "Resource":
                expanded = self.expand(label)
                found.add(self.own_type(label) if expanded is None else expanded)
        return sorted(found)

    def expand(self, name: str) -> str | None:
        """Return the IRI that a name `prefix__local` stands for, if it does."""
        found = _FOREIGN.fullmatch(name) if "__" in name else None
        if found is None or found[1] not in self.foreign:
            return None
        iri = self.foreign[found[1]] + found[2]
        return iri if is_iri(iri) else None

    def short_names(self, iri: str) -> list[str]:
        """Return every name `prefix__local` of an IRI, the shortest rest first."""
        found = [
            (-len(namespace), f"{prefix}__{iri[len(namespace) :]}")
            for prefix, namespace in self.foreign.items()
            if iri.startswith(namespace) and len(iri) > len(namespace)
        ]
        return [name for _, name in sorted(found)]

    def names(self, iri: str, *kinds: str) -> list[str]:
        """Return every name that an IRI can stand for, of our kinds or of others."""
        own = (self.vocabulary.named(kind, iri) for kind in kinds)
        return [*(name for name in own if name is not None), *self.short_names(iri)]

    def shorten(self, iri: str) -> str | None:
        """Return the name `prefix__local` of an IRI, None where no prefix fits."""
        return next(iter(self.short_names(iri)), None)

    def relationship(self, name: str) -> str:
        """Return the predicate of a relationship's type."""
        return self.expand(name) or self.vocabulary.relationship(name)

    def property_values(
        self, label: str, name: str, value: Any
    ) -> list[tuple[str, list[Value]]]:
        """Return the predicates of a property, each with its literals.

        The label is empty for a relationship. A second predicate is for the order of a
        list that is not just its distinct members, sorted.
        """
        if name == "uri" and label and LABELS[label].uri and self.is_own_uri(value):
            return []
        foreign = self.expand(name)
        rule = None if foreign else _RULES.get((label, name))
        general = foreign or self.vocabulary.property(name)
        if rule is not None and rule.form == "any":
            general = self.term(rule)
        if foreign is None and is_vector(value):
            return [(general, [vector_of(value, self.vocabulary)])]
        members = value if isinstance(value, list) else [value]
        literals = [self._literal(member, foreign) for member in members]
        if rule is not None and rule.form != "any":
            formed = [_formed(rule.form, member) for member in members]
            if formed and all(formed):
                general = self.term(rule)
                literals = [literal for literal in formed if literal]
        distinct = sorted(set(literals))
        found = [(general, distinct)] if distinct else []
        if isinstance(value, list):
            order = order_of(literals, distinct)
            if order is not None:
                typed = Value(order, self.vocabulary.datatype(ORDER))
                found.append((self.vocabulary.order(name), [typed]))
        return found

    def _literal(self, value: Any, foreign: str | None) -> Value:
        """Return a literal, read as neosemantics writes it for predicates of others."""
        if foreign is None or not isinstance(value, str):
            return literal_of(value, self.vocabulary)
        return self.tagged(value)

    def tagged(self, text: str) -> Value:
        """Read text that may end with a language or datatype, as neosemantics does."""
        typed = _TYPED.fullmatch(text)
        if typed is not None and typed[2] in self.foreign:
            datatype = self.foreign[typed[2]] + typed[3]
            return Value(typed[1], "" if datatype == f"{XSD}string" else datatype)
        language = _TAGGED.fullmatch(text)
        return Value(text) if language is None else Value(language[1], "", language[2])

    def stored(self, literal: Value, *, foreign: bool) -> Any:
        """Return what a literal is stored as.

        None where a property of ours holds no such literal as it is written (times and
        floating-point numbers have its value), or a datatype has no prefix.
        """
        value = value_of(literal, self.vocabulary)
        if not foreign:
            other = isinstance(value, int) and self._literal(value, None) != literal
            return None if other else value
        if isinstance(value, str):
            return value if self.tagged(value) == literal else f"{value}^^xsd__string"
        exact = value is not None and not isinstance(value, list)
        if exact and literal_of(value, self.vocabulary) == literal:
            return value
        if literal.language:
            return f"{literal.text}@{literal.language}"
        name = self.shorten(literal.datatype)
        return None if name is None else f"{literal.text}^^{name}"


_RULES = {(rule.label, rule.name): rule for rule in TERMS}


def _formed(form: str, value: Any) -> Value | None:
    """Return the literal that a form of a term has for a value, None without one."""
    if form == "year" and isinstance(value, str):
        for kind, pattern in _DATED.items():
            with suppress(ValueError):
                if pattern.fullmatch(value) and (
                    kind != "date" or date.fromisoformat(value)
                ):
                    return Value(value, f"{XSD}{kind}")
    if form == "decimal" and isinstance(value, float) and abs(value) < 1e300:
        text = decimal_text(value)
        return Value(text, f"{XSD}decimal") if float(text) == value else None
    return None


def content_of(mapping: Mapping, properties: Dictionary[str, Any]) -> str:
    """Return a text that relationships with the same properties share."""
    return repr([
        (name, [(p, list(map(repr, literals))) for p, literals in found])
        for name in sorted(properties)
        if (found := mapping.property_values("", name, properties[name]))
        or properties[name] == []
    ])


def numbered(
    mapping: Mapping, siblings: Iterable[tuple[str, Dictionary[str, Any]]]
) -> dict[str, int]:
    """Number the relationships of one type from one node to another.

    The numbers follow from the properties; those with the same ones, which nothing else
    tells apart, are numbered as the database has them.
    """
    keyed = sorted((content_of(mapping, held), name) for name, held in siblings)
    return {name: number for number, (_, name) in enumerate(keyed)}

"""The nodes and relationships of the graph as triples, streamed.

Nodes come label by label, in the order of their keys, each followed by the
relationships that begin at it; so the order depends on what is stored alone. No more
than a page of nodes, and the relationships of one node, are held at once. Triples of
one node or one object are found without reading the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rdflib.term import Literal, URIRef

from knowtrail.graph.db.statements import statement
from knowtrail.graph.rdf.clauses import arms_of, node_text, page_text
from knowtrail.graph.rdf.mapping import EMBEDDINGS, LABELS, TERMS, Mapping, numbered
from knowtrail.graph.rdf.patterns import OBJECT, PREDICATE, SUBJECT, TYPE
from knowtrail.graph.rdf.values import Runner, candidates, iri_of_term
from knowtrail.graph.rdf.vocabulary import RDF, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


_PAGE = 200
"""Nodes read at once."""

Triple = tuple[str, str, str | Value]
NodeRecord = tuple[str, str, list[str], dict[str, Any]]
"""IRI, label of the table, all labels and properties of a node."""


def _read_nodes(
    run: Runner, mapping: Mapping, *, corpus: str | None = None
) -> Iterator[tuple[list[NodeRecord], list[str]]]:
    """Yield pages of nodes with the server's names of them."""
    for label, rule in LABELS.items():
        keys = [rule.key] if rule.key == "uri" or not rule.uri else [rule.key, "uri"]
        for key in keys:
            params = {"after": "", "limit": _PAGE, "corpus": corpus}
            unkeyed = key == "uri" and rule.key != "uri"
            whose = {"unkeyed": unkeyed, "corpus": corpus is not None}
            text = page_text(label, key, first=True, **whose)
            while rows := list(run(text, params)):
                text = page_text(label, key, first=False, **whose)
                params["after"] = rows[-1][0]
                found = {
                    name: (iri, label, labels, properties)
                    for _, name, labels, properties in rows
                    if mapping.primary(labels) == label
                    and (iri := mapping.node_iri(label, properties)) is not None
                }
                yield list(found.values()), list(found)


def node_triples(
    mapping: Mapping, record: NodeRecord, *, embeddings: bool = True
) -> Iterator[Triple]:
    """Yield the triples of a node's labels and properties."""
    iri, label, labels, properties = record
    for kind in mapping.types(labels, label):
        yield iri, f"{RDF}type", kind
    for name in sorted(properties):
        if embeddings or name not in EMBEDDINGS:
            yield from _property_triples(mapping, iri, label, name, properties[name])


def _property_triples(
    mapping: Mapping, iri: str, label: str, name: str, value: Any
) -> Iterator[Triple]:
    for predicate, literals in mapping.property_values(label, name, value):
        for literal in literals:
            yield iri, predicate, literal


def _edge_triples(
    mapping: Mapping, source: NodeRecord, edges: Sequence[Sequence[Any]]
) -> tuple[list[Triple], list[Triple]]:
    """Return triples of the relationships from a node: its own, and of statements."""
    groups: dict[tuple[str, str], list[tuple[str, dict[str, Any]]]] = {}
    types: set[str] = set()
    for name, server, properties, labels, key, other, uri in edges:
        label, held = mapping.primary(labels), {"id": key, "name": other, "uri": uri}
        target = None if label is None else mapping.node_iri(label, held)
        if target is None:
            continue
        groups.setdefault((name, target), []).append((server, properties))
        is_instance = (source[1], name) == ("Custodian", "INSTANCE_OF")
        if is_instance and (kind := mapping.class_iri(labels, held)) is not None:
            types.add(kind)
    types -= set(mapping.types(source[2], source[1]))
    own: list[Triple] = [(source[0], f"{RDF}type", kind) for kind in sorted(types)]
    statements: list[Triple] = []
    for (name, target), siblings in sorted(groups.items(), key=lambda item: item[0]):
        own.append((source[0], mapping.relationship(name), target))
        # Those with properties, and parallel ones, are statements too.
        several = siblings if len(siblings) > 1 or siblings[0][1] else []
        numbers = numbered(mapping, several)
        for server, properties in sorted(several, key=lambda item: numbers[item[0]]):
            iri = mapping.vocabulary.statement(source[0], name, target, numbers[server])
            statements += [
                (iri, TYPE, f"{RDF}Statement"),
                (iri, SUBJECT, source[0]),
                (iri, PREDICATE, mapping.relationship(name)),
                (iri, OBJECT, target),
            ]
            for key in sorted(properties):
                statements += _property_triples(mapping, iri, "", key, properties[key])
    return own, statements


def graph_triples(
    run: Runner,
    mapping: Mapping,
    *,
    corpus: str | None = None,
    embeddings: bool = True,
    node_done: Callable[[int], None] = lambda _: None,
) -> Iterator[Triple]:
    """Yield every triple of the graph, once, those of one subject together."""
    done = 0
    for records, names in _read_nodes(run, mapping, corpus=corpus):
        params = {"names": names, "corpus": corpus}
        found = run(statement("rdf/edges"), params)
        waiting = next(found, None)
        for place, record in enumerate(records):
            edges = []
            while waiting is not None and waiting[0] == place:
                edges.append(waiting[1:])
                waiting = next(found, None)
            own, statements = _edge_triples(mapping, record, edges)
            yield from node_triples(mapping, record, embeddings=embeddings)
            yield from own
            yield from statements
        done += len(records)
        node_done(done)


def triples_of(run: Runner, mapping: Mapping, subject: Any) -> Iterator[Triple]:
    """Yield the triples of one subject, a node or a statement."""
    subject_iri = iri_of_term(subject)
    parsed = mapping.vocabulary.parse_statement(subject_iri)
    iri = subject_iri if parsed is None else parsed[0]
    arms = arms_of(mapping, iri)
    rows = {"rows": [{"b": list(arms.values())}]}
    for name, labels, properties in run(node_text(list(arms)), rows):
        label = mapping.primary(labels)
        if label is None or mapping.node_iri(label, properties) != iri:
            continue
        found = run(statement("rdf/edges"), {"names": [name], "corpus": None})
        edges = [edge[1:] for edge in found]
        record = (iri, label, labels, properties)
        own, statements = _edge_triples(mapping, record, edges)
        if parsed is None:
            yield from node_triples(mapping, record)
            yield from own
        yield from (triple for triple in statements if triple[0] == subject_iri)


def predicates_of(run: Runner, mapping: Mapping, found: Any) -> list[URIRef] | None:
    """Return every predicate that a triple with this object can have."""
    if isinstance(found, Literal):
        values = candidates(mapping, found)
        if values is None:
            return None
        names = {row[0] for row in run(statement("rdf/keys"), {"values": values})}
        iris = {mapping.expand(n) or mapping.vocabulary.property(n) for n in names}
        iris |= {mapping.term(rule) for rule in TERMS if rule.name in names}
    else:
        iri = iri_of_term(found)
        arms = arms_of(mapping, iri)
        rows = run(
            node_text(list(arms), incoming=True), {"rows": [{"b": list(arms.values())}]}
        )
        iris = {mapping.relationship(row[0]) for row in rows}
        iris |= {TYPE, SUBJECT, PREDICATE, OBJECT}
    return [URIRef(iri) for iri in sorted(iris)]

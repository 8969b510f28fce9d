"""Triples whose predicate is not given: those of one node, and those of one object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rdflib.term import Literal, URIRef

from graph.rdf.clauses import arms_of, edges_text, incoming_text, keys_text, node_text
from graph.rdf.mapping import TERMS
from graph.rdf.reading import edge_triples, node_triples
from graph.rdf.readings import OBJECT, PREDICATE, SUBJECT, TYPE, table_types
from graph.rdf.terms import candidates, iri_of_term

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graph.rdf.mapping import Mapping
    from graph.rdf.reading import NodeRecord, Triple
    from graph.rdf.terms import Runner

__all__ = ["predicates_of", "triples_of"]


def triples_of(run: Runner, mapping: Mapping, subject: Any) -> Iterator[Triple]:
    """Yield the triples of one subject, a node or a statement.

    Args:
        run: Runs a statement.
        mapping: The mapping of the database.
        subject: An IRI or blank node of rdflib.
    """
    iri = iri_of_term(subject)
    parsed = mapping.vocabulary.parse_statement(iri)
    if parsed is not None:
        for record, edges in _nodes(run, mapping, parsed[0]):
            _, statements = edge_triples(mapping, record, edges, frozenset())
            yield from (triple for triple in statements if triple[0] == iri)
        return
    for record, edges in _nodes(run, mapping, iri):
        yield from node_triples(mapping, record)
        yield from edge_triples(mapping, record, edges, table_types(mapping))[0]


def _nodes(
    run: Runner, mapping: Mapping, iri: str
) -> Iterator[tuple[NodeRecord, list[Any]]]:
    """Yield the node of an IRI with the relationships that begin at it."""
    arms = arms_of(mapping, iri)
    for name, labels, properties in run(
        node_text(list(arms)), {"rows": [{"b": list(arms.values())}]}
    ):
        label = mapping.primary(labels)
        if label is not None and mapping.node_iri(label, properties) == iri:
            found = run(edges_text(corpus=False), {"names": [name], "corpus": None})
            yield (iri, label, labels, properties), [edge[1:] for edge in found]


def predicates_of(run: Runner, mapping: Mapping, found: Any) -> list[URIRef] | None:
    """Return every predicate that a triple with this object can have.

    Args:
        run: Runs a statement.
        mapping: The mapping of the database.
        found: A term of rdflib.

    Returns:
        The predicates; None where only reading everything can tell.
    """
    if isinstance(found, Literal):
        values = candidates(mapping, found)
        if values is None:
            return None
        names = {row[0] for row in run(keys_text(), {"values": values})}
        iris = {mapping.expand(n) or mapping.vocabulary.property(n) for n in names}
        iris |= {mapping.term(rule) for rule in TERMS if rule.name in names}
    else:
        iri = iri_of_term(found)
        arms = arms_of(mapping, iri)
        rows = run(incoming_text(list(arms)), {"rows": [{"b": list(arms.values())}]})
        iris = {mapping.relationship(row[0]) for row in rows}
        iris |= {TYPE, SUBJECT, PREDICATE, OBJECT}
    return [URIRef(iri) for iri in sorted(iris)]

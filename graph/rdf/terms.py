"""Terms of rdflib and literals, IRIs and property values of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rdflib.term import BNode, Literal, Node, URIRef

from graph.rdf.values import value_of
from graph.rdf.vocabulary import DATES, XSD, Value

if TYPE_CHECKING:
    from graph.rdf.mapping import Mapping

__all__ = [
    "Runner",
    "Solution",
    "candidates",
    "iri_of_term",
    "literal_term",
    "node_term",
    "value_of_term",
]

Solution = dict[Node, Node]
"""What variables are bound to."""

Runner = Callable[[str, dict[str, Any]], Iterator[Sequence[Any]]]
"""Runs a statement with parameters and yields its rows."""


_FLOATING = frozenset({f"{XSD}double", f"{XSD}float"})
_AS_XSD_WRITES = {"nan": "NaN", "inf": "INF", "-inf": "-INF"}
"""What rdflib makes of these numbers -> what XSD allows."""


def literal_term(value: Value) -> Literal:
    """Return a literal of ours as one of rdflib."""
    return Literal(
        value.text,
        datatype=URIRef(value.datatype) if value.datatype else None,
        lang=value.language or None,
    )


def node_term(iri: str) -> URIRef | BNode:
    """Return an IRI, or blank node, as a term of rdflib."""
    return BNode(iri[2:]) if iri.startswith("_:") else URIRef(iri)


def iri_of_term(term: Any) -> str:
    """Return an IRI or blank node of rdflib as text."""
    return f"_:{term}" if isinstance(term, BNode) else str(term)


def value_of_term(term: Literal) -> Value:
    """Return a literal of rdflib as one of ours."""
    datatype = "" if term.datatype is None else str(term.datatype)
    text = str(term)
    if datatype in _FLOATING:
        text = _AS_XSD_WRITES.get(text, text)
    return Value(text, datatype, term.language or "")


def candidates(mapping: Mapping, term: Node) -> list[Any] | None:
    """Return every property value that could be a literal, None where unsure."""
    if not isinstance(term, Literal):
        return None
    value = value_of_term(term)
    found = value_of(value, mapping.vocabulary)
    if isinstance(found, list) or found != found:
        return None
    result = [] if found is None else [found]
    text = value.text
    if value.language:
        # Tags are the same in any case, which only terms know, not Cypher.
        if "-" in value.language:
            return None
        tags = {value.language, value.language.lower(), value.language.upper()}
        result += [f"{text}@{tag}" for tag in sorted(tags)]
    elif mapping.foreign:
        names = mapping.short_names(value.datatype or f"{XSD}string")
        result += [f"{text}^^{name}" for name in names]
    if value.datatype in DATES:
        result.append(text)
    if value.datatype == f"{XSD}decimal":
        try:
            result.append(float(text))
        except (ValueError, OverflowError):
            return None
    return result if value.datatype != mapping.vocabulary.datatype("order") else None

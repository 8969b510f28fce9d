"""The bundled institutions as a graph in memory, without any database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.custodians import CustodianFile, class_uri
from ingest.custodians.making import Findings, custodian_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from rdflib import Graph

    from eval.specificity.judging import Key
    from graph.embedders import Embedder
    from ingest.custodians import Custodian
    from retrieval.specificity.pipeline import TemplatePipeline

__all__ = [
    "custodians_of",
    "graph_of",
    "key_of",
    "memory_pipeline",
]

_CORPUS = "fixture"


def custodians_of(path: Path) -> tuple[Custodian, ...]:
    """Return the institutions of a file, with nothing guessed.

    Args:
        path: CSV or JSON Lines, as `ingest custodians` reads them.
    """
    file = CustodianFile(path)
    return tuple(
        custodian_of(
            row,
            place=place,
            source=file.name,
            towns=file.towns,
            country=None,
            guess=False,
            findings=Findings(),
        )
        for place, row in file.rows()
    )


def graph_of(custodians: Iterable[Custodian]) -> Graph:
    """Return institutions as RDF in memory, by the mapping of the whole graph.

    The triples of a node are those that the live graph answers with; its class is a
    type of it too.
    """
    from rdflib import Graph, URIRef
    from rdflib.namespace import RDF

    from graph.rdf.mapping import Mapping
    from graph.rdf.reading import node_triples
    from graph.rdf.terms import literal_term, node_term
    from graph.rdf.vocabulary import Value

    mapping = Mapping()
    graph = Graph(bind_namespaces="none")
    for custodian in custodians:
        properties = custodian.properties(_CORPUS)
        iri = mapping.node_iri("Custodian", properties)
        if iri is None:
            continue
        record = (iri, "Custodian", ["Custodian"], properties)
        for subject, predicate, found in node_triples(mapping, record):
            target = literal_term(found) if isinstance(found, Value) else None
            graph.add((
                node_term(subject),
                URIRef(predicate),
                node_term(str(found)) if target is None else target,
            ))
        graph.add((node_term(iri), RDF.type, URIRef(class_uri(custodian.class_name))))
    return graph


def key_of(custodians: Sequence[Custodian], corpus: str = _CORPUS) -> Key:
    """Return what answers about institutions are judged by.

    Args:
        custodians: The institutions; those without a GHCID cannot be judged.
        corpus: The corpus that they are stored in; left out for `graph_of`.
    """
    from eval.specificity.judging import Key
    from graph.rdf.mapping import Mapping

    mapping = Mapping()
    iris = {}
    for custodian in custodians:
        iri = mapping.node_iri("Custodian", custodian.properties(corpus))
        if iri is not None and custodian.ghcid is not None:
            iris[iri] = custodian.ghcid
    return Key.of(custodians, iris)


def memory_pipeline(
    custodians: Sequence[Custodian], embedder: Embedder | None = None
) -> TemplatePipeline:
    """Return a pipeline over institutions in memory, which searches no chunks.

    Args:
        custodians: The institutions.
        embedder: For the classifier; None compares words alone.
    """
    from retrieval.specificity.classifying import EmbeddingTemplateClassifier
    from retrieval.specificity.execution import DEFAULT_BASE
    from retrieval.specificity.gazetteer import gazetteer_of_graph
    from retrieval.specificity.pipeline import TemplatePipeline
    from retrieval.specificity.templates import load_templates

    graph = graph_of(custodians)
    templates = load_templates()
    return TemplatePipeline(
        graph,
        gazetteer_of_graph(graph, base=DEFAULT_BASE),
        templates=templates,
        classifier=EmbeddingTemplateClassifier(templates, embedder),
    )

"""Queries of templates, limited to the institutions of one corpus."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from rdflib import Literal, URIRef

from graph.errors import InputError
from retrieval.specificity.execution import execute
from retrieval.specificity.instantiation import Instantiated, Run
from retrieval.specificity.limiting import CORPUS, limited
from retrieval.specificity.pipeline import PipelineOptions, TemplatePipeline
from retrieval.specificity.templates import load_templates
from tests.heritage import rdf_custodians

if TYPE_CHECKING:
    from rdflib import Graph

    from retrieval.specificity.gazetteer import Gazetteer

IN_CORPUS = URIRef("https://knowtrail.example/property/corpus")
NAME = URIRef("https://schema.org/name")


def _two_corpora() -> Graph:
    """Return the institutions, one museum of them in a corpus of its own."""
    graph = rdf_custodians()
    for subject, name in list(graph.subject_objects(NAME)):
        corpus = "b" if str(name) == "Museum Het Zilveren Anker" else "a"
        graph.add((subject, IN_CORPUS, Literal(corpus)))
    return graph


def _query(sparql: str) -> Instantiated:
    """Return a query without values."""
    return Instantiated(template_id="mine", runs=(Run(sparql=sparql, bindings={}),))


@pytest.mark.parametrize(
    ("corpus", "found"),
    [("a", {"Grachtenmuseum De Spiegel"}), ("b", {"Museum Het Zilveren Anker"})],
)
def test_only_institutions_of_the_corpus_are_found(
    gazetteer: Gazetteer, corpus: str, found: set[str]
) -> None:
    """Lists, counts and comparisons all keep to it, and say so in their bindings."""
    pipeline = TemplatePipeline(
        _two_corpora(), gazetteer, options=PipelineOptions(corpus=corpus)
    )

    listed = pipeline.forward("Which museums are in Amsterdam?")
    counted = pipeline.forward("How many museums are in Amsterdam?")

    assert listed.execution is not None
    assert listed.instantiated is not None
    assert counted.execution is not None
    assert set(listed.execution.column("name")) == found
    assert counted.execution.column("count") == (1,)
    assert listed.instantiated.runs[0].bindings[CORPUS].value == corpus


def test_every_query_of_the_product_can_be_limited() -> None:
    """None of them finds institutions under another name."""
    runs = tuple(
        Run(sparql=variant.sparql, bindings={})
        for template in load_templates().values()
        for variant in template.variants
    )

    done = limited(Instantiated(template_id="all", runs=runs), "a")

    assert len(done.runs) == len(runs) > 20
    assert all(f"?{CORPUS}" in run.sparql for run in done.runs)


@pytest.mark.parametrize(
    "sparql",
    [
        "SELECT ?custodian { ?custodian schema:name ?n }",
        "SELECT ?custodian { ?custodian schema:name ?n . }",
        'SELECT ?custodian { ?custodian schema:name ?n FILTER(?n != "}") # }\n }',
        "SELECT ?custodian { { SELECT ?custodian { ?custodian schema:name ?n } } }",
        "SELECT ?custodian { ?custodian schema:name ?n } ORDER BY ?n LIMIT 50",
        "SELECT ?custodian { { ?custodian hc:isil ?i } UNION "
        "{ ?custodian schema:name ?n } }",
    ],
)
def test_braces_elsewhere_do_not_end_the_query(sparql: str) -> None:
    """The pattern stands in the body, whatever else has a brace."""
    found = execute(_two_corpora(), limited(_query(sparql), "b"))

    assert len(set(found.column("custodian"))) == 1


@pytest.mark.parametrize(
    "sparql",
    [
        "SELECT ?c { ?c schema:name ?n }",
        "SELECT ?n { ?c a ?d { SELECT (COUNT(?custodian) AS ?n) "
        "{ ?custodian schema:name ?x } } }",
        "SELECT ?n { ?c schema:name ?n OPTIONAL { ?custodian hc:isil ?i } }",
        "SELECT (EXISTS { ?custodian a ?x } AS ?e) { ?custodian a ?x }",
    ],
)
def test_a_query_that_cannot_be_limited_is_refused(sparql: str) -> None:
    """It would find institutions of other corpora."""
    with pytest.raises(InputError, match=r"'mine' cannot be limited to corpus 'b'"):
        limited(_query(sparql), "b")


def test_the_name_of_a_corpus_is_only_ever_a_value() -> None:
    """Nothing of it comes into the text of the query."""
    name = '" } DROP ALL #'
    query = _query("SELECT ?custodian { ?custodian schema:name ?n }")

    done = limited(query, name)

    assert name not in done.runs[0].sparql
    assert execute(_two_corpora(), done).rows == ()

"""What the SPARQL engine does before it asks the database."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from rdflib import RDF, Literal, URIRef, Variable

from knowtrail.graph.rdf.evaluation import _bounds, _parsed
from knowtrail.graph.rdf.mapping import Mapping
from knowtrail.graph.rdf.plan import Plan
from knowtrail.graph.rdf.run import Run
from knowtrail.graph.rdf.vocabulary import Vocabulary


def test_columns_of_all_variables_stand_as_they_are_first_named() -> None:
    """Each time: rdflib has them as a set, in the order of their hashes."""
    query = "SELECT * { $s ?p ?o . ?name ?b ?c OPTIONAL { ?n ?m $s } }"

    found = _parsed(query, {}, None)

    assert [*map(str, found.algebra.PV)] == ["s", "p", "o", "name", "b", "c", "n", "m"]


@pytest.mark.parametrize(
    ("number", "bounds"),
    [
        ("7", [("<=", 7 + 7e-12)]),
        ('"NaN"^^xsd:decimal', []),
        ('"sNaN"^^xsd:decimal', []),
        ('"NaN"^^xsd:double', []),
        ("9" * 400, []),
    ],
)
def test_comparisons_with_numbers_bound_what_is_read(number: str, bounds: Any) -> None:
    """What is no number, or is too large for the database, bounds nothing."""
    query = f"SELECT * {{ ?s ?p ?o FILTER(?o < {number}) }}"
    space = {"xsd": "http://www.w3.org/2001/XMLSchema#"}

    found = _bounds(_parsed(query, space, None).algebra.p.p.expr)

    assert [one for _, some in found for one in some] == bounds


@pytest.mark.parametrize(
    ("label", "read"),
    [("Chunk", "id"), ("Sentence", "id"), ("Corpus", ""), ("OntologyClass", "id uri")],
)
def test_rows_have_what_a_label_can_be_named_by(label: str, read: str) -> None:
    """Of nodes of one label neither key nor `uri` is read where they have none.

    They may be corpora as well, and then have the name of one.
    """
    mapping = Mapping(Vocabulary())
    pattern = Variable("s"), RDF.type, URIRef(mapping.own_type(label))

    component: Any = Plan(mapping, [pattern]).alone
    ((query, _, _),) = component.messages([{}], 0)

    columns = set(query.statement.columns)
    keys = {f"n0.{name}" for name in read.split()}
    assert columns & {"n0.id", "n0.uri"} == keys
    assert "CASE WHEN n0:Corpus THEN n0.name END" in columns


def test_plans_are_gone_with_who_keeps_them() -> None:
    """A store that is closed leaves neither its mapping nor its plans behind."""
    nothing: Any = None
    kept: list[Any] = []
    run = Run(nothing, Vocabulary(), kept=kept)
    run._learn([])
    asked = ((Variable("s"), RDF.type, Literal("x")),)

    plan = run.plan(asked)
    assert Run(nothing, Vocabulary(), kept=kept).plan(asked) is plan
    left = [weakref.ref(plan), weakref.ref(run.mapping)]
    del plan, run
    kept.clear()
    gc.collect()

    assert [one() for one in left] == [None, None]

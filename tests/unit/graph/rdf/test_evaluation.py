"""What the SPARQL engine does before it asks the database."""

from __future__ import annotations

from knowtrail.graph.rdf.evaluation import _parsed


def test_columns_of_all_variables_stand_as_they_are_first_named() -> None:
    """Each time: rdflib has them as a set, in the order of their hashes."""
    query = "SELECT * { $s ?p ?o . ?name ?b ?c OPTIONAL { ?n ?m $s } }"

    found = _parsed(query, {}, None)

    assert [*map(str, found.algebra.PV)] == ["s", "p", "o", "name", "b", "c", "n", "m"]

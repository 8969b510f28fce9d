"""Paths in the copy of a graph end at the literals that they name."""

from __future__ import annotations

import pytest
from rdflib import Literal, Namespace

from knowtrail.graph.rdf.evaluation import register
from knowtrail.graph.rdf.store import _CopyStore, _PathGraph

EX = Namespace("http://ex.org/")
PAIRS = [(0, 5), ("", "x"), (False, True)]


@pytest.mark.parametrize(("empty", "full"), PAIRS)
def test_a_path_ends_at_a_literal_that_python_takes_for_false(
    empty: object, full: object
) -> None:
    """As at every other; both as a pattern and in a query."""
    register()
    graph = _PathGraph(_CopyStore(), bind_namespaces="none")
    for number, value in enumerate(value for pair in PAIRS for value in pair):
        graph.add((EX[f"s{number}"], EX.p, Literal(value)))
        graph.add((EX[f"t{number}"], EX.q, EX[f"s{number}"]))
    paths = [EX.p, EX.q / EX.p, *(EX.p * sign for sign in "+*?"), EX.q * "*" / EX.p]

    def ends(value: object) -> list[int]:
        end = Literal(value)
        texts = [f"SELECT ?s {{ ?s {path.n3()} {end.n3()} }}" for path in paths]
        back = [*graph.triples((end, (~EX.p) * "*", None))]
        assert {type(s) for s, _, _ in back} == {Literal}
        return [
            *(len([*graph.triples((None, path, end))]) for path in paths),
            *(len(graph.query(text)) for text in texts),
            len(back),
        ]

    assert ends(empty) == ends(full)

"""Prefixes of the queries of templates."""

from __future__ import annotations

import pytest

from graph.rdf import Vocabulary
from retrieval.specificity.execution import namespaces


@pytest.mark.parametrize("base", ["https://a.example/b", "https://a.example/b/"])
def test_a_base_may_end_with_a_slash_or_not(base: str) -> None:
    """With or without a slash a base gives the namespace that the graph has."""
    found = str(namespaces(base)["hc"])

    assert (
        found == "https://a.example/b/ontology/heritage#" == Vocabulary(base).heritage
    )

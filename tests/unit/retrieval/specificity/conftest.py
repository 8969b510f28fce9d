"""What the tests of templates share: names, a graph in memory, a pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from knowtrail.retrieval.specificity.gazetteer import build_gazetteer
from knowtrail.retrieval.specificity.mention import MentionFinder
from knowtrail.retrieval.specificity.template_pipeline import TemplatePipeline
from tests.heritage import gazetteer_rows, rdf_custodians

if TYPE_CHECKING:
    from rdflib import Graph

    from knowtrail.retrieval.specificity.gazetteer import Gazetteer


@pytest.fixture(scope="session")
def gazetteer() -> Gazetteer:
    """Return the names of the sample institutions."""
    return build_gazetteer(gazetteer_rows())


@pytest.fixture(scope="session")
def finder(gazetteer: Gazetteer) -> MentionFinder:
    """Return what finds those names."""
    return MentionFinder(gazetteer)


@pytest.fixture(scope="session")
def graph() -> Graph:
    """Return the sample institutions as RDF in memory."""
    return rdf_custodians()


@pytest.fixture(scope="session")
def pipeline(graph: Graph, gazetteer: Gazetteer) -> TemplatePipeline:
    """Return a pipeline over them that compares words alone."""
    return TemplatePipeline(graph, gazetteer)

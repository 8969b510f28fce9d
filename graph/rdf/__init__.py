"""The graph as RDF: exported, imported, and answering SPARQL as it is."""

from __future__ import annotations

from graph.rdf.store import live_graph, memory_graph
from graph.rdf.vocabulary import DEFAULT_BASE, Vocabulary

__all__ = ["DEFAULT_BASE", "Vocabulary", "live_graph", "memory_graph"]

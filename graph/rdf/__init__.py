"""The graph as RDF: exported, imported, and answering SPARQL as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowtrail.graph.lazy_names import lazy_names

if TYPE_CHECKING:
    from knowtrail.graph.rdf.export import ExportReport, export_rdf
    from knowtrail.graph.rdf.loading import ImportReport, import_rdf
    from knowtrail.graph.rdf.store import LiveStore, live_graph, memory_graph
    from knowtrail.graph.rdf.vocabulary import DEFAULT_BASE, Vocabulary

__all__ = [
    "DEFAULT_BASE",
    "ExportReport",
    "ImportReport",
    "LiveStore",
    "Vocabulary",
    "export_rdf",
    "import_rdf",
    "live_graph",
    "memory_graph",
]

__getattr__ = lazy_names(__name__)

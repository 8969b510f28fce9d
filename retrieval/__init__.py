"""Questions: algorithms that walk the graph, readers, filters, LangChain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowtrail.graph.lazy_names import lazy_names

if TYPE_CHECKING:
    from knowtrail.retrieval.langchain import KnowtrailRetriever
    from knowtrail.retrieval.langchain_ask import KnowtrailAsk
    from knowtrail.retrieval.langchain_store import KnowtrailVectorStore
    from knowtrail.retrieval.search import SearchResult
    from knowtrail.retrieval.walk import Step, Walk

__all__ = [
    "KnowtrailAsk",
    "KnowtrailRetriever",
    "KnowtrailVectorStore",
    "SearchResult",
    "Step",
    "Walk",
]

__getattr__ = lazy_names(__name__)

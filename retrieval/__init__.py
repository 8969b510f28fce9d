"""Questions: algorithms that walk the graph, readers, filters, LangChain."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from retrieval.langchain import KnowtrailRetriever
    from retrieval.search import SearchResult
    from retrieval.walk import Step, Walk

__all__ = ["KnowtrailRetriever", "SearchResult", "Step", "Walk"]

_HOMES = {
    "KnowtrailRetriever": "retrieval.langchain",
    "SearchResult": "retrieval.search",
    "Step": "retrieval.walk",
    "Walk": "retrieval.walk",
}


def __getattr__(name: str) -> Any:
    """Load a public name at first use, so that the command line starts quickly."""
    if name not in _HOMES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(_HOMES[name]), name)

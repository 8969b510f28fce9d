"""Text corpora as a graph in Neo4j, answered by walking it.

The names that most programs need, each loaded at its first use: `KnowtrailRetriever`
for LangChain, the functions `connect`, `search`, `traverse`, `compare`, `ask` and
`research` (or `aresearch`), and the package `ingest`. Everything else is imported from
where it lives, such as `knowtrail.graph.settings` or `knowtrail.eval.fields`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowtrail import ingest
from knowtrail.graph.lazy_names import lazy_names

if TYPE_CHECKING:
    from knowtrail.graph.session import connect
    from knowtrail.retrieval.ask import ask
    from knowtrail.retrieval.langchain import KnowtrailRetriever
    from knowtrail.retrieval.research.run import aresearch, research
    from knowtrail.retrieval.search import search
    from knowtrail.retrieval.traverse import compare, traverse

__all__ = [
    "KnowtrailRetriever",
    "aresearch",
    "ask",
    "compare",
    "connect",
    "ingest",
    "research",
    "search",
    "traverse",
]

__getattr__ = lazy_names(__name__)


def __dir__() -> list[str]:
    """Name what is loaded later too, for those who press Tab."""
    return sorted({*globals(), *__all__})

"""Ways of walking the graph, one small file each, by name."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from graph.errors import UnknownAlgorithmError
from retrieval.algorithms.basic_retrieval import BasicRetrieval
from retrieval.algorithms.query_traversal import QueryTraversal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from retrieval.protocols import Algorithm

__all__ = [
    "ALGORITHMS",
    "DEFAULT_ALGORITHM",
    "BasicRetrieval",
    "QueryTraversal",
    "algorithm",
]

ALGORITHMS: Mapping[str, Algorithm] = {
    a.name: a for a in (BasicRetrieval(), QueryTraversal())
}
"""Every algorithm by name, with its published settings."""

DEFAULT_ALGORITHM = "query_traversal"


def algorithm(name: str) -> Algorithm:
    """Return an algorithm by name.

    Raises:
        UnknownAlgorithmError: If there is none; the message suggests one.
    """
    if found := ALGORITHMS.get(name):
        return found
    near = difflib.get_close_matches(name, ALGORITHMS, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]!r}? " if near else ""
    msg = (
        f"Unknown algorithm {name!r}: {hint}The algorithms are "
        f"{', '.join(sorted(ALGORITHMS))}."
    )
    raise UnknownAlgorithmError(msg)

"""Ways of walking the graph, one small file each, by name."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from graph.errors import UnknownAlgorithmError
from retrieval.algorithms.basic_retrieval import BasicRetrieval
from retrieval.algorithms.kg_traversal import KgTraversal
from retrieval.algorithms.llm_guided_traversal import LlmGuidedTraversal
from retrieval.algorithms.query_traversal import QueryTraversal
from retrieval.algorithms.rules import PUBLISHED
from retrieval.algorithms.triangulation_average import TriangulationAverage
from retrieval.algorithms.triangulation_fulldim import TriangulationFulldim
from retrieval.algorithms.triangulation_geometric_3d import TriangulationGeometric3D

if TYPE_CHECKING:
    from collections.abc import Mapping

    from retrieval.protocols import Algorithm

__all__ = [
    "ALGORITHMS",
    "DEFAULT_ALGORITHM",
    "DETERMINISTIC",
    "BasicRetrieval",
    "KgTraversal",
    "LlmGuidedTraversal",
    "QueryTraversal",
    "TriangulationAverage",
    "TriangulationFulldim",
    "TriangulationGeometric3D",
    "algorithm",
]

_CLASSES = (
    BasicRetrieval,
    QueryTraversal,
    KgTraversal,
    TriangulationAverage,
    TriangulationGeometric3D,
    TriangulationFulldim,
    LlmGuidedTraversal,
)

ALGORITHMS: Mapping[str, Algorithm] = {each.name: each() for each in _CLASSES}
"""Every algorithm by name, with the rules of its description."""

_PUBLISHED: Mapping[str, Algorithm] = {
    each.name: each(rules=PUBLISHED) for each in _CLASSES
}

DETERMINISTIC: tuple[str, ...] = tuple(
    name for name in ALGORITHMS if name != LlmGuidedTraversal.name
)
"""Names of the algorithms that ask no language model."""

DEFAULT_ALGORITHM = "query_traversal"


def algorithm(name: str, *, published: bool = False) -> Algorithm:
    """Return an algorithm by name.

    Args:
        name: Its name, see `ALGORITHMS`.
        published: Whether it keeps the rules of the published code (see
            `retrieval.algorithms.rules`) rather than those of the description.

    Raises:
        UnknownAlgorithmError: If there is none; the message suggests one.
    """
    known = _PUBLISHED if published else ALGORITHMS
    if isinstance(name, str) and name in known:
        return known[name]
    shown = str(name)[:80]
    near = difflib.get_close_matches(shown, ALGORITHMS, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]!r}? " if near else ""
    msg = (
        f"Unknown algorithm {shown!r}: {hint}The algorithms are "
        f"{', '.join(sorted(ALGORITHMS))}."
    )
    raise UnknownAlgorithmError(msg)

"""Ways of walking the graph, one small file each, by name."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from knowtrail.graph.errors import InputError, UnknownAlgorithmError
from knowtrail.retrieval.algorithms.auto import Auto
from knowtrail.retrieval.algorithms.basic_retrieval import BasicRetrieval
from knowtrail.retrieval.algorithms.kg_traversal import KgTraversal
from knowtrail.retrieval.algorithms.llm_guided_traversal import LlmGuidedTraversal
from knowtrail.retrieval.algorithms.query_traversal import QueryTraversal
from knowtrail.retrieval.algorithms.rules import PUBLISHED
from knowtrail.retrieval.algorithms.triangulation import (
    TriangulationAverage,
    TriangulationFulldim,
    TriangulationGeometric3D,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knowtrail.retrieval.protocols import Algorithm

__all__ = [
    "ALGORITHMS",
    "DEFAULT_ALGORITHM",
    "DETERMINISTIC",
    "PUBLISHED_ALGORITHMS",
    "Auto",
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

ALGORITHMS: Mapping[str, Algorithm] = {each.name: each() for each in (Auto, *_CLASSES)}
"""Every algorithm by name, with the rules of its description."""

_PUBLISHED: Mapping[str, Algorithm] = {
    each.name: each(rules=PUBLISHED) for each in _CLASSES
}

PUBLISHED_ALGORITHMS: tuple[str, ...] = tuple(_PUBLISHED)
"""Names of the algorithms that the preset `published` has rules for."""

DETERMINISTIC: tuple[str, ...] = tuple(
    name for name in ALGORITHMS if name != LlmGuidedTraversal.name
)
"""Names of the algorithms that ask no language model."""

DEFAULT_ALGORITHM = Auto.name


def algorithm(name: str, *, published: bool = False) -> Algorithm:
    """Return an algorithm by name.

    Args:
        name: Its name, see `ALGORITHMS`.
        published: Whether it keeps the rules of the published code (see
            `knowtrail.retrieval.algorithms.rules`) rather than those of the
            description.

    Raises:
        UnknownAlgorithmError: If there is none; the message suggests one.
        InputError: If the published code has no such algorithm.
    """
    known = _PUBLISHED if published else ALGORITHMS
    if isinstance(name, str) and name in known:
        return known[name]
    if published and isinstance(name, str) and name in ALGORITHMS:
        msg = (
            f"The preset 'published' has no algorithm {name!r}: name one of "
            f"{', '.join(PUBLISHED_ALGORITHMS)}, or leave the preset out."
        )
        raise InputError(msg)
    shown = str(name)[:80]
    near = difflib.get_close_matches(shown, ALGORITHMS, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]!r}? " if near else ""
    msg = (
        f"Unknown algorithm {shown!r}: {hint}The algorithms are "
        f"{', '.join(sorted(ALGORITHMS))}."
    )
    raise UnknownAlgorithmError(msg)

"""Ways of walking the graph, one small file each, by name."""

from __future__ import annotations

import logging
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, cast

from knowtrail.graph.errors import InputError, UnknownAlgorithmError, near_name
from knowtrail.retrieval.algorithms.auto import Auto
from knowtrail.retrieval.algorithms.basic_retrieval import BasicRetrieval
from knowtrail.retrieval.algorithms.hybrid import Hybrid, Mmr
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
    "ENTRY_POINTS",
    "ORDERED",
    "PUBLISHED_ALGORITHMS",
    "Auto",
    "BasicRetrieval",
    "Hybrid",
    "KgTraversal",
    "LlmGuidedTraversal",
    "Mmr",
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

ALGORITHMS: Mapping[str, Algorithm] = {
    each.name: each() for each in (Auto, Hybrid, Mmr, *_CLASSES)
}
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

ORDERED: tuple[str, ...] = tuple(n for n in ALGORITHMS if n not in _PUBLISHED)
"""Names of the algorithms whose steps are a ranking already."""

DEFAULT_ALGORITHM = Auto.name


_LOG = logging.getLogger(__name__)
ENTRY_POINTS = "knowtrail.algorithms"
"""Group of entry points in which other packages offer algorithms, by their names."""


@cache
def _offered() -> Mapping[str, Any]:
    """Return the entry points of other packages, by name; ours come first."""
    found = {e.name: e for e in entry_points(group=ENTRY_POINTS)}
    return {name: e for name, e in found.items() if name not in ALGORITHMS}


@cache
def _loaded(name: str) -> Algorithm:
    """Return what an entry point offers."""
    try:
        found = _offered()[name].load()
        made = found() if isinstance(found, type) else found
    except Exception as error:  # packages of others raise what they like
        _LOG.warning("The entry point %r cannot be loaded", name, exc_info=True)
        what = f"cannot be loaded ({type(error).__name__}, see the log)"
        msg = f"The entry point {name!r} of {ENTRY_POINTS} {what}."
        raise InputError(msg) from error
    if not _walks(made):
        raise InputError(
            f"The entry point {name!r} of {ENTRY_POINTS} is {str(made)[:80]}: it must "
            "be a class or object with a name and a method walk."
        )
    return cast("Algorithm", made)


def _walks(found: object) -> bool:
    named = isinstance(getattr(found, "name", None), str)
    return named and callable(getattr(found, "walk", None))


def algorithm(name: str | Algorithm, *, published: bool = False) -> Algorithm:
    """Return an algorithm by name, or an own one as it is.

    Args:
        name: Its name, see `ALGORITHMS`; that of an entry point of the group
            `knowtrail.algorithms`, a class or an object; or an `Algorithm`.
        published: Whether it keeps the rules of the published code (see
            `knowtrail.retrieval.algorithms.rules`) rather than those of the
            description.

    Raises:
        UnknownAlgorithmError: If there is none; the message suggests one.
        InputError: If the published code has no such algorithm, or what an entry
            point names is none.
    """
    if not isinstance(name, str):
        if not _walks(name):
            name = str(name)
        elif not published:
            return name
        else:
            name = name.name
    known = _PUBLISHED if published else ALGORITHMS
    if name in known:
        return known[name]
    every = sorted({*ALGORITHMS, *_offered()})
    if published and name in every:
        raise InputError(
            f"The preset 'published' has no algorithm {name!r}: name one of "
            f"{', '.join(PUBLISHED_ALGORITHMS)}, or leave the preset out."
        )
    if name in every:
        return _loaded(name)
    hint = near_name(name[:80], every, "did you mean {!r}? The", "the", cutoff=0.4)
    raise UnknownAlgorithmError(
        f"Unknown algorithm {name[:80]!r}: {hint} algorithms are {', '.join(every)}."
    )

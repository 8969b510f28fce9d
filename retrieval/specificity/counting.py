"""How many institutions queries find, where not all of their rows are fetched."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from graph.errors import InputError, QueryTimeoutError
from retrieval.specificity.execution import DEFAULT_BASE, SECONDS, execute
from retrieval.specificity.limiting import SUBJECT, body_of

if TYPE_CHECKING:
    from rdflib import Graph

    from retrieval.specificity.execution import Execution
    from retrieval.specificity.instantiation import Instantiated

__all__ = ["total_of"]

_SELECT = re.compile(r"\bSELECT\b", re.IGNORECASE)
_GROUPED = re.compile(r"\b(?:GROUP|HAVING|VALUES)\b", re.IGNORECASE)


def total_of(
    graph: Graph,
    query: Instantiated,
    found: Execution,
    *,
    base: str = DEFAULT_BASE,
    seconds: float = SECONDS,
) -> int | None:
    """Return how many institutions there are of what a query asks for.

    Args:
        graph: Where to ask, if the rows do not tell.
        query: What was run.
        found: Its rows.
        base: Where the graph's own names begin.
        seconds: Time limit.

    Returns:
        The number; None where it cannot be told, or not in time.
    """
    if SUBJECT not in found.columns:
        return None
    if not found.cut:
        return len(set(found.column(SUBJECT)))
    runs = [replace(run, sparql=_counted(run.sparql) or "") for run in query.runs]
    if not all(run.sparql for run in runs):
        return None
    try:
        numbers = execute(
            graph, replace(query, runs=tuple(runs)), base=base, seconds=seconds
        )
    except (InputError, QueryTimeoutError):
        return None
    return sum(int(number or 0) for number in numbers.column("count"))


def _counted(sparql: str) -> str | None:
    """Return a query for the number of a query's institutions; None where none fits."""
    body, select = body_of(sparql), _SELECT.search(sparql)
    if body is None or select is None or select.start() > body[0]:
        return None
    if _GROUPED.search(sparql[body[1] :]):
        return None
    count = f"SELECT (COUNT(DISTINCT ?{SUBJECT}) AS ?count) WHERE "
    return f"{sparql[: select.start()]}{count}{sparql[slice(*body)]}"

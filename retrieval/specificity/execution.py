"""SPARQL with bound values over any rdflib graph: reading only, and not for ever."""

from __future__ import annotations

import re
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from knowtrail.graph.errors import InputError, QueryTimeoutError
from knowtrail.graph.rdf.vocabulary import DEFAULT_BASE, PREFIXES, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rdflib import Graph
    from rdflib.plugins.sparql.sparql import Query
    from rdflib.term import Node

    from knowtrail.retrieval.specificity.query_templates import Instantiated

SECONDS = 10.0
MOST_ROWS = 1_000
_MOST_KEPT = 256
_LOCK = threading.Lock()
_FREE: dict[str, list[Query]] = {}
"""Queries that were read and that nobody is running, by text."""

Value = str | int | float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """Rows that a query found, None where unbound; `cut` where there were more."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    seconds: float
    cut: bool = False

    def column(self, name: str) -> tuple[Value, ...]:
        """Return the values of a variable, none where there is no such variable."""
        if name not in self.columns:
            return ()
        place = self.columns.index(name)
        return tuple(row[place] for row in self.rows)


def namespaces(base: str = DEFAULT_BASE) -> dict[str, str]:
    """Return the prefixes that queries of templates may use, those of all queries."""
    return PREFIXES | Vocabulary(base).prefixes


def variables_found(sparql: str) -> frozenset[str]:
    """Return the variables that the body of a query always has a value for.

    Those of filters, of OPTIONAL and of only one side of a UNION are left out, and
    those that a query within the query keeps to itself.
    """
    part = select_query(sparql).algebra
    while part.name != "Project":
        part = part.p
    return frozenset(str(name) for name in _bound_in(part.p))


def _bound_in(part: Any) -> set[Any]:
    from rdflib import Variable

    name = getattr(part, "name", "")
    if name == "BGP":
        return {t for triple in part.triples for t in triple if isinstance(t, Variable)}
    if name == "Join":
        return _bound_in(part.p1) | _bound_in(part.p2)
    if name == "Union":
        return _bound_in(part.p1) & _bound_in(part.p2)
    if name in {"LeftJoin", "Minus"}:
        return _bound_in(part.p1)
    if name == "Project":
        return _bound_in(part.p) & set(part.PV)
    below = part.get("p") if isinstance(part, dict) else None
    return set() if below is None else _bound_in(below)


@contextmanager
def _borrowed(sparql: str) -> Iterator[Query]:
    """Lend a query, read seldom, to one caller at a time."""
    # rdflib writes the bindings of the row at hand into the query itself, so that one
    # query run by two threads at once gives wrong rows.
    with _LOCK:
        # Reading is not safe in threads either: the grammar's parts are shared.
        free = _FREE.get(sparql)
        query = free.pop() if free else select_query(sparql)
    yield query
    with _LOCK:
        if len(_FREE) >= _MOST_KEPT:
            _FREE.clear()
        _FREE.setdefault(sparql, []).append(query)


def select_query(sparql: str) -> Query:
    """Return one SELECT query over the graph itself; refuse any other text."""
    from knowtrail.graph.rdf.evaluation import parsed

    query = parsed(sparql, namespaces())
    if query.algebra.name != "SelectQuery":
        raise InputError(f"{query.algebra.name} is not possible: write a SELECT query.")
    return query


def execute(
    graph: Graph,
    query: Instantiated,
    *,
    seconds: float = SECONDS,
    rows: int = MOST_ROWS,
) -> Execution:
    """Run an instantiated template, once for each place that it compares.

    Raises `QueryTimeoutError` if the time is over.
    """
    begin = time.monotonic()

    def check() -> None:
        if time.monotonic() > begin + seconds:
            raise QueryTimeoutError.after(seconds)

    watched = _watched(graph, check)
    columns: tuple[str, ...] = ()
    found: list[tuple[Value, ...]] = []
    cut = False
    for run in query.runs:
        bound = {name: binding.literal() for name, binding in run.bindings.items()}
        with _borrowed(run.sparql) as prepared:
            result = watched.query(prepared, initBindings=bound)
            columns = (*run.label, *map(str, result.vars or ()))
            for number, row in enumerate(result):
                check()
                if number >= rows:
                    cut = True
                    break
                values = (_value(term) for term in row)  # type: ignore[union-attr]
                found.append((*run.label.values(), *values))
    return Execution(
        columns=columns, rows=tuple(found), seconds=time.monotonic() - begin, cut=cut
    )


def in_order(found: Execution, order: str | None = None) -> Execution:
    """Return the rows of several queries in the order that each of them has.

    Rows are ordered by year of founding or by amount; those that lack it come last.
    Others stay, or are ordered by name where nothing tells of which query they are.
    """
    columns, rows = found.columns, found.rows
    money = order in {"richest", "poorest"} or "founded" not in columns
    if "founded" in columns or "amount" in columns:
        at = columns.index("amount" if money else "founded")
        down = order in ({"newest"} if not money else {None, "richest"})

        def rank(row: tuple[Value, ...]) -> tuple[bool, float]:
            value = float(row[at] or 0) if money else float(_year(row[at]))
            return row[at] is None, -value if down else value

        rows = tuple(sorted(rows, key=rank))
    elif "name" in columns and not {"place", "type"} & set(columns):
        at = columns.index("name")
        rows = tuple(sorted(rows, key=lambda r: str(r[at])))
    return replace(found, rows=rows)


def first_of(found: Execution, number: int, skip: int = 0) -> Execution:
    """Return the first rows; where one is asked for, all that share its date.

    Of the second and the third, those before share theirs too.
    """
    rows = found.rows[skip : skip + number]
    column = next((c for c in ("founded", "amount") if c in found.columns), None)
    if number == 1 and column:
        at = found.columns.index(column)
        values = list(dict.fromkeys(str(row[at]) for row in found.rows))
        rows = tuple(r for r in found.rows if [str(r[at])] == values[skip : skip + 1])
    return replace(found, rows=rows, cut=False)


def summed(found: Execution) -> Execution:
    """Return counts of several queries, those of one type and place added up."""
    if "total" in found.columns:
        columns = ("total", "number")
        sums = (sum(float(n or 0) for n in found.column(c)) for c in columns)
        return replace(found, columns=columns, rows=(tuple(sums),))
    if "count" not in found.columns:
        return found
    at = found.columns.index("count")
    totals: dict[tuple[Value, ...], int] = {}
    for row in found.rows:
        key = (*row[:at], *row[at + 1 :])
        totals[key] = totals.get(key, 0) + int(row[at] or 0)
    rows = tuple((*key[:at], number, *key[at:]) for key, number in totals.items())
    return replace(found, rows=rows)


def _year(founded: Value) -> int:
    begins = re.match(r"-?\d+", str(founded))
    return int(begins[0]) if begins else 0


def _value(term: Node | None) -> Value:
    from rdflib import Literal

    if not isinstance(term, Literal):
        return None if term is None else str(term)
    value = term.toPython()
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return value
    if type(value).__name__ in {"Decimal", "float"}:
        return float(value)
    return str(term)


def _watched(graph: Graph, check: Callable[[], None]) -> Graph:
    """Return a graph that looks at the clock, where the graph itself does not."""
    from rdflib import Graph
    from rdflib.store import Store

    if hasattr(graph.store, "seconds"):  # the live store ends queries itself
        return graph

    class Watched(Store):
        """A store that reads another graph."""

        def triples(
            self, triple_pattern: Any, context: Any = None
        ) -> Iterator[tuple[Any, Iterator[Any]]]:
            """Yield the graph's triples as long as there is time."""
            check()
            for triple in graph.triples(triple_pattern):
                check()
                yield triple, iter(())

        def __len__(self, context: Any = None) -> int:
            """Return the number of triples."""
            return len(graph)

    return Graph(store=Watched(), identifier=graph.identifier, bind_namespaces="none")

"""rdflib's SPARQL engine, with what the database does better handed to the database.

Basic graph patterns, alone or as the right side of a join or an OPTIONAL, are answered
for many rows at once. Everything else is rdflib's own evaluation, watched for time.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from rdflib.plugins.sparql import CUSTOM_EVALS, evaluate
from rdflib.plugins.sparql.algebra import translateQuery
from rdflib.plugins.sparql.evalutils import _ebv
from rdflib.plugins.sparql.parser import parseQuery, parseUpdate
from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.plugins.sparql.sparql import FrozenBindings, Query
from rdflib.term import Literal, URIRef, Variable

from graph.errors import KnowtrailError, RdfError
from graph.rdf.blocks import Alternative, block_of
from graph.rdf.counting import count, counting_of, rows_of
from graph.rdf.existence import divided, existing
from graph.rdf.limits import check_query
from graph.rdf.plan import batches, numbered_all
from graph.rdf.results import LiveResult, one_line
from graph.rdf.solving import once_more, plain_block, plans_of, triples_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from collections.abc import Mapping as Dictionary

    from rdflib import Graph
    from rdflib.plugins.sparql.sparql import QueryContext
    from rdflib.query import Result


__all__ = ["READ_ONLY", "answer", "register"]

READ_ONLY = "The graph is read-only here: change it with Cypher, ingest or rdf import."
_NAME = "knowtrail"
_FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "="}


def register() -> None:
    """Let rdflib hand us the parts of queries; other graphs are not touched."""
    CUSTOM_EVALS[_NAME] = _evaluate


def answer(
    graph: Callable[[], Graph],
    query: Any,
    *,
    namespaces: Dictionary[str, Any],
    bindings: Dictionary[str, Any],
    base: str | None,
) -> Result:
    """Answer a query over a graph of ours.

    Args:
        graph: Makes a graph whose store is that of one query.
        query: Its text, or what rdflib's `prepareQuery` made of it.
        namespaces: Prefixes.
        bindings: Values of variables.
        base: What relative IRIs are resolved against.

    Raises:
        RdfError: If the query cannot be understood, or may not be run here.
    """
    parsed = _parsed(query, namespaces, base)
    check_query(parsed.algebra)
    if parsed.algebra.datasetClause:
        msg = "There is one graph here: leave out FROM."
        raise RdfError(msg)
    return LiveResult(lambda: _begun(graph(), parsed, bindings, base))


def _begun(
    graph: Graph, query: Query, bindings: Dictionary[str, Any], base: str | None
) -> Dictionary[str, Any]:
    """Begin to answer; triples that RDF does not have are not made (16.2)."""
    found: Dictionary[str, Any] = evaluate.evalQuery(graph, query, dict(bindings), base)
    made = found.get("graph")
    if made is not None:
        for one in [t for t in made if not _is_triple(t)]:
            made.remove(one)
    return found


def _is_triple(triple: tuple[Any, Any, Any]) -> bool:
    """Return whether RDF 1.1 has such a triple."""
    subject, predicate, _ = triple
    return isinstance(predicate, URIRef) and not isinstance(subject, Literal)


def _parsed(query: Any, namespaces: Dictionary[str, Any], base: str | None) -> Query:
    """Read a query.

    Raises:
        RdfError: If it cannot be understood.
        QueryTimeoutError: If that takes longer than the whole query may.
    """
    if isinstance(query, Query):
        return query
    try:
        return translateQuery(parseQuery(query), base, dict(namespaces))
    except KnowtrailError:
        raise  # time was up
    except RecursionError as error:
        msg = "The query is nested too deeply: write it flatter."
        raise RdfError(msg) from error
    except Exception as error:
        # pyparsing's errors, and plain exceptions for unknown prefixes and the like.
        if _is_update(query):
            raise RdfError(READ_ONLY) from error
        where = ""
        if hasattr(error, "lineno") and hasattr(error, "column"):
            where = f" (line {error.lineno}, column {error.column})"
        msg = f"The query cannot be understood{where}: {one_line(error)}."
        raise RdfError(msg) from error


def _is_update(query: Any) -> bool:
    """Return whether a text is a SPARQL Update."""
    try:
        return bool(parseUpdate(query).request)
    except Exception:
        # It is neither a query nor an update.
        return False


def _evaluate(ctx: QueryContext, part: CompValue) -> Any:
    """Evaluate a part of a query over a graph of ours.

    Raises:
        NotImplementedError: If the graph is another's, or rdflib is to do it.
    """
    run = getattr(getattr(ctx.graph, "store", None), "_run", None)
    if run is None:
        raise NotImplementedError
    run.check()
    if part.name == "Filter":
        return _filter(run, ctx, part)
    rows = None
    if part.name in {"BGP", "Union", "Join", "LeftJoin"}:
        rows = _block(run, ctx, part)
    if rows is None and part.name == "LeftJoin":
        rows = _left_join(run, ctx, part)
    elif rows is None and part.name == "Join" and part.lazy:
        rows = _join(run, ctx, part)
    if rows is not None:
        return rows
    if part.name == "AggregateJoin":
        return _aggregate(run, ctx, part)
    if part.name in _WATCHED:
        return _watched(run, _WATCHED[part.name](ctx, part))
    raise NotImplementedError


_WATCHED = {
    "Join": evaluate.evalJoin,
    "LeftJoin": evaluate.evalLeftJoin,
    "Minus": evaluate.evalMinus,
    "Union": evaluate.evalUnion,
    "ToMultiSet": evaluate.evalMultiset,
    "Extend": evaluate.evalExtend,
}


def _watched(run: Any, rows: Iterable[Any]) -> Iterator[Any]:
    """Yield rows while there is time."""
    for row in rows:
        run.check()
        yield row


def _block(
    run: Any, ctx: QueryContext, part: CompValue, *, bounds: Any = None
) -> Iterator[FrozenBindings] | None:
    """Return the solutions of a block, None where the part is none."""
    block = block_of(part)
    if part.name == "BGP" and not part.triples:
        return iter([ctx.solution()])
    if block is None or plans_of(run, ctx, block, bounds=bounds) is None:
        return None
    known = dict(ctx.bindings.items())

    def found() -> Iterator[FrozenBindings]:
        plans = plans_of(run, ctx, block, bounds=bounds) or []
        for _, row in numbered_all(plans, run, triples_of(ctx), [known]):
            yield FrozenBindings(ctx, row)

    return once_more(found)


def _aggregate(
    run: Any, ctx: QueryContext, part: CompValue
) -> Iterable[FrozenBindings]:
    """Return the groups of an aggregation, counted by the database where it can."""
    wanted = counting_of(part)
    known = dict(ctx.bindings.items())
    if wanted is None or wanted.subject in known:
        return _watched(run, evaluate.evalAggregateJoin(ctx, part))

    def found() -> Iterator[FrozenBindings]:
        plans = plans_of(run, ctx, [Alternative(patterns=wanted.patterns)]) or []
        groups = None
        if len(plans) == 1 and plans[0].alone is not None:
            groups = count(run, plans[0].alone, wanted, known)
        if groups is None:
            yield from _watched(run, evaluate.evalAggregateJoin(ctx, part))
        else:
            for row in rows_of(wanted, groups):
                yield FrozenBindings(ctx, row)

    return once_more(found)


def _filter(run: Any, ctx: QueryContext, part: CompValue) -> Iterator[FrozenBindings]:
    """Yield the solutions that pass a filter; what EXISTS asks is asked in batches."""
    rows: Iterable[FrozenBindings] | None
    rows = _block(run, ctx, part.p, bounds=_bounds(part.expr))
    if rows is None:
        rows = evaluate.evalPart(ctx, part.p)
    tests, rest = divided(part.expr)
    isolated = not part.no_isolated_scope

    def seen(row: FrozenBindings) -> FrozenBindings:
        return row.forget(ctx, _except=part._vars) if isolated else row

    passed: Iterator[FrozenBindings] = (
        row for row in _watched(run, rows) if all(_ebv(one, seen(row)) for one in rest)
    )
    for test in tests:
        passed = existing(run, ctx, test, passed, seen)
    yield from passed


def _bounds(expression: Any) -> dict[Any, list[tuple[str, float]]]:
    """Return the comparisons with numbers that a filter demands, a little wider."""
    found: dict[Any, list[tuple[str, float]]] = {}
    waiting = [expression]
    while waiting:
        one = waiting.pop()
        if not isinstance(one, CompValue):
            continue
        if one.name == "ConditionalAndExpression":
            waiting += [one.expr, *one.other]
        elif one.name == "RelationalExpression" and one.op in _FLIPPED:
            sides = (one.expr, one.op, one.other)
            if isinstance(one.other, Variable):
                sides = (one.other, _FLIPPED[one.op], one.expr)
            variable, sign, literal = sides
            number = _number(literal)
            if isinstance(variable, Variable) and number is not None:
                found.setdefault(variable, []).extend(_wider(sign, number))
    return found


def _number(term: Any) -> float | None:
    """Return the number that a literal is."""
    if not isinstance(term, Literal) or isinstance(term.value, bool):
        return None
    if not isinstance(term.value, int | float | Decimal):
        return None  # the text "1" is compared as text
    try:
        number = float(term.value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < 2**53 else None


def _wider(sign: str, number: float) -> list[tuple[str, float]]:
    """Return conditions that hold wherever a comparison does, rounding or not."""
    low, high = number - abs(number) * 1e-12, number + abs(number) * 1e-12
    if sign == "=":
        return [(">=", low), ("<=", high)]
    return [("<=", high)] if sign.startswith("<") else [(">=", low)]


def _join(
    run: Any, ctx: QueryContext, part: CompValue
) -> Iterator[FrozenBindings] | None:
    """Return the rows of the left side extended by the block on the right."""
    block = plain_block(part.p2)
    if block is None:
        return None

    def found() -> Iterator[FrozenBindings]:
        plans = None
        for batch in batches(evaluate.evalPart(ctx, part.p1)):
            known = [dict(ctx.thaw(row).bindings.items()) for row in batch]
            plans = plans or plans_of(run, ctx, block, also=batch[0]) or []
            for place, row in numbered_all(plans, run, triples_of(ctx), known):
                yield FrozenBindings(ctx, row | dict(batch[place].items()))

    return once_more(found)


def _left_join(
    run: Any, ctx: QueryContext, part: CompValue
) -> Iterator[FrozenBindings] | None:
    """Return the rows of the left side, extended by the right one where it matches."""
    block = plain_block(part.p2)
    if block is None:
        return None

    def found() -> Iterator[FrozenBindings]:
        plans = None
        for batch in batches(evaluate.evalPart(ctx, part.p1)):
            run.check()
            known = [dict(ctx.thaw(row).bindings.items()) for row in batch]
            plans = plans or plans_of(run, ctx, block, also=batch[0]) or []
            matched: list[list[FrozenBindings]] = [[] for _ in batch]
            for place, added in numbered_all(plans, run, triples_of(ctx), known):
                row = FrozenBindings(ctx, added)
                if _ebv(part.expr, row.forget(ctx)):
                    matched[place].append(row)
            for row, extended in zip(batch, matched, strict=True):
                yield from (one.merge(row) for one in extended)
                if not extended and not _matches_alone(ctx, part, row):
                    yield row

    return once_more(found)


def _matches_alone(ctx: QueryContext, part: CompValue, row: FrozenBindings) -> bool:
    """Return whether the right side matches without what is bound outside of both."""
    inside = part.p1._vars
    if inside is None or all(term in inside for term in row):
        return False
    alone = ctx.thaw(row.remember(inside))
    return any(_ebv(part.expr, found) for found in evaluate.evalPart(alone, part.p2))

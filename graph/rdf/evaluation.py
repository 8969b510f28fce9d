"""rdflib's SPARQL engine, with what the database does better handed to the database.

Basic graph patterns, alone or as the right side of a join or an OPTIONAL, are answered
for many rows at once. Everything else is rdflib's own evaluation, watched for time.
"""

from __future__ import annotations

import re
from contextvars import ContextVar
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import rdflib
from rdflib.plugins.sparql import CUSTOM_EVALS, evaluate
from rdflib.plugins.sparql.algebra import translateQuery
from rdflib.plugins.sparql.evalutils import _ebv
from rdflib.plugins.sparql.parser import parseQuery, parseUpdate
from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.plugins.sparql.processor import SPARQLResult
from rdflib.plugins.sparql.sparql import FrozenBindings, Query
from rdflib.query import ResultRow
from rdflib.term import Literal, URIRef, Variable

from knowtrail.graph.errors import KnowtrailError, RdfError
from knowtrail.graph.rdf.limits import check_query
from knowtrail.graph.rdf.patterns import Alternative, block_of
from knowtrail.graph.rdf.plan import batches, numbered_all
from knowtrail.graph.rdf.run import PrefixesChangedError
from knowtrail.graph.rdf.translation import confirmed, prefixes_text
from knowtrail.graph.rdf.values import xsd_written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from collections.abc import Mapping as Dictionary

    from rdflib import Graph
    from rdflib.plugins.sparql.sparql import QueryContext
    from rdflib.query import Result
    from rdflib.term import Node

    from knowtrail.graph.rdf.plan import Component, Plan
    from knowtrail.graph.rdf.values import Solution


_EXISTENCE = frozenset({"Builtin_EXISTS", "Builtin_NOTEXISTS"})
READ_ONLY = "The graph is read-only here: change it with Cypher, ingest or rdf import."
_NAME = "knowtrail"
_FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "="}
_WATCHED = {
    "Join": evaluate.evalJoin,
    "LeftJoin": evaluate.evalLeftJoin,
    "Minus": evaluate.evalMinus,
    "Union": evaluate.evalUnion,
    "ToMultiSet": evaluate.evalMultiset,
    "Extend": evaluate.evalExtend,
}

_AS_WRITTEN = ContextVar("as written", default=False)
"""Whether literals are kept as they are written, `01` for one."""

_LOCAL = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_./-]*[A-Za-z0-9_])?")
_SLASH = r"\/"
"""How SPARQL writes a slash after a prefix."""


class LiveResult(SPARQLResult):
    """An rdflib result that keeps no rows while they are read one after the other.

    To read the rows once more asks once more. `bindings`, `len()` and `bool()` need all
    rows and keep them, as rdflib's own results do (`list()` takes the length first);
    what is kept is read then.
    """

    def __init__(
        self,
        ask: Callable[[], Dictionary[str, Any]],
        names: Callable[[], Iterable[tuple[str, Any]]],
    ) -> None:
        """Take a query.

        Raises:
            RdfError: If it cannot be answered.
        """
        self._ask = ask
        self._kept = False
        self._names = names
        super().__init__(self._asked())

    def __iter__(self) -> Iterator[Any]:
        """Yield rows, or the triples or the truth value of other forms of queries.

        Raises:
            RdfError: If the query cannot be answered after all.
            QueryTimeoutError: If it takes longer than it may.
        """
        if self.type != "SELECT" or self._kept:
            yield from super().__iter__()
            return
        rows, self._genbindings = self._genbindings, None
        for held in rows or self._told(self._asked()["bindings"]):
            if held:
                yield ResultRow(held, self.vars or [])

    @cached_property
    def _prefixes(self) -> list[tuple[str, Any]]:
        """Prefixes with their namespaces, the longest first."""
        return sorted(self._names(), key=lambda one: -len(one[1]))

    def short(self, iri: str) -> str:
        """Return an IRI as the query may write it: with a prefix, or in full."""
        for prefix, namespace in self._prefixes:
            local = iri.removeprefix(namespace)
            if local != iri and _LOCAL.fullmatch(local):
                return f"{prefix}:{local.replace('/', _SLASH)}"
        return iri

    @property
    def bindings(self) -> Any:
        """Return all rows, as mappings."""
        if self.type == "SELECT" and not self._kept:
            rows, self._genbindings = self._genbindings, None
            self._bindings = list(rows or self._told(self._asked()["bindings"]))
            self._kept = True
        return self._bindings

    @bindings.setter
    def bindings(self, rows: Any) -> None:
        self._bindings = []
        self._genbindings = None if rows is None else self._told(rows)
        self._kept = False

    def _asked(self) -> Dictionary[str, Any]:
        """Begin to answer."""
        try:
            return self._ask()
        except (KnowtrailError, RecursionError):
            raise
        except Exception as error:
            # rdflib raises plain exceptions for what a query may not say.
            raise _unanswered(error) from error

    @staticmethod
    def _told(rows: Any) -> Iterator[Any]:
        """Yield rows; what goes wrong is said in a line."""
        try:
            yield from rows
        except (KnowtrailError, RecursionError):
            raise
        except Exception as error:
            # As above: rdflib evaluates a query while its rows are read.
            raise _unanswered(error) from error


def _one_line(error: BaseException) -> str:
    """Return an error's text on one line."""
    return " ".join(str(error).split()).partition(", found")[0].rstrip(".")[:300]


def _unanswered(error: Exception) -> RdfError:
    """Return the error for a query that rdflib cannot answer."""
    return RdfError(f"The query cannot be answered: {_one_line(error)}.")


def _once_more(make: Callable[[], Iterator[Any]]) -> Iterator[Any]:
    """Yield rows; from the start where the database's prefixes had changed.

    Only the first statement of a query finds that, before it yields anything.
    """
    try:
        yield from make()
    except PrefixesChangedError:
        yield from make()


def _plans_of(
    run: Any,
    ctx: QueryContext,
    block: Sequence[Alternative],
    *,
    also: Any = (),
    bounds: Any = None,
) -> list[Plan] | None:
    """Return a plan for each alternative, None if one cannot be asked with the rest."""
    known: Any = ctx
    found: list[Plan] = []
    for one in block:
        if any(term in also or known[term] is not None for term in one.unbound):
            return None
        patterns = tuple(
            (s, p if known[p] is None else known[p], o) for s, p, o in one.patterns
        )
        terms = {t for s, _, o in patterns for t in (s, o) if isinstance(t, Variable)}
        bound = frozenset(t for t in terms if t in also or known[t] is not None)
        found.append(run.plan(patterns, bound, bounds or {}, one.optional))
    return found if all(plan.fits for plan in found) else None


def _block_of(part: CompValue) -> tuple[Alternative, ...] | None:
    """Return `block_of` a part, found once."""
    kept = vars(part)
    if _NAME not in kept:
        kept[_NAME] = block_of(part)
    found: tuple[Alternative, ...] | None = kept[_NAME]
    return found


def _plain_block(part: CompValue) -> tuple[Alternative, ...] | None:
    """Return a block without patterns that need not match, None where it is none."""
    block = _block_of(part)
    return None if block is None or any(one.optional for one in block) else block


def _triples_of(ctx: QueryContext) -> Any:
    """Return what finds the triples of one pattern, also of a path."""
    return getattr(ctx.graph, "triples", None)


def _divided(expression: Any) -> tuple[list[Any], list[Any]]:
    """Return the tests of existence that a filter demands, and what else it demands."""
    tests: list[Any] = []
    rest: list[Any] = []
    waiting = [expression]
    while waiting:
        one = waiting.pop(0)
        name = one.name if isinstance(one, CompValue) else ""
        if name == "ConditionalAndExpression":
            waiting = [one.expr, *one.other, *waiting]
        elif name in _EXISTENCE and _inner(one) is not None:
            tests.append(one)
        else:
            rest.append(one)
    return tests, rest


def _existing(
    run: Any,
    ctx: QueryContext,
    test: CompValue,
    rows: Iterable[FrozenBindings],
    seen: Callable[[FrozenBindings], FrozenBindings],
) -> Iterator[FrozenBindings]:
    """Yield the rows that pass a test of existence."""
    block, condition = _inner(test) or ((), None)
    wanted = test.name == "Builtin_EXISTS"
    for batch in batches(rows):
        run.check()
        inner = [ctx.thaw(seen(row)) for row in batch]
        known = [dict(one.bindings.items()) for one in inner]
        matched: set[int] = set()

        def found(known: list[Any] = known) -> Iterator[tuple[int, Any]]:
            plans = _plans_of(run, ctx, block, also=known[0]) or []
            yield from numbered_all(plans, run, _triples_of(ctx), known)

        for place, solution in _once_more(found):
            if place not in matched and (
                condition is None
                or _ebv(condition, FrozenBindings(inner[place], solution))
            ):
                matched.add(place)
        yield from (
            row for place, row in enumerate(batch) if (place in matched) == wanted
        )


def _inner(test: CompValue) -> tuple[Any, Any] | None:
    """Return the block of a test and the condition on it, None if it is no block."""
    part, condition = test.graph, None
    if part.name == "Filter" and part.no_isolated_scope:
        part, condition = part.p, part.expr
    block = _plain_block(part)
    return None if block is None else (block, condition)


class _Normalizing:
    """`rdflib.NORMALIZE_LITERALS`, set aside where a query is read here."""

    def __init__(self, usual: object) -> None:
        self._usual = bool(usual)

    def __bool__(self) -> bool:
        return self._usual and not _AS_WRITTEN.get()


def register() -> None:
    """Let rdflib hand us the parts of queries; other graphs are not touched."""
    CUSTOM_EVALS[_NAME] = _evaluate
    usual: Any = rdflib.NORMALIZE_LITERALS
    if not isinstance(usual, _Normalizing):
        rdflib.NORMALIZE_LITERALS = cast("bool", _Normalizing(usual))


def answer(
    graph: Callable[[], Graph],
    query: Any,
    *,
    namespaces: Dictionary[str, Any],
    bindings: Dictionary[str, Any],
    base: str | None,
) -> Result:
    """Answer a query over a graph of ours.

    Raises:
        RdfError: If the query cannot be understood, or may not be run here.
    """
    parsed = _parsed(query, namespaces, base)
    check_query(parsed.algebra)
    if parsed.algebra.datasetClause:
        msg = "There is one graph here: leave out FROM."
        raise RdfError(msg)
    held = {name: xsd_written(term) for name, term in bindings.items()}
    return LiveResult(
        lambda: _begun(graph(), parsed, held, base),
        parsed.prologue.namespace_manager.namespaces,
    )


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
    """Read a query."""
    if isinstance(query, Query):
        return query
    token = _AS_WRITTEN.set(True)
    try:
        parsed = parseQuery(query)
        found = translateQuery(parsed, base, dict(namespaces))
        if found.algebra.name == "SelectQuery" and not parsed[1].projection:
            # Columns of `SELECT *` stand as they are first named; rdflib has a set.
            named = [Variable(n) for n in re.findall(r"[?$](\w+)", str(query))]
            found.algebra.PV.sort(
                key=lambda v: (named.index(v) if v in named else len(named), v)
            )
        return found
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
        msg = f"The query cannot be understood{where}: {_one_line(error)}."
        raise RdfError(msg) from error
    finally:
        _AS_WRITTEN.reset(token)


def _is_update(query: Any) -> bool:
    """Return whether a text is a SPARQL Update."""
    try:
        return bool(parseUpdate(query).request)
    except Exception:
        # It is neither a query nor an update.
        return False


def _evaluate(ctx: QueryContext, part: CompValue) -> Any:
    """Evaluate a part of a query over a graph of ours."""
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


def _watched(run: Any, rows: Iterable[Any]) -> Iterator[Any]:
    """Yield rows while there is time."""
    for row in rows:
        run.check()
        yield row


def _block(
    run: Any, ctx: QueryContext, part: CompValue, *, bounds: Any = None
) -> Iterator[FrozenBindings] | None:
    """Return the solutions of a block, None where the part is none."""
    block = _block_of(part)
    if part.name == "BGP" and not part.triples:
        return iter([ctx.solution()])
    waiting = None if block is None else _plans_of(run, ctx, block, bounds=bounds)
    if block is None or waiting is None:
        return None
    known = dict(ctx.bindings.items())

    def found() -> Iterator[FrozenBindings]:
        nonlocal waiting
        # Asked for once more, they are made anew: prefixes may have changed.
        plans = waiting or _plans_of(run, ctx, block, bounds=bounds) or []
        waiting = None
        for _, row in numbered_all(plans, run, _triples_of(ctx), [known]):
            yield FrozenBindings(ctx, row)

    return _once_more(found)


def _aggregate(
    run: Any, ctx: QueryContext, part: CompValue
) -> Iterable[FrozenBindings]:
    """Return the groups of an aggregation, counted by the database where it can."""
    wanted = counting_of(part)
    known = dict(ctx.bindings.items())
    if wanted is None or wanted.subject in known:
        return _watched(run, evaluate.evalAggregateJoin(ctx, part))

    def found() -> Iterator[FrozenBindings]:
        plans = _plans_of(run, ctx, [Alternative(patterns=wanted.patterns)]) or []
        groups = None
        if len(plans) == 1 and plans[0].alone is not None:
            groups = count(run, plans[0].alone, wanted, known)
        if groups is None:
            yield from _watched(run, evaluate.evalAggregateJoin(ctx, part))
        else:
            for row in rows_of(wanted, groups):
                yield FrozenBindings(ctx, row)

    return _once_more(found)


def _filter(run: Any, ctx: QueryContext, part: CompValue) -> Iterator[FrozenBindings]:
    """Yield the solutions that pass a filter; what EXISTS asks is asked in batches."""
    rows: Iterable[FrozenBindings] | None
    rows = _block(run, ctx, part.p, bounds=_bounds(part.expr))
    if rows is None:
        rows = evaluate.evalPart(ctx, part.p)
    tests, rest = _divided(part.expr)
    isolated = not part.no_isolated_scope

    def seen(row: FrozenBindings) -> FrozenBindings:
        return row.forget(ctx, _except=part._vars) if isolated else row

    passed: Iterator[FrozenBindings] = (
        row for row in _watched(run, rows) if all(_ebv(one, seen(row)) for one in rest)
    )
    for test in tests:
        passed = _existing(run, ctx, test, passed, seen)
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


def _extended(
    run: Any, ctx: QueryContext, block: Sequence[Alternative], left: CompValue
) -> Iterator[tuple[Sequence[Any], Iterator[tuple[int, Any]]]]:
    """Yield batches of the left side's rows, each with what the block adds to which."""
    plans = None
    for batch in batches(evaluate.evalPart(ctx, left)):
        run.check()
        known = [dict(ctx.thaw(row).bindings.items()) for row in batch]
        plans = plans or _plans_of(run, ctx, block, also=batch[0]) or []
        yield batch, numbered_all(plans, run, _triples_of(ctx), known)


def _join(
    run: Any, ctx: QueryContext, part: CompValue
) -> Iterator[FrozenBindings] | None:
    """Return the rows of the left side extended by the block on the right."""
    block = _plain_block(part.p2)
    if block is None:
        return None

    def found() -> Iterator[FrozenBindings]:
        for batch, solutions in _extended(run, ctx, block, part.p1):
            for place, row in solutions:
                yield FrozenBindings(ctx, row | dict(batch[place].items()))

    return _once_more(found)


def _left_join(
    run: Any, ctx: QueryContext, part: CompValue
) -> Iterator[FrozenBindings] | None:
    """Return the rows of the left side, extended by the right one where it matches."""
    block = _plain_block(part.p2)
    if block is None:
        return None

    def found() -> Iterator[FrozenBindings]:
        for batch, solutions in _extended(run, ctx, block, part.p1):
            matched: list[list[FrozenBindings]] = [[] for _ in batch]
            for place, added in solutions:
                row = FrozenBindings(ctx, added)
                if _ebv(part.expr, row.forget(ctx)):
                    matched[place].append(row)
            for row, extended in zip(batch, matched, strict=True):
                yield from (one.merge(row) for one in extended)
                if not extended and not _matches_alone(ctx, part, row):
                    yield row

    return _once_more(found)


def _matches_alone(ctx: QueryContext, part: CompValue, row: FrozenBindings) -> bool:
    """Return whether the right side matches without what is bound outside of both."""
    inside = part.p1._vars
    if inside is None or all(term in inside for term in row):
        return False
    alone = ctx.thaw(row.remember(inside))
    return any(_ebv(part.expr, found) for found in evaluate.evalPart(alone, part.p2))


Key = tuple["Node | None", ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """What a part of a query counts.

    Attributes:
        patterns: Triple patterns that find it.
        subject: What is counted.
        keys: What it is grouped by; None for one group of all.
        counts: Variable of each count, and whether it is of different ones.
        samples: Variable of each value of a group, and which of the keys it is.
    """

    patterns: tuple[Any, ...]
    subject: Variable
    keys: tuple[Variable, ...] | None
    counts: tuple[tuple[Variable, bool], ...]
    samples: tuple[tuple[Variable, Variable], ...]


@dataclass(slots=True)
class Counted:
    """Solutions of a group.

    Attributes:
        solutions: How many there are.
        nodes: Different nodes among those that the database counted.
        others: Different ones among those that were read.
    """

    solutions: int = 0
    nodes: int = 0
    others: set[Node] = field(default_factory=set)

    def number(self, *, distinct: bool) -> int:
        """Return the number of solutions, or of different nodes."""
        return self.nodes + len(self.others) if distinct else self.solutions


def counting_of(part: CompValue) -> Counting | None:
    """Return what an aggregation counts, None if it does anything else."""
    block = _block_of(part.p.p)
    if block is None or len(block) != 1 or block[0].optional:
        return None
    patterns = block[0].patterns
    subjects = {subject for subject, _, _ in patterns}
    subject = next(iter(subjects))
    expression = part.p.expr
    keys = None if expression is None else tuple(expression)
    objects = [found for _, _, found in patterns]
    free = [one for one in objects if isinstance(one, Variable)]
    counts = [a for a in part.A if a.name == "Aggregate_Count"]
    samples = [a for a in part.A if a.name == "Aggregate_Sample"]
    if len(subjects) != 1 or not isinstance(subject, Variable):
        return None
    fits = (
        len(free) == len(set(free))
        and subject not in free
        and len(counts) + len(samples) == len(part.A)
        and all(a.vars == subject for a in counts)
        and all(a.vars in (keys or ()) for a in samples)
        and set(keys or ()) <= set(free)
    )
    if not fits:
        return None
    return Counting(
        patterns=patterns,
        subject=subject,
        keys=keys,
        counts=tuple((a.res, bool(a.distinct)) for a in counts),
        samples=tuple((a.res, a.vars) for a in samples),
    )


def count(
    run: Any, component: Component, wanted: Counting, known: Solution
) -> dict[Key, Counted] | None:
    """Return the groups with what was counted, None where that cannot be."""
    messages = list(component.messages([known], 0))
    if len(messages) != 1:
        return None
    query, _, sent = messages[0]
    statement = query.counting([*(wanted.keys or ()), *known])
    if statement is None:
        return None
    width = query.width + 2
    params = query.params | {"x": "x", query.statement.rows: sent}
    arms = [statement]
    if run.confirm is not None:
        arms.insert(0, prefixes_text(width))
    found: dict[Key, Counted] = {}
    records = confirmed(run("\nUNION ALL\n".join(arms), params), run.confirm)
    for _, *record in records:
        number, different = record[-2:]
        for solution in query.decode(record, known):
            key = tuple(solution.get(one, known.get(one)) for one in wanted.keys or ())
            group = found.setdefault(key, Counted())
            if number and (group.nodes or number != different):
                return None
            group.nodes += different
            group.solutions += number or 1
            if not number:
                group.others.add(solution[wanted.subject])
    own = component.mapping.vocabulary.parse_node
    mixed = (
        group.nodes and any(own(str(one)) is not None for one in group.others)
        for group in found.values()
    )
    return None if any(mixed) else found


def rows_of(
    wanted: Counting, groups: dict[Key, Counted]
) -> Sequence[dict[Variable, Any]]:
    """Return the groups as rdflib's aggregation does."""
    if wanted.keys is None:
        groups = groups or {(): Counted()}
    rows: list[dict[Variable, Any]] = []
    for key, group in groups.items():
        row: dict[Variable, Any] = {
            name: Literal(group.number(distinct=distinct))
            for name, distinct in wanted.counts
        }
        for name, one in wanted.samples:
            row[name] = key[(wanted.keys or ()).index(one)]
        rows.append(row)
    return rows or [{}]

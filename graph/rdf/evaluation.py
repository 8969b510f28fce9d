"""rdflib's SPARQL engine, with what the database does better handed to the database.

Basic graph patterns, alone or as the right side of a join or an OPTIONAL, are answered
for many rows at once. Everything else is rdflib's own evaluation, watched for time.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

import rdflib
from rdflib.plugins.sparql import CUSTOM_EVALS, evaluate
from rdflib.plugins.sparql.algebra import translateQuery
from rdflib.plugins.sparql.evalutils import _ebv
from rdflib.plugins.sparql.parser import parseQuery, parseUpdate
from rdflib.plugins.sparql.processor import SPARQLResult
from rdflib.plugins.sparql.sparql import FrozenBindings, Query, QueryContext
from rdflib.query import ResultRow
from rdflib.term import Literal, Node, URIRef, Variable

from knowtrail.graph.errors import KnowtrailError, RdfError
from knowtrail.graph.rdf.expressions import check_query, comparable
from knowtrail.graph.rdf.patterns import Alternative, Block, block_of
from knowtrail.graph.rdf.plan import Component, Plan, batches, numbered_all
from knowtrail.graph.rdf.run import PrefixesChangedError
from knowtrail.graph.rdf.translation import ask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from collections.abc import Mapping as Dictionary

    from rdflib import Graph
    from rdflib.plugins.sparql.parserutils import CompValue

    from knowtrail.graph.rdf.patterns import Pattern
    from knowtrail.graph.rdf.values import Solution

    Rows = Iterable[FrozenBindings]

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
        """Take a query, or raise `RdfError` if it cannot be answered."""
        self._ask = ask
        self._prefixes: list[tuple[str, Any]] | None = None
        self._kept = False
        self._names = names
        with _one_line_errors():
            try:
                found = ask()
            except PrefixesChangedError:
                found = ask()
        super().__init__(found)

    def __iter__(self) -> Iterator[Any]:
        """Yield rows, or the triples or the truth value of other forms of queries.

        Errors are the same as those of asking: rows are found as they are read.
        """
        if self.type != "SELECT" or self._kept:
            yield from super().__iter__()
            return
        for held in self._told():
            if held:
                yield ResultRow(held, self.vars or [])

    def short(self, iri: str) -> str:
        """Return an IRI as the query may write it: with a prefix, or in full."""
        if self._prefixes is None:
            self._prefixes = sorted(self._names(), key=lambda one: -len(one[1]))
        for prefix, namespace in self._prefixes:
            local = iri.removeprefix(namespace)
            if local != iri and _LOCAL.fullmatch(local):
                return f"{prefix}:{local.replace('/', _SLASH)}"
        return iri

    @property
    def bindings(self) -> Any:
        """Return all rows, as mappings."""
        if self.type == "SELECT" and not self._kept:
            self._bindings = list(self._told())
            self._kept = True
        return self._bindings

    @bindings.setter
    def bindings(self, rows: Any) -> None:
        self._begun = rows

    def _told(self) -> Iterator[Any]:
        """Yield rows; ask once more where the database's prefixes had changed."""
        # Only the first statement of a query finds that: rows that came before it do
        # not depend on the database, and are the same ones then.
        rows, self._begun = self._begun, None
        done = 0
        with _one_line_errors():
            try:
                for row in self._ask()["bindings"] if rows is None else rows:
                    yield row
                    done += 1
            except PrefixesChangedError:
                yield from islice(self._ask()["bindings"], done, None)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()).partition(", found")[0].rstrip(".")[:300]


@contextmanager
def _one_line_errors() -> Iterator[None]:
    """Raise what rdflib raises, plain exceptions for what a query may not say, anew."""
    try:
        yield
    except (KnowtrailError, RecursionError):
        raise
    except Exception as error:
        raise RdfError(f"The query cannot be answered: {_one_line(error)}.") from error


def _plans_of(
    run: Any,
    ctx: QueryContext,
    block: Sequence[Alternative],
    *,
    also: Any = (),
    bounds: Any = (),
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
        found.append(run.plan(patterns, bound, bounds, one.optional))
    return found if all(plan.fits for plan in found) else None


def _block_of(part: CompValue) -> Block | None:
    kept = vars(part)
    if _NAME not in kept:
        kept[_NAME] = block_of(part)
    found: Block | None = kept[_NAME]
    return found


def _plain_block(part: CompValue) -> Block | None:
    """Return a block without patterns that need not match, None where it is none."""
    block = _block_of(part)
    return None if block is None or any(one.optional for one in block) else block


def _demanded(condition: Any) -> list[Any]:
    if getattr(condition, "name", "") != "ConditionalAndExpression":
        return [condition]
    parts = (condition.expr, *condition.other)
    return [one for part in parts for one in _demanded(part)]


def _existence(condition: Any) -> tuple[Any, Any] | None:
    """Return the block of an EXISTS and the condition on it, None if it is no block."""
    if getattr(condition, "name", "") not in _EXISTENCE:
        return None
    part, rest = condition.graph, None
    if part.name == "Filter" and part.no_isolated_scope:
        part, rest = part.p, part.expr
    block = _plain_block(part)
    return None if block is None else (block, rest)


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


def begin(
    graph: Graph, query: Query, bindings: Dictionary[str, Any], base: str | None
) -> Dictionary[str, Any]:
    """Begin to answer; triples that RDF does not have are not made (16.2)."""
    found: Dictionary[str, Any] = evaluate.evalQuery(graph, query, dict(bindings), base)
    made = found.get("graph", ())
    for one in list(made):
        if isinstance(one[0], Literal) or not isinstance(one[1], URIRef):
            made.remove(one)
    return found


def parsed(
    query: Any, namespaces: Dictionary[str, Any], base: str | None = None
) -> Query:
    """Read a query, unless it is read; raise `RdfError` for what none may do."""
    found = query if isinstance(query, Query) else _parsed(query, namespaces, base)
    check_query(found.algebra)
    if found.algebra.datasetClause:
        raise RdfError("There is one graph here: leave out FROM.")
    return found


def _parsed(query: Any, namespaces: Dictionary[str, Any], base: str | None) -> Query:
    token = _AS_WRITTEN.set(True)
    try:
        tree = parseQuery(query)
        found = translateQuery(tree, base, dict(namespaces))
        if found.algebra.name == "SelectQuery" and not tree[1].projection:
            # Columns of `SELECT *` stand as they are first named; rdflib has a set.
            named = [Variable(n) for n in re.findall(r"[?$](\w+)", str(query))]
            found.algebra.PV.sort(
                key=lambda v: (named.index(v) if v in named else len(named), v)
            )
        return found
    except KnowtrailError:
        raise  # time was up
    except RecursionError as error:
        raise RdfError("The query is nested too deeply: write it flatter.") from error
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
    with suppress(Exception):  # it is neither a query nor an update
        return bool(parseUpdate(query).request)
    return False


def _evaluate(ctx: QueryContext, part: CompValue) -> Any:
    run = getattr(getattr(ctx.graph, "store", None), "_run", None)
    if run is None:
        raise NotImplementedError
    run.check()
    if part.name == "Filter":
        return _filter(run, ctx, part)
    if part.name in {"BGP", "Union", "Join", "LeftJoin"}:
        rows = _block(run, ctx, part)
        if rows is not None:
            return rows
    if part.name == "LeftJoin" or (part.name == "Join" and part.lazy):
        block = _plain_block(part.p2)
        if block is not None:
            extend = _join if part.name == "Join" else _left_join
            return extend(run, ctx, part, block)
    if part.name == "AggregateJoin":
        return _aggregate(run, ctx, part)
    if part.name in _WATCHED:
        return _watched(run, _WATCHED[part.name](ctx, part))
    raise NotImplementedError


def _watched(run: Any, rows: Iterable[Any]) -> Iterator[Any]:
    for row in rows:
        run.check()
        yield row


def _block(
    run: Any, ctx: QueryContext, part: CompValue, *, bounds: Any = ()
) -> Rows | None:
    """Return the solutions of a block, None where the part is none."""
    block = _block_of(part)
    if part.name == "BGP" and not part.triples:
        return iter([ctx.solution()])
    plans = None if block is None else _plans_of(run, ctx, block, bounds=bounds)
    if plans is None:
        return None
    graph: Any = ctx.graph
    rows = numbered_all(plans, run, graph.triples, [dict(ctx.bindings.items())])
    return (FrozenBindings(ctx, row) for _, row in rows)


def _aggregate(run: Any, ctx: QueryContext, part: CompValue) -> Rows:
    """Return the groups of an aggregation, counted by the database where it can."""
    patterns = _counted_patterns(part)
    known = dict(ctx.bindings.items())
    if patterns is not None and patterns[0][0] not in known:
        plans = _plans_of(run, ctx, [Alternative(patterns)]) or []
        if len(plans) == 1 and plans[0].alone is not None:
            rows = _count(run, plans[0].alone, part, patterns[0][0], known)
            if rows is not None:
                return [FrozenBindings(ctx, row) for row in rows]
    return _watched(run, evaluate.evalAggregateJoin(ctx, part))


def _filter(run: Any, ctx: QueryContext, part: CompValue) -> Rows:
    """Yield the solutions that pass a filter; what EXISTS asks is asked in batches."""
    found = _block(run, ctx, part.p, bounds=_bounds(part.expr))
    rows: Rows = found or evaluate.evalPart(ctx, part.p)
    demanded = _demanded(part.expr)
    rest = [one for one in demanded if _existence(one) is None]

    def seen(row: FrozenBindings) -> FrozenBindings:
        return row if part.no_isolated_scope else row.forget(ctx, _except=part._vars)

    def existing(rows: Rows, asked: tuple[Any, Any], *, wanted: bool) -> Rows:
        block, condition = asked
        for batch, solutions in _extended(run, ctx, block, rows, seen):
            matched = {
                place
                for place, solution in solutions
                if condition is None or _ebv(condition, FrozenBindings(ctx, solution))
            }
            yield from (
                row for place, row in enumerate(batch) if (place in matched) == wanted
            )

    passed: Rows = (
        row for row in _watched(run, rows) if all(_ebv(one, seen(row)) for one in rest)
    )
    for test in demanded:
        if (asked := _existence(test)) is not None:
            passed = existing(passed, asked, wanted=test.name == "Builtin_EXISTS")
    yield from passed


def _bounds(expression: Any) -> tuple[tuple[Any, tuple[Any, ...]], ...]:
    """Return the comparisons with numbers that a filter demands, a little wider."""
    found: dict[Any, list[tuple[str, float]]] = {}
    for one in _demanded(expression):
        if getattr(one, "name", "") == "RelationalExpression" and one.op in _FLIPPED:
            variable, sign, literal = one.expr, one.op, one.other
            if isinstance(literal, Variable):
                variable, sign, literal = literal, _FLIPPED[sign], variable
            if not isinstance(variable, Variable) or not isinstance(literal, Literal):
                continue
            kind, number = comparable(literal) or ("", 0)
            if kind == "number" and abs(number) < 2**53:
                limits, number = found.setdefault(variable, []), float(number)
                if sign[0] != "<":
                    limits.append((">=", number - abs(number) * 1e-12))
                if sign[0] != ">":
                    limits.append(("<=", number + abs(number) * 1e-12))
    return tuple((variable, tuple(some)) for variable, some in found.items())


def _extended(
    run: Any,
    ctx: QueryContext,
    block: Block,
    rows: Rows,
    seen: Callable[[FrozenBindings], FrozenBindings] = lambda row: row,
) -> Iterator[tuple[Sequence[Any], Iterator[tuple[int, Any]]]]:
    """Yield batches of rows, each with what the block adds to which."""
    graph: Any = ctx.graph
    plans = None
    for batch in batches(rows):
        run.check()
        known = [dict(ctx.thaw(seen(row)).bindings.items()) for row in batch]
        plans = plans or _plans_of(run, ctx, block, also=known[0]) or []
        yield batch, numbered_all(plans, run, graph.triples, known)


def _join(run: Any, ctx: QueryContext, part: CompValue, block: Block) -> Rows:
    for batch, solutions in _extended(run, ctx, block, evaluate.evalPart(ctx, part.p1)):
        for place, row in solutions:
            yield FrozenBindings(ctx, row | dict(batch[place].items()))


def _left_join(run: Any, ctx: QueryContext, part: CompValue, block: Block) -> Rows:
    """Yield the rows of the left side, extended by the right one where it matches."""
    for batch, solutions in _extended(run, ctx, block, evaluate.evalPart(ctx, part.p1)):
        matched: list[list[FrozenBindings]] = [[] for _ in batch]
        for place, added in solutions:
            row = FrozenBindings(ctx, added)
            if _ebv(part.expr, row.forget(ctx)):
                matched[place].append(row)
        for row, extended in zip(batch, matched, strict=True):
            yield from (one.merge(row) for one in extended)
            if not extended and not _matches_alone(ctx, part, row):
                yield row


def _matches_alone(ctx: QueryContext, part: CompValue, row: FrozenBindings) -> bool:
    """Return whether the right side matches without what is bound outside of both."""
    inside = part.p1._vars
    if inside is None or all(term in inside for term in row):
        return False
    alone = ctx.thaw(row.remember(inside))
    return any(_ebv(part.expr, found) for found in evaluate.evalPart(alone, part.p2))


def _counted_patterns(part: CompValue) -> tuple[Pattern, ...] | None:
    """Return what finds the one thing that an aggregation only counts, if it does."""
    block = _block_of(part.p.p)
    if block is None or len(block) != 1 or block[0].optional:
        return None
    patterns = block[0].patterns
    subject, keys = patterns[0][0], part.p.expr or ()
    free = [found for _, _, found in patterns if isinstance(found, Variable)]
    fits = (
        isinstance(subject, Variable)
        and all(one[0] == subject for one in patterns)
        and all(key in free for key in keys)
        and all(
            one.vars == subject
            if one.name == "Aggregate_Count"
            else one.name == "Aggregate_Sample" and one.vars in keys
            for one in part.A
        )
    )
    return patterns if fits else None


def _count(
    run: Any, component: Component, part: CompValue, subject: Node, known: Solution
) -> list[dict[Variable, Any]] | None:
    keys = list(part.p.expr or ())
    messages = list(component.messages([known], 0))
    if len(messages) != 1:
        return None
    query, _, sent = messages[0]
    statement = query.counting([*keys, *known])
    if statement is None:
        return None
    width = len(query.statement.columns) + 2
    params = query.statement.params | {"x": "x", query.statement.rows: sent}
    # Of the nodes of a group some are counted by the database, `others` are read.
    solutions: Counter[Any] = Counter()
    counted: Counter[Any] = Counter()
    others: defaultdict[Any, set[Node]] = defaultdict(set)
    for _, *record in ask(run, [statement], params, width):
        number, different = record[-2:]
        for solution in query.decode(record, known):
            key = tuple(solution.get(one, known.get(one)) for one in keys)
            if number and (counted[key] or number != different):
                return None
            counted[key] += different
            solutions[key] += number or 1
            if not number:
                others[key].add(solution[subject])
    own = component.mapping.vocabulary.parse_node
    if any(counted[key] and own(str(one)) for key in others for one in others[key]):
        return None
    if part.p.expr is None:
        solutions[()] += 0
    return [
        {
            one.res: key[keys.index(one.vars)]
            if one.name == "Aggregate_Sample"
            else Literal(counted[key] + len(others[key]) if one.distinct else number)
            for one in part.A
        }
        for key, number in solutions.items()
    ] or [{}]

"""FILTER EXISTS and NOT EXISTS, asked for many rows at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rdflib.plugins.sparql.evalutils import _ebv
from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.plugins.sparql.sparql import FrozenBindings

from graph.rdf.plan import batches, numbered_all
from graph.rdf.solving import once_more, plain_block, plans_of, triples_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rdflib.plugins.sparql.sparql import QueryContext

__all__ = ["divided", "existing"]

_NAMES = frozenset({"Builtin_EXISTS", "Builtin_NOTEXISTS"})


def divided(expression: Any) -> tuple[list[Any], list[Any]]:
    """Return the tests of existence that a filter demands, and what else it demands.

    Args:
        expression: The filter's expression.
    """
    tests: list[Any] = []
    rest: list[Any] = []
    waiting = [expression]
    while waiting:
        one = waiting.pop(0)
        name = one.name if isinstance(one, CompValue) else ""
        if name == "ConditionalAndExpression":
            waiting = [one.expr, *one.other, *waiting]
        elif name in _NAMES and _inner(one) is not None:
            tests.append(one)
        else:
            rest.append(one)
    return tests, rest


def existing(
    run: Any,
    ctx: QueryContext,
    test: CompValue,
    rows: Iterable[FrozenBindings],
    seen: Callable[[FrozenBindings], FrozenBindings],
) -> Iterator[FrozenBindings]:
    """Yield the rows that pass a test of existence.

    Args:
        run: Reads the database.
        ctx: What is bound for all rows.
        test: An EXISTS or NOT EXISTS that `divided` has found.
        rows: What is bound so far.
        seen: What the test sees of a row.
    """
    block, condition = _inner(test) or ((), None)
    wanted = test.name == "Builtin_EXISTS"
    for batch in batches(rows):
        run.check()
        inner = [ctx.thaw(seen(row)) for row in batch]
        known = [dict(one.bindings.items()) for one in inner]
        matched: set[int] = set()

        def found(known: list[Any] = known) -> Iterator[tuple[int, Any]]:
            plans = plans_of(run, ctx, block, also=known[0]) or []
            yield from numbered_all(plans, run, triples_of(ctx), known)

        for place, solution in once_more(found):
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
    block = plain_block(part)
    return None if block is None else (block, condition)

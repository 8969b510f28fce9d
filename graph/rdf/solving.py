"""What evaluating parts of a query shares: plans of blocks, and how they are begun."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rdflib.term import Variable

from graph.rdf.blocks import block_of
from graph.rdf.run import PrefixesChangedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rdflib.plugins.sparql.parserutils import CompValue
    from rdflib.plugins.sparql.sparql import QueryContext

    from graph.rdf.blocks import Alternative
    from graph.rdf.plan import Plan

__all__ = ["once_more", "plain_block", "plans_of", "triples_of"]


def once_more(make: Callable[[], Iterator[Any]]) -> Iterator[Any]:
    """Yield rows; from the start where the database's prefixes had changed.

    Only the first statement of a query finds that, before it yields anything.
    """
    try:
        yield from make()
    except PrefixesChangedError:
        yield from make()


def plans_of(
    run: Any,
    ctx: QueryContext,
    block: Sequence[Alternative],
    *,
    also: Any = (),
    bounds: Any = None,
) -> list[Plan] | None:
    """Return the plan of each alternative of a block, made once for a way it is bound.

    Args:
        run: Reads the database.
        ctx: What is bound for all rows, predicates among it.
        block: The alternatives.
        also: Variables that each row binds, to one thing or another.
        bounds: Comparisons of variables with numbers that a filter makes.

    Returns:
        The plans; None if what need not match cannot be asked for with the rest.
    """
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


def plain_block(part: CompValue) -> tuple[Alternative, ...] | None:
    """Return a block without patterns that need not match, None where it is none."""
    block = block_of(part)
    return None if block is None or any(one.optional for one in block) else block


def triples_of(ctx: QueryContext) -> Any:
    """Return what finds the triples of one pattern, also of a path."""
    return getattr(ctx.graph, "triples", None)

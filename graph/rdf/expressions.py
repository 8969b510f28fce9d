r"""Expressions of SPARQL 1.1 that are evaluated here, and what no query may do.

What nobody can know is an error, not a guess. Literals of an unknown datatype, and
those that are not well-formed, are equal to themselves, and neither equal nor unequal
to others. A time without a zone may be in any: it is compared with one that has a zone
where they are more than 14 hours apart.

Python's own `re` cannot be stopped while it looks for a match, and keeps all threads
waiting until it ends, which for some expressions is never. `regex` takes a time limit,
lets other threads run, and understands `re`'s expressions and `\p{L}`.
"""

from __future__ import annotations

import operator
import re
import signal
import threading
from contextlib import contextmanager, suppress
from decimal import Decimal
from functools import lru_cache
from types import MethodType
from typing import TYPE_CHECKING, Any

import regex
from rdflib.namespace import RDF, XSD
from rdflib.plugins.sparql.operators import string
from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.plugins.sparql.sparql import SPARQLError
from rdflib.term import Literal, Node

from knowtrail.graph.errors import QueryTimeoutError, RdfError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_XSD = str(XSD)
_TEXTS = frozenset({None, XSD.string, XSD.normalizedString, XSD.token})
_SHORT = 200
"""Characters up to which what Oxigraph says of two literals is remembered."""

_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def relation(part: Any, _: Any) -> Any:
    """Return what a `RelationalExpression` says, or raise `SPARQLError`."""
    left, right, sign = part.expr, part.other, part.op
    if right is None:
        return left
    if sign in {"IN", "NOT IN"}:
        return Literal(_among(left, right) == (sign == "IN"))
    return Literal(_holds(left, sign, right))


def _among(term: Any, others: Any) -> bool:
    """Return whether a term equals one of some; an error counts where none does."""
    failure = None
    for other in () if others == RDF.nil else others:
        try:
            if _holds(term, "=", other):
                return True
        except SPARQLError as error:
            failure = error
    if failure is not None:
        raise failure
    return False


def _holds(one: Any, sign: str, other: Any) -> bool:
    for term in (one, other):
        if not isinstance(term, Node):
            raise term if isinstance(term, SPARQLError) else SPARQLError("No term.")
    is_order = sign not in {"=", "!="}
    if isinstance(one, Literal) and isinstance(other, Literal):
        kinds = comparable(one), comparable(other)
        if kinds[0] and kinds[1] and kinds[0][0] == kinds[1][0]:
            return _SIGNS[sign](*_aligned(kinds[0][1], kinds[1][1]))
        is_tagged = one.language or other.language
        if None in kinds and not is_tagged and (is_order or one != other):
            # What has a value here is of no kind that is compared there, like a text.
            pair = [Literal("") if kinds[n] else (one, other)[n] for n in range(2)]
            is_short = sum(len(t) + len(t.datatype or "") for t in pair) < _SHORT
            told = (_told if is_short else _told.__wrapped__)(pair[0], sign, pair[1])
            if told is None:
                raise SPARQLError("Nobody knows how these compare.")
            return told
    if is_order:
        raise SPARQLError("These have no order.")
    return bool(_SIGNS[sign](one, other))


def comparable(literal: Literal) -> tuple[str, Any] | None:
    """Return kind and value, None for times and durations, and for what has neither."""
    kind, value = literal.datatype, literal.value
    if kind in _TEXTS or literal.language:
        return f"text@{literal.language or ''}".lower(), str(literal)
    if kind == XSD.boolean:
        value = _BOOLEANS.get(str(literal))
        return None if value is None else ("boolean", value)
    if literal.ill_typed or not str(kind).startswith(_XSD):
        return None
    if isinstance(value, int | float | Decimal):
        is_nan = isinstance(value, Decimal) and value.is_nan()
        return "number", float("nan") if is_nan else value
    return (str(kind), value) if isinstance(value, str | bytes) else None


def _aligned(one: Any, other: Any) -> tuple[Any, Any]:
    """Return two numbers so that Python compares them as SPARQL does."""
    if isinstance(one, float) != isinstance(other, float):
        with suppress(OverflowError):
            return float(one), float(other)
    return one, other


@lru_cache(1000)
def _told(one: Literal, sign: str, other: Literal) -> bool | None:
    """Return what Oxigraph says of two literals, None where that is an error."""
    import pyoxigraph as ox

    # Of variables that nothing binds Oxigraph takes = to ask for the same term.
    left, right = 'COALESCE(?a, "")', 'COALESCE(?b, "")'
    asked = f"({left} {sign} {right} AS ?r) ({left} < {right} AS ?less)"
    text = f'SELECT {asked} ({left} = "" AS ?known) ?a ?b {{}}'
    try:
        pair = {
            ox.Variable(name): ox.Literal(
                str(term), datatype=ox.NamedNode(str(term.datatype or XSD.string))
            )
            for name, term in (("a", one), ("b", other))
        }
    except ValueError:  # a datatype is no IRI, or half of a character is in a text
        return None
    found: Any = next(iter(ox.Store().query(text, substitutions=pair)))  # type: ignore[arg-type]
    # Oxigraph orders what is the same term, whether it has a value or not. A time with
    # a zone and one without are unequal to it, wherever they are near.
    kinds = {str(term.datatype).removesuffix("Stamp") for term in (one, other)}
    has_zones = found["less"] is not None or one == other
    unclear = len(kinds) == 1 and not has_zones and not kinds.pop().endswith("uration")
    if found["r"] is None or (found["known"] is None and one == other) or unclear:
        return None
    return bool(found["r"].value == "true")


_AGAIN = 1.0
"""Seconds after which what is not stopped is stopped once more."""

_FLAGS = {"i": regex.I, "s": regex.S, "m": regex.M, "x": regex.X}
_GROUP = re.compile(r"\\(.)|\$([0-9]+)", re.DOTALL)


def check_query(part: Any) -> None:
    """Raise `RdfError` for what would ask another server or another graph."""
    waiting = [part]
    while waiting:
        one = waiting.pop()
        if isinstance(one, CompValue):
            if one.name == "ServiceGraphPattern":
                raise RdfError("SERVICE would ask another server: leave it out.")
            if one.name == "Graph":
                raise RdfError("There is one graph here: leave out GRAPH.")
            if one.name in _EVALUATED:
                one._evalfn = MethodType(_EVALUATED[one.name], one)
            waiting += list(one.values())
        elif isinstance(one, list | tuple | set):
            waiting += list(one)


@contextmanager
def stopped_after(seconds: float) -> Iterator[None]:
    """Stop whatever runs inside after some seconds, regular expressions as well.

    It then raises `QueryTimeoutError`. A program's main thread alone can be stopped so,
    where the system has timers. Python drops what is raised while it collects garbage:
    then it is raised once more, a second later.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: object) -> None:
        raise QueryTimeoutError.after(seconds)

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _matches(part: Any, context: Any) -> Literal:
    """Return whether a text has a match, as SPARQL 1.1, section 17.4.3.14."""
    return Literal(bool(_timed(part, context, "search", string(part.text))))


def _replaced(part: Any, context: Any) -> Literal:
    """Return a text with its matches replaced, as SPARQL 1.1, section 17.4.3.15."""
    text = string(part.arg)
    by = _GROUP.sub(_group, string(part.replacement))
    found = _timed(part, context, "sub", by, text)
    return Literal(found, datatype=text.datatype, lang=text.language)


def _group(found: re.Match[str]) -> str:
    r"""Return a group of a replacement (`$1`), or what stands for itself (`\$`)."""
    if found[2] is not None:
        return rf"\g<{found[2]}>"
    return "\\\\" if found[1] == "\\" else found[1]


def _timed(part: Any, context: Any, function: str, *arguments: str) -> Any:
    """Call a function of an expression, for as long as its query may run."""
    pattern = str(string(part.pattern))
    store = getattr(getattr(context, "ctx", context).graph, "store", None)
    run: Any = getattr(store, "_run", None)
    flags = sum(_FLAGS.get(flag, 0) for flag in set(part.flags or ()))
    limits = {} if run is None else {"timeout": run.left(), "concurrent": True}
    try:
        call: Callable[..., Any] = getattr(regex.compile(pattern, flags), function)
        return call(*arguments, **limits)
    except TimeoutError as error:
        raise QueryTimeoutError.after(run.seconds) from error
    except (regex.error, IndexError, OverflowError, RecursionError) as error:
        why = " ".join(str(error).split())
        msg = f"The regular expression {pattern[:80]!r} cannot be used: {why[:200]}."
        raise RdfError(msg) from error


_EVALUATED: dict[str, Callable[[Any, Any], Any]] = {
    "Builtin_REGEX": _matches,
    "Builtin_REPLACE": _replaced,
    "RelationalExpression": relation,
}
"""Parts of a query that are evaluated here and not by rdflib."""

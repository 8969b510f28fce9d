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
from contextlib import contextmanager
from datetime import datetime, time, timedelta
from decimal import Decimal
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
    from collections.abc import Callable, Iterable, Iterator


_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_TEXTS = frozenset({XSD.string, XSD.normalizedString, XSD.token})
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
_DAY = re.compile(r"(\d{4})(-\d\d)?(-\d\d)?(Z|[+-]\d\d:\d\d)?", re.ASCII)
_DAYS = {XSD.gYear: 1, XSD.gYearMonth: 2, XSD.date: 3}
"""Datatype -> how many of year, month and day it has."""

_WIDEST = timedelta(hours=14)


def relation(part: Any, _: Any) -> Any:
    """Return what a `RelationalExpression` says, or raise `SPARQLError`."""
    left, right, sign = part.expr, part.other, part.op
    if right is None:
        return left
    if sign in {"IN", "NOT IN"}:
        return Literal(_among(left, right) == (sign == "IN"))
    if sign in _ORDERS:
        return Literal(_ORDERS[sign](*_comparable(left, right)))
    return Literal(_equal(left, right) == (sign == "="))


def _among(term: Any, others: Any) -> bool:
    """Return whether a term equals one of some; an error counts where none does."""
    failure = None
    for other in () if others == RDF.nil else others:
        try:
            if _equal(term, other):
                return True
        except SPARQLError as error:
            failure = error
    if failure is not None:
        raise failure
    return False


def _equal(one: Any, other: Any) -> bool:
    _check((one, other))
    if not (isinstance(one, Literal) and isinstance(other, Literal)):
        return bool(one == other)
    if one.language or other.language:
        return one == other
    kinds = _value(one), _value(other)
    if kinds[0] is None or kinds[1] is None:
        if one == other:
            return True
        raise SPARQLError("It is not known whether these are equal.")
    if kinds[0][0] != kinds[1][0]:
        return False
    return bool(operator.eq(*_aligned(kinds[0][1], kinds[1][1])))


def _comparable(one: Any, other: Any) -> tuple[Any, Any]:
    """Return values of Python that are in the order of two literals."""
    _check((one, other))
    if isinstance(one, Literal) and isinstance(other, Literal):
        kinds = _value(one), _value(other)
        tags = [(term.language or "").lower() for term in (one, other)]
        if kinds[0] and kinds[1] and kinds[0][0] == kinds[1][0] and tags[0] == tags[1]:
            values = _aligned(kinds[0][1], kinds[1][1])
            try:
                values[0] < values[1]  # noqa: B015 - durations have no order
            except TypeError as error:
                raise SPARQLError(*error.args) from error
            return values
    raise SPARQLError("These have no order.")


def _check(terms: Iterable[Any]) -> None:
    for term in terms:
        if not isinstance(term, Node):
            raise term if isinstance(term, SPARQLError) else SPARQLError("No term.")


def _value(literal: Literal) -> tuple[str, Any] | None:
    kind, value = literal.datatype, literal.value
    if kind is None or kind in _TEXTS:
        return "text", str(literal)
    if kind == XSD.boolean:
        value = _BOOLEANS.get(str(literal))
    elif kind in _DAYS:
        value = _midnight(literal, _DAYS[kind])
    if value is None or literal.ill_typed or not kind.startswith(str(XSD)):
        return None
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return "number", value
    return str(kind), value


def _midnight(text: str, size: int) -> datetime | None:
    """Return the first moment of a year, month or day, None where it is none."""
    found = _DAY.fullmatch(text)
    if found is None or sum(part is not None for part in found.groups()[:3]) != size:
        return None
    year, month, day, zone = found.groups()
    try:
        return datetime.fromisoformat(
            f"{year}{month or '-01'}{day or '-01'}T00:00:00{zone or ''}"
        )
    except ValueError:
        return None


def _aligned(one: Any, other: Any) -> tuple[Any, Any]:
    """Return two values of a kind so that Python compares them as SPARQL does."""
    if isinstance(one, float) != isinstance(other, float):
        try:
            return float(one), float(other)
        except OverflowError:
            return one, other
    if not (isinstance(one, datetime | time) and isinstance(other, datetime | time)):
        return one, other
    zones = one.utcoffset(), other.utcoffset()
    if (zones[0] is None) == (zones[1] is None):
        return one, other
    if not (isinstance(one, datetime) and isinstance(other, datetime)):
        raise SPARQLError("One of these times has no zone.")
    try:
        plain = [
            moment.replace(tzinfo=None) - (zone or timedelta())
            for moment, zone in zip((one, other), zones, strict=True)
        ]
    except OverflowError as error:
        raise SPARQLError(*error.args) from error
    if abs(plain[0] - plain[1]) <= _WIDEST:
        raise SPARQLError("One of these times has no zone.")
    return plain[0], plain[1]


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
    text = string(part.text)
    return Literal(bool(_timed(part, context, "search", text)))


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

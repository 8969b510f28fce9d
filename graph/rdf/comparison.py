"""`=`, `<` and `IN` of SPARQL 1.1: what nobody can know is an error, not a guess.

Literals of an unknown datatype, and those that are not well-formed, are equal to
themselves, and neither equal nor unequal to others. A time without a zone may be in
any: it is compared with one that has a zone where they are more than 14 hours apart.
"""

from __future__ import annotations

import operator
import re
from datetime import datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from rdflib.namespace import RDF, XSD
from rdflib.plugins.sparql.sparql import SPARQLError
from rdflib.term import Literal, Node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

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
    """Return what a `RelationalExpression` of rdflib's algebra says.

    Raises:
        SPARQLError: If that cannot be known.
    """
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
    """Return whether two terms are equal."""
    _check((one, other))
    if not (isinstance(one, Literal) and isinstance(other, Literal)):
        return bool(one == other)
    if one.language or other.language:
        return one == other
    kinds = _value(one), _value(other)
    if kinds[0] is None or kinds[1] is None:
        if one == other:
            return True
        msg = "It is not known whether these are equal."
        raise SPARQLError(msg)
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
    msg = "These have no order."
    raise SPARQLError(msg)


def _check(terms: Iterable[Any]) -> None:
    """Raise the error that stands in place of a term."""
    for term in terms:
        if not isinstance(term, Node):
            raise term if isinstance(term, SPARQLError) else SPARQLError("No term.")


def _value(literal: Literal) -> tuple[str, Any] | None:
    """Return the kind and the value of a literal, None where they are not known."""
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
        msg = "One of these times has no zone."
        raise SPARQLError(msg)
    try:
        plain = [
            moment.replace(tzinfo=None) - (zone or timedelta())
            for moment, zone in zip((one, other), zones, strict=True)
        ]
    except OverflowError as error:
        raise SPARQLError(*error.args) from error
    if abs(plain[0] - plain[1]) <= _WIDEST:
        msg = "One of these times has no zone."
        raise SPARQLError(msg)
    return plain[0], plain[1]

"""Cypher text: identifiers escaped, values written as literals, clauses joined."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from knowtrail.graph.errors import InputError
from knowtrail.graph.py2neo.errors import UnsupportedValueError

if TYPE_CHECKING:
    from collections.abc import Mapping

_SIMPLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_REFUSED = re.compile(r"[\0\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_NAMED = {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_TEMPORAL = {
    "Date": "date",
    "date": "date",
    "DateTime": "datetime",
    "datetime": "datetime",
    "Time": "time",
    "time": "time",
    "Duration": "duration",
    "timedelta": "duration",
}
"""Class of a value -> function of Cypher that makes one from its ISO 8601 text."""


class CypherExpression:
    """Cypher that stands for itself, not for a text.

    `cypher_repr` writes it as it is, so that it must never be made from data.
    """

    def __init__(self, value: str) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"CypherExpression({self.value!r})"


def cypher_escape(identifier: str) -> str:
    """Return a name as Cypher writes it, in backticks where it needs them.

    It cannot end early, whatever it holds. Backslashes become their code, since the
    server reads such codes before it looks for backticks.

    Raises:
        InputError: If it is empty, or has a character that Neo4j refuses in names.
        TypeError: If it is no text.
    """
    if not isinstance(identifier, str):
        msg = f"A name in Cypher is text, not {type(identifier).__name__}."
        raise UnsupportedValueError(msg)
    if _SIMPLE.fullmatch(identifier):
        return identifier
    if not identifier or _REFUSED.search(identifier):
        msg = (
            f"{identifier!r} cannot be a name in Cypher: use at least one character, "
            "and neither null nor half of one."
        )
        raise InputError(msg)
    doubled = identifier.replace("\\", "\\u005C").replace("`", "``")
    return f"`{doubled}`"


def cypher_join(*clauses: Any, **parameters: Any) -> tuple[str, dict[str, Any]]:
    """Join clauses, one a line, to one statement with all its parameters.

    Clauses are texts, or tuples of a text and a dictionary of parameters; None is left
    out.

    Raises:
        InputError: If two clauses give one parameter different values.
        TypeError: If a clause is neither text nor such a tuple.
    """
    texts: list[str] = []
    joined: dict[str, Any] = {}
    for clause in clauses:
        if clause is None:
            continue
        text, own = clause_parts(clause)
        texts.append(text)
        add_parameters(joined, own)
    add_parameters(joined, parameters)
    return "\n".join(texts), joined


def clause_parts(clause: Any) -> tuple[str, Mapping[str, Any]]:
    """Return text and parameters of a clause, which is text or a tuple of both."""
    if isinstance(clause, str):
        return clause, {}
    if isinstance(clause, tuple) and len(clause) == 2 and isinstance(clause[0], str):
        return clause[0], dict(clause[1] or {})
    msg = f"{clause!r} is no Cypher: give text, or a tuple of text and parameters."
    raise UnsupportedValueError(msg)


def add_parameters(to: dict[str, Any], parameters: Mapping[str, Any]) -> None:
    """Add parameters to others, none of which may be there with another value."""
    for name, value in parameters.items():
        if name in to and (to[name] is not value and to[name] != value):
            msg = f"Two clauses give ${name} different values: rename one of them."
            raise InputError(msg)
        to[name] = value


def cypher_repr(value: Any, *, quote: str | None = None) -> str:
    r"""Return a value as Cypher writes it.

    Dates, times, durations and points become calls of the functions that make them.
    It is for people to read: give values to statements as parameters. Without a
    `quote`, texts stand between `'`, or `"` where they have `'` alone.

    Raises:
        InputError: If a whole number needs more than 64 bits.
        TypeError: If Cypher has no such value.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return _integer_text(value)
    if isinstance(value, float):
        return _float_text(value)
    if isinstance(value, str):
        return _quoted(value, quote)
    if isinstance(value, CypherExpression):
        return value.value
    return _composite_text(value, quote)


def cypher_str(value: Any) -> str:
    """Return a text as it is, and anything else as `cypher_repr` does."""
    return value if isinstance(value, str) else cypher_repr(value)


def key_text(name: str) -> str:
    """Return a name for people: escaped, also where Neo4j would refuse it."""
    try:
        return cypher_escape(name)
    except InputError:
        return f"`{ascii(name)[1:-1]}`"


def value_text(value: Any) -> str:
    """Return a value for people: as Cypher writes it, or else as Python does."""
    try:
        return cypher_repr(value)
    except (TypeError, InputError):
        return repr(value)


def _integer_text(value: int) -> str:
    if not -(2**63) <= value < 2**63:
        msg = f"{value} needs more than the 64 bits of a number in Neo4j."
        raise InputError(msg)
    return str(int(value))


def _float_text(value: float) -> str:
    if math.isfinite(value):
        return repr(float(value))
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _quoted(text: str, quote: str | None) -> str:
    mark = quote or ('"' if "'" in text and '"' not in text else "'")
    escaped = text.replace("\\", "\\\\").replace(mark, f"\\{mark}")
    return mark + _CONTROL.sub(_code, escaped) + mark


def _code(found: re.Match[str]) -> str:
    return _NAMED.get(found[0]) or f"\\u{ord(found[0]):04x}"


def _composite_text(value: Any, quote: str | None) -> str:
    from neo4j.spatial import Point

    if hasattr(value, "relationships"):
        return str(value)
    if isinstance(value, Point):
        axes = zip("xyz", value, strict=False)
        parts = ", ".join(f"{axis}: {_float_text(number)}" for axis, number in axes)
        return f"point({{srid: {value.srid}, {parts}}})"
    if isinstance(value, dict):
        pairs = (
            f"{cypher_escape(key)}: {cypher_repr(item, quote=quote)}"
            for key, item in value.items()
        )
        return f"{{{', '.join(pairs)}}}"
    if type(value).__name__ not in _TEMPORAL and isinstance(value, list | tuple):
        return f"[{', '.join(cypher_repr(item, quote=quote) for item in value)}]"
    return _temporal_text(value)


def _temporal_text(value: Any) -> str:
    function = _TEMPORAL.get(type(value).__name__)
    if function is None:
        msg = f"Cypher has no literal for {type(value).__name__}: use a parameter."
        raise UnsupportedValueError(msg)
    if function == "duration" and not hasattr(value, "iso_format"):
        from neo4j.time import Duration

        value = Duration(
            days=value.days, seconds=value.seconds, microseconds=value.microseconds
        )
    if function in {"time", "datetime"} and value.tzinfo is None:
        function = f"local{function}"
    iso = value.iso_format() if hasattr(value, "iso_format") else value.isoformat()
    tzinfo = getattr(value, "tzinfo", None)
    zone = getattr(tzinfo, "key", None) or getattr(tzinfo, "zone", None)
    named = f"[{zone}]" if zone and function == "datetime" else ""
    return f"{function}({_quoted(f'{iso}{named}', None)})"

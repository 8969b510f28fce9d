"""Cypher text: identifiers escaped, values as literals; parameters that can be sent.

The driver asks the zone of a time for its offset with an object of its own in the place
of a `datetime`. Zones of `zoneinfo`, and any of a `time`, cannot stand that:
the process fails or crashes. So such times get a zone that has the same name and knows
the one offset that is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import neo4j.time as bolt
from neo4j.spatial import Point

from knowtrail.graph.cli.rows import NOT_FINITE, iso_text
from knowtrail.graph.db.driver import Zone
from knowtrail.graph.errors import InputError
from knowtrail.graph.py2neo.errors import UnsupportedValueError

PLAIN = frozenset({str, int, float, bool, type(None), bytes, bytearray})
"""Classes of values that are sent and received as they are."""


def sendable(value: Any) -> Any:
    """Return a value with times that the driver can send, copied where it changes."""
    return _changed(value) if _has_zone(value) else value


def _has_zone(value: Any) -> bool:
    kind = type(value)
    if kind in PLAIN:
        return False
    if isinstance(value, dict):
        value = list(value.values())
    elif kind is not list and kind is not tuple:
        return isinstance(getattr(value, "tzinfo", None), tzinfo)
    if set(map(type, value)) <= PLAIN:
        return False
    return any(map(_has_zone, value))


def _changed(value: Any) -> Any:
    kind = type(value)
    if isinstance(value, dict):
        return {key: _changed(item) for key, item in value.items()}
    if kind is list or kind is tuple:
        return [_changed(item) for item in value]
    zone = getattr(value, "tzinfo", None)
    if isinstance(value, time) and zone is not None:
        offset = value.utcoffset()
        zone = None if offset is None else Zone(None, offset)
        return bolt.Time.from_native(value.replace(tzinfo=zone))
    if not isinstance(zone, ZoneInfo):
        return value
    native = value if isinstance(value, datetime) else value.to_native()
    return value.replace(tzinfo=Zone(zone.key, native.utcoffset()))


_SIMPLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_REFUSED = re.compile(r"[\0\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_ODD_OFFSET = re.compile(r"[+-]\d\d:\d\d:\d\d$")
_NAMED = {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


class CypherExpression:
    """Cypher that is written as it is, so that it must never be made from data."""

    def __init__(self, value: str) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"CypherExpression({self.value!r})"


def cypher_escape(identifier: str) -> str:
    """Return a name as Cypher writes it, in backticks where it needs them.

    It cannot end early, whatever it holds. Backslashes become their code, since the
    server reads such codes before it looks for backticks.
    """
    if not isinstance(identifier, str):
        msg = f"A name in Cypher is text, not {type(identifier).__name__}."
        raise UnsupportedValueError(msg)
    if _SIMPLE.fullmatch(identifier):
        return identifier
    if not identifier or _REFUSED.search(identifier):
        raise InputError(
            f"{identifier!r} cannot be a name in Cypher: use at least one character, "
            "and neither null nor half of one."
        )
    doubled = identifier.replace("\\", "\\u005C").replace("`", "``")
    return f"`{doubled}`"


def as_map(pairs: Iterable[tuple[str, str]]) -> str:
    """Return a map in Cypher, of names and of the Cypher of their values."""
    text = ", ".join(f"{cypher_escape(key)}: {value}" for key, value in pairs)
    return f"{{{text}}}"


def cypher_join(*clauses: Any, **parameters: Any) -> tuple[str, dict[str, Any]]:
    """Join clauses, one a line, to one statement with all its parameters.

    Clauses are texts, or tuples of a text and a dictionary of parameters; None is left
    out. No two may give one parameter different values.
    """
    parts = [clause_parts(clause) for clause in clauses if clause is not None]
    joined: dict[str, Any] = {}
    for _, own in parts:
        add_parameters(joined, own)
    add_parameters(joined, parameters)
    return "\n".join(text for text, _ in parts), joined


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
    r"""Return a value as Cypher writes it, for people to read.

    Dates, times, durations and points become calls of the functions that make them.
    Without a `quote`, texts stand between `'`, or `"` where they have `'` alone.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            msg = f"{value} needs more than the 64 bits of a number in Neo4j."
            raise InputError(msg)
        return str(int(value))
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


def _float_text(value: float) -> str:
    text = repr(float(value))
    return NOT_FINITE.get(text, text)


def _quoted(text: str, quote: str | None) -> str:
    mark = quote or ('"' if "'" in text and '"' not in text else "'")
    escaped = text.replace("\\", "\\\\").replace(mark, f"\\{mark}")
    return mark + _CONTROL.sub(_code, escaped) + mark


def _code(found: re.Match[str]) -> str:
    return _NAMED.get(found[0]) or f"\\u{ord(found[0]):04x}"


def _composite_text(value: Any, quote: str | None) -> str:
    if hasattr(value, "relationships"):
        return str(value)
    if isinstance(value, Point):
        axes = zip("xyz", map(_float_text, value), strict=False)
        return f"point({as_map([('srid', str(value.srid)), *axes])})"
    if isinstance(value, dict):
        pairs = (
            f"{cypher_escape(key)}: {cypher_repr(item, quote=quote)}"
            for key, item in value.items()
        )
        return f"{{{', '.join(pairs)}}}"
    if (text := _temporal_text(value)) is not None:
        return text
    if isinstance(value, list | tuple):
        return f"[{', '.join(cypher_repr(item, quote=quote) for item in value)}]"
    raise UnsupportedValueError(
        f"Cypher has no literal for {type(value).__name__}: use a parameter."
    )


def _temporal_text(value: Any) -> str | None:
    """Return a moment or duration as a call of what makes it of its ISO 8601 text."""
    kinds: dict[str, tuple[type, type]] = {
        "duration": (timedelta, bolt.Duration),
        "datetime": (datetime, bolt.DateTime),
        "date": (date, bolt.Date),
        "time": (time, bolt.Time),
    }
    function = next((n for n, kind in kinds.items() if isinstance(value, kind)), None)
    if function is None:
        return None
    if isinstance(value, timedelta):
        value = bolt.Duration(
            days=value.days, seconds=value.seconds, microseconds=value.microseconds
        )
    native = isinstance(value, date | time)
    iso = value.isoformat() if native else iso_text(value)
    tzinfo = getattr(value, "tzinfo", None)
    if function in {"time", "datetime"} and tzinfo is None:
        function = f"local{function}"
    zone = getattr(tzinfo, "key", None) or getattr(tzinfo, "zone", None)
    named = f"[{zone}]" if zone and function == "datetime" else ""
    if named:  # Neo4j 5 reads no seconds of an offset, and knows those of the zone
        iso = _ODD_OFFSET.sub("", iso)
    return f"{function}({_quoted(f'{iso}{named}', None)})"

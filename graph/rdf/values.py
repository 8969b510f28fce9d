"""Property values as RDF literals, and back, without loss.

XSD datatypes stand for what they can hold; what they cannot hold, or what a reader
would write in another way (nanoseconds, named time zones, years beyond 9999), has a
datatype of ours and the text of Neo4j. A list of floating-point numbers is one base64
literal: little-endian, in single precision where that is exact.
"""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, time, timezone
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import TYPE_CHECKING, Any

from neo4j.spatial import CartesianPoint, Point, WGS84Point
from neo4j.time import Date, DateTime, Duration, Time
from rdflib.term import BNode, Literal, Node, URIRef

from knowtrail.graph.db.driver import Zone
from knowtrail.graph.rdf.vocabulary import DATES, GEO, XSD, Value, Vocabulary

if TYPE_CHECKING:
    from knowtrail.graph.rdf.mapping import Mapping

_INTEGER = re.compile(r"[+-]?\d+")
_WKT = re.compile(r"(?:<([^>]+)> )?POINT(?: Z)? \(([^)]*)\)")
_OWN_DURATION = re.compile(
    r"P(?P<months>-?\d+)M(?P<days>-?\d+)DT(?P<seconds>-?\d+)S(?P<nanoseconds>-?\d+)N"
)
_OWN_TIME = re.compile(r"(.*?)\.(\d{9})([+-]\d\d:\d\d)?(?:\[([^\]]+)\])?")
_WGS84 = 4326
_DAY = 86_400

Solution = dict[Node, Node]
"""What variables are bound to."""

Numbered = Iterator[tuple[int, Solution]]
"""Solutions, each with the number of the row that it extends."""

Runner = Callable[[str, dict[str, Any]], Iterator[Sequence[Any]]]
"""Runs a statement with parameters and yields its rows."""

_FLOATING = frozenset({URIRef(f"{XSD}double"), URIRef(f"{XSD}float")})

_AS_XSD_WRITES = {"nan": "NaN", "inf": "INF", "-inf": "-INF"}
"""What Python makes of these numbers -> what XSD allows."""


def literal_of(value: Any, vocabulary: Vocabulary) -> Value:
    """Return a scalar property value as a literal."""
    if isinstance(value, str):
        return Value(value)
    if isinstance(value, bool):
        return Value("true" if value else "false", f"{XSD}boolean")
    if isinstance(value, int):
        return Value(str(value), f"{XSD}integer")
    if isinstance(value, float):
        text = repr(value)
        return Value(_AS_XSD_WRITES.get(text, text), f"{XSD}double")
    if isinstance(value, bytes | bytearray):
        return Value(base64.b64encode(value).decode("ascii"), f"{XSD}base64Binary")
    return _driver_literal(value, vocabulary)


def _driver_literal(value: Any, vocabulary: Vocabulary) -> Value:
    if isinstance(value, Point):
        return Value(_point_text(value, vocabulary), f"{GEO}wktLiteral")
    if isinstance(value, Duration):
        return _duration_literal(value, vocabulary)
    if isinstance(value, Date):
        return Value(value.iso_format(), f"{XSD}date")
    kind = "dateTime" if isinstance(value, DateTime) else "time"
    if not isinstance(value, DateTime | Time):
        raise TypeError(f"{type(value).__name__} is no value of a property")
    zone = getattr(value.tzinfo, "zone", getattr(value.tzinfo, "key", None))
    named = isinstance(zone, str) and zone != "UTC"
    if named or value.nanosecond % 1000:
        text = _nano_text(value) + (f"[{zone}]" if named else "")
        return Value(text, vocabulary.datatype(kind))
    return Value(value.to_native().isoformat(), f"{XSD}{kind}")


def _nano_text(value: Any) -> str:
    """Return a time with nine digits behind the point and its offset."""
    offset = value.utcoffset()
    text = str(value.replace(tzinfo=None).iso_format())
    head, _, digits = text.partition(".")
    zone = "" if offset is None else str(timezone(offset))
    zone = "+00:00" if zone == "UTC" else zone.removeprefix("UTC")
    return f"{head}.{digits or '0' * 9}{zone}"


def _point_text(point: Any, vocabulary: Vocabulary) -> str:
    axes = " ".join(repr(float(axis)) for axis in point)
    system = "" if point.srid == _WGS84 else f"<{vocabulary.base}srid/{point.srid}> "
    return f"{system}POINT{' Z' if len(point) == 3 else ''} ({axes})"


def _duration_literal(value: Any, vocabulary: Vocabulary) -> Value:
    """Return a duration, as XSD has it where that says the same."""
    months, days, seconds, nanoseconds = value
    if (
        min(value) >= 0
        and seconds < _DAY
        and nanoseconds % 1000 == 0
        and months < 12 * 9999
        and days < 10**6
    ):
        return Value(value.iso_format(), f"{XSD}duration")
    text = f"P{months}M{days}DT{seconds}S{nanoseconds}N"
    return Value(text, vocabulary.datatype("duration"))


def value_of(literal: Value, vocabulary: Vocabulary) -> Any:
    """Return the property value that a literal stands for."""
    if literal.language:
        return None
    if not literal.datatype or literal.datatype == f"{XSD}string":
        return literal.text
    own = vocabulary.datatype("")
    try:
        if literal.datatype == f"{GEO}wktLiteral":
            return _point_value(literal.text, vocabulary)
        kind = literal.datatype.replace(own, "own ").replace(XSD, "xsd ")
        reader = _READERS.get(kind)
        return None if reader is None else reader(literal.text)
    except (ValueError, OverflowError, InvalidOperation, struct.error):
        return None


def _integer(text: str) -> int | None:
    number = int(text) if _INTEGER.fullmatch(text) else None
    return None if number is None or not -(2**63) <= number < 2**63 else number


def _vector(form: str, size: int, text: str) -> list[float] | None:
    raw = base64.b64decode(text, validate=True)
    return list(struct.unpack(f"<{len(raw) // size}{form}", raw)) or None


def _own_duration(text: str) -> Duration | None:
    found = _OWN_DURATION.fullmatch(text)
    parts = {} if found is None else found.groupdict()
    numbers = {name: int(part) for name, part in parts.items()}
    return Duration(**numbers) if numbers else None


def _point_value(text: str, vocabulary: Vocabulary) -> Any:
    found = _WKT.fullmatch(text)
    if found is None:
        return None
    axes = [float(axis) for axis in found[2].split()]
    system = found[1] or f"{vocabulary.base}srid/{_WGS84}"
    for point in (WGS84Point(axes), CartesianPoint(axes)):
        if point.srid and system == f"{vocabulary.base}srid/{point.srid}":
            return point
    return None


def _own_time(kind: Any, text: str) -> Any:
    found = _OWN_TIME.fullmatch(text)
    if found is None:
        return None
    head, digits, offset, zone = found.groups()
    whole = kind.from_iso_format(f"{head}.{digits}{offset or ''}")
    shift = whole.utcoffset()
    if shift is None:
        return whole
    # The driver would store UTC as a named zone.
    return whole.replace(tzinfo=Zone(zone, shift) if zone else timezone(shift))


_READERS: dict[str, Callable[[str], Any]] = {
    "xsd integer": _integer,
    "xsd boolean": {"true": True, "1": True, "false": False, "0": False}.get,
    "xsd double": float,
    "xsd base64Binary": partial(base64.b64decode, validate=True),
    "xsd duration": Duration.from_iso_format,
    "xsd date": lambda text: Date.from_native(date.fromisoformat(text)),
    "xsd dateTime": lambda text: DateTime.from_native(datetime.fromisoformat(text)),
    "xsd time": lambda text: Time.from_native(time.fromisoformat(text)),
    "own float32Vector": partial(_vector, "f", 4),
    "own float64Vector": partial(_vector, "d", 8),
    "own duration": _own_duration,
    "own dateTime": partial(_own_time, DateTime),
    "own time": partial(_own_time, Time),
}
"""What reads literals of datatypes of XSD and of ours."""


def is_vector(value: Any) -> bool:
    """Return whether a property value is a list of floating-point numbers."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], float)


def vector_of(numbers: list[float], vocabulary: Vocabulary) -> Value:
    """Return a list of numbers as one literal."""
    raw = b""
    try:
        raw = struct.pack(f"<{len(numbers)}f", *numbers)
        exact = list(struct.unpack(f"<{len(numbers)}f", raw)) == numbers
    except OverflowError:
        exact = False
    if not exact:
        raw = struct.pack(f"<{len(numbers)}d", *numbers)
    kind = "float32Vector" if exact else "float64Vector"
    return Value(base64.b64encode(raw).decode("ascii"), vocabulary.datatype(kind))


def order_of(literals: list[Value], distinct: list[Value]) -> str | None:
    """Return how a list is made from its distinct members."""
    place = {literal: number for number, literal in enumerate(distinct)}
    places = [place[literal] for literal in literals]
    if len(places) > 1 and places == list(range(len(distinct))):
        return None
    return " ".join(map(str, places))


def ordered(literals: set[Value], order: str | None) -> list[Value]:
    """Return a list from its distinct members and what `order_of` said.

    An order that does not fit the members (somebody added one) is not used: they are
    then sorted.
    """
    distinct = sorted(literals)
    texts = (order or "").split()
    is_order = all(re.fullmatch(r"\d{1,9}", text) for text in texts)
    places = list(map(int, texts)) if is_order else []
    fits = set(places) == set(range(len(distinct)))
    return [distinct[place] for place in places] if fits else distinct


def decimal_text(value: float) -> str:
    """Return a finite number as xsd:decimal, exactly as its shortest form reads."""
    text = format(Decimal(repr(value)), "f")
    return text if "." in text else f"{text}.0"


def literal_term(value: Value) -> Literal:
    """Return a literal of ours as one of rdflib."""
    return Literal(
        value.text,
        datatype=URIRef(value.datatype) if value.datatype else None,
        lang=value.language or None,
        normalize=False,
    )


def node_term(iri: str) -> URIRef | BNode:
    """Return an IRI, or blank node, as a term of rdflib."""
    return BNode(iri[2:]) if iri.startswith("_:") else URIRef(iri)


def iri_of_term(term: Any) -> str:
    """Return an IRI or blank node of rdflib as text."""
    return f"_:{term}" if isinstance(term, BNode) else str(term)


def xsd_written(term: Any) -> Any:
    """Return a term, but a number as XSD writes it where rdflib made it of Python's."""
    if not isinstance(term, Literal) or term.datatype not in _FLOATING:
        return term
    text = _AS_XSD_WRITES.get(str(term))
    return (
        term if text is None else Literal(text, datatype=term.datatype, normalize=False)
    )


def value_of_term(term: Literal) -> Value:
    """Return a literal of rdflib as one of ours."""
    datatype = "" if term.datatype is None else str(term.datatype)
    return Value(str(xsd_written(term)), datatype, term.language or "")


def candidates(mapping: Mapping, term: Node) -> list[Any] | None:
    """Return every property value that could be a literal, None where unsure."""
    if not isinstance(term, Literal):
        return None
    value = value_of_term(term)
    found = value_of(value, mapping.vocabulary)
    if isinstance(found, list) or found != found:
        return None
    result = [] if found is None else [found]
    text = value.text
    if value.language:
        # Tags are the same in any case, which only terms know, not Cypher.
        if "-" in value.language:
            return None
        tags = {value.language, value.language.lower(), value.language.upper()}
        result += [f"{text}@{tag}" for tag in sorted(tags)]
    elif mapping.foreign:
        names = mapping.short_names(value.datatype or f"{XSD}string")
        result += [f"{text}^^{name}" for name in names]
    if value.datatype in DATES:
        result.append(text)
    if value.datatype == f"{XSD}decimal":
        try:
            result.append(float(text))
        except (ValueError, OverflowError):
            return None
    return result if value.datatype != mapping.vocabulary.datatype("order") else None

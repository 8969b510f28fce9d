"""Property values as literals: none is lost, and rdflib reads them unchanged."""

from __future__ import annotations

import base64
import math
import struct
from datetime import timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from neo4j.spatial import CartesianPoint, WGS84Point
from neo4j.time import Date, DateTime, Duration, Time
from rdflib import Literal, URIRef

from knowtrail.graph.errors import RdfError
from knowtrail.graph.rdf.mapping import Mapping
from knowtrail.graph.rdf.staging import Rows, Staging, parse
from knowtrail.graph.rdf.values import (
    candidates,
    decimal_text,
    literal_of,
    order_of,
    ordered,
    value_of,
    value_of_term,
    vector_of,
)
from knowtrail.graph.rdf.vocabulary import GEO, XSD, Value, Vocabulary
from tests.cases import each

if TYPE_CHECKING:
    from pathlib import Path

WORDS = Vocabulary()
MAPPING = Mapping(Vocabulary(), {"ex": "http://example.org/"})
OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda m: timezone(timedelta(minutes=m)))
DURATIONS = st.builds(
    Duration,
    months=st.integers(-500, 5000),
    days=st.integers(-500, 5000),
    seconds=st.integers(-200_000, 200_000),
    nanoseconds=st.integers(0, 999_999_999),
)
MOMENTS = st.builds(
    lambda moment, nano: DateTime.from_native(moment).replace(nanosecond=nano),
    st.datetimes(timezones=st.none() | OFFSETS),
    st.integers(0, 999_999).map(lambda n: n * 1000) | st.integers(0, 999_999_999),
)
POINTS = st.builds(
    lambda kind, axes: kind(axes),
    st.sampled_from([WGS84Point, CartesianPoint]),
    st.lists(st.floats(-80, 80), min_size=2, max_size=3),
)
SCALARS = (
    st.text()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.binary()
    | st.dates().map(Date.from_native)
    | st.times().map(Time.from_native)
    | MOMENTS
    | DURATIONS
    | POINTS
)


@given(SCALARS)
def test_values_come_back(value: Any) -> None:
    """A literal stands for its value and for no other, of the same type."""
    literal = literal_of(value, WORDS)

    back = value_of(literal, WORDS)

    assert back == value
    assert type(back) is type(value)
    assert literal_of(back, WORDS) == literal


@given(SCALARS)
def test_rdflib_reads_literals_unchanged(value: Any) -> None:
    """What rdflib makes of a literal stands for the same value."""
    literal = literal_of(value, WORDS)
    datatype = URIRef(literal.datatype) if literal.datatype else None

    term = Literal(literal.text, datatype=datatype)

    read = Value(str(term), str(term.datatype or ""), term.language or "")
    assert value_of(read, WORDS) == value


def test_numbers_that_are_none_come_back() -> None:
    """NaN and the infinities have the names of XSD."""
    numbers = [math.nan, math.inf, -math.inf]

    texts = [literal_of(number, WORDS).text for number in numbers]

    assert texts == ["NaN", "INF", "-INF"]
    assert math.isnan(value_of(Value("NaN", f"{XSD}double"), WORDS))


@each(
    "literal",
    [
        Value("x", f"{XSD}integer"),
        Value("1" * 30, f"{XSD}integer"),
        Value("maybe", f"{XSD}boolean"),
        Value("2024-02-31", f"{XSD}date"),
        Value("P", f"{XSD}nonsense"),
        Value("%%", f"{XSD}base64Binary"),
        Value("AAA=", WORDS.datatype("float32Vector")),
        Value("POINT (1)", f"{GEO}wktLiteral"),
        Value(f"<{WORDS.base}srid/None> POINT (1)", f"{GEO}wktLiteral"),
        Value(f"<{WORDS.base}srid/0> POINT (1)", f"{GEO}wktLiteral"),
        Value("x", WORDS.datatype("dateTime")),
        Value("x", "urn:other"),
        Value("x", "", "en"),
    ],
)
def test_literals_without_a_value_are_told(literal: Value) -> None:
    """A literal that no property can hold has no value; it is no error."""
    assert value_of(literal, WORDS) is None


@given(st.lists(st.floats(width=32, allow_nan=False), min_size=1))
def test_single_precision_stays_single(numbers: list[float]) -> None:
    """Vectors of indexes take four bytes a number."""
    literal = vector_of(numbers, WORDS)

    assert literal.datatype == WORDS.datatype("float32Vector")
    assert value_of(literal, WORDS) == numbers


@each("kind", ["float32Vector", "float64Vector"])
def test_vectors_are_stored_in_the_precision_that_they_are_written_in(
    kind: str,
) -> None:
    """The datatype says it, whatever the numbers are."""
    raw = struct.pack("<2f" if kind == "float32Vector" else "<2d", 0.5, 1.0)
    literal = Value(base64.b64encode(raw).decode(), WORDS.datatype(kind))
    facts: Any = [(WORDS.property("embedding"), literal)]

    row = Rows(MAPPING, {}).node(WORDS.node("Chunk", "a"), facts, "Chunk")

    is_single = kind == "float32Vector"
    assert row.vectors == ({"embedding": [0.5, 1.0]} if is_single else {})
    assert ("embedding" in row.properties) != is_single


@given(st.lists(st.floats(allow_nan=False), min_size=1))
def test_vectors_come_back_exactly(numbers: list[float]) -> None:
    """No bit of a number is lost."""
    assert value_of(vector_of(numbers, WORDS), WORDS) == numbers


@given(st.lists(st.text(max_size=2), max_size=6))
def test_lists_come_back_in_their_order(texts: list[str]) -> None:
    """Distinct members and the order make the list again, repetitions too."""
    literals = [Value(text) for text in texts]
    distinct = sorted(set(literals))

    order = order_of(literals, distinct)

    assert ordered(set(literals), order) == literals


@pytest.mark.parametrize("order", ["0", "0 1 2", "x", "1 1", "-1 0", "9" * 40])
def test_an_order_that_does_not_fit_is_not_used(order: str) -> None:
    """Members that somebody added or took away are not lost."""
    members = {Value("b"), Value("a")}

    assert ordered(members, order) == [Value("a"), Value("b")]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_decimals_are_exact(number: float) -> None:
    """A budget's text reads as the same number."""
    text = decimal_text(number)

    assert float(text) == number
    assert "e" not in text.lower()


@pytest.mark.parametrize("stored", ["colour@en", "colour@EN"])
def test_short_language_tags_are_looked_for_in_any_case(stored: str) -> None:
    """A tag means the same in capitals."""
    assert stored in (candidates(MAPPING, Literal("colour", lang="en")) or ())


def test_long_language_tags_are_compared_as_terms() -> None:
    """Tags with a region are written in many ways, which Cypher cannot compare."""
    assert candidates(MAPPING, Literal("colour", lang="en-GB")) is None


@pytest.mark.parametrize("text", ["NaN", "INF", "-INF"])
def test_numbers_that_are_none_are_written_as_xsd_has_them(text: str) -> None:
    """In Python they are written in a way that no datatype of XSD allows."""
    assert value_of_term(Literal(text, datatype=URIRef(f"{XSD}double"))).text == text


@pytest.mark.parametrize(
    ("name", "form", "text"),
    [
        ("a.ttl", "turtle", '<urn:a> <urn:b> "x\\ud800y" .'),
        ("a.jsonld", "json-ld", '{"@id": "urn:a", "urn:b": "x\\ud800y"}'),
        ("a.nt", "nt", '<urn:a> <urn:b> "x\\uD800y" .'),
    ],
)
def test_half_a_character_is_refused(
    tmp_path: Path, name: str, form: str, text: str
) -> None:
    """What no database can hold is an error of the file, in every format."""
    path = tmp_path / name
    path.write_text(text, "utf-8")
    staging = Staging(tmp_path, Vocabulary())

    with pytest.raises(RdfError, match="character") as caught:
        parse(path, staging, form=form, base="urn:x:")

    staging.close()
    assert str(caught.value).encode("utf-8")

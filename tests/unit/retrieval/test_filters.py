"""Filters: what they accept, what they mean, what they refuse."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowtrail.graph.errors import FilterError
from knowtrail.retrieval.filters import OPERATORS, parse_filter
from tests.cases import each
from tests.memory_reader import matches

CHUNK = {"id": "c1", "index": 3, "className": "Person"}
DOCUMENT = {
    "id": "d1",
    "title": "Autism",
    "language": "en",
    "words": 250,
    "checked": True,
    "aliases": ["ASD", "Autism spectrum"],
    "themes": ["genes", "childhood"],
    "categories": [],
}


def passes(given_filter: dict[str, Any]) -> bool:
    """Return whether the example passes a filter."""
    parsed = parse_filter(given_filter)
    return parsed is None or matches(parsed, CHUNK, DOCUMENT)


@each(
    ("given_filter", "expected"),
    [
        ({}, True),
        ({"language": "en"}, True),
        ({"language": "bg"}, False),
        ({"document.language": {"$ne": "bg"}}, True),
        ({"document.missing": {"$ne": "bg"}}, False),
        ({"document.missing": {"$nin": ["bg"]}}, False),
        ({"index": {"$gte": 3, "$lt": 4}}, True),
        ({"index": {"$gt": 3}}, False),
        ({"index": {"$lte": 2}}, False),
        ({"chunk.index": {"$between": [3, 5]}}, True),
        ({"document.words": {"$between": [251, 300]}}, False),
        ({"document.words": {"$gt": "100"}}, False),
        ({"document.words": 250.0}, True),
        ({"document.checked": 1}, False),
        ({"document.checked": {"$ne": 1}}, True),
        ({"title": {"$like": "tis"}}, True),
        ({"title": {"$like": "TIS"}}, False),
        ({"title": {"$ilike": "TIS"}}, True),
        ({"document.words": {"$like": "25"}}, False),
        ({"className": {"$in": ["Person", "Place"]}}, True),
        ({"className": {"$nin": ["Person"]}}, False),
        ({"theme": "genes"}, True),
        ({"theme": {"$ne": "genes"}}, False),
        ({"theme": {"$in": ["x", "childhood"]}}, True),
        ({"theme": {"$nin": ["x"]}}, True),
        ({"theme": {"$ilike": "CHILD"}}, True),
        ({"category": "Autism"}, False),
        ({"category": {"$ne": "Autism"}}, True),
        ({"aliases": "ASD"}, True),
        ({"aliases": {"$nin": ["ASD"]}}, False),
        ({"$or": [{"language": "bg"}, {"theme": "genes"}]}, True),
        ({"$and": [{"language": "bg"}, {"theme": "genes"}]}, False),
        ({"language": "en", "$or": [{"index": 1}, {"index": 2}]}, False),
    ],
)
def test_a_filter_means_what_it_says(
    given_filter: dict[str, Any], expected: bool
) -> None:
    """Each operator on scalars, lists, missing values and other types."""
    assert passes(given_filter) is expected


@each(
    ("given_filter", "message"),
    [
        ("language", "is no filter"),
        ([], "is no filter"),
        ({"$or": []}, "give it a list of filters"),
        ({"$and": {"a": 1}}, "give it a list of filters"),
        ({"$or": [{}]}, "is no filter"),
        ({"$nor": [{"language": "en"}]}, "did you mean"),
        ({"languge": "en"}, "did you mean 'language'"),
        ({"zzz": 1}, "document.NAME"),
        ({"page.title": 1}, "starts with document. or chunk."),
        ({"document.a b": 1}, "no property"),
        ({"document.x`) OR true //": 1}, "no property"),
        ({"document.themeEmbedding": 1}, "no property"),
        ({"chunk.embedding": 1}, "no property"),
        ({3: 1}, "no field name"),
        ({"language": {}}, "has no operator"),
        ({"language": {"$equals": "en"}}, "Unknown operator '\\$equals'"),
        ({"language": ["en"]}, "use \\$in for several"),
        ({"language": None}, "give it a string, number or boolean"),
        ({"index": {"$in": 3}}, "give it a list of values"),
        ({"index": {"$in": [[3]]}}, "give it a list of values"),
        ({"index": {"$between": [1]}}, "lowest, highest"),
        ({"title": {"$like": 3}}, "give it a string"),
        ({"index": float("nan")}, "give it a string, number"),
        ({"index": 2**70}, "give it a string, number"),
    ],
)
def test_what_is_no_filter_is_refused(given_filter: Any, message: str) -> None:
    """Each mistake gets one line that says what to write."""
    with pytest.raises(FilterError, match=message):
        parse_filter(given_filter)


def test_a_filter_may_not_be_endless() -> None:
    """Depth and length are bounded."""
    deep: dict[str, Any] = {"language": "en"}
    for _ in range(9):
        deep = {"$and": [deep, deep]}
    with pytest.raises(FilterError, match="deeper than"):
        parse_filter(deep)
    with pytest.raises(FilterError, match="the most is"):
        parse_filter({"$or": [{"language": "en"}] * 201})


NAMES = st.text(max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*OPERATORS, "$and", "$or", "title", "theme"]) | NAMES,
            inner,
            max_size=3,
        )
    ),
    max_leaves=10,
)


@given(VALUES)
def test_a_filter_is_read_or_refused(given_filter: Any) -> None:
    """Whatever is given, there is a filter or a `FilterError`, nothing else."""
    try:
        parsed = parse_filter(given_filter)
    except FilterError:
        return
    assert parsed is None or matches(parsed, CHUNK, DOCUMENT) in {True, False}


@given(st.text(min_size=1, max_size=30), st.sampled_from(["$eq", "$like", "$ilike"]))
def test_no_value_becomes_part_of_the_statement(value: str, operator: str) -> None:
    """Two filters that differ only in their values have one Cypher text."""
    parsed = parse_filter({"title": {operator: value}, "theme": value})
    plain = parse_filter({"title": {operator: "a"}, "theme": "a"})
    assert parsed is not None
    assert plain is not None

    text, params = parsed.cypher("c")

    assert text == plain.cypher("c")[0]
    assert list(params.values()) == [value, value]


def test_the_cypher_of_a_filter() -> None:
    """Names are back-ticked, values are parameters, the document is matched once."""
    parsed = parse_filter({"language": "en", "category": {"$ne": "x"}})
    assert parsed is not None

    text, params = parsed.cypher("n")

    assert text == (
        "EXISTS { MATCH (n)-[:FROM_DOCUMENT]->(document:Document) WHERE "
        "((document.`language` = $filter0) AND NOT EXISTS { MATCH "
        "(document)-[:IN_CATEGORY]->(tag:Category) WHERE tag.name = $filter1 }) }"
    )
    assert params == {"filter0": "en", "filter1": "X"}
    assert json.dumps(params)


def test_a_filter_on_chunks_alone_does_not_match_documents() -> None:
    """What needs no document costs no document."""
    parsed = parse_filter({"$or": [{"index": 1}, {"className": "Person"}]})
    assert parsed is not None

    assert not re.search("EXISTS|Document", parsed.cypher("c")[0])

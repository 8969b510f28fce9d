"""Predicates: their Cypher, and values that are always parameters."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowtrail.graph.errors import InputError
from knowtrail.graph.py2neo import matching
from knowtrail.graph.py2neo.matching import (
    AND,
    CONTAINS,
    ENDS_WITH,
    EQ,
    GE,
    GT,
    IN,
    IS_NOT_NULL,
    IS_NULL,
    LE,
    LIKE,
    LT,
    NE,
    OR,
    STARTS_WITH,
    XOR,
    Predicate,
    predicate_of,
)
from tests.cases import each


def _compiled(predicate: Predicate) -> tuple[str, list[Any]]:
    """Return the Cypher of a predicate and its values."""
    values: list[Any] = []

    def parameter(value: Any) -> str:
        values.append(value)
        return f"${len(values)}"

    return predicate.compile("x", parameter), values


@each(
    ("predicate", "text", "values"),
    [
        (IS_NULL(), "x IS NULL", []),
        (IS_NOT_NULL(), "x IS NOT NULL", []),
        (EQ(1), "x = $1", [1]),
        (NE(1), "x <> $1", [1]),
        (LT(1), "x < $1", [1]),
        (LE(1), "x <= $1", [1]),
        (GT(1), "x > $1", [1]),
        (GE(1), "x >= $1", [1]),
        (STARTS_WITH("a"), "x STARTS WITH $1", ["a"]),
        (ENDS_WITH("a"), "x ENDS WITH $1", ["a"]),
        (CONTAINS("a"), "x CONTAINS $1", ["a"]),
        (LIKE("a.*"), "x =~ $1", ["a.*"]),
        (IN({1}), "x IN $1", [[1]]),
        (IN(range(2)), "x IN $1", [[0, 1]]),
        (AND(GE(1), NE(2), 3), "(x >= $1 AND x <> $2 AND x = $3)", [1, 2, 3]),
        (OR(AND(1, 2), IS_NULL()), "((x = $1 AND x = $2) OR x IS NULL)", [1, 2]),
        (XOR(1, None), "(x = $1 XOR x IS NULL)", [1]),
    ],
)
def test_predicates_are_written(
    predicate: Predicate, text: str, values: list[Any]
) -> None:
    """Each predicate has its operator, and its values aside."""
    assert _compiled(predicate) == (text, values)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "x IS NULL"),
        ((1, 2), "x IN $1"),
        (frozenset([1]), "x IN $1"),
        ([1, 2], "x = $1"),
        ("a", "x = $1"),
    ],
)
def test_plain_values_stand_for_predicates(value: Any, text: str) -> None:
    """None is no value, a tuple or set one of its members, a list itself."""
    assert _compiled(predicate_of(value))[0] == text


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (re.compile("ab"), "ab"),
        (re.compile("ab", re.IGNORECASE), "(?iu)ab"),
        (re.compile("ab", re.IGNORECASE | re.ASCII), "(?i)ab"),
        (re.compile("ab", re.DOTALL | re.MULTILINE | re.VERBOSE), "(?msx)ab"),
    ],
)
def test_flags_of_compiled_patterns_count(pattern: re.Pattern[str], text: str) -> None:
    """The server gets the flags inside the expression."""
    assert _compiled(LIKE(pattern))[1] == [text]


@given(st.text())
def test_no_value_is_ever_in_the_text(value: str) -> None:
    """Whatever the text, it is a parameter."""
    text, values = _compiled(AND(EQ(value), IN([value]), STARTS_WITH(value)))

    assert text == "(x = $1 AND x IN $2 AND x STARTS WITH $3)"
    assert values == [value, [value], value]


@each(
    "wrong",
    [
        lambda: predicate_of(IS_NULL),
        lambda: OR(IS_NULL),
        lambda: EQ(EQ(1)),
        lambda: IN("text"),
        lambda: IN({"a": 1}),
        lambda: IN(1),
        lambda: LIKE(1),
        lambda: LIKE(re.compile(b"a")),
    ],
)
def test_values_of_the_wrong_kind_are_refused(wrong: Any) -> None:
    """A predicate says what it takes."""
    with pytest.raises(TypeError) as caught:
        wrong()
    assert isinstance(caught.value, InputError)


def test_connectives_join_something() -> None:
    """Nothing cannot be joined."""
    with pytest.raises(InputError, match="at least one"):
        AND()


def test_predicates_are_shown_as_calls() -> None:
    """The representation can be read."""
    assert repr(OR(GE(1), None)) == "Or(GreaterThanOrEqualTo(1), IsNull())"


def test_short_and_long_names_are_the_same() -> None:
    """Every name of the handbook is there."""
    assert matching.GREATER_THAN_OR_EQUAL_TO is matching.GE
    assert matching.NOT_EQUAL_TO is matching.NotEqualTo
    assert matching.EitherOr is XOR

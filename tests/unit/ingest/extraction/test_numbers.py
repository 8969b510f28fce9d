"""Confidences as models write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowtrail.ingest.extraction.numbers import read_confidence
from tests.cases import each


@each(
    ("value", "number"),
    [
        *(
            (0, 0.0),
            (1, 1.0),
            (0.5, 0.5),
            ("0.5", 0.5),
            ("1", 1.0),
            (".5", 0.5),
            (".05", 0.05),
        ),
        *(
            ("0,8", 0.8),
            ("95%", 0.95),
            ("95 %", 0.95),
            ("high", 0.9),
            ("Very Low", 0.05),
        ),
        *(("9/10", 0.9), ("9 out of 10", 0.9), ("0.7-0.9", 0.8), ("conf: 0.8", 0.8)),
        *((1.4, 1.0), (2, 0.2), (7, 0.7), (95, 0.95), (-0.3, 0.0), ("~0.8", 0.8)),
        *((1234567890, None), (-5, None), ("", None), ("sure", None), ("0-1", None)),
        *((None, None), (True, None), ([0.5], None), (float("nan"), None)),
        *((float("inf"), None), ("1/0", None), ("1e999", None), (10**400, None)),
    ],
)
def test_confidence_is_understood(value: object, number: float | None) -> None:
    """Numbers, percentages, fractions, ranges and words; the rest means nothing."""
    found, said = read_confidence(value)

    assert found == (None if number is None else pytest.approx(number))
    numbers = {0, 1, 0.5, "0.5", "1", ".5", ".05"}
    plain = isinstance(value, float | int | str) and value in numbers
    assert (said is None) == (plain and value is not True)


@given(st.floats() | st.integers() | st.text() | st.booleans() | st.none())
def test_any_value_is_from_0_to_1_or_nothing(value: object) -> None:
    """Nothing else leaves, and nothing raises."""
    found, _ = read_confidence(value)

    assert found is None or 0 <= found <= 1

"""Metrics of the benchmark: edges, bins, intervals, counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowtrail.eval.models import checked_reply, parse_json_reply
from knowtrail.eval.skn.metrics import (
    bootstrap_ci,
    bootstrap_rows,
    calibration_rows,
    summed_gaps,
)
from knowtrail.eval.skn.phases import (
    ABSTENTION_PHRASES,
    abstains,
    normalized_hallucination,
    token_estimate,
)
from knowtrail.graph.errors import InputError
from tests.cases import each
from tests.tiers import amount

shares = st.lists(
    st.tuples(st.floats(0, 1, allow_subnormal=False), st.booleans()),
    min_size=1,
    max_size=40,
)


def _by_definition(pairs: list[tuple[float, bool]]) -> float:
    """Return the calibration error by the text of its definition."""
    edges = np.linspace(0, 1, 11)
    total = 0.0
    for number in range(10):
        low, high = edges[number], edges[number + 1]
        inside = [
            (sure, right)
            for sure, right in pairs
            if low <= sure < high or (number == 9 and sure == high)
        ]
        if inside:
            gap = np.mean([r for _, r in inside]) - np.mean([s for s, _ in inside])
            total += len(inside) / len(pairs) * abs(gap)
    return float(total)


@given(shares)
def test_calibration_error_is_its_definition(pairs: list[tuple[float, bool]]) -> None:
    """Summing the columns of the rows gives what bins by hand give."""
    rows = calibration_rows([s for s, _ in pairs], [r for _, r in pairs])

    (found,) = summed_gaps(rows.mean(axis=0, keepdims=True))

    assert found == pytest.approx(_by_definition(pairs), abs=1e-12)


@pytest.mark.parametrize("sure", [0.3, 0.6, 0.7])
def test_edges_of_bins_are_those_of_linspace(sure: float) -> None:
    """Three edges are a rounding above their number, which falls below them."""
    (row,) = calibration_rows([sure], [True])

    assert int(np.flatnonzero(row)[0]) == round(sure * 10) - 1


@pytest.mark.parametrize(
    ("confidences", "correct", "told"),
    [
        ([0.5], [True, False], "1 confidences and 2 verdicts"),
        ([1.5], [True], "A confidence is 1.5"),
        ([float("nan")], [True], "A confidence is nan"),
    ],
)
def test_calibration_refuses_what_is_no_share(
    confidences: list[float], correct: list[bool], told: str
) -> None:
    """Bad numbers are named instead of binned."""
    with pytest.raises(InputError, match=told):
        calibration_rows(confidences, correct)


def test_nothing_has_no_interval_but_zero() -> None:
    """The interval of no samples is 0."""
    assert bootstrap_ci([]) == {"mean": 0, "ci_low": 0, "ci_high": 0, "std": 0}


@settings(max_examples=amount(10, 200))
@given(st.lists(st.floats(-5, 5), min_size=1, max_size=30))
def test_intervals_draw_one_resample_at_a_time(values: list[float]) -> None:
    """Blocks of resamples are the same as resample after resample."""
    rng = np.random.default_rng(42)
    array = np.array(values)
    means = [rng.choice(array, size=len(array)).mean() for _ in range(1000)]

    found = bootstrap_ci(values)

    assert found["ci_low"] == pytest.approx(np.percentile(means, 2.5), abs=6e-5)
    assert found["std"] == pytest.approx(np.std(means), abs=6e-5)


def test_interval_of_a_statistic_holds_it() -> None:
    """The calibration error has an interval like any mean."""
    rows = calibration_rows([0.9] * 30, [True] * 20 + [False] * 10)

    found = bootstrap_rows(rows, summed_gaps)

    assert found["mean"] == pytest.approx(0.9 - 2 / 3, abs=1e-4)
    assert 0 <= found["ci_low"] < found["mean"] < found["ci_high"] < 1


@pytest.mark.parametrize("options", [{"n_bootstrap": 0}, {"ci": 1.0}, {"ci": 0.0}])
def test_intervals_refuse_options(options: dict[str, Any]) -> None:
    """No resamples and no level give no interval."""
    with pytest.raises(InputError, match="choose"):
        bootstrap_ci([1.0], **options)


def test_intervals_refuse_what_is_not_finite() -> None:
    """NaN would spread through everything."""
    with pytest.raises(InputError, match="not finite"):
        bootstrap_ci([1.0, float("nan")])


@each("phrase", ABSTENTION_PHRASES)
def test_every_phrase_refuses(phrase: str) -> None:
    """A phrase counts in any case and place."""
    assert abstains(f"Well, {phrase.upper()} here.")


def test_typographic_apostrophe_refuses() -> None:
    """Models write both apostrophes."""
    assert abstains("I\N{RIGHT SINGLE QUOTATION MARK}m unable to say.")
    assert not abstains("Use a larger cache.")


@pytest.mark.parametrize(
    ("made_up", "total", "share"), [(1, 4, 0.25), (0, 0, 0.0), (3, 2, 1.5)]
)
def test_hallucination_is_normalised_as_published(
    made_up: int, total: int, share: float
) -> None:
    """The total is at least 1, and the share may be more than 1."""
    assert normalized_hallucination(made_up, total) == share


@pytest.mark.parametrize(("text", "tokens"), [("", 1), ("abcdefgh", 2), ("ä" * 9, 2)])
def test_tokens_are_a_quarter_of_the_characters(text: str, tokens: int) -> None:
    """The estimate is at least 1."""
    assert token_estimate(text) == tokens


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ('Sure: {"a": [1, {"b": 2}]} done', {"a": [1, {"b": 2}]}),
        ('```\n{"a": 1}\n``` and ```json\n{"a": 2}\n```', {"a": 1}),
        ("[1, 2]", [1, 2]),
    ],
)
def test_json_is_found_among_words(raw: str, value: object) -> None:
    """Words and fences around JSON do no harm."""
    assert parse_json_reply(raw) == value


@pytest.mark.parametrize("raw", ["", "no", "{", "}{", "[" * 100_000])
def test_no_json_is_told(raw: str) -> None:
    """What holds no JSON is refused, however deep it is nested."""
    with pytest.raises(InputError, match="not JSON"):
        parse_json_reply(raw)


def test_schema_is_strict_about_words() -> None:
    """The word "false" is no truth value."""
    schema = {
        "type": "object",
        "properties": {"correct": {"type": "boolean"}},
        "required": ["correct"],
    }

    assert checked_reply('{"correct": false}', schema) == {"correct": False}
    with pytest.raises(InputError, match=r"correct: 'false' is not of type"):
        checked_reply('{"correct": "false"}', schema)

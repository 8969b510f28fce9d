"""Fields whose values come from elsewhere than before."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowtrail.eval.fields.shift import FieldShift, shifts
from knowtrail.graph.errors import InputError


def made(count: int, seed: int, **change: object) -> list[dict[str, object]]:
    """Return records from one source; `change` moves single fields."""
    rng = random.Random(seed)
    return [
        {
            "method": rng.choice(["pvd", "cvd", "ald"]),
            "temperature": rng.gauss(400, 50),
            "note": "x" * rng.randrange(5, 60) + str(rng.random()),
            "layers": [{"metal": rng.choice(["Ag", "Au"])} for _ in range(3)],
        }
        | {
            name: value(rng) if callable(value) else value
            for name, value in change.items()
        }
        for _ in range(count)
    ]


def moved(
    before: list[object], after: list[object]
) -> dict[tuple[str, str], FieldShift]:
    """Return the tests that found a shift."""
    return {(s.field, s.aspect): s for s in shifts(before, after) if s.shifted}


def test_one_source_does_not_shift() -> None:
    """Two samples of one source differ by chance only."""
    found = shifts(made(200, 1), made(200, 2))

    assert {(s.field, s.aspect, s.test) for s in found} == {
        ("method", "values", "chi-square"),
        ("temperature", "numbers", "kolmogorov-smirnov"),
        ("note", "length", "kolmogorov-smirnov"),
        ("layers[].metal", "values", "chi-square, records permuted"),
    }
    assert not any(s.shifted for s in found)


@pytest.mark.parametrize(
    ("field", "aspect", "change"),
    [
        ("method", "values", {"method": lambda rng: rng.choice(["pvd", "pvd", "cvd"])}),
        ("temperature", "numbers", {"temperature": lambda rng: rng.gauss(450, 50)}),
        ("note", "length", {"note": lambda rng: "y" * rng.randrange(40, 99)}),
        ("layers[].metal", "values", {"layers": [{"metal": "Pt"}]}),
        ("method", "presence", {"method": None}),
        ("new", "presence", {"new": 1}),
    ],
)
def test_a_changed_field_is_found(
    field: str, aspect: str, change: dict[str, object]
) -> None:
    """That field, by that test."""
    found = moved(made(200, 1), made(200, 2, **change))

    assert (field, aspect) in found
    assert {name.partition("[")[0] for name, _ in found} == {field.partition("[")[0]}


@pytest.mark.thorough
def test_many_fields_are_corrected_for() -> None:
    """Of two hundred fields of noise some are below 0.05 alone, none corrected."""
    rng = random.Random(3)
    sides = [
        [{f"f{n}": rng.random() for n in range(200)} for _ in range(30)]
        for _ in range(2)
    ]

    found = shifts(*sides)

    assert sum(s.p_value < 0.05 for s in found) >= 3
    assert not any(s.shifted for s in found)
    assert [s.p_value for s in found] == sorted(s.p_value for s in found)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["numbers", "values"])
def test_values_of_one_record_are_no_evidence_of_their_own(kind: str) -> None:
    """With arrays whose elements are alike, false alarms are as rare as the level."""
    rng, trials = np.random.default_rng(0), 400

    def records() -> list[dict[str, object]]:
        if kind == "numbers":
            centres = rng.normal(size=(30, 1)) + 0.3 * rng.normal(size=(30, 20))
            return [{"a": row} for row in centres.tolist()]
        shares = rng.dirichlet([0.3] * 4, size=30)
        return [{"a": rng.choice(list("wxyz"), p=p, size=20).tolist()} for p in shares]

    found = [shifts(records(), records()) for _ in range(trials)]

    alarms = sum(s.p_value < 0.05 for some in found for s in some if s.aspect == kind)
    assert {s.aspect for some in found for s in some} == {kind}
    assert 0.005 * trials < alarms < (0.05 + 3 * (0.05 * 0.95 / trials) ** 0.5) * trials


def test_few_records_are_counted_exactly() -> None:
    """Where chi-square does not hold, Fisher's exact test stands in."""
    found = shifts([{"a": "x"}] * 4, [{"a": "y"}] * 4)

    assert [(s.test, round(s.p_value, 4)) for s in found] == [("fisher-exact", 0.0286)]


def test_what_never_varies_is_not_tested() -> None:
    """One value everywhere, and fields of null, have no test."""
    assert shifts([{"a": 1, "b": None}] * 9, [{"a": 1, "b": None}] * 9) == ()


def test_values_that_are_no_numbers_are_values() -> None:
    """Truth, infinities and integers beyond any float do not break a test."""
    odd = [{"a": True}, {"a": 10**400}, {"a": float("inf")}, {"a": "x"}] * 5

    (found,) = shifts(odd, odd)

    assert (found.aspect, found.shifted) == ("values", False)


def test_correction_does_not_round_below_what_it_corrects() -> None:
    """The largest p-value is left as it is, to the last bit."""
    found = shifts([None, None, None, [True]], [None, [False], [False, [False]]])

    assert [s for s in found if s.adjusted < s.p_value] == []


def test_sides_without_records_are_refused() -> None:
    """Nothing can be said of them."""
    with pytest.raises(InputError, match="there are 0, 1"):
        shifts([], [{}])


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner)
    ),
    max_leaves=8,
)


@given(st.lists(_JSON, min_size=1, max_size=8), st.lists(_JSON, min_size=1, max_size=8))
def test_any_records_are_compared(before: list[object], after: list[object]) -> None:
    """Whatever JSON says, every p-value is one, and the correction never lowers it."""
    found = shifts(before, after)

    assert all(0 <= s.p_value <= s.adjusted <= 1 for s in found)

"""Agreement of annotators: published examples, and fields over an alignment."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from knowtrail.eval.fields.agreement import annotator_agreement
from knowtrail.eval.fields.coefficients import (
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
)
from knowtrail.eval.fields.records import infer_schema
from knowtrail.eval.fields.schema import annotate_xeval, parse_eval_schema
from knowtrail.graph.errors import InputError

GRANTS = [("yes", "yes")] * 20 + [("yes", "no")] * 5
GRANTS += [("no", "yes")] * 10 + [("no", "no")] * 15
"""Two readers and fifty grant proposals."""

PATIENTS = """
0 0 0 0 14
0 2 6 4 2
0 0 3 5 6
0 3 9 2 0
2 2 8 1 1
7 7 0 0 0
3 2 6 3 0
2 5 3 2 2
6 5 2 1 0
0 2 2 3 7
"""
"""Ten subjects, how often fourteen raters chose each of five categories."""

OBSERVERS = """
1 2 3 3 2 1 4 1 2 . . .
1 2 3 3 2 2 4 1 2 5 . 3
. 3 3 3 2 3 4 2 2 5 1 .
1 2 3 3 2 4 4 1 2 5 1 .
"""
"""Four observers and twelve units with values missing: Krippendorff (2011), C."""


def observed() -> list[list[int | None]]:
    """Return the units of the observers."""
    rows = [line.split() for line in OBSERVERS.split("\n") if line]
    return [
        [None if value == "." else int(value) for value in unit]
        for unit in zip(*rows, strict=True)
    ]


def test_cohen_of_a_known_example() -> None:
    """The textbook's two readers agree at 0.4."""
    first, second = zip(*GRANTS, strict=True)

    assert cohen_kappa(first, second) == pytest.approx(0.4)


def test_fleiss_of_a_known_example() -> None:
    """The worked example of fourteen raters gives 0.210."""
    units = [
        [
            category
            for category, count in enumerate(line.split())
            for _ in range(int(count))
        ]
        for line in PATIENTS.split("\n")
        if line
    ]

    assert fleiss_kappa(units) == pytest.approx(0.210, abs=0.0005)


@pytest.mark.parametrize(
    ("level", "published"), [("nominal", 0.743), ("interval", 0.849)]
)
def test_alpha_of_the_published_example(level: str, published: float) -> None:
    """Krippendorff's own example, to the digits that he prints."""
    found = krippendorff_alpha(observed(), level=level)  # type: ignore[arg-type]

    assert found == pytest.approx(published, abs=0.0005)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2))
def test_cohen_is_that_of_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    """Any two annotators get the library's kappa."""
    first, second = zip(*pairs, strict=True)
    if len({*first, *second}) == 1:
        assert cohen_kappa(first, second) is None
    else:
        theirs = float(cohen_kappa_score(first, second))
        assert cohen_kappa(first, second) == pytest.approx(theirs)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1))
def test_alpha_of_two_without_gaps_is_near_fleiss(pairs: list[tuple[int, int]]) -> None:
    """The two differ by the correction for small samples alone."""
    alpha, kappa = krippendorff_alpha(pairs), fleiss_kappa(pairs)

    if kappa is None:
        assert alpha is None
    else:
        expected = 1 - (1 - kappa) * (2 * len(pairs) - 1) / (2 * len(pairs))
        assert alpha == pytest.approx(expected)


def test_coefficients_of_nothing_are_not_defined() -> None:
    """No unit, or no variation, says nothing about agreement."""
    found = [
        cohen_kappa([], []),
        cohen_kappa(["a"], ["a"]),
        fleiss_kappa([]),
        fleiss_kappa([["a", "a"]]),
        krippendorff_alpha([]),
        krippendorff_alpha([["a", None]]),
        krippendorff_alpha([[1, 1]], level="interval"),
    ]

    assert found == [None] * 7


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cohen_kappa([1], []), "needs pairs"),
        (lambda: fleiss_kappa([[1, 2], [1]]), "same number of values"),
        (lambda: fleiss_kappa([[1]]), "2 or more"),
        (lambda: krippendorff_alpha([[1, 2]], level="ratio"), "No level 'ratio'"),
        (
            lambda: krippendorff_alpha([["a", "b"]], level="interval"),
            "no finite number",
        ),
    ],
)
def test_bad_input_is_refused(call: object, message: str) -> None:
    """One line says what is wrong."""
    with pytest.raises(InputError, match=message):
        call()  # type: ignore[operator]


FIRST = [
    {"lab": "A", "year": 1911, "tags": [{"n": "x"}, {"n": "y"}]},
    {"lab": "B", "year": 1920, "tags": [{"n": "z"}]},
    {"lab": "A", "year": 1930, "tags": []},
]
SECOND = [
    {"lab": "a ", "year": 1912, "tags": [{"n": "y"}, {"n": "x"}, {"n": "w"}]},
    {"lab": "C", "year": 1920, "tags": [{"n": "z"}]},
    {"year": 1931, "tags": []},
]


def schema() -> object:
    """Return a schema that pairs tags by content and reads labs without case."""
    raw = annotate_xeval(infer_schema(FIRST))
    raw["properties"]["tags"]["x-eval-align"] = {"match_by": "hungarian"}
    raw["properties"]["lab"]["x-eval-transform"] = ["strip", "lowercase"]
    return parse_eval_schema(raw)


def by_field(*annotators: list[dict[str, object]]) -> dict[str, object]:
    """Return the agreement of annotators by field."""
    found = annotator_agreement(
        schema(),  # type: ignore[arg-type]
        zip(*annotators, strict=True),
    )
    return {one.field: one for one in found}


def test_fields_are_compared_where_the_alignment_puts_them() -> None:
    """Swapped tags agree, an extra one does not, a transform makes labs equal."""
    found = by_field(FIRST, SECOND)

    lab, tag = found["lab"], found["tags[].n"]
    assert (lab.units, lab.agreed) == (3, pytest.approx(1 / 3))  # type: ignore[attr-defined]
    assert (tag.units, tag.agreed) == (4, 0.75)  # type: ignore[attr-defined]
    assert tag.alpha == 1.0  # type: ignore[attr-defined]
    assert 0 < tag.cohen < 1  # type: ignore[attr-defined]


def test_numbers_that_are_near_agree_at_interval_level() -> None:
    """Years that differ by one are far apart as categories only."""
    year = by_field(FIRST, SECOND)["year"]

    assert year.alpha_interval > 0.99  # type: ignore[attr-defined]
    assert year.alpha < 0.5  # type: ignore[attr-defined]
    assert by_field(FIRST, SECOND)["lab"].alpha_interval is None  # type: ignore[attr-defined]


def test_three_annotators_who_agree() -> None:
    """Every coefficient that is defined is 1, and every unit is counted once."""
    found = by_field(FIRST, FIRST, FIRST)

    assert {name: one.units for name, one in found.items()} == {  # type: ignore[attr-defined]
        "lab": 3,
        "tags[].n": 3,
        "tags": 1,
        "year": 3,
    }
    lab = found["lab"]
    assert (lab.agreed, lab.cohen, lab.fleiss, lab.alpha) == (1, 1, 1, 1)  # type: ignore[attr-defined]


def test_an_extra_of_two_annotators_is_one_unit() -> None:
    """What two of three add is something on which two agree."""
    more = [{**record, "tags": [*record["tags"], {"n": "q"}]} for record in FIRST]  # type: ignore[misc]

    tag = by_field(FIRST, more, more)["tags[].n"]

    assert (tag.units, tag.agreed) == (6, 0.5)  # type: ignore[attr-defined]
    assert tag.alpha == 1.0  # type: ignore[attr-defined]


@pytest.mark.parametrize("records", [[[{}]], [[{}, {}], [{}, {}, {}]]])
def test_annotators_must_be_the_same(records: list[list[object]]) -> None:
    """One annotator, or another number of them, cannot be compared."""
    with pytest.raises(InputError, match="two or more"):
        annotator_agreement(schema(), records)  # type: ignore[arg-type]

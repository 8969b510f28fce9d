"""Whether the text of an answer says what is right."""

from __future__ import annotations

from typing import Any

import pytest

from knowtrail.eval.specificity.judging import Answer, Question, asked_facts, says
from knowtrail.ingest.custodians import Custodian
from tests.cases import each

INSTITUTIONS = {
    "G1": Custodian(
        key="G1",
        name="Rope Archive",
        source="test",
        type="A",
        city="Gent",
        region="Oost-Vlaanderen",
        country="BE",
        isil="BE-FictRope",
        founded="1887-05",
        founded_year=1887,
        budget=1_250_000.0,
        url="https://rope.example/",
    ),
    "G2": Custodian(key="G2", name="Rope Archive of Sails", source="test", type="M"),
}


def _question(text: str, kind: str = "list", **given: Any) -> Question:
    answer = {n: given.pop(n) for n in ("ids", "value", "values") if n in given}
    plain: dict[str, Any] = {
        "id": "1",
        "language": "en",
        "question": text,
        "template": "list_institutions_by_type_city",
        "slots": {},
        "relation": None,
        "answer": Answer(kind=kind, **answer),  # type: ignore[arg-type]
    }
    return Question(**{**plain, **given})


def _lookup(text: str) -> Question:
    return _question(
        text,
        ids=frozenset({"G1"}),
        template="find_institution_by_name",
        slots={"name": "Rope Archive"},
    )


@each(
    ("text", "facts"),
    [
        ("When was the Rope Archive founded?", ("founded",)),
        ("In welk jaar is Rope Archive opgericht?", ("founded",)),
        ("What is the budget of Rope Archive?", ("budget",)),
        ("What is the address of Rope Archive?", ("city",)),
        ("Waar ligt Rope Archive?", ("city",)),
        ("Which country is Rope Archive in?", ("country",)),
        ("Wat voor instelling is Rope Archive?", ("type",)),
        ("What is the ISIL of Rope Archive?", ("isil",)),
        ("When was Rope Archive founded, and what is its website?", ("founded", "url")),
        ("Is there a Rope Archive?", ()),
    ],
)
def test_words_tell_what_is_asked(text: str, facts: tuple[str, ...]) -> None:
    """A question about one institution asks for some facts, or for all there is."""
    assert asked_facts(_lookup(text)) == facts


def test_words_of_a_name_ask_for_nothing() -> None:
    """A museum of budgets is not asked for its budget."""
    question = _question(
        "Do you know the Museum Where Budgets Age?",
        slots={"name": "Museum Where Budgets Age"},
    )

    assert asked_facts(question) == ()


@each(
    ("asked", "said", "right"),
    [
        ("When was Rope Archive founded?", "Rope Archive: founded 1887-05", True),
        ("When was Rope Archive founded?", "The Rope Archive is in Gent.", False),
        ("When was Rope Archive founded?", "It is of 1887.", False),
        ("What is the budget of Rope Archive?", "Rope Archive: 1,250,000 euro", True),
        ("What is the budget of Rope Archive?", "Rope Archive: 1.250.000 euro", True),
        ("What is the budget of Rope Archive?", "Rope Archive has 1.25 million.", True),
        ("What is the budget of Rope Archive?", "Rope Archive: 250,000 euro", False),
        ("Where is Rope Archive?", "Rope Archive\n- City: Gent", True),
        ("Where is Rope Archive?", "Rope Archive\n- Country: Belgium", False),
        ("Which country is Rope Archive in?", "Rope Archive: Belgi\u00eb", True),
        ("Which country is Rope Archive in?", "Rope Archive: France", False),
        ("What kind of institution is Rope Archive?", "Rope Archive: archive", True),
        ("What is the website of Rope Archive?", "Rope Archive: rope", False),
        (
            "What is the website of Rope Archive?",
            "Rope Archive: https://rope.example",
            True,
        ),
    ],
)
def test_a_fact_that_is_asked_for_is_told(asked: str, said: str, right: bool) -> None:
    """An institution that was found is no answer without what was asked of it."""
    assert says(_lookup(asked), said, INSTITUTIONS) is right


@each(
    ("ids", "said", "right"),
    [
        ({"G1"}, "- Rope Archive (Gent)", True),
        ({"G1"}, "- Rope Archive of Sails", False),
        ({"G1"}, "- Rope Archive\n- Rope Archive of Sails", False),
        ({"G1", "G2"}, "- Rope Archive\n- Rope Archive of Sails", True),
        ({"G1", "G9"}, "- Rope Archive", False),
        (set(), "There are no archives in Gent.", True),
        (set(), "Er zijn geen archieven in Gent.", True),
        (set(), "No idea, perhaps the Rope Archive.", False),
        (set(), "Here they are:", False),
    ],
)
def test_a_list_has_its_names_and_no_others(
    ids: set[str], said: str, right: bool
) -> None:
    """Names that are a part of longer ones are told apart."""
    question = _question("Which archives are in Gent?", ids=frozenset(ids))

    assert says(question, said, INSTITUTIONS) is right


def test_a_long_list_has_a_number() -> None:
    """Not all names are told of many, but then how many there are."""
    many = {
        f"G{n}": Custodian(key=f"G{n}", name=f"Knot {n:02d} House", source="test")
        for n in range(40)
    }
    question = _question("Which houses are there?", ids=frozenset(many))
    names = [one.name for one in many.values()][:25]

    assert says(question, "\n".join(["40 houses:", *names]), many)
    assert not says(question, "\n".join(["Houses:", *names]), many)
    assert not says(question, "\n".join(["40 houses:", *names[:9]]), many)


@each(
    ("value", "said", "right"),
    [
        (3, "There are 3 archives founded before 1900.", True),
        (3, "There are three archives.", True),
        (3, "There are 13 archives.", False),
        (3, "There are 3 or 4 archives.", False),
        (0, "There are 0 archives.", True),
        (0, "Er zijn geen archieven.", True),
        (0, "There are archives.", False),
        (3, "There are archives.", False),
        (1200, "There are 1,200 archives.", True),
    ],
)
def test_a_count_is_said(value: int, said: str, right: bool) -> None:
    """The number stands in the answer, and no other that was not in the question."""
    question = _question("How many before 1900?", "count", value=value)

    assert says(question, said, INSTITUTIONS) is right


@pytest.mark.parametrize(
    ("values", "said", "right"),
    [
        ({"BE": 2, "AT": 0}, "- Belgium: 2 museums\n- Austria: 0 museums", True),
        ({"BE": 2, "AT": 0}, "- Belgium: 0 museums\n- Austria: 2 museums", False),
        ({"BE": 2, "AT": 0}, "- Belgium: 2 museums", False),
        ({"Gent": 2}, "- Gent: 2 museums\nGent has the most.", True),
    ],
)
def test_a_comparison_has_each_number_by_its_place(
    values: dict[str, int], said: str, right: bool
) -> None:
    """Codes of countries are said as names."""
    question = _question("Which has more?", "comparison", values=values)

    assert says(question, said, INSTITUTIONS) is right


def test_a_breakdown_has_each_number_by_its_type() -> None:
    """Letters of types are said as words."""
    question = _question("Per type?", "breakdown", values={"M": 2, "A": 1})

    assert says(question, "- museums: 2\n- archives: 1", INSTITUTIONS)
    assert not says(question, "- museums: 1\n- archives: 2", INSTITUTIONS)

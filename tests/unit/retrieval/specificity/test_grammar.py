"""The grammar of negation and comparison: the answer changes as the meaning does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowtrail.eval.specificity.judging import (
    custodians_of,
    institutions_of,
    memory_pipeline,
)
from knowtrail.retrieval.specificity.institutions import KILOMETRES, asked_distance
from knowtrail.retrieval.specificity.quantities import (
    AMOUNTS,
    DATES,
    OPPOSITE,
    amounts,
    asked_order,
    years,
)

if TYPE_CHECKING:
    from knowtrail.ingest.custodians import Custodian
    from knowtrail.retrieval.specificity.mention import MentionFinder

CUSTODIANS = custodians_of(institutions_of("fresh"))
PIPELINE = memory_pipeline(CUSTODIANS)
COUNTRIES = {
    "NL": ("the Netherlands", "Nederland"),
    "GB": ("the United Kingdom", "het Verenigd Koninkrijk"),
    "DE": ("Germany", "Duitsland"),
}
TYPES = {"M": ("museums", "musea"), "A": ("archives", "archieven")}
OPERATORS = {
    "lt": ("before", "voor"),
    "gt": ("after", "na"),
    "ge": ("since", "sinds"),
}


def _names(question: str) -> set[str]:
    """Return the institutions of an answer that leaves nothing out."""
    result = PIPELINE.forward(question, strict=True)
    assert result.status == "answered", (question, result.answer)
    return {str(name) for name in result.execution.column("name")}


def _of(letter: str, country: str) -> list[Custodian]:
    """Return the institutions of a type in a country."""
    return [c for c in CUSTODIANS if (c.type, c.country) == (letter, country)]


SOME = st.tuples(
    st.sampled_from(sorted(TYPES)), st.sampled_from(sorted(COUNTRIES)), st.booleans()
)


@given(some=SOME, data=st.data())
def test_a_place_and_all_but_it_are_the_whole(
    some: tuple[str, str, bool], data: st.DataObject
) -> None:
    """What is in a town and what is not in it share nothing and leave nothing out."""
    letter, country, dutch = some
    known = _of(letter, country)
    city = data.draw(st.sampled_from(sorted({str(c.city) for c in known})))
    what, where = TYPES[letter][dutch], COUNTRIES[country][dutch]
    if dutch:
        negated = f"Welke {what} in {where} zijn niet in {city}?"
    else:
        negated = f"Which {what} in {where} are not in {city}?"

    left = _names(negated)

    assert left == {c.name for c in known if c.city != city}


@given(
    some=SOME,
    operator=st.sampled_from(sorted(OPERATORS)),
    year=st.integers(min_value=1830, max_value=1990),
)
def test_a_negated_bound_is_the_opposite_one(
    some: tuple[str, str, bool], operator: str, year: int
) -> None:
    """Founded before and not before a year: every founding date is in one of them."""
    letter, country, dutch = some
    what, where = TYPES[letter][dutch], COUNTRIES[country][dutch]
    word = OPERATORS[operator][dutch]
    if dutch:
        plain = f"{what} in {where} die {word} {year} zijn opgericht"
        negated = f"{what} in {where} die niet {word} {year} zijn opgericht"
    else:
        plain = f"{what} in {where} founded {word} {year}"
        negated = f"{what} in {where} not founded {word} {year}"

    one, other = _names(plain), _names(negated)

    dated = {c.name for c in _of(letter, country) if c.founded_year is not None}
    assert (one | other, one & other) == (dated, set())


@given(some=SOME, century=st.sampled_from([19, 20]))
def test_a_negated_century_is_all_the_others(
    some: tuple[str, str, bool], century: int
) -> None:
    """Whether it is written in words or in digits."""
    letter, country, dutch = some
    what, where = TYPES[letter][dutch], COUNTRIES[country][dutch]
    said = {19: ("nineteenth", "negentiende"), 20: ("twentieth", "twintigste")}
    if dutch:
        texts = [
            f"{what} in {where} niet uit de {n} eeuw"
            for n in (said[century][1], f"{century}e")
        ]
    else:
        texts = [
            f"{what} in {where} not from the {n} century"
            for n in (said[century][0], f"{century}th")
        ]

    wanted = {
        c.name
        for c in _of(letter, country)
        if c.founded_year is not None and (c.founded_year + 99) // 100 != century
    }
    assert [_names(text) for text in texts] == [wanted, wanted]


@given(data=st.data(), dutch=st.booleans())
def test_two_institutions_in_either_order_are_one_comparison(
    data: st.DataObject, dutch: bool
) -> None:
    """Older and newer are opposites; which name comes first makes no difference."""
    single = [c for c in CUSTODIANS if [k.name for k in CUSTODIANS].count(c.name) == 1]
    dated = [c for c in single if c.founded_year is not None]
    one, other = data.draw(st.lists(st.sampled_from(dated), min_size=2, max_size=2))
    if one.founded_year == other.founded_year:
        return
    older, newer = ("ouder", "nieuwer") if dutch else ("older", "newer")
    which, either = ("Wat is", "of") if dutch else ("Which is", "or")

    def first(word: str, a: str, b: str) -> str:
        result = PIPELINE.forward(f"{which} {word}, {a} {either} {b}?", strict=True)
        return str(result.execution.column("name")[0])

    early, late = sorted((one, other), key=lambda c: c.founded_year or 0)
    assert first(older, one.name, other.name) == early.name
    assert first(older, other.name, one.name) == early.name
    assert first(newer, one.name, other.name) == late.name


@pytest.mark.parametrize("dutch", [False, True])
def test_ranks_are_the_order_one_by_one(dutch: bool) -> None:
    """The oldest, the second and the third oldest are the three oldest."""
    ranks = ("", "op een na ", "op twee na ") if dutch else ("", "second ", "third ")
    whole = (
        "de drie oudste musea in Duitsland"
        if dutch
        else "the three oldest museums in Germany"
    )
    word = (
        "Wat is het {}oudste museum in Duitsland?"
        if dutch
        else "What is the {}oldest museum in Germany?"
    )

    single = [name for rank in ranks for name in _names(word.format(rank))]

    assert len(single) == 3
    assert set(single) == _names(whole)


@given(operator=st.sampled_from(["lt", "gt", "le", "ge"]), year=st.integers(1500, 2020))
def test_a_negator_turns_an_operator_around(operator: str, year: int) -> None:
    """The same table serves dates and amounts."""
    words = {"lt": "less than", "gt": "more than", "le": "at most", "ge": "at least"}
    dates = {"lt": "before", "gt": "after", "le": "until", "ge": "since"}
    (plain,) = amounts(f"a budget of {words[operator]} {year}000 euro")
    (negated,) = amounts(f"a budget of not {words[operator]} {year}000 euro")
    (date,) = years(f"founded {dates[operator]} {year}")
    (undated,) = years(f"not founded {dates[operator]} {year}")

    assert plain.relation == AMOUNTS[operator]
    assert negated.relation == AMOUNTS[OPPOSITE[operator]]
    assert date.relation == DATES[operator]
    assert undated.relation == DATES[OPPOSITE[operator]]


@pytest.mark.parametrize(
    ("question", "by", "limit", "skip"),
    [
        ("the second oldest museum", "oldest", 1, 1),
        ("op drie na oudste archief", "oldest", 1, 3),
        ("top 5 oldest institutions", "oldest", 5, 0),
        ("the 3 museums with the smallest budgets", "poorest", 3, 0),
        ("Welk museum heeft het grootste budget?", "richest", 1, 0),
        ("de twee jongste archieven", "newest", 2, 0),
    ],
)
def test_orders_are_read(question: str, by: str, limit: int, skip: int) -> None:
    """Which come first, how many, and how many before them."""
    found = asked_order(question)

    assert found is not None
    assert (found.by, found.limit, found.skip) == (by, limit, skip)


@pytest.mark.parametrize(
    "question",
    [
        "How many libraries does Reading have?",
        "Hoeveel bibliotheken telt Reading?",
        "reading libraries, how many?",
    ],
)
def test_a_town_that_is_a_word_is_a_town(question: str) -> None:
    """The gazetteer decides, and no list of words."""
    result = PIPELINE.forward(question, strict=True)

    assert result.slots.values["city"] == "Reading"
    assert "2 " in result.answer


def test_the_region_says_which_town_of_a_name_is_meant() -> None:
    """Without it all are taken, and that is told."""
    one = PIPELINE.forward("Which museums are in Newport, Shropshire?", strict=True)
    each = PIPELINE.forward("Which museums are in Newport?")

    assert one.names == ("Museum of Borrowed Gates",)
    assert not any("more than one" in note for note in one.notes)
    assert len(each.names) == 3
    assert any("Isle of Wight" in note for note in each.notes)


def test_budgets_are_added_up_and_their_mean_is_taken() -> None:
    """Of the institutions that have one."""
    spent = [float(c.budget) for c in _of("M", "DE") if c.budget is not None]

    total = PIPELINE.forward("total budget of the museums in Germany", strict=True)
    mean = PIPELINE.forward("Wat is het gemiddelde budget van musea in Duitsland?")

    assert f"{sum(spent):,.0f} euro" in total.answer
    assert f"{sum(spent) / len(spent):,.0f}".replace(",", ".") in mean.answer


FOLLOW_UPS = [
    ("and the second oldest?", {"Amsterdams Bureau voor Zoekgeraakte Brieven"}),
    (
        "when was the first one founded?",
        {"Amsterdams Bureau voor Zoekgeraakte Brieven"},
    ),
    ("which of those are from before 1900?", {"Archief van Vergeten Regendagen"}),
    ("list everything there", {c.name for c in CUSTODIANS if c.city == "Amsterdam"}),
    (
        "and in the Netherlands, but not in Amsterdam?",
        {c.name for c in _of("A", "NL") if c.city != "Amsterdam"},
    ),
]


@pytest.mark.parametrize(("question", "names"), FOLLOW_UPS)
def test_follow_ups_keep_what_they_do_not_change(
    question: str, names: set[str]
) -> None:
    """And drop nothing that they say."""
    said = PIPELINE.forward("Which archives are in Amsterdam?").conversation

    result = PIPELINE.forward(question, conversation=said, strict=True)

    assert set(result.names) == names


def test_what_a_follow_up_says_beside_is_told() -> None:
    """A word that its whole question does not say is left out of the answer."""
    said = PIPELINE.forward("Which archives are in Amsterdam?").conversation

    result = PIPELINE.forward("and free museums?", conversation=said)

    assert "free" in result.left_out


def test_a_distance_is_read_before_a_town(finder: MentionFinder) -> None:
    """With its unit, in words too; ten kilometres where none is said."""
    cases = {
        "archives within 10 km of Utrecht": ("archives in Utrecht", 10.0),
        "musea binnen een straal van 2,5 kilometer rond Utrecht": (
            "musea in Utrecht",
            2.5,
        ),
        "museums within five miles of the city of Utrecht": (
            "museums in Utrecht",
            5 * 1.609344,
        ),
        "Welke musea zijn er in de buurt van Utrecht?": (
            "Welke musea zijn er in Utrecht?",
            KILOMETRES,
        ),
        "museums not far from Utrecht": ("museums in Utrecht", KILOMETRES),
        "musea binnen 1.000 meter van Utrecht": ("musea in Utrecht", 1.0),
        "museums within 1,000 km of Utrecht": ("museums in Utrecht", 1000.0),
        "museums not near Utrecht": None,
        "museums founded around 1900 in Utrecht": None,
        "museums near the canal": None,
    }

    found = {q: asked_distance(q, finder.find(q)) for q in cases}

    assert {q: one and one[:2] for q, one in found.items()} == cases

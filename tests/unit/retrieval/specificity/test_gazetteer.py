"""Names of unclean lists: what is a name, what is not, what is told apart."""

from __future__ import annotations

from cProfile import Profile
from pstats import Stats

import pytest

from knowtrail.retrieval.specificity.gazetteer import build_gazetteer, place_name
from knowtrail.retrieval.specificity.mention import MentionFinder


def test_a_region_called_museums_is_none() -> None:
    """A slip of a list must not take a word for a type away."""
    rows = [{"name": "X", "region": "Museums", "country": "GB", "city": "Library"}]
    finder = MentionFinder(build_gazetteer(rows))

    found = {(m.kind, m.value) for m in finder.find("Museums or a library?")}

    assert found == {("institution_type", "M"), ("institution_type", "L")}


def test_places_that_say_less_are_not_told_apart() -> None:
    """A town with and without its region is one town."""
    rows = [
        {"city": "Bath", "country": "GB"},
        {"city": "Bath", "region": "South West", "country": "GB"},
        {"city": "Bath", "country": "US"},
    ]

    (entry,) = build_gazetteer(rows).entries["bath"]

    assert entry.about == "South West, GB; US"


def test_part_of_a_name_is_every_institution_that_has_it() -> None:
    """`the Tate` may be several; all are told."""
    rows = [{"name": "Tate Modern"}, {"name": "Tate Britain"}, {"name": "Other"}]
    finder = MentionFinder(build_gazetteer(rows))

    (found,) = finder.find("Tell me about the Tate")

    assert (found.kind, found.value, found.text) == ("name", "", "Tate")
    assert sorted(o.value for o in found.options) == ["Tate Britain", "Tate Modern"]


@pytest.mark.parametrize(
    ("code", "language", "name"),
    [
        ("NL", "nl", "Nederland"),
        ("NL-NH", "en", "Noord-Holland"),
        ("DE-BY", "nl", "Beieren"),
        ("QQ", "en", "QQ"),
        ("Utrecht", "nl", "Utrecht"),
    ],
)
def test_codes_are_shown_as_names(code: str, language: str, name: str) -> None:
    """What is no code stays as it is."""
    assert place_name(code, language) == name


def test_a_region_whose_country_is_missing_in_some_rows_is_found() -> None:
    """Rows that say less about a region are still rows of that region."""
    rows = [
        {"city": "Cardiff", "region": "Wales", "country": "GB"},
        {"city": "Bangor", "region": "Wales"},
    ]

    found = build_gazetteer(rows).entries["wales"]

    assert [(e.kind, e.value, e.about) for e in found if e.known] == [
        ("region", "Wales", "GB")
    ]
    assert place_name("GB-WLS", "en") == "Wales"


def test_rows_of_places_say_what_rows_of_custodians_do() -> None:
    """Names that several have, identifiers and counts come out the same."""
    place = {"city": "Bath", "country": "GB"}
    rows = [
        {**place, "name": "The Tate", "isil": "GB-1", "ghcid": "GB-BTH-M-T"},
        {**place, "name": "Tate", "isil": "gb-1", "ghcid": None},
        {**place, "name": None},
        {"name": "Tate"},
    ]
    identifiers = ["GB-1", "gb-1", "GB-BTH-M-T"]
    grouped = [
        {**place, "rows": 3, "names": ["Tate", "The Tate"], "identifiers": identifiers},
        {"rows": 1, "names": ["Tate"], "identifiers": []},
    ]

    found = build_gazetteer(grouped)

    assert found == build_gazetteer(rows)
    assert found.identifiers["gb-1"] == "GB-1"
    assert len(found.entries["tate"]) == 3
    assert found.regionless == {"GB": 3}


def test_a_name_costs_few_calls() -> None:
    """A gazetteer of 100,000 names is made by every process that asks."""
    few, many = (_calls([f"Museum of House {n}" for n in range(m)]) for m in (10, 510))

    assert (many - few) / 500 < 30


def _calls(names: list[str]) -> int:
    build_gazetteer([])  # what is read once
    with Profile() as profile:
        build_gazetteer([{"city": "Bath", "names": names, "identifiers": names}])
    return Stats(profile).total_calls  # type: ignore[attr-defined, no-any-return]

"""What title and address suggest, rule by rule."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowtrail.ingest.custodians.guessing import (
    Towns,
    guess_city,
    guess_country,
    guess_type,
)
from tests.cases import each

if TYPE_CHECKING:
    from pathlib import Path


@each(
    ("title", "letter", "rule"),
    [
        ("Peebles Library", "L", "title-word"),
        ("Leics. Library Services", "L", "title-word"),
        ("Oban War and Peace Museum", "M", "title-word"),
        ("Fife Archives", "A", "title-word"),
        ("Cumbria Record Office", "A", "title-word"),
        ("Whitworth Art Gallery", "G", "title-word"),
        ("Chelsea Zoo", "B", "title-word"),
        ("Nuneaton Museum And Art Gallery", "M", "title-two-kinds"),
        ("University of Exeter Library", "L", "title-word"),
        ("Museum of Bricks Library", "L", "title-last-word"),
        ("Ripon Cathedral School", "E", "title-last-word"),
    ],
)
def test_type_by_title(title: str, letter: str, rule: str) -> None:
    """Words of the title tell the type, the last of strong ones where several do."""
    found = guess_type(title, None)

    assert found is not None
    assert (found.value, found.rule) == (letter, rule)


def test_type_by_website_is_less_certain() -> None:
    """A word in the address of the website counts only where the title says nothing."""
    found = guess_type("Thinktank", "http://x.example/museum/index.htm")
    stated = guess_type("Thinktank Museum", None)

    assert found is not None
    assert stated is not None
    assert (found.value, found.rule) == ("M", "website-word")
    assert found.confidence < stated.confidence


@pytest.mark.parametrize("title", ["Axis", "Bedes World", "Librarian's Rest", "EQ"])
def test_type_is_left_open_without_a_word(title: str) -> None:
    """Nothing is guessed where no rule holds."""
    assert guess_type(title, "http://x.example/") is None


@each(
    ("address", "city", "rule"),
    [
        ("The Square,Carshalton,Surrey,SM5 3BN,England", "Carshalton", "before-county"),
        ("Ridge Avenue,London,Greater London,N21 2RH", "London", "before-county"),
        ("Harpur Street,Bedford,Bedfordshire,MK40 1PG", "Bedford", "before-county"),
        (
            "Church Road,Worcester Park,Surrey,KT4 7RD",
            "Worcester Park",
            "before-county",
        ),
        ("20 Marine Road,Stockton-on-Tees,TS18 3RH", "Stockton-on-Tees", "last-part"),
        ("Town Hall,NEWCASTLE UPON TYNE,NE1 1AA", "Newcastle upon Tyne", "last-part"),
        ("Coniston,LA21 8AD", "Coniston", "only-part"),
        ("The Hall,Dundee,PO Box 27,DD1 1AA,Scotland", "Dundee", "last-part"),
    ],
)
def test_city_by_the_shape_of_the_address(address: str, city: str, rule: str) -> None:
    """County, postcode and country are taken off; the town is what is last."""
    found = guess_city(address, None)

    assert found is not None
    assert (found.value, found.rule) == (city, rule)


def test_city_that_another_address_has() -> None:
    """An address without commas ends with a town that a clear one names."""
    towns = Towns()
    towns.learn("1 High Street,Stratford-upon-Avon,Warwickshire,CV37 6EP,England")

    found = guess_city("Chapel Street Stratford-upon-Avon,CV37 6EP", towns)

    assert found is not None
    assert (found.value, found.rule) == ("Stratford-upon-Avon", "known-town")


@pytest.mark.parametrize(
    ("address", "city"),
    [
        ("1 Weir Lane Dunmoor,Dunmoor Barracks,DM1 1AA", "Dunmoor"),
        ("Mill Buildings, Upper Sallow,nr. the mill,XX( 1TP", "Upper Sallow"),
        ("5 Long Street Dunmoor East Sallowshire,DM1 1AA", "Dunmoor"),
    ],
)
def test_city_is_the_longest_that_any_part_ends_with(address: str, city: str) -> None:
    """A later part goes before an earlier one, and a longer name before a shorter."""
    towns = Towns()
    for known in ("Dunmoor", "Sallow", "Upper Sallow"):
        towns.learn(f"1 High Street,{known},Suffolk,DM1 1AA")

    found = guess_city(address, towns)

    assert found is not None
    assert (found.value, found.rule) == (city, "known-town")


def test_city_by_the_district_of_the_postcode() -> None:
    """Where four of five clear addresses of a district are in a town, the rest is."""
    towns = Towns()
    for number, town in enumerate(["Dunmoor", "Dunmoor", "Dunmoor", "Dunmoor", "Wick"]):
        towns.learn(f"1 High Street,{town},Suffolk", f"DM1 {number}AA")
        towns.learn(f"1 High Street,{town}{number},Suffolk", f"DM2 {number}AA")

    found = [
        guess_city("The Lock House,12 Canal Road", towns, code)
        for code in ("DM1 9ZZ", "DM2 9ZZ", "DM3 9ZZ", "DM1")
    ]

    assert [one and (one.value, one.rule) for one in found] == [
        ("Dunmoor", "postcode-town"), None, None, None
    ]  # fmt: skip


@pytest.mark.parametrize(
    "address",
    [
        "",
        ",,",
        "SW1A 1AA",
        "12 High Street",
        "Flat 3,Acacia Avenue,SW1A 1AA",
        "Packwood House Lapworth,B94 6AT",
        "Surrey,England",
    ],
)
def test_city_is_left_open_without_a_town(address: str) -> None:
    """Streets, houses, counties and numbers are no towns."""
    assert guess_city(address, Towns()) is None


@pytest.mark.parametrize(
    ("address", "postcode", "code"),
    [
        ("1 Road,Leeds,England", None, "GB"),
        ("1 Road,Douglas,Isle of Man", None, "IM"),
        ("1 Road,Leeds", "LS1 1AA", "GB"),
        ("Bay Road,JE3 6DR", None, "JE"),
        ("Rocquaine Bay,GY7 9BY", None, "GG"),
    ],
)
def test_country_by_name_or_postcode(
    address: str, postcode: str | None, code: str
) -> None:
    """The name at the end goes before the area of the postcode."""
    found = guess_country(address, postcode)

    assert found is not None
    assert found.value == code


def test_country_is_left_open_without_either() -> None:
    """An address of no country that is known has none."""
    assert guess_country("Rue du Lac,Lausanne", "1003") is None


@given(st.text(max_size=200))
def test_any_address_gives_a_town_of_it_or_none(address: str) -> None:
    """A guess is made of the letters of the address, with a stated rule."""
    towns = Towns()
    towns.learn(address)

    found = guess_city(address, towns)

    assert found is None or (
        0 < found.confidence < 1
        and (
            found.value == "London"
            or found.value.casefold() in " ".join(address.split()).casefold()
        )
    )


def test_guesses_of_the_real_list_hold(shared: Path) -> None:
    """Most rows of the unclean list get a type and a town; none is a street."""
    path = shared / "data" / "heritage" / "uk_institutions.csv"
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    towns = Towns()
    for row in rows:
        towns.learn(row["institution_address"])

    types = [guess_type(row["title"], row["website"]) for row in rows]
    cities = [guess_city(row["institution_address"], towns) for row in rows]

    assert len(rows) == 7668
    assert sum(found is not None for found in types) > 0.9 * len(rows)
    assert sum(found is not None for found in cities) > 0.9 * len(rows)
    assert [
        c.value for c in cities if c and re.search(r"(?<! le) Street$|shire$", c.value)
    ] == []


@each(
    ("address", "city", "rule"),
    [
        ("Palace Green,Durham,County Durham,DH1 3RN", "Durham", "county-town"),
        ("Palace Green,Durham,Durham", "Durham", "county-town"),
        ("County Hall,Durham,DH1 5UL", "Durham", "county-town"),
        ("Barnard Castle,Durham,DL12 8NP", "Barnard Castle", "before-county"),
        ("Church Clare,Chester le Street,Durham", "Chester le Street", "before-county"),
        ("5-7 Hawkhill Place,Dundee,DD1 4HN,Scotland, UK", "Dundee", "last-part"),
        ("1 Road,London,England,U.K.", "London", "last-part"),
        ("Main St,Dublin,Ireland", "Dublin", "last-part"),
        ("1 Rue X,Paris,France", "Paris", "last-part"),
        ("1 Road,Leeds UK", "Leeds", "last-part"),
        ("Candie,St Peter Port,GY1 1UG,Channel Islands", "St Peter Port", "last-part"),
    ],
)
def test_a_country_is_no_town_and_a_county_may_be(
    address: str, city: str, rule: str
) -> None:
    """All countries at the end are taken off; Durham is a town where none precedes."""
    found = guess_city(address, None)

    assert found is not None
    assert (found.value, found.rule) == (city, rule)


@pytest.mark.parametrize(
    "address", ["France", "Scotland, UK", "1 Road,Ireland", "Hall,City of", "Hall,Lo"]
)
def test_what_is_no_name_of_a_town_is_not_taken_for_one(address: str) -> None:
    """Neither a country alone nor half a name is a town."""
    assert guess_city(address, Towns()) is None


@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("Candie,St Peter Port,Guernsey,GY1 1UG,Channel Islands", "GG"),
        ("Main St,Dublin,Ireland", "IE"),
        ("1 Rue X,Paris,France", None),
    ],
)
def test_country_before_its_isles(address: str, code: str | None) -> None:
    """The isles are no country; one that is not British is not told."""
    found = guess_country(address, None)

    assert (found and found.value) == code

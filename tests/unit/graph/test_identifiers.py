"""ISIL and GHCID: well-formed ones in parts, others refused."""

from __future__ import annotations

import pytest

from knowtrail.graph.errors import InputError
from knowtrail.graph.identifiers import (
    TYPE_LETTERS,
    country_exists,
    parse_ghcid,
    parse_isil,
)
from tests.cases import each


def test_ghcid_is_taken_apart() -> None:
    """Country and subdivision are ISO 3166 codes of the identifier's first parts."""
    found = parse_ghcid(" NL-NH-AMS-M-RM ")

    assert found.text == "NL-NH-AMS-M-RM"
    assert (found.country, found.subregion) == ("NL", "NL-NH")
    assert (found.city, found.type, found.abbreviation) == ("AMS", "M", "RM")


@each("letter", TYPE_LETTERS)
def test_every_type_letter_is_accepted(letter: str) -> None:
    """Each of the nineteen letters can stand in a GHCID."""
    assert parse_ghcid(f"AT-9-WIE-{letter}-X1").type == letter


@each(
    "text",
    [
        "",
        "NL-NH-AMS-M",
        "NL-NH-AMS-M-RM-X",
        "nl-nh-ams-m-rm",
        "NL-NH-AMSTER-M-RM",
        "NL-NH-AMS-Z-RM",
        "NL-NH-AMS-M-",
        "NL_NH_AMS_M_RM",
        "NL-NH-AMS-M-R M",
        "NL-NH-AMS-M-RM\n' OR 1=1",
        "N\u0130-NH-AMS-M-RM",
    ],
)
def test_malformed_ghcid_is_refused(text: str) -> None:
    """What has not the five parts of their forms is no GHCID."""
    with pytest.raises(InputError, match="no GHCID"):
        parse_ghcid(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("XX-NH-AMS-M-RM", "XX is no country"),
        ("NL-ZZ-AMS-M-RM", "NL-ZZ is no subdivision"),
    ],
)
def test_ghcid_of_no_place_is_refused(text: str, reason: str) -> None:
    """Codes that ISO 3166 does not have are refused, not taken as they are."""
    with pytest.raises(InputError, match=reason):
        parse_ghcid(text)


@pytest.mark.parametrize(
    "text", ["NL-AsdSAA", "DE-1", "OCLC-DLC", "O-Abc", "GB-UkOxU:1/2-3", "IT-RM0267"]
)
def test_isil_is_returned_as_written(text: str) -> None:
    """A well-formed ISIL keeps its letters as they are."""
    assert parse_isil(f" {text} ") == text


@each(
    "text", ["", "NL", "NL-", "NL-twelveletter", "nl-abc", "NL-ab c", "12-abc", "NL-é"]
)
def test_malformed_isil_is_refused(text: str) -> None:
    """Prefix, hyphen and at most eleven allowed characters are demanded."""
    with pytest.raises(InputError, match="no ISIL"):
        parse_isil(text)


def test_countries_are_those_of_iso() -> None:
    """Only upper-case codes of ISO 3166-1 exist."""
    assert (country_exists("NL"), country_exists("nl"), country_exists("EU")) == (
        True,
        False,
        False,
    )

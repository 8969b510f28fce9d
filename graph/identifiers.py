"""Identifiers of heritage institutions: ISIL (ISO 15511) and GHCID.

A GHCID has five parts, such as `NL-NH-AMS-M-RM`: country (ISO 3166-1), subdivision
(ISO 3166-2 without the country), three letters for the city, the letter of the type,
and an abbreviation of the name. What is not of that form is refused, never mended.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from knowtrail.graph.errors import InputError

TYPE_LETTERS = "GLAMORCUBESFIXPHDNT"
"""One letter for each type of institution."""

_GHCID = re.compile(
    rf"([A-Z]{{2}})-([A-Z0-9]{{1,3}})-([A-Z0-9]{{3}})-([{TYPE_LETTERS}])-([A-Z0-9]{{1,16}})"
)
_ISIL = re.compile(r"([A-Z]{2}|[A-Z]|[A-Z]{3,4})-[A-Za-z0-9/:-]{1,11}")


@dataclass(frozen=True, slots=True)
class Ghcid:
    """A well-formed GHCID (`text`) in its parts, such as `NL`, `NL-NH` and `AMS`.

    The abbreviation is what tells it from others of that city and type.
    """

    text: str
    country: str
    subregion: str
    city: str
    type: str
    abbreviation: str


def parse_ghcid(text: str) -> Ghcid:
    """Return the parts of a GHCID; `InputError` where ISO 3166 lacks its place."""
    found = _GHCID.fullmatch(text.strip())
    if found is None:
        msg = f"{text[:60]!r} is no GHCID: write one such as NL-NH-AMS-M-RM."
        raise InputError(msg)
    import pycountry

    country, subdivision, city, letter, abbreviation = found.groups()
    subregion = f"{country}-{subdivision}"
    if pycountry.countries.get(alpha_2=country) is None:
        msg = f"GHCID {text[:60]!r}: {country} is no country of ISO 3166-1: correct it."
        raise InputError(msg)
    if pycountry.subdivisions.get(code=subregion) is None:
        raise InputError(
            f"GHCID {text[:60]!r}: {subregion} is no subdivision of ISO 3166-2: "
            "correct it."
        )
    return Ghcid(found[0], country, subregion, city, letter, abbreviation)


def parse_isil(text: str) -> str:
    """Return an ISIL without white space around it; `InputError` if it is none."""
    found = _ISIL.fullmatch(text.strip())
    if found is None:
        raise InputError(
            f"{text[:60]!r} is no ISIL: a prefix such as NL, a hyphen, and at most 11 "
            "letters, digits, slashes, colons or hyphens."
        )
    return found[0]


def country_exists(code: str) -> bool:
    """Return whether a code is one of ISO 3166-1."""
    import pycountry

    found = pycountry.countries.get(alpha_2=code)
    return found is not None and bool(found.alpha_2 == code)

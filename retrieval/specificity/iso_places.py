"""Names of countries and their parts by ISO 3166, in English and Dutch."""

from __future__ import annotations

import gettext
import re
from functools import lru_cache
from typing import TYPE_CHECKING

import pycountry

from retrieval.specificity.words import data_file, normal

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "country_names",
    "parts_among",
    "place_name",
    "subdivision_names",
    "subdivisions_of",
]


@lru_cache(maxsize=1)
def country_names() -> tuple[tuple[str, str], ...]:
    """Return names of countries in English and Dutch with their ISO 3166-1 codes."""
    dutch = gettext.translation("iso3166-1", pycountry.LOCALES_DIR, languages=["nl"])
    names: list[tuple[str, str]] = []
    for country in pycountry.countries:
        own = [country.name]
        own += [getattr(country, a, "") for a in ("common_name", "official_name")]
        for name in [n for n in own if n]:
            names += [(name, country.alpha_2), (dutch.gettext(name), country.alpha_2)]
        if "," in country.name:
            last, _, first = country.name.partition(", ")
            names.append((f"{first} {last}", country.alpha_2))
    for code, others in data_file("places.yaml")["countries"].items():
        names += [(name, code) for name in others]
    return tuple(dict.fromkeys(names))


@lru_cache(maxsize=1024)
def place_name(text: str, language: str) -> str:
    """Return the name of a country or region by its ISO 3166 code.

    Args:
        text: A code; any other text is returned as it is.
        language: `en` or `nl`.
    """
    if re.fullmatch(r"[A-Z]{2}", text):
        found, domain = pycountry.countries.get(alpha_2=text), "iso3166-1"
    elif re.fullmatch(r"[A-Z]{2}-[A-Z0-9]{1,3}", text):
        found, domain = pycountry.subdivisions.get(code=text), "iso3166-2"
    else:
        return text
    if found is None:
        return text
    name = str(getattr(found, "common_name", found.name))
    if language == "nl":
        dutch = gettext.translation(domain, pycountry.LOCALES_DIR, languages=["nl"])
        name = str(dutch.gettext(name))
    last, _, first = name.partition(" [")[0].partition(", ")
    return f"{first} {last}".strip()


@lru_cache(maxsize=8)
def subdivisions_of(countries: frozenset[str]) -> tuple[tuple[str, str], ...]:
    """Return names and ISO 3166-2 codes of the parts of countries."""
    found = []
    for country in sorted(countries):
        for part in pycountry.subdivisions.get(country_code=country) or ():
            found += [(name, part.code) for name in subdivision_names(part.code)]
    by_name = {normal(name): code for name, code in found}
    for same in data_file("places.yaml")["regions"]:
        codes = {by_name[normal(n)] for n in same if normal(n) in by_name}
        if len(codes) == 1:
            found += [(name, next(iter(codes))) for name in same]
    return tuple(dict.fromkeys(found))


def parts_among(codes: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return regions in which others lie, by ISO 3166-2, with those that are given."""
    subdivisions = pycountry.subdivisions
    found: dict[str, set[str]] = {}
    given = set(codes)
    for code in given:
        part = subdivisions.get(code=code)
        while part is not None and part.parent_code:
            found.setdefault(part.parent_code, set()).add(code)
            part = subdivisions.get(code=part.parent_code)
    return {
        whole: tuple(sorted(found[whole] | ({whole} & given)))
        for whole in sorted(found)
    }


def subdivision_names(code: str) -> list[str]:
    """Return the names of an ISO 3166-2 code, in its own language and in Dutch."""
    found = pycountry.subdivisions.get(code=code)
    if found is None:
        return []
    dutch = gettext.translation("iso3166-2", pycountry.LOCALES_DIR, languages=["nl"])
    names = {found.name, dutch.gettext(found.name)}
    names |= {part.strip() for name in names for part in name.split("[")[0].split("/")}
    return sorted(names)

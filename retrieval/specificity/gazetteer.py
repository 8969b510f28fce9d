"""Names of places, institutions and identifiers that the graph has.

A gazetteer holds every distinct name, so it grows with the custodians: about 1 kB each.
"""

from __future__ import annotations

import gettext
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from graph.errors import MissingExtraError
from retrieval.specificity.words import data_file, normal, type_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rdflib import Graph

    from graph.connection import Connection

__all__ = [
    "Entry",
    "Gazetteer",
    "build_gazetteer",
    "gazetteer_of_graph",
    "place_name",
    "read_gazetteer",
]

KINDS = ("city", "region", "country", "name")
"""In the order in which a word that can be several is taken."""

_ARTICLES = frozenset({"the", "de", "het", "a", "an", "een", "of", "van", "and", "en"})


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Entry:
    """What a name can stand for.

    Attributes:
        kind: `city`, `region`, `country` or `name`.
        value: What the graph has: a name, or the ISO 3166 code of a country or region.
        about: Where it is, to tell it from others; empty if unknown.
        known: Whether the graph has it.
    """

    kind: str
    value: str
    about: str = ""
    known: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Gazetteer:
    """Names by their normal form.

    Attributes:
        entries: Normal form of a name -> what it can stand for.
        identifiers: ISIL and GHCID in lower case -> as the graph has them.
        regions: ISO 3166-2 codes in lower case -> as the graph has them.
        longest: Words of the longest name.
        names: Normal forms by kind, for names with typing errors.
        parts: ISO 3166-2 code of a region -> codes that the graph has of what lies
            in it, its own among them.
        uncoded: ISO 3166-1 code of a country -> names of regions without a code.
        regionless: ISO 3166-1 code of a country -> how many have no region at all.
    """

    entries: Mapping[str, tuple[Entry, ...]]
    identifiers: Mapping[str, str] = field(default_factory=dict)
    regions: Mapping[str, str] = field(default_factory=dict)
    longest: int = 1
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    uncoded: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    regionless: Mapping[str, int] = field(default_factory=dict)


def read_gazetteer(connection: Connection, corpus: str | None = None) -> Gazetteer:
    """Read the names of the graph in the database, or of one corpus in it."""
    rows = connection.read("retrieval/specificity_gazetteer", corpus=corpus)
    return build_gazetteer(rows)


def gazetteer_of_graph(graph: Graph, *, base: str) -> Gazetteer:
    """Read the names of an RDF graph."""
    from retrieval.specificity.execution import namespaces

    used = namespaces(base)
    hc, schema = used["hc"], used["schema"]
    columns = {
        "name": schema.name,
        "city": schema.addressLocality,
        "region": schema.addressRegion,
        "subregion": hc.subregionCode,
        "country": hc.countryCode,
        "isil": hc.isil,
        "ghcid": hc.ghcid,
    }
    rows: dict[Any, dict[str, str]] = {
        subject: {} for subject in graph.subjects(used["rdf"].type, hc.Custodian)
    }
    for column, predicate in columns.items():
        for subject, value in graph.subject_objects(predicate):
            if subject in rows:
                rows[subject][column] = str(value)
    return build_gazetteer(rows[subject] for subject in sorted(rows))


def build_gazetteer(rows: Iterable[Mapping[str, str | None]]) -> Gazetteer:
    """Return the gazetteer of custodians.

    Args:
        rows: For each: name, city, region, subregion, country, isil, ghcid, of which
            any may be missing.
    """
    builder = _Builder()
    for row in rows:
        builder.custodian(row)
    return builder.done()


class _Builder:
    """Collects names."""

    def __init__(self) -> None:
        self._entries: dict[str, set[Entry]] = {}
        self._identifiers: dict[str, str] = {}
        self._regions: dict[str, str] = {}
        self._cities: dict[str, set[str]] = {}
        self._region_codes: dict[str, set[tuple[str, str]]] = {}
        self._countries: set[str] = set()
        self._uncoded: dict[str, set[str]] = {}
        self._regionless: Counter[str] = Counter()

    def custodian(self, row: Mapping[str, str | None]) -> None:
        """Note the names of one custodian."""
        city, region = row.get("city"), row.get("region")
        country, name = row.get("country"), row.get("name")
        where = [part for part in (city, region, country) if part]
        if country:
            self._countries.add(country)
        if city:
            self._cities.setdefault(city, set()).add(", ".join(where[1:]))
        if region:
            code = row.get("subregion") or ""
            self._region_codes.setdefault(region, set()).add((code, country or ""))
        elif country and not row.get("subregion"):
            self._regionless[country] += 1
        if subregion := row.get("subregion"):
            self._regions.setdefault(subregion.casefold(), subregion)
        if country and region and not row.get("subregion"):
            self._uncoded.setdefault(country, set()).add(region)
        if name:
            self._add(name, Entry(kind="name", value=name, about=", ".join(where)))
        for key in ("isil", "ghcid"):
            if identifier := row.get(key):
                self._identifiers.setdefault(identifier.casefold(), identifier)

    def _add(self, name: str, entry: Entry) -> None:
        """Note a name."""
        words = normal(name).split()
        if words and words[0] in {"the", "de", "het"} and len(words) > 1:
            self._entries.setdefault(" ".join(words[1:]), set()).add(entry)
        if words:
            self._entries.setdefault(" ".join(words), set()).add(entry)

    def done(self) -> Gazetteer:
        """Return the gazetteer."""
        for city, places in self._cities.items():
            about = "; ".join(_most_specific(places))
            self._add(city, Entry(kind="city", value=city, about=about))
        for region, codes in self._region_codes.items():
            coded = [(code, country) for code, country in sorted(codes) if code]
            for code, country in coded:
                self._add(region, Entry(kind="region", value=code, about=country))
            if not coded:  # some rows of a region may lack its country
                about = "; ".join(sorted({c for _, c in codes if c}))
                self._add(region, Entry(kind="region", value=region, about=about))
        self._other_spellings()
        for name, code in _country_names():
            known = code in self._countries
            self._add(name, Entry(kind="country", value=code, known=known))
        parts = _parts(self._regions.values())
        for name, code in _subdivisions(frozenset(self._countries)):
            if normal(name) not in self._entries:
                entry = Entry(
                    kind="region", value=code, about=code[:2], known=code in parts
                )
                self._add(name, entry)
        self._drop_common_names()
        entries = {
            form: tuple(sorted(found, key=lambda e: (KINDS.index(e.kind), e)))
            for form, found in self._entries.items()
        }
        by_kind: dict[str, set[str]] = {kind: set() for kind in KINDS}
        for form, found in entries.items():
            for entry in found:
                by_kind[entry.kind].add(form)
        return Gazetteer(
            entries=entries,
            identifiers=self._identifiers,
            regions=self._regions,
            longest=min(max((f.count(" ") + 1 for f in entries), default=1), 16),
            names={kind: tuple(sorted(forms)) for kind, forms in by_kind.items()},
            parts=parts,
            uncoded={c: tuple(sorted(r)) for c, r in sorted(self._uncoded.items())},
            regionless=dict(self._regionless),
        )

    def _other_spellings(self) -> None:
        """Note the names in other languages of the places that the graph has."""
        data = data_file("places.yaml")
        for kind, key in (("city", "cities"), ("region", "regions")):
            for same in data[key]:
                found = [
                    entry
                    for name in same
                    for entry in self._entries.get(normal(name), ())
                    if entry.kind == kind
                ]
                for name in same:
                    for entry in found:
                        self._add(name, entry)
        for code, region in self._regions.items():
            for name in _subdivision_names(code.upper()):
                self._add(
                    name, Entry(kind="region", value=region, about=code[:2].upper())
                )

    def _drop_common_names(self) -> None:
        """Leave out names that are no more than a word for an institution.

        A question for museums must not be one for an institution named Museum, nor
        for the region Museums of an unclean list.
        """
        words = type_words()
        for form, found in list(self._entries.items()):
            typed = form in words.letters or form in words.generic
            places = {e for e in found if e.kind != "name" and not typed}
            rest = [w for w in form.split() if w not in _ARTICLES]
            common = (
                typed
                or all(w in words.letters or w in words.generic for w in rest)
                or len(form) < 3
                or form.isdigit()
            )
            if places or common:
                self._entries[form] = places
                if not places:
                    del self._entries[form]


def _most_specific(places: set[str]) -> list[str]:
    """Return places without those that only say less than another one."""
    return sorted(
        place
        for place in places
        if place and not any(o != place and o.endswith(f", {place}") for o in places)
    )


@lru_cache(maxsize=1)
def _country_names() -> tuple[tuple[str, str], ...]:
    """Return names of countries in English and Dutch with their ISO 3166-1 codes."""
    pycountry = _pycountry()
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
    pycountry = _pycountry()
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
def _subdivisions(countries: frozenset[str]) -> tuple[tuple[str, str], ...]:
    """Return names and ISO 3166-2 codes of the parts of countries."""
    found = []
    for country in sorted(countries):
        for part in _pycountry().subdivisions.get(country_code=country) or ():
            found += [(name, part.code) for name in _subdivision_names(part.code)]
    by_name = {normal(name): code for name, code in found}
    for same in data_file("places.yaml")["regions"]:
        codes = {by_name[normal(n)] for n in same if normal(n) in by_name}
        if len(codes) == 1:
            found += [(name, next(iter(codes))) for name in same]
    return tuple(dict.fromkeys(found))


def _parts(codes: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return regions in which others lie, by ISO 3166-2, with those that are given."""
    subdivisions = _pycountry().subdivisions
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


def _subdivision_names(code: str) -> list[str]:
    """Return the names of an ISO 3166-2 code, in its own language and in Dutch."""
    pycountry = _pycountry()
    found = pycountry.subdivisions.get(code=code)
    if found is None:
        return []
    dutch = gettext.translation("iso3166-2", pycountry.LOCALES_DIR, languages=["nl"])
    names = {found.name, dutch.gettext(found.name)}
    names |= {part.strip() for name in names for part in name.split("[")[0].split("/")}
    return sorted(names)


def _pycountry() -> Any:
    """Import pycountry.

    Raises:
        MissingExtraError: If the extra `templates` is not installed.
    """
    try:
        import pycountry
    except ImportError as error:
        msg = "Templates need an extra: pip install 'knowtrail[templates]'."
        raise MissingExtraError(msg) from error
    return pycountry

"""Names of places, institutions and identifiers that the graph has.

Countries and their parts have names by ISO 3166 too, in English and Dutch. A gazetteer
holds every distinct name, so it grows with the custodians: under 1 kB each.
"""

from __future__ import annotations

import gettext
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import pycountry

from knowtrail.retrieval.specificity.vocabulary import data_file, normal, type_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any


@lru_cache(maxsize=1)
def _country_names() -> tuple[tuple[str, str], ...]:
    dutch = gettext.translation("iso3166-1", pycountry.LOCALES_DIR, languages=["nl"])
    names: list[tuple[str, str]] = []
    for country in pycountry.countries:
        own = (getattr(country, f"{a}name", "") for a in ("", "common_", "official_"))
        for name in filter(None, own):
            names += [(name, country.alpha_2), (dutch.gettext(name), country.alpha_2)]
        if "," in country.name:
            last, _, first = country.name.partition(", ")
            names.append((f"{first} {last}", country.alpha_2))
    for code, others in data_file("places.yaml")["countries"].items():
        names += [(name, code) for name in others]
    return tuple(dict.fromkeys(names))


@lru_cache(maxsize=1024)
def place_name(text: str, language: str) -> str:
    """Return the name of a country or region by its ISO 3166 code."""
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
def _subdivisions_of(countries: frozenset[str]) -> tuple[tuple[str, str], ...]:
    found = []
    for country in sorted(countries):
        for part in pycountry.subdivisions.get(country_code=country) or ():
            found += [(name, part.code) for name in _subdivision_names(part.code)]
    by_name = {normal(name): code for name, code in found}
    for same in data_file("places.yaml")["regions"]:
        codes = {by_name[normal(n)] for n in same if normal(n) in by_name}
        if len(codes) == 1:
            found += [(name, next(iter(codes))) for name in same]
    return tuple(dict.fromkeys(found))


def _parts_among(codes: Iterable[str]) -> dict[str, tuple[str, ...]]:
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


def _subdivision_names(code: str) -> list[str]:
    found = pycountry.subdivisions.get(code=code)
    if found is None:
        return []
    dutch = gettext.translation("iso3166-2", pycountry.LOCALES_DIR, languages=["nl"])
    names = {found.name, dutch.gettext(found.name)}
    names |= {part.strip() for name in names for part in name.split("[")[0].split("/")}
    return sorted(names)


_LEADING = ("the ", "de ", "het ")


def _usual_spellings(
    rows: Mapping[str, int], countries: Mapping[str, frozenset[str]], *, key: str
) -> dict[str, str]:
    """Return for each name of a place the one that it is written with most."""
    # Names are one if they differ in hyphens, dots, accents, case or an article, or if
    # they are that place's in several languages and in the same countries.
    languages = {
        normal(name): number
        for number, same in enumerate(data_file("places.yaml")[key])
        for name in same
    }
    groups: dict[str, list[str]] = {}
    for name in rows:
        form = normal(name)
        for article in _LEADING:
            form = form.removeprefix(article)
        groups.setdefault(form, []).append(name)
    joined: dict[object, list[str]] = {}
    for form, names in groups.items():
        where = frozenset[str]().union(*(countries.get(n, ()) for n in names))
        number = languages.get(form, languages.get(normal(names[0])))
        same: object = form if number is None else (number, where)
        joined.setdefault(same, []).extend(names)
    usual: dict[str, str] = {}
    for names in joined.values():
        usual |= dict.fromkeys(names, min(names, key=lambda n: (-rows[n], n)))
    return usual


KINDS = ("city", "region", "country", "name")
"""In the order in which a word that can be several is taken."""

_ARTICLES = frozenset({"the", "de", "het", "a", "an", "een", "of", "van", "and", "en"})


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Entry:
    """What a name can stand for: `city`, `region`, `country` or `name`.

    The value is what the graph has, of countries and regions their ISO 3166 code;
    `about` tells it from others by where it is; `known` is whether the graph has it.
    """

    kind: str
    value: str
    about: str = ""
    known: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Gazetteer:
    """Names, by their normal form, of what they can stand for.

    Attributes:
        identifiers: ISIL and GHCID in lower case -> as the graph has them.
        regions: ISO 3166-2 codes in lower case -> as the graph has them.
        longest: Words of the longest name.
        names: Normal forms by kind, for names with typing errors.
        parts: ISO 3166-2 code of a region -> codes that the graph has of what lies
            in it, its own among them.
        spellings: Kind of place -> name -> all ways in which the graph writes it,
            where there are several.
        uncoded: ISO 3166-1 code of a country -> names of regions without a code.
        regionless: ISO 3166-1 code of a country -> how many have no region at all.
    """

    entries: Mapping[str, tuple[Entry, ...]]
    identifiers: Mapping[str, str] = field(default_factory=dict)
    regions: Mapping[str, str] = field(default_factory=dict)
    longest: int = 1
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    spellings: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    uncoded: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    regionless: Mapping[str, int] = field(default_factory=dict)

    def longer_names(self, kind: str, name: str) -> tuple[str, ...]:
        """Return names of places that begin with another name, at most ten."""
        begin = f"{normal(name)} "
        found = (
            entry.value
            for form in self.names.get(kind, ())
            if form.startswith(begin) and begin.strip()
            for entry in self.entries[form]
            if entry.kind == kind and entry.known
        )
        return tuple(dict.fromkeys(found))[:10]

    def named_with(self, text: str) -> list[Entry]:
        """Return the institutions whose name has all words of a text."""
        words = set(normal(text).split())
        longest = max(words, key=len, default="")
        return [
            entry
            for form in self.names.get("name", ())
            if longest and longest in form and words <= set(form.split())
            for entry in self.entries[form]
            if entry.kind == "name"
        ]

    @property
    def meant(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """Return what values of slots mean in the graph, where that is several."""
        regions = {**self.spellings.get("region", {}), **self.parts}
        return {"city": dict(self.spellings.get("city", {})), "region": regions}


def build_gazetteer(rows: Iterable[Mapping[str, Any]]) -> Gazetteer:
    """Return the gazetteer of custodians.

    A row has `city`, `region`, `subregion` and `country`, with `name`, `isil` and
    `ghcid` of one custodian, or `names` and `identifiers` of all `rows` of them there.
    """
    return _Builder(rows).done()


def _forms(name: str) -> list[str]:
    """Return the normal form of a name, and that without its article."""
    form = normal(name)
    if form.startswith(_LEADING):
        return [form, form.partition(" ")[2]]
    return [form] if form else []


class _Builder:
    """Collects names."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self._entries: dict[str, set[Entry]] = {}
        self._named: dict[str, list[Entry]] = {}
        self._identifiers: list[str] = []
        self._regions: dict[str, str] = {}
        self._cities: dict[str, set[str]] = {}
        self._region_codes: dict[str, set[tuple[str, str]]] = {}
        self._countries: set[str] = set()
        self._rows: dict[str, Counter[str]] = {"city": Counter(), "region": Counter()}
        self._uncoded: dict[str, set[str]] = {}
        self._regionless: Counter[str] = Counter()
        for row in rows:
            self._place(row)

    def _place(self, row: Mapping[str, Any]) -> None:
        city, region, country = row.get("city"), row.get("region"), row.get("country")
        where = [part for part in (city, region, country) if part]
        rows = row.get("rows", 1)
        self._countries |= {country} if country else set()
        self._rows["city"][city or ""] += rows
        self._rows["region"][region or ""] += rows
        if city:
            self._cities.setdefault(city, set()).add(", ".join(where[1:]))
        code = row.get("subregion") or ""
        if region:
            self._region_codes.setdefault(region, set()).add((code, country or ""))
        if code:
            known = self._regions.get(code.casefold(), code)
            self._regions[code.casefold()] = min(known, code)
        elif country and region:
            self._uncoded.setdefault(country, set()).add(region)
        elif country:
            self._regionless[country] += rows
        about = ", ".join(where)
        for name in filter(None, row.get("names", [row.get("name")])):
            entry = Entry(kind="name", value=name, about=about)
            for form in _forms(name):
                self._named.setdefault(form, []).append(entry)
        own = row.get("isil"), row.get("ghcid")
        self._identifiers += filter(None, row.get("identifiers", own))

    def _add(self, name: str, entry: Entry) -> None:
        for form in _forms(name):
            self._entries.setdefault(form, set()).add(entry)

    def done(self) -> Gazetteer:
        cities = self._add_places("city", "cities", self._cities)
        spellings = {"city": cities, "region": self._add_regions()}
        self._other_spellings()
        for name, code in _country_names():
            known = code in self._countries
            self._add(name, Entry(kind="country", value=code, known=known))
        parts = _parts_among(self._regions.values())
        for name, code in _subdivisions_of(frozenset(self._countries)):
            if (form := normal(name)) not in self._entries and form not in self._named:
                entry = Entry(
                    kind="region", value=code, about=code[:2], known=code in parts
                )
                self._add(name, entry)
        typed = type_words().letters.keys() | type_words().generic
        entries = {
            form: tuple(sorted(found, key=lambda e: (KINDS.index(e.kind), e)))
            for form, found in self._entries.items()
            if form not in typed
        }
        common = typed | _ARTICLES
        named = {  # but for what is only a word for institutions: `The Museum`
            form: tuple(sorted(set(found)) if len(found) > 1 else found)
            for form, found in self._named.items()
            if not (form in entries or form in typed or len(form) < 3)
            and not (form.isdigit() or common.issuperset(form.split()))
        }
        kinds = {form: {x.kind for x in found} for form, found in entries.items()}
        names = {k: tuple(sorted(f for f in kinds if k in kinds[f])) for k in KINDS}
        entries |= named
        return Gazetteer(
            entries=entries,
            # Of those that differ in case alone the least is taken.
            identifiers={i.casefold(): i for i in sorted(self._identifiers)[::-1]},
            regions=self._regions,
            longest=min(max((f.count(" ") + 1 for f in entries), default=1), 16),
            names=names | {"name": tuple(sorted(named))},
            parts=parts,
            spellings=spellings,
            uncoded={c: tuple(sorted(r)) for c, r in sorted(self._uncoded.items())},
            regionless=dict(self._regionless),
        )

    def _add_regions(self) -> dict[str, tuple[str, ...]]:
        plain: dict[str, set[str]] = {}
        for region, codes in self._region_codes.items():
            coded = [(code, country) for code, country in sorted(codes) if code]
            for code, country in coded:
                self._add(region, Entry(kind="region", value=code, about=country))
            if not coded:  # some rows of a region may lack its country
                plain[region] = {c for _, c in codes if c}
        return self._add_places("region", "regions", plain)

    def _add_places(
        self, kind: str, key: str, where: Mapping[str, set[str]]
    ) -> dict[str, tuple[str, ...]]:
        """Note places by name; return the spellings of those that have several."""
        countries = {
            name: frozenset(place.rpartition(", ")[2] for place in places)
            for name, places in where.items()
        }
        rows = {name: self._rows[kind][name] for name in sorted(where)}
        usual = _usual_spellings(rows, countries, key=key)
        spelt: dict[str, list[str]] = {}
        for name, best in sorted(usual.items()):
            spelt.setdefault(best, []).append(name)
        for name, best in usual.items():
            places = set().union(*(where[other] for other in spelt[best]))
            about = "; ".join(_most_specific(places))
            self._add(name, Entry(kind=kind, value=best, about=about))
        return {best: tuple(names) for best, names in spelt.items() if len(names) > 1}

    def _other_spellings(self) -> None:
        """Note the names in other languages of the places that the graph has."""
        data = data_file("places.yaml")
        for kind, key in (("city", "cities"), ("region", "regions")):
            own = {f for f, e in self._entries.items() if kind in {x.kind for x in e}}
            for same in data[key]:
                known = (self._entries.get(normal(name), ()) for name in same)
                found = [e for entries in known for e in entries if e.kind == kind]
                for name in same:
                    for entry in found if normal(name) not in own else ():
                        self._add(name, entry)
        for code, region in self._regions.items():
            entry = Entry(kind="region", value=region, about=code[:2].upper())
            for name in _subdivision_names(code.upper()):
                self._add(name, entry)


def _most_specific(places: set[str]) -> list[str]:
    """Return places without those that only say less than another one."""
    return sorted(
        place
        for place in places
        if place and not any(o != place and o.endswith(f", {place}") for o in places)
    )

"""What title and address of an institution suggest, by stated rules, with confidence.

Nothing is guessed that a file states, and every guess names its rule: the confidence
is that of the rule, set by looking at a sample of guesses, not a probability of the
single case.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from knowtrail.graph.files.packaged import packaged


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """What was guessed: a type letter, or the name of a town or code of a country.

    `confidence` is from 0 to 1; the documentation lists the rules by name.
    """

    value: str
    confidence: float
    rule: str


_KNOWN = packaged("knowtrail.ingest.data.heritage", "addresses.toml")
COUNTRIES: dict[str, str] = _KNOWN["countries"]
HOME_COUNTRIES: list[str] = _KNOWN["home_countries"]
_COUNTY_TOWNS: dict[str, str] = _KNOWN["county_towns"]
_COUNTIES = frozenset(_KNOWN["counties"])
_STRONG = frozenset("LMAGB")
_TITLES = [
    (letter, re.compile(rf"\b(?:{words})\b", re.IGNORECASE), confidence)
    for letter, words, confidence in _KNOWN["titles"]
]
_SITE = [(one, re.compile(word, re.IGNORECASE)) for one, word in _KNOWN["sites"]]
_IS: dict[str, re.Pattern[str]] = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in _KNOWN["patterns"].items()
}
_NO_TOWN = re.compile(
    rf"\d|\b(?:c/o|p\.?o\.? box)\b|\b(?<!le[ -])(?:{'|'.join(_KNOWN['streets'])})\W*$",
    re.IGNORECASE,
)
_MAYBE_TOWN = re.compile(
    rf"\b(?:{'|'.join(_KNOWN['streets_or_towns'])})\W*$", re.IGNORECASE
)
_LONGEST_TOWN = 4
_SHORTEST_NAME, _LONGEST_NAME = 3, 100


class Towns:
    """What the clear addresses of a file tell of its other ones.

    These are the names of towns that an address can end with, and the towns of the
    districts of postcodes.
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._districts: dict[str, Counter[str]] = {}

    def learn(self, address: str, postcode: str = "") -> None:
        """Take note of the town of an address whose shape tells it."""
        guess = guess_city(address, None)
        if guess is not None and guess.confidence >= 0.8:
            self._names.setdefault(guess.value.casefold(), guess.value)
            if district := _district(address, postcode):
                self._districts.setdefault(district, Counter())[guess.value] += 1

    def at_end(self, text: str) -> str | None:
        """Return the longest known town that a text ends with."""
        words = text.split()
        for size in range(min(_LONGEST_TOWN, len(words)), 0, -1):
            if name := self._names.get(" ".join(words[-size:]).casefold()):
                return name
        return None

    def of_postcode(self, address: str, postcode: str) -> str | None:
        """Return the town of four of five clear addresses of the postcode's district.

        There must be three or more. Of 1,864 clear addresses of British institutions,
        each left out in turn, 93.5 % were in the town that this rule gives them.
        """
        towns = self._districts.get(_district(address, postcode))
        if towns is None or towns.total() < 3:
            return None
        town, count = min(towns.items(), key=lambda item: (-item[1], item[0]))
        return town if count >= 0.8 * towns.total() else None


def _district(address: str, postcode: str) -> str:
    """Return the first half of a postcode, `LE65` of `LE65 1HU`; empty without one."""
    for text in (postcode, *address.split(",")):
        if found := _IS["postcode"].fullmatch(text.strip()):
            return found[0].upper()[:-3].strip()
    return ""


def guess_type(title: str, website: str | None) -> Guess | None:
    """Return what kind of institution a title, or else a website, suggests."""
    found = sorted(
        (match.start(), letter, confidence)
        for letter, pattern, confidence in _TITLES
        for match in pattern.finditer(title)
    )
    chosen = [one for one in found if one[1] in _STRONG] or found
    letters = {letter for _, letter, _ in chosen}
    if letters == {"M", "G"}:
        return Guess(value="M", confidence=0.8, rule="title-two-kinds")
    if letters:
        _, letter, confidence = chosen[-1]
        if len(letters) == 1:
            return Guess(value=letter, confidence=confidence, rule="title-word")
        lower = round(confidence * 0.75, 2)
        return Guess(value=letter, confidence=lower, rule="title-last-word")
    for letter, pattern in _SITE:
        if website and pattern.search(website):
            return Guess(value=letter, confidence=0.5, rule="website-word")
    return None


def guess_city(address: str, towns: Towns | None, postcode: str = "") -> Guess | None:
    """Return the town in a British address, where its shape or others tell it."""
    parts, county = _parts(address)
    if county == "greater london":
        return Guess(value="London", confidence=0.95, rule="before-county")
    last = parts[-1] if parts else ""
    if town := _COUNTY_TOWNS.get(last.casefold()):
        return Guess(value=town, confidence=0.9 if county else 0.6, rule="county-town")
    is_town = _is_town(last)
    open_end = _MAYBE_TOWN.search(last) is not None
    if is_town and len(last.split()) <= 3 and (county or len(parts) > 1):
        if county:
            sure = 0.7 if open_end else 0.8 if county in _COUNTY_TOWNS else 0.9
            return Guess(value=_named(last), confidence=sure, rule="before-county")
        if len(parts) > 1 and not open_end:
            return Guess(value=_named(last), confidence=0.8, rule="last-part")
    known = (towns.at_end(part) for part in reversed(parts)) if towns else ()
    if town := next(filter(None, known), None):
        return Guess(value=town, confidence=0.7, rule="known-town")
    if is_town and len(parts) == 1 and " " not in last:
        return Guess(value=_named(last), confidence=0.5, rule="only-part")
    if towns and (town := towns.of_postcode(address, postcode)):
        return Guess(value=town, confidence=0.7, rule="postcode-town")
    return None


def _parts(address: str) -> tuple[list[str], str | None]:
    """Return the parts of an address up to the town, and the county if it ends one."""
    stripped = (part.strip(" .;") for part in address.split(","))
    others = (_IS["postcode"], _IS["box"])
    parts = [p for p in stripped if p and not any(o.fullmatch(p) for o in others)]
    while parts and _is_country(parts[-1]):
        parts.pop()
    if parts:
        parts[-1] = _IS["kingdom"].sub("", parts[-1])
    return parts, _taken_county(parts)


def _taken_county(parts: list[str]) -> str | None:
    """Take the county off the end of the parts of an address, and return it."""
    # What may be a town and a county is a town where another county follows, or where
    # no town comes before.
    if len(parts) > 1 and _is_county(parts[-1]):
        if _is_county_town(parts[-1]) and not (
            _is_town(parts[-2]) or _is_county_town(parts[-2])
        ):
            return None
        county = parts.pop().casefold()
        if len(parts) > 1 and _is_county(parts[-1]) and not _is_county_town(parts[-1]):
            parts.pop()
        return county
    if parts and (rest := _without_county(parts[-1])) != parts[-1]:
        parts[-1] = rest
    return None


def guess_country(address: str, postcode: str | None) -> Guess | None:
    """Return the country that ends a British address, or whose postcode it has."""
    parts = [part.strip(" .") for part in address.split(",") if part.strip(" .")]
    if parts and parts[-1].casefold() in _KNOWN["isles"]:
        parts.pop()
    if parts and parts[-1].casefold() in _states():
        return None
    if parts and parts[-1].casefold() in COUNTRIES:
        code = COUNTRIES[parts[-1].casefold()]
        return Guess(value=code, confidence=1.0, rule="country-name")
    for text in (postcode or "", *parts):
        if found := _IS["postcode"].fullmatch(text.strip()):
            code = _KNOWN["islands"].get((found[1] or "").upper(), "GB")
            return Guess(value=code, confidence=0.95, rule="postcode")
    return None


def _is_country(part: str) -> bool:
    name = part.casefold().replace(".", "")
    return name in COUNTRIES or name in _states() or name in _KNOWN["isles"]


@lru_cache(maxsize=1)
def _states() -> frozenset[str]:
    """Return names of countries of ISO 3166-1 that are no towns, in small letters."""
    # Those of `COUNTRIES` are told apart before.
    import pycountry

    names = set(_KNOWN["states"])
    for country in pycountry.countries:
        for kind in ("name", "common_name", "official_name"):
            name = getattr(country, kind, "").casefold()
            names |= {name, name.partition(",")[0]}
    return frozenset(names - set(_KNOWN["city_states"]) - COUNTRIES.keys() - {""})


def _is_county_town(part: str) -> bool:
    return part.casefold() in _COUNTY_TOWNS


def _is_county(part: str) -> bool:
    return part.casefold() in _COUNTIES or _IS["county"].fullmatch(part) is not None


def _is_town(part: str) -> bool:
    return (
        part[:1].isupper()
        and _SHORTEST_NAME <= len(part) <= _LONGEST_NAME
        and not _IS["unended"].search(part)
        and not _NO_TOWN.search(part)
        and not _is_county(part)
        and not _is_country(part)
    )


def _named(part: str) -> str:
    """Return a town as it is usually written."""
    name = " ".join(part.split())
    name = name.title().replace("'S", "'s") if name.isupper() else name
    return _IS["small"].sub(lambda found: found[0].lower(), name)


def _without_county(part: str) -> str:
    words = part.split()
    for size in (3, 2, 1):
        end = " ".join(words[-size:]).casefold()
        if len(words) > size and (end in _COUNTIES or _IS["shire"].fullmatch(end)):
            return " ".join(words[:-size])
    return part

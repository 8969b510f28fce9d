"""Which column of a file means what, and what a value of it must look like.

Some values stand in a column they do not belong to, as when cells have moved. A region
is none if it is the word for a kind of institution, an address on the web, a number or
the name of a country, or if the file has the same value more often as the kind of body
that runs institutions. The other way round a body is none if the file has it more often
as a region. Such values are left out and reported; a country is used as what it is, and
an address on the web as the website where the row has no other.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from contextlib import suppress
from datetime import date
from functools import partial
from typing import TYPE_CHECKING

from knowtrail.graph.errors import InputError
from knowtrail.graph.identifiers import TYPE_LETTERS
from knowtrail.ingest.custodians.guessing import COUNTRIES, HOME_COUNTRIES
from knowtrail.ingest.custodians.institution import CLASS_NAMES, TABLES, TYPE_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

FIELDS: dict[str, list[str]] = TABLES["columns"]
"""Field -> columns that mean it unless the caller says otherwise, the first first."""

_DATE = re.compile(r"(\d{3,4})(?:-(\d{2})(?:-(\d{2}))?)?")
_AMOUNT = re.compile(r"\d+(?:\.\d+)?|\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_AMBIGUOUS = re.compile(r"[1-9]\d{0,2}\.\d{3}")
"""A Dutch thousand, or an amount with three decimals."""
_LETTERS = {
    **{letter.casefold(): letter for letter in TYPE_LETTERS},
    **{name.casefold(): letter for letter, name in CLASS_NAMES.items()},
    **{word: letter for letter, word in TYPE_WORDS.items() if letter != "U"},
}


def columns_of(names: Iterable[str], given: Mapping[str, str]) -> dict[str, str]:
    """Return the column of each field; `InputError` if one is not there, or no name."""
    present: Sequence[str] = [name for name in names if name]
    lower = {name.casefold(): name for name in reversed(present)}
    for field, column in given.items():
        if field not in FIELDS:
            raise InputError(f"No field {field!r}: the fields are {', '.join(FIELDS)}.")
        if column not in present:
            msg = f"No column {column!r}: the file has {', '.join(present[:30])}."
            raise InputError(msg)
    found = dict(given)
    for field, known in FIELDS.items():
        for name in known:
            if field not in found and name.casefold() in lower:
                found[field] = lower[name.casefold()]
    if "name" not in found:
        raise InputError(
            f"No column is the name of an institution; there are "
            f"{', '.join(present[:30]) or 'none'}: say which with --map name=COLUMN."
        )
    return found


def read_type(text: str) -> str:
    """Return the letter of a type by letter, class or word; else `InputError`."""
    letter = _LETTERS.get(text.strip().casefold())
    if letter is None:
        raise InputError(
            f"type {text[:40]!r} is not one of the letters {TYPE_LETTERS} nor a class "
            f"such as {CLASS_NAMES['A']}"
        )
    return letter


def read_date(text: str) -> tuple[str, int]:
    """Return a date as ISO 8601 writes it, and its year; else `InputError`."""
    found = _DATE.fullmatch(text.strip())
    if found is not None:
        year, month, day = (int(part) if part else None for part in found.groups())
        with suppress(ValueError):  # there is no such day
            date(year or 0, *(1 if part is None else part for part in (month, day)))
            rest = "".join(f"-{part:02}" for part in (month, day) if part is not None)
            return f"{year:04}{rest}", year or 0
    msg = f"founded {text[:40]!r} is no date: write 1887, 1887-05 or 1887-05-01"
    raise InputError(msg)


def read_budget(text: str) -> float:
    """Return an amount in euros.

    Raises:
        InputError: If it is anything else, another currency included, or may be
            thousands as well as decimals, such as 1.250.
    """
    plain = text.strip().removeprefix("€").removeprefix("EUR").removesuffix("€").strip()
    if _AMOUNT.fullmatch(plain) and not _AMBIGUOUS.fullmatch(plain):
        amount = float(plain.replace(",", ""))
        if math.isfinite(amount):
            return amount
    msg = f"budget {text[:40]!r} is no amount in euros: write 1250000 or 1,250,000.50"
    raise InputError(msg)


def _degrees(name: str, most: int, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if abs(value) <= most:
        return value
    msg = f"{name} {text[:40]!r} is no number of degrees from -{most} to {most}"
    raise InputError(msg)


AXES = {
    "longitude": partial(_degrees, "longitude", 180),
    "latitude": partial(_degrees, "latitude", 90),
}
"""Field of a coordinate -> what reads it, in the order of a point's axes."""

_MOST = 20_000
"""Different values of a column that are counted."""

_KIND, _WEB, _NUMBER = (
    re.compile(TABLES["patterns"][name], re.IGNORECASE | re.VERBOSE)
    for name in ("kind", "web", "number")
)


class Misplaced:
    """What the columns of a file tell of where its values belong."""

    def __init__(self) -> None:
        self._regions: Counter[str] = Counter()
        self._bodies: Counter[str] = Counter()

    def learn(self, region: str, body: str) -> None:
        """Take note of a row."""
        for text, held in ((region, self._regions), (body, self._bodies)):
            key = _key(text)
            if key and (key in held or len(held) < _MOST):
                held[key] += 1

    def problem(self, name: str, text: str) -> str | None:
        """Return why a text is no `region` or `governing_body`, if anything says so."""
        is_region, key = name == "region", _key(text)
        if is_region and self._bodies[key] > self._regions[key]:
            return "the file has it as the kind of body that runs institutions"
        if not is_region and self._regions[key] > self._bodies[key]:
            return "the file has it as a region"
        if is_region and _KIND.search(text):
            return "that is a kind of institution"
        if _WEB.fullmatch(text.strip()):
            return "that is an address on the web"
        return "that is a number" if _NUMBER.fullmatch(text) else None


def state_of(region: str) -> str | None:
    """Return the ISO 3166-1 code where a British list has a state as region."""
    name = _key(region)
    return None if name in HOME_COUNTRIES else COUNTRIES.get(name)


def web_address(text: str) -> str | None:
    """Return the address on the web that a text is or has first, None for mail."""
    words = text.split()
    if len(words) == 1 and _WEB.search(text) and ("://" in text or "@" not in text):
        return text
    bare = (word.rstrip(".,;)") for word in words)
    return next((word for word in bare if _WEB.fullmatch(word)), None)


def moved_address(row: Mapping[str, str]) -> tuple[str, str] | None:
    """Return column and value of the only cell that is an address on the web."""
    found = [
        (column, text.strip())
        for column, text in row.items()
        if re.match(r"https?://|www\.", text.strip(), re.IGNORECASE)
        and len(text.split()) == 1
    ]
    return found[0] if len(found) == 1 else None


def _key(text: str) -> str:
    return " ".join(text.split()).casefold()

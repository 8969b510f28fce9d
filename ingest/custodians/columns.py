"""Which column of a file means what, and what a value of it must look like."""

from __future__ import annotations

import math
import re
from datetime import date
from typing import TYPE_CHECKING

from graph.errors import InputError
from graph.identifiers import TYPE_LETTERS
from ingest.custodians.records import CLASS_NAMES, TYPE_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["FIELDS", "columns_of", "read_budget", "read_date", "read_type"]

FIELDS: dict[str, tuple[str, ...]] = {
    "id": ("id",),
    "uri": ("uri",),
    "name": ("name", "title"),
    "type": ("type",),
    "class_name": ("className", "class_name", "class"),
    "city": ("city",),
    "region": ("region",),
    "country": ("country",),
    "isil": ("isil",),
    "ghcid": ("ghcid",),
    "founded": ("founded",),
    "budget": ("budget",),
    "url": ("url", "website"),
    "description": ("description",),
    "address": ("address", "institution_address"),
    "postcode": ("postcode",),
    "governing_body": ("governing_body",),
    "language": ("language",),
}
"""Field -> columns that mean it unless the caller says otherwise, the first first.

`institution_type` is no name of a type on purpose: some lists have the kind of body
that runs an institution there.
"""

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
    """Return for each field of an institution the column that it is read from.

    Args:
        names: Columns of the file.
        given: Field -> column, as the caller says.

    Raises:
        InputError: If a given field or column does not exist, or nothing is the name.
    """
    present: Sequence[str] = [name for name in names if name]
    lower = {name.casefold(): name for name in reversed(present)}
    for field, column in given.items():
        if field not in FIELDS:
            msg = f"No field {field!r}: the fields are {', '.join(FIELDS)}."
            raise InputError(msg)
        if column not in present:
            msg = f"No column {column!r}: the file has {', '.join(present[:30])}."
            raise InputError(msg)
    found = dict(given)
    for field, known in FIELDS.items():
        for name in known:
            if field not in found and name.casefold() in lower:
                found[field] = lower[name.casefold()]
    if "name" not in found:
        msg = (
            f"No column is the name of an institution; there are "
            f"{', '.join(present[:30]) or 'none'}: say which with --map name=COLUMN."
        )
        raise InputError(msg)
    return found


def read_type(text: str) -> str:
    """Return the letter of a type given as a letter, a class or a word.

    Raises:
        InputError: If it is none of them.
    """
    letter = _LETTERS.get(text.strip().casefold())
    if letter is None:
        msg = (
            f"type {text[:40]!r} is not one of the letters {TYPE_LETTERS} nor a class "
            f"such as {CLASS_NAMES['A']}"
        )
        raise InputError(msg)
    return letter


def read_date(text: str) -> tuple[str, int]:
    """Return a date as ISO 8601 writes it, and its year.

    Args:
        text: A year, a year and month, or a day, such as 1887-05-01.

    Raises:
        InputError: If it is no such date.
    """
    found = _DATE.fullmatch(text.strip())
    if found is not None:
        year, month, day = (int(part) if part else None for part in found.groups())
        try:
            date(year or 0, month or 1, day or 1)
        except ValueError:
            pass
        else:
            rest = "".join(f"-{part:02}" for part in (month, day) if part is not None)
            return f"{year:04}{rest}", year or 0
    msg = f"founded {text[:40]!r} is no date: write 1887, 1887-05 or 1887-05-01"
    raise InputError(msg)


def read_budget(text: str) -> float:
    """Return an amount in euros.

    Args:
        text: Digits, with a point for cents and perhaps commas between thousands;
            a euro sign is ignored.

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

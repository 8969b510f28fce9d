"""Rows of a table of institutions, and the institutions they make.

A file is read before anything is made of it: one with a row that cannot be read is
refused, and the towns of its clear addresses and the columns of all its records are
known when institutions are made. No reading holds it in memory.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import KW_ONLY, dataclass, field
from importlib import resources
from itertools import islice, permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from knowtrail.graph.errors import InputError, SourceError
from knowtrail.graph.identifiers import Ghcid, country_exists, parse_ghcid, parse_isil
from knowtrail.ingest.custodians.columns import (
    AXES,
    Misplaced,
    columns_of,
    moved_address,
    read_budget,
    read_date,
    read_type,
    state_of,
    web_address,
)
from knowtrail.ingest.custodians.guessing import (
    Guess,
    Towns,
    guess_city,
    guess_country,
    guess_type,
)
from knowtrail.ingest.custodians.institution import CLASS_NAMES, Custodian
from knowtrail.ingest.keys import content_key
from knowtrail.ingest.prepare import clean_plain
from knowtrail.ingest.sources.table import Row, TableFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


_KEPT = 100
_LONGEST_VALUES = {"city": 200, "region": 200, "uri": 2_000}
"""Characters of values that are indexed: Neo4j does not store what its index cannot."""
_T = TypeVar("_T")


@dataclass(slots=True, kw_only=True)
class Findings:
    """What was found out about the rows of a file.

    Attributes:
        malformed: Values that were refused, by field.
        examples: The first of them, as "place: message".
        guessed: By field and rule.
        unknown: Institutions without a type or city, by field.
        unidentified: Rows whose identifier was refused; an earlier run may have known
            the institution by it.
    """

    malformed: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    guessed: Counter[tuple[str, str]] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    unidentified: int = 0

    def refuse(self, place: str, name: str, message: str) -> None:
        """Take note of a value that is left out."""
        self.malformed[name] += 1
        if len(self.examples) < _KEPT:
            self.examples.append(f"{place}: {message}")


def custodian_of(
    row: Mapping[str, str],
    *,
    place: str,
    source: str,
    towns: Towns,
    country: str | None,
    guess: bool,
    findings: Findings,
    misplaced: Misplaced | None = None,
) -> Custodian:
    """Return the institution of a row.

    Values that are not well-formed are left out and noted. An identifier that
    contradicts the row is noted, and nothing is taken from it but itself; what the row
    states goes before what it implies, and that before what is guessed.

    Raises:
        InputError: If the row has no name.
    """
    name = _clean(row.get("name", ""))
    if not name:
        raise InputError("it has no name")
    row = dict(row)
    reader = _Reader(row, place, findings, towns, guess=guess)
    state = _leave_out_misplaced(reader, misplaced)
    _leave_out_long(reader)
    ghcid, isil = _identifiers(reader)
    date = reader.read("founded", read_date)
    values: dict[str, Any] = {
        **_type(reader, ghcid),
        **_place(reader, ghcid, state or country),
        "isil": isil,
        "ghcid": ghcid.text if ghcid else None,
        "founded": date[0] if date else None,
        "founded_year": date[1] if date else None,
        "budget": reader.read("budget", read_budget),
        "location": _location(reader),
    }
    plain = ("uri", "url", "description", "address", "postcode", "governing_body")
    values |= {key: _clean(row[key]) for key in plain if key in row}
    return Custodian(
        key=_key(row, values, name),
        name=name,
        source=source,
        language=row.get("language", "en"),
        **values,
    )


@dataclass(slots=True)
class _Reader:
    """Reads the values of one row and notes those that are refused."""

    row: dict[str, str]
    place: str
    findings: Findings
    towns: Towns
    _: KW_ONLY
    guess: bool

    def read(self, name: str, parse: Callable[[str], _T]) -> _T | None:
        text = self.row.get(name)
        if not text:
            return None
        try:
            return parse(text)
        except InputError as error:
            self.refuse(name, f"{str(error).rstrip('.')}; {name} left out")
            return None

    def refuse(self, name: str, message: str) -> None:
        self.findings.refuse(self.place, name, message)

    def leave_out(self, name: str, message: str) -> None:
        self.refuse(name, message)
        del self.row[name]

    def stated(
        self, name: str, parse: Callable[[str], str], ghcid: Ghcid | None
    ) -> str | None:
        """Return what the row states, or else its GHCID; note where they differ."""
        value = self.read(name, parse)
        implied: str | None = getattr(ghcid, name, None)
        if ghcid and value and implied != value:
            message = (
                f"GHCID {ghcid.text} says {name} {implied}, the row {value}: {value} "
                "is taken; correct one of them"
            )
            self.refuse("ghcid", message)
        return value or implied

    def guessed(self, name: str, guess: Guess | None) -> tuple[Any, float, str | None]:
        if guess is None:
            self.findings.unknown[name] += 1
            return None, 0.0, None
        self.findings.guessed[name, guess.rule] += 1
        return guess.value, guess.confidence, guess.rule


def _identifiers(reader: _Reader) -> tuple[Ghcid | None, str | None]:
    """Return GHCID and ISIL; note where a refused one may be the key of the row."""
    ghcid = reader.read("ghcid", parse_ghcid)
    isil = reader.read("isil", parse_isil)
    refused = "ghcid" in reader.row or (isil is None and "isil" in reader.row)
    if ghcid is None and refused:
        reader.findings.unidentified += 1
    return ghcid, isil


def _location(reader: _Reader) -> tuple[float, float] | None:
    longitude, latitude = (reader.read(name, parse) for name, parse in AXES.items())
    if longitude is not None and latitude is not None:
        return longitude, latitude
    for name, other in permutations(AXES):
        if name in reader.row and other not in reader.row:
            reader.refuse(name, f"{name} left out: the row has no {other}")
    return None


def _leave_out_misplaced(reader: _Reader, misplaced: Misplaced | None) -> str | None:
    """Take out of a row what stands in the wrong column, and note it."""
    row = reader.row
    if misplaced is not None:
        for name in ("region", "governing_body"):
            problem = misplaced.problem(name, row.get(name, ""))
            if problem is not None:
                message = f"{name} {row[name][:60]!r} is left out: {problem}"
                reader.leave_out(name, message)
    _mend_address(reader)
    state = state_of(row.get("region", ""))
    if state is not None and not row.get("country"):
        message = f"region {row['region'][:60]!r} is a country: taken as {state}"
        reader.leave_out("region", message)
        return state
    return None


def _leave_out_long(reader: _Reader) -> None:
    for name, most in _LONGEST_VALUES.items():
        text = reader.row.get(name, "")
        if len(text) > most:
            message = (
                f"{name} {text[:40]!r}... has {len(text):,} characters, {most:,} are "
                f"possible; {name} left out"
            )
            reader.leave_out(name, message)


def _mend_address(reader: _Reader) -> None:
    """Keep of a website what is an address on the web, and note the rest."""
    row = reader.row
    url = row.get("url")
    if url is None:
        return
    address = web_address(url)
    if address is None:
        reader.leave_out("url", f"url {url[:60]!r} is no address on the web; left out")
    elif address != url or "url_column" in row:
        column = row.get("url_column")
        where = f"the column {column!r}" if column else f"{url[:60]!r}"
        reader.refuse("url", f"url {address[:60]!r} taken from {where}")
        row["url"] = address


def _type(reader: _Reader, ghcid: Ghcid | None) -> dict[str, Any]:
    row, confidence, rule = reader.row, 1.0, None
    letter = reader.stated("type", read_type, ghcid)
    if letter is None:
        found = guess_type(row["name"], row.get("url")) if reader.guess else None
        letter, confidence, rule = reader.guessed("type", found)
    letter = letter or "U"
    return {
        "type": letter,
        "class_name": reader.read("class_name", _class_name) or CLASS_NAMES[letter],
        "type_confidence": confidence,
        "type_rule": rule,
    }


def _place(reader: _Reader, ghcid: Ghcid | None, default: str | None) -> dict[str, Any]:
    row, guess = reader.row, reader.guess
    address, postcode = row.get("address", ""), row.get("postcode", "")
    code = reader.stated("country", _country, ghcid)
    if code is None and guess and (found := guess_country(address, postcode)):
        code, _, _ = reader.guessed("country", found)
    city, confidence, rule = row.get("city"), 1.0, None
    if not city:
        told = guess_city(address, reader.towns, postcode) if guess else None
        city, confidence, rule = reader.guessed("city", told)
    return {
        "city": _clean(city) if city else None,
        "city_confidence": confidence if city else None,
        "city_rule": rule,
        "region": _clean(row["region"]) if "region" in row else None,
        "country": code or default,
        "subregion": ghcid.subregion if ghcid and ghcid.country == code else None,
    }


def _class_name(text: str) -> str:
    """Return the name of a class, which becomes part of an IRI."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,99}", text.strip()):
        raise InputError(f"class {text[:40]!r} is no name: write letters and digits")
    return text.strip()


def _country(text: str) -> str:
    code = text.strip().upper()
    if not country_exists(code):
        raise InputError(f"country {text[:40]!r} is no code of ISO 3166-1, such as NL")
    return code


def _key(row: Mapping[str, str], values: Mapping[str, Any], name: str) -> str:
    """Return what identifies the institution among those of its corpus."""
    # Without an identifier that is its name with its address or, without one, its
    # place.
    for kind in ("ghcid", "isil"):
        if values[kind]:
            return f"{kind}:{values[kind]}"
    if row.get("id"):
        return f"id:{row['id']}"
    where = [row.get(column, "") for column in ("address", "postcode")]
    if not any(where):
        where = [row.get(column, "") for column in ("city", "region", "country")]
    return f"name:{content_key(name, *where)}"


def _clean(text: str) -> str:
    return " ".join(clean_plain(text).split())


_BODY = "institution_type"
"""Where lists that do not say it have the kind of body that runs an institution."""


def bundled_custodians() -> Path:
    """Return the file of invented institutions that comes with Knowtrail."""
    return Path(
        str(resources.files("knowtrail.ingest.data.heritage") / "custodians.jsonl")
    )


class CustodianFile:
    """A table of institutions.

    Attributes:
        columns: Field of an institution -> column of the file.
        towns: What its clear addresses tell of the others.
        misplaced: What its columns tell of values in the wrong one.
        rows_total: Rows of which institutions are made.
    """

    def __init__(
        self,
        path: Path,
        columns: Mapping[str, str] | None = None,
        *,
        limit: int | None = None,
    ) -> None:
        """Read a CSV or JSON Lines file, in UTF-8, once.

        `columns` are by field, where the names do not say it.

        Raises:
            SourceError: If the file, or one of its rows, cannot be read, or there is
                no row.
            InputError: If a field or column does not exist.
        """
        self.path = path
        self.towns = Towns()
        self.misplaced = Misplaced()
        self._table = TableFile(path)
        self._limit = limit
        self.columns = columns_of(self._read_whole(), columns or {})
        for column in self.columns.values():
            if place := self._table.nested.get(column):
                _refuse(f"{place}: {column!r} is no text or number")
        self._learn(self.columns.get("governing_body", _BODY))

    def _read_whole(self) -> list[str]:
        names: dict[str, None] = {}
        count, broken, first = 0, 0, ""
        for place, row in self._table.rows():
            if isinstance(row, str):
                broken += 1
                first = first or f"{place}: {row}"
            else:
                count += 1
                names |= dict.fromkeys(row)
        if broken:
            more = f"; {broken:,} rows in all cannot be read" if broken > 1 else ""
            _refuse(f"{first}{more}")
        if not count:
            raise SourceError(f"{self.path} has no row.")
        self.rows_total = min(count, self._limit or count)
        return [*names, *(name for name in self._table.nested if name not in names)]

    def _learn(self, body: str) -> None:
        """Read the file again for what its values tell of each other."""
        address, region = self.columns.get("address"), self.columns.get("region")
        towns = address is not None and "city" not in self.columns
        if not towns and region is None:
            return
        for _, row in self._sound():
            if towns:
                code = row.get(self.columns.get("postcode", ""), "")
                self.towns.learn(row.get(address or "", ""), code)
            if region is not None:
                self.misplaced.learn(row.get(region, ""), row.get(body, ""))

    @property
    def name(self) -> str:
        """Return the name of the file."""
        return self.path.name

    def rows(self) -> Iterator[tuple[str, Row]]:
        """Yield the rows with their place: field of an institution -> text.

        A website that stands in another column is taken; `url_column` says in which.
        """
        for place, row in islice(self._sound(), self._limit):
            told = {
                field: text
                for field, column in self.columns.items()
                if (text := " ".join(row.get(column, "").split()))
            }
            moved = None if told.get("url") else moved_address(row)
            if moved is not None and "url" in self.columns:
                told["url"], told["url_column"] = moved[1], moved[0]
            yield place, told

    def _sound(self) -> Iterator[tuple[str, Row]]:
        """Yield place and row of a file whose rows could be read before."""
        for place, row in self._table.rows():
            if isinstance(row, str):
                msg = f"{place}: {row}. The file has changed while it was read."
                raise SourceError(msg)
            yield place, row


def _refuse(problem: str) -> NoReturn:
    raise SourceError(f"{problem}. Nothing was stored: mend the file first.")

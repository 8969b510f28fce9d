"""Institutions near a town: how far a question asks for, and what a point index has."""

from __future__ import annotations

import re
import time
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

from knowtrail.graph.rdf.vocabulary import Vocabulary
from knowtrail.ingest.custodians import custodians_near, custodians_unplaced
from knowtrail.retrieval.specificity.execution import (
    DEFAULT_BASE,
    MOST_ROWS,
    Execution,
)
from knowtrail.retrieval.specificity.quantities import NEGATOR, Digits, read_number
from knowtrail.retrieval.specificity.vocabulary import data_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowtrail.graph.db.connection import Connection
    from knowtrail.retrieval.specificity.gazetteer import Gazetteer
    from knowtrail.retrieval.specificity.vocabulary import Mention

NEAR = "list_institutions_near"
"""The template of what is near a town: its query is that of the point index."""

KILOMETRES = 10.0
"""How far `near` is where no distance is said."""

_DATA = data_file("quantities.yaml")["near"]
_UNITS = {re.compile(unit, re.IGNORECASE): km for unit, km in _DATA["units"].items()}
_PHRASE = re.compile(
    rf"(?P<not>{NEGATOR}\s+(?:\w+\s+)??)?"
    rf"\b(?:(?:{_DATA['within']})\s+(?P<number>\d[\d.,]*)\s*"
    rf"(?P<unit>{'|'.join(_DATA['units'])})\s+(?:{_DATA['from']})|{_DATA['around']})"
    r"\s+(?:(?:the|de|het)\s+)?(?:(?:city|town|stad|plaats|gemeente)\s+(?:(?:of|van)\s+)?)?$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vicinity:
    """What lies within some kilometres of points, by latitude and longitude."""

    points: tuple[tuple[float, float], ...]
    km: float


def asked_distance(
    question: str, mentions: Sequence[Mention]
) -> tuple[str, float, str] | None:
    """Return a question with `in` for `near`, how many km, and its words; or None."""
    for town in mentions:
        view = Digits(question[: town.start])
        found = _PHRASE.search(view.text) if town.kind == "city" else None
        if found and not found["not"]:
            km = KILOMETRES
            if found["number"]:
                unit = next(u for u in _UNITS if u.fullmatch(found["unit"]))
                if (number := read_number(found["number"], None)) is None:
                    continue
                km = float(number) * _UNITS[unit]
            start = view.place(found.start())
            plain = f"{question[:start]}in {question[town.start :]}"
            return plain, km, question[start : town.start].strip()
    return None


@dataclass(eq=False)
class Nearby:
    """Finds institutions near towns by the coordinates that the database has."""

    connection: Connection
    gazetteer: Gazetteer
    _: KW_ONLY
    corpus: str | None = None
    base: str = DEFAULT_BASE

    def of_town(self, town: Mention, km: float) -> Vicinity | None:
        """Return what is near a town; None where its place is not known."""
        meant = self.gazetteer.meant["city"].get(town.value, (town.value,))
        rows = self.connection.read(
            "custodians/towns", cities=list(meant), corpus=self.corpus
        )
        wanted = {town.within.value, town.within.text} if town.within else set()
        points = tuple(
            (row["latitude"], row["longitude"])
            for row in rows
            if not wanted or wanted & set(row.values())
        )
        return Vicinity(points=points, km=km) if points else None

    def found(self, vicinity: Vicinity, types: Sequence[str]) -> Execution:
        """Return institutions of some types, or of all, the nearest first."""
        begin, node = time.monotonic(), Vocabulary(self.base).node
        near: dict[str, tuple[float, tuple[str, str, str | None, float]]] = {}
        for latitude, longitude in vicinity.points:
            for one in custodians_near(
                self.connection,
                latitude=latitude,
                longitude=longitude,
                km=vicinity.km,
                corpus=self.corpus,
                types=types or None,
                limit=MOST_ROWS + 1,
            ):
                iri = one.uri or node("Custodian", one.id)
                row = (iri, one.name, one.city, round(one.km, 1))
                near[iri] = min(near.get(iri, (one.km, row)), (one.km, row))
        rows = [row for _, row in sorted(near.values(), key=lambda v: (v[0], v[1][0]))]
        return Execution(
            columns=("custodian", "name", "place", "km"),
            rows=tuple(rows[:MOST_ROWS]),
            seconds=time.monotonic() - begin,
            cut=len(rows) > MOST_ROWS,
        )

    def unplaced(self, types: Sequence[str]) -> tuple[int, int]:
        """Return how many institutions have no coordinates, and how many there are."""
        found = custodians_unplaced(
            self.connection, corpus=self.corpus, types=types or None
        )
        return found.without_location, found.institutions

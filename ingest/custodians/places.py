"""Where stored institutions are: near a point, or at no place that is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from knowtrail.graph.errors import InputError
from knowtrail.ingest.custodians.columns import AXES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowtrail.graph.db.connection import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """An institution near a point.

    Attributes:
        id: Key of its node.
        uri: Its own IRI, where it has one.
        name: Its name.
        city: Its town, where that is known.
        type: Letter of its type.
        km: How far away it is, on the sphere of WGS 84, in kilometres.
    """

    id: str
    uri: str | None
    name: str
    city: str | None
    type: str
    km: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Unplaced:
    """How many institutions cannot be found by their place.

    Attributes:
        institutions: How many there are in all.
        without_town: Of these, without a town.
        without_location: Of these, without coordinates.
    """

    institutions: int
    without_town: int
    without_location: int


def custodians_near(
    connection: Connection,
    *,
    latitude: float,
    longitude: float,
    km: float,
    corpus: str | None = None,
    types: Sequence[str] | None = None,
    limit: int = 100,
) -> list[Near]:
    """Return the institutions within a distance of a point, the nearest first.

    Args:
        connection: The database.
        latitude: Of the point, in degrees of WGS 84.
        longitude: Of the point, in degrees of WGS 84.
        km: The distance in kilometres.
        corpus: Only those of a corpus.
        types: Letters of types; None for all.
        limit: At most how many.

    Raises:
        InputError: If there is no such point, distance or limit.
    """
    AXES["latitude"](str(latitude))
    AXES["longitude"](str(longitude))
    if not 0 <= km <= 40_000 or limit < 1:
        msg = f"{km} km and at most {limit}: give 0 to 40000 km, and 1 or more."
        raise InputError(msg)
    rows = connection.read(
        "custodians/near",
        latitude=latitude,
        longitude=longitude,
        km=km,
        corpus=corpus,
        types=None if types is None else list(types),
        limit=limit,
    )
    return [Near(**row) for row in rows]


def custodians_unplaced(
    connection: Connection,
    *,
    corpus: str | None = None,
    types: Sequence[str] | None = None,
) -> Unplaced:
    """Return how many institutions have no town or no coordinates.

    Args:
        connection: The database.
        corpus: Only those of a corpus.
        types: Letters of types; None for all.
    """
    (row,) = connection.read(
        "custodians/unplaced",
        corpus=corpus,
        types=None if types is None else list(types),
    )
    return Unplaced(**row)

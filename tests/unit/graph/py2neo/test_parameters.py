"""Parameters as the driver can send them."""

from __future__ import annotations

import datetime
from typing import Any
from zoneinfo import ZoneInfo

import neo4j.time
import pytest

from knowtrail.graph.py2neo.cypher_writing import sendable

BERLIN = ZoneInfo("Europe/Berlin")
TWICE = datetime.datetime(2020, 10, 25, 2, 30, tzinfo=BERLIN)
"""An hour that the clock shows twice."""


@pytest.mark.parametrize(
    ("moment", "hours"),
    [
        (datetime.datetime(2020, 7, 1, tzinfo=BERLIN), 2),
        (datetime.datetime(2020, 1, 1, tzinfo=BERLIN), 1),
        (TWICE, 2),
        (TWICE.replace(fold=1), 1),
    ],
)
def test_zone_keeps_its_name_and_offset(moment: datetime.datetime, hours: int) -> None:
    """The zone is no longer one of zoneinfo, the moment is the same."""
    sent = sendable(moment)

    assert not isinstance(sent.tzinfo, ZoneInfo)
    assert sent.tzinfo.key == sent.tzname() == "Europe/Berlin"
    assert sent.utcoffset() == datetime.timedelta(hours=hours)
    assert sent.replace(tzinfo=None) == moment.replace(tzinfo=None)


def test_nanoseconds_stay() -> None:
    """A time of the driver with a zone of zoneinfo is mended too."""
    sent = sendable(neo4j.time.DateTime(2020, 7, 1, 1, 2, 3, 999, tzinfo=BERLIN))

    assert sent.nanosecond == 999
    assert sent.tzinfo.utcoffset(sent) == datetime.timedelta(hours=2)


def test_time_of_day_becomes_one_of_the_driver() -> None:
    """Its offset stays; a zone that has none without a day gives a local time."""
    zone = datetime.timezone(datetime.timedelta(hours=-3, minutes=-30))

    sent = sendable(datetime.time(3, 4, 5, 6, tzinfo=zone))

    assert sent.iso_format() == "03:04:05.000006000-03:30"
    assert sendable(datetime.time(3, tzinfo=BERLIN)).tzinfo is None


def test_lists_and_dictionaries_are_looked_through() -> None:
    """A copy is made where something in them is changed."""
    given: dict[str, Any] = {"rows": [(1, {"at": TWICE})], "name": "a"}

    sent = sendable(given)

    assert sent["rows"][0][0] == 1
    assert sent["rows"][0][1]["at"].tzinfo.key == "Europe/Berlin"
    assert given["rows"][0][1]["at"] is TWICE


@pytest.mark.parametrize(
    "value",
    [
        {"rows": [[1, "a", None, 1.5, True, b"x"]]},
        [datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1)],
        datetime.time(3, 4),
        object(),
        [],
    ],
)
def test_what_needs_no_change_is_not_copied(value: Any) -> None:
    """Bulk data are sent as they are."""
    assert sendable(value) is value


def test_zones_that_the_driver_knows_stay() -> None:
    """UTC of the standard library is understood as it is."""
    moment = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)

    assert sendable(moment) is moment

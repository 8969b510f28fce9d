"""Parameters as the driver can send them.

The driver asks the zone of a time for its offset with an object of its own in the place
of a `datetime`. Zones of `zoneinfo`, and any of a `datetime.time`, cannot stand that:
the process fails or crashes. So such times get a zone that has the same name and knows
the one offset that is asked for.
"""

from __future__ import annotations

import datetime
from typing import Any
from zoneinfo import ZoneInfo

_PLAIN = frozenset({str, int, float, bool, type(None), bytes, bytearray})
"""Classes of values that are sent as they are."""


def sendable(value: Any) -> Any:
    """Return a value with times that the driver can send; mostly the value itself.

    Lists, tuples and dictionaries are copied only where something in them is changed.
    """
    return _changed(value) if _has_zone(value) else value


def _has_zone(value: Any) -> bool:
    kind = type(value)
    if kind in _PLAIN:
        return False
    if isinstance(value, dict):
        value = list(value.values())
    elif kind is not list and kind is not tuple:
        return isinstance(getattr(value, "tzinfo", None), datetime.tzinfo)
    if set(map(type, value)) <= _PLAIN:
        return False
    return any(map(_has_zone, value))


def _changed(value: Any) -> Any:
    kind = type(value)
    if isinstance(value, dict):
        return {key: _changed(item) for key, item in value.items()}
    if kind is list or kind is tuple:
        return [_changed(item) for item in value]
    zone = getattr(value, "tzinfo", None)
    if isinstance(value, datetime.time) and zone is not None:
        return _time(value)
    if not isinstance(zone, ZoneInfo):
        return value
    native = value if isinstance(value, datetime.datetime) else value.to_native()
    return value.replace(tzinfo=Zone(zone.key, native.utcoffset()))


def _time(value: datetime.time) -> Any:
    from neo4j.time import Time

    offset = value.utcoffset()
    return Time(
        value.hour,
        value.minute,
        value.second,
        value.microsecond * 1000,
        tzinfo=None if offset is None else Zone(None, offset),
    )


class Zone(datetime.tzinfo):
    """A zone at one moment: its name (IANA), None for a mere offset from UTC."""

    def __init__(self, key: str | None, offset: datetime.timedelta | None) -> None:
        self.key = key
        self._offset = offset

    def utcoffset(self, moment: object) -> datetime.timedelta | None:
        """Return the offset, whatever the moment."""
        return self._offset

    def dst(self, moment: object) -> datetime.timedelta | None:
        """Return that daylight saving is not known."""
        return None

    def tzname(self, moment: object) -> str | None:
        """Return the name of the zone."""
        return self.key

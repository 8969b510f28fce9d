"""Servers that are busy: why they do not answer now, and when to ask them again."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Mapping

    from tenacity import RetryCallState


class BusyError(Exception):
    """A server asks to come back later, or the network failed on the way.

    `after` says in how many seconds it can answer, None where it did not tell.
    """

    def __init__(self, reason: str, *, after: float | None = None) -> None:
        super().__init__(reason)
        self.after = after


def asked_pause(state: RetryCallState) -> float | None:
    """Return the seconds that the last `BusyError` asks for, None without any."""
    error = state.outcome.exception() if state.outcome else None
    return error.after if isinstance(error, BusyError) else None


def pause_noted(log: logging.Logger, url: str) -> Callable[[RetryCallState], None]:
    """Return what logs, before each pause, why and when an address is asked again."""

    def note(state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        pause = state.next_action.sleep if state.next_action else 0
        log.info("%s: %s; asking again in %.1f s", url, error, pause)

    return note


def retry_after(headers: Mapping[str, object]) -> float | None:
    """Return the seconds of `Retry-After`, a number or a date to come, or None."""
    value = headers.get("retry-after", "")
    text = value.decode("latin-1") if isinstance(value, bytes) else str(value)
    try:
        seconds = float(text)
    except ValueError:
        try:
            when = parsedate_to_datetime(text)
        except (ValueError, OverflowError):
            return None
        when = when if when.tzinfo else when.replace(tzinfo=UTC)
        left = (when - datetime.now(UTC)).total_seconds()
        return left if left > 0 else None
    return seconds if 0 <= seconds < math.inf else None

"""How fast a judge may be asked, and what to do when it does not answer."""

from __future__ import annotations

import asyncio
import time
from typing import Literal

__all__ = ["Pace", "fault_of", "retry_after"]

Fault = Literal["again", "refused", "fatal"]
"""Ask again later; do not ask this again; do not ask anything again."""

_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_FATAL = frozenset({401, 402, 403, 404})
_LONGEST_PAUSE = 120.0


class Pace:
    """Spaces requests evenly, so that neither they nor their tokens are too many.

    A minute's allowance is never spent at once: a server that counts in shorter times
    sees no burst either.
    """

    def __init__(
        self,
        *,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
    ) -> None:
        """Set the limits; None is no limit."""
        self._request = 60 / requests_per_minute if requests_per_minute else 0.0
        self._token = 60 / tokens_per_minute if tokens_per_minute else 0.0
        self._next = 0.0

    async def turn(self, tokens: int) -> None:
        """Wait until a request with so many tokens may be sent."""
        now = time.monotonic()
        begin = max(now, self._next)
        self._next = begin + max(self._request, self._token * tokens)
        if begin > now:
            await asyncio.sleep(begin - now)

    def pause(self, seconds: float) -> None:
        """Let no further request begin for a while."""
        self._next = max(self._next, time.monotonic() + seconds)


def fault_of(error: BaseException) -> Fault:
    """Return what an error of a model's client asks for.

    A status of the answer decides: too many requests, time-outs and failures of the
    server are worth another try, a refused key or an unknown model end everything.
    Without a status, it is a connection or a time limit that failed, or a defect.

    Args:
        error: What the client raised; clients differ in where they put the status.
    """
    status = _status(error)
    if status is not None:
        if status in _FATAL:
            return "fatal"
        return "again" if status in _AGAIN or status >= 500 else "refused"
    names = " ".join(
        kind.__name__ for each in _chain(error) for kind in type(each).__mro__
    )
    if "Timeout" in names or "Connect" in names or "TransportError" in names:
        return "again"
    return "refused"


def _chain(error: BaseException) -> list[BaseException]:
    """Return an error with what it was raised from."""
    found: list[BaseException] = []
    each: BaseException | None = error
    while each is not None and each not in found:
        found.append(each)
        each = each.__cause__
    return found


def _status(error: BaseException) -> int | None:
    """Return the status of an answer over HTTP."""
    for each in _chain(error):
        for name in ("status_code", "code", "http_status"):
            value = getattr(each, name, None)
            if isinstance(value, int) and 400 <= value < 600:
                return int(value)
    return None


def retry_after(error: BaseException) -> float | None:
    """Return for how many seconds a server asked to be left alone."""
    for each in _chain(error):
        headers = getattr(getattr(each, "response", None), "headers", None) or {}
        try:
            seconds = float(headers.get("retry-after", ""))
        except (TypeError, ValueError, AttributeError):
            continue
        if seconds >= 0:
            return min(seconds, _LONGEST_PAUSE)
    return None

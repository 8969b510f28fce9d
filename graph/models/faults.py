"""What goes wrong with a model's server, and what it asks for."""

from __future__ import annotations

from typing import Any, Literal

from knowtrail.graph import busy

Fault = Literal["again", "refused", "fatal"]
"""Ask again later; do not ask this again; do not ask anything again."""

BUSY = frozenset({408, 409, 425, 429, 502, 503, 504, 529})
"""The server has said that it will answer another time."""

TRIES = 3
PAUSE_SECONDS = 1.0
_FATAL = frozenset({401, 402, 403, 404})
_LONGEST_PAUSE = 120.0
_EMPTY = "insufficient_quota"
"""OpenAI says so with the status of too many requests."""


def fault_of(error: BaseException) -> Fault:
    """Return what an error of a model's client asks for.

    A status of the answer decides: too many requests, time-outs and failures of the
    server are worth another try, a refused key or an unknown model end everything.
    Without a status, it is a connection or a time limit that failed, or a defect.
    """
    status = status_of(error)
    if status is not None:
        if status in _FATAL:
            return "fatal"
        return "again" if status in BUSY or status >= 500 else "refused"
    names = _names(error)
    if "Timeout" in names or "Connect" in names or "TransportError" in names:
        return "again"
    return "refused"


def is_late(error: BaseException) -> bool:
    """Return whether a time limit is over, that for finding the server apart."""
    names = _names(error)
    return "Timeout" in names and "ConnectTimeout" not in names


def status_of(error: BaseException) -> int | None:
    """Return the status of an answer over HTTP, None where there was none."""
    for each in _chain(error):
        for name in ("status_code", "code", "http_status"):
            value = getattr(each, name, None)
            if isinstance(value, int) and 400 <= value < 600:
                return int(value)
    return None


def retry_after(error: BaseException) -> float | None:
    """Return for how many seconds a server asked to be left alone."""
    for each in _chain(error):
        headers: Any = getattr(getattr(each, "response", None), "headers", None)
        asked = busy.retry_after(headers) if hasattr(headers, "get") else None
        if asked is not None:
            return min(asked, _LONGEST_PAUSE)
    return None


def pause_before(attempt: int, error: BaseException, left: float) -> float | None:
    """Return after how many seconds a busy server is asked again; None for never."""
    if attempt >= TRIES or status_of(error) not in BUSY:
        return None
    if getattr(error, "code", None) == _EMPTY:
        return None
    asked = retry_after(error)
    pause = PAUSE_SECONDS * 2 ** (attempt - 1) if asked is None else asked
    return pause if pause < left else None


def reason_of(error: BaseException) -> str:
    """Return the sentence of an answer's body, or else all that the client says."""
    body: Any = getattr(error, "body", None)
    while isinstance(body, dict):
        if isinstance(body.get("message"), str):
            return str(body["message"])
        body = body.get("error")
    return str(error)


def _names(error: BaseException) -> str:
    return " ".join(
        kind.__name__ for each in _chain(error) for kind in type(each).__mro__
    )


def _chain(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    each: BaseException | None = error
    while each is not None and each not in found:
        found.append(each)
        each = each.__cause__
    return found

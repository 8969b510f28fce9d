"""Errors of models' servers: told apart, with what they ask for."""

from __future__ import annotations

from types import SimpleNamespace

import httpx

from knowtrail.graph.models.faults import fault_of, retry_after
from tests.cases import each


def error_of(status: int, **headers: str) -> httpx.HTTPStatusError:
    """Return what a client raises for a status."""
    request = httpx.Request("POST", "http://localhost")
    response = httpx.Response(status, headers=headers, request=request)
    error = httpx.HTTPStatusError("no", request=request, response=response)
    error.status_code = status  # type: ignore[attr-defined]
    return error


@each(
    ("error", "fault"),
    [
        (error_of(429), "again"),
        (error_of(529), "again"),
        (error_of(401), "fatal"),
        (error_of(404), "fatal"),
        (error_of(400), "refused"),
        (TimeoutError(), "again"),
        (httpx.ConnectError("no"), "again"),
        (httpx.ReadTimeout("late"), "again"),
        (ValueError("defect"), "refused"),
    ],
)
def test_errors_are_told_apart(error: Exception, fault: str) -> None:
    """By status where there is one, else by kind."""
    assert fault_of(error) == fault


def test_the_cause_of_an_error_counts() -> None:
    """Clients wrap what they raise."""
    error = RuntimeError("wrapped")
    error.__cause__ = error_of(503, **{"retry-after": "7"})

    assert fault_of(error) == "again"
    assert retry_after(error) == 7.0
    assert retry_after(error_of(429, **{"retry-after": "soon"})) is None
    assert retry_after(error_of(429, **{"retry-after": "99999"})) == 120.0


@each(
    ("told", "seconds"),
    [
        ("2.5", 2.5),
        ("-5", None),
        ("nan", None),
        ("inf", None),
        ("", None),
        ("0", 0.0),
        (b"7", 7.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", None),
        ("Wed, 21 Oct 2015 07:28:00", None),
        ("Thu, 01 Jan 99999999999 00:00:00 GMT", None),
        ("Fri, 21 Oct 2099 99999999999999999999:28:00 GMT", None),
        ("Fri, 21 Oct 2999 07:28:00 GMT", 120.0),
        (None, None),
    ],
)
def test_odd_pauses_are_not_kept(
    told: str | bytes | None, seconds: float | None
) -> None:
    """What is no time asks for nothing; a date is a pause till then."""
    error = RuntimeError("busy")
    error.response = SimpleNamespace(headers={"retry-after": told})  # type: ignore[attr-defined]

    assert retry_after(error) == seconds

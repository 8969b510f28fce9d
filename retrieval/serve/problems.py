"""What a client is told when something is wrong: one JSON shape, the right status."""

from __future__ import annotations

from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from graph.errors import (
    CorpusDriftError,
    InputError,
    KnowtrailError,
    MissingExtraError,
    ModelError,
    UnavailableError,
    UnknownCorpusError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MEDIA_TYPE", "Problem", "http_problem", "problem_of"]

MEDIA_TYPE = "application/problem+json"
RETRY_SECONDS = 5

_STATUSES: tuple[tuple[type[KnowtrailError], HTTPStatus], ...] = (
    (UnknownCorpusError, HTTPStatus.NOT_FOUND),
    (InputError, HTTPStatus.BAD_REQUEST),
    (CorpusDriftError, HTTPStatus.CONFLICT),
    (UnavailableError, HTTPStatus.SERVICE_UNAVAILABLE),
    (ModelError, HTTPStatus.SERVICE_UNAVAILABLE),
    (MissingExtraError, HTTPStatus.NOT_IMPLEMENTED),
)
"""The first that fits holds; what is not listed is our failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A refusal or a failure, as RFC 9457 words it.

    Attributes:
        status: HTTP status.
        detail: What was wrong, the value, what to do.
        error: Name of the error's kind, for programs.
        headers: Headers that the answer needs besides.
    """

    status: HTTPStatus
    detail: str
    error: str
    headers: Mapping[str, str] = field(default_factory=dict)

    def as_dict(self, request_id: str) -> dict[str, Any]:
        """Return the body of the answer.

        Args:
            request_id: The id under which the log has the request.
        """
        return {
            "type": "about:blank",
            "title": self.status.phrase,
            "status": int(self.status),
            "detail": self.detail,
            "error": self.error,
            "requestId": request_id,
        }


def problem_of(error: Exception) -> Problem:
    """Return what a client is told of an error.

    An error that nobody foresaw is not shown: its text may have anything in it.
    """
    if not isinstance(error, KnowtrailError):
        return Problem(
            status=HTTPStatus.INTERNAL_SERVER_ERROR,
            detail="An unexpected failure: the log has it under this request's id.",
            error="UnexpectedError",
        )
    status = next(
        (status for kind, status in _STATUSES if isinstance(error, kind)),
        HTTPStatus.INTERNAL_SERVER_ERROR,
    )
    again = status is HTTPStatus.SERVICE_UNAVAILABLE
    return Problem(
        status=status,
        detail=str(error),
        error=type(error).__name__,
        headers={"Retry-After": str(RETRY_SECONDS)} if again else {},
    )


def http_problem(
    status: int, detail: str, headers: Mapping[str, str] | None = None
) -> Problem:
    """Return a problem that HTTP itself has a name for."""
    named = HTTPStatus(status)
    words = "".join(filter(str.isalpha, named.phrase.title()))
    return Problem(status=named, detail=detail, error=words, headers=headers or {})

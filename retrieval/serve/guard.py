"""What every request passes: host, origin, key, size; and what the log says of it."""

from __future__ import annotations

import logging
import secrets
import time
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from graph.errors import InputError
from retrieval.serve.arguments import read_query
from retrieval.serve.keys import is_key, shown_key
from retrieval.serve.problems import MEDIA_TYPE, Problem, http_problem, problem_of

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["LOOPBACK_NAMES", "Guard", "Rules", "problem_response"]

_LOG = logging.getLogger(__name__)
LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "::1", "host.docker.internal"})
"""Names of this machine that nobody else can hand out; the last is Docker's."""

OPEN_PATHS = frozenset({"/health", "/ready"})
"""They need no key: what watches the process has none."""

_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; "
        "frame-ancestors 'none'; base-uri 'none'"
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Who may ask, and how much at once.

    Attributes:
        key: What a client must show; None where none is needed. Not in the repr.
        hosts: Names in the `Host` header that are served; None serves any.
        body_bytes: The longest body that is read.
    """

    key: str | None = None
    hosts: frozenset[str] | None = LOOPBACK_NAMES
    body_bytes: int = 256 * 1024

    def __repr__(self) -> str:
        """Show everything but the key."""
        return f"Rules(key={'set' if self.key else None}, hosts={self.hosts})"


class Guard:
    """ASGI middleware around the whole application."""

    def __init__(self, app: ASGIApp, rules: Rules) -> None:
        self._app = app
        self._rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on; write one line about it."""
        if scope["type"] != "http":
            return
        request_id = secrets.token_hex(6)
        scope.setdefault("state", {})["request_id"] = request_id
        watched = _Watched(send, request_id)
        begin = time.perf_counter()
        try:
            problem = self._refusal(scope)
            if problem is None:
                await self._app(scope, self._limited(receive), watched)
            else:
                response = problem_response(problem, request_id)
                await response(scope, receive, watched)
        except Exception as error:  # an answer is due whatever happened
            await self._fail(scope, receive, watched, error)
        finally:
            _LOG.info(
                "%s %s %s %s %.0f ms",
                request_id,
                scope["method"],
                ascii(scope["path"][:200])[1:-1],
                watched.status,
                (time.perf_counter() - begin) * 1000,
            )

    def _refusal(self, scope: Scope) -> Problem | None:
        """Return why a request is not served, None where it is."""
        headers = Headers(scope=scope)
        host = _host_name(headers.get("host", ""))
        if self._rules.hosts is not None and host not in self._rules.hosts:
            return _forbidden(
                f"This server is not {headers.get('host', '')[:200]!r}: use "
                "127.0.0.1, or start it with --allowed-host NAME."
            )
        if _is_foreign(headers):
            return _forbidden("A page of another site asks: that is not allowed.")
        if scope["path"] not in OPEN_PATHS and not self._has_key(scope, headers):
            return http_problem(
                HTTPStatus.UNAUTHORIZED,
                "The key is missing or wrong: send Authorization: Bearer KEY, or basic "
                "authentication with the key as password; for CSV, key=KEY in the URL.",
                {"WWW-Authenticate": 'Basic realm="knowtrail"'},
            )
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > self._rules.body_bytes:
            return _too_large(self._rules.body_bytes)
        return None

    def _has_key(self, scope: Scope, headers: Headers) -> bool:
        """Return whether a request shows the key.

        LOAD CSV sends no header at all, so CSV also takes the key from the URL.
        """
        if self._rules.key is None:
            return True
        shown = shown_key(headers.get("authorization", ""))
        if shown is None and scope["path"].endswith(".csv"):
            try:
                shown = read_query(scope["query_string"]).get("key", [None])[0]
            except InputError:
                return False
        return is_key(shown, self._rules.key)

    def _limited(self, receive: Receive) -> Receive:
        """Return a channel that ends with a refusal when a body is too long."""
        read = 0

        async def limited() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self._rules.body_bytes:
                problem = _too_large(self._rules.body_bytes)
                raise HTTPException(problem.status, problem.detail)
            return message

        return limited

    async def _fail(
        self, scope: Scope, receive: Receive, send: _Watched, error: Exception
    ) -> None:
        """Answer a request that failed in a way nobody foresaw, if that is possible."""
        _LOG.error(
            "%s failed: %s",
            send.request_id,
            type(error).__name__,
            exc_info=error if _LOG.isEnabledFor(logging.DEBUG) else None,
        )
        if send.status is None:
            response = problem_response(problem_of(error), send.request_id)
            await response(scope, receive, send)


class _Watched:
    """A channel to the client that adds headers and remembers the status."""

    def __init__(self, send: Send, request_id: str) -> None:
        self.status: int | None = None
        self.request_id = request_id
        self._send = send

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        """Pass a message on."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers["X-Request-Id"] = self.request_id
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await self._send(message)


def problem_response(problem: Problem, request_id: str) -> JSONResponse:
    """Return a problem as an answer."""
    return JSONResponse(
        problem.as_dict(request_id),
        status_code=problem.status,
        headers=dict(problem.headers),
        media_type=MEDIA_TYPE,
    )


def _host_name(host: str) -> str:
    """Return the name in a `Host` header, without the port."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower().rstrip(".")
    except ValueError:
        return ""


def _is_foreign(headers: Mapping[str, str]) -> bool:
    """Return whether a browser says that a page of another site asks.

    Such a page cannot read the answer, but the call would run and be recorded.
    """
    if headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}:
        return True
    origin = headers.get("origin")
    if origin is None:
        return False
    try:
        return urlsplit(origin).netloc != headers.get("host")
    except ValueError:
        return True


def _forbidden(detail: str) -> Problem:
    """Return the refusal of a request that does not come from where it may."""
    return http_problem(HTTPStatus.FORBIDDEN, detail)


def _too_large(most: int) -> Problem:
    """Return the refusal of a body that is too long."""
    return http_problem(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        f"The body has more than {most} bytes: a question is at most 10,000 "
        "characters.",
    )

"""What every request passes: host, origin, key, size; what it is told when refused."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import logging
import math
import re
import secrets
import time
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from knowtrail.graph.errors import (
    CorpusDriftError,
    InputError,
    KnowtrailError,
    MissingExtraError,
    ModelError,
    SettingsError,
    StorageError,
    UnavailableError,
    UnknownCorpusError,
)
from knowtrail.graph.files import disk_errors, private_folder
from knowtrail.graph.server.folder import write_whole
from knowtrail.retrieval.serve.request_values import read_query

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping
    from pathlib import Path

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
    """A refusal or a failure, as RFC 9457 words it; `error` names its kind."""

    status: HTTPStatus
    detail: str
    error: str
    headers: Mapping[str, str] = field(default_factory=dict)

    def as_dict(self, request_id: str) -> dict[str, Any]:
        """Return the body of the answer, with the id that the log has too."""
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


KEY_BYTES = 24
_SOUND = re.compile(r"[!-~]{16,200}")
FILE_NAME = "serve.key"


def check_key(key: str, where: str) -> str:
    """Return a key that a header can carry and nobody guesses; a refusal hides it."""
    if not _SOUND.fullmatch(key):
        raise SettingsError(
            f"The key of {where} has {len(key)} characters or some that a header "
            "cannot carry: use 16 to 200 letters, digits and signs, no spaces."
        )
    return key


def read_keys(path: Path) -> dict[str, str]:
    """Return the keys of a file by the names of their callers.

    A line is a key, or a name and a key: `ada 0123456789abcdef`. Neither comes twice.
    """
    try:
        lines = [line for line in path.read_text("utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        msg = f"Cannot read a key from {path}: write it on the first line."
        raise SettingsError(msg) from error
    keys: dict[str, str] = {}
    for line in lines or [""]:
        *words, key = line.split() or [""]
        name = " ".join(words)
        if name in keys or key in keys.values():
            msg = f"{path} has two keys without a name, or a name or key twice."
            raise SettingsError(msg)
        keys[name] = check_key(key, str(path))
    return keys


def stored_keys(home: Path) -> tuple[dict[str, str], Path]:
    """Return the keys of a home folder with their private file, made at first."""
    path = home / FILE_NAME
    if not path.exists():
        told = "Cannot make {home}: {reason}. Choose another --home."
        with disk_errors(StorageError, told, home=home):
            if not home.exists():
                private_folder(home)
        write_whole(path, secrets.token_urlsafe(KEY_BYTES) + "\n")
    if path.stat().st_mode & 0o077:
        msg = f"Others can read {path}: delete it, and the next start makes a new key."
        raise StorageError(msg)
    return read_keys(path), path


def shown_key(authorization: str) -> str | None:
    """Return the key of `Bearer KEY`, or the password of `Basic ...`; or None."""
    scheme, _, value = authorization.strip().partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() != "basic":
        return None
    try:
        pair = base64.b64decode(value.strip(), validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return None
    return pair.partition(":")[2]


def caller_of(shown: str | None, keys: Mapping[str, str]) -> str | None:
    """Return whose key a client shows, or None, in a time that tells nothing."""
    digest = _digest(shown or "")
    fits = [n for n, key in keys.items() if hmac.compare_digest(digest, _digest(key))]
    return fits[0] if fits else None


def _digest(text: str) -> bytes:
    """Return a digest, as long for every text."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()


_LOG = logging.getLogger(__name__)
LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "::1", "host.docker.internal"})
"""Names of this machine that nobody else can hand out; the last is Docker's."""

OPEN_PATHS = frozenset({"/health", "/ready"})
"""They need no key: what watches the process has none."""
_NO_CALLS = ("/explore", "/metrics")
"""Beginnings of paths that are looked at without a call of those that are counted."""

_DIGITS = 18
"""Of a length in bytes that is looked at as a number."""

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
    """Who may ask (by the callers' names, anyone where there is none), and how much.

    `hosts` are the names in the `Host` header that are served; None serves any.
    `per_minute` are the calls of each caller, which come back evenly.
    """

    keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    hosts: frozenset[str] | None = LOOPBACK_NAMES
    body_bytes: int = 256 * 1024
    per_minute: int | None = None


class Guard:
    """ASGI middleware around the whole application."""

    def __init__(self, app: ASGIApp, rules: Rules) -> None:
        self._app = app
        self._rules = rules
        self._left: dict[str, tuple[float, float]] = {}

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
                await problem_response(problem, request_id)(scope, receive, watched)
        except Exception as error:  # an answer is due whatever happened
            await self._fail(scope, receive, watched, error)
        finally:
            caller = scope["state"].get("caller")
            _LOG.log(
                logging.WARNING if (watched.status or 0) >= 400 else logging.INFO,
                "%s %s %s %s %.0f ms%s",
                request_id,
                scope["method"],
                ascii(scope["path"][:200])[1:-1],
                watched.status,
                (time.perf_counter() - begin) * 1000,
                f" for {ascii(caller)[1:-1]}" if caller else "",
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
        if _is_foreign(headers) and not _is_link(scope, headers):
            return _forbidden("A page of another site asks: that is not allowed.")
        caller = self._caller(scope, headers)
        if scope["path"] not in OPEN_PATHS and caller is None:
            return http_problem(
                HTTPStatus.UNAUTHORIZED,
                "The key is missing or wrong: send Authorization: Bearer KEY, or basic "
                "authentication with the key as password; for CSV, key=KEY in the URL.",
                {"WWW-Authenticate": 'Basic realm="knowtrail"'},
            )
        scope["state"]["caller"] = caller
        length = headers.get("content-length", "0")
        digits = length.lstrip("0")
        if length.isdecimal() and (
            len(digits) > _DIGITS or int(digits or 0) > self._rules.body_bytes
        ):
            return _too_large(self._rules.body_bytes)
        path, looking = scope["path"], scope["method"] in ("GET", "HEAD")
        free = path in OPEN_PATHS or (looking and path.startswith(_NO_CALLS))
        return None if free else self._too_many(caller or "")

    def _too_many(self, caller: str) -> Problem | None:
        """Take one of a caller's calls; refuse where none is left."""
        most = self._rules.per_minute
        if most is None:
            return None
        now = time.monotonic()
        left, then = self._left.get(caller, (most, now))
        left = min(most, left + (now - then) * most / 60)
        self._left[caller] = left - (left >= 1), now
        if left >= 1:
            return None
        return http_problem(
            HTTPStatus.TOO_MANY_REQUESTS,
            f"More than {most} calls in a minute: try again in a while.",
            {"Retry-After": str(math.ceil((1 - left) * 60 / most))},
        )

    def _caller(self, scope: Scope, headers: Headers) -> str | None:
        """Return the name of the caller, None where a request shows no key."""
        # LOAD CSV sends no header at all, so CSV also takes the key from the URL.
        if not self._rules.keys:
            return ""
        shown = shown_key(headers.get("authorization", ""))
        if shown is None and scope["path"].endswith(".csv"):
            try:
                shown = read_query(scope["query_string"]).get("key", [None])[0]
            except InputError:
                return None
        return caller_of(shown, self._rules.keys)

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
    try:
        return (urlsplit(f"//{host}").hostname or "").lower().rstrip(".")
    except ValueError:
        return ""


def _is_foreign(headers: Mapping[str, str]) -> bool:
    """Return whether a browser says that a page of another site asks."""
    # Such a page cannot read the answer, but the call would run and be recorded.
    if headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}:
        return True
    origin = headers.get("origin")
    if origin is None:
        return False
    try:
        return urlsplit(origin).netloc != headers.get("host")
    except ValueError:
        return True


def _is_link(scope: Scope, headers: Mapping[str, str]) -> bool:
    """Return whether a link in another page leads to the explorer, which is safe."""
    path = scope["path"]
    return (
        scope["method"] == "GET"
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
        and "origin" not in headers
        and (path in {"/", "/explore"} or path.startswith("/explore/"))
        and path not in {"/explore/about", "/explore/rows"}
    )


def _forbidden(detail: str) -> Problem:
    return http_problem(HTTPStatus.FORBIDDEN, detail)


def _too_large(most: int) -> Problem:
    return http_problem(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        f"The body has more than {most} bytes: a question is at most 10,000 "
        "characters.",
    )

"""What both connections share: options of the driver, its errors, its counters."""

from __future__ import annotations

import errno
import logging
import re
import socket
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from datetime import timedelta, tzinfo
from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from knowtrail.graph.errors import (
    CredentialsError,
    DatabaseError,
    InputError,
    SettingsError,
    UnavailableError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import neo4j

    from knowtrail.graph.settings import Settings

_SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
DRIVER_OPTIONS: dict[str, Any] = {
    "user_agent": "knowtrail",
    "connection_timeout": 15,
    "max_transaction_retry_time": 30,
    "notifications_min_severity": "OFF",
}
_UNBUILT = re.compile(r"index\b.*(?:come online|not online|populat)", re.IGNORECASE)
_PROBE_SECONDS = 1.0
_NO_FILES = frozenset({errno.EMFILE, errno.ENFILE})
_TOO_MANY_FILES = (
    "No connection to Neo4j: this process has too many open files. Close connections "
    "and retrievers that are done, or raise the limit (ulimit -n)."
)
_UNTOLD = logging.NullHandler()
"""Keeps the driver's log, of what it then raises, from stderr where nobody set one."""


class Zone(tzinfo):
    """A zone at one moment, as the driver can send it: None names a mere offset."""

    def __init__(self, key: str | None, offset: timedelta | None) -> None:
        self.key = key
        self._offset = offset

    def utcoffset(self, moment: object) -> timedelta | None:
        """Return the offset, whatever the moment."""
        return self._offset

    def dst(self, moment: object) -> timedelta | None:
        """Return that daylight saving is not known."""
        return None

    def tzname(self, moment: object) -> str | None:
        """Return the name of the zone."""
        return self.key


def driver_options(settings: Settings) -> dict[str, Any]:
    """Return how the driver of a server is made.

    It tries again for `retry_seconds` what a busy or distant server did not do. Where
    a server of this machine refuses connections, nothing is tried again.
    """
    logging.getLogger("neo4j").addHandler(_UNTOLD)
    options = DRIVER_OPTIONS | {"max_transaction_retry_time": settings.retry_seconds}
    if settings.managed:
        options["resolver"] = partial(_followed, settings.home)
    elif is_loopback(urlsplit(settings.uri or "").hostname or ""):
        options["resolver"] = _reached
    return options


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address or name."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _followed(home: Path, address: neo4j.Address) -> list[neo4j.Address]:
    """Return where the server of a folder is now."""
    import neo4j

    from knowtrail.graph.server.folder import ServerFolder

    folder = ServerFolder(home)
    with _files_told():
        state = folder.read_state() if folder.is_alive() else None
    try:
        if state is not None:
            return _reached(neo4j.Address((address[0], state.port)))
    except UnavailableError as error:
        if not isinstance(error.__cause__, ConnectionRefusedError):
            raise
    raise UnavailableError(
        f"The Neo4j server of {home} does not answer (it does not run, or not yet): "
        "start it with knowtrail server start."
    )


def _reached(address: neo4j.Address) -> list[neo4j.Address]:
    """Return an address to which the driver opens a connection, if anybody is there."""
    try:
        with _files_told(), suppress(TimeoutError):
            socket.create_connection(tuple(address[:2]), _PROBE_SECONDS).close()
    except ConnectionRefusedError as error:
        where = f"Neo4j at {address[0]}:{address[1]}"
        raise UnavailableError(
            f"{where} does not answer (connection refused): check that the server runs."
        ) from error
    return [address]


@contextmanager
def _files_told() -> Iterator[None]:
    """Say where a process has as many open files as it may."""
    try:
        yield
    except OSError as error:
        if error.errno not in _NO_FILES:
            raise
        raise UnavailableError(_TOO_MANY_FILES) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """What a write really changed, as the server counted it."""

    nodes_created: int = 0
    nodes_deleted: int = 0
    relationships_created: int = 0
    relationships_deleted: int = 0
    properties_set: int = 0
    labels_added: int = 0

    def __add__(self, other: Counters) -> Counters:
        counts = {f.name: getattr(self, f.name) for f in fields(self)}
        return Counters(**{n: v + getattr(other, n) for n, v in counts.items()})

    @property
    def changed(self) -> bool:
        """Return whether anything was written."""
        return self != Counters()

    @classmethod
    def of(cls, summary: neo4j.ResultSummary) -> Counters:
        """Read the counters of a result summary."""
        return cls(**{f.name: getattr(summary.counters, f.name) for f in fields(cls)})


@contextmanager
def translate_errors(where: str = "Neo4j") -> Iterator[None]:
    """Turn the driver's errors into ours, with one line that says what to do."""
    from neo4j import exceptions as ne

    try:
        yield
    except ne.AuthError as error:
        raise CredentialsError(
            f"{where} refused the user name or password: check NEO4J_USERNAME and "
            "NEO4J_PASSWORD."
        ) from error
    except (ne.ServiceUnavailable, ne.SessionExpired, ne.IncompleteCommit) as error:
        if (why := _distrust(error)) is not None:
            msg = (
                f"{where} shows a certificate that is not trusted ({why}): name the "
                "file of who signed it in SSL_CERT_FILE, and the host that it is for."
            )
            raise SettingsError(msg) from error
        detail = first_line(error)
        msg = f"{where} does not answer ({detail}): check that the server runs."
        raise UnavailableError(msg) from error
    except ne.ConfigurationError as error:
        msg = f"The address of {where} cannot be used: {first_line(error)}."
        raise SettingsError(msg) from error
    except ne.Neo4jError as error:
        if error.code and error.code.startswith("Neo.ClientError.Security"):
            hint = " Wait ten seconds." if error.code.endswith("RateLimit") else ""
            raise CredentialsError(f"{where} refused: {error.message}{hint}") from error
        if error.code == "Neo.ClientError.Database.DatabaseNotFound":
            raise SettingsError(
                f"{where} has no such database ({error.message}): check NEO4J_DATABASE."
            ) from error
        msg = f"{where} reported {error.code}: {error.message}"
        if _UNBUILT.search(error.message or ""):
            msg = (
                f"An index of {where} that this needs is still being built: ask again "
                "when knowtrail schema show says that it is ONLINE."
            )
        raise DatabaseError(msg) from error
    except ne.DriverError as error:
        raise DatabaseError(f"The Neo4j driver failed: {first_line(error)}.") from error
    except UnicodeEncodeError as error:
        raise InputError(
            f"A value is not valid text at character {error.start + 1}, which is half "
            "a character: leave it out."
        ) from error
    except OverflowError as error:
        msg = "A number does not fit the 64 bits that Neo4j has: give it as text."
        raise InputError(msg) from error


def _distrust(error: BaseException) -> str | None:
    """Return why a certificate was refused, None where none was."""
    import ssl

    causes: list[BaseException | None] = [error]
    while causes:
        cause = causes.pop()
        if isinstance(cause, ssl.SSLCertVerificationError):
            return cause.verify_message.rstrip(".")
        if cause is not None:
            causes += [cause.__cause__, *getattr(cause, "exceptions", ())]
    return None


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text, without the resolver's detail."""
    line = (str(error).splitlines() or [type(error).__name__])[0]
    return line.partition(" (resolved to ")[0].rstrip(".:")


def server_address(settings: Settings) -> str:
    """Return the address, or raise `SettingsError`, which repeats no password in it."""
    uri = settings.uri
    if uri is None:
        raise SettingsError("No Neo4j address is set: give --uri or NEO4J_URI.")
    try:
        parts = urlsplit(uri)
        sound = (
            parts.scheme in _SCHEMES
            and bool(parts.hostname)
            and (parts.port is None or parts.port > 0)
        )
    except ValueError:
        sound = False
    if "@" in uri:
        raise SettingsError(
            "The Neo4j address has a user name in it: give NEO4J_USERNAME and "
            "NEO4J_PASSWORD instead."
        )
    if not sound:
        msg = f"The Neo4j address {uri!r} cannot be used: write bolt://HOST:PORT."
        raise SettingsError(msg)
    return uri


def credentials(settings: Settings) -> tuple[str, str] | None:
    """Return user name and password, None where the server asks for none."""
    if settings.password is None:
        return None
    return settings.username, settings.password

"""What both connections share: options of the driver, its errors, its counters."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from graph.errors import (
    CredentialsError,
    DatabaseError,
    InputError,
    SettingsError,
    UnavailableError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    import neo4j

    from graph.settings import Settings

__all__ = [
    "DRIVER_OPTIONS",
    "Counters",
    "credentials",
    "server_address",
    "translate_errors",
]

_SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
DRIVER_OPTIONS: dict[str, Any] = {
    "user_agent": "knowtrail",
    "connection_timeout": 15,
    "max_transaction_retry_time": 30,
    "notifications_min_severity": "OFF",
}


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
        """Add two counts field by field."""
        return Counters(
            nodes_created=self.nodes_created + other.nodes_created,
            nodes_deleted=self.nodes_deleted + other.nodes_deleted,
            relationships_created=self.relationships_created
            + other.relationships_created,
            relationships_deleted=self.relationships_deleted
            + other.relationships_deleted,
            properties_set=self.properties_set + other.properties_set,
            labels_added=self.labels_added + other.labels_added,
        )

    @property
    def changed(self) -> bool:
        """Return whether anything was written."""
        return self != Counters()

    @classmethod
    def of(cls, summary: neo4j.ResultSummary) -> Counters:
        """Read the counters of a result summary."""
        c = summary.counters
        return cls(
            nodes_created=c.nodes_created,
            nodes_deleted=c.nodes_deleted,
            relationships_created=c.relationships_created,
            relationships_deleted=c.relationships_deleted,
            properties_set=c.properties_set,
            labels_added=c.labels_added,
        )


@contextmanager
def translate_errors(where: str = "Neo4j") -> Iterator[None]:
    """Turn the driver's errors into ours, with one line that says what to do."""
    from neo4j import exceptions as ne

    try:
        yield
    except ne.AuthError as error:
        msg = (
            f"{where} refused the user name or password: check NEO4J_USERNAME and "
            "NEO4J_PASSWORD."
        )
        raise CredentialsError(msg) from error
    except (ne.ServiceUnavailable, ne.SessionExpired, ne.IncompleteCommit) as error:
        detail = _first_line(error)
        msg = f"{where} does not answer ({detail}): check that the server runs."
        raise UnavailableError(msg) from error
    except ne.ConfigurationError as error:
        msg = f"The address of {where} cannot be used: {_first_line(error)}."
        raise SettingsError(msg) from error
    except ne.Neo4jError as error:
        if error.code and error.code.startswith("Neo.ClientError.Security"):
            hint = " Wait ten seconds." if error.code.endswith("RateLimit") else ""
            msg = f"{where} refused: {error.message}{hint}"
            raise CredentialsError(msg) from error
        if error.code == "Neo.ClientError.Database.DatabaseNotFound":
            msg = (
                f"{where} has no such database ({error.message}): check NEO4J_DATABASE."
            )
            raise SettingsError(msg) from error
        msg = f"{where} reported {error.code}: {error.message}"
        raise DatabaseError(msg) from error
    except ne.DriverError as error:
        msg = f"The Neo4j driver failed: {_first_line(error)}."
        raise DatabaseError(msg) from error
    except UnicodeEncodeError as error:
        msg = (
            f"A value is not valid text at character {error.start + 1}, which is half "
            "a character: leave it out."
        )
        raise InputError(msg) from error


def _first_line(error: BaseException) -> str:
    """Return the first line of an error's text, without the resolver's detail."""
    line = (str(error).splitlines() or [type(error).__name__])[0]
    return line.partition(" (resolved to ")[0].rstrip(".:")


def server_address(settings: Settings) -> str:
    """Return the server's address.

    Raises:
        SettingsError: If there is none or it cannot be one; a password written into it
            is not repeated.
    """
    uri = settings.uri
    if uri is None:
        msg = "No Neo4j address is set: give --uri or NEO4J_URI."
        raise SettingsError(msg)
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
        msg = (
            "The Neo4j address has a user name in it: give NEO4J_USERNAME and "
            "NEO4J_PASSWORD instead."
        )
        raise SettingsError(msg)
    if not sound:
        msg = f"The Neo4j address {uri!r} cannot be used: write bolt://HOST:PORT."
        raise SettingsError(msg)
    return uri


def credentials(settings: Settings) -> tuple[str, str] | None:
    """Return user name and password, None where the server asks for none."""
    if settings.password is None:
        return None
    return settings.username, settings.password

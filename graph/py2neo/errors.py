"""Errors with py2neo's names, each also one of Knowtrail's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from neo4j import exceptions as ne

from knowtrail.graph import errors as ours
from knowtrail.graph.db.driver import first_line


class Neo4jError(ours.DatabaseError):
    """The server answered with a status code: `Neo.CLASSIFICATION.CATEGORY.TITLE`."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message, code)
        self.message = message
        self.code = code
        parts = [*code.split("."), "", "", ""]
        _, self.classification, self.category, self.title = parts[:4]

    def __str__(self) -> str:
        if not self.category:
            return self.message
        return f"[{self.category}.{self.title}] {self.message}"

    @classmethod
    def split_code(cls, code: str) -> tuple[str, str, str]:
        """Return classification, category and title of a status code."""
        parts = code.split(".") if isinstance(code, str) else []
        if len(parts) != 4 or parts[0] != "Neo":
            msg = f"{code!r} is no status code of Neo4j: they are Neo.X.Y.Z."
            raise ours.InputError(msg)
        return parts[1], parts[2], parts[3]


class ClientError(Neo4jError):
    """The statement or its data are at fault; the same again fails again."""


class DatabaseError(Neo4jError):
    """The server failed while it ran a statement."""


class TransientError(Neo4jError):
    """The server could not do it now; the same again may succeed."""


class ConnectionUnavailable(ours.UnavailableError):
    """A connection cannot be had."""


class ConnectionBroken(ours.UnavailableError):
    """A connection broke while it was used."""


class ConnectionLimit(ours.UnavailableError):
    """As many connections are in use as the settings allow."""


class ServiceUnavailable(ours.UnavailableError):
    """No server of the service answers."""


class WriteServiceUnavailable(ours.UnavailableError):
    """No server of the service takes writes."""


class ProtocolError(ours.DatabaseError):
    """Driver and server do not understand each other."""


class AuthenticationError(ClientError, ConnectionUnavailable, ours.CredentialsError):
    """User name or password were refused; py2neo told of this as either one."""


class TransactionFinished(ours.InputError, TypeError):  # noqa: N818  (py2neo's)
    """A transaction was used after its commit, rollback or failure."""


class UniquenessError(ours.InputError):
    """More than one node has the primary label and key of one to be merged."""


class UnsupportedValueError(ours.InputError, TypeError):
    """A value is of a type that Neo4j does not have."""


@contextmanager
def translated(where: str = "Neo4j") -> Iterator[None]:
    """Turn errors of the driver, at a place, into those of this module."""
    try:
        yield
    except Exception as error:
        if (made := _translation(error, where)) is None:
            raise
        raise made from error


def _translation(error: Exception, where: str) -> Exception | None:
    said = first_line(error)
    match error:
        case ours.KnowtrailError():  # only that of what finds the address is plain
            plain = type(error) is ours.UnavailableError
            return ServiceUnavailable(str(error)) if plain else None
        case ne.Neo4jError():
            return _from_server(error, where)
        case ne.SessionExpired() | ne.IncompleteCommit():
            return ConnectionBroken(f"The connection to {where} broke: {said}.")
        case ne.WriteServiceUnavailable():
            return WriteServiceUnavailable(f"{where} takes no writes now: {said}.")
        case ne.ServiceUnavailable():
            msg = f"{where} does not answer ({said}): check that the server runs."
            return ServiceUnavailable(msg)
        case ne.TransactionError() | ne.ResultError():
            return TransactionFinished(f"{said}: begin a new transaction.")
        case ne.ConfigurationError():
            return ours.SettingsError(f"The address of {where} cannot be used: {said}.")
        case ne.ConnectionAcquisitionTimeoutError():
            return ConnectionLimit(f"The Neo4j driver failed: {said}.")
        case ne.DriverError():
            return ProtocolError(f"The Neo4j driver failed: {said}.")
        case UnicodeEncodeError():
            msg = f"A text has half a character at {error.start + 1}: leave it out."
            return ours.InputError(msg)
        case OverflowError():
            msg = "A number does not fit the 64 bits that Neo4j has for it."
            return ours.InputError(msg)
        case TypeError() | ValueError():
            if said.startswith("Map keys must be strings, not <class 'str'>"):
                msg = "A key has half a character: leave it out."
                return UnsupportedValueError(msg)
            return UnsupportedValueError(f"{said}: give what Neo4j has a type for.")
    return None


def _from_server(error: ne.Neo4jError, where: str) -> Neo4jError:
    code, message = str(error.code or ""), str(error.message or first_line(error))
    if code in {
        "Neo.ClientError.Security.Unauthorized",
        "Neo.ClientError.Security.AuthenticationRateLimit",
    }:
        msg = f"{where} refused the user name or password: {message}"
        return AuthenticationError(msg, code)
    kinds = {"ClientError": ClientError, "TransientError": TransientError}
    part = code.split(".")[1] if code.count(".") == 3 else ""
    return kinds.get(part, DatabaseError)(message, code)

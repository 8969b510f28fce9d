"""Errors with py2neo's names, each also one of Knowtrail's own.

```
Neo4jError (DatabaseError of graph.errors)     the server answered with a status code
├── ClientError                                the caller's statement or data
│   └── AuthenticationError                    user name or password were refused
├── DatabaseError                              the server itself failed
└── TransientError                             trying again may help
ConnectionUnavailable, ConnectionBroken, ConnectionLimit, ServiceUnavailable,
WriteServiceUnavailable (UnavailableError)     no server, or it went away
ProtocolError (DatabaseError)                  driver and server do not agree
TransactionFinished (InputError, TypeError)    a finished transaction was used again
UniquenessError (InputError)                   a merge found several nodes for one
UnsupportedValueError (InputError, TypeError)  Neo4j has no type for a value
```
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from knowtrail.graph import errors as ours
from knowtrail.graph.db.driver import first_line

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "AuthenticationError",
    "ClientError",
    "ConnectionBroken",
    "ConnectionLimit",
    "ConnectionUnavailable",
    "DatabaseError",
    "Neo4jError",
    "ProtocolError",
    "ServiceUnavailable",
    "TransactionFinished",
    "TransientError",
    "UniquenessError",
    "UnsupportedValueError",
    "WriteServiceUnavailable",
]


class Neo4jError(ours.DatabaseError):
    """The server answered a statement with a status code.

    `classification`, `category` and `title` are the parts of a code such as
    `Neo.ClientError.Statement.SyntaxError`.
    """

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
    """User name or password were refused.

    py2neo told of this as `ClientError` or as `ConnectionUnavailable`, depending on
    version and server; this is both.
    """


class TransactionFinished(ours.InputError, TypeError):  # noqa: N818  (py2neo's)
    """A transaction was used after its commit, rollback or failure."""


class UniquenessError(ours.InputError):
    """More than one node has the primary label and key of one to be merged."""


class UnsupportedValueError(ours.InputError, TypeError):
    """A value is of a type that Neo4j does not have."""


_HALF = "Map keys must be strings, not <class 'str'>"
"""What the driver says of a key that is text, and cannot be encoded."""


@contextmanager
def translated(where: str = "Neo4j") -> Iterator[None]:
    """Turn errors of the driver, at a place, into those of this module."""
    from neo4j import exceptions as ne

    try:
        yield
    except ours.KnowtrailError as error:
        if type(error) is ours.UnavailableError:  # of what finds the address
            raise ServiceUnavailable(str(error)) from error
        raise
    except ne.Neo4jError as error:
        raise _from_server(error, where) from error
    except (ne.SessionExpired, ne.IncompleteCommit) as error:
        msg = f"The connection to {where} broke: {first_line(error)}."
        raise ConnectionBroken(msg) from error
    except ne.WriteServiceUnavailable as error:
        msg = f"{where} takes no writes now: {first_line(error)}."
        raise WriteServiceUnavailable(msg) from error
    except ne.ServiceUnavailable as error:
        detail = first_line(error)
        msg = f"{where} does not answer ({detail}): check that the server runs."
        raise ServiceUnavailable(msg) from error
    except (ne.TransactionError, ne.ResultError) as error:
        raise TransactionFinished(
            f"{first_line(error)}: begin a new transaction."
        ) from error
    except ne.ConfigurationError as error:
        msg = f"The address of {where} cannot be used: {first_line(error)}."
        raise ours.SettingsError(msg) from error
    except ne.DriverError as error:
        kind = (
            ConnectionLimit if "cquisition" in type(error).__name__ else ProtocolError
        )
        raise kind(f"The Neo4j driver failed: {first_line(error)}.") from error
    except UnicodeEncodeError as error:
        msg = f"A text has half a character at {error.start + 1}: leave it out."
        raise ours.InputError(msg) from error
    except OverflowError as error:
        msg = "A number does not fit the 64 bits that Neo4j has for it."
        raise ours.InputError(msg) from error
    except (TypeError, ValueError) as error:
        msg = f"{first_line(error)}: give what Neo4j has a type for."
        if msg.startswith(_HALF):
            msg = "A key has half a character: leave it out."
        raise UnsupportedValueError(msg) from error


def _from_server(error: Exception, where: str) -> Exception:
    code = str(getattr(error, "code", "") or "")
    message = str(getattr(error, "message", "") or first_line(error))
    if code in {
        "Neo.ClientError.Security.Unauthorized",
        "Neo.ClientError.Security.AuthenticationRateLimit",
    }:
        msg = f"{where} refused the user name or password: {message}"
        return AuthenticationError(msg, code)
    kinds = {kind.__name__: kind for kind in (ClientError, TransientError)}
    part = code.split(".")[1] if code.count(".") == 3 else ""
    return kinds.get(part, DatabaseError)(message, code)

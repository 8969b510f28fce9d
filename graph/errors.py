"""Every error that Knowtrail raises on purpose.

```
KnowtrailError
├── SettingsError (ValueError)          a setting is missing, unknown or out of range
├── InputError (ValueError)             something the caller passed or pointed to
│   ├── SourceError                     a dump, file or page that cannot be read
│   │   └── UnreachableError (ConnectionError)  a wiki that does not answer
│   ├── UnknownCorpusError (LookupError)
│   ├── UnknownAlgorithmError (LookupError)
│   ├── FilterError                     a retrieval filter that cannot be understood
│   ├── SnapshotError                   a snapshot is missing, damaged or out of date
│   ├── RdfError                        RDF or SPARQL that cannot be read or run
│   └── VectorError                     NaN, zero or wrongly sized vectors
├── CorpusDriftError                    settings differ from those of the stored corpus
├── IngestError                         an ingest ended before it was complete
├── QueryTimeoutError (TimeoutError)    a query took longer than it may
├── DatabaseError                       Neo4j refused or failed
│   ├── CredentialsError (PermissionError)
│   ├── UnavailableError (ConnectionError)
│   └── SchemaError
├── ServerError                         the managed local server
│   ├── InstallError
│   ├── PortInUseError (OSError)
│   └── ServerStartError
├── StorageError (OSError)              no space or no right to write our own files
├── ModelError                          an embedder or language model does not answer
└── MissingExtraError (ImportError)     an optional package is not installed
```

Messages say what was wrong, the value, and what to do. `InputError`, `SettingsError`
and `CorpusDriftError` are the user's to mend, all but `UnreachableError`: the command
line exits 2 for them and 1 for the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class KnowtrailError(Exception):
    """Root of the tree: catch this for anything Knowtrail reports."""


class SettingsError(KnowtrailError, ValueError):
    """A setting is missing, unknown or out of range."""


class InputError(KnowtrailError, ValueError):
    """Something the caller passed or pointed to cannot be used."""


class SourceError(InputError):
    """A dump, file or page cannot be read as what it should be."""


class UnreachableError(SourceError, ConnectionError):
    """A wiki does not answer, or is busy for too long."""


class UnknownCorpusError(InputError, LookupError):
    """No corpus of that name is stored; the message suggests near names."""


class UnknownAlgorithmError(InputError, LookupError):
    """No traversal algorithm of that name exists; the message suggests one."""


class FilterError(InputError):
    """A retrieval filter has an unknown operator, field or value type."""


class SnapshotError(InputError):
    """A snapshot is missing, damaged, of another version, or cannot be made."""


class RdfError(InputError):
    """RDF or SPARQL cannot be read, or asks for what is not done."""


class VectorError(InputError):
    """A vector is not finite, is zero or has the wrong number of dimensions."""


class CorpusDriftError(KnowtrailError):
    """Settings differ from those the stored corpus was made with."""


class IngestError(KnowtrailError):
    """An ingest ended before it was complete; what was stored stays valid."""


class QueryTimeoutError(KnowtrailError, TimeoutError):
    """A query took longer than it may, and was stopped."""

    @classmethod
    def after(cls, seconds: float) -> QueryTimeoutError:
        """Return the error that a time limit gives."""
        return cls(
            f"The query took longer than {seconds:g} s and was stopped: ask for less, "
            "or allow more time."
        )


class DatabaseError(KnowtrailError):
    """Neo4j refused a statement or failed while running it."""


class CredentialsError(DatabaseError, PermissionError):
    """User name or password were refused."""


class UnavailableError(DatabaseError, ConnectionError):
    """No Neo4j server answers at the address, or it went away."""


class SchemaError(DatabaseError):
    """The database's schema is missing, older or newer than this version."""


class ServerError(KnowtrailError):
    """The managed local server could not do what was asked."""


class InstallError(ServerError):
    """The server's files could not be fetched or are incomplete."""


class PortInUseError(ServerError, OSError):
    """The port that was asked for belongs to another process."""


class ServerStartError(ServerError):
    """The managed server did not start; the message has its last log line."""


class StorageError(KnowtrailError, OSError):
    """No space, or no right, to write one of our own files."""


class ModelError(KnowtrailError):
    """An embedder or language model is missing or does not answer."""


class MissingExtraError(KnowtrailError, ImportError):
    """An optional package is not installed; the message names the extra."""


def near_name(
    name: str,
    known: Iterable[str],
    near: str = "did you mean {!r}?",
    none: str = "",
    *,
    cutoff: float = 0.6,
) -> str:
    """Return `near` with the known name that is like a wrong one, or else `none`."""
    from difflib import get_close_matches

    found = get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return near.format(found[0]) if found else none


def shown(value: object) -> str:
    """Return a value as a message shows it, on one line and not for long."""
    try:
        return repr(value)[:80]
    except ValueError:  # Python writes no whole number of over 4,300 digits
        return "too large a number"


def check_whole(
    name: str, value: object, least: int, most: int, more: str = ""
) -> None:
    """Refuse what is no whole number of a range by an `InputError`."""
    if type(value) is not int or not least <= value <= most:
        told = f"give a whole number from {least} to {most}{more}."
        raise InputError(f"{name} is {shown(value)}: {told}")


def check_ranges(**given: tuple[float, float, float]) -> None:
    """Refuse a number, with the least and the most it may be, that is out of range."""
    for name, (value, least, most) in given.items():
        if isinstance(value, bool) or not least <= value <= most:
            msg = f"{name} is {shown(value)}: give a number from {least:g} to {most:,}."
            raise InputError(msg)

"""Errors of the field-level evaluation, each below `knowtrail.graph.errors.InputError`.

`SchemaError` is not `knowtrail.graph.errors.SchemaError`, which is about a database.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from knowtrail.graph.errors import InputError

MAX_DEPTH = 100
"""Levels that a schema may have, and a value from which one is inferred."""


class SchemaError(InputError):
    """An eval schema cannot be used, at a path that is empty at its root."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.path = path


class GoldValidationError(InputError):
    """A gold record, by id or position, does not fit its schema at a schema path."""

    def __init__(self, message: str, record_id: str | int = "", path: str = "") -> None:
        super().__init__(message)
        self.record_id = record_id
        self.path = path


class ArgumentError(InputError, TypeError):
    """An argument, a value or a parameter has the wrong type."""


class ScoringError(ArgumentError):
    """A transform or a comparator cannot take a value; the message says where."""


class NestingError(InputError):
    """A value or a schema is nested too deep, or holds itself."""


class RecordIdError(InputError, KeyError):
    """A gold record has no id under the name that was given."""

    __str__ = Exception.__str__


class ComparatorNotFoundError(InputError, KeyError):
    """No comparator of that name is registered."""

    __str__ = Exception.__str__


class TransformNotFoundError(InputError, KeyError):
    """No transform of that name is registered."""

    __str__ = Exception.__str__


def refuse_one(records: Any, name: str) -> None:
    """Refuse one record in place of many, whose keys would pass for records."""
    if isinstance(records, dict | str | bytes):
        msg = f"{name} must be a list of records, not one {type(records).__name__}."
        raise ArgumentError(msg)


@contextmanager
def too_deep_told(what: str) -> Iterator[None]:
    """Turn a `RecursionError` inside the block into a `NestingError`."""
    try:
        yield
    except RecursionError as error:
        msg = f"{what} is nested too deep or holds itself: give it fewer levels."
        raise NestingError(msg[0].upper() + msg[1:]) from error

"""The values of a record without a schema, each with its schema path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eval.fields.paths import child_path

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["leaves"]


def leaves(record: Any) -> Iterator[tuple[str, Any]]:
    """Yield schema path and value of everything that is no object and no array.

    Empty objects and arrays have no leaves. Any depth will do.

    Args:
        record: Any JSON value.
    """
    waiting: list[tuple[str, Any]] = [("", record)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [
                (child_path(path, str(key)), below)
                for key, below in reversed(value.items())
            ]
        elif isinstance(value, list):
            waiting += [(f"{path}[]", below) for below in reversed(value)]
        else:
            yield path, value

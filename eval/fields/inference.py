"""A schema made from values: types, properties and items, no constraints."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from eval.fields.errors import MAX_DEPTH, ArgumentError, NestingError, refuse_one
from eval.fields.paths import child_path
from graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["infer_schema", "json_type"]

_LOG = logging.getLogger(__name__)


def json_type(value: Any) -> str:
    """Return the JSON type of a value; "string" for what JSON does not have."""
    if isinstance(value, bool):
        return "boolean"
    for name, types in (
        ("null", type(None)),
        ("integer", int),
        ("number", float),
        ("object", dict),
        ("array", list),
    ):
        if isinstance(value, types):
            return name
    return "string"


def infer_schema(values: Iterable[Any], path: str = "") -> dict[str, Any]:
    """Return a resolved schema for values such as gold records.

    The type is that of the first value that is not null: nothing is merged or widened,
    and a place that has several kinds of values is warned about. Properties are the
    union over all objects, sorted; items the union over all elements of all arrays.
    Where there is nothing to see, the type is "string".

    Args:
        values: Values of one place, at least one.
        path: What the warnings call that place.

    Raises:
        InputError: If there is no value.
        ArgumentError: If one value is given in place of many, or an object has a key
            that is no text.
        NestingError: If the values have too many levels.
    """
    refuse_one(values, "values")
    values = list(values)
    if not values:
        msg = "A schema needs at least one value to be inferred from: none was given."
        raise InputError(msg)
    return _inferred(values, path, 1)


def _inferred(values: list[Any], path: str, depth: int) -> dict[str, Any]:
    if depth > MAX_DEPTH:
        msg = (
            f"{path[:80]}: more than {MAX_DEPTH} levels, or a value that holds itself."
        )
        raise NestingError(msg)
    kinds = [json_type(value) for value in values if value is not None]
    if not kinds:
        return {"type": "string"}
    families = {"number" if kind == "integer" else kind for kind in kinds}
    if len(families) > 1:
        _LOG.warning(
            "Polymorphic field at '%s': it has %s; the first one is taken.",
            path or "<root>",
            ", ".join(sorted(set(kinds))),
        )
    if kinds[0] == "object":
        return _object(values, path, depth)
    if kinds[0] == "array":
        pool = [item for value in values if isinstance(value, list) for item in value]
        if not pool:
            return {"type": "array", "items": {"type": "string"}}
        return {"type": "array", "items": _inferred(pool, f"{path}[]", depth + 1)}
    return {"type": kinds[0]}


def _object(values: list[Any], path: str, depth: int) -> dict[str, Any]:
    """Return the schema of the objects among the values."""
    columns: dict[str, list[Any]] = {}
    for value in values:
        if isinstance(value, dict):
            for key, item in value.items():
                columns.setdefault(key, []).append(item)
    for key in columns:
        if not isinstance(key, str):
            msg = f"{path or '<root>'}: the key {key!r} is no text, as JSON's keys are."
            raise ArgumentError(msg)
    return {
        "type": "object",
        "properties": {
            key: _inferred(columns[key], child_path(path, key), depth + 1)
            for key in sorted(columns)
        },
    }

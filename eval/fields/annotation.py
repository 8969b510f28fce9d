"""Default comparators, put into a resolved schema for its writer to review."""

from __future__ import annotations

import copy
from typing import Any

from eval.fields.errors import MAX_DEPTH, ArgumentError, NestingError
from eval.fields.schema import schema_children
from graph.errors import InputError

__all__ = [
    "annotate_xeval",
    "declared_type",
    "parse_xeval_entry",
    "reset_type_defaults",
    "set_type_default",
]

_BUILT_IN: dict[str, str] = {
    "string": "exact",
    "number": "numeric",
    "integer": "numeric",
    "boolean": "exact",
}
_DEFAULTS: dict[str, str | dict[str, Any]] = dict(_BUILT_IN)


def parse_xeval_entry(entry: Any) -> tuple[str, dict[str, Any]]:
    """Return name and parameters of a comparator or transform as schemas write them.

    Args:
        entry: A name, or an object with one key, the name, and an object of parameters.

    Raises:
        InputError: If the name is empty, or the object is not of that shape.
        ArgumentError: If it is neither, or the name is no text.
    """
    if isinstance(entry, str):
        if not entry:
            msg = "The name must not be empty."
            raise InputError(msg)
        return entry, {}
    if not isinstance(entry, dict):
        msg = f"{entry!r} must be a name or an object with one key."
        raise ArgumentError(msg)
    if len(entry) != 1:
        msg = f"{entry!r} must have exactly one key, the name."
        raise InputError(msg)
    ((name, params),) = entry.items()
    if not isinstance(name, str) or not name:
        msg = f"The name {name!r} must be text that is not empty."
        raise ArgumentError(msg)
    if not isinstance(params, dict):
        msg = f"params for {name!r} must be a dict: they are {params!r}."
        raise InputError(msg)
    return name, dict(params)


def set_type_default(json_type: str, comparator: str | dict[str, Any]) -> None:
    """Change the comparator that `annotate_xeval` gives a type, in this process.

    Whether the comparator is registered is seen when a schema is parsed.

    Args:
        json_type: A JSON type; "multi" for places with several.
        comparator: A name, or an object with the name and parameters.

    Raises:
        InputError: If one is empty or of the wrong shape.
        ArgumentError: If the comparator is neither text nor an object.
    """
    if not isinstance(json_type, str) or not json_type:
        msg = f"The JSON type {json_type!r} must be text that is not empty."
        raise InputError(msg)
    parse_xeval_entry(comparator)
    _DEFAULTS[json_type] = copy.deepcopy(comparator)


def reset_type_defaults() -> None:
    """Undo every `set_type_default`."""
    _DEFAULTS.clear()
    _DEFAULTS.update(_BUILT_IN)


def declared_type(schema: dict[str, Any]) -> tuple[str, list[str] | None]:
    """Return the type of a place of a schema, and its types where it has several.

    "null" among several does not count.

    Args:
        schema: One place of a raw schema.

    Returns:
        The type, empty where none is declared, and None; or "multi" and the types.
    """
    kind = schema.get("type")
    if isinstance(kind, str):
        return kind, None
    if not isinstance(kind, list) or not all(isinstance(name, str) for name in kind):
        return "", None
    names = list(dict.fromkeys(name for name in kind if name != "null"))
    if len(names) > 1:
        return "multi", names
    return (names[0] if names else ""), None


def annotate_xeval(schema: dict[str, Any]) -> dict[str, Any]:
    """Give every leaf that has no say of its own its type's comparator, in place.

    A leaf with `x-eval-compare` or `x-eval-skip`, whatever its value, is left as it is.

    Args:
        schema: A resolved schema.

    Returns:
        The same schema.

    Raises:
        ArgumentError: If it is no object.
        NestingError: If it has too many levels.
    """
    if not isinstance(schema, dict):
        msg = f"A schema must be an object, not {type(schema).__name__}."
        raise ArgumentError(msg)
    _annotate(schema, 1)
    return schema


def _annotate(schema: dict[str, Any], depth: int) -> None:
    if depth > MAX_DEPTH:
        msg = f"The schema has more than {MAX_DEPTH} levels, or holds itself."
        raise NestingError(msg)
    properties, items = schema_children(schema)
    for child in properties.values():
        _annotate(child, depth + 1)
    if items is not None:
        _annotate(items, depth + 1)
    is_leaf = not properties and items is None
    if is_leaf and "x-eval-compare" not in schema and "x-eval-skip" not in schema:
        default = _DEFAULTS.get(declared_type(schema)[0], "exact")
        schema["x-eval-compare"] = copy.deepcopy(default)

"""Schemas made from values, and gold records checked against a schema."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from knowtrail.eval.fields.errors import (
    MAX_DEPTH,
    ArgumentError,
    GoldValidationError,
    NestingError,
    refuse_one,
)
from knowtrail.eval.fields.paths import child_path
from knowtrail.eval.fields.schema import parse_eval_schema
from knowtrail.graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from knowtrail.eval.fields.schema import SchemaNode

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
        raise NestingError(
            f"{path[:80]}: more than {MAX_DEPTH} levels, or a value that holds itself."
        )
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


def validate_gold(
    gold: Iterable[Any],
    schema: dict[str, Any],
    id_field: str | None = None,
    warn_missing: bool = True,
    strict_types: bool = False,
) -> None:
    """Check that every gold field is in the schema; the first that is not is an error.

    A field of the schema that a record lacks, a container of the wrong type and a value
    outside several declared types are warned about. Null is accepted anywhere.

    Args:
        gold: The records.
        schema: An eval schema.
        id_field: The key of each record's id, which need not be in the schema.
        warn_missing: Whether to warn of missing fields.
        strict_types: Whether every value of a type that is not declared is an error;
            an integer is a number and the other way round.

    Raises:
        ArgumentError: If one record is given in place of many.
        SchemaError: If the schema cannot be used.
        GoldValidationError: If a record does not fit; it names record and path.
    """
    refuse_one(gold, "gold")
    root = parse_eval_schema(schema)
    for index, record in enumerate(gold):
        record_id = index if id_field is None else _record_id(record, id_field, index)
        for kind, path, told in _problems(root, record, exempt=id_field):
            message = f"record {record_id}: {told}"
            if kind == "extra" or (strict_types and kind in {"type", "leaf type"}):
                raise GoldValidationError(message, record_id, path)
            if kind == "type" or (kind == "missing" and warn_missing):
                _LOG.warning("%s.", message)


def _record_id(record: Any, id_field: str, index: int) -> str | int:
    """Return a record's id."""
    if not isinstance(record, dict) or id_field not in record:
        msg = f"record {index}: there is no id field {id_field!r}"
        raise GoldValidationError(msg, index, id_field)
    value = record[id_field]
    if isinstance(value, bool) or not isinstance(value, str | int):
        msg = f"record {index}: the id {value!r} in {id_field!r} is no text or integer"
        raise GoldValidationError(msg, index, id_field)
    return value


def _problems(
    node: SchemaNode, value: Any, *, exempt: str | None = None
) -> Iterator[tuple[str, str, str]]:
    """Yield what is wrong with a value and what is in it: kind, schema path, message.

    What is inside an object comes before the keys that the schema lacks; `exempt` is
    one that it may lack at its root.
    """
    if value is None:
        return
    inside = bool(node.children) and not node.comparator.name
    kinds, kind = node.allowed_types or [node.json_type], json_type(value)
    numbers = {"integer", "number"}
    if kind not in kinds and not (kind in numbers and numbers & set(kinds)):
        loud = inside or node.allowed_types
        yield (
            "type" if loud else "leaf type",
            node.path,
            f"{node.path or '<root>'} is {kind}, not the schema-declared type "
            f"{' or '.join(kinds)}",
        )
    if inside and node.is_array and isinstance(value, list):
        for item in value:
            yield from _problems(node.children[0], item)
    elif inside and not node.is_array and isinstance(value, dict):
        for child in node.children:
            if child.key in value:
                yield from _problems(child, value[child.key])
            else:
                yield "missing", child.path, f"missing field '{child.path}'"
        known = {child.key for child in node.children}
        for key in value:
            if key not in known and (node.path or key != exempt):
                path = child_path(node.path, str(key))
                told = (
                    f"the field {path!r} is not in the schema: add it there, with "
                    "x-eval-skip if it is not to be scored"
                )
                yield "extra", path, told

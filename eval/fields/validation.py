"""Checks gold records against an eval schema, before they are trusted."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eval.fields.errors import GoldValidationError, refuse_one
from eval.fields.inference import json_type
from eval.fields.parsing import parse_eval_schema
from eval.fields.paths import child_path

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eval.fields.schema import SchemaNode

__all__ = ["validate_gold"]

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Checks:
    """What is looked for, in which record.

    Attributes:
        record_id: The record's id or position.
        warn_missing: Whether a missing field is warned about.
        strict_types: Whether a value of a wrong type is an error.
    """

    record_id: str | int
    warn_missing: bool
    strict_types: bool


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
        checks = _Checks(
            record_id=record_id, warn_missing=warn_missing, strict_types=strict_types
        )
        _check(root, record, checks, exempt=id_field)


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


def _check(
    node: SchemaNode, value: Any, checks: _Checks, *, exempt: str | None = None
) -> None:
    """Check a value and what is in it."""
    if value is None:
        return
    _check_type(node, value, checks)
    if not node.children or node.comparator.name:
        return
    if node.is_array:
        if isinstance(value, list):
            for item in value:
                _check(node.children[0], item, checks)
    elif isinstance(value, dict):
        _check_object(node, value, checks, exempt)


def _check_object(
    node: SchemaNode, value: dict[str, Any], checks: _Checks, exempt: str | None
) -> None:
    """Check an object's fields, then that it has no others."""
    for child in node.children:
        if child.key in value:
            _check(child, value[child.key], checks)
        elif checks.warn_missing:
            _LOG.warning("record %s: missing field '%s'.", checks.record_id, child.path)
    known = {child.key for child in node.children}
    for key in value:
        if key in known or (not node.path and key == exempt):
            continue
        path = child_path(node.path, str(key))
        msg = (
            f"record {checks.record_id}: the field {path!r} is not in the schema: "
            "add it there, with x-eval-skip if it is not to be scored"
        )
        raise GoldValidationError(msg, checks.record_id, path)


def _check_type(node: SchemaNode, value: Any, checks: _Checks) -> None:
    """Tell of a value that is not of a declared type."""
    kinds = node.allowed_types or [node.json_type]
    kind = json_type(value)
    numbers = {"integer", "number"}
    fits = kind in kinds or (kind in numbers and bool(numbers & set(kinds)))
    if fits:
        return
    if checks.strict_types:
        msg = (
            f"record {checks.record_id}: {node.path or '<root>'} is {kind}, not the "
            f"schema-declared type {' or '.join(kinds)}"
        )
        raise GoldValidationError(msg, checks.record_id, node.path)
    if node.allowed_types:
        _LOG.warning(
            "record %s: %s is %s, not one of the declared types (%s).",
            checks.record_id,
            node.path or "<root>",
            kind,
            ", ".join(kinds),
        )
    elif node.children and not node.comparator.name:
        _LOG.warning(
            "record %s: %s is %s, not the declared container %s.",
            checks.record_id,
            node.path or "<root>",
            kind,
            node.json_type,
        )

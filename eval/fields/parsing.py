"""Reads an eval schema, and refuses at once what could not be scored later."""

from __future__ import annotations

import logging
from typing import Any

from eval.fields.annotation import declared_type, parse_xeval_entry
from eval.fields.comparators import check_comparator_params, get_comparator
from eval.fields.errors import MAX_DEPTH, NestingError, SchemaError
from eval.fields.paths import child_path
from eval.fields.schema import SchemaNode, schema_children
from eval.fields.specs import ComparatorSpec, TransformSpec
from eval.fields.transforms import check_transform_params, get_transform

__all__ = ["parse_eval_schema"]

_LOG = logging.getLogger(__name__)
_KNOWN = {"x-eval-compare", "x-eval-skip", "x-eval-transform", "x-eval-align"}


def parse_eval_schema(raw_schema: dict[str, Any]) -> SchemaNode:
    """Return an eval schema as a tree, checked.

    Parameters of comparators and transforms are checked here as well, before any record
    is scored; the library that this follows meets wrong ones while it scores.

    Args:
        raw_schema: A resolved schema with its `x-eval-*` keys.

    Raises:
        SchemaError: If it cannot be used; its `path` says where.
        NestingError: If it has too many levels.
    """
    if not isinstance(raw_schema, dict):
        msg = "Eval schema must be an object"
        raise SchemaError(msg)
    return _node(raw_schema, "", 1)


def _node(raw: dict[str, Any], path: str, depth: int) -> SchemaNode:
    if depth > MAX_DEPTH:
        msg = f"The schema has more than {MAX_DEPTH} levels at {path[:80]!r}."
        raise NestingError(msg)
    _check_keys(raw, path)
    skip = raw.get("x-eval-skip", False)
    if not isinstance(skip, bool):
        msg = f"x-eval-skip must be true or false, not {skip!r}"
        raise SchemaError(msg, path)
    kind, allowed = declared_type(raw)
    align = _align(raw, path, kind)
    if not kind:
        msg = f"Missing or invalid 'type': {raw.get('type')!r}"
        raise SchemaError(msg, path)
    comparator = ComparatorSpec()
    if "x-eval-compare" in raw:
        entry = _entry(raw["x-eval-compare"], "x-eval-compare", path)
        comparator = ComparatorSpec(*entry)
        _check_named(comparator, path)
    transforms = _transforms(raw, path)
    _warn_unfit(comparator.name, kind, path)
    properties, items = schema_children(raw)
    if not properties and items is None and not skip and not comparator.name:
        msg = "missing x-eval-compare -- run annotate_xeval first"
        raise SchemaError(msg, path)
    children = [
        _node(child, child_path(path, name), depth + 1)
        for name, child in properties.items()
    ]
    if items is not None:
        children = [_node(items, f"{path}[]", depth + 1)]
    return SchemaNode(
        path, kind, comparator, children, skip, transforms, align, allowed
    )


def _check_keys(raw: dict[str, Any], path: str) -> None:
    names = list(raw)
    if isinstance(properties := raw.get("properties"), dict):
        names += list(properties)
    for name in names:
        if not isinstance(name, str):
            msg = f"the key {name!r} must be text"
            raise SchemaError(msg, path)
    for name in raw:
        if name.startswith("x-eval-") and name not in _KNOWN:
            _LOG.warning("Unknown x-eval key '%s' at '%s'.", name, path or "<root>")


def _entry(entry: Any, key: str, path: str) -> tuple[str, dict[str, Any]]:
    try:
        return parse_xeval_entry(entry)
    except (TypeError, ValueError) as error:
        msg = f"invalid {key}: {error}"
        raise SchemaError(msg, path) from error


def _check_named(comparator: ComparatorSpec, path: str) -> None:
    try:
        get_comparator(comparator.name)
    except KeyError as error:
        raise SchemaError(str(error), path) from error
    try:
        check_comparator_params(comparator.name, comparator.params)
    except (TypeError, ValueError, KeyError) as error:
        msg = f"params of comparator {comparator.name!r}: {error}"
        raise SchemaError(msg, path) from error


def _transforms(raw: dict[str, Any], path: str) -> list[TransformSpec]:
    entries = raw.get("x-eval-transform", [])
    if not isinstance(entries, list):
        msg = f"x-eval-transform must be a list, not {entries!r}"
        raise SchemaError(msg, path)
    found = []
    for entry in entries:
        spec = TransformSpec(*_entry(entry, "x-eval-transform", path))
        try:
            get_transform(spec.name)
        except KeyError as error:
            raise SchemaError(str(error), path) from error
        try:
            check_transform_params(spec.name, spec.params)
        except (TypeError, ValueError, KeyError) as error:
            msg = f"params of transform {spec.name!r}: {error}"
            raise SchemaError(msg, path) from error
        found.append(spec)
    return found


def _align(raw: dict[str, Any], path: str, kind: str) -> dict[str, Any] | None:
    """Return a place's alignment, None where it has none."""
    if "x-eval-align" not in raw:
        return None
    align = raw["x-eval-align"]
    problem = None
    if kind != "array":
        problem = f"x-eval-align is for arrays, not for type {kind or None!r}"
    elif not isinstance(align, dict):
        problem = f"x-eval-align must be an object, not {align!r}"
    elif "ordered" not in align and "match_by" not in align:
        problem = "x-eval-align needs 'ordered' or 'match_by'"
    elif not isinstance(align.get("ordered", False), bool):
        problem = f"'ordered' must be true or false, not {align['ordered']!r}"
    elif align.get("ordered") is False and align.get("match_by") is None:
        problem = "'ordered' is false: say 'match_by'"
    else:
        problem = _match_problem(raw, align)
    if problem:
        raise SchemaError(problem, path)
    _warn_key(raw, align, path)
    return dict(align)


def _match_problem(raw: dict[str, Any], align: dict[str, Any]) -> str | None:
    """Say what is wrong with how elements are matched."""
    match_by = align.get("match_by")
    if match_by is None:
        return None
    if not isinstance(match_by, str) or not match_by:
        return f"'match_by' must be text that is not empty, not {match_by!r}"
    if match_by not in {"hungarian", "key_field"}:
        return f"'match_by' must be 'hungarian' or 'key_field', not {match_by!r}"
    if match_by == "hungarian":
        return None
    key, items = align.get("key"), raw.get("items")
    if "key" not in align:
        return "'match_by': 'key_field' needs 'key', the name of the key"
    if not isinstance(key, str) or not key:
        return f"'key' must be text that is not empty, not {key!r}"
    if not isinstance(items, dict):
        return "'match_by': 'key_field' requires 'items'"
    if "type" in items and declared_type(items)[0] != "object":
        return "'match_by': 'key_field' requires items type 'object'"
    return None


def _warn_key(raw: dict[str, Any], align: dict[str, Any], path: str) -> None:
    if align.get("match_by") != "key_field":
        return
    properties = raw["items"].get("properties")
    if not isinstance(properties, dict):
        _LOG.warning(
            "%s: the items of an array aligned by key have no 'properties'.", path
        )
    elif align["key"] not in properties:
        _LOG.warning(
            "%s: key '%s' not found in the items' properties.", path, align["key"]
        )


def _warn_unfit(name: str, kind: str, path: str) -> None:
    """Warn of a comparator that hardly fits the type."""
    if name == "numeric" and kind in {"string", "boolean"}:
        _LOG.warning("%s: comparator 'numeric' on type '%s'.", path, kind)
    elif name == "exact" and kind in {"number", "integer"}:
        _LOG.warning(
            "%s: comparator 'exact' on type '%s': 1 is not 1.0 for it.", path, kind
        )

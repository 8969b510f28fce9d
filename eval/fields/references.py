"""Turns a JSON Schema with references and combinations into a resolved one.

References point into the schema itself: by JSON pointer, or by an `$id` or `$anchor`
that it has. Nothing is ever fetched.
"""

from __future__ import annotations

import json
import logging
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from eval.fields.annotation import declared_type
from eval.fields.errors import MAX_DEPTH, SchemaError, too_deep_told
from eval.fields.paths import child_path

__all__ = ["resolve_schema_references"]

_LOG = logging.getLogger(__name__)
_MAX_NODES = 1_000_000
_DATA = {"enum", "const", "default", "examples"}
_NAMED = {"properties", "patternProperties", "dependentSchemas"}
_LEFT = {"$defs", "definitions"}


def resolve_schema_references(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of a schema with references, allOf and simple anyOf resolved.

    In this order: null branches of anyOf go; every `$ref` is replaced; allOf is merged,
    of two sayings the first wins, only `properties` are united; an anyOf whose branches
    have different types becomes a list of types; `$defs` go. What stays as it is
    (oneOf, if, patternProperties and others) is told in one warning.

    Keys beside a `$ref` are kept and win over what it points to, so that a description
    or an `x-eval-skip` holds for that one place; the library that this follows loses
    them. Nor does a property that is called anyOf break anything here.

    Args:
        schema: A JSON Schema.

    Raises:
        SchemaError: If a reference points nowhere, to another document, or at last to
            itself; if the schema is no JSON, or grows beyond a million nodes.
        NestingError: If it has too many levels.
    """
    if not isinstance(schema, dict):
        msg = f"A schema must be an object, not {type(schema).__name__}"
        raise SchemaError(msg)
    _LOG.warning(
        "Not handled and left as they are: oneOf, not, if/then/else, nullable, "
        "patternProperties, additionalProperties and null in lists of types."
    )
    with too_deep_told("the schema"):
        try:
            root = json.loads(json.dumps(schema))
        except (TypeError, ValueError) as error:
            msg = f"The schema is no JSON: {error}"
            raise SchemaError(msg) from error
        resolver = _Resolver(root)
        resolved: dict[str, Any] = resolver.resolved(root, "", ())
        resolved.pop("$defs", None)
        _merge_all_of(resolved)
        _collapse_any_of(resolved, "")
    return resolved


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema without anyOf's null branches; a single branch left is put in."""
    branches = schema.get("anyOf")
    if not isinstance(branches, list):
        return schema
    kept = [
        branch
        for branch in branches
        if branch not in ({"type": "null"}, {"type": None})
    ]
    if len(kept) == len(branches):
        return schema
    if len(kept) != 1 or not isinstance(kept[0], dict):
        return {**schema, "anyOf": kept}
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    return {**rest, **kept[0]}


class _Resolver:
    """Replaces references; counts what comes out, so that it stays finite."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._nodes = 0
        self._names: dict[str, Any] = {}
        self._collect(root, "")

    def _collect(self, value: Any, base: str) -> None:
        """Note every `$id` and `$anchor`, by its whole address and as written."""
        if isinstance(value, list):
            for item in value:
                self._collect(item, base)
        elif isinstance(value, dict):
            if isinstance(name := value.get("$id"), str):
                base = urljoin(base, name)
                self._names[base.rstrip("#")] = self._names[name.rstrip("#")] = value
            if isinstance(name := value.get("$anchor"), str):
                self._names[f"{base}#{name}"] = self._names[f"#{name}"] = value
            for item in value.values():
                self._collect(item, base)

    def resolved(self, value: Any, path: str, chain: tuple[str, ...]) -> Any:
        """Return a schema, or a list of them, without references."""
        self._nodes += 1
        if self._nodes > _MAX_NODES:
            msg = f"the references grow to more than {_MAX_NODES} nodes"
            raise SchemaError(msg, path)
        if isinstance(value, list):
            return [self.resolved(item, path, chain) for item in value]
        if not isinstance(value, dict):
            return value
        value = _without_null(value)
        if isinstance(reference := value.get("$ref"), str):
            return self._replaced(value, reference, path, chain)
        return {
            key: self._part(key, item, path, chain)
            for key, item in value.items()
            if not (key == "$defs" and not path and not chain)
        }

    def _part(self, key: str, item: Any, path: str, chain: tuple[str, ...]) -> Any:
        """Return what stands at one key of a schema."""
        if key in _DATA or key in _LEFT:
            return item
        if key in _NAMED and isinstance(item, dict):
            return {
                name: self.resolved(child, child_path(path, name), chain)
                for name, child in item.items()
            }
        return self.resolved(item, f"{path}[]" if key == "items" else path, chain)

    def _replaced(
        self, value: dict[str, Any], reference: str, path: str, chain: tuple[str, ...]
    ) -> Any:
        """Return what a reference points to, under the keys beside it."""
        if reference in chain or len(chain) > MAX_DEPTH:
            way = " -> ".join((*chain[-4:], reference))
            msg = f"the reference {reference!r} comes back to itself: {way}"
            raise SchemaError(msg, path)
        target = self.resolved(self._find(reference, path), path, (*chain, reference))
        beside = {key: item for key, item in value.items() if key != "$ref"}
        if not beside or not isinstance(target, dict):
            return target
        own = self.resolved(beside, path, chain)
        return _merged(own, target)

    def _find(self, reference: str, path: str) -> Any:
        """Return what a reference points to, as it is written there."""
        if reference in self._names:
            return self._names[reference]
        address, pointer = urldefrag(reference)
        start: Any = self._root
        if address:
            start = self._names.get(address) or self._names.get(
                urljoin(str(self._root.get("$id", "")), address)
            )
        if start is None:
            msg = (
                f"the reference {reference!r} leaves the schema: nothing is fetched, "
                "put what it names into '$defs'"
            )
            raise SchemaError(msg, path)
        for step in [unquote(part) for part in pointer.split("/")[1:]]:
            start = _stepped(start, step.replace("~1", "/").replace("~0", "~"))
            if start is None:
                break
        if start is None or (pointer and not pointer.startswith("/")):
            msg = f"the reference {reference!r} points to nothing"
            raise SchemaError(msg, path)
        return start


def _stepped(value: Any, step: str) -> Any:
    if isinstance(value, dict):
        return value.get(step)
    if isinstance(value, list) and step.isdecimal() and int(step) < len(value):
        return value[int(step)]
    return None


def _merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Return two schemas as one: the first wins, properties and allOf are united."""
    merged = {**second, **first}
    parts = (first.get("allOf"), second.get("allOf"))
    if isinstance(parts[0], list) and isinstance(parts[1], list):
        merged["allOf"] = [*parts[0], *parts[1]]
    both = (first.get("properties"), second.get("properties"))
    if isinstance(both[0], dict) and isinstance(both[1], dict):
        merged["properties"] = {
            **both[0],
            **{key: value for key, value in both[1].items() if key not in both[0]},
        }
    return merged


def _merge_all_of(schema: dict[str, Any]) -> None:
    """Merge allOf into the schema that has it, below properties and items too."""
    if isinstance(branches := schema.get("allOf"), list):
        del schema["allOf"]
        for branch in branches:
            if isinstance(branch, dict):
                _merge_all_of(branch)
                merged = _merged(schema, branch)
                schema.clear()
                schema.update(merged)
    for child in _children(schema):
        _merge_all_of(child)


def _children(schema: dict[str, Any]) -> list[dict[str, Any]]:
    properties = schema.get("properties")
    found = list(properties.values()) if isinstance(properties, dict) else []
    return [child for child in (*found, schema.get("items")) if isinstance(child, dict)]


def _collapse_any_of(schema: dict[str, Any], path: str) -> None:
    """Make a list of types of an anyOf whose branches each have one of their own."""
    branches = schema.get("anyOf")
    if isinstance(branches, list) and (names := _types(branches)):
        dropped = sorted(
            {key for branch in branches for key in branch}
            - {"type", "title", "description"}
        )
        if dropped:
            _LOG.warning(
                "%s: of anyOf only the types are kept, dropped are %s.",
                path or "<root>",
                ", ".join(dropped),
            )
        del schema["anyOf"]
        schema["type"] = names
    if isinstance(properties := schema.get("properties"), dict):
        for name, child in properties.items():
            if isinstance(child, dict):
                _collapse_any_of(child, child_path(path, name))
    if isinstance(items := schema.get("items"), dict):
        _collapse_any_of(items, f"{path}[]")


def _types(branches: list[Any]) -> list[str]:
    """Return the types of branches, empty if they do not make a list of types."""
    names: list[str] = []
    for branch in branches:
        if not isinstance(branch, dict):
            return []
        kind, several = declared_type(branch)
        if not kind:
            return []
        names += several or [kind]
    names = [name for name in dict.fromkeys(names) if name != "null"]
    return names if len(names) >= 2 else []

"""Eval schemas: references resolved, comparators put in, parsed, made ready.

References point into the schema itself: by JSON pointer, or by an `$id` or `$anchor`
that it has. Nothing is ever fetched. What could not be scored later is refused at once.
"""

from __future__ import annotations

import copy
import json
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from knowtrail.eval.fields.comparators import (
    COMPARATORS,
    TRANSFORMS,
    ComparatorSpec,
    TransformSpec,
    get_comparator,
    get_transform,
    is_batch,
)
from knowtrail.eval.fields.errors import (
    MAX_DEPTH,
    ArgumentError,
    NestingError,
    SchemaError,
    too_deep_told,
)
from knowtrail.eval.fields.paths import child_path, key_step, last_key
from knowtrail.graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowtrail.eval.fields.comparators import Comparator, Transform


@dataclass
class SchemaNode:
    """One place of an eval schema.

    Attributes:
        path: Schema path, such as `sensors[].name`; empty at the root.
        json_type: The declared type, "multi" where there are several.
        comparator: How it is scored; without a name its children are.
        children: Properties of an object, or the one element of an array.
        align: How an array's elements are paired; None is by position.
        key: The property's name; empty at the root and for elements.
        step: What stands for it in a path.
        kind: "leaf", "object" or "array" of a node that is planned.
        compare: Its comparator then; None for one of batches, and for none at all.
        has_batch: Whether it, or what is below, has one of batches.
        by_position: Arrays that were too large to be paired by what fits best.
    """

    path: str
    json_type: str
    comparator: ComparatorSpec = field(default_factory=ComparatorSpec)
    children: list[SchemaNode] = field(default_factory=list)
    skip: bool = False
    transforms: list[TransformSpec] = field(default_factory=list)
    align: dict[str, Any] | None = None
    allowed_types: list[str] | None = None

    def __post_init__(self) -> None:
        self.key = last_key(self.path)
        self.step = "[]" if self.path.endswith("[]") else key_step(self.key)
        self.kind, self.has_batch, self.by_position = "leaf", False, 0
        self.compare: Comparator | None = None
        self.changes: list[tuple[Transform, dict[str, Any]]] = []
        self.by_key: dict[str, SchemaNode] = {}

    @property
    def is_array(self) -> bool:
        """Whether the only child stands for the elements of an array."""
        return len(self.children) == 1 and self.children[0].path == f"{self.path}[]"


def iter_schema(node: SchemaNode) -> Iterator[SchemaNode]:
    """Yield a node and all below it, each before its children."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def schema_children(
    schema: dict[str, Any],
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Return properties, or else the element schema, of a schema of one type."""
    if isinstance(kind := schema.get("type"), list) and (
        len({str(name) for name in kind} - {"null"}) != 1
    ):
        return {}, None
    properties = schema.get("properties")
    if isinstance(properties, dict):
        found = {
            name: value for name, value in properties.items() if isinstance(value, dict)
        }
        if found:
            return found, None
    items = schema.get("items")
    return {}, items if isinstance(items, dict) else None


_BUILT_IN: dict[str, str] = {
    "string": "exact",
    "number": "numeric",
    "integer": "numeric",
    "boolean": "exact",
}
_DEFAULTS: dict[str, str | dict[str, Any]] = dict(_BUILT_IN)


def parse_xeval_entry(entry: Any) -> tuple[str, dict[str, Any]]:
    """Return name and parameters of a comparator or transform as schemas write them.

    That is a name, or an object with one key, the name, and an object of parameters.
    """
    if isinstance(entry, str):
        if not entry:
            raise InputError("The name must not be empty.")
        return entry, {}
    if not isinstance(entry, dict):
        raise ArgumentError(f"{entry!r} must be a name or an object with one key.")
    if len(entry) != 1:
        raise InputError(f"{entry!r} must have exactly one key, the name.")
    ((name, params),) = entry.items()
    if not isinstance(name, str) or not name:
        raise ArgumentError(f"The name {name!r} must be text that is not empty.")
    if not isinstance(params, dict):
        raise InputError(f"params for {name!r} must be a dict: they are {params!r}.")
    return name, dict(params)


def set_type_default(json_type: str, comparator: str | dict[str, Any]) -> None:
    """Change the comparator that `annotate_xeval` gives a type, in this process.

    The type "multi" is that of places with several. Whether the comparator is
    registered is seen when a schema is parsed.
    """
    if not isinstance(json_type, str) or not json_type:
        raise InputError(f"The JSON type {json_type!r} must be text that is not empty.")
    parse_xeval_entry(comparator)
    _DEFAULTS[json_type] = copy.deepcopy(comparator)


def reset_type_defaults() -> None:
    """Undo every `set_type_default`."""
    _DEFAULTS.clear()
    _DEFAULTS.update(_BUILT_IN)


def declared_type(schema: dict[str, Any]) -> tuple[str, list[str] | None]:
    """Return the type of a place, and its types where it has several, "null" apart."""
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
    """Give every leaf without a say its type's comparator, in place; return all.

    A leaf with `x-eval-compare` or `x-eval-skip`, whatever its value, is left as it is.
    """
    if not isinstance(schema, dict):
        raise ArgumentError(f"A schema must be an object, not {type(schema).__name__}.")
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
    (oneOf, if, patternProperties and others) is told in one warning. Keys beside a
    `$ref` are kept and win over what it points to; the library that this follows loses
    them.

    Raises:
        SchemaError: If a reference points nowhere, to another document, or at last to
            itself; if the schema is no JSON, or grows beyond a million nodes.
        NestingError: If it has too many levels.
    """
    if not isinstance(schema, dict):
        raise SchemaError(f"A schema must be an object, not {type(schema).__name__}")
    _LOG.warning(
        "Not handled and left as they are: oneOf, not, if/then/else, nullable, "
        "patternProperties, additionalProperties and null in lists of types."
    )
    with too_deep_told("the schema"):
        try:
            root = json.loads(json.dumps(schema))
        except (TypeError, ValueError) as error:
            raise SchemaError(f"The schema is no JSON: {error}") from error
        resolved: dict[str, Any] = _Resolver(root).resolved(root, "", ())
        resolved.pop("$defs", None)
        _simplify(resolved, "")
    return resolved


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
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
        from referencing import Registry
        from referencing.jsonschema import DRAFT202012

        self._nodes = 0
        base = str(root.get("$id", ""))
        known = Registry().with_resource(base, DRAFT202012.create_resource(root))
        self._resolver = known.resolver(base)

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
        return _merged(self.resolved(beside, path, chain), target)

    def _find(self, reference: str, path: str) -> Any:
        from referencing.exceptions import NoSuchAnchor, PointerToNowhere, Unresolvable

        try:
            return self._resolver.lookup(reference).contents
        except (NoSuchAnchor, PointerToNowhere, ValueError, TypeError) as error:
            msg = f"the reference {reference!r} points to nothing"
            raise SchemaError(msg, path) from error
        except Unresolvable as error:
            raise SchemaError(
                f"the reference {reference!r} leaves the schema: nothing is fetched, "
                "put what it names into '$defs'",
                path,
            ) from error
        except AttributeError as error:  # on the way there is what is no schema
            msg = f"the reference {reference!r} leads through what is no schema"
            raise SchemaError(msg, path) from error


def _merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Return two schemas as one: the first wins, properties and allOf are united."""
    merged = {**second, **first}
    parts = (first.get("allOf"), second.get("allOf"))
    if isinstance(parts[0], list) and isinstance(parts[1], list):
        merged["allOf"] = [*parts[0], *parts[1]]
    both = (first.get("properties"), second.get("properties"))
    if isinstance(both[0], dict) and isinstance(both[1], dict):
        merged["properties"] = both[0] | both[1] | both[0]  # in the order of the first
    return merged


def _simplify(schema: dict[str, Any], path: str) -> None:
    """Merge allOf and collapse anyOf, below properties and items too."""
    _merge_all_of(schema)
    _collapse_any_of(schema, path)
    if isinstance(properties := schema.get("properties"), dict):
        for name, child in properties.items():
            if isinstance(child, dict):
                _simplify(child, child_path(path, name))
    if isinstance(items := schema.get("items"), dict):
        _simplify(items, f"{path}[]")


def _merge_all_of(schema: dict[str, Any]) -> None:
    if isinstance(branches := schema.get("allOf"), list):
        del schema["allOf"]
        for branch in branches:
            if isinstance(branch, dict):
                _merge_all_of(branch)
                merged = _merged(schema, branch)
                schema.clear()
                schema.update(merged)


def _collapse_any_of(schema: dict[str, Any], path: str) -> None:
    """Make a list of types of an anyOf whose branches each have one of their own."""
    branches = schema.get("anyOf")
    if not isinstance(branches, list) or not (names := _types(branches)):
        return
    keys = {key for branch in branches for key in branch}
    if dropped := sorted(keys - {"type", "title", "description"}):
        _LOG.warning(
            "%s: of anyOf only the types are kept, dropped are %s.",
            path or "<root>",
            ", ".join(dropped),
        )
    del schema["anyOf"]
    schema["type"] = names


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


_S = TypeVar("_S", ComparatorSpec, TransformSpec)
_COMBINED = ("oneOf", "anyOf", "allOf", "$ref", "not", "if")
_KNOWN = {"x-eval-compare", "x-eval-skip", "x-eval-transform", "x-eval-align"}


def parse_eval_schema(raw_schema: dict[str, Any]) -> SchemaNode:
    """Return an eval schema as a tree, checked.

    Parameters of comparators and transforms are checked here as well, before any record
    is scored; the library that this follows meets wrong ones while it scores.
    """
    if not isinstance(raw_schema, dict):
        raise SchemaError("Eval schema must be an object")
    return _node(raw_schema, "", 1)


def _node(raw: dict[str, Any], path: str, depth: int) -> SchemaNode:
    if depth > MAX_DEPTH:
        msg = f"The schema has more than {MAX_DEPTH} levels at {path[:80]!r}."
        raise NestingError(msg)
    _check_keys(raw, path)
    skip = raw.get("x-eval-skip", False)
    if not isinstance(skip, bool):
        raise SchemaError(f"x-eval-skip must be true or false, not {skip!r}", path)
    kind, allowed = declared_type(raw)
    align = _align(raw, path, kind)
    if not kind:
        msg = f"Missing or invalid 'type': {raw.get('type')!r}"
        if odd := [name for name in _COMBINED if name in raw]:
            msg += (
                f"; {path or 'the root'} has {odd[0]!r}, which is not resolved here: "
                "write one 'type', a list of types, or anyOf of different types"
            )
        raise SchemaError(msg, path)
    comparator = ComparatorSpec()
    if "x-eval-compare" in raw:
        entry = raw["x-eval-compare"]
        comparator = _spec(ComparatorSpec, entry, "x-eval-compare", path)
    transforms = _transforms(raw, path)
    _warn_unfit(comparator.name, kind, path)
    properties, items = schema_children(raw)
    if not properties and items is None and not skip and not comparator.name:
        raise SchemaError("missing x-eval-compare -- run annotate_xeval first", path)
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
            raise SchemaError(f"the key {name!r} must be text", path)
    for name in raw:
        if name.startswith("x-eval-") and name not in _KNOWN:
            _LOG.warning("Unknown x-eval key '%s' at '%s'.", name, path or "<root>")


def _spec(kind: type[_S], entry: Any, key: str, path: str) -> _S:
    known = COMPARATORS if kind is ComparatorSpec else TRANSFORMS
    try:
        spec = kind(*parse_xeval_entry(entry))
    except (TypeError, ValueError) as error:
        raise SchemaError(f"invalid {key}: {error}", path) from error
    try:
        known.get(spec.name)
    except KeyError as error:
        raise SchemaError(str(error), path) from error
    try:
        known.check(spec.name, spec.params)
    except (TypeError, ValueError, KeyError) as error:
        msg = f"params of {known.kind} {spec.name!r}: {error}"
        raise SchemaError(msg, path) from error
    return spec


def _transforms(raw: dict[str, Any], path: str) -> list[TransformSpec]:
    key = "x-eval-transform"
    entries = raw.get(key, [])
    if not isinstance(entries, list):
        raise SchemaError(f"{key} must be a list, not {entries!r}", path)
    return [_spec(TransformSpec, entry, key, path) for entry in entries]


def _align(raw: dict[str, Any], path: str, kind: str) -> dict[str, Any] | None:
    if "x-eval-align" not in raw:
        return None
    align = raw["x-eval-align"]
    if problem := _align_problem(raw, align, kind):
        raise SchemaError(problem, path)
    _warn_key(raw, align, path)
    return dict(align)


def _align_problem(raw: dict[str, Any], align: Any, kind: str) -> str | None:
    if kind != "array":
        return f"x-eval-align is for arrays, not for type {kind or None!r}"
    if not isinstance(align, dict):
        return f"x-eval-align must be an object, not {align!r}"
    if "ordered" not in align and "match_by" not in align:
        return "x-eval-align needs 'ordered' or 'match_by'"
    if not isinstance(align.get("ordered", False), bool):
        return f"'ordered' must be true or false, not {align['ordered']!r}"
    match_by = align.get("match_by")
    if match_by is None:
        lacking = align.get("ordered") is False
        return "'ordered' is false: say 'match_by'" if lacking else None
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
    if name == "numeric" and kind in {"string", "boolean"}:
        _LOG.warning("%s: comparator 'numeric' on type '%s'.", path, kind)
    elif name == "exact" and kind in {"number", "integer"}:
        _LOG.warning(
            "%s: comparator 'exact' on type '%s': 1 is not 1.0 for it.", path, kind
        )


def plan(node: SchemaNode) -> SchemaNode:
    """Return a copy of a schema that is ready for scoring by what is registered now."""
    node = copy.copy(node)
    node.children = [plan(child) for child in node.children]
    node.by_key = {child.key: child for child in node.children}
    node.changes = [(get_transform(one.name), one.params) for one in node.transforms]
    node.compare, node.has_batch = None, False
    name = node.comparator.name
    if node.children and not name:
        node.kind = "array" if node.is_array else "object"
    elif name or not node.skip:
        comparator = get_comparator(name)
        node.has_batch = is_batch(comparator)
        if not node.has_batch:
            node.compare = comparator  # type: ignore[assignment]
    node.has_batch |= any(child.has_batch for child in node.children)
    return node


def batch_params(root: SchemaNode) -> dict[str, dict[str, Any]]:
    """Return the parameters of every leaf with a batch comparator, by schema path."""
    return {
        node.path: node.comparator.params
        for node in iter_schema(root)
        if node.kind == "leaf" and node.has_batch and node.compare is None
    }

"""Gold and extracted records: in files, as what schemas are made from, and checked."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from knowtrail.eval.fields.errors import (
    MAX_DEPTH,
    ArgumentError,
    GoldValidationError,
    NestingError,
    refuse_one,
)
from knowtrail.eval.fields.paths import child_path
from knowtrail.eval.fields.schema import (
    annotate_xeval,
    parse_eval_schema,
    resolve_schema_references,
)
from knowtrail.graph.errors import InputError, SourceError
from knowtrail.graph.files import file_digest, read_json, read_json_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

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
    and a place that has several kinds of values is warned about, by its path.
    Properties are the union over all objects, sorted; items the union over all elements
    of all arrays. Where there is nothing to see, the type is "string".
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
    `id_field` need not be in the schema. With `strict_types` every value of a type that
    is not declared is an error; an integer is a number and the other way round.
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
    """Yield what is wrong with a value and in it: kind, schema path, message."""
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


_USUAL_ID = "id"
INFERRED_FROM = 10_000
"""Records that a schema is inferred from."""
_UNRESOLVED = frozenset({"$ref", "allOf", "anyOf"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFile:
    """A file of records that was read through once; its records are read again.

    It has one JSON object a line, or is one JSON array of objects, held in memory.

    Attributes:
        ids: What each record is known by, as text; None for one without.
        order: Places of its records in the order of gold, None for one that is missing;
            without it they are in the order of the file.
    """

    path: Path
    count: int
    digest: str
    id_field: str | None = None
    ids: tuple[str | None, ...] = ()
    order: tuple[int | None, ...] | None = None

    @classmethod
    def checked(
        cls, path: Path, *, may_lack: bool = False, id_field: str | None = None
    ) -> RecordFile:
        """Read a file through."""
        if path.exists() and not path.is_file():
            raise SourceError(f"{path} is no regular file: it is read more than once.")
        count = 0
        ids: list[str | None] = []
        for record in _values(path):
            if not isinstance(record, dict) and not (may_lack and record is None):
                kind = type(record).__name__
                raise SourceError(
                    f"{path}: record {count}, counted from 0, is no JSON object: it is "
                    f"a {kind}."
                )
            value = None if record is None else record.get(id_field or _USUAL_ID)
            known = not isinstance(value, list | dict | None)
            ids.append((str(value) or None) if known else None)
            count += 1
        if not count:
            raise SourceError(f"{path} has no record: write one JSON object a line.")
        return cls(
            path=path,
            count=count,
            digest=file_digest(path),
            id_field=id_field,
            ids=tuple(ids),
        )

    def records(self) -> Iterator[Any]:
        """Yield the records; in another order than the file's from memory."""
        if self.order is None:
            yield from _values(self.path)
            return
        found = list(_values(self.path))
        for place in self.order:
            yield None if place is None else found[place]

    def paired_with(self, gold: RecordFile) -> RecordFile:
        """Return the file with its records in the order of gold.

        With an id field they are paired by it, where records have it. Without one they
        are paired by position, unless the ids of several, under `id`, say otherwise.
        """
        if self.id_field is not None and any(one is not None for one in self.ids):
            pairs = zip(self.ids, gold.ids, strict=False)
            alike = all(own in {None, other} for own, other in pairs)
            if self.count != gold.count or not alike:
                return self._by_id(gold, self.id_field)
        elif self.id_field is None:
            self._refuse_swapped(gold)
        if self.count != gold.count:
            raise InputError(
                f"{gold.path} has {gold.count} records, {self.path} {self.count}: give "
                "one line for each gold record, in the same order, null where one is "
                "missing; or an id to every record, and --id-field."
            )
        return self

    def _by_id(self, gold: RecordFile, id_field: str) -> RecordFile:
        wanted, own = gold._places(id_field), self._places(id_field)
        if strange := next((name for name in own if name not in wanted), None):
            raise InputError(
                f"{self.path}: record {own[strange]}, counted from 0, has the "
                f"{id_field} {strange!r:.80}, which no record of {gold.path} has."
            )
        if lost := [name for name in wanted if name not in own]:
            _LOG.warning(
                "%s has no record for %d of %d gold records, such as %r: they count "
                "as missing.",
                self.path,
                len(lost),
                gold.count,
                lost[0],
            )
        return replace(self, order=tuple(own.get(name) for name in wanted))

    def _places(self, id_field: str) -> dict[str, int]:
        """Return the place of each id; a record that is missing has none."""
        found: dict[str, int] = {}
        for place, (name, record) in enumerate(
            zip(self.ids, _values(self.path), strict=True)
        ):
            if record is None:
                continue
            if name is None or name in found:
                told = f"no {id_field}" if name is None else f"the {id_field} {name!r}"
                again = "" if name is None else f", as record {found[name]} has"
                raise InputError(
                    f"{self.path}: record {place}, counted from 0, has {told:.120}"
                    f"{again}: give every record one of its own to pair them by."
                )
            found[name] = place
        return found

    def _refuse_swapped(self, gold: RecordFile) -> None:
        """Refuse records whose ids say that they belong to gold's in another order."""
        wanted = {name: place for place, name in enumerate(gold.ids) if name}
        named = [name for name in self.ids if name]
        if len(wanted) < gold.count or len(set(named)) < len(named):
            return  # then it is no id
        moved = [
            place
            for place, (own, other) in enumerate(zip(self.ids, gold.ids, strict=False))
            if own != other and own in wanted
        ]
        if len(moved) > 1:
            name = str(self.ids[moved[0]])
            raise InputError(
                f"{self.path}: record {moved[0]}, counted from 0, has the id "
                f"{name!r:.80}, which is that of record {wanted[name]} of {gold.path}: "
                "give --id-field id to pair records by it, or put them in one order."
            )


def _values(path: Path) -> Iterator[Any]:
    """Yield the values of a file: one a line, or those of the one array that it is."""
    if _is_array(path):
        yield from read_json(path)
    else:
        yield from (value for _, value in read_json_lines(path))


def _is_array(path: Path) -> bool:
    try:
        with path.open(encoding="utf-8-sig") as lines:
            first = next((text for line in lines if (text := line.strip())), "")
    except (OSError, UnicodeDecodeError):
        return False
    return first.startswith("[")


def infer_eval_schema(gold: RecordFile) -> dict[str, Any]:
    """Return a schema for the first gold records, with the default comparators."""
    schema = infer_schema(islice(gold.records(), INFERRED_FROM))
    properties = schema.get("properties", {})
    if gold.id_field in properties:
        properties[gold.id_field]["x-eval-skip"] = True
    return annotate_xeval(schema)


def read_schema(path: Path) -> dict[str, Any]:
    """Return the object of a file."""
    schema: Any = read_json(path)
    if not isinstance(schema, dict):
        raise SourceError(f"{path} is no schema: it must be one JSON object.")
    return schema


def eval_schema(path: Path, schema: dict[str, Any]) -> dict[str, Any]:
    """Return what a file has with references resolved and defaults put in."""
    try:
        if any(not _UNRESOLVED.isdisjoint(one) for one in objects_in(schema)):
            schema = resolve_schema_references(schema)
        annotated = annotate_xeval(schema)
        parse_eval_schema(annotated)
    except InputError as error:
        raise SourceError(f"{path}: {error}") from error
    return annotated


def objects_in(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of a JSON value, itself among them."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield value
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def check_gold(gold: RecordFile, schema: dict[str, Any]) -> None:
    """Check that every gold record fits the schema."""
    try:
        validate_gold(
            gold.records(), schema, id_field=gold.id_field, warn_missing=False
        )
    except InputError as error:
        raise SourceError(f"{gold.path}: {error}") from error

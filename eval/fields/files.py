"""Records and schemas in files, checked before anything is measured."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from knowtrail.eval.fields.schema import (
    annotate_xeval,
    parse_eval_schema,
    resolve_schema_references,
)
from knowtrail.eval.fields.scoring import read_jsonl
from knowtrail.eval.fields.validation import infer_schema, validate_gold
from knowtrail.graph.errors import InputError, SourceError
from knowtrail.graph.files import file_digest, read_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LOG = logging.getLogger(__name__)
_USUAL_ID = "id"
INFERRED_FROM = 10_000
"""Records that a schema is inferred from."""
_UNRESOLVED = frozenset({"$ref", "allOf", "anyOf"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFile:
    """A file of records that was read through once; its records are read again.

    It has one JSON object a line, or is one JSON array of objects, which is held in
    memory.

    Attributes:
        digest: Digest of its bytes, by which a run knows its inputs again.
        ids: What each record is known by, as text; None for one without.
        order: Places of its records in the order of gold, None for one that is missing;
            without it they are in the order of the file.
    """

    path: Path
    count: int
    digest: str
    ids: tuple[str | None, ...] = ()
    order: tuple[int | None, ...] | None = None

    @classmethod
    def checked(
        cls, path: Path, *, may_lack: bool = False, id_field: str | None = None
    ) -> RecordFile:
        """Read a file through.

        Raises:
            SourceError: If it cannot be read, a line is no JSON or no object, or there
                is no record.
        """
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
        return cls(path=path, count=count, digest=file_digest(path), ids=tuple(ids))

    def records(self) -> Iterator[Any]:
        """Yield the records; in another order than the file's from memory."""
        if self.order is None:
            yield from _values(self.path)
            return
        found = list(_values(self.path))
        for place in self.order:
            yield None if place is None else found[place]

    def paired_with(self, gold: RecordFile, *, id_field: str | None) -> RecordFile:
        """Return the file with its records in the order of gold.

        With an id field they are paired by it, where records have it. Without one they
        are paired by position, unless the ids of several, under `id`, say otherwise.

        Raises:
            InputError: If there is not one record for each gold record, or ids are not
                clear.
        """
        if id_field is not None and any(one is not None for one in self.ids):
            pairs = zip(self.ids, gold.ids, strict=False)
            alike = all(own in {None, other} for own, other in pairs)
            if self.count != gold.count or not alike:
                return self._by_id(gold, id_field)
        elif id_field is None:
            self._refuse_swapped(gold)
        if self.count != gold.count:
            raise InputError(
                f"{gold.path} has {gold.count} records, {self.path} {self.count}: give "
                "one line for each gold record, in the same order, null where one is "
                "missing; or an id to every record, and --id-field."
            )
        return self

    def _by_id(self, gold: RecordFile, id_field: str) -> RecordFile:
        """Return the file with its records in the order of gold's ids."""
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
    if not _is_array(path):
        yield from read_jsonl(path)
        return
    yield from read_json(path)


def _is_array(path: Path) -> bool:
    """Return whether a file begins as a JSON array; what is wrong is told later."""
    try:
        with path.open(encoding="utf-8-sig") as lines:
            first = next((text for line in lines if (text := line.strip())), "")
    except (OSError, UnicodeDecodeError):
        return False
    return first.startswith("[")


def infer_eval_schema(gold: RecordFile, *, id_field: str | None) -> dict[str, Any]:
    """Return a schema for the first gold records, with the default comparators."""
    schema = infer_schema(islice(gold.records(), INFERRED_FROM))
    properties = schema.get("properties", {})
    if id_field in properties:
        properties[id_field]["x-eval-skip"] = True
    return annotate_xeval(schema)


def load_eval_schema(path: Path) -> dict[str, Any]:
    """Return the eval schema of a file, with references resolved and defaults put in.

    Raises:
        SourceError: If the file cannot be read, is no JSON object, or no schema that
            can be used.
    """
    schema: Any = read_json(path)
    if not isinstance(schema, dict):
        raise SourceError(f"{path} is no schema: it must be one JSON object.")
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


def check_gold(gold: RecordFile, schema: dict[str, Any], id_field: str | None) -> None:
    """Check that every gold record fits the schema.

    Raises:
        InputError: If one does not; the message has file, record and path.
    """
    try:
        validate_gold(gold.records(), schema, id_field=id_field, warn_missing=False)
    except InputError as error:
        raise SourceError(f"{gold.path}: {error}") from error

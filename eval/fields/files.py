"""Records and schemas in files, checked before anything is measured."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from eval.fields.annotation import annotate_xeval
from eval.fields.evaluation import read_jsonl
from eval.fields.inference import infer_schema
from eval.fields.parsing import parse_eval_schema
from eval.fields.references import resolve_schema_references
from eval.fields.validation import validate_gold
from graph.errors import InputError, SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["RecordFile", "check_gold", "infer_eval_schema", "load_eval_schema"]

INFERRED_FROM = 10_000
"""Records that a schema is inferred from."""
_UNRESOLVED = frozenset({"$ref", "allOf", "anyOf"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFile:
    """A JSON Lines file that was read through once; its records are read again.

    Attributes:
        path: Where it is.
        count: How many records it has.
        digest: Digest of its bytes, by which a run knows its inputs again.
    """

    path: Path
    count: int
    digest: str

    @classmethod
    def checked(cls, path: Path, *, may_lack: bool = False) -> RecordFile:
        """Read a file through.

        Args:
            path: The file.
            may_lack: Whether a line may be null, for a record that is missing.

        Raises:
            SourceError: If it cannot be read, a line is no JSON or no object, or there
                is no record.
        """
        if path.exists() and not path.is_file():
            msg = f"{path} is no regular file: it is read more than once."
            raise SourceError(msg)
        count = 0
        for record in read_jsonl(path):
            if not isinstance(record, dict) and not (may_lack and record is None):
                kind = type(record).__name__
                msg = (
                    f"{path}: record {count}, counted from 0, is no JSON object: it is "
                    f"a {kind}."
                )
                raise SourceError(msg)
            count += 1
        if not count:
            msg = f"{path} has no record: write one JSON object a line."
            raise SourceError(msg)
        with path.open("rb") as file:
            digest = hashlib.file_digest(
                file, lambda: hashlib.blake2b(digest_size=16)
            ).hexdigest()
        return cls(path=path, count=count, digest=digest)

    def records(self) -> Iterator[Any]:
        """Return an iterator of the records."""
        return read_jsonl(self.path)

    def paired_with(self, gold: RecordFile) -> None:
        """Check that there are as many records as in the gold file.

        Raises:
            InputError: If there are not.
        """
        if self.count != gold.count:
            msg = (
                f"{gold.path} has {gold.count} records, {self.path} {self.count}: give "
                "one line for each gold record, in the same order, null where one is "
                "missing."
            )
            raise InputError(msg)


def infer_eval_schema(gold: RecordFile, *, id_field: str | None) -> dict[str, Any]:
    """Return a schema for the first gold records, with the default comparators.

    Args:
        gold: The gold records.
        id_field: The key of the id, which is marked as not to be scored.
    """
    schema = infer_schema(islice(gold.records(), INFERRED_FROM))
    properties = schema.get("properties", {})
    if id_field in properties:
        properties[id_field]["x-eval-skip"] = True
    return annotate_xeval(schema)


def load_eval_schema(path: Path) -> dict[str, Any]:
    """Return the eval schema of a file, with references resolved and defaults put in.

    Args:
        path: A JSON Schema, with or without `x-eval-*` keys.

    Raises:
        SourceError: If the file cannot be read, is no JSON object, or no schema that
            can be used.
    """
    try:
        schema: Any = json.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror or error}."
        raise SourceError(msg) from error
    except UnicodeDecodeError as error:
        msg = f"{path} cannot be read as UTF-8 text: {error}."
        raise SourceError(msg) from error
    except (ValueError, RecursionError) as error:
        what = "nested too deep" if isinstance(error, RecursionError) else str(error)
        msg = f"{path} is no JSON: {what}."
        raise SourceError(msg) from error
    if not isinstance(schema, dict):
        msg = f"{path} is no schema: it must be one JSON object."
        raise SourceError(msg)
    try:
        if _needs_resolving(schema):
            schema = resolve_schema_references(schema)
        annotated = annotate_xeval(schema)
        parse_eval_schema(annotated)
    except InputError as error:
        msg = f"{path}: {error}"
        raise SourceError(msg) from error
    return annotated


def _needs_resolving(schema: dict[str, Any]) -> bool:
    """Return whether a schema has references or combinations anywhere."""
    waiting: list[Any] = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if not _UNRESOLVED.isdisjoint(value):
                return True
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return False


def check_gold(gold: RecordFile, schema: dict[str, Any], id_field: str | None) -> None:
    """Check that every gold record fits the schema.

    Raises:
        InputError: If one does not; the message has file, record and path.
    """
    try:
        validate_gold(gold.records(), schema, id_field=id_field, warn_missing=False)
    except InputError as error:
        msg = f"{gold.path}: {error}"
        raise SourceError(msg) from error

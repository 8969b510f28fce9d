"""Evaluates extracted records against gold: all at once, or as a stream."""

from __future__ import annotations

import json
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.fields.batches import process_batches
from eval.fields.errors import (
    ArgumentError,
    RecordIdError,
    ScoringError,
    refuse_one,
    too_deep_told,
)
from eval.fields.metrics import RunAccumulator, build_record_result, build_run_result
from eval.fields.parsing import parse_eval_schema
from eval.fields.plans import batch_params, plan
from eval.fields.scoring import score_pair
from graph.errors import InputError, SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from eval.fields.plans import Plan
    from eval.fields.results import FieldResult, RecordResult, RunResult

    PostProcess = Callable[[list[FieldResult]], list[FieldResult]]

__all__ = ["evaluate", "evaluate_stream", "iter_records", "read_jsonl"]

_NOTHING = object()
PATH_LIMIT = 100_000


def evaluate(
    gold: Sequence[Any],
    extracted: Sequence[Any],
    schema: dict[str, Any],
    id_field: str | None = None,
    post_process: PostProcess | None = None,
) -> RunResult:
    """Score every extracted record against the gold record at its place.

    Each record is scored, its batch comparators are asked, it is post-processed, and
    its metrics are counted.

    Args:
        gold: The records as they should be.
        extracted: As many records as were extracted, in the same order; None where one
            is missing.
        schema: An eval schema; it is not changed.
        id_field: The key of each gold record's id; without it the id is the position.
            It is scored like any field: one that the schema lacks and the extraction
            has is a hallucination.
        post_process: Takes the results of one record and returns those to count.

    Returns:
        The run's metrics, with every record's results.

    Raises:
        InputError: If there are not as many records on both sides.
        SchemaError: If the schema cannot be used.
        RecordIdError: If a gold record has no id.
        ScoringError: If a transform or comparator cannot take a value; the message has
            record and path. What a custom one raises comes as it is, with a note.
        NestingError: If a record is nested too deep to be compared.
    """
    sized = hasattr(gold, "__len__") and hasattr(extracted, "__len__")
    if sized and len(gold) != len(extracted):
        raise _length_error(len(gold), len(extracted))
    return build_run_result(
        list(iter_records(gold, extracted, schema, id_field, post_process))
    )


def iter_records(
    gold: Iterable[Any],
    extracted: Iterable[Any],
    schema: dict[str, Any],
    id_field: str | None = None,
    post_process: PostProcess | None = None,
) -> Iterator[RecordResult]:
    """Return an iterator of the records' results, made one by one.

    The schema is read at once, records as the iterator is asked for them. Takes the
    arguments of `evaluate`, from iterators of any length.

    Args:
        gold: The records as they should be.
        extracted: As many extracted records.
        schema: An eval schema.
        id_field: The key of each gold record's id.
        post_process: Takes the results of one record and returns those to count.

    Raises:
        SchemaError: If the schema cannot be used.
        ArgumentError: If a side is one record instead of many.
    """
    refuse_one(gold, "gold")
    refuse_one(extracted, "extracted")
    root = plan(parse_eval_schema(schema))
    return _records(gold, extracted, root, id_field, post_process)


def _records(
    gold: Iterable[Any],
    extracted: Iterable[Any],
    root: Plan,
    id_field: str | None,
    post_process: PostProcess | None,
) -> Iterator[RecordResult]:
    params = batch_params(root)
    pairs = zip_longest(gold, extracted, fillvalue=_NOTHING)
    for index, (left, right) in enumerate(pairs):
        if left is _NOTHING or right is _NOTHING:
            shorter = "gold" if left is _NOTHING else "extracted"
            msg = (
                f"gold and extracted must have the same length: {shorter} ends after "
                f"{index} records."
            )
            raise InputError(msg)
        record_id = index if id_field is None else _record_id(left, id_field, index)
        results = _scored(root, left, right, record_id)
        process_batches(results, params)
        if post_process is not None:
            results = _processed(post_process(results), record_id)
        yield build_record_result(record_id, results, left, right)


def _scored(
    root: Plan, gold: Any, extracted: Any, record_id: str | int
) -> list[FieldResult]:
    """Return a record's results; errors name the record."""
    try:
        with too_deep_told(f"record {record_id!r}"):
            return score_pair(root, "", gold, extracted)
    except ScoringError as error:
        msg = f"Record {record_id!r}, {error}"
        raise ScoringError(msg) from error
    except Exception as error:
        error.add_note(f"in record {record_id!r}")
        raise


def _processed(results: Any, record_id: str | int) -> list[FieldResult]:
    if not isinstance(results, list):
        msg = (
            f"The post-processor returned {type(results).__name__} for record "
            f"{record_id!r}: it must return the list of results."
        )
        raise ArgumentError(msg)
    return results


def _record_id(record: Any, id_field: str, index: int) -> str | int:
    """Return a gold record's id."""
    if not isinstance(record, dict) or id_field not in record:
        msg = f"Gold record {index} has no id field {id_field!r}: add it there."
        raise RecordIdError(msg)
    value: str | int = record[id_field]
    return value


def _length_error(gold: int, extracted: int) -> InputError:
    return InputError(
        f"gold and extracted must have the same length: they have {gold} and "
        f"{extracted} records."
    )


def evaluate_stream(
    gold: Iterable[Any],
    extracted: Iterable[Any],
    schema: dict[str, Any],
    id_field: str | None = None,
    post_process: PostProcess | None = None,
    *,
    on_record: Callable[[RecordResult], None] | None = None,
    path_limit: int | None = PATH_LIMIT,
) -> RunResult:
    """Do as `evaluate` does with records of any number, keeping none of them.

    Args:
        gold: The records as they should be, such as `read_jsonl` gives.
        extracted: As many extracted records.
        schema: An eval schema.
        id_field: The key of each gold record's id.
        post_process: Takes the results of one record and returns those to count.
        on_record: Is given every record's result, to store or to draw.
        path_limit: How many paths are counted one by one, see `RunAccumulator`.

    Returns:
        The run's metrics, without records.

    Raises:
        InputError: As `evaluate`.
    """
    run = RunAccumulator(path_limit=path_limit)
    for record in iter_records(gold, extracted, schema, id_field, post_process):
        run.add(record)
        if on_record is not None:
            on_record(record)
    return run.result()


def read_jsonl(path: str | Path) -> Iterator[Any]:
    """Yield the values of a file with one JSON value a line; blank lines are left out.

    Args:
        path: The file, in UTF-8.

    Yields:
        One value a line.

    Raises:
        SourceError: If the file cannot be read, or a line is no JSON; the message has
            its number.
    """
    try:
        with Path(path).open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield _value(line, path, number)
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror or error}."
        raise SourceError(msg) from error
    except UnicodeDecodeError as error:
        msg = f"{path} cannot be read as UTF-8 text: {error}."
        raise SourceError(msg) from error


def _value(line: str, path: str | Path, number: int) -> Any:
    try:
        return json.loads(line)
    except RecursionError as error:
        msg = f"{path}, line {number}: nested too deep to be read."
        raise SourceError(msg) from error
    except ValueError as error:
        msg = f"{path}, line {number} is no JSON: {error}."
        raise SourceError(msg) from error

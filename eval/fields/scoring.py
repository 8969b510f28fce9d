"""Scores records, all at once or as a stream: schema, gold and extraction together."""

from __future__ import annotations

import math
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from knowtrail.eval.fields.alignment import aligned, process_batches
from knowtrail.eval.fields.comparators import ComparatorResult
from knowtrail.eval.fields.errors import (
    ArgumentError,
    RecordIdError,
    ScoringError,
    refuse_one,
    too_deep_told,
)
from knowtrail.eval.fields.paths import child_path
from knowtrail.eval.fields.results import (
    HALLUCINATION,
    MATCH,
    MISMATCH,
    OMISSION,
    PENDING,
    SKIPPED,
    FieldResult,
    RunAccumulator,
    below,
    build_record_result,
    build_run_result,
    missing,
)
from knowtrail.eval.fields.schema import batch_params, parse_eval_schema, plan
from knowtrail.graph.errors import InputError
from knowtrail.graph.files import read_json_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from knowtrail.eval.fields.results import RecordResult, RunResult
    from knowtrail.eval.fields.schema import Plan, SchemaNode

    PostProcess = Callable[[list[FieldResult]], list[FieldResult]]


def score_record(schema: SchemaNode, gold: Any, extracted: Any) -> list[FieldResult]:
    """Return the results of every field of one record.

    Fields of batch comparators are left `pending`, except in arrays aligned by content,
    where they are settled to find the pairs. A container scored as one (two empty ones,
    or one of a wrong type) has its raw values as compared values too.

    Raises:
        ScoringError: If a transform or comparator cannot take a value.
        NestingError: If values are nested too deep to be compared.
    """
    with too_deep_told("the record"):
        return score_pair(plan(schema), "", gold, extracted)


def score_pair(node: Plan, path: str, gold: Any, extracted: Any) -> list[FieldResult]:
    """Return the results of a place that both sides have."""
    if node.kind == "leaf":
        return [_leaf(node, path, gold, extracted)]
    if node.kind == "object":
        if isinstance(gold, dict) and isinstance(extracted, dict):
            return _objects(node, path, gold, extracted)
    elif isinstance(gold, list) and isinstance(extracted, list):
        return _arrays(node, path, gold, extracted)
    return _odd_container(node, path, gold, extracted)


def _leaf(node: Plan, path: str, gold: Any, extracted: Any) -> FieldResult:
    """Return the result of one comparison."""
    if node.skip:
        return FieldResult(path, 0.0, "", gold, extracted, SKIPPED)
    left, right = gold, extracted
    try:
        for transform, params in node.transforms:
            left, right = transform(left, params), transform(right, params)
        if node.compare is None:
            return FieldResult(
                path, 0.0, node.comparator, gold, extracted, PENDING, None, left, right
            )
        result = node.compare(left, right, node.params)
        score = _checked(result)
    except ArgumentError as error:
        raise ScoringError(f"{path or '<root>'}: {error}") from error
    except Exception as error:
        error.add_note(f"while scoring {path or '<root>'} by {node.comparator!r}")
        raise
    if result.skip:
        status, score = SKIPPED, 0.0
    else:
        status = MATCH if score == 1.0 else MISMATCH
    return FieldResult(
        path,
        score,
        node.comparator,
        gold,
        extracted,
        status,
        result.reason,
        left,
        right,
    )


def _checked(result: Any) -> float:
    """Return a result's score."""
    if not isinstance(result, ComparatorResult):
        msg = f"a comparator must return a ComparatorResult, not {result!r:.80}"
        raise ArgumentError(msg)
    score = result.score
    if not isinstance(score, int | float) or not math.isfinite(score):
        raise ArgumentError(f"the comparator's score {score!r} is no finite number")
    return score


def _container(
    path: str, gold: Any, extracted: Any, status: str, reason: str | None = None
) -> FieldResult:
    """Return a result for a container as a whole."""
    score = 1.0 if status == MATCH else 0.0
    return FieldResult(
        path, score, "", gold, extracted, status, reason, gold, extracted
    )


def _odd_container(
    node: Plan, path: str, gold: Any, extracted: Any
) -> list[FieldResult]:
    """Return the results where not both sides are of the container's type."""
    if gold is None and extracted is None:
        return []
    if gold is not None and extracted is not None:
        if gold == extracted:
            return [_container(path, gold, extracted, MATCH)]
        reason = (
            f"type mismatch: gold {type(gold).__name__}, "
            f"extracted {type(extracted).__name__}"
        )
        return [_container(path, gold, extracted, MISMATCH, reason)]
    status = HALLUCINATION if gold is None else OMISSION
    value = extracted if gold is None else gold
    if isinstance(value, list if node.kind == "array" else dict):
        return missing(node, path, value, status)
    return [_container(path, gold, extracted, status)]


def _objects(
    node: Plan, path: str, gold: dict[str, Any], extracted: dict[str, Any]
) -> list[FieldResult]:
    """Return the results of two objects: the schema's order, then other keys."""
    if not gold and not extracted:
        return [_container(path, gold, extracted, MATCH)]
    results: list[FieldResult] = []
    shared = 0
    for child in node.children:
        key = child.key
        in_gold, in_extracted = key in gold, key in extracted
        shared += in_extracted
        if child.skip:
            left, right = gold.get(key), extracted.get(key)
            results.append(
                FieldResult(below(path, child), 0.0, "", left, right, SKIPPED)
            )
        elif in_gold and in_extracted:
            if child.kind == "leaf":
                results.append(
                    _leaf(child, below(path, child), gold[key], extracted[key])
                )
            else:
                results += score_pair(
                    child, below(path, child), gold[key], extracted[key]
                )
        elif in_gold:
            results += missing(child, below(path, child), gold[key], OMISSION)
        elif in_extracted:
            results += missing(child, below(path, child), extracted[key], HALLUCINATION)
    if shared < len(extracted):
        results += [
            FieldResult(
                child_path(path, key), 0.0, "", None, extracted[key], HALLUCINATION
            )
            for key in _others(node, path, extracted)
        ]
    return results


def _others(node: Plan, path: str, extracted: dict[str, Any]) -> list[str]:
    """Return the sorted keys that the schema does not have."""
    keys = [key for key in extracted if key not in node.by_key]
    for key in keys:
        if not isinstance(key, str):
            msg = f"{path or '<root>'}: the key {key!r} is no text, as JSON's keys are"
            raise ScoringError(msg)
    return sorted(keys)


def _arrays(
    node: Plan, path: str, gold: list[Any], extracted: list[Any]
) -> list[FieldResult]:
    """Return the results of two arrays: pairs, then what only one side has."""
    if not gold and not extracted:
        return [_container(path, gold, extracted, MATCH)]
    child = node.children[0]
    pairing = aligned(node, path, gold, extracted, score_pair)
    results: list[FieldResult] = []
    for left, right in pairing.in_order:
        if right is None:
            results += missing(child, f"{path}[{left}]", gold[left], OMISSION)
        elif (left, right) in pairing.known:
            results += pairing.known[left, right]
        else:
            results += score_pair(
                child, f"{path}[{left}]", gold[left], extracted[right]
            )
    for place, right in enumerate(pairing.hallucinated, start=1):
        results += missing(child, f"{path}[{-place}]", extracted[right], HALLUCINATION)
    return results


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
            raise InputError(
                f"gold and extracted must have the same length: {shorter} ends after "
                f"{index} records."
            )
        record_id = index if id_field is None else _record_id(left, id_field, index)
        results = _scored(root, left, right, record_id)
        process_batches(results, params)
        if post_process is not None:
            results = _processed(post_process(results), record_id)
        by_position = dict(root.by_position)
        root.by_position.clear()
        yield build_record_result(
            record_id, results, left, right, by_position=by_position
        )


def _scored(
    root: Plan, gold: Any, extracted: Any, record_id: str | int
) -> list[FieldResult]:
    """Return a record's results; errors name the record."""
    try:
        with too_deep_told(f"record {record_id!r}"):
            return score_pair(root, "", gold, extracted)
    except ScoringError as error:
        raise ScoringError(f"Record {record_id!r}, {error}") from error
    except Exception as error:
        error.add_note(f"in record {record_id!r}")
        raise


def _processed(results: Any, record_id: str | int) -> list[FieldResult]:
    if not isinstance(results, list):
        raise ArgumentError(
            f"The post-processor returned {type(results).__name__} for record "
            f"{record_id!r}: it must return the list of results."
        )
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
    """Return the values of a file with one JSON value a line; blank lines are left out.

    Raises:
        SourceError: If the file cannot be read, or a line is no JSON; the message has
            its number.
    """
    return (value for _, value in read_json_lines(path))

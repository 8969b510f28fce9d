"""Scores one record: walks schema, gold and extraction together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from eval.fields.alignment import aligned
from eval.fields.errors import ArgumentError, ScoringError, too_deep_told
from eval.fields.paths import child_path
from eval.fields.plans import plan
from eval.fields.results import (
    HALLUCINATION,
    MATCH,
    MISMATCH,
    OMISSION,
    PENDING,
    SKIPPED,
    FieldResult,
)
from eval.fields.specs import ComparatorResult

if TYPE_CHECKING:
    from eval.fields.plans import Plan
    from eval.fields.schema import SchemaNode

__all__ = ["missing", "score_pair", "score_record"]


def score_record(schema: SchemaNode, gold: Any, extracted: Any) -> list[FieldResult]:
    """Return the results of every field of one record.

    Fields of batch comparators are left `pending`, except in arrays aligned by content,
    where they are settled to find the pairs. A container scored as one (two empty ones,
    or one of a wrong type) has its raw values as compared values too.

    Args:
        schema: The parsed eval schema.
        gold: The record as it should be.
        extracted: The record as it was extracted.

    Raises:
        ScoringError: If a transform or comparator cannot take a value.
        NestingError: If values are nested too deep to be compared.
    """
    with too_deep_told("the record"):
        return score_pair(plan(schema), "", gold, extracted)


def score_pair(node: Plan, path: str, gold: Any, extracted: Any) -> list[FieldResult]:
    """Return the results of a place that both sides have.

    Args:
        node: The place.
        path: Its instance path.
        gold: The value as it should be.
        extracted: The value as it was extracted.
    """
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
        msg = f"{path or '<root>'}: {error}"
        raise ScoringError(msg) from error
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
        msg = f"the comparator's score {score!r} is no finite number"
        raise ArgumentError(msg)
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


def missing(node: Plan, path: str, value: Any, status: str) -> list[FieldResult]:
    """Return the results of a place that one side lacks, part by part.

    Args:
        node: The place.
        path: Its instance path.
        value: What the other side has.
        status: "omission" where gold has it, "hallucination" otherwise.
    """
    if node.skip:
        return []
    if not node.has_parts:
        return [_lone(path, node.comparator, value, status)]
    if not node.is_list:
        if not isinstance(value, dict):
            return []
        return [
            result
            for child in node.children
            if child.key in value
            for result in missing(child, _below(path, child), value[child.key], status)
        ]
    if not isinstance(value, list) or not value:
        return [_lone(path, "", value, status)]
    child, results = node.children[0], []
    for index, item in enumerate(value):
        place = index if status == OMISSION else -1 - index
        results += missing(child, f"{path}[{place}]", item, status)
    return results


def _lone(path: str, comparator: str, value: Any, status: str) -> FieldResult:
    if status == OMISSION:
        return FieldResult(path, 0.0, comparator, value, None, status)
    return FieldResult(path, 0.0, comparator, None, value, status)


def _below(path: str, child: Plan) -> str:
    step = child.step
    return path + step if path or step[0] != "." else step[1:]


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
                FieldResult(_below(path, child), 0.0, "", left, right, SKIPPED)
            )
        elif in_gold and in_extracted:
            if child.kind == "leaf":
                results.append(
                    _leaf(child, _below(path, child), gold[key], extracted[key])
                )
            else:
                results += score_pair(
                    child, _below(path, child), gold[key], extracted[key]
                )
        elif in_gold:
            results += missing(child, _below(path, child), gold[key], OMISSION)
        elif in_extracted:
            results += missing(
                child, _below(path, child), extracted[key], HALLUCINATION
            )
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

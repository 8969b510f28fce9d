"""What an evaluation returns: results of a field, a record and a run.

Statuses are plain strings:

| status | means | precision | recall |
|---|---|---|---|
| match | both sides have it, equal | counts | counts |
| mismatch | both sides have it, different | counts | counts |
| omission | only gold has it | | counts |
| hallucination | only the extraction has it | counts | |
| skipped | not to be scored | | |
| pending | waits for its batch comparator | | |
| batch_error | its batch comparator failed | | |
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowtrail.eval.fields.schema import Plan

MATCH = "match"
MISMATCH = "mismatch"
OMISSION = "omission"
HALLUCINATION = "hallucination"
SKIPPED = "skipped"
PENDING = "pending"
BATCH_ERROR = "batch_error"
SCORED = frozenset({MATCH, MISMATCH, OMISSION, HALLUCINATION})
"""The statuses that metrics count."""


@dataclass(slots=True)
class FieldResult:
    """One field of one record; post-processors may change it.

    Attributes:
        path: Instance path, such as `sensors[0].name`. An index is the gold position,
            or -1, -2, ... for elements that gold does not have. A key with a dot, a
            bracket or a quote is written `["a.b"]`.
        score: Between 0 and 1 for the comparators that come with this package.
        comparator: Name of the comparator in the schema; empty where none was asked.
        gold_value: The value as gold has it.
        extracted_value: The value as it was extracted.
        status: One of the seven strings of this module.
        reason: Why it is not a match, where there is something to say.
        gold_compared: The gold value after the transforms.
        extracted_compared: The extracted value after the transforms.
    """

    path: str
    score: float
    comparator: str
    gold_value: Any
    extracted_value: Any
    status: str
    reason: str | None = None
    gold_compared: Any = None
    extracted_compared: Any = None


@dataclass(frozen=True, slots=True)
class FieldAggregation:
    """All results of one path.

    Attributes:
        mean_score: Average score, with 0 for omissions and hallucinations.
        matches: How many are right.
        mismatches: How many are wrong.
        omissions: How often it is missing from the extraction.
        hallucinations: How often it is not in gold.
    """

    mean_score: float
    matches: int
    mismatches: int
    omissions: int
    hallucinations: int


@dataclass(frozen=True, slots=True)
class RecordResult:
    """One record.

    Attributes:
        record_id: The gold record's id, or its position.
        field_results: Results of its fields, in the order of the schema.
        gold: The gold record itself, not a copy.
        extracted: The extracted record itself, not a copy.
        precision: Of what was extracted, how much is right.
        recall: Of what gold has, how much was extracted rightly.
        f1: Their harmonic mean.
        by_position: Schema path to how many of its arrays were too large to be paired
            by what fits best, and were paired by position.
    """

    record_id: str | int
    field_results: list[FieldResult]
    gold: Any
    extracted: Any
    precision: float
    recall: float
    f1: float
    by_position: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunResult:
    """All records of an evaluation.

    Attributes:
        records: Results of the records; empty where they were streamed.
        mean_precision: Mean over the records.
        mean_recall: Mean over the records.
        mean_f1: Mean of the records' F1.
        total_records: How many records were evaluated.
        total_fields: Scored fields: not skipped, pending or failed.
        total_omissions: Fields that the extraction lacks.
        total_hallucinations: Fields that gold lacks.
        total_batch_errors: Fields whose batch comparator failed.
        per_field: Instance path (`sensors[0].name`) to its results.
        per_schema_path: Schema path (`sensors[].name`) to its results, over all
            elements of an array: what to read where arrays have no fixed places.
        by_position: As in `RecordResult`, over all records.
    """

    records: Sequence[RecordResult]
    mean_precision: float
    mean_recall: float
    mean_f1: float
    total_records: int
    total_fields: int
    total_omissions: int
    total_hallucinations: int
    total_batch_errors: int
    per_field: dict[str, FieldAggregation]
    per_schema_path: dict[str, FieldAggregation] = field(default_factory=dict)
    by_position: dict[str, int] = field(default_factory=dict)


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
            for result in missing(child, below(path, child), value[child.key], status)
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


def below(path: str, child: Plan) -> str:
    """Return the instance path of a part of the place at a path."""
    step = child.step
    return path + step if path or step[0] != "." else step[1:]

"""Results of a field, a record and a run, and the metrics that sum them up.

A plugin is a Python file of the user, which is run once, where it is named. It
registers comparators and transforms, and a function `post_process` in it takes the
results of each record and returns those to count.

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

import math
import sys
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from importlib.util import module_from_spec, spec_from_file_location
from typing import TYPE_CHECKING, Any

from knowtrail.eval.fields.comparators import same
from knowtrail.eval.fields.paths import schema_path
from knowtrail.graph.errors import InputError, SourceError
from knowtrail.graph.files import file_digest
from knowtrail.ingest.keys import content_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from knowtrail.eval.fields.schema import SchemaNode
    from knowtrail.eval.fields.scoring import PostProcess

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
        gold_compared: The gold value after the transforms.
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
    """All results of one path; an omission or hallucination counts 0 in the mean."""

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
        total_fields: Scored fields: not skipped, pending or failed.
        per_field: Instance path (`sensors[0].name`) to its results.
        per_schema_path: Schema path (`sensors[].name`) to its results, over all
            elements of an array: what to read where arrays have no fixed places.
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


def missing(node: SchemaNode, path: str, value: Any, status: str) -> list[FieldResult]:
    """Return the results of a place that one side lacks, part by part."""
    if node.skip:
        return []
    if not node.children:
        return [_lone(path, node.comparator.name, value, status)]
    if node.children[0].step != "[]":
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
    sides: tuple[Any, Any] = (value, None) if status == OMISSION else (None, value)
    return FieldResult(path, 0.0, comparator, *sides, status)


def below(path: str, child: SchemaNode) -> str:
    """Return the instance path of a part of the place at a path."""
    step = child.step
    return path + step if path or step[0] != "." else step[1:]


OTHER_PATHS = "(other paths)"
"""Where an accumulator with a limit puts the results of further paths."""


def tally(results: Iterable[FieldResult]) -> tuple[float, int, int]:
    """Return the sum of scores, and the fields for precision and for recall."""
    scores: list[float] = []
    extracted = gold = 0
    for result in results:
        status = result.status
        if status in (MATCH, MISMATCH):
            scores.append(result.score)
        elif status == OMISSION:
            gold += 1
        elif status == HALLUCINATION:
            extracted += 1
    return math.fsum(scores), len(scores) + extracted, len(scores) + gold


def precision_recall_f1(
    score: float, extracted: int, gold: int
) -> tuple[float, float, float]:
    """Return precision, recall and F1; what has nothing to count is 1."""
    precision = score / extracted if extracted else 1.0
    recall = score / gold if gold else 1.0
    total = precision + recall
    return precision, recall, 2 * precision * recall / total if total else 0.0


def build_record_result(
    record_id: str | int,
    field_results: list[FieldResult],
    gold: Any,
    extracted: Any,
    *,
    by_position: dict[str, int] | None = None,
) -> RecordResult:
    """Return a record's result with its metrics."""
    metrics = precision_recall_f1(*tally(field_results))
    return RecordResult(
        record_id, field_results, gold, extracted, *metrics, by_position or {}
    )


def build_run_result(records: Sequence[RecordResult]) -> RunResult:
    """Return the result of a run."""
    run = RunAccumulator()
    for record in records:
        run.add(record)
    return run.result(records)


class _Path:
    """Counts of one path, and the exact sum of its scores."""

    __slots__ = ("counts", "ones", "parts")

    def __init__(self) -> None:
        self.counts = dict.fromkeys(SCORED, 0)
        self.ones = 0
        self.parts = Fraction(0)

    def add(self, status: str, score: float) -> None:
        self.counts[status] += 1
        if score == 1.0:
            self.ones += 1
        elif score:
            self.parts += Fraction(score)

    def aggregation(self) -> FieldAggregation:
        kinds = MATCH, MISMATCH, OMISSION, HALLUCINATION
        mean = (self.ones + self.parts) / sum(self.counts.values())
        return FieldAggregation(float(mean), *(self.counts[kind] for kind in kinds))


class RunAccumulator:
    """Sums up records one by one; keeps none of them.

    Means are exact until they are asked for, so that the order of the records does not
    matter. Of more paths than `path_limit` the others are counted as `OTHER_PATHS`.
    """

    def __init__(self, *, path_limit: int | None = None) -> None:
        self._limit = path_limit
        self._sums = [Fraction(0)] * 3
        self._counts = dict.fromkeys((*SCORED, BATCH_ERROR), 0)
        self._records = 0
        self._by_position: Counter[str] = Counter()
        self._by_path: dict[str, _Path] = {}
        self._by_schema_path: dict[str, _Path] = {}

    def add(self, record: RecordResult) -> None:
        """Count one record."""
        self._records += 1
        for index, value in enumerate((record.precision, record.recall, record.f1)):
            self._sums[index] += Fraction(value)
        self._by_position.update(record.by_position)
        for result in record.field_results:
            status = result.status
            if status in self._counts:
                self._counts[status] += 1
            if status in SCORED:
                path, score = result.path, result.score
                self._at(self._by_path, path).add(status, score)
                self._at(self._by_schema_path, schema_path(path)).add(status, score)

    def _at(self, paths: dict[str, _Path], path: str) -> _Path:
        found = paths.get(path)
        if found is None:
            if self._limit is not None and len(paths) >= self._limit:
                return paths.setdefault(OTHER_PATHS, _Path())
            found = paths[path] = _Path()
        return found

    def result(self, records: Sequence[RecordResult] = ()) -> RunResult:
        """Return the result of everything that was added."""
        sums = self._sums if self._records else (1, 1, 1)
        precision, recall, f1 = (float(one / (self._records or 1)) for one in sums)
        counts = self._counts
        return RunResult(
            records=records,
            mean_precision=precision,
            mean_recall=recall,
            mean_f1=f1,
            total_records=self._records,
            total_fields=sum(counts[status] for status in SCORED),
            total_omissions=counts[OMISSION],
            total_hallucinations=counts[HALLUCINATION],
            total_batch_errors=counts[BATCH_ERROR],
            per_field={p: at.aggregation() for p, at in self._by_path.items()},
            per_schema_path={
                p: at.aggregation() for p, at in self._by_schema_path.items()
            },
            by_position=dict(self._by_position),
        )


@dataclass(frozen=True, slots=True)
class NullHandling:
    """What counts as absent: values equal to these and of their type; 0 is not False.

    A field that both sides lack is skipped, or else is a match.
    """

    absent_values: list[Any] = field(default_factory=lambda: [None])
    both_absent_skip: bool = True


def reclassify_nulls(
    field_results: list[FieldResult], config: NullHandling
) -> list[FieldResult]:
    """Take values such as null for absent, in place; return the same list.

    For extractions that must write every key. Compared values are looked at; a
    container that was scored as a whole is judged by its own value, which the library
    that this follows skips, a wrong type included.
    """
    settled = {SKIPPED, BATCH_ERROR, OMISSION, HALLUCINATION}
    for result in field_results:
        if result.status in settled:
            continue
        no_gold = _absent(result.gold_compared, config)
        no_extracted = _absent(result.extracted_compared, config)
        if no_gold and no_extracted:
            if config.both_absent_skip:
                _change(result, SKIPPED, "both absent")
            else:
                _change(result, MATCH, "both absent (counted as match)")
        elif no_gold:
            _change(result, HALLUCINATION, "gold is absent")
        elif no_extracted:
            _change(result, OMISSION, "extracted is absent")
    return field_results


def _absent(value: Any, config: NullHandling) -> bool:
    return any(value is one or same(value, one) for one in config.absent_values)


def _change(result: FieldResult, status: str, reason: str) -> None:
    result.status, result.reason = status, reason
    result.score = 1.0 if status == MATCH else 0.0


def propagate_batch_errors(field_results: list[FieldResult]) -> list[FieldResult]:
    """Fail every field of a batch comparator that failed for one of them, in place.

    For comparators whose scores mean something only together. Omissions and
    hallucinations stay.
    """
    failed = {one.comparator for one in field_results if one.status == BATCH_ERROR}
    lone = {OMISSION, HALLUCINATION}
    for result in field_results:
        name = result.comparator
        if name and name in failed and result.status not in lone:
            told = f"tainted: {name!r} failed for a field of this record"
            _change(result, BATCH_ERROR, told)
    return field_results


def load_plugin(path: Path) -> tuple[str, PostProcess | None]:
    """Run a file that registers comparators; return its digest and post-processor."""
    name = f"knowtrail_plugin_{path.stem}_{content_key(str(path.absolute()))[:8]}"
    sound = path.is_file() and path.suffix == ".py"
    spec = spec_from_file_location(name, path) if sound else None
    if spec is None or spec.loader is None:
        raise SourceError(f"{path} is no Python file: name a plugin that ends in .py.")
    module = module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look for it there
    try:
        digest = file_digest(path)
        spec.loader.exec_module(module)
    except Exception as error:  # plugins are anybody's
        sys.modules.pop(name, None)
        msg = f"The plugin {path} cannot be used: {type(error).__name__}: {error}"
        raise InputError(msg) from error
    found = getattr(module, "post_process", None)
    if found is not None and not callable(found):
        raise InputError(f"post_process of {path} is {found!r:.80}: write a function.")
    return digest, found


def in_turn(steps: Sequence[PostProcess]) -> PostProcess | None:
    """Return one post-processor that does several in turn, None for none."""
    if not steps:
        return None

    def all_steps(results: list[FieldResult]) -> list[FieldResult]:
        for step in steps:
            results = step(results)
            if not isinstance(results, list):
                break  # told by the evaluation
        return results

    return all_steps

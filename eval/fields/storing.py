"""Results of `eval.fields` in the shapes of the result store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eval.fields.metrics import tally
from eval.fields.paths import schema_path
from eval.fields.results import MATCH, SKIPPED
from eval.records import EvalRecord, Metric, StoredField

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eval.fields.results import FieldResult, RecordResult, RunResult
    from eval.records import StoreLevel
    from eval.statistics import Interval

__all__ = ["run_metrics", "stored_record"]


def stored_record(
    record: RecordResult,
    *,
    level: StoreLevel = "failures",
    judges: Sequence[str] = (),
) -> EvalRecord:
    """Return a record as the store takes it.

    Args:
        record: Its result.
        level: `failures` keeps fields that are neither a match nor skipped, `all` every
            field; the numbers of the record are kept either way.
        judges: Ids of the Extractions that it judges.
    """
    score, extracted, gold = tally(record.field_results)
    return EvalRecord(
        record_id=record.record_id,
        scores={
            "precision": record.precision,
            "recall": record.recall,
            "f1": record.f1,
            "score": score,
            "extractedFields": extracted,
            "goldFields": gold,
        },
        fields=[
            _stored_field(result)
            for result in record.field_results
            if level == "all" or result.status not in {MATCH, SKIPPED}
        ],
        judges=judges,
    )


def _stored_field(result: FieldResult) -> StoredField:
    """Return a field as the store takes it."""
    return StoredField(
        path=result.path,
        schema_path=schema_path(result.path),
        status=result.status,
        score=result.score,
        gold=result.gold_value,
        extracted=result.extracted_value,
        comparator=result.comparator,
        reason=result.reason,
    )


def run_metrics(
    result: RunResult, intervals: Mapping[str, Interval]
) -> Iterator[Metric]:
    """Yield the metrics of a run: the whole with intervals, then every schema path.

    Args:
        result: The run.
        intervals: Its metrics, as `run_intervals` gives them.
    """
    for name, interval in intervals.items():
        yield Metric.of(name, interval)
    for path, field in result.per_schema_path.items():
        counts = {
            "matches": field.matches,
            "mismatches": field.mismatches,
            "omissions": field.omissions,
            "hallucinations": field.hallucinations,
        }
        yield Metric(
            name="field_score",
            path=path,
            value=field.mean_score,
            n=sum(counts.values()),
            counts=counts,
        )

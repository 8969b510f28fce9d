"""Changes to a record's results before its metrics are counted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eval.fields.comparators import same
from eval.fields.results import (
    BATCH_ERROR,
    HALLUCINATION,
    MATCH,
    OMISSION,
    SKIPPED,
)

if TYPE_CHECKING:
    from eval.fields.results import FieldResult

__all__ = ["NullHandling", "propagate_batch_errors", "reclassify_nulls"]


@dataclass(frozen=True, slots=True)
class NullHandling:
    """What counts as absent.

    Attributes:
        absent_values: Values that do; equal ones of the same type, so 0 is not False.
        both_absent_skip: Whether a field that both sides lack is skipped; otherwise it
            is a match.
    """

    absent_values: list[Any] = field(default_factory=lambda: [None])
    both_absent_skip: bool = True


def reclassify_nulls(
    field_results: list[FieldResult], config: NullHandling
) -> list[FieldResult]:
    """Take values such as null for absent, in place.

    For extractors that must write every key. Compared values are looked at, after the
    transforms. A container that was scored as a whole is judged by its own value; the
    library that this follows finds nothing there and skips it, a wrong type included.

    Args:
        field_results: Results of one record.
        config: What counts as absent.

    Returns:
        The same list.
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
    return any(
        value is absent or same(value, absent) for absent in config.absent_values
    )


def _change(result: FieldResult, status: str, reason: str) -> None:
    result.status, result.reason = status, reason
    result.score = 1.0 if status == MATCH else 0.0


def propagate_batch_errors(field_results: list[FieldResult]) -> list[FieldResult]:
    """Fail every field of a batch comparator that failed for one of them, in place.

    For comparators whose scores mean something only together. Omissions and
    hallucinations stay.

    Args:
        field_results: Results of one record.

    Returns:
        The same list.
    """
    failed = {
        result.comparator for result in field_results if result.status == BATCH_ERROR
    } - {""}
    for result in field_results:
        if result.comparator in failed and result.status not in {
            OMISSION,
            HALLUCINATION,
        }:
            _change(
                result,
                BATCH_ERROR,
                f"tainted: {result.comparator!r} failed for a field of this record",
            )
    return field_results

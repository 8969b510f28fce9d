"""Settles the pending fields of a record: one call for each batch comparator."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Any

from eval.fields.comparators import get_comparator, is_batch
from eval.fields.paths import schema_path
from eval.fields.results import BATCH_ERROR, MATCH, MISMATCH, PENDING, SKIPPED
from eval.fields.specs import BatchItem, ComparatorResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eval.fields.results import FieldResult

__all__ = ["process_batches"]

_LOG = logging.getLogger(__name__)


def process_batches(
    field_results: list[FieldResult],
    params: Mapping[str, dict[str, Any]],
    *,
    general: bool = False,
) -> list[FieldResult]:
    """Settle every pending result, in place.

    A comparator that raises, is not known, or returns no list fails all of its fields;
    an entry that is no result with a finite score fails that one, and an entry that is
    not there too. A failed field is a `batch_error`, with what went wrong as reason: a
    comparator may tell it in an attribute `problem`.

    Args:
        field_results: Results of one record.
        params: Schema path to the parameters of its comparator.
        general: Whether the comparators are told schema paths.

    Returns:
        The same list.
    """
    waiting: dict[str, list[FieldResult]] = {}
    for result in field_results:
        if result.status == PENDING:
            waiting.setdefault(result.comparator, []).append(result)
    for name, results in waiting.items():
        items = [_item(result, params, general) for result in results]
        answers, problem = _answers(name, items)
        for index, result in enumerate(results):
            answer = answers[index] if index < len(answers) else None
            _settle(result, answer, problem)
    return field_results


def _item(
    result: FieldResult, params: Mapping[str, dict[str, Any]], general: bool
) -> BatchItem:
    place = schema_path(result.path)
    return BatchItem(
        place if general else result.path,
        result.gold_value,
        result.extracted_value,
        result.gold_compared,
        result.extracted_compared,
        params.get(place, {}),
    )


def _answers(name: str, items: list[BatchItem]) -> tuple[list[Any], str]:
    """Return what a comparator says, and what is wrong where it says nothing."""
    try:
        comparator = get_comparator(name)
    except KeyError as error:
        return [], str(error)
    if not is_batch(comparator):
        return [], f"the comparator {name!r} takes no batches"
    try:
        answers = comparator(items)  # type: ignore[call-arg]
    except Exception as error:  # one record's failure is told in its results
        _LOG.warning("Batch comparator '%s' failed: %s.", name, error)
        return [], f"the comparator raised {type(error).__name__}: {error}"
    if not isinstance(answers, list):
        return [], f"the comparator returned {type(answers).__name__}, not a list"
    told = getattr(comparator, "problem", "")
    return answers, told or "the comparator returned no result for it"


def _settle(result: FieldResult, answer: Any, problem: str) -> None:
    """Put an answer into a result."""
    if not isinstance(answer, ComparatorResult):
        result.status, result.score, result.reason = BATCH_ERROR, 0.0, problem
        return
    score = answer.score
    if not isinstance(score, int | float) or not math.isfinite(score):
        result.status, result.score = BATCH_ERROR, 0.0
        result.reason = f"the score {score!r} is no finite number"
        return
    result.score, result.reason = score, answer.reason
    if answer.skip:
        result.status, result.score = SKIPPED, 0.0
    else:
        result.status = MATCH if score >= 1.0 else MISMATCH

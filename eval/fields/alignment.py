"""Which element of a gold array belongs to which extracted one.

Three ways: by position, by the value of a key, or by the best sum of the pairs' F1.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eval.fields.batches import process_batches
from eval.fields.metrics import tally
from eval.fields.pairing import Tallies, best_pairs, quick_tallies
from eval.fields.plans import batch_params

if TYPE_CHECKING:
    from collections.abc import Callable

    from eval.fields.plans import Plan
    from eval.fields.results import FieldResult

__all__ = ["MAX_PAIRS", "Pairing", "aligned"]

_LOG = logging.getLogger(__name__)
MAX_PAIRS = 2_500
"""Pairs of one array that are compared to find the best; more go by position."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """Which elements belong together.

    Attributes:
        in_order: Gold index and extracted index, None for an omission, in the order in
            which they are told.
        hallucinated: Extracted indices without a gold element, in order.
        known: Results of pairs that were scored to find them.
    """

    in_order: list[tuple[int, int | None]]
    hallucinated: list[int]
    known: dict[tuple[int, int], list[FieldResult]] = field(default_factory=dict)


def aligned(
    node: Plan,
    path: str,
    gold: list[Any],
    extracted: list[Any],
    score_pair: Callable[[Plan, str, Any, Any], list[FieldResult]],
) -> Pairing:
    """Return the pairs of two arrays' elements.

    Args:
        node: The array.
        path: Its instance path.
        gold: Its elements as they should be.
        extracted: Its elements as they were extracted.
        score_pair: Scores one pair of elements.
    """
    if node.align == "key_field":
        return _by_key(node.align_key, gold, extracted)
    if node.align == "hungarian" and gold and extracted:
        if len(gold) * len(extracted) <= MAX_PAIRS:
            return _by_score(node, path, gold, extracted, score_pair)
        _LOG.warning(
            "%s: %d x %d elements are too many to find the best pairs: by position.",
            path or "<root>",
            len(gold),
            len(extracted),
        )
    both = min(len(gold), len(extracted))
    return Pairing(
        in_order=[(i, i if i < both else None) for i in range(len(gold))],
        hallucinated=list(range(both, len(extracted))),
    )


def _by_key(key: str, gold: list[Any], extracted: list[Any]) -> Pairing:
    """Pair elements whose key is equal; of several the first."""
    first: dict[Any, int] = {}
    rest: list[int] = []
    for index, item in enumerate(extracted):
        value = _key_value(item, key)
        if value is None or value in first:
            rest.append(index)
        else:
            first[value] = index
    pairs: list[tuple[int, int | None]] = []
    for index, item in enumerate(gold):
        value = _key_value(item, key)
        pairs.append((index, None if value is None else first.pop(value, None)))
    return Pairing(in_order=pairs, hallucinated=[*first.values(), *rest])


def _key_value(item: Any, key: str) -> str | float | None:
    """Return what an element is known by, None if by nothing."""
    value = item.get(key) if isinstance(item, dict) else None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return None if value != value else value


def _content_order(items: list[Any]) -> list[int]:
    """Return indices by what the elements say, so that their order decides nothing."""
    told = [json.dumps(item, sort_keys=True, default=repr) for item in items]
    return sorted(range(len(items)), key=told.__getitem__)


def _by_score(
    node: Plan,
    path: str,
    gold: list[Any],
    extracted: list[Any],
    score_pair: Callable[[Plan, str, Any, Any], list[FieldResult]],
) -> Pairing:
    """Pair elements so that the sum of the pairs' F1 is the largest."""
    child = node.children[0]
    known: dict[tuple[int, int], list[FieldResult]] = {}
    found = quick_tallies(child, gold, extracted)
    if found is None:
        params = batch_params(child) if child.has_batch else {}
        if params:
            _LOG.warning(
                "%s: to find the best pairs, every pair is given to %s.",
                path or "<root>",
                "the batch comparators",
            )
        found = Tallies.empty(len(gold), len(extracted))
        for i, left in enumerate(gold):
            for j, right in enumerate(extracted):
                results = score_pair(child, f"{path}[{i}]", left, right)
                if params:
                    process_batches(results, params, general=True)
                known[i, j] = results
                found.put(i, j, *tally(results))
    rows, columns = _content_order(gold), _content_order(extracted)
    best = best_pairs(found.reordered(rows, columns))
    pairs = dict(sorted((rows[i], columns[j]) for i, j in best.items()))
    taken = set(pairs.values())
    return Pairing(
        in_order=[
            *pairs.items(),
            *((i, None) for i in range(len(gold)) if i not in pairs),
        ],
        hallucinated=[j for j in range(len(extracted)) if j not in taken],
        known={pair: known[pair] for pair in pairs.items() if pair in known},
    )

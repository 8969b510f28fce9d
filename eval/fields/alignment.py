"""Which element of a gold array belongs to which extracted one.

Three ways: by position, by the value of a key, or by the best sum of the pairs' F1.

How well every gold element fits every extracted one is a matrix. Where all comparators
are built-in ones, the counts of all pairs are made column by column, without a result
for each field of each pair; arrays within the elements, and what has a wrong type, are
scored pair by pair. The counts are those that scoring every pair as a whole would give.
"""

from __future__ import annotations

import json
import logging
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from knowtrail.eval.fields.comparators import (
    BatchItem,
    ComparatorResult,
    compare_exact,
    compare_numeric,
    compare_oneof,
    get_comparator,
    is_batch,
)
from knowtrail.eval.fields.paths import schema_path
from knowtrail.eval.fields.results import (
    BATCH_ERROR,
    HALLUCINATION,
    MATCH,
    MISMATCH,
    OMISSION,
    PENDING,
    SKIPPED,
    missing,
    tally,
)
from knowtrail.eval.fields.schema import batch_params

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from knowtrail.eval.fields.results import FieldResult
    from knowtrail.eval.fields.schema import Plan

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


Scorer: TypeAlias = "Callable[[Plan, str, Any, Any], list[FieldResult]]"
"""Scores one pair of values at a path: `score_pair` of `eval.fields.scoring`."""

_MISSING = object()
_SCALARS = {str, int, float, bool, type(None)}
_SAFE_INTEGER = 2**53
_BUILT_IN = (compare_exact, compare_numeric, compare_oneof)


class _UnfitError(Exception):
    """The elements have something that the quick way does not count."""


@dataclass(slots=True, kw_only=True)
class Tallies:
    """Counts of every pair, gold elements by extracted ones.

    Attributes:
        score: Sum of the scores.
        extracted: Fields that count for precision.
        gold: Fields that count for recall.
    """

    score: NDArray[np.float64]
    extracted: NDArray[np.float64]
    gold: NDArray[np.float64]

    @classmethod
    def empty(cls, rows: int, columns: int) -> Tallies:
        """Return counts of nothing."""
        import numpy as np

        shape = (rows, columns)
        return cls(
            score=np.zeros(shape), extracted=np.zeros(shape), gold=np.zeros(shape)
        )

    def add(
        self, row: int, column: int, score: float, extracted: int, gold: int
    ) -> None:
        """Add counts of one pair."""
        self.score[row, column] += score
        self.extracted[row, column] += extracted
        self.gold[row, column] += gold

    def reordered(self, rows: list[int], columns: list[int]) -> Tallies:
        """Return the counts with rows and columns in another order."""
        import numpy as np

        at = np.ix_(rows, columns)
        return Tallies(
            score=self.score[at], extracted=self.extracted[at], gold=self.gold[at]
        )

    def f1(self) -> NDArray[np.float64]:
        """Return every pair's F1, as `eval.fields.results` counts a record's."""
        import numpy as np

        with np.errstate(divide="ignore", invalid="ignore"):
            precision = np.where(self.extracted > 0, self.score / self.extracted, 1.0)
            recall = np.where(self.gold > 0, self.score / self.gold, 1.0)
            total = precision + recall
            f1 = np.where(total > 0, 2 * precision * recall / total, 0.0)
        f1[(self.extracted == 0) & (self.gold == 0)] = 1.0
        return f1


def best_pairs(tallies: Tallies) -> dict[int, int]:
    """Return gold index to extracted index, by the largest sum of F1.

    Among equal sums the larger sum of scores is taken, then fewer fields; what is equal
    even then is as scipy's solver has it. A pair with F1 0 is none.
    """
    f1 = tallies.f1()
    pairs = _solved(f1)
    parts = (tallies.score, -tallies.extracted, -tallies.gold)
    if all(float(part.min()) == float(part.max()) for part in parts[1:]):
        return _worth(pairs, f1)
    weight = f1.copy()
    for part, factor in zip(parts, (1e-8, 1e-11, 1e-13), strict=True):
        weight += part * (factor / max(1.0, float(abs(part).max())))
    others = _solved(weight)
    sums = [[float(part[chosen].sum()) for part in parts] for chosen in (pairs, others)]
    equal = abs(float(f1[pairs].sum() - f1[others].sum())) < 1e-9
    return _worth(others if equal and sums[1] > sums[0] else pairs, f1)


def _solved(weight: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return rows and columns with the largest sum."""
    from scipy.optimize import (  # type: ignore[import-untyped, unused-ignore]
        linear_sum_assignment,
    )

    rows, columns = linear_sum_assignment(weight, maximize=True)
    return rows, columns


def _worth(
    pairs: tuple[NDArray[np.intp], NDArray[np.intp]], f1: NDArray[np.float64]
) -> dict[int, int]:
    """Return the pairs that have something in common."""
    return {
        int(row): int(column)
        for row, column in zip(*pairs, strict=True)
        if f1[row, column] > 0
    }


def quick_tallies(
    child: Plan, gold: list[Any], extracted: list[Any], score_pair: Scorer
) -> Tallies | None:
    """Return the counts of every pair, None if they must be scored one by one."""
    if child.skip or child.has_batch or not _is_built_in(child):
        return None
    sums = Tallies.empty(len(gold), len(extracted))
    try:
        _add(sums, child, gold, extracted, score_pair)
    except Exception:  # scored one by one, what is wrong is told with its path
        return None
    return sums


def _add(
    sums: Tallies,
    node: Plan,
    gold: list[Any],
    extracted: list[Any],
    score_pair: Scorer,
) -> None:
    """Count one place of all elements."""
    if node.kind == "leaf" and not node.children:
        _add_leaves(sums, node, gold, extracted)
    elif node.kind == "object" and all(
        value is _MISSING or type(value) is dict for value in (*gold, *extracted)
    ):
        _add_objects(sums, node, gold, extracted, score_pair)
    else:
        _add_scored(sums, node, gold, extracted, score_pair)


def _is_built_in(node: Plan) -> bool:
    """Return whether every comparator of a place and below is a built-in one."""
    own = node.kind != "leaf" or node.skip or node.compare in _BUILT_IN
    return own and all(_is_built_in(child) for child in node.children)


def _add_objects(
    sums: Tallies,
    node: Plan,
    gold: list[Any],
    extracted: list[Any],
    score_pair: Scorer,
) -> None:
    """Count two empty objects as a match, keys without a schema, and each property."""
    import numpy as np

    both = np.outer([v == {} for v in gold], [v == {} for v in extracted])
    for part in (sums.score, sums.gold, sums.extracted):
        part += both
    sums.extracted += np.outer(
        [value is not _MISSING for value in gold],
        [0 if v is _MISSING else len(v.keys() - node.by_key.keys()) for v in extracted],
    )
    for child in node.children:
        if not child.skip:
            left, right = (
                [v if v is _MISSING else v.get(child.key, _MISSING) for v in side]
                for side in (gold, extracted)
            )
            _add(sums, child, left, right, score_pair)


def _add_scored(
    sums: Tallies,
    node: Plan,
    gold: list[Any],
    extracted: list[Any],
    score_pair: Scorer,
) -> None:
    """Count a place by scoring every pair of it."""
    for row, left in enumerate(gold):
        for column, right in enumerate(extracted):
            if left is _MISSING and right is _MISSING:
                continue
            if left is _MISSING:
                results = missing(node, "", right, HALLUCINATION)
            elif right is _MISSING:
                results = missing(node, "", left, OMISSION)
            else:
                results = score_pair(node, "", left, right)
            sums.add(row, column, *tally(results))


def _add_leaves(
    sums: Tallies, node: Plan, gold: list[Any], extracted: list[Any]
) -> None:
    """Count a column of values."""
    import numpy as np

    sums.gold += np.array([value is not _MISSING for value in gold])[:, None]
    sums.extracted += [value is not _MISSING for value in extracted]
    for transform, params in node.transforms:
        gold, extracted = (
            [v if v is _MISSING else transform(v, params) for v in side]
            for side in (gold, extracted)
        )
    tolerance = node.params.get("tolerance") or {}
    try:
        if node.compare is compare_exact:
            sums.score += _equal(gold, extracted, _exact_key)
        elif node.compare is compare_numeric and not tolerance:
            sums.score += _equal(gold, extracted, _number_key)
        elif node.compare is compare_numeric:
            sums.score += _near(gold, extracted, **tolerance)
        else:
            raise _UnfitError
    except _UnfitError:
        sums.score += [
            [
                0.0
                if left is _MISSING or right is _MISSING
                else node.compare(left, right, node.params).score  # type: ignore[misc]
                for right in extracted
            ]
            for left in gold
        ]


def _equal(
    gold: list[Any], extracted: list[Any], key: Callable[[Any], Any]
) -> NDArray[np.bool_]:
    """Return which pairs are equal, as those are whose keys are."""
    import numpy as np

    codes: dict[Any, int] = {}
    left = [-1 if v is _MISSING else codes.setdefault(key(v), len(codes)) for v in gold]
    right = [-2 if v is _MISSING else codes.get(key(v), -2) for v in extracted]
    equal: NDArray[np.bool_] = np.array(left)[:, None] == np.array(right)[None, :]
    return equal


def _near(
    gold: list[Any],
    extracted: list[Any],
    rel: float | None = None,
    abs: float | None = None,  # noqa: A002 - as schemas write it
) -> NDArray[np.bool_]:
    """Return which pairs of plain numbers are within a tolerance."""
    import numpy as np

    left, right = (
        np.array([math.nan if v is _MISSING else float(_plain(v)) for v in side])
        for side in (gold, extracted)
    )
    with np.errstate(over="ignore"):
        gap = np.abs(left[:, None] - right[None, :])
        fits: NDArray[np.bool_] = ~np.isnan(gap)
        if rel is not None:
            fits &= gap / np.where(left == 0, 1.0, np.abs(left))[:, None] <= rel
    if abs is not None:
        fits &= gap <= abs
    return fits


def _exact_key(value: Any) -> Any:
    """Return what is equal where `exact` finds equality; NaN equals nothing."""
    if type(value) not in _SCALARS:
        raise _UnfitError
    return (type(value), value) if value == value else object()


def _number_key(value: Any) -> float | None:
    """Return what is equal where `numeric` finds equality."""
    return None if value is None else _plain(value)


def _plain(value: Any) -> float:
    """Return a finite number that a float holds exactly."""
    whole = type(value) is int and abs(value) <= _SAFE_INTEGER
    if not whole and not (type(value) is float and math.isfinite(value)):
        raise _UnfitError
    number: float = value
    return number


MAX_PAIRS = 250_000
"""Pairs of one array that are compared to find the best; more go by position."""
MAX_BATCHED = 2_500
"""The same where a batch comparator, such as a language model, is asked of each."""


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
    score_pair: Scorer,
) -> Pairing:
    """Return the pairs of two arrays' elements."""
    if node.align == "key_field":
        return _by_key(node.align_key, gold, extracted)
    if node.align == "hungarian" and gold and extracted:
        most = MAX_BATCHED if node.has_batch else MAX_PAIRS
        if len(gold) * len(extracted) <= most:
            return _by_score(node, path, gold, extracted, score_pair)
        node.by_position[node.path] += 1
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
    score_pair: Scorer,
) -> Pairing:
    """Pair elements so that the sum of the pairs' F1 is the largest."""
    child = node.children[0]
    known: dict[tuple[int, int], list[FieldResult]] = {}
    found = quick_tallies(child, gold, extracted, score_pair)
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
                if params or len(gold) * len(extracted) <= MAX_BATCHED:
                    known[i, j] = results  # else they are many, and scored again
                found.add(i, j, *tally(results))
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

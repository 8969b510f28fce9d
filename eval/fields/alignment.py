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

    def put(
        self, row: int, column: int, score: float, extracted: int, gold: int
    ) -> None:
        """Set the counts of one pair."""
        self.score[row, column] = score
        self.extracted[row, column] = extracted
        self.gold[row, column] = gold

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
    if child.skip or child.has_batch:
        return None
    table = _Table(len(gold), len(extracted), score_pair)
    try:
        table.add(child, gold, extracted)
    except Exception:  # scored one by one, what is wrong is told with its path
        return None
    return table.tallies()


class _Table:
    """Sums up columns of values, one column of a leaf at a time."""

    def __init__(self, rows: int, columns: int, score_pair: Scorer) -> None:
        import numpy as np

        self._score_pair = score_pair
        self._sums = Tallies.empty(rows, columns)
        self._gold = np.zeros(rows)
        self._extracted = np.zeros(columns)
        self._codes: list[tuple[list[int], list[int]]] = []

    def tallies(self) -> Tallies:
        """Return the counts of every pair."""
        import numpy as np

        sums = self._sums
        sums.gold += self._gold[:, None]
        sums.extracted += self._extracted[None, :]
        if self._codes:
            gold = np.array([codes for codes, _ in self._codes])
            extracted = np.array([codes for _, codes in self._codes])
            sums.score += (gold[:, :, None] == extracted[:, None, :]).sum(axis=0)
        return sums

    def add(self, node: Plan, gold: list[Any], extracted: list[Any]) -> None:
        """Count one place of all elements."""
        if node.kind == "leaf" and not node.children:
            self._add_leaves(node, gold, extracted)
        elif node.kind == "object" and all(
            value is _MISSING or type(value) is dict for value in (*gold, *extracted)
        ):
            self._add_objects(node, gold, extracted)
        elif _is_built_in(node):
            self._add_scored(node, gold, extracted)
        else:
            raise _UnfitError

    def _add_scored(self, node: Plan, gold: list[Any], extracted: list[Any]) -> None:
        """Count a place by scoring every pair, and what is missing once a side."""
        sums = self._sums
        for row, left in enumerate(gold):
            if left is _MISSING:
                continue
            absent = tally(missing(node, "", left, OMISSION))[2]
            for column, right in enumerate(extracted):
                if right is _MISSING:
                    sums.gold[row, column] += absent
                    continue
                counts = tally(self._score_pair(node, "", left, right))
                sums.score[row, column] += counts[0]
                sums.extracted[row, column] += counts[1]
                sums.gold[row, column] += counts[2]
        rows = [row for row, left in enumerate(gold) if left is _MISSING]
        for column, right in enumerate(extracted):
            if rows and right is not _MISSING:
                invented = tally(missing(node, "", right, HALLUCINATION))[1]
                sums.extracted[rows, column] += invented

    def _add_objects(self, node: Plan, gold: list[Any], extracted: list[Any]) -> None:
        import numpy as np

        for child in node.children:
            if not child.skip:
                self.add(child, _column(gold, child.key), _column(extracted, child.key))
        sums, known = self._sums, node.by_key.keys()
        empty = [value == {} for value in extracted]
        if any(empty):
            both = np.outer([value == {} for value in gold], empty)
            sums.score += both
            sums.gold += both
            sums.extracted += both
        others = [
            0 if value is _MISSING else len(value.keys() - known) for value in extracted
        ]
        if any(others):
            there = [value is not _MISSING for value in gold]
            sums.extracted += np.outer(there, others)

    def _add_leaves(self, node: Plan, gold: list[Any], extracted: list[Any]) -> None:
        import numpy as np

        self._gold += [value is not _MISSING for value in gold]
        self._extracted += [value is not _MISSING for value in extracted]
        left, right = _compared(node, gold), _compared(node, extracted)
        compare = node.compare
        if compare is compare_exact:
            if not self._add_codes(_exact_keys(left), _exact_keys(right)):
                self._add_cells(node, left, right)
        elif compare is compare_numeric:
            self._add_numbers(node, left, right)
        elif compare is compare_oneof:
            fits = [
                value is not _MISSING and compare(None, value, node.params).score
                for value in right
            ]
            there = [value is not _MISSING for value in left]
            self._sums.score += np.outer(there, fits)
        else:
            raise _UnfitError

    def _add_numbers(self, node: Plan, gold: list[Any], extracted: list[Any]) -> None:
        """Count a column of numbers: by code, by gap, or cell by cell."""
        import numpy as np

        tolerance = (node.params or {}).get("tolerance") or {}
        rel, allowed = tolerance.get("rel"), tolerance.get("abs")
        if rel is None and allowed is None:
            if not self._add_codes(_number_keys(gold), _number_keys(extracted)):
                self._add_cells(node, gold, extracted)
            return
        if not all(_is_plain_number(value) for value in (*gold, *extracted)):
            self._add_cells(node, gold, extracted)
            return
        left = np.array([np.nan if v is _MISSING else float(v) for v in gold])
        right = np.array([np.nan if v is _MISSING else float(v) for v in extracted])
        with np.errstate(over="ignore"):
            gap = np.abs(left[:, None] - right[None, :])
            fits = ~np.isnan(gap)
            if rel is not None:
                size = np.abs(left)
                size[size == 0] = 1.0
                fits &= gap / size[:, None] <= rel
        if allowed is not None:
            fits &= gap <= allowed
        self._sums.score += fits

    def _add_codes(self, gold: list[Any] | None, extracted: list[Any] | None) -> bool:
        """Count a column whose values are equal where their keys are."""
        if gold is None or extracted is None:
            return False
        codes: dict[Any, int] = {}
        left = [
            -1 if key is _MISSING else codes.setdefault(key, len(codes)) for key in gold
        ]
        right = [-2 if key is _MISSING else codes.get(key, -2) for key in extracted]
        self._codes.append((left, right))
        return True

    def _add_cells(self, node: Plan, gold: list[Any], extracted: list[Any]) -> None:
        """Count a column by comparing every pair."""
        if node.compare is None:
            raise _UnfitError
        for row, left in enumerate(gold):
            for column, right in enumerate(extracted):
                if left is not _MISSING and right is not _MISSING:
                    result = node.compare(left, right, node.params)
                    self._sums.score[row, column] += result.score


def _is_built_in(node: Plan) -> bool:
    """Return whether every comparator of a place and below is a built-in one."""
    own = node.kind != "leaf" or node.skip or node.compare in _BUILT_IN
    return own and all(_is_built_in(child) for child in node.children)


def _column(values: list[Any], key: str) -> list[Any]:
    return [
        _MISSING if value is _MISSING else value.get(key, _MISSING) for value in values
    ]


def _compared(node: Plan, values: list[Any]) -> list[Any]:
    """Return values after the transforms."""
    for transform, params in node.transforms:
        values = [
            value if value is _MISSING else transform(value, params) for value in values
        ]
    return values


def _exact_keys(values: list[Any]) -> list[Any] | None:
    """Return keys equal where `exact` finds equality, None if there are none."""
    keys: list[Any] = []
    for value in values:
        kind = type(value)
        if kind is str or value is _MISSING:
            keys.append(value)
        elif kind not in _SCALARS:
            return None
        else:
            keys.append((kind, value) if value == value else _MISSING)
    return keys


def _number_keys(values: list[Any]) -> list[Any] | None:
    """Return keys equal where `numeric` finds equality, None if there are none."""
    keys: list[Any] = []
    for value in values:
        if value is _MISSING:
            keys.append(value)
        elif value is None:
            keys.append("none")
        elif _is_plain_number(value):
            keys.append(value)
        else:
            return None
    return keys


def _is_plain_number(value: Any) -> bool:
    """Return whether a value is a finite number that a float holds exactly."""
    kind = type(value)
    if kind is int:
        return bool(-_SAFE_INTEGER <= value <= _SAFE_INTEGER)
    return value is _MISSING or (kind is float and value - value == 0)


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

"""Scores records, all at once or as a stream: schema, gold and extraction together.

Elements of arrays are paired by position, by the value of a key, or by the best sum of
the pairs' F1. How well every gold element fits every extracted one is a matrix. Where
all comparators are built-in ones, the counts of all pairs are made column by column;
arrays within the elements, and what has a wrong type, are scored pair by pair. The
counts are those that scoring every pair as a whole would give.
"""

from __future__ import annotations

import json
import logging
import math
from itertools import zip_longest
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
from knowtrail.eval.fields.errors import (
    ArgumentError,
    RecordIdError,
    ScoringError,
    refuse_one,
    too_deep_told,
)
from knowtrail.eval.fields.paths import child_path, schema_path
from knowtrail.eval.fields.results import (
    BATCH_ERROR,
    HALLUCINATION,
    MATCH,
    MISMATCH,
    OMISSION,
    PENDING,
    SKIPPED,
    FieldResult,
    below,
    build_record_result,
    build_run_result,
    missing,
    tally,
)
from knowtrail.eval.fields.schema import (
    batch_params,
    iter_schema,
    parse_eval_schema,
    plan,
)
from knowtrail.graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from knowtrail.eval.fields.results import RecordResult, RunResult
    from knowtrail.eval.fields.schema import SchemaNode

    PostProcess = Callable[[list[FieldResult]], list[FieldResult]]

_LOG = logging.getLogger(__name__)


def score_record(schema: SchemaNode, gold: Any, extracted: Any) -> list[FieldResult]:
    """Return the results of every field of one record.

    Fields of batch comparators are left `pending`, except in arrays aligned by content,
    where they are settled to find the pairs. A container scored as one (two empty ones,
    or one of a wrong type) has its raw values as compared values too.
    """
    with too_deep_told("the record"):
        return score_pair(plan(schema), "", gold, extracted)


def score_pair(
    node: SchemaNode, path: str, gold: Any, extracted: Any
) -> list[FieldResult]:
    """Return the results of a place that both sides have."""
    if node.kind == "leaf":
        return [_leaf(node, path, gold, extracted)]
    if node.kind == "object":
        if isinstance(gold, dict) and isinstance(extracted, dict):
            return _objects(node, path, gold, extracted)
    elif isinstance(gold, list) and isinstance(extracted, list):
        return _arrays(node, path, gold, extracted)
    return _odd_container(node, path, gold, extracted)


def _leaf(node: SchemaNode, path: str, gold: Any, extracted: Any) -> FieldResult:
    if node.skip:
        return FieldResult(path, 0.0, "", gold, extracted, SKIPPED)
    name = node.comparator.name
    left, right = gold, extracted
    try:
        for transform, params in node.changes:
            left, right = transform(left, params), transform(right, params)
        if node.compare is None:
            return FieldResult(
                path, 0.0, name, gold, extracted, PENDING, None, left, right
            )
        result = node.compare(left, right, node.comparator.params)
        score = _checked(result)
    except ArgumentError as error:
        raise ScoringError(f"{path or '<root>'}: {error}") from error
    except Exception as error:
        error.add_note(f"while scoring {path or '<root>'} by {name!r}")
        raise
    if result.skip:
        status, score = SKIPPED, 0.0
    else:
        status = MATCH if score == 1.0 else MISMATCH
    return FieldResult(
        path, score, name, gold, extracted, status, result.reason, left, right
    )


def _checked(result: Any) -> float:
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
    score = 1.0 if status == MATCH else 0.0
    return FieldResult(
        path, score, "", gold, extracted, status, reason, gold, extracted
    )


def _odd_container(
    node: SchemaNode, path: str, gold: Any, extracted: Any
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
    node: SchemaNode, path: str, gold: dict[str, Any], extracted: dict[str, Any]
) -> list[FieldResult]:
    if not gold and not extracted:
        return [_container(path, gold, extracted, MATCH)]
    results: list[FieldResult] = []
    shared = 0
    for child in node.children:
        key, place = child.key, below(path, child)
        in_gold, in_extracted = key in gold, key in extracted
        shared += in_extracted
        if child.skip:
            left, right = gold.get(key), extracted.get(key)
            results.append(FieldResult(place, 0.0, "", left, right, SKIPPED))
        elif in_gold and in_extracted:
            if child.kind == "leaf":
                results.append(_leaf(child, place, gold[key], extracted[key]))
            else:
                results += score_pair(child, place, gold[key], extracted[key])
        elif in_gold:
            results += missing(child, place, gold[key], OMISSION)
        elif in_extracted:
            results += missing(child, place, extracted[key], HALLUCINATION)
    if shared < len(extracted):
        for key in _others(node, path, extracted):
            place, right = child_path(path, key), extracted[key]
            results.append(FieldResult(place, 0.0, "", None, right, HALLUCINATION))
    return results


def _others(node: SchemaNode, path: str, extracted: dict[str, Any]) -> list[str]:
    keys = [key for key in extracted if key not in node.by_key]
    for key in keys:
        if not isinstance(key, str):
            msg = f"{path or '<root>'}: the key {key!r} is no text, as JSON's keys are"
            raise ScoringError(msg)
    return sorted(keys)


def _arrays(
    node: SchemaNode, path: str, gold: list[Any], extracted: list[Any]
) -> list[FieldResult]:
    if not gold and not extracted:
        return [_container(path, gold, extracted, MATCH)]
    child = node.children[0]
    pairs, others, known = aligned(node, path, gold, extracted)
    results: list[FieldResult] = []
    for left, right in pairs:
        if right is None:
            results += missing(child, f"{path}[{left}]", gold[left], OMISSION)
        elif (left, right) in known:
            results += known[left, right]
        else:
            results += score_pair(
                child, f"{path}[{left}]", gold[left], extracted[right]
            )
    for place, right in enumerate(others, start=1):
        results += missing(child, f"{path}[{-place}]", extracted[right], HALLUCINATION)
    return results


def process_batches(
    field_results: list[FieldResult],
    params: Mapping[str, dict[str, Any]],
    *,
    general: bool = False,
) -> list[FieldResult]:
    """Settle every pending result of one record, in place; return the same list.

    A comparator that raises, is not known, or returns no list fails all of its fields;
    an entry that is no result with a finite score fails that one. A failed field is a
    `batch_error`, with what went wrong as reason: a comparator may tell it in an
    attribute `problem`. `params` are by schema path; with `general` comparators are
    told these.
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


_MISSING = object()
_BUILT_IN = (compare_exact, compare_numeric, compare_oneof)


SCORE, EXTRACTED, GOLD = range(3)
"""What is counted of every pair: three matrices, gold elements by extracted ones."""


def _f1(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return every pair's F1, as `eval.fields.results` counts a record's."""
    import numpy as np

    score, extracted, gold = sums
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.where(extracted > 0, score / extracted, 1.0)
        recall = np.where(gold > 0, score / gold, 1.0)
        total = precision + recall
        return np.where(total > 0, 2 * precision * recall / total, 0.0)


def best_pairs(sums: NDArray[np.float64]) -> dict[int, int]:
    """Return gold index to extracted index, by the largest sum of F1.

    Among equal sums the larger sum of scores is taken, then fewer fields. A pair with
    F1 0 is none.
    """
    from scipy.optimize import (  # type: ignore[import-untyped, unused-ignore]
        linear_sum_assignment,
    )

    f1 = _f1(sums)
    pairs = linear_sum_assignment(f1, maximize=True)
    parts = (sums[SCORE], -sums[EXTRACTED], -sums[GOLD])
    if any(float(part.min()) != float(part.max()) for part in parts[1:]):
        weight = f1.copy()
        for part, factor in zip(parts, (1e-8, 1e-11, 1e-13), strict=True):
            weight += part * (factor / max(1.0, float(abs(part).max())))
        others = linear_sum_assignment(weight, maximize=True)
        one, two = (
            [float(p[chosen].sum()) for p in parts] for chosen in (pairs, others)
        )
        equal = abs(float(f1[pairs].sum() - f1[others].sum())) < 1e-9
        pairs = others if equal and two > one else pairs
    return {int(i): int(j) for i, j in zip(*pairs, strict=True) if f1[i, j] > 0}


def quick_tallies(
    child: SchemaNode, gold: list[Any], extracted: list[Any]
) -> NDArray[np.float64] | None:
    """Return the counts of every pair, None if they must be scored one by one."""
    import numpy as np

    if child.skip or child.has_batch or not _is_built_in(child):
        return None
    sums = np.zeros((3, len(gold), len(extracted)))
    try:
        _add(sums, child, gold, extracted)
    except Exception:  # scored one by one, what is wrong is told with its path
        return None
    return sums


def _add(
    sums: NDArray[np.float64], node: SchemaNode, gold: list[Any], extracted: list[Any]
) -> None:
    if node.kind == "leaf" and not node.children:
        _add_leaves(sums, node, gold, extracted)
    elif node.kind == "object" and all(
        value is _MISSING or type(value) is dict for value in (*gold, *extracted)
    ):
        _add_objects(sums, node, gold, extracted)
    else:
        _add_scored(sums, node, gold, extracted)


def _is_built_in(node: SchemaNode) -> bool:
    own = node.kind != "leaf" or node.skip or node.compare in _BUILT_IN
    return own and all(_is_built_in(child) for child in node.children)


def _add_objects(
    sums: NDArray[np.float64], node: SchemaNode, gold: list[Any], extracted: list[Any]
) -> None:
    import numpy as np

    sums += np.outer([v == {} for v in gold], [v == {} for v in extracted])
    sums[EXTRACTED] += np.outer(
        [value is not _MISSING for value in gold],
        [0 if v is _MISSING else len(v.keys() - node.by_key.keys()) for v in extracted],
    )
    for child in node.children:
        if not child.skip:
            left, right = (
                [v if v is _MISSING else v.get(child.key, _MISSING) for v in side]
                for side in (gold, extracted)
            )
            _add(sums, child, left, right)


def _add_scored(
    sums: NDArray[np.float64], node: SchemaNode, gold: list[Any], extracted: list[Any]
) -> None:
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
            sums[:, row, column] += tally(results)


def _add_leaves(
    sums: NDArray[np.float64], node: SchemaNode, gold: list[Any], extracted: list[Any]
) -> None:
    """Count values that are there, and compare each two different ones once."""
    import numpy as np

    sums[GOLD] += np.array([value is not _MISSING for value in gold])[:, None]
    sums[EXTRACTED] += [value is not _MISSING for value in extracted]
    for transform, params in node.changes:
        gold, extracted = (
            [v if v is _MISSING else transform(v, params) for v in side]
            for side in (gold, extracted)
        )
    (lefts, rows), (rights, columns) = map(_distinct, (gold, extracted))
    scores = np.array([
        [
            0.0
            if left is _MISSING or right is _MISSING
            else node.compare(left, right, node.comparator.params).score  # type: ignore[misc]
            for right in rights
        ]
        for left in lefts
    ])
    sums[SCORE] += scores[np.ix_(rows, columns)]


def _distinct(values: list[Any]) -> tuple[list[Any], list[int]]:
    """Return values without those that come again, and where each one is then."""
    known: dict[tuple[type, str], int] = {}
    distinct: list[Any] = []
    places: list[int] = []
    for value in values:
        places.append(known.setdefault((type(value), repr(value)), len(distinct)))
        if places[-1] == len(distinct):
            distinct.append(value)
    return distinct, places


MAX_PAIRS = 250_000
"""Pairs of one array that are compared to find the best; more go by position."""
MAX_BATCHED = 2_500
"""The same where a batch comparator, such as a language model, is asked of each."""


Pairing: TypeAlias = tuple[
    list[tuple[int, int | None]], list[int], dict[tuple[int, int], list[FieldResult]]
]
"""Pairs of indices, in order; what only the extraction has; results that are known."""


def aligned(
    node: SchemaNode, path: str, gold: list[Any], extracted: list[Any]
) -> Pairing:
    """Return the pairs of two arrays' elements."""
    how = node.align or {}
    match_by = None if how.get("ordered") else how.get("match_by")
    if match_by == "key_field":
        return _by_key(how.get("key", ""), gold, extracted)
    if match_by == "hungarian" and gold and extracted:
        most = MAX_BATCHED if node.has_batch else MAX_PAIRS
        if len(gold) * len(extracted) <= most:
            return _by_score(node, path, gold, extracted)
        node.by_position += 1
        _LOG.warning(
            "%s: %d x %d elements are too many to find the best pairs: by position.",
            path or "<root>",
            len(gold),
            len(extracted),
        )
    both = min(len(gold), len(extracted))
    pairs = [(i, i if i < both else None) for i in range(len(gold))]
    return pairs, list(range(both, len(extracted))), {}


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
    return pairs, [*first.values(), *rest], {}


def _key_value(item: Any, key: str) -> str | float | None:
    value = item.get(key) if isinstance(item, dict) else None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return None if value != value else value


def _content_order(items: list[Any]) -> list[int]:
    """Return indices by what the elements say, so that their order decides nothing."""
    told = [json.dumps(item, sort_keys=True, default=repr) for item in items]
    return sorted(range(len(items)), key=told.__getitem__)


def _by_score(
    node: SchemaNode, path: str, gold: list[Any], extracted: list[Any]
) -> Pairing:
    import numpy as np

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
        found = np.zeros((3, len(gold), len(extracted)))
        for i, left in enumerate(gold):
            for j, right in enumerate(extracted):
                results = score_pair(child, f"{path}[{i}]", left, right)
                if params:
                    process_batches(results, params, general=True)
                if params or len(gold) * len(extracted) <= MAX_BATCHED:
                    known[i, j] = results  # else they are many, and scored again
                found[:, i, j] = tally(results)
    rows, columns = _content_order(gold), _content_order(extracted)
    best = best_pairs(found[:, rows][:, :, columns])
    pairs = dict(sorted((rows[i], columns[j]) for i, j in best.items()))
    taken = set(pairs.values())
    alone = [(i, None) for i in range(len(gold)) if i not in pairs]
    others = [j for j in range(len(extracted)) if j not in taken]
    found_out = {pair: known[pair] for pair in pairs.items() if pair in known}
    return [*pairs.items(), *alone], others, found_out


_NOTHING = object()


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
        raise InputError(
            f"gold and extracted must have the same length: they have {len(gold)} and "
            f"{len(extracted)} records."
        )
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

    The schema is read at once, records as they are asked for. Takes what `evaluate`
    does.
    """
    refuse_one(gold, "gold")
    refuse_one(extracted, "extracted")
    root = plan(parse_eval_schema(schema))
    arrays = [node for node in iter_schema(root) if node.align]
    params = batch_params(root)

    def scored(index: int, left: Any, right: Any) -> RecordResult:
        record_id = index if id_field is None else _record_id(left, id_field, index)
        try:
            with too_deep_told(f"record {record_id!r}"):
                results = score_pair(root, "", left, right)
        except ScoringError as error:
            raise ScoringError(f"Record {record_id!r}, {error}") from error
        except Exception as error:
            error.add_note(f"in record {record_id!r}")
            raise
        process_batches(results, params)
        if post_process is not None:
            results = post_process(results)
            if not isinstance(results, list):
                raise ArgumentError(
                    f"The post-processor returned {type(results).__name__} for record "
                    f"{record_id!r}: it must return the list of results."
                )
        placed = {node.path: node.by_position for node in arrays if node.by_position}
        for node in arrays:
            node.by_position = 0
        return build_record_result(record_id, results, left, right, by_position=placed)

    return (scored(*pair) for pair in _paired(gold, extracted))


def _paired(
    gold: Iterable[Any], extracted: Iterable[Any]
) -> Iterator[tuple[int, Any, Any]]:
    pairs = zip_longest(gold, extracted, fillvalue=_NOTHING)
    for index, (left, right) in enumerate(pairs):
        if left is _NOTHING or right is _NOTHING:
            shorter = "gold" if left is _NOTHING else "extracted"
            raise InputError(
                f"gold and extracted must have the same length: {shorter} ends after "
                f"{index} records."
            )
        yield index, left, right


def _record_id(record: Any, id_field: str, index: int) -> str | int:
    if not isinstance(record, dict) or id_field not in record:
        msg = f"Gold record {index} has no id field {id_field!r}: add it there."
        raise RecordIdError(msg)
    value: str | int = record[id_field]
    return value

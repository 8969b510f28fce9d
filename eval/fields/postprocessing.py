"""Changes to a record's results before its metrics are counted; plugins that make some.

A plugin is a Python file of the user, which is run once, where it is named, and
registers what schemas may use:

    from knowtrail.eval.fields import ComparatorResult, register

    def compare_date(gold, extracted, params): ...

    register("date", compare_date)

A function `post_process` in it takes the results of each record and returns those to
count.
"""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass, field
from importlib.util import module_from_spec, spec_from_file_location
from typing import TYPE_CHECKING, Any

from knowtrail.eval.fields.comparators import same
from knowtrail.eval.fields.results import (
    BATCH_ERROR,
    HALLUCINATION,
    MATCH,
    OMISSION,
    SKIPPED,
)
from knowtrail.graph.errors import InputError, SourceError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from knowtrail.eval.fields.results import FieldResult
    from knowtrail.eval.fields.scoring import PostProcess


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """A file that was run.

    Attributes:
        digest: Digest of its bytes, by which a run knows it again.
        post_process: Its post-processor, None where it has none.
    """

    path: Path
    digest: str
    post_process: PostProcess | None = None


def load_plugin(path: Path) -> Plugin:
    """Run a Python file that registers comparators and transforms.

    Raises:
        SourceError: If it cannot be read or is no Python file.
        InputError: If it raises, or its `post_process` is no function.
    """
    name = f"knowtrail_plugin_{path.stem}"
    spec = spec_from_file_location(name, path) if path.is_file() else None
    if spec is None or spec.loader is None:
        raise SourceError(f"{path} is no Python file: name a plugin that ends in .py.")
    module = module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look for the module they are made in
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # plugins are anybody's
        del sys.modules[name]
        msg = f"The plugin {path} cannot be used: {type(error).__name__}: {error}"
        raise InputError(msg) from error
    found = getattr(module, "post_process", None)
    if found is not None and not callable(found):
        raise InputError(f"post_process of {path} is {found!r:.80}: write a function.")
    digest = hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
    return Plugin(path=path, digest=digest, post_process=found)


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

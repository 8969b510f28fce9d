"""One evaluation of files, whole: scored, summed up, compared, stored.

Four further questions are answered beside the scores: how far annotators agree, whether
gold stands in a text, whether values have shifted, and how other extractions differ.
"""

from __future__ import annotations

from array import array
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from knowtrail.eval.fields.agreement import annotator_agreement
from knowtrail.eval.fields.contamination import TextIndex, contamination
from knowtrail.eval.fields.paths import schema_path
from knowtrail.eval.fields.records import RecordFile
from knowtrail.eval.fields.results import MATCH, SCORED, SKIPPED, RunAccumulator, tally
from knowtrail.eval.fields.schema import parse_eval_schema
from knowtrail.eval.fields.scoring import iter_records
from knowtrail.eval.fields.shift import shifts
from knowtrail.eval.report import Table, plain, table
from knowtrail.eval.statistics import (
    RESAMPLES,
    SHARE,
    bootstrap_intervals,
    compare_paired,
    corrected_differences,
    divided,
    ratio_f1,
    ratio_precision,
    ratio_recall,
)
from knowtrail.eval.store import EvalRecord, EvalRun, Metric, StoredField, open_run
from knowtrail.graph.cli.progress import Progress, silent
from knowtrail.graph.errors import InputError
from knowtrail.graph.files import read_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from knowtrail.eval.fields.results import RecordResult, RunResult
    from knowtrail.eval.fields.scoring import PostProcess
    from knowtrail.eval.statistics import Comparison, Difference, Interval, Statistic
    from knowtrail.eval.store import StoreLevel
    from knowtrail.graph.db.connection import Connection


METRICS: dict[str, Statistic] = {
    "precision": lambda means: means[:, 3],
    "recall": lambda means: means[:, 4],
    "f1": lambda means: means[:, 5],
    "micro_precision": ratio_precision,
    "micro_recall": ratio_recall,
    "micro_f1": ratio_f1,
}
"""Name to statistic: means over the records, and ratios over all fields at once."""

_COLUMNS = 6
_PATHS = 100_000


class RunNumbers:
    """Six numbers a record: sum of scores, extracted and gold fields, its metrics.

    They take 48 bytes a record; by field 24 bytes a field and record.
    """

    def __init__(
        self, records: Iterable[RecordResult] = (), *, by_field: bool = False
    ) -> None:
        self._numbers = array("d")
        self._by_field = by_field
        self._fields: dict[str, array[float]] = {}
        for record in records:
            self.add(record)

    def add(self, record: RecordResult) -> None:
        """Take one record."""
        sums: dict[str, tuple[float, int]] = {}
        for result in record.field_results if self._by_field else ():
            if result.status in SCORED:
                path = schema_path(result.path)
                score, count = sums.get(path, (0.0, 0))
                sums[path] = score + result.score, count + 1
        for path, cells in sums.items():
            self._fields.setdefault(path, array("d")).extend((len(self), *cells))
        means = record.precision, record.recall, record.f1
        self._numbers.extend((*tally(record.field_results), *means))

    def __len__(self) -> int:
        return len(self._numbers) // _COLUMNS

    @property
    def rows(self) -> NDArray[np.float64]:
        """The numbers, one row a record."""
        return np.array(self._numbers, dtype=np.float64).reshape(-1, _COLUMNS)

    @property
    def fields(self) -> dict[str, NDArray[np.float64]]:
        """Schema path to sum of scores and number of results, one row a record."""
        found = {}
        for path, numbers in self._fields.items():
            cells = np.array(numbers).reshape(-1, 3)
            found[path] = np.zeros((len(self), 2))
            found[path][cells[:, 0].astype(np.intp)] = cells[:, 1:]
        return found


def run_intervals(
    numbers: RunNumbers, *, resamples: int = RESAMPLES, seed: int = 0
) -> dict[str, Interval]:
    """Return every metric of `METRICS` with its bootstrap interval over the records."""
    if not len(numbers):
        raise InputError("A run without a record has no numbers: give one at least.")
    return bootstrap_intervals(
        numbers.rows, METRICS, resamples=resamples, seed=seed, bounds=SHARE
    )


def compare_fields(
    first: RunNumbers, second: RunNumbers, *, seed: int = 0
) -> dict[str, Comparison]:
    """Compare mean scores by schema path, over records in which either has it."""
    found, others = {}, second.fields
    for path, one in first.fields.items():
        if path in others:
            two = others[path]
            there = (one[:, 1] > 0) | (two[:, 1] > 0)
            # The mean score of a field, 0 where no result was drawn.
            found[path] = compare_paired(
                one[there], two[there], lambda m: divided(m[:, 0], m[:, 1]), seed=seed
            )
    return found


def compare_runs(
    first: RunNumbers, second: RunNumbers, *, seed: int = 0
) -> dict[str, Comparison]:
    """Compare two systems on the same gold records, metric by metric."""
    return {
        name: compare_paired(
            first.rows, second.rows, statistic, seed=seed, bounds=SHARE
        )
        for name, statistic in METRICS.items()
    }


def stored_record(
    record: RecordResult, *, level: StoreLevel = "failures", judges: Sequence[str] = ()
) -> EvalRecord:
    """Return a record as the store takes it; `failures` are no match, nor skipped."""
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
            StoredField(
                path=result.path,
                schema_path=schema_path(result.path),
                status=result.status,
                score=result.score,
                gold=result.gold_value,
                extracted=result.extracted_value,
                comparator=result.comparator,
                reason=result.reason,
            )
            for result in record.field_results
            if level == "all" or result.status not in {MATCH, SKIPPED}
        ],
        judges=judges,
    )


def run_metrics(
    result: RunResult, intervals: Mapping[str, Interval]
) -> Iterator[Metric]:
    """Yield the metrics of a run: the whole with intervals, then every schema path."""
    for name, interval in intervals.items():
        yield Metric.of(name, interval)
    for path, one in result.per_schema_path.items():
        counts = asdict(one)
        value = counts.pop("mean_score")
        n = sum(counts.values())
        yield Metric(name="field_score", path=path, value=value, n=n, counts=counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldsRun:
    """What is evaluated; `judged_field` has ids of Extractions, and no score."""

    gold: RecordFile
    extracted: RecordFile
    schema: dict[str, Any]
    id_field: str | None = None
    dataset: str = ""
    store: StoreLevel = "none"
    judged_field: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    post_process: PostProcess | None = None

    def as_run(self) -> EvalRun:
        """Return the run as the store takes it: see `EvalRun`."""
        return EvalRun(
            kind="fields",
            dataset=self.dataset or self.gold.path.stem,
            configuration={
                "gold": self.gold.path.name,
                "extracted": self.extracted.path.name,
                "schema": self.schema,
                "idField": self.id_field,
                "store": self.store,
                "seed": self.seed,
                **({"judgesField": self.judged_field} if self.judged_field else {}),
                **self.settings,
            },
            key=f"{self.gold.digest} {self.extracted.digest}",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """An evaluation that is done; `replaces` is whether it was in the store before."""

    name: str
    result: RunResult
    numbers: RunNumbers
    intervals: dict[str, Interval]
    run_id: str | None
    replaces: bool


def run_fields(
    run: FieldsRun,
    *,
    connection: Connection | None = None,
    keepers: Sequence[Callable[[RecordResult], object]] = (),
    by_field: bool = False,
    progress: Progress = silent,
) -> Finished:
    """Evaluate files as a stream; memory does not grow with the records."""
    summed = RunAccumulator(path_limit=_PATHS)
    numbers = RunNumbers(by_field=by_field)
    every = [summed.add, numbers.add, *keepers]
    judged: list[str] = []
    storing = (
        nullcontext(None)
        if connection is None or run.store == "none"
        else open_run(connection, run.as_run())
    )
    with storing as writer:
        records = iter_records(
            run.gold.records(),
            _extracted(run, judged),
            run.schema,
            run.id_field,
            run.post_process,
        )
        for done, record in enumerate(records, start=1):
            for keeper in every:
                keeper(record)
            if writer is not None:
                writer.add(stored_record(record, level=run.store, judges=judged))
            progress(f"Scoring {run.extracted.path.name}", done, run.gold.count)
        result = summed.result()
        intervals = run_intervals(numbers, seed=run.seed)
        if writer is not None:
            writer.metric(*run_metrics(result, intervals))
    return Finished(
        name=run.extracted.path.name,
        result=result,
        numbers=numbers,
        intervals=intervals,
        run_id=None if writer is None else writer.id,
        replaces=writer is not None and writer.replaces,
    )


def _extracted(run: FieldsRun, judged: list[str]) -> Iterator[Any]:
    for record in run.extracted.records():
        judged.clear()
        if run.judged_field is not None and isinstance(record, dict):
            source = record.pop(run.judged_field, None)
            listed = source if isinstance(source, list) else [source]
            judged += [str(one) for one in listed if one is not None]
        yield record


Answer: TypeAlias = tuple[str, list[dict[str, Any]], "list[Table]"]
"""Name and value as JSON has them, and tables for people."""


def questions(
    gold: RecordFile, given: dict[str, Any], schema: dict[str, Any]
) -> list[Callable[[], Answer]]:
    """Return what a command asks, its files checked: each is called for its answer."""
    id_field = given["id_field"]
    asked: list[Callable[[], Answer]] = []
    if given["agreement"]:
        annotators = [
            RecordFile.checked(path, may_lack=True, id_field=id_field).paired_with(gold)
            for path in given["agreement"]
        ]
        asked.append(partial(_agreement, [gold, *annotators], schema))
    if given["against_text"]:
        for path in given["against_text"]:
            next(read_lines(path), None)
        asked.append(partial(_contamination, gold, given["against_text"]))
    if given["shift_from"]:
        older = RecordFile.checked(given["shift_from"], may_lack=True)
        newer = given["extracted"]
        later = RecordFile.checked(newer, may_lack=True) if newer else gold
        asked.append(partial(_shift, older, later))
    return asked


def _agreement(files: Sequence[RecordFile], schema: dict[str, Any]) -> Answer:
    records = zip(*(file.records() for file in files), strict=True)
    found = annotator_agreement(parse_eval_schema(schema), records)
    return "agreement", plain(found), [table("agreement", found, more=len(files) - 1)]


def _contamination(gold: RecordFile, texts: Sequence[Path]) -> Answer:
    lines = chain.from_iterable(read_lines(path) for path in texts)
    found = contamination(gold.records(), TextIndex(text for _, text in lines))
    return "contamination", plain(found), [table("contamination", found)]


def _shift(older: RecordFile, newer: RecordFile) -> Answer:
    found = shifts(older.records(), newer.records())
    return "shift", plain(found), [table("shift", found, newer=newer.path.name)]


def compared(first: Finished, others: Sequence[Finished], *, seed: int) -> Answer:
    """Compare other extractions of the same gold with the first, in all and by field.

    All p-values of one metric, and all of fields, are corrected together.
    """
    runs = [compare_runs(first.numbers, one.numbers, seed=seed) for one in others]
    fields = [compare_fields(first.numbers, one.numbers, seed=seed) for one in others]
    value, tables = [], []
    for one, by_metric, by_field in zip(
        others, _corrected(runs), _corrected(fields, metric="score"), strict=True
    ):
        told = as_dict(one) | {"comparison": _comparison_dict(by_metric)}
        value.append(told | {"comparison_by_field": _comparison_dict(by_field)})
        named = {name.replace("_", " "): found for name, found in by_metric.items()}
        apart = sorted(
            by_field.items(),
            key=lambda item: (-abs(item[1].found.difference.value), item[0]),
        )
        tables += [
            _differences(one.name, "metric", named),
            _differences(one.name, "field", dict(apart)),
        ]
    return "compared", value, tables


def _corrected(
    found: Sequence[Mapping[str, Comparison]], *, metric: str = ""
) -> list[dict[str, Difference]]:
    """Return comparisons of several rivals by name; `metric` is that of all names."""
    tests = [
        (name, "", metric or name, one) for each in found for name, one in each.items()
    ]
    corrected = iter(corrected_differences(tests))
    return [{name: next(corrected) for name in each} for each in found]


def _differences(name: str, kind: str, found: Mapping[str, Difference]) -> Table:
    by, family = "", "all extractions, metric by metric"
    if kind == "field":
        by, family = ", by field", "all fields of all extractions"
    about = {"name": name, "kind": kind, "by": by, "family": family}
    return table("compared", found.items(), **about)


def _comparison_dict(found: Mapping[str, Difference]) -> dict[str, dict[str, Any]]:
    return {
        name: {
            "first": one.found.first,
            "second": one.found.second,
            "difference": plain(one.found.difference),
            "p_value": one.found.p_value,
            "adjusted": one.p_value,
        }
        for name, one in found.items()
    }


def as_dict(finished: Finished) -> dict[str, Any]:
    """Return an evaluation for JSON."""
    result = finished.result
    return {
        "file": finished.name,
        "run": finished.run_id,
        "records": result.total_records,
        "fields": result.total_fields,
        "omissions": result.total_omissions,
        "hallucinations": result.total_hallucinations,
        "batch_errors": result.total_batch_errors,
        "by_position": result.by_position,
        "metrics": plain(finished.intervals),
        "per_field": plain(result.per_schema_path),
    }

"""One evaluation of files, whole: scored, summed up, compared, stored."""

from __future__ import annotations

from array import array
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from knowtrail.eval.fields.paths import schema_path
from knowtrail.eval.fields.results import MATCH, SCORED, SKIPPED, RunAccumulator, tally
from knowtrail.eval.fields.scoring import PATH_LIMIT, iter_records
from knowtrail.eval.statistics import (
    RESAMPLES,
    SHARE,
    bootstrap_intervals,
    compare_paired,
    ratio_f1,
    ratio_precision,
    ratio_recall,
)
from knowtrail.eval.store import EvalRecord, EvalRun, Metric, StoredField, open_run
from knowtrail.graph.cli.progress import silent
from knowtrail.graph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from knowtrail.eval.fields.files import RecordFile
    from knowtrail.eval.fields.results import RecordResult, RunResult
    from knowtrail.eval.fields.scoring import PostProcess
    from knowtrail.eval.statistics import Comparison, Interval, Statistic
    from knowtrail.eval.store import StoreLevel
    from knowtrail.graph.cli.progress import Progress
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


class RunNumbers:
    """Six numbers a record, from which every metric and its interval follow.

    They are the sum of scores, the fields extracted, those of gold, and the record's
    precision, recall and F1: 48 bytes a record. By field they are also kept, if that is
    asked for, in 24 bytes a field and record.
    """

    def __init__(
        self, records: Iterable[RecordResult] = (), *, by_field: bool = False
    ) -> None:
        """Take records."""
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
        """Return how many records there are."""
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
    """Return every metric of `METRICS` with its bootstrap interval over the records.

    Raises:
        InputError: If there is no record.
    """
    if not len(numbers):
        raise InputError("A run without a record has no numbers: give one at least.")
    return bootstrap_intervals(
        numbers.rows, METRICS, resamples=resamples, seed=seed, bounds=SHARE
    )


def _mean_score(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean score of a field, 0 where no result was drawn."""
    score, count = means[:, 0], means[:, 1]
    return np.divide(score, count, out=np.zeros_like(score), where=count > 0)


def compare_fields(
    first: RunNumbers, second: RunNumbers, *, seed: int = 0
) -> dict[str, Comparison]:
    """Compare the mean scores of two systems on the same records, by schema path.

    A field is there if both have it; the interval draws the records in which either
    has it.
    """
    found, others = {}, second.fields
    for path, one in first.fields.items():
        if path in others:
            two = others[path]
            there = (one[:, 1] > 0) | (two[:, 1] > 0)
            found[path] = compare_paired(one[there], two[there], _mean_score, seed=seed)
    return found


def compare_runs(
    first: RunNumbers, second: RunNumbers, *, seed: int = 0
) -> dict[str, Comparison]:
    """Compare two systems on the same gold records, metric by metric.

    Raises:
        InputError: If the runs have different numbers of records, or none.
    """
    return {
        name: compare_paired(
            first.rows, second.rows, statistic, seed=seed, bounds=SHARE
        )
        for name, statistic in METRICS.items()
    }


def stored_record(
    record: RecordResult,
    *,
    level: StoreLevel = "failures",
    judges: Sequence[str] = (),
) -> EvalRecord:
    """Return a record as the store takes it, with the Extractions that it judges.

    The level `failures` keeps fields that are neither a match nor skipped, `all` every
    field; the numbers of the record are kept either way.
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
        counts = {
            "matches": one.matches,
            "mismatches": one.mismatches,
            "omissions": one.omissions,
            "hallucinations": one.hallucinations,
        }
        yield Metric(
            name="field_score",
            path=path,
            value=one.mean_score,
            n=sum(counts.values()),
            counts=counts,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldsRun:
    """What is to be evaluated, and how.

    Attributes:
        id_field: The key of each gold record's id.
        dataset: What the data set is called in the store.
        store: Which fields are stored.
        judged_field: Key of the extracted records that has the id of the Extraction or
            Traversal that a record came from; it is not scored.
        settings: What else makes this run another one, such as the judge's name.
        post_process: Changes the results of each record; what it is, is for `settings`
            to tell.
    """

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
    """An evaluation that is done.

    Attributes:
        name: File of the extracted records.
        result: Its metrics, without records.
        run_id: Id of the stored run, None where it is not stored.
        replaces: Whether the same run was in the store before, and was replaced.
    """

    name: str
    result: RunResult
    numbers: RunNumbers
    intervals: dict[str, Interval]
    run_id: str | None
    replaces: bool


class Keeper(Protocol):
    """Keeps something of every record of a run."""

    def add(self, record: RecordResult) -> None:
        """Take the next record."""
        ...


def run_fields(
    run: FieldsRun,
    *,
    connection: Connection | None = None,
    keepers: Sequence[Keeper] = (),
    by_field: bool = False,
    progress: Progress = silent,
) -> Finished:
    """Evaluate files as a stream, in memory that does not grow with the records' size.

    Without a connection nothing is stored.

    Raises:
        InputError: If records or schema cannot be used.
        DatabaseError: If the store fails; what is stored is marked, and the next
            attempt replaces it.
    """
    summed = RunAccumulator(path_limit=PATH_LIMIT)
    numbers = RunNumbers(by_field=by_field)
    every: list[Keeper] = [summed, numbers, *keepers]
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
                keeper.add(record)
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
    """Yield the extracted records; `judged` has what the latest one came from."""
    for record in run.extracted.records():
        judged.clear()
        if run.judged_field is not None and isinstance(record, dict):
            source = record.pop(run.judged_field, None)
            listed = source if isinstance(source, list) else [source]
            judged += [str(one) for one in listed if one is not None]
        yield record

"""One evaluation of files, whole: scored, summed up, stored, gathered."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from eval.fields.evaluation import PATH_LIMIT, iter_records
from eval.fields.metrics import RunAccumulator
from eval.fields.storing import run_metrics, stored_record
from eval.fields.summary import RunNumbers, run_intervals
from eval.records import EvalRun
from eval.store import open_run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eval.fields.files import RecordFile
    from eval.fields.report import ReportGatherer
    from eval.fields.results import RunResult
    from eval.records import StoreLevel
    from eval.statistics import Interval
    from graph.connection import Connection
    from graph.progress import Progress

__all__ = ["FieldsRun", "Finished", "run_fields"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldsRun:
    """What is to be evaluated, and how.

    Attributes:
        gold: The gold records.
        extracted: As many extracted records.
        schema: The eval schema.
        id_field: The key of each gold record's id.
        dataset: What the data set is called in the store.
        store: Which fields are stored.
        judged_field: Key of the extracted records that has the id of the Extraction or
            Traversal that a record came from; it is not scored.
        settings: What else makes this run another one, such as the judge's name.
        seed: Seed of the intervals.
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

    def as_run(self) -> EvalRun:
        """Return the run as the store takes it: equal inputs are one run."""
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
                **(
                    {}
                    if self.judged_field is None
                    else {"judgesField": self.judged_field}
                ),
                **self.settings,
            },
            commit=_version(),
            key=f"{self.gold.digest} {self.extracted.digest}",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """An evaluation that is done.

    Attributes:
        result: Its metrics, without records.
        numbers: The numbers of its records.
        intervals: Its metrics with intervals.
        run_id: Id of the stored run, None where it is not stored.
        already_stored: Whether the same run was in the store before, whole.
    """

    result: RunResult
    numbers: RunNumbers
    intervals: dict[str, Interval]
    run_id: str | None
    already_stored: bool


def _version() -> str:
    """Return the version of this program."""
    try:
        return version("knowtrail")
    except PackageNotFoundError:
        return ""


def run_fields(
    run: FieldsRun,
    *,
    connection: Connection | None = None,
    gatherer: ReportGatherer | None = None,
    progress: Progress | None = None,
) -> Finished:
    """Evaluate files as a stream, in memory that does not grow with the records' size.

    Args:
        run: What is to be evaluated.
        connection: Where it is stored; None stores nothing.
        gatherer: Is given every record, for a report.
        progress: Is told of every record.

    Raises:
        InputError: If records or schema cannot be used.
        DatabaseError: If the store fails; what is stored is marked and taken up by the
            next attempt.
    """
    summed, numbers = RunAccumulator(path_limit=PATH_LIMIT), RunNumbers()
    judged: list[str] = []
    storing = (
        nullcontext(None)
        if connection is None or run.store == "none"
        else open_run(connection, run.as_run())
    )
    with storing as writer:
        records = iter_records(
            run.gold.records(), _extracted(run, judged), run.schema, run.id_field
        )
        for done, record in enumerate(records, start=1):
            summed.add(record)
            numbers.add(record)
            if gatherer is not None:
                gatherer.add(record)
            if writer is not None:
                writer.add(stored_record(record, level=run.store, judges=judged))
            if progress is not None:
                progress(f"Scoring {run.extracted.path.name}", done, run.gold.count)
        result = summed.result()
        intervals = run_intervals(numbers, seed=run.seed)
        if writer is not None:
            writer.metric(*run_metrics(result, intervals))
    return Finished(
        result=result,
        numbers=numbers,
        intervals=intervals,
        run_id=None if writer is None else writer.id,
        already_stored=writer is not None and writer.complete,
    )


def _extracted(run: FieldsRun, judged: list[str]) -> Iterator[Any]:
    """Yield the extracted records; `judged` has what the latest one came from."""
    for record in run.extracted.records():
        judged.clear()
        if run.judged_field is not None and isinstance(record, dict):
            source = record.pop(run.judged_field, None)
            judged += [str(one) for one in _listed(source) if one is not None]
        yield record


def _listed(value: Any) -> list[Any]:
    """Return a value as a list."""
    return value if isinstance(value, list) else [value]

"""The one store for results of evaluations, whatever they measure.

    (:EvalRun)-[:HAS_RECORD]->(:EvalRecord)-[:HAS_FIELD]->(:FieldResult)
    (:EvalRun | :EvalRecord)-[:HAS_METRIC]->(:Metric)
    (:EvalRecord)-[:JUDGES]->(:Extraction | :Traversal)

A run is streamed: records go to the database in batches of bounded size, each in one
transaction that also notes how many records are stored whole. Ids come from the
content, so a batch can be written twice, and a run that was cut off is taken up where
it stopped when the same run is opened again; one that is complete is left as it is.

`EvalRun.status` is `writing` while records arrive, `complete` at the end, `failed`
after an error, `deleting` while it goes.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from eval.records import LONGEST_TEXT, StoredRun, sendable, value_text
from graph.errors import DatabaseError, InputError
from graph.schema import SCHEMA_VERSION, apply_schema, schema_version
from ingest.keys import content_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eval.records import EvalRecord, EvalRun, Metric, StoredField
    from graph.connection import Connection

__all__ = ["RunWriter", "delete_run", "link_judged", "open_run", "stored_runs"]

_LOG = logging.getLogger(__name__)

ROWS = 500
"""Most records, and most fields, of a transaction."""
_CHARACTERS = 1_000_000
_DELETED = 10_000


class RunWriter:
    """Writes the records and metrics of one run; made by `open_run`.

    Attributes:
        id: The run's id.
        already: How many records an earlier attempt stored; so many `add`s do nothing.
        complete: Whether the run was complete before; then nothing is written at all.
    """

    def __init__(
        self, connection: Connection, run: EvalRun, *, already: int, complete: bool
    ) -> None:
        self.id = run.id
        self.already = already
        self.complete = complete
        self._connection = connection
        self._added = 0
        self._characters = 0
        self._clear()

    def _clear(self) -> None:
        """Forget what is written."""
        self._records: list[dict[str, Any]] = []
        self._fields: list[dict[str, Any]] = []
        self._metrics: list[dict[str, Any]] = []
        self._judges: list[dict[str, str]] = []
        self._characters = 0

    def add(self, record: EvalRecord) -> None:
        """Take the next record; records come in the same order in every attempt."""
        number = self._added
        self._added += 1
        if self.complete or number < self.already:
            return
        record_key = content_key("evalrecord", self.id, number)
        self._records.append({
            **record.scores,
            "id": record_key,
            "recordId": sendable(str(record.record_id)),
            "index": number,
        })
        self._judges += [
            {"record": record_key, "judged": judged} for judged in record.judges
        ]
        self._metrics += [_metric_row(record_key, m) for m in record.metrics]
        for place, result in enumerate(record.fields):
            self._field(record_key, place, result, number)
        self._flush_if_full(written=self._added)

    def _field(
        self, record_key: str, place: int, result: StoredField, number: int
    ) -> None:
        """Take one field; what is waiting is written first where it is enough."""
        self._flush_if_full(written=number)
        properties = {
            "id": content_key("fieldresult", record_key, place, result.path),
            "path": sendable(result.path),
            "schemaPath": sendable(result.schema_path),
            "status": result.status,
            "score": result.score,
            "gold": value_text(result.gold),
            "extracted": value_text(result.extracted),
            "comparator": sendable(result.comparator),
            "reason": (
                None
                if result.reason is None
                else sendable(result.reason[:LONGEST_TEXT])
            ),
        }
        self._fields.append({"record": record_key, "properties": properties})
        self._characters += sum(
            len(text) for text in properties.values() if isinstance(text, str)
        )

    def metric(self, *metrics: Metric) -> None:
        """Take metrics of the whole run."""
        if self.complete:
            return
        for metric in metrics:
            self._metrics.append(_metric_row(self.id, metric))
            self._flush_if_full(written=max(self._added, self.already))

    def _flush_if_full(self, *, written: int) -> None:
        """Write what is waiting where it is a batch."""
        if (
            max(len(self._records), len(self._fields), len(self._metrics)) >= ROWS
            or self._characters >= _CHARACTERS
        ):
            self.flush(written=written)

    def flush(self, *, written: int | None = None) -> None:
        """Write what is waiting, in one transaction.

        Args:
            written: How many records are stored whole then; None for all added.
        """
        if self.complete:
            return
        done = max(self._added if written is None else written, self.already)
        steps: list[tuple[str, dict[str, Any]]] = [
            ("eval/records", {"run": self.id, "rows": self._records}),
            ("eval/fields", {"rows": self._fields}),
            ("eval/metrics", {"rows": self._metrics}),
            ("eval/judges", {"rows": self._judges}),
        ]
        steps = [(name, params) for name, params in steps if params["rows"]]
        if steps:
            steps.append(("eval/run_written", {"id": self.id, "written": done}))
            self._connection.write_all(steps)
        self._clear()


def link_judged(
    connection: Connection, run_id: str, judged: Mapping[int, Sequence[str]]
) -> None:
    """Connect records of a stored run with what came into the graph after it.

    Args:
        connection: The database.
        run_id: The run.
        judged: Place of a record, from 0 -> ids of the Extractions or Traversals that
            it judges; those that are not there are left out.
    """
    rows = [
        {"record": content_key("evalrecord", run_id, number), "judged": one}
        for number, ids in judged.items()
        for one in ids
    ]
    for start in range(0, len(rows), ROWS):
        connection.write("eval/judges", rows=rows[start : start + ROWS])


def _metric_row(owner: str, metric: Metric) -> dict[str, Any]:
    """Return the row of a metric of a run or a record."""
    return {
        "of": owner,
        "properties": {
            **metric.counts,
            "id": content_key("metric", owner, metric.name, metric.path),
            "name": metric.name,
            "path": sendable(metric.path),
            "value": metric.value,
            "ciLow": metric.low,
            "ciHigh": metric.high,
            "n": metric.n,
        },
    }


@contextmanager
def open_run(connection: Connection, run: EvalRun) -> Iterator[RunWriter]:
    """Yield a writer of a run; at the end of the block the run is complete.

    An older schema is brought up to date first. Where the block raises, what is stored
    stays and is marked as failed: opening the same run again takes it up, `delete_run`
    removes it.

    Raises:
        InputError: If the run is being deleted.
    """
    if schema_version(connection) < SCHEMA_VERSION:
        apply_schema(connection)
    connection.write("eval/run_begin", id=run.id, properties=_run_properties(run))
    (state,) = connection.read("eval/run_state", id=run.id)
    if state["status"] == "deleting":
        msg = f"Run {run.id} is being deleted: finish that with delete_run first."
        raise InputError(msg)
    complete = state["status"] == "complete"
    writer = RunWriter(connection, run, already=state["written"], complete=complete)
    if state["status"] == "failed":
        connection.write("eval/run_status", id=run.id, status="writing")
    try:
        yield writer
        writer.flush()
    except BaseException:
        _mark_failed(connection, writer)
        raise
    if not complete:
        connection.write("eval/run_status", id=run.id, status="complete")


def _run_properties(run: EvalRun) -> dict[str, Any]:
    """Return the properties that a run begins with."""
    plain = {
        name: value
        if isinstance(value, str | bool | int | float)
        else value_text(value)
        for name, value in run.configuration.items()
        if value is not None
    }
    return {
        **plain,
        "id": run.id,
        "kind": run.kind,
        "dataset": run.dataset,
        "configuration": value_text(dict(run.configuration)),
        "commit": run.commit,
        "createdAt": run.created,
        "status": "writing",
        "written": 0,
    }


def _mark_failed(connection: Connection, writer: RunWriter) -> None:
    """Mark a run as failed, where the database still answers."""
    if writer.complete:
        return
    try:
        connection.write("eval/run_status", id=writer.id, status="failed")
    except DatabaseError as error:
        _LOG.warning("Run %s stays marked as being written: %s", writer.id, error)


def stored_runs(
    connection: Connection, *, kind: str | None = None
) -> tuple[StoredRun, ...]:
    """Return the runs that are stored, the latest first.

    Args:
        connection: The database.
        kind: Only runs of this kind.
    """
    return tuple(
        StoredRun(
            id=row["id"],
            kind=row["kind"],
            dataset=row["dataset"],
            status=row["status"],
            written=row["written"],
            created=row["createdAt"].to_native(),
        )
        for row in connection.read("eval/runs", kind=kind)
    )


def delete_run(connection: Connection, run_id: str) -> bool:
    """Delete a run with everything below it, in batches; can be run again.

    Returns:
        Whether there was such a run.
    """
    connection.write("eval/run_status", id=run_id, status="deleting")
    for name in ("eval/delete_fields", "eval/delete_records"):
        while connection.write(name, id=run_id, limit=_DELETED).nodes_deleted:
            pass
    return bool(connection.write("eval/delete_run", id=run_id).nodes_deleted)

"""The one store for results of evaluations, whatever they measure.

    (:EvalRun)-[:HAS_RECORD]->(:EvalRecord)-[:HAS_FIELD]->(:FieldResult)
    (:EvalRun | :EvalRecord)-[:HAS_METRIC]->(:Metric)
    (:EvalRecord)-[:JUDGES]->(:Extraction | :Traversal)

A run is streamed: records go to the database in batches of bounded size, each in one
transaction that also notes how many records are stored whole. Opening the same run, see
`EvalRun`, again takes away what an earlier attempt stored, whole or not.

`EvalRun.status` is `writing` while records arrive, `complete` at the end, `failed`
after an error, `deleting` while it goes.
"""

from __future__ import annotations

import hashlib
import json
import logging
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import knowtrail
from knowtrail.graph.db.schema import SCHEMA_VERSION, apply_schema, schema_version
from knowtrail.graph.errors import DatabaseError, InputError
from knowtrail.ingest.keys import content_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from knowtrail.eval.statistics import Interval
    from knowtrail.graph.db.connection import Connection

_ROOT = Path(knowtrail.__file__).absolute().parent
_PACKAGES = ("cypher", "eval", "graph", "ingest", "retrieval")


@cache
def code_version() -> str:
    """Return release, commit where this is a checkout, and a digest of the code.

    Changes that are not committed are another version too. Nothing is run.
    """
    try:
        release = version("knowtrail")
    except PackageNotFoundError:
        release = "unknown"
    parts = (_commit(_ROOT.parent / ".git")[:10], _digest())
    return f"{release}+{'.'.join(part for part in parts if part)}"


def _digest() -> str:
    digest = hashlib.blake2b(digest_size=5)
    for package in _PACKAGES:
        for path in sorted((_ROOT / package).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                content = path.read_bytes()
                name = path.relative_to(_ROOT).as_posix()
                digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def _commit(folder: Path) -> str:
    with suppress(OSError, UnicodeDecodeError):
        head = (folder / "HEAD").read_text("utf-8").strip()
        if not head.startswith("ref: "):
            return head
        name = head.removeprefix("ref: ")
        loose = folder / name
        if loose.is_file():
            return loose.read_text("utf-8").strip()
        for line in (folder / "packed-refs").read_text("utf-8").splitlines():
            if line.endswith(f" {name}"):
                return line.split()[0]
    return ""


StoreLevel = Literal["all", "failures", "none"]
"""Which fields are stored: all, those that are no match, or no run at all."""

LONGEST_TEXT = 10_000
"""Characters that are kept of a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalRun:
    """An evaluation that is to be stored; `key` is a digest of what it was measured on.

    The same kind, data, configuration and code are the same run, whatever came out:
    what is stored later takes the place of what was stored before. Notes are no part of
    the id.
    """

    kind: str
    dataset: str
    configuration: Mapping[str, Any] = field(default_factory=dict)
    key: str = ""
    commit: str = field(default_factory=code_version)
    notes: Sequence[str] = ()
    created: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def id(self) -> str:
        """Return the id of the run."""
        return content_key(
            "evalrun",
            self.kind,
            self.dataset,
            json.dumps(dict(self.configuration), sort_keys=True, default=str),
            self.commit,
            self.key,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One measured number of a run or of a record; no path for the whole.

    `n` is how many records or fields it is made of, `counts` are stored beside it.
    """

    name: str
    value: float
    path: str = ""
    low: float | None = None
    high: float | None = None
    n: int = 0
    counts: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, interval: Interval, *, path: str = "") -> Metric:
        """Return the metric that an interval is about; NaN ends are left out."""
        ends = interval.low, interval.high
        low, high = (None if end != end else end for end in ends)
        return cls(
            name=name, value=interval.value, path=path, low=low, high=high, n=interval.n
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredField:
    """The result of one field; its schema path has no positions in arrays."""

    path: str
    schema_path: str
    status: str
    score: float
    gold: Any = None
    extracted: Any = None
    comparator: str = ""
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalRecord:
    """The results of one record; `scores` are stored as its properties."""

    record_id: str | int
    scores: Mapping[str, float | str | Sequence[str]] = field(default_factory=dict)
    fields: Sequence[StoredField] = ()
    metrics: Sequence[Metric] = ()
    judges: Sequence[str] = ()


def value_text(value: Any) -> str:
    """Return a value as it is stored: JSON, cut after `LONGEST_TEXT` characters.

    What JSON cannot say is written as text; nothing here raises.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, TypeError):
        text = json.dumps(str(value), ensure_ascii=False)
    except RecursionError:
        text = '"(nested too deep to be shown)"'
    text = sendable(text)
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_TEXT]}... ({len(text)} characters)"


def sendable(text: str) -> str:
    """Return a text that UTF-8 can hold: half surrogate pairs are spelled out."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


_LOG = logging.getLogger(__name__)

ROWS = 500
"""Most records, and most fields, of a transaction."""
_CHARACTERS = 1_000_000
_STEPS = ("eval/records", "eval/fields", "eval/metrics", "eval/judges")
_DELETED = 10_000


class RunWriter:
    """Writes the records and metrics of one run; made by `open_run`."""

    def __init__(self, connection: Connection, run: EvalRun, *, replaces: bool) -> None:
        self.id = run.id
        self.replaces = replaces
        self._connection = connection
        self._added = 0
        self._clear()

    def _clear(self) -> None:
        self._rows: dict[str, list[dict[str, Any]]] = {name: [] for name in _STEPS}
        self._characters = 0

    def add(self, record: EvalRecord) -> None:
        """Take the next record."""
        number = self._added
        self._added += 1
        key = content_key("evalrecord", self.id, number)
        self._rows["eval/records"].append({
            **record.scores,
            "id": key,
            "recordId": sendable(str(record.record_id)),
            "index": number,
        })
        self._rows["eval/judges"] += [
            {"record": key, "judged": judged} for judged in record.judges
        ]
        self._rows["eval/metrics"] += [_metric_row(key, one) for one in record.metrics]
        for place, result in enumerate(record.fields):
            self._flush_if_full(written=number)  # what waits first, where it is enough
            properties = _field_properties(key, place, result)
            self._rows["eval/fields"].append({"record": key, "properties": properties})
            texts = (text for text in properties.values() if isinstance(text, str))
            self._characters += sum(map(len, texts))
        self._flush_if_full(written=self._added)

    def metric(self, *metrics: Metric) -> None:
        """Take metrics of the whole run."""
        for metric in metrics:
            self._rows["eval/metrics"].append(_metric_row(self.id, metric))
            self._flush_if_full(written=self._added)

    def _flush_if_full(self, *, written: int) -> None:
        most = max(map(len, self._rows.values()))
        if most >= ROWS or self._characters >= _CHARACTERS:
            self.flush(written=written)

    def flush(self, *, written: int | None = None) -> None:
        """Write what is waiting, in one transaction."""
        done = self._added if written is None else written
        steps: list[tuple[str, dict[str, Any]]] = [
            (name, {"rows": rows} | ({"run": self.id} if name == _STEPS[0] else {}))
            for name, rows in self._rows.items()
            if rows
        ]
        if steps:
            steps.append(("eval/run_written", {"id": self.id, "written": done}))
            self._connection.write_all(steps)
        self._clear()


def _field_properties(key: str, place: int, result: StoredField) -> dict[str, Any]:
    reason = result.reason
    return {
        "id": content_key("fieldresult", key, place, result.path),
        "path": sendable(result.path),
        "schemaPath": sendable(result.schema_path),
        "status": result.status,
        "score": result.score,
        "gold": value_text(result.gold),
        "extracted": value_text(result.extracted),
        "comparator": sendable(result.comparator),
        "reason": None if reason is None else sendable(reason[:LONGEST_TEXT]),
    }


def _metric_row(owner: str, metric: Metric) -> dict[str, Any]:
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

    An older schema is brought up to date first. What an earlier attempt at the same run
    stored is deleted. Where the block raises, what is stored stays and is marked as
    failed: opening the same run again replaces it, `delete_run` removes it.
    """
    if schema_version(connection) < SCHEMA_VERSION:
        apply_schema(connection)
    before = connection.read("eval/run_state", id=run.id)
    if before and before[0]["status"] == "deleting":
        msg = f"Run {run.id} is being deleted: finish that with delete_run first."
        raise InputError(msg)
    connection.write("eval/run_begin", id=run.id, properties=_run_properties(run))
    _empty(connection, run.id)
    writer = RunWriter(connection, run, replaces=bool(before))
    try:
        yield writer
        writer.flush()
    except BaseException:
        _mark_failed(connection, writer)
        raise
    connection.write("eval/run_status", id=run.id, status="complete")


def store_run(
    connection: Connection,
    run: EvalRun,
    *,
    records: Iterable[EvalRecord] = (),
    metrics: Iterable[Metric] = (),
) -> bool:
    """Store a run whole; return whether an earlier attempt at it was replaced."""
    with open_run(connection, run) as writer:
        for record in records:
            writer.add(record)
        writer.metric(*metrics)
    return writer.replaces


def _empty(connection: Connection, run_id: str) -> None:
    for name in ("eval/delete_fields", "eval/delete_records"):
        while connection.write(name, id=run_id, limit=_DELETED).nodes_deleted:
            pass


def _run_properties(run: EvalRun) -> dict[str, Any]:
    plain = {
        name: value
        if isinstance(value, str | bool | int | float)
        else value_text(value)
        for name, value in run.configuration.items()
        if value is not None
    }
    if run.notes:
        plain["notes"] = value_text(list(run.notes))
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
    try:
        connection.write("eval/run_status", id=writer.id, status="failed")
    except DatabaseError as error:
        _LOG.warning("Run %s stays marked as being written: %s", writer.id, error)


def delete_run(connection: Connection, run_id: str) -> bool:
    """Delete a run with everything below it, in batches; can be run again."""
    connection.write("eval/run_status", id=run_id, status="deleting")
    _empty(connection, run_id)
    return bool(connection.write("eval/delete_run", id=run_id).nodes_deleted)


def property_name(metric: str) -> str:
    """Return the name of a metric as a property: `recall_5` for `recall@5`."""
    return "".join(char if char.isalnum() else "_" for char in metric)

"""Evaluations in a real database: whole, replaced, deleted, and asked about."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.eval import store as eval_store
from knowtrail.eval.store import (
    EvalRecord,
    EvalRun,
    Metric,
    StoredField,
    delete_run,
    open_run,
)
from knowtrail.graph.db.schema import SCHEMA_VERSION, apply_schema, schema_version
from knowtrail.graph.errors import DatabaseError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowtrail.graph.db.connection import Connection

pytestmark = pytest.mark.integration

COUNT = """
MATCH (r:EvalRun)
OPTIONAL MATCH (r)-[:HAS_RECORD]->(e)
OPTIONAL MATCH (e)-[:HAS_FIELD]->(f)
RETURN r.status AS status, r.written AS written, count(DISTINCT e) AS records,
       count(DISTINCT f) AS fields
"""
LEFT = "MATCH (n:EvalRun|EvalRecord|FieldResult|Metric) RETURN count(n) AS n"


class Cut(Exception):  # noqa: N818 - stands for anything that goes wrong
    """What cuts a run off."""


@pytest.fixture
def store(connection: Connection) -> Connection:
    """Return a connection to an empty database with the schema."""
    apply_schema(connection)
    return connection


def run_of(name: str = "gold", day: int = 1) -> EvalRun:
    """Return a run on a data set."""
    return EvalRun(
        kind="fields",
        dataset=name,
        configuration={"store": "failures", "schema": {"type": "object"}},
        commit="1.0",
        created=datetime(2026, 1, day, tzinfo=UTC),
    )


def wrong(path: str, status: str = "mismatch", extracted: Any = "b") -> StoredField:
    """Return a field that is not right."""
    return StoredField(
        path=path,
        schema_path=path.replace("[0]", "[]"),
        status=status,
        score=0.0,
        gold="a",
        extracted=extracted,
        comparator="exact",
        reason=status,
    )


def records(count: int, fields: int = 2) -> Iterator[EvalRecord]:
    """Yield records of some fields each."""
    for number in range(count):
        yield EvalRecord(
            record_id=f"r{number}",
            scores={"precision": 0.5, "recall": 0.25, "f1": 1 / 3},
            fields=[wrong(f"a[0].f{n}") for n in range(fields)],
        )


def write(
    store: Connection, run: EvalRun, count: int, *, cut: int | None = None
) -> None:
    """Store a run; raise after `cut` records."""
    with open_run(store, run) as writer:
        for number, record in enumerate(records(count)):
            if number == cut:
                raise Cut
            writer.add(record)
        writer.metric(Metric(name="f1", value=1 / 3, low=0.2, high=0.5, n=count))


def die(store: Connection, run: EvalRun) -> None:
    """Store a part of a record of ten fields and raise."""
    with open_run(store, run) as writer:
        writer.add(next(records(1, fields=10)))
        raise Cut


def test_a_run_is_stored_whole(store: Connection) -> None:
    """Run, records, fields and metrics are where the model says."""
    write(store, run_of(), 3)

    (row,) = store.query(
        "MATCH (r:EvalRun)-[:HAS_RECORD]->(e {index: 1})-[:HAS_FIELD]->(f)"
        " MATCH (r)-[:HAS_METRIC]->(m:Metric) WITH r, e, f, m ORDER BY f.path"
        " RETURN properties(r) AS r, properties(e) AS e, properties(m) AS m,"
        " collect(properties(f)) AS f"
    )
    assert row["r"].pop("createdAt").to_native() == datetime(2026, 1, 1, tzinfo=UTC)
    assert row["r"] == {
        "id": run_of().id,
        "kind": "fields",
        "dataset": "gold",
        "commit": "1.0",
        "status": "complete",
        "written": 3,
        "store": "failures",
        "schema": '{"type": "object"}',
        "configuration": '{"store": "failures", "schema": {"type": "object"}}',
    }
    del row["e"]["id"], row["m"]["id"], row["f"][0]["id"]
    assert row["e"] == {
        "recordId": "r1",
        "index": 1,
        "precision": 0.5,
        "recall": 0.25,
        "f1": 1 / 3,
    }
    assert row["m"] == {
        "name": "f1",
        "path": "",
        "value": 1 / 3,
        "ciLow": 0.2,
        "ciHigh": 0.5,
        "n": 3,
    }
    assert row["f"][0] == {
        "path": "a[0].f0",
        "schemaPath": "a[].f0",
        "status": "mismatch",
        "score": 0.0,
        "gold": '"a"',
        "extracted": '"b"',
        "comparator": "exact",
        "reason": "mismatch",
    }
    assert len(row["f"]) == 2


def test_a_second_run_replaces_the_first(store: Connection) -> None:
    """What is stored is what the latest run found, and nothing else is left."""
    store.run_schema("CREATE (:Traversal {id: 'old'}), (:Traversal {id: 'new'})")
    with open_run(store, run_of()) as writer:
        first = writer.replaces
        for record in records(5, fields=3):
            writer.add(record)
        writer.add(EvalRecord(record_id="walk", judges=["old"]))
        writer.metric(Metric(name="f1", value=0.5), Metric(name="gone", value=1.0))

    with open_run(store, run_of()) as writer:
        second = writer.replaces
        writer.add(EvalRecord(record_id="walk", judges=["new"]))
        writer.metric(Metric(name="f1", value=0.75))

    assert (first, second) == (False, True)
    assert store.query(COUNT) == [
        {"status": "complete", "written": 1, "records": 1, "fields": 0}
    ]
    assert store.query("MATCH (m:Metric) RETURN m.name AS name, m.value AS value") == [
        {"name": "f1", "value": 0.75}
    ]
    assert store.query("MATCH ()-[:JUDGES]->(t) RETURN t.id AS id") == [{"id": "new"}]
    assert store.query(LEFT) == [{"n": 3}]


def test_a_run_that_breaks_is_marked_and_replaced(
    store: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is stored stays, marked as failed; the next attempt is stored whole."""
    monkeypatch.setattr(eval_store, "ROWS", 4)
    with pytest.raises(Cut):
        write(store, run_of(), 9, cut=7)
    after_cut = store.query(COUNT)

    write(store, run_of(), 9)

    assert after_cut == [{"status": "failed", "written": 6, "records": 6, "fields": 12}]
    assert store.query(COUNT) == [
        {"status": "complete", "written": 9, "records": 9, "fields": 18}
    ]


def test_a_killed_run_is_replaced_within_a_record(
    store: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of a record's fields were stored: it is written again, nothing is double."""
    monkeypatch.setattr(eval_store, "ROWS", 4)
    run = run_of()
    # As when the process dies: neither the rest nor a mark is written.
    with monkeypatch.context() as patch:
        patch.setattr(eval_store, "_mark_failed", lambda *_: None)
        with pytest.raises(Cut):
            die(store, run)
    killed = store.query(COUNT)

    with open_run(store, run) as writer:
        writer.add(next(records(1, fields=10)))

    assert killed == [{"status": "writing", "written": 0, "records": 1, "fields": 8}]
    assert store.query(COUNT) == [
        {"status": "complete", "written": 1, "records": 1, "fields": 10}
    ]


def test_batches_are_bounded(
    store: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No transaction has more rows, or more text, than the limits."""
    sizes: list[tuple[int, int]] = []
    write_all = store.write_all

    def watch(steps: list[tuple[str, dict[str, Any]]]) -> object:
        rows = [row for _, params in steps for row in params.get("rows", ())]
        sizes.append((len(rows), len(repr(rows))))
        return write_all(steps)

    monkeypatch.setattr(store, "write_all", watch)
    long = [wrong(f"f{n}", extracted="x" * 50_000) for n in range(1_200)]
    with open_run(store, run_of()) as writer:
        writer.add(EvalRecord(record_id=1, fields=long))
        for record in records(600, fields=0):
            writer.add(record)

    assert max(rows for rows, _ in sizes) <= 2 * eval_store.ROWS
    assert max(characters for _, characters in sizes) < 2_000_000
    assert store.query(COUNT)[0]["fields"] == 1_200
    assert store.query(COUNT)[0]["records"] == 601


def test_any_value_is_stored(store: Connection) -> None:
    """Half surrogates, NUL, huge and unreal numbers and sets do not stop a run."""
    values: tuple[object, ...] = ("\ud800", "\0", 10**400, float("nan"), {"k": {1, 2}})
    fields = [wrong(f"f{place}", extracted=value) for place, value in enumerate(values)]

    with open_run(store, run_of()) as writer:
        writer.add(EvalRecord(record_id="\udfff", fields=fields))

    rows = store.query("MATCH (f:FieldResult) RETURN f.path AS path, f.extracted AS x")
    assert {row["path"] for row in rows if row["x"]} == {"f0", "f1", "f2", "f3", "f4"}


def test_a_record_judges_what_it_names(store: Connection) -> None:
    """Extractions and walks are connected; an id that is gone is passed over."""
    store.run_schema("CREATE (:Extraction {id: 'x'}), (:Traversal {id: 't'})")

    with open_run(store, run_of()) as writer:
        writer.add(EvalRecord(record_id=1, judges=["x", "t", "gone"]))

    rows = store.query(
        "MATCH (:EvalRecord)-[:JUDGES]->(x) RETURN labels(x)[0] AS l ORDER BY l"
    )
    assert [row["l"] for row in rows] == ["Extraction", "Traversal"]


def test_metrics_of_a_record_are_nodes(store: Connection) -> None:
    """A record may have metrics of its own, with further numbers."""
    with open_run(store, run_of()) as writer:
        writer.add(
            EvalRecord(
                record_id=1, metrics=[Metric(name="ndcg", value=0.5, counts={"k": 10})]
            )
        )

    (row,) = store.query(
        "MATCH (:EvalRecord)-[:HAS_METRIC]->(m:Metric) RETURN m.name AS name, m.k AS k"
    )
    assert row == {"name": "ndcg", "k": 10}


def test_runs_differ_by_what_was_done(store: Connection) -> None:
    """Another data set is another run; another time is not, and the later one stays."""
    write(store, run_of(), 1)
    write(store, run_of(day=9), 1)
    write(store, run_of("other", day=3), 1)

    found = store.query(
        "MATCH (r:EvalRun) RETURN r.dataset AS dataset, r.status AS status, "
        "r.written AS written, r.createdAt.day AS day ORDER BY dataset"
    )

    rest = {"status": "complete", "written": 1}
    assert found == [
        {"dataset": "gold", "day": 9, **rest},
        {"dataset": "other", "day": 3, **rest},
    ]


def test_a_deleted_run_leaves_nothing(store: Connection) -> None:
    """Every node of it goes, another run stays, a second time says there is none."""
    write(store, run_of(), 3)
    before = store.query(LEFT)[0]["n"]
    write(store, run_of("other"), 3)

    gone = delete_run(store, run_of("other").id)

    assert gone
    assert store.query(LEFT)[0]["n"] == before
    assert not delete_run(store, run_of("other").id)


def test_a_run_that_is_being_deleted_is_not_written(store: Connection) -> None:
    """A deletion that was cut off is finished first."""
    write(store, run_of(), 1)
    store.write("eval/run_status", id=run_of().id, status="deleting")

    with pytest.raises(InputError, match="is being deleted"):
        write(store, run_of(), 1)


@pytest.mark.forgets
def test_an_older_schema_is_brought_up_to_date(store: Connection) -> None:
    """A database of version 2 gets the constraints with its first run."""
    for name in ("eval_run_id", "metric_id"):
        store.run_schema(f"DROP CONSTRAINT {name}")
    store.write("schema/version_write", version=2)

    write(store, run_of(), 1)

    names = {row["name"] for row in store.read("schema/constraints")}
    assert schema_version(store) == SCHEMA_VERSION
    assert {"eval_run_id", "eval_record_id", "field_result_id", "metric_id"} <= names


def test_ids_of_runs_are_unique(store: Connection) -> None:
    """The constraint holds."""
    write(store, run_of(), 1)

    with pytest.raises(DatabaseError, match="ConstraintValidation"):
        store.run_schema("MATCH (r:EvalRun) CREATE (:EvalRun {id: r.id})")

"""Section 12, streaming, and input that is wrong."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.eval.fields import (
    FieldResult,
    NestingError,
    RecordIdError,
    RecordResult,
    SchemaError,
    annotate_xeval,
    evaluate,
    infer_schema,
)
from knowtrail.eval.fields.results import RunAccumulator
from knowtrail.eval.fields.scoring import iter_records
from knowtrail.graph.errors import InputError, SourceError
from knowtrail.graph.files import read_json_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SCHEMA = annotate_xeval({"type": "object", "properties": {"a": {"type": "string"}}})


def test_quick_start(capsys: pytest.CaptureFixture[str]) -> None:
    """The first example of the documentation runs, but for its import."""
    from knowtrail.eval.fields import parse_eval_schema, validate_gold

    gold = [
        {"method": "sputtering", "temperature": 300, "lab_id": "A1"},
        {"method": "evaporation", "temperature": 450, "lab_id": "B2"},
    ]
    extracted = [
        {"method": "sputtering", "temperature": 301, "lab_id": "A1"},
        {"method": "evaporation", "temperature": 460, "lab_id": "B3"},
    ]
    eval_schema = infer_schema(gold)
    annotate_xeval(eval_schema)
    parse_eval_schema(eval_schema)
    validate_gold(gold, eval_schema)
    result = evaluate(gold, extracted, schema=eval_schema)
    print(f"F1: {result.mean_f1:.2f}")  # noqa: T201
    print(f"Precision: {result.mean_precision:.2f}")  # noqa: T201
    print(f"Recall: {result.mean_recall:.2f}")  # noqa: T201
    for path, agg in result.per_field.items():
        print(  # noqa: T201
            f"  {path}: score={agg.mean_score:.2f}  matches={agg.matches}  "
            f"mismatches={agg.mismatches}  omissions={agg.omissions}"
        )

    assert capsys.readouterr().out == (
        "F1: 0.50\nPrecision: 0.50\nRecall: 0.50\n"
        "  lab_id: score=0.50  matches=1  mismatches=1  omissions=0\n"
        "  method: score=1.00  matches=2  mismatches=0  omissions=0\n"
        "  temperature: score=0.00  matches=0  mismatches=2  omissions=0\n"
    )


def test_schema_is_not_changed() -> None:
    """The caller's schema stays his."""
    schema = copy.deepcopy(SCHEMA)
    evaluate([{"a": "x"}], [{"a": "x"}], schema)

    assert schema == SCHEMA


def test_bad_schema_is_told() -> None:
    """A schema that is not annotated scores nothing."""
    with pytest.raises(SchemaError, match="run annotate_xeval first"):
        evaluate([], [], {"type": "string"})


def test_ids_are_positions_without_a_field() -> None:
    """Records are known by where they stand."""
    run = evaluate([{"a": "x"}] * 2, [{"a": "x"}] * 2, SCHEMA)

    assert [record.record_id for record in run.records] == [0, 1]


def test_ids_are_gold_ones_and_pairing_is_by_position() -> None:
    """Neither uniqueness nor the extraction's id is looked at."""
    gold = [{"a": "x", "id": "r"}, {"a": "y", "id": "r"}]
    run = evaluate(gold, [{"a": "x"}, {"a": "y", "id": "q"}], SCHEMA, id_field="id")

    assert [record.record_id for record in run.records] == ["r", "r"]
    assert [[r.status for r in record.field_results] for record in run.records] == [
        ["match"],
        ["match", "hallucination"],
    ]


@pytest.mark.parametrize("record", [{"a": "x"}, None, ["x"]])
def test_missing_id_is_a_key_error(record: Any) -> None:
    """The record is named by its place."""
    with pytest.raises(KeyError, match="Gold record 1 has no id field 'id'"):
        evaluate([{"id": 1}, record], [{}, {}], SCHEMA, id_field="id")
    with pytest.raises(RecordIdError):
        evaluate([{"id": 1}, record], [{}, {}], SCHEMA, id_field="id")


@pytest.mark.parametrize(("gold", "extracted"), [(1, 2), (2, 1), (0, 1)])
def test_lengths_differ(gold: int, extracted: int) -> None:
    """Before anything is scored, or as soon as a stream ends."""
    left, right = [{"a": "x"}] * gold, [{"a": "x"}] * extracted

    with pytest.raises(ValueError, match="same length"):
        evaluate(left, right, SCHEMA)
    with pytest.raises(
        ValueError, match=f"same length: .* after {min(gold, extracted)}"
    ):
        list(iter_records(iter(left), iter(right), SCHEMA))


@pytest.mark.parametrize(
    ("gold", "extracted", "expected"),
    [
        ({"a": "x"}, None, [("a", "omission")]),
        ({"a": "x"}, ["x"], [("", "mismatch")]),
        ({"a": "x"}, 5, [("", "mismatch")]),
        ("x", {"a": "x"}, [("", "mismatch")]),
        (None, {"a": "x"}, [("a", "hallucination")]),
        (None, None, []),
    ],
)
def test_records_that_are_no_objects(
    gold: Any, extracted: Any, expected: list[tuple[str, str]]
) -> None:
    """They are scored as any value of a wrong type."""
    run = evaluate([gold], [extracted], SCHEMA)

    assert [(r.path, r.status) for r in run.records[0].field_results] == expected


def test_post_processing_comes_before_metrics() -> None:
    """What the post-processor returns is what counts."""

    def forgiving(results: list[FieldResult]) -> list[FieldResult]:
        return [result for result in results if result.status == "match"]

    gold, extracted = [{"a": "x"}], [{"a": "x", "b": 1}]

    assert evaluate(gold, extracted, SCHEMA).mean_precision == 0.5
    assert evaluate(gold, extracted, SCHEMA, None, forgiving).mean_precision == 1.0


def test_post_processor_must_return_a_list() -> None:
    """One that forgets to is told, with the record."""
    with pytest.raises(TypeError, match="returned NoneType for record 0"):
        evaluate([{}], [{}], SCHEMA, post_process=lambda results: None)  # type: ignore[arg-type, return-value]


def test_stream_is_the_same_as_all_at_once() -> None:
    """Only the records are not kept."""
    gold = [{"a": str(n), "t": [n]} for n in range(50)]
    extracted = [{"a": str(n % 40), "t": [n, n]} for n in range(50)]
    schema = annotate_xeval(infer_schema(gold))
    seen: list[RecordResult] = []
    summed = RunAccumulator()

    whole = evaluate(gold, extracted, schema)
    for record in iter_records(iter(gold), iter(extracted), schema):
        seen.append(record)
        summed.add(record)
    stream = summed.result()

    assert stream.records == ()
    assert seen == whole.records
    assert stream.per_field == whole.per_field
    assert (stream.mean_f1, stream.total_fields) == (whole.mean_f1, whole.total_fields)


def test_stream_reads_no_further_than_it_is_asked() -> None:
    """Records are taken one by one, so that memory does not grow."""
    taken: list[int] = []

    def endless() -> Iterator[dict[str, str]]:
        while True:
            taken.append(1)
            yield {"a": "x"}

    records = iter_records(endless(), endless(), SCHEMA)
    next(records)
    next(records)

    assert len(taken) == 4


def test_a_stream_ends_where_a_record_fails_or_it_is_closed() -> None:
    """Nothing of a record that failed counts for another."""

    def failing(results: Any) -> Any:
        raise ValueError("no")

    failed = iter_records([{"a": "x"}] * 2, [{"a": "x"}] * 2, SCHEMA, None, failing)
    closed: Any = iter_records([{"a": "x"}], [{"a": "x"}], SCHEMA)
    with pytest.raises(ValueError, match="no"):
        next(failed)
    closed.close()

    assert [*failed, *closed] == []


@pytest.mark.thorough
def test_memory_does_not_grow_with_the_records() -> None:
    """Ten times the records need no more memory."""

    def peak(count: int) -> int:
        gold = ({"a": f"{n} {'x' * 500}"} for n in range(count))
        extracted = ({"a": f"{n} {'x' * 500}"} for n in range(count))
        tracemalloc.start()
        summed = RunAccumulator()
        for record in iter_records(gold, extracted, SCHEMA):
            summed.add(record)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(10)

    assert peak(3_000) < 1.5 * peak(300)


@pytest.mark.parametrize("record", [{"a": "x"}, '{"a": "x"}'])
def test_one_record_is_no_list_of_records(record: Any) -> None:
    """A record that was forgotten to be put in a list is told."""
    with pytest.raises(TypeError, match="must be a list of records"):
        evaluate(record, record, SCHEMA)


def test_stream_checks_the_schema_at_once() -> None:
    """An iterator that is never asked still tells of a bad schema."""
    with pytest.raises(SchemaError):
        iter_records([], [], {"type": "string"})


def test_jsonl(tmp_path: Path) -> None:
    """One value a line, blank ones left out, with or without a mark of order."""
    file = tmp_path / "a.jsonl"
    file.write_bytes(b'\xef\xbb\xbf{"a": "x"}\n\n[1]\r\nnull\n')

    assert [value for _, value in read_json_lines(file)] == [{"a": "x"}, [1], None]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b'{"a": 1}\n{"a": \n', "line 2 is no JSON"),
        (b'{"a": 1}\n' + b"[" * 200_000, "line 2: nested too deep"),
        (b"9" * 5_000, "line 1 is no JSON"),
        (b"\xff\xfe", "line 1 is not UTF-8"),
    ],
)
def test_jsonl_that_cannot_be_read(content: bytes, told: str, tmp_path: Path) -> None:
    """The line is named."""
    file = tmp_path / "a.jsonl"
    file.write_bytes(content)

    with pytest.raises(SourceError, match=told):
        [value for _, value in read_json_lines(file)]


def test_jsonl_that_is_not_there(tmp_path: Path) -> None:
    """The file is named."""
    with pytest.raises(SourceError, match=r"none\.jsonl"):
        [value for _, value in read_json_lines(tmp_path / "none.jsonl")]


def test_numbers_that_are_not_finite() -> None:
    """NaN is NaN and infinity infinity; nothing else is."""
    values = json.loads('[{"v": NaN}, {"v": Infinity}, {"v": NaN}, {"v": Infinity}]')
    other = json.loads('[{"v": NaN}, {"v": Infinity}, {"v": 1.0}, {"v": -Infinity}]')
    schema = annotate_xeval(infer_schema(values))
    run = evaluate(values, other, schema)

    assert [record.f1 for record in run.records] == [1.0, 1.0, 0.0, 0.0]


def _deep(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


def test_deep_values_in_an_opaque_field_are_told() -> None:
    """Python cannot compare them; the record is named."""
    schema = {
        "type": "object",
        "properties": {"o": {"type": "object", "x-eval-compare": "exact"}},
    }

    with pytest.raises(NestingError, match="Record 0 is nested too deep"):
        evaluate([{"o": _deep(50_000)}], [{"o": _deep(50_000)}], schema)


def test_deep_values_below_the_schema_do_not_matter() -> None:
    """What the schema does not name is not looked into."""
    run = evaluate([{"a": "x"}], [{"a": "x", "deep": _deep(50_000)}], SCHEMA)

    assert run.total_hallucinations == 1


def test_value_that_holds_itself_is_told() -> None:
    """A cycle is a clear error too."""
    cycle: dict[str, Any] = {}
    cycle["a"] = cycle
    twin: dict[str, Any] = {}
    twin["a"] = twin

    with pytest.raises(InputError, match="holds itself"):
        evaluate([cycle], [twin], SCHEMA)


@pytest.mark.thorough
def test_many_fields() -> None:
    """Up to 100,000 fields in a record, and a quarter as many unknown ones."""
    fields = 100_000
    gold = {f"f{n}": n for n in range(fields)}
    unknown = {f"x{n}": n for n in range(fields // 4)}
    schema = annotate_xeval(infer_schema([gold]))

    run = evaluate([gold], [{**gold, **unknown}], schema)

    assert run.total_fields == fields + fields // 4
    assert run.mean_recall == 1.0
    assert run.mean_precision == 0.8


def test_one_run_can_follow_another() -> None:
    """Nothing is left behind by a run that failed."""
    with pytest.raises(InputError):
        evaluate([{}], [], SCHEMA)

    assert evaluate([{"a": "x"}], [{"a": "x"}], SCHEMA).mean_f1 == 1.0


def test_import_is_light() -> None:
    """Neither numpy nor scipy, a database or a language model is loaded."""
    code = (
        "import sys, eval.fields; "
        "heavy = {'numpy', 'scipy', 'neo4j', 'langchain_core', 'torch', 'httpx'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"

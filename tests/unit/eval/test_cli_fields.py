"""`knowtrail eval fields` without a database: numbers, reports, further questions."""

from __future__ import annotations

import json
import pickle
import py_compile
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from knowtrail.eval.fields import comparators
from knowtrail.eval.fields.records import RecordFile
from knowtrail.eval.fields.results import load_plugin
from knowtrail.eval.fields.runs import FieldsRun
from knowtrail.graph.cli.root import main
from knowtrail.graph.errors import InputError, SourceError
from knowtrail.graph.models import language_models
from knowtrail.graph.models.language_models import LanguageModel
from tests.command_line import outcome

if TYPE_CHECKING:
    from pathlib import Path

    from tests.command_line import Outcome

GOLD = [
    {"id": "a", "method": "sputtering", "temperature": 300, "tags": [{"n": "x"}]},
    {"id": "b", "method": "evaporation", "temperature": 450, "tags": []},
    {"id": "c", "method": "ALD", "temperature": 200, "tags": [{"n": "y"}]},
]
OUT = [
    {"id": "a", "method": "sputtering", "temperature": 301, "tags": [{"n": "x"}]},
    {"id": "b", "method": "evaporation", "temperature": 450, "tags": [], "who": "me"},
    {"id": "c", "temperature": 200, "tags": [{"n": "z"}]},
]


class Shell:
    """A folder with files, in which commands are run."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys

    def write(self, name: str, *records: object) -> None:
        """Write a file of JSON lines; text goes in as it is."""
        lines = [r if isinstance(r, str) else json.dumps(r) for r in records]
        (self.folder / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")

    def run(self, *words: str) -> Outcome:
        """Run `eval fields` with these words."""
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(["eval", "fields", *words])
        shown = self._capsys.readouterr()
        return outcome(int(ended.value.code or 0), shown.out, shown.err)

    def json(self, *words: str) -> Any:
        """Run `eval fields --json` and return what it says."""
        done = self.run("--gold", "gold.jsonl", *words, "--json")
        assert (done.code, done.errors) == (0, [])
        return json.loads(done.out)


@pytest.fixture
def shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Shell:
    """Return a folder with gold and extracted records."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KNOWTRAIL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("NEO4J_URI", "bolt://127.0.0.1:1")
    shell = Shell(tmp_path, capsys)
    shell.write("gold.jsonl", *GOLD)
    shell.write("out.jsonl", *OUT)
    return shell


BOTH = ("--gold", "gold.jsonl", "--extracted", "out.jsonl", "--id-field", "id")


def test_numbers_are_shown_with_intervals(shell: Shell) -> None:
    """Metrics, then fields, the worst first."""
    done = shell.run(*BOTH)

    lines = done.out.splitlines()
    assert done.code == 0
    assert lines[0] == "out.jsonl: 3 records, 10 fields, 1 omissions, 1 hallucinations"
    assert any(line.startswith("micro_f1") for line in lines)
    first = next(i for i, line in enumerate(lines) if line.startswith("field"))
    assert lines[first + 2].split() == ["who", "0.000", "0", "0", "0", "1"]


def test_only_the_worst_fields_are_shown(shell: Shell) -> None:
    """What else there is is told."""
    shell.write("gold.jsonl", {f"f{n:02}": "x" for n in range(26)})

    done = shell.run("--gold", "gold.jsonl", "--extracted", "gold.jsonl")

    assert done.errors[-1] == (
        "The worst 25 of 26 fields; --json and --report have more."
    )


def test_numbers_as_json(shell: Shell) -> None:
    """By hand: 6 of 8 values are right... and the id is not scored."""
    found = shell.json("--extracted", "out.jsonl", "--id-field", "id")

    assert found["run"] is None
    assert (found["records"], found["omissions"], found["hallucinations"]) == (3, 1, 1)
    assert found["per_field"]["temperature"] == {
        "mean_score": pytest.approx(2 / 3),
        "matches": 2,
        "mismatches": 1,
        "omissions": 0,
        "hallucinations": 0,
    }
    assert "id" not in found["per_field"]
    precision = found["metrics"]["precision"]
    assert precision["value"] == pytest.approx((2 / 3 + 3 / 4 + 1 / 2) / 3)
    assert precision["low"] <= precision["value"] <= precision["high"]


def test_one_record_has_no_interval(shell: Shell) -> None:
    """JSON has null where there is none, not NaN; the table has a dash."""
    shell.write("one.jsonl", GOLD[0])

    done = shell.run("--gold", "one.jsonl", "--extracted", "one.jsonl", "--json")
    drawn = shell.run("--gold", "one.jsonl", "--extracted", "one.jsonl")

    assert json.loads(done.out)["metrics"]["f1"]["low"] is None
    assert "-" in drawn.out


def test_an_inferred_schema_can_be_edited_and_used(shell: Shell) -> None:
    """With a tolerance in it, the near temperature is right."""
    printed = shell.run("--gold", "gold.jsonl", "--infer-schema", "--id-field", "id")
    schema = json.loads(printed.out)
    schema["properties"]["temperature"]["x-eval-compare"] = {
        "numeric": {"tolerance": {"abs": 1}}
    }
    shell.write("schema.json", schema)

    found = shell.json("--extracted", "out.jsonl", "--schema", "schema.json")

    assert found["per_field"]["temperature"]["matches"] == 3


def test_a_schema_with_references_is_resolved(shell: Shell) -> None:
    """A JSON Schema as other tools write it needs no preparation."""
    shell.write(
        "schema.json",
        {
            "type": "object",
            "$defs": {
                "tag": {"type": "object", "properties": {"n": {"type": "string"}}}
            },
            "properties": {
                "id": {"type": "string", "x-eval-skip": True},
                "method": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "temperature": {"type": "number"},
                "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}},
            },
        },
    )

    done = shell.run(*BOTH, "--schema", "schema.json", "--json")

    assert "tags[].n" in json.loads(done.out)["per_field"]


def test_a_missing_record_is_null(shell: Shell) -> None:
    """An extractor that gave nothing for a record loses its fields."""
    shell.write("some.jsonl", OUT[0], "null", OUT[2])

    found = shell.json("--extracted", "some.jsonl", "--id-field", "id")

    assert (found["records"], found["omissions"]) == (3, 4)


def test_thresholds_decide_the_exit_code(shell: Shell) -> None:
    """A metric below its limit ends with 1 and a line that names both numbers."""
    passed = shell.run(*BOTH, "--fail-under", "f1=0.5", "--fail-under", "recall=0.1")
    failed = shell.run(*BOTH, "--fail-under", "f1=0.99")

    assert passed.code == 0
    assert failed.code == 1
    assert len(failed.errors) == 1
    assert failed.errors[0].startswith("Error: f1 is 0.6")
    assert failed.out.startswith("out.jsonl: 3 records")


def test_another_extraction_is_compared(shell: Shell) -> None:
    """Gold itself is better, and nothing is stored or asked."""
    found = shell.json(
        "--extracted", "out.jsonl", "--compare", "gold.jsonl", "--id-field", "id"
    )

    (other,) = found["compared"]
    f1 = other["comparison"]["f1"]
    assert f1["second"] == 1.0
    assert f1["difference"]["value"] == pytest.approx(1 - f1["first"])
    assert 0 < f1["p_value"] <= f1["adjusted"] <= 1
    assert (found["file"], other["file"]) == ("out.jsonl", "gold.jsonl")
    assert other["records"] == 3
    method = other["comparison_by_field"]["method"]
    assert (method["first"], method["second"]) == (pytest.approx(2 / 3), 1.0)
    assert "who" not in other["comparison_by_field"]


def test_several_extractions_are_compared_with_the_first(shell: Shell) -> None:
    """Each by all metrics and fields, in the order given; p-values count them all."""
    shell.write("gold.jsonl", *[{"a": n, "b": n} for n in range(12)])
    shell.write("out.jsonl", *[{"a": n, "b": 0} for n in range(12)])
    names = ("gold.jsonl", "out.jsonl")
    words = [word for name in names for word in ("--compare", name)]

    both = shell.json("--extracted", "out.jsonl", *words)["compared"]
    (alone,) = shell.json("--extracted", "out.jsonl", *words[:2])["compared"]

    assert [one["file"] for one in both] == list(names)
    assert both[1]["comparison"]["f1"]["difference"]["value"] == 0
    assert (
        both[0]["comparison"]["f1"]["adjusted"] > alone["comparison"]["f1"]["adjusted"]
    )


def test_records_are_paired_by_their_ids(
    shell: Shell, caplog: pytest.LogCaptureFixture
) -> None:
    """In whatever order, and a gold record that has none is missing."""
    shell.write("turned.jsonl", *OUT[::-1])
    shell.write("less.jsonl", OUT[2], OUT[0])
    words = ("--id-field", "id", "--extracted")

    usual, turned = (shell.json(*words, f"{n}.jsonl") for n in ("out", "turned"))
    less = shell.json(*words, "less.jsonl")["record_results"]

    assert usual | {"file": ""} == turned | {"file": ""}
    assert [row["recall"] for row in less] == [
        pytest.approx(2 / 3), 0.0, pytest.approx(1 / 3),
    ]  # fmt: skip
    assert "no record for 1 of 3 gold records, such as 'b'" in caplog.text


@pytest.mark.parametrize(
    ("records", "words", "message"),
    [
        ([OUT[1], OUT[0], OUT[2]], (), "record 0, counted from 0, has the id 'b'"),
        ([OUT[0], {"id": "z"}, OUT[2]], ("--id-field", "id"), "has the id 'z', which"),
        ([OUT[0], OUT[0], OUT[2]], ("--id-field", "id"), "'a', as record 0 has"),
        (
            [OUT[1], {}, OUT[2]],
            ("--id-field", "id"),
            "record 1, counted from 0, has no",
        ),
    ],
)
def test_ids_that_contradict_the_order_are_refused(
    shell: Shell, records: list[Any], words: tuple[str, ...], message: str
) -> None:
    """By name, wherever records are paired: swapped ones would score as wrong."""
    shell.write("odd.jsonl", *records)

    for option in ("--extracted", "--agreement"):
        done = shell.run("--gold", "gold.jsonl", option, "odd.jsonl", *words)

        assert done.code == 2
        assert message in done.errors[-1]


def test_an_id_that_the_schema_lacks_is_not_made_up(shell: Shell) -> None:
    """What pairs the records is in both files: it is no hallucination."""
    properties = {"temperature": {"type": "number"}}
    shell.write("plain.json", {"type": "object", "properties": properties})
    shell.write("few.jsonl", *({k: r[k] for k in ("id", "temperature")} for r in GOLD))

    done = shell.run(
        *("--gold", "few.jsonl", "--extracted", "few.jsonl"),
        *("--schema", "plain.json", "--id-field", "id", "--fail-under", "f1=1"),
    )

    assert (done.code, done.errors) == (0, [])


def test_one_wrong_id_is_a_wrong_field(shell: Shell) -> None:
    """Without --id-field an id is a field like others, and one may be wrong."""
    shell.write("odd.jsonl", {**OUT[0], "id": "b"}, {**OUT[1], "id": "x"}, OUT[2])

    found = shell.json("--extracted", "odd.jsonl")

    assert found["per_field"]["id"]["mismatches"] == 2


def test_an_array_of_records_is_read(shell: Shell) -> None:
    """A file that is one JSON array has its elements as records."""
    shell.write("array.json", json.dumps(GOLD, indent=2))
    words = ("--extracted", "out.jsonl", "--id-field", "id", "--json")

    lines = shell.run("--gold", "gold.jsonl", *words)
    array = shell.run("--gold", "array.json", *words)

    assert (array.code, array.out) == (0, lines.out)


def test_nulls_are_values_or_absent(shell: Shell) -> None:
    """An extractor that writes every key says nothing by null."""
    shell.write("gold.jsonl", {"a": 1, "b": None, "c": 2, "d": None})
    shell.write("out.jsonl", {"a": 1, "b": None, "c": None, "d": 3})

    value, absent = (
        shell.json("--extracted", "out.jsonl", "--nulls", nulls)
        for nulls in ("value", "absent")
    )

    assert [value[n] for n in ("fields", "omissions", "hallucinations")] == [4, 0, 0]
    assert [absent[n] for n in ("fields", "omissions", "hallucinations")] == [3, 1, 1]


PLUGIN = """
from knowtrail.eval.fields import ComparatorResult, register


def capital(gold, extracted, params):
    return ComparatorResult(float(gold[0] == extracted[0]), "capital")


def post_process(results):
    return [one for one in results if one.path != "who"]


register("capital", capital, overwrite=True)
"""


def test_a_plugin_brings_comparators_and_a_post_processor(shell: Shell) -> None:
    """It is named at the command line, and run then."""
    shell.write("mine.py", PLUGIN)
    kinds = {"method": "capital", "temperature": "exact"}
    shell.write("schema.json", {
        "type": "object",
        "properties": {
            "id": {"type": "string", "x-eval-skip": True},
            "tags": {"type": "array", "items": {"type": "object"}, "x-eval-skip": True},
        }
        | {key: {"type": "string", "x-eval-compare": kinds[key]} for key in kinds},
    })  # fmt: skip
    shell.write("out.jsonl", {**OUT[0], "method": "s"}, OUT[1], OUT[2])
    words = ("--extracted", "out.jsonl", "--schema", "schema.json")

    without = shell.run("--gold", "gold.jsonl", *words)
    found = shell.json(*words, "--plugin", "mine.py")

    assert "Unknown comparator: 'capital'" in without.errors[-1]
    assert found["per_field"]["method"]["matches"] == 2
    assert found["hallucinations"] == 0


def test_what_a_plugin_defines_can_be_sent_to_a_process(tmp_path: Path) -> None:
    """Its module stays known by its name, as pickle and dataclasses need it."""
    path = tmp_path / "sent.py"
    path.write_text("def post_process(results):\n    return results\n")

    other = tmp_path / "other" / "sent.py"
    other.parent.mkdir()
    other.write_bytes(path.read_bytes())

    (_, found), (_, second) = load_plugin(path), load_plugin(other)

    assert pickle.loads(pickle.dumps(found)) is found  # noqa: S301 - made right here
    assert pickle.loads(pickle.dumps(second)) is second  # noqa: S301


def test_a_plugin_ends_in_py(tmp_path: Path) -> None:
    """A compiled one is not run, and a plugin may take itself out of the modules."""
    source, compiled = tmp_path / "mine.py", tmp_path / "mine.pyc"
    source.write_text("import sys\ndel sys.modules[__name__]\nraise ValueError('no')\n")
    py_compile.compile(str(source), cfile=str(compiled))

    with pytest.raises(SourceError, match=r"mine\.pyc is no Python file"):
        load_plugin(compiled)
    with pytest.raises(InputError, match="cannot be used: ValueError: no"):
        load_plugin(source)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "mine.py is no Python file"),
        ("import nothing_of_that_name", "cannot be used: ModuleNotFoundError"),
        ("post_process = 3", "post_process of mine.py is 3"),
        ("def post_process(results): pass", "must return the list of results"),
        ("def post_process(results): 1 / 0", "a plugin raised ZeroDivisionError"),
    ],
)
def test_a_plugin_that_fails_is_told_in_one_line(
    shell: Shell, text: str | None, message: str
) -> None:
    """Whether it is run or called."""
    if text is not None:
        shell.write("mine.py", text)

    done = shell.run(*BOTH, "--plugin", "mine.py")

    assert (done.code, len(done.errors)) == (2, 1)
    assert message in done.errors[0]


def test_records_are_in_the_json(shell: Shell) -> None:
    """With their numbers, and the fields that are not right."""
    rows = shell.json("--extracted", "out.jsonl", "--id-field", "id")["record_results"]

    assert [row["id"] for row in rows] == ["a", "b", "c"]
    assert rows[0]["statuses"] == {"match": 2, "mismatch": 1, "skipped": 1}
    (field,) = rows[0]["fields"]
    assert (field["path"], field["gold"], field["extracted"]) == (
        "temperature", 300, 301,
    )  # fmt: skip


def test_arrays_that_went_by_position_are_told(shell: Shell) -> None:
    """In the answer, in JSON and in the report."""
    shell.write("gold.jsonl", {"a": list(range(501))})
    shell.write("schema.json", {
        "type": "object",
        "properties": {
            "a": {
                "type": "array",
                "items": {"type": "integer", "x-eval-compare": "exact"},
                "x-eval-align": {"match_by": "hungarian"},
            }
        },
    })  # fmt: skip
    words = ("--extracted", "gold.jsonl", "--schema", "schema.json")

    shown = shell.run("--gold", "gold.jsonl", *words, "--report", "r.html")
    found = json.loads(shell.run("--gold", "gold.jsonl", *words, "--json").out)

    assert any("fits best: a (1 array)" in line for line in shown.errors)
    assert found["by_position"] == found["record_results"][0]["by_position"] == {"a": 1}
    assert "a (1 array)" in (shell.folder / "r.html").read_text("utf-8")


def test_annotators_need_no_extraction(shell: Shell) -> None:
    """Agreement is asked of gold and more annotators alone."""
    found = shell.json("--agreement", "out.jsonl", "--agreement", "gold.jsonl")

    fields = {one["field"]: one for one in found["agreement"]}
    assert fields["id"]["cohen"] == 1.0
    assert fields["temperature"]["annotators"] == 3
    assert 0.9 < fields["temperature"]["alpha_interval"] < 1
    assert "metrics" not in found


def test_gold_values_are_looked_up_in_texts(shell: Shell) -> None:
    """Several texts are one."""
    shell.write("one.txt", "We use sputtering.")
    shell.write("two.txt", "Not ALD!")

    found = shell.json("--against-text", "one.txt", "--against-text", "two.txt")

    fields = {one["field"]: one for one in found["contamination"]}
    assert fields["method"]["verbatim"] == pytest.approx(2 / 3)


def test_shift_is_asked_of_the_extraction(shell: Shell) -> None:
    """Old records against the extracted ones, or against gold where there are none."""
    shell.write("old.jsonl", *({"method": "CVD", "new": 1} for _ in range(30)))

    gold = shell.json("--shift-from", "old.jsonl")["shift"]
    out = shell.json("--shift-from", "old.jsonl", "--extracted", "out.jsonl")["shift"]

    assert ("who", "presence") not in {(s["field"], s["aspect"]) for s in gold}
    assert ("who", "presence") in {(s["field"], s["aspect"]) for s in out}
    assert all(s["statistic"] is None or s["statistic"] >= 0 for s in gold)


def test_all_answers_are_tables_too(shell: Shell) -> None:
    """People read the same."""
    shell.write("prompt.txt", "sputtering")

    done = shell.run(
        *BOTH,
        *("--compare", "gold.jsonl", "--agreement", "out.jsonl"),
        *("--against-text", "prompt.txt", "--shift-from", "gold.jsonl"),
    )

    titles = [
        "Compared with gold.jsonl.",
        "Compared with gold.jsonl, by field.",
        "Agreement of annotators.",
        "Gold values in the text.",
        "Shift of values.",
    ]
    assert done.code == 0
    assert [title for title in titles if title not in done.out] == []


def test_a_report_is_written(shell: Shell) -> None:
    """One file, with what was asked beside the scores."""
    done = shell.run(*BOTH, "--compare", "gold.jsonl", "--report", "r.html")

    page = (shell.folder / "r.html").read_text("utf-8")
    assert done.code == 0
    assert page.startswith("<!doctype html>")
    assert "<dd>gold.jsonl</dd>" in page
    assert "Compared with gold.jsonl, by field" in page


class Chat(BaseChatModel):
    """A chat model that gives its answers in turn."""

    answers: list[Any]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages: Any, *_: Any, **__: Any) -> ChatResult:
        message = AIMessage(content=self.answers.pop(0))
        return ChatResult(generations=[ChatGeneration(message=message)])


@pytest.fixture
def judged(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Return the folder with a schema whose methods a model judges."""
    answers = ['{"results": [1]}', "nonsense"]

    def load(name: str | None, *, settings: object) -> LanguageModel:
        assert settings is not None
        return LanguageModel(Chat(answers=answers), name=name or "judge")

    monkeypatch.setattr(language_models, "load_language_model", load)
    monkeypatch.setattr(language_models, "check_there", lambda *_: None)
    monkeypatch.setattr(comparators.COMPARATORS, "own", {})
    shell.write("out.jsonl", *[{**record, "method": "PVD"} for record in GOLD[:2]])
    shell.write("gold.jsonl", *GOLD[:2])
    printed = shell.run("--gold", "gold.jsonl", "--infer-schema")
    schema = json.loads(printed.out)
    schema["properties"]["method"]["x-eval-compare"] = "semantic"
    shell.write("schema.json", schema)
    return shell


JUDGED = (*BOTH[:4], "--schema", "schema.json")


def test_a_model_judges_meaning(judged: Shell) -> None:
    """One call a record; an answer that is none is told, and asked for again."""
    done = judged.run(*JUDGED)
    again = judged.run(*JUDGED, "--json")

    assert done.code == 0
    assert any("1 fields have no score" in line for line in done.errors)
    assert not any("Nothing was scored" in line for line in done.errors)
    found = json.loads(again.out)
    assert found["per_field"]["method"]["matches"] == 2
    assert found["batch_errors"] == 0


def test_fields_without_a_score_miss_every_threshold(judged: Shell) -> None:
    """A judge that fails does not let a pipeline pass."""
    done = judged.run(*JUDGED, "--fail-under", "f1=0.1")

    assert done.code == 1
    assert done.errors[-1] == (
        "Error: 1 fields have no score, which --fail-under cannot judge."
    )


def test_a_judge_that_judges_nothing_is_refused(judged: Shell) -> None:
    """A field that is called semantic is not judged by its meaning."""
    place = {"type": "string", "x-eval-compare": "exact"}
    names = [*GOLD[0], "semantic"]
    schema = {"type": "object", "properties": dict.fromkeys(names, place)}
    judged.write("schema.json", schema)

    done = judged.run(*JUDGED, "--judge", "some-model")

    assert (done.code, done.errors) == (
        2,
        [
            "Error: --judge 'some-model' would judge nothing: no field of the schema "
            'has "x-eval-compare": "semantic".'
        ],
    )


def test_nothing_scored_is_an_error(
    judged: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Metrics of nothing are 1, which must not look like success."""
    schema = json.loads((judged.folder / "schema.json").read_text("utf-8"))
    for name, place in schema["properties"].items():
        if name != "method":
            place.clear()
            place.update({"type": "string", "x-eval-skip": True})
    judged.write("schema.json", schema)
    judged.write("gold.jsonl", {"method": "sputtering"})
    judged.write("out.jsonl", {"method": "PVD"})
    silent = LanguageModel(Chat(answers=["nonsense"]), name="silent")
    monkeypatch.setattr(language_models, "load_language_model", lambda *_, **__: silent)

    done = judged.run(*JUDGED)

    assert done.code == 1
    assert "Nothing was scored" in done.errors[-1]


def test_the_seed_is_that_of_the_comparison_too(shell: Shell) -> None:
    """Other draws give another interval of the difference, the same draws the same."""
    gold = [{str(n): n for n in range(10)}] * 20
    shell.write("gold.jsonl", *gold)
    shell.write(
        "out.jsonl", *[{str(n): n % (k + 1) for n in range(10)} for k in range(20)]
    )
    words = ("--extracted", "out.jsonl", "--compare", "gold.jsonl", "--seed")
    found = [
        shell.json(*words, seed)["compared"][0]["comparison"]["f1"]["difference"]
        for seed in ("1", "1", "2")
    ]

    assert found[0] == found[1] != found[2]


def test_the_judged_key_makes_another_run(shell: Shell) -> None:
    """It is not scored, so the numbers differ: what was stored without it stays."""
    file = RecordFile.checked(shell.folder / "gold.jsonl")
    plain = FieldsRun(gold=file, extracted=file, schema={"type": "object"})

    assert replace(plain, judged_field="from").as_run().id != plain.as_run().id


def test_thresholds_forgive_rounding(shell: Shell) -> None:
    """Nine of ten in every record is a mean of 0.9, whatever floats make of it."""
    shell.write("gold.jsonl", *[{str(n): n for n in range(10)}] * 28)
    shell.write("out.jsonl", *[{str(n): n or 7 for n in range(10)}] * 28)

    done = shell.run(*BOTH[:4], "--fail-under", "f1=0.9", "--fail-under", "micro_f1=.9")

    assert (done.code, done.errors) == (0, [])


def test_half_characters_in_keys(shell: Shell) -> None:
    """What UTF-8 cannot hold is written as JSON writes it."""
    shell.write("gold.jsonl", '{"\\ud800": 1}')
    printed = shell.run("--gold", "gold.jsonl", "--infer-schema")
    found = shell.json("--extracted", "gold.jsonl")

    assert list(json.loads(printed.out)["properties"]) == ["\ud800"]
    assert list(found["per_field"]) == ["\ud800"]


BAD = [
    (["--gold", "none.jsonl"], "none.jsonl cannot be read: No such file"),
    (["--gold", "."], ". is no regular file"),
    (["--gold", "empty.jsonl"], "empty.jsonl has no record"),
    (
        ["--gold", "list.jsonl"],
        "list.jsonl: record 1, counted from 0, is no JSON object",
    ),
    (["--gold", "text.jsonl"], "text.jsonl, line 2 is no JSON"),
    (["--gold", "deep.jsonl"], "deep.jsonl: nested too deep"),
    (
        ["--gold", "null.jsonl"],
        "null.jsonl: record 0, counted from 0, is no JSON object",
    ),
    (["--gold", "latin.jsonl"], "latin.jsonl, line 1 is not UTF-8"),
    (["--extracted", "short.jsonl"], "gold.jsonl has 3 records, short.jsonl 1"),
    (
        ["--extracted", "list.jsonl"],
        "list.jsonl: record 1, counted from 0, is no JSON object",
    ),
    (["--compare", "short.jsonl"], "gold.jsonl has 3 records, short.jsonl 1"),
    (["--agreement", "short.jsonl"], "gold.jsonl has 3 records, short.jsonl 1"),
    (["--schema", "none.json"], "none.json cannot be read: No such file"),
    (["--schema", "text.jsonl"], "text.jsonl is no JSON"),
    (["--schema", "array.json"], "array.json is no schema"),
    (["--schema", "oneof.json"], "a.b[]: Missing or invalid 'type': None; a.b[] has"),
    (["--schema", "unknown.json"], "Unknown comparator: 'x'"),
    (["--schema", "narrow.json"], "gold.jsonl: record 0: the field 'id'"),
    (["--schema", "loop.json"], "loop.json: "),
    (["--schema", "remote.json"], "remote.json: "),
    (["--id-field", "none"], "there is no id field 'none'"),
    (["--fail-under", "f2=0.9"], "metrics are precision"),
    (["--fail-under", "f1=x"], "write METRIC=VALUE"),
    (["--fail-under", "f1=2"], "a value from 0 to 1"),
    (["--against-text", "none.txt"], "none.txt cannot be read: No such file"),
    (["--shift-from", "none.jsonl"], "none.jsonl cannot be read"),
    (["--report", "none/r.html"], "none/r.html"),
    (["--report", "r.png"], "r.png: its name must end in .html"),
]


@pytest.fixture
def bad_files(shell: Shell) -> Shell:
    """Return the folder with files that cannot be used."""
    shell.write("empty.jsonl", "", " ")
    shell.write("list.jsonl", {}, [1], {})
    shell.write("text.jsonl", "{}", "{'a': 1}")
    shell.write("deep.jsonl", "[" * 100_000)
    shell.write("null.jsonl", "null")
    shell.write("short.jsonl", OUT[0])
    shell.write("array.json", [])
    shell.write("unknown.json", {"type": "string", "x-eval-compare": "x"})
    shell.write(
        "narrow.json", {"type": "object", "properties": {"method": {"type": "string"}}}
    )
    shell.write(
        "loop.json",
        {"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"a": {"$ref": "#"}}}}},
    )
    either: Any = {"oneOf": [{"type": "string"}, {"type": "integer"}]}
    for key in ("b", "a"):
        items = {"type": "array", "items": either} if key == "b" else either
        either = {"type": "object", "properties": {key: items}}
    shell.write("oneof.json", either)
    shell.write("remote.json", {"$ref": "http://127.0.0.1:1/schema.json"})
    (shell.folder / "latin.jsonl").write_bytes(b'{"a": "\xe9"}\n')
    return shell


@pytest.mark.parametrize(("words", "message"), BAD, ids=[" ".join(b[0]) for b in BAD])
def test_bad_input_is_told_in_one_line(
    bad_files: Shell, words: list[str], message: str
) -> None:
    """Exit 2, path and record in the message."""
    given = dict(zip(BOTH[:4:2], BOTH[1:4:2], strict=True))
    given |= {words[0]: words[1]}

    done = bad_files.run(*(word for pair in given.items() for word in pair))

    assert done.code == 2
    assert len(done.errors) == 1
    assert message in done.errors[0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "Give --extracted"),
        (["--report", "r.html"], "Give --extracted"),
        (["--agreement", "out.jsonl", "--report", "r.html"], "--report needs"),
        (["--agreement", "out.jsonl", "--compare", "out.jsonl"], "--compare needs"),
    ],
)
def test_options_that_say_too_little(
    shell: Shell, words: list[str], message: str
) -> None:
    """What needs an extraction asks for it."""
    done = shell.run("--gold", "gold.jsonl", *words)

    assert done.code == 2
    assert message in done.errors[-1]


def test_only_known_evaluations_are_commands(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The group lists what there is and refuses the rest."""
    with pytest.raises(SystemExit) as wrong:
        main(["eval", "nothing"])
    with pytest.raises(SystemExit):
        main(["eval", "--help"])

    assert wrong.value.code == 2
    assert "fields" in capsys.readouterr().out

"""`knowtrail eval fields` without a database: numbers, reports, further questions."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from eval.fields import comparators
from eval.fields.files import RecordFile
from eval.fields.running import FieldsRun
from graph import language_models
from graph.cli import main
from graph.language_models import LanguageModel
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

    f1 = found["comparison"]["f1"]
    assert f1["second"] == 1.0
    assert f1["difference"]["value"] == pytest.approx(1 - f1["first"])
    assert 0 < f1["p_value"] <= f1["adjusted"] <= 1
    assert found["compared"]["records"] == 3


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
        "The other extraction.",
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
    assert "The other extraction" in page


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
    monkeypatch.setattr(comparators, "_REGISTERED", {})
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
        shell.json(*words, seed)["comparison"]["f1"]["difference"]
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
    (["--gold", "deep.jsonl"], "deep.jsonl, line 1"),
    (
        ["--gold", "null.jsonl"],
        "null.jsonl: record 0, counted from 0, is no JSON object",
    ),
    (["--gold", "latin.jsonl"], "latin.jsonl cannot be read as UTF-8"),
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
    shell.write("remote.json", {"$ref": "http://127.0.0.1:1/schema.json"})
    (shell.folder / "latin.jsonl").write_bytes(b'{"a": "\xe9"}\n')
    return shell


@pytest.mark.parametrize(("words", "message"), BAD, ids=[" ".join(b[0]) for b in BAD])
def test_bad_input_is_told_in_one_line(
    bad_files: Shell, words: list[str], message: str
) -> None:
    """Exit 2 (1 where the report cannot be written), path and record in the message."""
    given = dict(zip(BOTH[:4:2], BOTH[1:4:2], strict=True))
    given |= {words[0]: words[1]}

    done = bad_files.run(*(word for pair in given.items() for word in pair))

    assert done.code == (1 if words[0] == "--report" else 2)
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

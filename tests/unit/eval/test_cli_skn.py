"""`knowtrail eval skn` as a user meets it, with scripted models and no server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.eval import models
from knowtrail.eval.skn.cli import _configuration
from knowtrail.eval.skn.options import BenchmarkOptions
from knowtrail.graph.cli.root import main
from knowtrail.graph.models.language_models import LanguageModel
from tests.command_line import Outcome, outcome
from tests.unit.eval.skn.conftest import GOOD, Scripted

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SAMPLES = [
    {"id": n, "category": "c", "question": f"Why {n}?", "ground_truth": "So."}
    for n in (1, 2)
]
RESULTS = [
    {
        "question": f"Why {n}?",
        "results": [{"title": "T", "url": "u", "content": f"The cache {n} is full."}],
    }
    for n in (1, 2)
]


@pytest.fixture
def run(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., Outcome]:
    """Return a function that runs the command on two samples."""
    (tmp_path / "samples.json").write_text(json.dumps(SAMPLES), "utf-8")
    (tmp_path / "search.json").write_text(json.dumps(RESULTS), "utf-8")
    monkeypatch.chdir(tmp_path)

    def load(name: str, *, settings: Any, context: int) -> LanguageModel:
        assert context == 32_768
        assert settings is not None
        return LanguageModel(Scripted(model=name, asked=[]), name=name)

    monkeypatch.setattr(models, "load_language_model", load)
    monkeypatch.setattr(
        "knowtrail.eval.skn.benchmark.check_models", lambda *_, **__: {}
    )

    def call(*words: str, whole: bool = True) -> Outcome:
        given = ("--dataset", "samples.json", "--search-results", "search.json")
        capsys.readouterr()
        arguments = [
            *(f"--home={tmp_path / 'home'}", "eval", "skn"),
            *(given if whole else ()),
            *("--no-store", *words),
        ]
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        said = capsys.readouterr()
        return outcome(int(ended.value.code or 0), said.out, said.err)

    return call


def test_the_summary_is_shown_and_files_are_written(
    run: Callable[..., Outcome], tmp_path: Path
) -> None:
    """People get tables, with what it cost on the error stream."""
    done = run("--model", "small:1b", "--judge", "large:7b", "--report", "r.html")

    assert done.code == 0
    assert "Model small:1b, judge large:7b, 2 samples" in done.out
    assert (tmp_path / "results" / "summary.txt").read_text("utf-8") in done.out
    assert "Worst samples" in (tmp_path / "r.html").read_text("utf-8")
    (told,) = done.errors
    assert told.startswith("small:1b: ")
    assert "tokens of prompts" in told


def test_json_has_every_model(run: Callable[..., Outcome]) -> None:
    """Machines get metrics and comparisons of all models."""
    done = run("--model", "a", "--model", "b", "--ablation", "--json", "--limit", "1")

    found = json.loads(done.out)
    assert [one["model"] for one in found] == ["a", "b"]
    assert "skn_no_gaps" in found[0]["metrics"]
    assert found[0]["comparisons"][0]["first"] == "json"


def test_a_second_run_tells_that_nothing_was_asked(
    run: Callable[..., Outcome],
) -> None:
    """Everything comes from the first one."""
    run("--model", "a")

    done = run("--model", "a")

    assert "a: 0 calls" in done.errors[0]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--ablation", "--variant", "skn"], "leave --variant out"),
        (["--variant", "yaml"], "No format 'yaml': use json, json_conf"),
        (["--limit", "0"], "0 is not in the range"),
        (["--tokens", "1"], "tokens is 1"),
        (["--temperature", "9"], "temperature is 9"),
        (["--report", "r.txt"], "must end in .html"),
        (["--report", "nowhere/r.html"], "no folder"),
        (["--dataset", "none.json"], "none.json cannot be read"),
        (["--search-results", "none.json"], "none.json cannot be read"),
        (["--model", "a", "--model", "a"], "each model once"),
    ],
)
def test_mistakes_are_told_before_anything_is_asked(
    run: Callable[..., Outcome], tmp_path: Path, words: list[str], told: str
) -> None:
    """Exit code 2, one line, no result files."""
    done = run(*words)

    assert done.code == 2
    assert told in " ".join(done.errors)
    assert not (tmp_path / "results" / "metrics.json").exists()


def test_a_run_in_which_nothing_worked_fails(
    run: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files and summary are there, one line says why, and the exit code is 1."""
    monkeypatch.setitem(GOOD, "json", "?")
    monkeypatch.setitem(GOOD, "skn", "?")

    done = run("--model", "a", "--concurrency", "4")

    assert done.code == 1
    assert "Error: Nothing worked. Of a, none of 4 extractions" in done.errors[-1]
    assert "-, of 0 samples with both" in done.out


def test_interruption_says_what_is_kept(
    run: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C exits 130 and says that the same command goes on."""

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("knowtrail.eval.skn.phases.reason", interrupted)

    done = run("--model", "a")

    assert done.code == 130
    assert "kept in results: the same command goes on" in " ".join(done.errors)


def test_report_says_who_wrote_the_bundled_data(
    run: Callable[..., Outcome], tmp_path: Path
) -> None:
    """Nobody takes our questions for the published ones, or our pages for the web's."""
    words = ("--recorded-only", "--limit", "1", "--published", "--report", "r.html")

    own = run(*words, whole=False)
    page = (tmp_path / "r.html").read_text("utf-8")
    given = run("--report", "s.html", "--output", "other")

    assert (own.code, given.code) == (0, 0)
    assert "questions and search results written for Knowtrail" in page
    assert "written for Knowtrail" not in (tmp_path / "s.html").read_text("utf-8")


def test_answers_with_less_room_than_asked_for_are_told(
    run: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model with a small context cannot give the tokens of the default."""

    def load(name: str, **_: Any) -> LanguageModel:
        chat = Scripted(model=name, asked=[])
        return LanguageModel(chat, name=name, prompt_tokens=3_584)

    before = run("--output", "before")
    monkeypatch.setattr(models, "load_language_model", load)

    done = run("--output", "after")

    told = "Extractions had 2,048 tokens, not 4,096"
    assert any(line.startswith(told) for line in done.errors)
    assert not any(line.startswith("Extractions had") for line in before.errors)


@pytest.mark.parametrize(
    "changed",
    [
        *({"published": True}, {"question_aware": True}, {"judge_abstention": True}),
        *(
            {"models": models.ModelOptions(**{name: number})}
            for name, number in (
                *(("temperature", 0.5), ("tokens", 99)),
                *(("seconds", 9.0), ("context", 4_096)),
            )
        ),
    ],
)
def test_stored_run_is_told_from_one_asked_otherwise(changed: dict[str, Any]) -> None:
    """What may change the numbers is in the configuration, by which runs differ."""
    usual = _configuration(BenchmarkOptions(), 2)

    assert _configuration(BenchmarkOptions(**changed), 2) != usual

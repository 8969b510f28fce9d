"""`knowtrail eval skn` as a user meets it, with scripted models and no server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from eval.skn import models
from graph.cli import main
from graph.language_models import LanguageModel
from tests.command_line import Outcome, outcome
from tests.unit.eval.skn.conftest import Scripted

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

    def load(name: str, *, settings: Any) -> LanguageModel:
        assert settings is not None
        return LanguageModel(Scripted(model=name, asked=[]), name=name)

    monkeypatch.setattr(models, "load_language_model", load)
    monkeypatch.setattr("eval.skn.benchmark.check_models", lambda *_, **__: None)

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
        (["--limit", "0"], "limit of 0 samples"),
        (["--tokens", "1"], "1 tokens"),
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


def test_interruption_says_what_is_kept(
    run: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C exits 130 and says that the same command goes on."""

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("eval.skn.phases.reason", interrupted)

    done = run("--model", "a")

    assert done.code == 130
    assert "kept in results: the same command goes on" in " ".join(done.errors)

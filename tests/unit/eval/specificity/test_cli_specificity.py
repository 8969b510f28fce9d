"""`knowtrail eval specificity` where it needs neither server nor model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from knowtrail.graph.cli.root import main
from knowtrail.retrieval.specificity.monitoring import SpecificityExperiment

if TYPE_CHECKING:
    from pathlib import Path


def _run(*words: str | Path) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["eval", "specificity", *map(str, words)])
    return int(ended.value.code or 0)


def test_metrics_are_shown_with_intervals(capsys: pytest.CaptureFixture[str]) -> None:
    """In memory and by words alone, every metric has a line of its own."""
    code = _run("--half", "dev", "--failures")

    lines = capsys.readouterr().out.splitlines()
    assert (code, lines[0]) == (0, "78 questions of questions_dev.jsonl")
    assert [line.split()[0] for line in lines[1:11]] == [
        "template_accuracy",
        "slot_f1",
        "ending_accuracy",
        "answer_accuracy",
        "right_ending",
        "wrong_without_notice",
        "precision",
        "recall",
        "class_reduction",
        "response_time",
    ]


def test_the_interval_of_an_experiment_has_a_seed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same seed gives the same ends, another one others."""
    path = tmp_path / "results.jsonl"
    rows = [{"session": f"s{n}", "quality": n % 7 / 7} for n in range(30)]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    ends = []
    for seed in (1, 1, 2):
        _run("--experiment", path, "--json", "--seed", seed)
        ends.append(json.loads(capsys.readouterr().out)["difference"])

    assert ends[0] == ends[1]
    assert ends[0]["low"] != ends[2]["low"]


def test_experiment_is_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Means of both groups, and the interval of their difference."""
    path = tmp_path / "results.jsonl"
    rows = [{"session": f"s{n}", "quality": n % 4 / 4} for n in range(30)]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")

    code = _run("--experiment", path, "--json")

    shown = capsys.readouterr()
    told = json.loads(shown.out)
    assert (code, "30 of 30 sessions have no group" in shown.err) == (0, True)
    assert told["control_sessions"] + told["treatment_sessions"] == 30
    assert told["difference"]["value"] == pytest.approx(
        told["treatment"] - told["control"]
    )


def test_experiment_of_another_name_is_a_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Groups in the file that the name does not deal exit 2."""
    used = SpecificityExperiment(name="autumn")
    rows = [
        {"session": f"s{n}", "quality": n / 9, "group": used.group(f"s{n}")}
        for n in range(8)
    ]
    path = tmp_path / "results.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")

    wrong = _run("--experiment", path)
    said = capsys.readouterr().err
    right = _run("--experiment", path, "--name", "autumn")
    shown = capsys.readouterr()

    assert (wrong, right) == (2, 0)
    assert "give the name and the share that were used" in said
    assert "without an interval: each group needs 5 sessions" in shown.out
    assert shown.err == ""


def test_bad_questions_are_a_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that holds no labelled questions exits 2 and is named."""
    path = tmp_path / "questions.jsonl"
    path.write_text("{}\n", encoding="utf-8")

    code = _run("--questions", path)

    assert code == 2
    assert "questions.jsonl, line 1" in capsys.readouterr().err

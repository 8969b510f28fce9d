"""`knowtrail eval zelo annotate` as somebody meets it who types it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest

from knowtrail.eval.zelo.judgements import JOURNAL
from knowtrail.graph.cli.root import main
from knowtrail.retrieval.rerank.datasets import read_annotated
from tests.unit.eval.zelo.cases import kept_judgements, query, source

ROOT = Path(__file__).resolve().parents[4]
OFFLINE = ("--judge", "bm25")


class Shown:
    """What a command did."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Any:
    """Return a function that runs a command below `eval zelo`."""

    def command(*words: object) -> Shown:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([f"--home={tmp_path / 'home'}", "eval", "zelo", *map(str, words)])
        shown = capsys.readouterr()
        assert "Traceback" not in shown.out + shown.err
        return Shown(int(ended.value.code or 0), shown.out, shown.err)

    return command


def test_judges_are_a_configuration(run: Any) -> None:
    """What is written can be edited and read again."""
    done = run("judges")

    assert done.code == 0
    assert set(tomllib.loads(done.out)) == {"default", "judges", "prices"}


def test_a_dry_run_says_what_it_would_cost(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Judgements, tokens and price of each judge; nothing is asked or written."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    path = source(tmp_path, query(n=10))
    words = ("annotate", path, tmp_path / "out.jsonl", "--judge", "openai", *OFFLINE)

    done = run(*words, "--dry-run")
    found = json.loads(run(*words, "--dry-run", "--json").out)

    assert done.code == 0
    assert "1 queries, 10 documents, 40 pairs: 80 judgements to be made" in done.out
    tokens = found["judges"][0]["prompt_tokens"]
    assert 40 * 200 < tokens < 40 * 600
    assert re.search("Time: at least 5[0-9] s, by the limits of speed", done.out)
    assert found["seconds"] == pytest.approx((tokens + 40 * 300) * 60 / 28_500)
    assert found["cost"] == pytest.approx((tokens * 2 + 40 * 300 * 8) / 1e6)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["queries.jsonl"]


def test_scores_are_written(run: Any, tmp_path: Path) -> None:
    """With a summary that names judges and files; again it asks nothing."""
    path, target = source(tmp_path), tmp_path / "out.jsonl"

    done = run("annotate", path, target, *OFFLINE, "--cycle_num", "2")
    again = run("annotate", path, target, *OFFLINE, "--cycle_num", "2", "--json")

    assert done.code == again.code == 0
    assert "5 documents scored; 10 judgements asked for" in done.out
    assert f"Scores: {target}" in done.out
    assert json.loads(again.out)["counts"] == {"asked": 0, "reused": 10, "failed": 0}


def test_what_is_not_judged_is_named(run: Any, tmp_path: Path) -> None:
    """On stderr, by query and id."""
    path = source(tmp_path, query(n=9))

    done = run(
        "annotate", path, tmp_path / "out.jsonl", *OFFLINE, "--document_threshold", 3
    )

    assert done.code == 0
    assert "left out: 6 documents (q1: d3, q1: d4" in done.err
    assert len(next(read_annotated(tmp_path / "out.jsonl")).documents) == 3


def test_a_budget_that_is_spent_exits_1(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says how to go on; with --partial what is there is scored."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    path, target = source(tmp_path), tmp_path / "out.jsonl"
    words = ("annotate", path, target, "--judge", "openai", *OFFLINE)

    done = run(*words, "--budget", "0")
    early = target.exists()
    partial = run(*words, "--partial")

    assert done.code == 1
    assert "The budget is spent (0.0000 USD)" in done.err
    assert "with a larger --budget goes on" in done.err
    assert (early, partial.code) == (False, 0)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--judge", "bm26"), "Unknown judge 'bm26'"),
        (("--judge", "bm25", "--judge", "bm25"), "Two judges are called 'bm25'"),
        (("--judges-file", "none.toml"), "none.toml cannot be read"),
        ((*OFFLINE, "--cycle-num", "0"), "Invalid value"),
        ((*OFFLINE, "--pairs", "all"), "Invalid value"),
        ((*OFFLINE, "--budget", "-1"), "Invalid value"),
    ],
)
def test_mistakes_exit_2(
    words: tuple[str, ...], message: str, run: Any, tmp_path: Path
) -> None:
    """In one line, and nothing is written."""
    done = run("annotate", source(tmp_path), tmp_path / "out.jsonl", *words)

    assert done.code == 2
    assert message in done.err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["queries.jsonl"]


def test_without_a_key_it_says_how_to_judge_offline(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The default judges need keys."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    done = run("annotate", source(tmp_path), tmp_path / "out.jsonl")

    assert done.code == 2
    assert "set OPENAI_API_KEY, or judge offline with --judge bm25" in done.err


def test_a_broken_line_is_told(run: Any, tmp_path: Path) -> None:
    """With file and number."""
    path = source(tmp_path, query("q1"), query("q2"))
    lines = path.read_text("utf-8").splitlines()
    path.write_text(f"{lines[0]}\n{{oops\n{lines[1]}\n", "utf-8")

    done = run("annotate", path, tmp_path / "out.jsonl", *OFFLINE)

    assert done.code == 2
    assert "queries.jsonl, line 2 is no JSON" in done.err


SLOW = """
import sys
from knowtrail.graph.cli import root as cli
from knowtrail.eval.zelo import judges
from tests.unit.eval.zelo.cases import ValueJudge
judges.load_judges = lambda *_, **__: (ValueJudge(pause=float(sys.argv[1])),)
cli.main(sys.argv[2:])
"""


@pytest.fixture
def slow(tmp_path: Path) -> Any:
    """Return a function that begins a run, and waits until it has some answers."""
    path, folder = source(tmp_path, query(n=30)), tmp_path / "out.jsonl.zelo"

    def begin(pause: float) -> subprocess.Popen[str]:
        words = ["eval", "zelo", "annotate", str(path), str(tmp_path / "out.jsonl")]
        run = subprocess.Popen(
            [sys.executable, "-c", SLOW, str(pause), *words],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        end = time.monotonic() + 60
        while time.monotonic() < end and run.poll() is None:
            if (folder / JOURNAL).exists() and (folder / JOURNAL).stat().st_size > 999:
                return run
            time.sleep(0.01)
        pytest.fail(f"no answers: {run.communicate()}")

    return begin


@pytest.mark.thorough
def test_ctrl_c_waits_for_answers_and_keeps_them(
    slow: Any, run: Any, tmp_path: Path
) -> None:
    """Exit 130, one line that says how to go on, and no scores yet."""
    process = slow(0.2)

    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)

    kept = len(kept_judgements(tmp_path / "out.jsonl.zelo"))
    assert process.returncode == 130
    assert "Waiting for answers that are under way" in err
    assert f"Interrupted: {kept} judgements are kept" in err
    assert "Traceback" not in err + out
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.thorough
def test_ctrl_c_twice_leaves_at_once(slow: Any, tmp_path: Path) -> None:
    """What was answered before is kept, and the folder is free again."""
    process = slow(0.4)
    begin = time.monotonic()

    process.send_signal(signal.SIGINT)
    assert "Waiting" in process.stderr.readline() + process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)

    assert process.returncode == 130
    assert time.monotonic() - begin < 20
    assert "Traceback" not in err + out
    assert kept_judgements(tmp_path / "out.jsonl.zelo")

"""Progress where no bar can be drawn."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from knowtrail.graph.cli import progress
from knowtrail.graph.cli.progress import progress_bars

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest


def _until(found: Callable[[], bool]) -> None:
    """Wait for something, for ten seconds."""
    end = time.monotonic() + 10
    while not found() and time.monotonic() < end:
        time.sleep(0.01)


def test_long_work_is_counted_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A stage is named once and counted as it moves on, and when long nothing moves."""
    monkeypatch.setattr(progress, "_TOLD_EVERY", 0.02)
    told: list[str] = []

    def counted(line: str, times: int) -> bool:
        told.append(capsys.readouterr().err)
        return "".join(told).count(line) >= times

    with progress_bars() as tell:
        tell("documents", 3, None)
        _until(lambda: counted("documents: 3 after 0 s", 1))
        tell("texts", 1_500, 2_000)
        _until(lambda: counted("texts: 1,500 of 2,000 after 0 s", 2))

    said = "".join(told)
    assert said.count("documents ...") == said.count("texts ...") == 1
    assert said.count("texts: 1,500 of 2,000") > 1


def test_the_end_of_a_stage_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where it was told a moment before how far it was."""
    monkeypatch.setattr(progress, "_TOLD_EVERY", 0.02)
    told: list[str] = []

    with progress_bars() as tell:
        tell("themes", 12, 14)
        _until(lambda: bool(told.append(capsys.readouterr().err)) or "12" in told[-1])
        monkeypatch.setattr(progress, "_TOLD_EVERY", 1_000.0)
        tell("themes", 14, 14)
        tell("links", 3, 14)

    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("themes: 14 of 14 after ")


def test_a_stage_that_is_done_is_told_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where nothing is told after it for long, it is said that work goes on."""
    monkeypatch.setattr(progress, "_TOLD_EVERY", 0.02)
    told: list[str] = []

    with progress_bars() as tell:
        tell("themes", 14, 14)
        _until(lambda: bool(told.append(capsys.readouterr().err)) or "it" in told[-1])

    said = "".join(told)
    assert said.count("themes: 14 of 14 after 0 s") == 1
    assert "after themes: still at it, 0 s" in said


def test_a_stage_that_has_counted_nothing_says_that_it_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is not said that nothing was reached after some time."""
    monkeypatch.setattr(progress, "_TOLD_EVERY", 0.02)
    told: list[str] = []

    with progress_bars() as tell:
        for stage, total in (("server", None), ("texts", 1_500)):
            tell(stage, 0, total)
            told.append("")
            _until(
                lambda: (
                    bool(told.append(capsys.readouterr().err)) or "still" in told[-1]
                )
            )

    assert {line for line in "".join(told).splitlines() if "still" in line} == {
        "server: still at it, 0 s",
        "texts: still at 0 of 1,500, 0 s",
    }


def test_short_work_is_counted_at_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    """A stage that is done soon has one more line; one of a single step has none."""
    with progress_bars() as tell:
        tell("server", 1, 1)
        for _ in range(2):
            for done in range(1, 6):
                tell("documents", done, 5)

    assert capsys.readouterr().err.splitlines() == [
        "server ...",
        "documents ...",
        "documents: 5 of 5 after 0 s",
    ]

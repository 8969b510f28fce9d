"""The command line as a user meets it: in this process, or in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from graph.cli import main

if TYPE_CHECKING:
    from graph.settings import Settings

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a command did: exit code, standard output, lines that are errors."""

    code: int
    out: str
    errors: list[str]


def outcome(code: int, out: str, err: str) -> Outcome:
    """Return an outcome; the stages that progress tells of are no errors."""
    assert "Traceback" not in err + out
    lines = [line for line in err.splitlines() if line and not line.endswith(" ...")]
    return Outcome(code=code, out=out, errors=lines)


class CommandLine:
    """Commands against one server, with the deterministic embedder unless told."""

    def __init__(
        self, settings: Settings, capsys: pytest.CaptureFixture[str], embedder: str
    ) -> None:
        self.settings = settings
        self._capsys = capsys
        self._embedder = embedder

    def options(self, **given: str) -> list[str]:
        """Return the options before the command."""
        values = {
            "uri": self.settings.uri,
            "home": str(self.settings.home),
            "embedder": self._embedder,
        } | given
        return [f"--{name}={value}" for name, value in values.items()]

    def run(self, *words: str | Path, **given: str) -> Outcome:
        """Run a command in this process; keywords are options before it."""
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([*self.options(**given), *map(str, words)])
        shown = self._capsys.readouterr()
        return outcome(int(ended.value.code or 0), shown.out, shown.err)

    def spawn(self, *words: str | Path, **more: Any) -> Outcome:
        """Run a command in a process of its own; keywords are those of `run`."""
        return spawn(*self.options(), *words, **more)


def spawn(
    *words: str | Path, env: dict[str, str] | None = None, **more: Any
) -> Outcome:
    """Run `knowtrail` in a process of its own, on no server of the surroundings."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name == "NEO4J_PASSWORD" or not name.startswith(("NEO4J_", "KNOWTRAIL_"))
    }
    done = subprocess.run(
        [sys.executable, "-m", "graph.cli", *map(str, words)],
        env=kept | {"PYTHONPATH": str(ROOT)} | (env or {}),
        capture_output=True,
        text=True,
        check=False,
        **more,
    )
    return outcome(done.returncode, done.stdout, done.stderr)

"""The command line as a user meets it: in this process, or in one of its own."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from knowtrail.graph.cli.root import main

if TYPE_CHECKING:
    from knowtrail.graph.settings import Settings

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = (sys.executable, "-m", "knowtrail.graph.cli.root")

_PROGRESS = re.compile(
    r"|.* \.\.\.|.*: still at (?:it|0 of [\d,]+), [\d,]+ s"
    r"|.*: [\d,]+(?: of [\d,]+)? after [\d,]+ s"
)
"""A stage that begins, or how far one has come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a command did: exit code, standard output, lines that are errors or not."""

    code: int
    out: str
    errors: list[str]
    progress: list[str]


def outcome(code: int, out: str, err: str) -> Outcome:
    """Return an outcome; the stages that progress tells of are no errors."""
    assert "Traceback" not in err + out
    lines: dict[bool, list[str]] = {True: [], False: []}
    for line in err.splitlines():
        lines[_PROGRESS.fullmatch(line) is not None].append(line)
    return Outcome(code=code, out=out, errors=lines[False], progress=lines[True])


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


def typed(*words: str | Path, env: dict[str, str] | None = None) -> Outcome:
    """Run `knowtrail` in this process, on no server of the surroundings."""
    out, err = (
        io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
        for _ in range(2)
    )
    with (
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        for name in [n for n in os.environ if n.startswith(("NEO4J_", "KNOWTRAIL_"))]:
            patch.delenv(name)
        for name, value in (env or {}).items():
            patch.setenv(name, value)
        with pytest.raises(SystemExit) as ended:
            main([*map(str, words)])
    shown = [stream.buffer.getvalue().decode() for stream in (out, err)]
    return outcome(int(ended.value.code or 0), *shown)


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
        [*PROGRAM, *map(str, words)],
        env=kept | {"PYTHONPATH": str(ROOT)} | (env or {}),
        capture_output=True,
        text=True,
        check=False,
        **more,
    )
    return outcome(done.returncode, done.stdout, done.stderr)

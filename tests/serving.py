"""`knowtrail serve` as a process of its own, as a user starts it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import httpx

from tests.command_line import PROGRAM, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

START_SECONDS = 90
ADDRESS = re.compile(r"http://[^\s/]+")


@dataclass(kw_only=True)
class Serving:
    """A running server.

    Attributes:
        url: Where it answers.
        process: Its process.
        log: The lines of its standard error so far.
    """

    url: str
    process: subprocess.Popen[str]
    log: list[str] = field(default_factory=list)

    def stop(self, by: signal.Signals = signal.SIGTERM) -> int:
        """End the process by a signal and return its exit code."""
        self.process.send_signal(by)
        return self.process.wait(30)


@contextmanager
def serving(
    *words: str | Path, env: dict[str, str] | None = None, ready: bool = True
) -> Iterator[Serving]:
    """Start `knowtrail ... serve` on a free port; end it where it still runs.

    Args:
        *words: The words after `knowtrail`, `serve` among them.
        env: More variables.
        ready: Whether to wait until the models are loaded.
    """
    kept = {n: v for n, v in os.environ.items() if not n.startswith("KNOWTRAIL_")}
    process = subprocess.Popen(
        [*PROGRAM, *map(str, words), "--port=0"],
        env=kept | {"PYTHONPATH": str(ROOT)} | (env or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    served = Serving(url="", process=process)
    assert process.stderr is not None
    reader = threading.Thread(target=served.log.extend, args=(process.stderr,))
    reader.start()
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = ADDRESS.search(line)
        if found is None:
            process.wait(30)
            reader.join()
            raise AssertionError("".join([line, *served.log]))
        served.url = found[0].replace("0.0.0.0", "127.0.0.1")  # noqa: S104
        if ready:
            _await_ready(served.url)
        yield served
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(30)
        reader.join()
        process.stdout.close()
        process.stderr.close()


def _await_ready(url: str) -> None:
    """Return once everything is there."""
    end = time.monotonic() + START_SECONDS
    while (answer := httpx.get(f"{url}/ready", timeout=10)).status_code != 200:
        assert time.monotonic() < end, answer.text
        time.sleep(0.2)

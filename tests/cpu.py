"""Where the time of tests goes: `pytest -p tests.cpu` lists files by CPU seconds.

Those of the tests' own process, of processes that it started, and of its servers of
Neo4j, which are nobody's children. A busy machine changes them less than times.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import psutil
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

SHOWN = 40
_KINDS = ("own", "children", "servers")
_spent: Counter[tuple[str, str]] = Counter()
_clocks: dict[int, float] = {}
_seen: set[int] = set()


def _servers(base: str) -> float:
    """Return what the servers of this session have taken, those that ended too.

    A process is looked at once: to read all their words takes as long as a small test.
    """
    there = set(psutil.pids())
    for pid in there - _seen:
        with suppress(psutil.Error):
            process = psutil.Process(pid)
            words = " ".join(process.cmdline())
            if "server._child" in words and base in words:
                _clocks[pid] = 0.0
            if time.time() - process.create_time() > 1:  # its words are its own now
                _seen.add(pid)
    _seen.intersection_update(there)
    for pid in there & _clocks.keys():
        with suppress(psutil.Error):
            times = psutil.Process(pid).cpu_times()
            _clocks[pid] = times.user + times.system
    return sum(_clocks.values())


def _now(base: str) -> tuple[float, ...]:
    own = os.times()
    ended = own.children_user + own.children_system
    return own.user + own.system, ended, _servers(base)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Count a test with its fixtures for its file."""
    factory: pytest.TempPathFactory = item.config._tmp_path_factory  # type: ignore[attr-defined]
    base = str(factory.getbasetemp())
    before = _now(base)
    result = yield
    for kind, a, b in zip(_KINDS, before, _now(base), strict=True):
        _spent[item.location[0], kind] += b - a
    return result


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send what a worker counted to the process that shows it."""
    if output := getattr(session.config, "workeroutput", None):
        output["cpu"] = [(*key, seconds) for key, seconds in _spent.items()]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take what a worker counted."""
    for file, kind, seconds in node.workeroutput.get("cpu", ()):
        _spent[file, kind] += seconds


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the files that took most."""
    files = Counter[str]()
    for (file, _), seconds in _spent.items():
        files[file] += seconds
    terminalreporter.section("CPU seconds: " + ", ".join(("all", *_KINDS)))
    for file, total in files.most_common(SHOWN):
        kinds = " ".join(f"{_spent[file, kind]:7.1f}" for kind in _KINDS)
        terminalreporter.write_line(f"{total:7.1f} {kinds}  {file}")
    terminalreporter.write_line(f"{files.total():7.1f} in all")

"""Looking at a folder's server, and stopping it."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections import deque
from contextlib import suppress
from pathlib import Path

import knowtrail
from knowtrail.graph.errors import ServerError
from knowtrail.graph.server.folder import (
    LOCK_POLL_SECONDS,
    RunningServer,
    ServerFolder,
    ServerInfo,
    bolt_answers,
)
from knowtrail.graph.settings import environment

START_TIMEOUT_SECONDS = 120.0
STOP_TIMEOUT_SECONDS = 60.0
ANSWER_POLL_SECONDS = 0.1
KILL_TIMEOUT_SECONDS = 10.0

_LOG = logging.getLogger(__name__)


def server_status(
    home: Path, *, timeout: float = START_TIMEOUT_SECONDS
) -> ServerInfo | None:
    """Return the folder's running server, None where no server process lives.

    One that is starting is waited for. The file that describes it is believed only
    while the server process holds the folder's lock and something speaks Bolt on its
    port.

    Raises:
        ServerError: If one lives and does not answer in time.
    """
    folder = ServerFolder(Path(home).expanduser().absolute())
    state = answering(folder, timeout)
    return None if state is None else folder.info(state)


def answering(folder: ServerFolder, timeout: float) -> RunningServer | None:
    """Return the server of a folder once it answers, None where no process lives."""
    deadline = time.monotonic() + timeout
    while folder.is_alive():
        state = folder.read_state()
        if state is not None and bolt_answers(state.port):
            return state
        if time.monotonic() >= deadline:
            msg = (
                f"The server of {folder.home} runs but does not answer: "
                f"see {folder.log}."
            )
            raise ServerError(msg)
        time.sleep(ANSWER_POLL_SECONDS)
    return None


def stop_server(home: Path, *, timeout: float = STOP_TIMEOUT_SECONDS) -> bool:
    """Stop the folder's server cleanly, or at once when the time is over.

    Returns whether there was one to stop, whoever uses it.

    Raises:
        ServerError: If it cannot be ended.
    """
    folder = ServerFolder(Path(home).expanduser().absolute())
    if not folder.is_alive():
        return False
    with folder.changing(timeout):
        return kill_server(folder, timeout)


def kill_server(folder: ServerFolder, timeout: float, *, force: bool = False) -> bool:
    """End the server process and wait for it; return whether there was one.

    The change lock must be held. A process that does not end cleanly in time is ended
    at once, which loses nothing that was committed: Neo4j recovers at the next start.
    """
    if not folder.is_alive():
        folder.clear_state()
        return False
    if force or not _signal(folder, signal.SIGTERM, timeout):
        if not force:
            _LOG.warning(
                "The server of %s did not stop within %.0f s and is ended at once; "
                "nothing committed is lost. See %s",
                folder.home,
                timeout,
                folder.log,
            )
        if not _signal(folder, signal.SIGKILL, KILL_TIMEOUT_SECONDS):
            msg = (
                f"The server of {folder.home} (process {folder.server_pid()}) cannot "
                f"be ended: see {folder.log}."
            )
            raise ServerError(msg)
    folder.clear_state()
    return True


def _signal(folder: ServerFolder, number: signal.Signals, timeout: float) -> bool:
    """Send each server process a signal once; return whether none is left in time."""
    deadline = time.monotonic() + timeout
    asked: int | None = None
    while folder.is_alive():
        if time.monotonic() >= deadline:
            return False
        pid = folder.server_pid()
        if pid is not None and pid != asked:
            with suppress(ProcessLookupError):
                os.kill(pid, number)
            asked = pid
        time.sleep(LOCK_POLL_SECONDS)
    return True


def read_log(home: Path, lines: int) -> list[str]:
    """Return at most that many of the last lines of the server's log, oldest first."""
    log = ServerFolder(Path(home).expanduser().absolute()).log
    try:
        with log.open(encoding="utf-8", errors="replace") as file:
            return [line.rstrip("\n") for line in deque(file, maxlen=max(0, lines))]
    except FileNotFoundError:
        return []


def child_environment() -> dict[str, str]:
    """Return an environment in which a child process finds this very package."""
    variables = dict(environment())
    source = str(Path(knowtrail.__file__).absolute().parents[1])
    known = variables.get("PYTHONPATH")
    variables["PYTHONPATH"] = os.pathsep.join([source, known] if known else [source])
    return variables

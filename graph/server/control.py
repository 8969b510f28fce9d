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
    """Return the folder's running server; wait for one that is starting.

    The file that describes it is believed only while the server process holds the
    folder's lock and something speaks Bolt on its port.

    Args:
        home: Folder of the server.
        timeout: Seconds to wait for a server process to answer or to end.

    Returns:
        Its description, or None where no server process lives.

    Raises:
        ServerError: If one lives and does not answer in time.
    """
    folder = ServerFolder(Path(home).expanduser().absolute())
    state = answering(folder, timeout)
    return None if state is None else folder.info(state)


def answering(folder: ServerFolder, timeout: float) -> RunningServer | None:
    """Return the server of a folder once it answers, None where no process lives.

    Raises:
        ServerError: If a process lives and does not answer in `timeout` seconds.
    """
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
    """Stop the folder's server cleanly, whoever uses it.

    Args:
        home: Folder of the server.
        timeout: Seconds to wait for a clean end; then it is ended at once.

    Returns:
        Whether there was one to stop.

    Raises:
        ServerError: If it cannot be ended.
    """
    folder = ServerFolder(Path(home).expanduser().absolute())
    if not folder.is_alive():
        return False
    with folder.changing(timeout):
        return kill_server(folder, timeout)


def kill_server(folder: ServerFolder, timeout: float, *, force: bool = False) -> bool:
    """End the server process and wait for it; the change lock must be held.

    A process that does not end cleanly in time is ended at once, which loses nothing
    that was committed: Neo4j recovers at the next start.

    Args:
        folder: The folder.
        timeout: Seconds to wait for a clean end.
        force: Whether to end it at once from the beginning.

    Returns:
        Whether there was one.

    Raises:
        ServerError: If it cannot be ended.
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
    """Return the last lines of the server's log, oldest first.

    Args:
        home: Folder of the server.
        lines: How many.

    Returns:
        At most that many lines; none where there is no log.
    """
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

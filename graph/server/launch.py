"""Starting the server process and hearing from it."""

from __future__ import annotations

import json
import logging
import os
import selectors
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from knowtrail.graph import errors
from knowtrail.graph.errors import ServerStartError
from knowtrail.graph.files import private
from knowtrail.graph.server.control import (
    STOP_TIMEOUT_SECONDS,
    child_environment,
    kill_server,
    read_log,
)

if TYPE_CHECKING:
    from knowtrail.graph.server.folder import RunningServer, ServerFolder

LOG_LIMIT_BYTES = 4 << 20

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildSpec:
    """What the starter asks of the server process; it waits on `answer`."""

    home: str
    version: str
    port: int | None
    stays: bool
    heap: str
    page_cache: str
    load_csv: str
    archive: str | None = None
    answer: int = -1


class _ProcessEndedError(ServerStartError):
    """The server process ended without a word, as when Java itself crashes."""


def launch(
    folder: ServerFolder, spec: ChildSpec, timeout: float
) -> tuple[RunningServer, int | None]:
    """Start a server process and wait until it answers; the change lock must be held.

    A class archive with which Java crashes is thrown away, and the start tried again.
    Returns the running server, and the pipe whose end it waits for (None where it
    stays).

    Raises:
        ServerStartError: If it does not start; with its last log line.
        PortInUseError: If the port that was asked for is taken.
    """
    from knowtrail.graph.server.install import archive_of
    from knowtrail.graph.server.java import find_java

    archive = archive_of(spec.version, find_java())
    if archive is None:
        return _launch(folder, spec, timeout)
    try:
        return _launch(folder, replace(spec, archive=str(archive)), timeout)
    except _ProcessEndedError as error:
        _log.warning("Trying again without the class archive %s: %s", archive, error)
        archive.unlink(missing_ok=True)
        return _launch(folder, spec, timeout)


def _launch(
    folder: ServerFolder, spec: ChildSpec, timeout: float
) -> tuple[RunningServer, int | None]:
    """Start one server process and wait until it answers."""
    read_end, answer_end = os.pipe()
    pipe = None
    try:
        try:
            pipe = _spawn(folder, replace(spec, answer=answer_end))
        finally:
            os.close(answer_end)
        _await_answer(folder, read_end, timeout)
        state = folder.read_state()
        if state is None:
            raise ServerStartError(_start_message(folder, "it stopped at once"))
    except BaseException:
        if pipe is not None:
            os.close(pipe)
        raise
    finally:
        os.close(read_end)
    return state, pipe


def _spawn(folder: ServerFolder, spec: ChildSpec) -> int | None:
    """Start the server process; return the pipe it watches unless it stays."""
    if folder.log.exists() and folder.log.stat().st_size > LOG_LIMIT_BYTES:
        folder.log.replace(folder.log.with_suffix(".log.1"))
    watched, pipe = (None, None) if spec.stays else os.pipe()
    try:
        with open(folder.log, "ab", opener=private) as log:
            process = subprocess.Popen(  # noqa: S603 - our own module
                [
                    sys.executable,
                    "-m",
                    "knowtrail.graph.server._child",
                    json.dumps(asdict(spec)),
                ],
                stdin=subprocess.DEVNULL if watched is None else watched,
                stdout=log,
                stderr=log,
                cwd=folder.root,
                env=child_environment(),
                pass_fds=(spec.answer,),
                start_new_session=True,
            )
        process.wait()
    except BaseException:
        if pipe is not None:
            os.close(pipe)
        raise
    finally:
        if watched is not None:
            os.close(watched)
    return pipe


def _await_answer(folder: ServerFolder, read_end: int, timeout: float) -> None:
    received = _read_to_end(read_end, timeout)
    if received is None:
        kill_server(folder, STOP_TIMEOUT_SECONDS, force=True)
        reason = f"no answer within {timeout:.0f} s"
        raise ServerStartError(_start_message(folder, reason))
    if not received:
        raise _ProcessEndedError(_start_message(folder, "its process ended"))
    answer = json.loads(received)
    if "error" in answer:
        kind = getattr(errors, answer["kind"], ServerStartError)
        if kind is ServerStartError:
            raise ServerStartError(_start_message(folder, answer["error"]))
        raise kind(answer["error"])


def _read_to_end(descriptor: int, timeout: float) -> bytes | None:
    """Return all that comes through a pipe; None where it does not end in time."""
    deadline = time.monotonic() + timeout
    received = b""
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while selector.select(max(0.0, deadline - time.monotonic())):
            part = os.read(descriptor, 65536)
            if not part:
                return received
            received += part
    return None


def _start_message(folder: ServerFolder, reason: str) -> str:
    """Say why the server did not start, with the last telling line of its log."""
    lines = [line.strip() for line in read_log(folder.home, 50)]
    last = next((line for line in reversed(lines) if line.strip("# ")), "")[:300]
    tail = f" Last log line: {last}" if last and reason not in last else ""
    return f"Neo4j did not start: {reason.rstrip('.')}. See {folder.log}.{tail}"

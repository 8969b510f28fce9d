"""Joining the server of a folder; starting its process, and hearing from that."""

from __future__ import annotations

import json
import logging
import os
import subprocess
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from multiprocessing import Pipe
from typing import TYPE_CHECKING, Any, Self

from knowtrail.graph import errors
from knowtrail.graph.cli.progress import silent
from knowtrail.graph.errors import ServerError, ServerStartError, SettingsError
from knowtrail.graph.files import private
from knowtrail.graph.server.folder import (
    START_TIMEOUT_SECONDS,
    STOP_TIMEOUT_SECONDS,
    ServerFolder,
    ServerInfo,
    answering,
    child_environment,
    kill_server,
    module_command,
    read_log,
)
from knowtrail.graph.server.install import (
    check_size,
    check_version,
    install_server,
    installed_jars,
    line_of,
)
from knowtrail.graph.settings import DEFAULT_NEO4J

if TYPE_CHECKING:
    from multiprocessing.connection import Connection as PipeConnection
    from pathlib import Path

    from knowtrail.graph.cli.progress import Progress
    from knowtrail.graph.server.folder import FolderLock, RunningServer


LOG_LIMIT_BYTES = 4 << 20

_log = logging.getLogger(__name__)
NO_MEMORY = "OutOfMemoryError"


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
    from knowtrail.graph.server.install import archive_of, find_java

    archive = archive_of(spec.version, find_java())
    if archive is None:
        return _launch(folder, spec, timeout)
    try:
        return _launch(folder, replace(spec, archive=str(archive)), timeout)
    except _ProcessEndedError as error:
        if NO_MEMORY in str(error):
            raise
        _log.warning("Trying again without the class archive %s: %s", archive, error)
        archive.unlink(missing_ok=True)
        return _launch(folder, spec, timeout)


def _launch(
    folder: ServerFolder, spec: ChildSpec, timeout: float
) -> tuple[RunningServer, int | None]:
    answers, answer_end = Pipe(duplex=False)
    with answers, ExitStack() as failed:
        with answer_end:
            pipe = _spawn(folder, replace(spec, answer=answer_end.fileno()))
        if pipe is not None:
            failed.callback(os.close, pipe)
        _await_answer(folder, answers, timeout)
        state = folder.read_state()
        if state is None:
            raise ServerStartError(_start_message(folder, "it stopped at once"))
        failed.pop_all()
    return state, pipe


def _spawn(folder: ServerFolder, spec: ChildSpec) -> int | None:
    """Start the server process; return the pipe it watches unless it stays."""
    pipe: int | None = None
    watched = subprocess.DEVNULL
    with ExitStack() as ends, ExitStack() as failed:
        if folder.log.exists() and folder.log.stat().st_size > LOG_LIMIT_BYTES:
            folder.log.replace(folder.log.with_suffix(".log.1"))
        if not spec.stays:
            watched, pipe = os.pipe()
            ends.callback(os.close, watched)
            failed.callback(os.close, pipe)
        with open(folder.log, "ab", opener=private) as log:
            process = subprocess.Popen(  # noqa: S603 - our own module
                module_command("_child", asdict(spec)),
                stdin=watched,
                stdout=log,
                stderr=log,
                cwd=folder.root,
                env=child_environment(),
                pass_fds=(spec.answer,),
                start_new_session=True,
            )
        process.wait()
        failed.pop_all()
    return pipe


def _await_answer(
    folder: ServerFolder, answers: PipeConnection[Any, Any], timeout: float
) -> None:
    if not answers.poll(timeout):
        # It may be recovering a large store: ended now it would begin again each time.
        raise ServerStartError(
            f"Neo4j is not up after {timeout:.0f} s and goes on starting, as after a "
            "crash of a large store: try again later, see `knowtrail server logs`, or "
            "end it with `knowtrail server stop`."
        )
    try:
        answer = json.loads(answers.recv_bytes())
    except (EOFError, OSError) as error:
        raise _ProcessEndedError(_start_message(folder, "its process ended")) from error
    if "error" in answer:
        kind = getattr(errors, answer["kind"], ServerStartError)
        if kind is ServerStartError:
            raise ServerStartError(_start_message(folder, answer["error"]))
        raise kind(answer["error"])


def _start_message(folder: ServerFolder, reason: str) -> str:
    """Say why the server did not start, with the last telling line of its log."""
    lines = [line.strip() for line in read_log(folder.home, 50)]
    last = next((line for line in reversed(lines) if line.strip("# ")), "")[:300]
    tail = f" Last log line: {last}" if last and reason not in last else ""
    if NO_MEMORY in last:
        tail += ": give it more heap (KNOWTRAIL_HEAP)."
    return f"Neo4j did not start: {reason.rstrip('.')}. See {folder.log}.{tail}"


@dataclass(eq=False)
class ServerLease:
    """A hold on a running server; while one is open, nothing stops it by itself."""

    _folder: ServerFolder
    info: ServerInfo
    _clients: FolderLock | None
    _pipe: int | None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go; the last one out stops a server that was not started to stay."""
        clients, self._clients = self._clients, None
        if clients is None:
            return
        try:
            with self._folder.changing(STOP_TIMEOUT_SECONDS):
                clients.release()
                self._stop_if_last()
        finally:
            clients.release()
            if self._pipe is not None:
                os.close(self._pipe)

    def _stop_if_last(self) -> None:
        state = self._folder.read_state()
        if state is None or state.stays:
            return
        alone = self._folder.lock("clients")
        if alone.acquire():
            try:
                kill_server(self._folder, STOP_TIMEOUT_SECONDS)
            finally:
                alone.release()


def join_server(
    home: Path,
    *,
    version: str | None = None,
    port: int | None = None,
    stay: bool = False,
    timeout: float = START_TIMEOUT_SECONDS,
    heap: str = "2g",
    page_cache: str = "512m",
    load_csv: str = "local",
    progress: Progress = silent,
) -> ServerLease:
    """Join the folder's running server, or start one; close the lease after use.

    Several processes may call this at once: one starts the server, the others join it.
    Without a version it is the folder's, then the default one; without a port the
    folder's last, 7687, or a free one. With `stay` the server goes on when the last
    client has left, also one that runs. Heap, page cache and what LOAD CSV may read
    (`local` or `remote`) are those of a server that is started.

    Raises:
        ServerStartError: If the server does not start; with its last log line.
        PortInUseError: If `port` is taken.
        InstallError: If Java or the server's jars are missing and cannot be fetched.
        ServerError: If its data are of another line, or its server not as asked for.
        StorageError: If the folder cannot be written.
        SettingsError: For an impossible version, memory size or `load_csv`.
    """
    folder = ServerFolder(home)
    wish = ChildSpec(
        home=str(folder.home),
        version="" if version is None else check_version(version),
        port=port,
        stays=stay,
        heap=check_size("heap", heap),
        page_cache=check_size("page_cache", page_cache),
        load_csv=_check_load_csv(load_csv),
    )
    folder.create()
    if not folder.is_alive():
        _ensure_installed(folder, wish.version, progress)
    with folder.changing(timeout):
        clients = folder.lock("clients")
        clients.acquire(shared=True, timeout=timeout)
        try:
            state, pipe = _join_or_start(folder, wish, timeout, progress)
        except BaseException:
            clients.release()
            raise
    return ServerLease(folder, folder.info(state), clients, pipe)


def _check_load_csv(value: str) -> str:
    if value not in {"local", "remote"}:
        raise SettingsError(f"load_csv is {value[:80]!r}: write local or remote.")
    return value


def _ensure_installed(folder: ServerFolder, wanted: str, progress: Progress) -> str:
    """Return the version to start, its jars being there; refuse another line."""
    recorded = folder.recorded_version()
    version = wanted or recorded or DEFAULT_NEO4J
    if recorded is not None and line_of(recorded) != line_of(version):
        raise ServerError(
            f"The data in {folder.home} belong to Neo4j {recorded}, and {version} is "
            f"of another line: use --neo4j {recorded}, or another folder with --home."
        )
    if not installed_jars(version):
        install_server(folder.home, version, progress=progress)
    return version


def _join_or_start(
    folder: ServerFolder, wish: ChildSpec, timeout: float, progress: Progress
) -> tuple[RunningServer, int | None]:
    """Return the running server and the pipe that it watches, if it is ours."""
    running = answering(folder, timeout)
    if running is not None:
        _check_same(folder, running, wish)
        if wish.stays and not running.stays:
            running = replace(running, stays=True)
            folder.write_state(running)
        return running, None
    version = _ensure_installed(folder, wish.version, progress)
    progress(f"Starting Neo4j {version}", 0, None)
    state, pipe = launch(folder, replace(wish, version=version), timeout)
    progress(f"Starting Neo4j {version}", 1, 1)
    return state, pipe


def _check_same(folder: ServerFolder, state: RunningServer, wish: ChildSpec) -> None:
    hint = "stop it first (knowtrail server stop) or use another --home"
    if wish.version not in {"", state.version}:
        msg = f"The server of {folder.home} runs Neo4j {state.version}: {hint}."
        raise ServerError(msg)
    if wish.port is not None and wish.port != state.port:
        msg = f"The server of {folder.home} runs on port {state.port}: {hint}."
        raise ServerError(msg)

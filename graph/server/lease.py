"""Joining the server of a folder, starting it where there is none."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from knowtrail.graph.errors import ServerError, SettingsError
from knowtrail.graph.server.control import (
    START_TIMEOUT_SECONDS,
    STOP_TIMEOUT_SECONDS,
    answering,
    kill_server,
)
from knowtrail.graph.server.folder import ServerFolder, ServerInfo
from knowtrail.graph.server.install import (
    check_version,
    install_server,
    installed_jars,
    line_of,
)
from knowtrail.graph.server.java import check_size
from knowtrail.graph.server.launch import ChildSpec, launch
from knowtrail.graph.settings import DEFAULT_NEO4J

if TYPE_CHECKING:
    from types import TracebackType

    from knowtrail.graph.server.folder import FolderLock, RunningServer
    from knowtrail.graph.server.install import Progress


class ServerLease:
    """A hold on a running server; while one is open, nothing stops it by itself."""

    def __init__(
        self,
        folder: ServerFolder,
        info: ServerInfo,
        clients: FolderLock,
        pipe: int | None,
    ) -> None:
        self.info = info
        self._folder = folder
        self._clients: FolderLock | None = clients
        self._pipe = pipe

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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
        """Stop the server if no other client is left and it does not stay."""
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
    progress: Progress | None = None,
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
    folder = ServerFolder(Path(home).expanduser().absolute())
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
        clients.wait(timeout, shared=True)
        try:
            state, pipe = _join_or_start(folder, wish, timeout, progress)
        except BaseException:
            clients.release()
            raise
    return ServerLease(folder, folder.info(state), clients, pipe)


def _check_load_csv(value: str) -> str:
    if value not in {"local", "remote"}:
        msg = f"load_csv is {value[:80]!r}: write local or remote."
        raise SettingsError(msg)
    return value


def _ensure_installed(
    folder: ServerFolder, wanted: str, progress: Progress | None
) -> str:
    """Return the version to start, its jars being there."""
    version = _choose_version(folder, wanted)
    if not installed_jars(version):
        install_server(folder.home, version, progress=progress)
    return version


def _choose_version(folder: ServerFolder, wanted: str) -> str:
    """Return the version to start; refuse to cross from one line to another."""
    recorded = folder.recorded_version()
    version = wanted or recorded or DEFAULT_NEO4J
    if recorded is not None and line_of(recorded) != line_of(version):
        msg = (
            f"The data in {folder.home} belong to Neo4j {recorded}, and {version} is "
            f"of another line: use --neo4j {recorded}, or another folder with --home."
        )
        raise ServerError(msg)
    return version


def _join_or_start(
    folder: ServerFolder, wish: ChildSpec, timeout: float, progress: Progress | None
) -> tuple[RunningServer, int | None]:
    """Return the running server and the pipe that it watches, if it is ours."""
    running = answering(folder, timeout)
    if running is not None:
        _check_same(folder, running, wish)
        if wish.stays and not running.stays:
            running = folder.set_stays(running)
        return running, None
    version = _ensure_installed(folder, wish.version, progress)
    if progress:
        progress(f"Starting Neo4j {version}", 0, None)
    state, pipe = launch(folder, replace(wish, version=version), timeout)
    if progress:
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

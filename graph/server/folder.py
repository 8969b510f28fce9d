"""The folder of a managed server: its files, its locks, and an end to its server.

Three locks, always taken in this order:

- `change.lock`, exclusive: whoever starts or stops the server, or decides to.
- `clients.lock`, shared: every lease. Whoever gets it exclusively knows that no
  client is left.
- `server.lock`, exclusive: the server process, for as long as it lives. It proves that
  the process in `server.json` is ours, whatever became of that process id.

The system drops a lock when its holder dies, however it died, so nothing goes stale.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import signal
import socket
import string
import sys
import time
from collections import deque
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

import portalocker

import knowtrail
from knowtrail.graph.errors import ServerError, StorageError
from knowtrail.graph.files import (
    disk_errors,
    held_file,
    locking,
    private,
    private_folder,
    whole_file,
)
from knowtrail.graph.settings import environment

USERNAME = "neo4j"
LOCK_POLL_SECONDS = 0.05
PASSWORD_LETTERS = string.ascii_letters + string.digits
"""No signs, so that a password can be typed into a shell as it is."""
_REFUSED = "Cannot write {path}: {reason}. Free the disk or choose another --home."


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningServer:
    """What a server process writes down about itself once Bolt is open.

    `stays` tells whether it goes on when the last client has left.
    """

    pid: int
    port: int
    version: str
    stays: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerInfo(RunningServer):
    """Where a running server of a folder is and how to log in."""

    home: Path
    log: Path
    password: str = field(repr=False)
    username: str = USERNAME

    @property
    def uri(self) -> str:
        """Return its address."""
        return f"bolt://127.0.0.1:{self.port}"


class FolderLock:
    """One lock file; each instance is a holder of its own."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock: portalocker.Lock[IO[bytes]] | None = None

    def acquire(self, *, shared: bool = False, timeout: float = 0.0) -> bool:
        """Take the lock within `timeout` seconds; return whether it was taken.

        Who waits is told of a disk without locks by a `StorageError`; others get False.
        """
        flags = portalocker.LockFlags
        lock = portalocker.Lock(
            self._path,
            "ab",
            timeout=timeout,
            check_interval=LOCK_POLL_SECONDS,
            flags=flags.NON_BLOCKING | (flags.SHARED if shared else flags.EXCLUSIVE),
            opener=private,
        )
        try:
            with locking(self._path):
                lock.acquire()
        except (portalocker.AlreadyLocked, StorageError) as error:
            if timeout and isinstance(error, StorageError):
                raise
            return False
        self._lock = lock
        return True

    def note(self, text: str) -> None:
        """Write who holds the lock into its file."""
        if self._lock is not None and (file := self._lock.fh) is not None:
            file.truncate(0)
            file.write(text.encode())
            file.flush()

    def release(self) -> None:
        """Let go; does nothing where the lock is not held."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None


class ServerFolder:
    """The files below one home folder; only its user may enter `root`."""

    def __init__(self, home: str | Path) -> None:
        self.home = Path(home).expanduser().absolute()
        self.root = self.home / "server"
        self.log = self.root / "server.log"
        self.password_file = self.root / "password"
        self.state_file = self.root / "server.json"
        self._versions = self.root / "folder.json"

    def create(self) -> None:
        """Make the folder, closed to other users; a home that is there stays."""
        with disk_errors(StorageError, _REFUSED, path=self.root):
            private_folder(self.root)
        if not os.access(self.root, os.W_OK | os.X_OK):
            msg = f"Cannot write in {self.root}: choose another folder with --home."
            raise StorageError(msg)

    def lock(self, name: str) -> FolderLock:
        """Return a new holder of one of the three locks."""
        return FolderLock(self.root / f"{name}.lock")

    def changing(self, timeout: float) -> AbstractContextManager[None]:
        """Hold the folder's change lock; refuse where another process keeps it."""
        refusal = ServerError(
            f"Another command has been starting or stopping the server of {self.home} "
            f"for {timeout:.0f} s: see {self.log}, or use another --home."
        )
        return held_file(self.root / "change.lock", refusal, timeout=timeout)

    def is_alive(self) -> bool:
        """Return whether a server process of this folder exists."""
        if not self.root.is_dir():
            return False
        lock = self.lock("server")
        if lock.acquire(shared=True):
            lock.release()
            return False
        return True

    def server_pid(self) -> int | None:
        """Return the id of the living server process, ready or not; else None."""
        if not self.is_alive():
            return None
        try:
            return int((self.root / "server.lock").read_text("utf-8"))
        except (OSError, ValueError):
            return None

    def read_state(self) -> RunningServer | None:
        """Return what the server wrote down; None where that is missing or damaged."""
        try:
            return RunningServer(**_record(self.state_file))
        except TypeError:
            return None

    def write_state(self, state: RunningServer) -> None:
        """Write down the running server, whole or not at all."""
        write_whole(self.state_file, json.dumps(asdict(state)) + "\n")

    def clear_state(self) -> None:
        """Forget the running server."""
        self.state_file.unlink(missing_ok=True)

    def recorded_version(self) -> str | None:
        """Return the Neo4j version that last opened the data, or None."""
        version = _record(self._versions).get("neo4j")
        return version if isinstance(version, str) else None

    def recorded_port(self) -> int | None:
        """Return the port that the folder's server had last, or None."""
        port = _record(self._versions).get("port")
        return port if isinstance(port, int) and 0 < port < 1 << 16 else None

    def record(self, version: str, port: int) -> None:
        """Write down the Neo4j version that opened the data, and its port."""
        record = {"neo4j": version, "port": port}
        if record != _record(self._versions):
            write_whole(self._versions, json.dumps(record) + "\n")

    def read_password(self) -> str | None:
        """Return the stored password, or None."""
        try:
            return self.password_file.read_text("utf-8").strip() or None
        except FileNotFoundError:
            return None

    def new_password(self) -> str:
        """Make a random password and store it where only its user can read it."""
        password = "".join(secrets.choice(PASSWORD_LETTERS) for _ in range(32))
        write_whole(self.password_file, password + "\n")
        return password

    def info(self, state: RunningServer) -> ServerInfo:
        """Return the public description of a running server."""
        password = self.read_password() or ""
        return ServerInfo(
            **asdict(state), home=self.home, log=self.log, password=password
        )


def _record(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def write_whole(path: Path, text: str) -> None:
    """Replace a file, readable by its user only, so that readers see old or new."""
    with whole_file(path, failure=_REFUSED, opener=private) as file:
        file.write(text)


def bolt_answers(port: int, timeout: float = 2.0) -> bool:
    """Return whether something speaks Bolt on a loopback port.

    Sends a Bolt handshake that offers versions 4.4 to 5; a server answers with the
    one it chose, anything else with something else or nothing.
    """
    offer = bytes.fromhex("6060b017 00080805 00020404 00000004 00000003")
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=timeout) as link:
            link.sendall(offer)
            answer = link.recv(4)
    except OSError:
        return False
    return len(answer) == 4 and answer[:2] == b"\0\0" and answer[3] in {3, 4, 5}


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
    folder = ServerFolder(home)
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
            raise ServerError(
                f"The server of {folder.home} "
                f"{'goes on starting' if state is None else 'runs but does not answer'}"
                f" after {timeout:.0f} s: try again, or see {folder.log}."
            )
        time.sleep(ANSWER_POLL_SECONDS)
    return None


def stop_server(home: Path, *, timeout: float = STOP_TIMEOUT_SECONDS) -> bool:
    """Stop the folder's server cleanly, or at once when the time is over.

    Returns whether there was one to stop, whoever uses it.

    Raises:
        ServerError: If it cannot be ended.
    """
    folder = ServerFolder(home)
    if not folder.is_alive():
        return False
    # Who waits for a server that starts has the lock for as long.
    with folder.changing(START_TIMEOUT_SECONDS + timeout):
        return kill_server(folder, timeout)


def kill_server(folder: ServerFolder, timeout: float) -> bool:
    """End the server process and wait for it; return whether there was one.

    The change lock must be held. A process that does not end cleanly in time is ended
    at once, which loses nothing that was committed: Neo4j recovers at the next start.
    """
    if not folder.is_alive():
        folder.clear_state()
        return False
    if folder.read_state() is None:  # in Java's start it hears of no signal
        timeout = min(timeout, KILL_TIMEOUT_SECONDS)
    if not _signal(folder, signal.SIGTERM, timeout):
        _LOG.warning(
            "The server of %s did not stop within %.0f s and is ended at once; "
            "nothing committed is lost. See %s",
            folder.home,
            timeout,
            folder.log,
        )
        if not _signal(folder, signal.SIGKILL, KILL_TIMEOUT_SECONDS):
            raise ServerError(
                f"The server of {folder.home} (process {folder.server_pid()}) cannot "
                f"be ended: see {folder.log}."
            )
    folder.clear_state()
    return True


def _signal(folder: ServerFolder, number: signal.Signals, timeout: float) -> bool:
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
    log = ServerFolder(home).log
    try:
        with log.open(encoding="utf-8", errors="replace") as file:
            return [line.rstrip("\n") for line in deque(file, maxlen=max(0, lines))]
    except FileNotFoundError:
        return []


def module_command(module: str, spec: Mapping[str, Any]) -> list[str]:
    """Return what runs a module of this folder, which reads a specification."""
    place = f"knowtrail.graph.server.{module}"
    return [sys.executable, "-m", place, json.dumps(spec)]


def child_environment() -> dict[str, str]:
    """Return an environment in which a child process finds this very package."""
    variables = dict(environment())
    source = str(Path(knowtrail.__file__).absolute().parents[1])
    known = variables.get("PYTHONPATH")
    variables["PYTHONPATH"] = os.pathsep.join([source, known] if known else [source])
    return variables

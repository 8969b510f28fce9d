"""The folder of a managed server: its files, its locks and who holds them.

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
import os
import secrets
import socket
import string
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import IO, TYPE_CHECKING, Any, NoReturn

import portalocker

from knowtrail.graph.errors import ServerError, StorageError
from knowtrail.graph.files import private, private_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

USERNAME = "neo4j"
LOCK_POLL_SECONDS = 0.05
PASSWORD_LETTERS = string.ascii_letters + string.digits
"""No signs, so that a password can be typed into a shell as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerInfo:
    """Where a running server of a folder is and how to log in.

    `stays` tells whether it goes on when the last client has left.
    """

    uri: str
    username: str
    password: str = field(repr=False)
    home: Path
    version: str
    pid: int
    stays: bool
    log: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningServer:
    """What a server process writes down about itself once Bolt is open."""

    pid: int
    port: int
    version: str
    stays: bool


class FolderLock:
    """One lock file; each instance is a holder of its own."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None

    def acquire(self, *, shared: bool = False) -> bool:
        """Take the lock if nobody is in the way; return whether it was taken."""
        kind = (
            portalocker.LockFlags.SHARED if shared else portalocker.LockFlags.EXCLUSIVE
        )
        file = open(self._path, "ab", opener=private)  # noqa: SIM115 - held
        try:
            portalocker.lock(file, kind | portalocker.LockFlags.NON_BLOCKING)
        except portalocker.LockException:
            file.close()
            return False
        self._file = file
        return True

    def wait(self, timeout: float, *, shared: bool = False) -> bool:
        """Take the lock within `timeout` seconds; return whether it was taken."""
        deadline = time.monotonic() + timeout
        while not self.acquire(shared=shared):
            if time.monotonic() >= deadline:
                return False
            time.sleep(LOCK_POLL_SECONDS)
        return True

    def note(self, text: str) -> None:
        """Write who holds the lock into its file."""
        if self._file is not None:
            self._file.truncate(0)
            self._file.write(text.encode())
            self._file.flush()

    def release(self) -> None:
        """Let go; does nothing where the lock is not held."""
        file, self._file = self._file, None
        if file is not None:
            portalocker.unlock(file)
            file.close()


@dataclass(frozen=True, slots=True)
class ServerFolder:
    """The files below one home folder."""

    home: Path

    @property
    def root(self) -> Path:
        """Return the folder that only its user may enter."""
        return self.home / "server"

    @property
    def log(self) -> Path:
        """Return where the server process writes its log."""
        return self.root / "server.log"

    @property
    def password_file(self) -> Path:
        """Return where the password is kept."""
        return self.root / "password"

    @property
    def state_file(self) -> Path:
        """Return where the running server describes itself."""
        return self.root / "server.json"

    def create(self) -> None:
        """Make the folder, closed to other users; a home that is there stays."""
        try:
            private_folder(self.root)
        except OSError as error:
            _refuse(self.root, error)
        if not os.access(self.root, os.W_OK | os.X_OK):
            msg = f"Cannot write in {self.root}: choose another folder with --home."
            raise StorageError(msg)

    def lock(self, name: str) -> FolderLock:
        """Return a new holder of one of the three locks."""
        return FolderLock(self.root / f"{name}.lock")

    @contextmanager
    def changing(self, timeout: float) -> Iterator[None]:
        """Hold the folder's change lock; refuse where another process keeps it."""
        lock = self.lock("change")
        if not lock.wait(timeout):
            msg = (
                f"Another command has been starting or stopping the server of "
                f"{self.home} for {timeout:.0f} s: see {self.log}, "
                "or use another --home."
            )
            raise ServerError(msg)
        try:
            yield
        finally:
            lock.release()

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
            return RunningServer(**json.loads(self.state_file.read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def write_state(self, state: RunningServer) -> None:
        """Write down the running server, whole or not at all."""
        write_whole(self.state_file, json.dumps(asdict(state)) + "\n")

    def set_stays(self, state: RunningServer) -> RunningServer:
        """Make a running server one that stays."""
        state = replace(state, stays=True)
        self.write_state(state)
        return state

    def clear_state(self) -> None:
        """Forget the running server."""
        self.state_file.unlink(missing_ok=True)

    def recorded_version(self) -> str | None:
        """Return the Neo4j version that last opened the data, or None."""
        version = self._recorded().get("neo4j")
        return version if isinstance(version, str) else None

    def recorded_port(self) -> int | None:
        """Return the port that the folder's server had last, or None."""
        port = self._recorded().get("port")
        return port if isinstance(port, int) and 0 < port < 1 << 16 else None

    def record(self, version: str, port: int) -> None:
        """Write down the Neo4j version that opened the data, and its port."""
        record = {"neo4j": version, "port": port}
        if record != self._recorded():
            write_whole(self.root / "folder.json", json.dumps(record) + "\n")

    def _recorded(self) -> dict[str, Any]:
        """Return what was written down, nothing where it is missing or damaged."""
        try:
            record = json.loads((self.root / "folder.json").read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return record if isinstance(record, dict) else {}

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
        return ServerInfo(
            uri=f"bolt://127.0.0.1:{state.port}",
            username=USERNAME,
            password=self.read_password() or "",
            home=self.home,
            version=state.version,
            pid=state.pid,
            stays=state.stays,
            log=self.log,
        )


def write_whole(path: Path, text: str) -> None:
    """Replace a file, readable by its user only, so that readers see old or new."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.unlink(missing_ok=True)
        with open(draft, "x", encoding="utf-8", opener=private) as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        _refuse(path, error)


def _refuse(path: Path, error: OSError) -> NoReturn:
    msg = (
        f"Cannot write {path}: {error.strerror}. "
        "Free the disk or choose another --home."
    )
    raise StorageError(msg) from error


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

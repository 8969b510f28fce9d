"""Whole stores of a folder's server, made and written by Neo4j's admin tool.

The tool writes into `home/server/incoming`, never into the data that a server opens.
Only when it has ended well is the file `ready` put beside what it wrote, and the next
start of the server takes that in place of the old store, before it opens anything.
Whatever ends any of the processes, a server opens the old store or the whole new one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from knowtrail.graph.errors import InputError, ServerError, StorageError
from knowtrail.graph.files import held_file, private, private_folder
from knowtrail.graph.server.dbms import DEFAULT_DATABASE
from knowtrail.graph.server.folder import (
    START_TIMEOUT_SECONDS,
    STOP_TIMEOUT_SECONDS,
    ServerFolder,
    answering,
    child_environment,
    kill_server,
    module_command,
)
from knowtrail.graph.server.install import install_server

_INCOMING = "incoming"
_READY = "ready"
_PARTS = ("databases", "transactions")
_HEAP = "512m"
_NO_SPACE = ("No space left", "not enough space", "insufficient space")


@contextmanager
def stopped_server(home: Path) -> Iterator[bool]:
    """Hold a folder's server stopped; yield whether it was one that stays.

    Nobody can start it before the block is left; the caller has no lease on it.

    Raises:
        InputError: If the folder never had a server.
        ServerError: If another command uses it.
    """
    folder = ServerFolder(home)
    if not folder.root.is_dir():
        raise _empty(home)
    refusal = ServerError(
        f"The server of {home} is in use by another command: "
        "run this again when that has ended."
    )
    clients = folder.root / "clients.lock"
    with folder.changing(STOP_TIMEOUT_SECONDS), held_file(clients, refusal):
        state = folder.read_state() or answering(folder, START_TIMEOUT_SECONDS)
        kill_server(folder, STOP_TIMEOUT_SECONDS)
        yield state is not None and state.stays


def _empty(home: Path) -> InputError:
    msg = f"Nothing is stored in {home}: name the folder of a server with --home."
    return InputError(msg)


def import_store(
    home: Path, arguments: Sequence[str], *, heap: str, off_heap: str
) -> None:
    """Import files as the store that the folder's server opens next.

    `stopped_server` holds the server. The arguments are those of `neo4j-admin database
    import full` behind the database's name, the sizes those of the tool's memory.

    Raises:
        ServerError: If the tool fails; with its last telling line.
        StorageError: If there is no space.
    """
    words = ["import", "full", DEFAULT_DATABASE, *arguments]
    _make_store(home, [*words, f"--max-off-heap-memory={off_heap}"], heap=heap)


def check_dump(file: Path) -> Path:
    """Return the whole path of a new file for a dump, or raise `InputError`."""
    file = file.expanduser().absolute()
    if file.exists() or not file.parent.is_dir():
        what = "is there already" if file.exists() else "is in no folder that there is"
        raise InputError(f"{file} {what}: name a new file.")
    return file


def dump_store(home: Path, file: Path) -> None:
    """Write the store of a server that is held stopped into a new file, whole.

    Raises:
        InputError: As `check_dump` does.
        ServerError: If the tool fails; with its last telling line.
        StorageError: If there is no space.
    """
    file = check_dump(file)
    adopt_store(ServerFolder(home).root)
    if not (ServerFolder(home).root / "data" / "databases" / DEFAULT_DATABASE).is_dir():
        raise _empty(home)
    with tempfile.TemporaryDirectory(prefix=".dump-", dir=file.parent) as folder:
        words = ["dump", DEFAULT_DATABASE, f"--to-path={folder}"]
        _run(home, ServerFolder(home).root, words, heap=_HEAP)
        written = Path(folder) / f"{DEFAULT_DATABASE}.dump"
        written.chmod(0o600)
        _sync(written)
        written.rename(file)


def load_store(home: Path, file: Path) -> None:
    """Load what `dump_store` wrote as the store that a server opens next.

    The server is held stopped; the file is of this or an older line of Neo4j.

    Raises:
        InputError: If there is no such file.
        ServerError: If the tool fails; with its last telling line.
        StorageError: If there is no space.
    """
    if not file.is_file():
        raise InputError(f"{file} is no file: name one that server dump wrote.")
    with tempfile.TemporaryDirectory(dir=ServerFolder(home).root) as folder:
        (Path(folder) / f"{DEFAULT_DATABASE}.dump").symlink_to(file.absolute())
        words = ["load", DEFAULT_DATABASE, f"--from-path={folder}"]
        _make_store(home, words, heap=_HEAP)


def _make_store(home: Path, words: Sequence[str], *, heap: str) -> None:
    root = ServerFolder(home).root
    incoming = root / _INCOMING
    (incoming / _READY).unlink(missing_ok=True)
    shutil.rmtree(incoming, ignore_errors=True)
    private_folder(incoming)
    shutil.copytree(root / "conf", incoming / "conf", dirs_exist_ok=True)
    try:
        _run(home, incoming, words, heap=heap)
    except BaseException:
        shutil.rmtree(incoming, ignore_errors=True)
        raise
    ready = incoming / _READY
    ready.touch()
    for path in (ready, incoming):
        _sync(path)


def _run(home: Path, tool_home: Path, words: Sequence[str], *, heap: str) -> None:
    """Run the tool over a home of its own; raise what its log tells of a failure."""
    spec = {
        "version": install_server(home).name,
        "home": str(tool_home),
        "heap": heap,
        "words": ["database", *words],
    }
    log = ServerFolder(home).root / "admin.log"
    with (
        open(log, "wb", opener=private) as file,
        subprocess.Popen(  # noqa: S603 - our own module
            module_command("_admin", spec),
            stdin=subprocess.PIPE,
            stdout=file,
            stderr=file,
            cwd=log.parent,
            env=child_environment(),
        ) as process,
    ):
        code = process.wait()
    if code != 0:
        _refuse(log)


def adopt_store(root: Path) -> bool:
    """Let an imported store take the place of the old one; return whether there is one.

    May be cut off and called again. The server process calls it before it opens its
    data, and who holds the server stopped.
    """
    incoming = root / _INCOMING
    if not (incoming / _READY).is_file():
        return False
    for part in _PARTS:
        for new in (incoming / "data" / part).glob("*"):
            old = root / "data" / part / new.name
            shutil.rmtree(old, ignore_errors=True)
            old.parent.mkdir(parents=True, exist_ok=True)
            new.rename(old)
    # What was made from the old store may name states that the new one has too.
    shutil.rmtree(root.parent / "snapshots", ignore_errors=True)
    for file in (root.parent / "work").glob("*"):
        if file.is_file():
            file.unlink(missing_ok=True)
    (incoming / _READY).unlink()
    shutil.rmtree(incoming, ignore_errors=True)
    return True


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _refuse(log: Path) -> None:
    text = log.read_text("utf-8", errors="replace")
    if any(sign in text for sign in _NO_SPACE):
        msg = f"No space for the store in {log.parent}: free some, try again."
        raise StorageError(msg)
    lines = [line.strip() for line in text.splitlines()]
    told = [s for s in lines if s and not s.startswith(("WARNING", "Run with", "at "))]
    last = told[-1][:300] if told else "it said nothing"
    raise ServerError(f"Neo4j's admin tool failed: {last.rstrip('.')}. See {log}.")

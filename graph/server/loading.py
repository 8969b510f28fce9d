"""Loading a whole store into a folder's server by Neo4j's import tool.

The tool writes into `home/server/incoming`, never into the data that a server opens.
Only when it has ended well is the file `ready` put beside what it wrote, and the next
start of the server takes that in place of the old store, before it opens anything.
Whatever ends any of the processes, a server opens the old store or the whole new one.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from knowtrail.graph.errors import ServerError, StorageError
from knowtrail.graph.files import private, private_folder
from knowtrail.graph.server.control import (
    STOP_TIMEOUT_SECONDS,
    child_environment,
    kill_server,
)
from knowtrail.graph.server.folder import ServerFolder
from knowtrail.graph.server.install import install_server

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_INCOMING = "incoming"
_READY = "ready"
_PARTS = ("databases", "transactions")
_NO_SPACE = ("No space left", "not enough space", "insufficient space")


@contextmanager
def stopped_server(home: Path) -> Iterator[bool]:
    """Hold a folder's server stopped; yield whether it was one that stays.

    Nobody can start it before the block is left; the caller has no lease on it.

    Raises:
        ServerError: If another command uses it.
    """
    folder = ServerFolder(home)
    with folder.changing(STOP_TIMEOUT_SECONDS):
        clients = folder.lock("clients")
        if not clients.acquire():
            msg = (
                f"The server of {home} is in use by another command: "
                "run this again when that has ended."
            )
            raise ServerError(msg)
        try:
            state = folder.read_state()
            kill_server(folder, STOP_TIMEOUT_SECONDS)
            yield state is not None and state.stays
        finally:
            clients.release()


def import_store(
    home: Path, arguments: Sequence[str], *, heap: str, off_heap: str
) -> None:
    """Import files as the store that the folder's server opens next.

    Args:
        home: Folder of the server, which `stopped_server` holds.
        arguments: Of `neo4j-admin database import full`, behind the database's name.
        heap: Largest Java heap of the tool.
        off_heap: Most memory that it takes besides.

    Raises:
        ServerError: If the tool fails; with its last telling line.
        StorageError: If there is no space.
    """
    folder = ServerFolder(home)
    root = folder.root
    incoming = root / _INCOMING
    shutil.rmtree(incoming, ignore_errors=True)
    private_folder(incoming)
    shutil.copytree(root / "conf", incoming / "conf", dirs_exist_ok=True)
    spec = {
        "version": install_server(home).name,
        "home": str(incoming),
        "heap": heap,
        "arguments": [*arguments, f"--max-off-heap-memory={off_heap}"],
    }
    log = root / "import.log"
    code = _run(json.dumps(spec), log)
    if code != 0:
        shutil.rmtree(incoming, ignore_errors=True)
        _refuse(log)
    ready = incoming / _READY
    ready.touch()
    for path in (ready, incoming):
        _sync(path)


def _run(spec: str, log: Path) -> int:
    """Run the import process; return its exit code."""
    with (
        open(log, "wb", opener=private) as file,
        subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-m", "knowtrail.graph.server._import", spec],
            stdin=subprocess.PIPE,
            stdout=file,
            stderr=file,
            cwd=log.parent,
            env=child_environment(),
        ) as process,
    ):
        return process.wait()


def adopt_store(root: Path) -> bool:
    """Let an imported store take the place of the old one; return whether there is one.

    May be cut off and called again. Only the server process calls it, before it opens
    its data.
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
    (incoming / _READY).unlink()
    shutil.rmtree(incoming, ignore_errors=True)
    return True


def _sync(path: Path) -> None:
    """Wait until a file or folder is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _refuse(log: Path) -> None:
    """Raise the error that the import tool's log tells of."""
    text = log.read_text("utf-8", errors="replace")
    if any(sign in text for sign in _NO_SPACE):
        msg = f"No space for the imported store in {log.parent}: free some, try again."
        raise StorageError(msg)
    lines = [line.strip() for line in text.splitlines()]
    told = [s for s in lines if s and not s.startswith(("WARNING", "Run with", "at "))]
    last = told[-1][:300] if told else "it said nothing"
    msg = f"Neo4j's import tool failed: {last.rstrip('.')}. See {log}."
    raise ServerError(msg)

"""The right to write to a corpus, among all processes of all machines.

Processes of one home folder are kept apart by a file there, one for each address of a
server, which a dead process loses at once. Others see a lease in the database, which
its owner renews and a dead one loses after `LEASE_SECONDS`, by the server's clock. Each
write transaction ends by finding the lease's token, or is undone.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from knowtrail.graph.db.driver import translate_errors
from knowtrail.graph.db.schema import apply_schema, schema_version
from knowtrail.graph.db.statements import statement
from knowtrail.graph.errors import DatabaseError, InputError, UnavailableError
from knowtrail.graph.files import held_file, private, private_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import neo4j

    from knowtrail.graph.db.connection import Connection

LEASE_SECONDS = 60.0


@contextmanager
def corpus_lock(
    home: Path, connection: Connection, name: str, *, lease: bool = True
) -> Iterator[None]:
    """Hold the right to write to a corpus.

    Without `lease` only processes of this home folder are kept out. A process that was
    not heard of for so long that another took the lease commits nothing more.

    Raises:
        InputError: If another process is writing to it.
    """
    folder = home / "locks"
    private_folder(folder)
    with translate_errors():
        address = connection.driver.get_server_info().address
    place = "\0".join((str(address), connection.database, name))
    data = place.encode("utf-8", "surrogatepass")
    path = folder / f"{hashlib.blake2b(data, digest_size=16).hexdigest()}.lock"
    msg = f"Corpus {name!r} is being written by another process: wait for it."
    with held_file(path, InputError(msg)):
        if not lease:
            yield
            return
        # An equal home with another file has another owner, who may be alive.
        with _Lease(connection, name, f"{_home_id(folder)} {path.stem}"):
            yield


def _home_id(folder: Path) -> str:
    """Return what names a home folder among those of all machines."""
    path = folder / "id"
    with suppress(FileExistsError), open(path, "x", opener=private) as file:
        file.write(secrets.token_hex(8))
    return f"{socket.gethostname()} {path.read_text('utf-8')}"


class _Lease:
    """A lease of a corpus, renewed by a thread and each write as long as it is held."""

    def __init__(self, connection: Connection, name: str, home: str) -> None:
        self._connection = connection
        self._name = name
        self._home = home
        self._token = secrets.token_hex(8)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, daemon=True)

    def __enter__(self) -> None:
        if not schema_version(self._connection):
            apply_schema(self._connection)  # its constraint keeps a lease the only one
        self._take()
        self._connection.before_commits.append(self._check)
        self._thread.start()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._ended.set()
        self._connection.before_commits.remove(self._check)
        if kind is not None and issubclass(kind, UnavailableError):
            return  # it runs out by itself, and holds back nobody of this home
        self._thread.join()
        with suppress(DatabaseError):
            self._run("corpus/lease_end")

    def _params(self) -> dict[str, Any]:
        lasts = int(LEASE_SECONDS * 1000)
        return {"name": self._name, "token": self._token, "milliseconds": lasts}

    def _run(self, name: str, **params: Any) -> list[neo4j.Record]:
        with translate_errors():
            return self._connection.driver.execute_query(
                statement(name),
                self._params() | params,
                database_=self._connection.database,
            ).records

    def _take(self) -> None:
        owner = f"process {os.getpid()} of {socket.gethostname()}"
        ((free, other, left),) = self._run(
            "corpus/lease_take", home=self._home, owner=owner
        )
        if not free:
            raise InputError(
                f"Corpus {self._name!r} is being written by {other}: wait for it. If "
                f"that has died, its right ends in {max(left, 0) / 1000:.0f} seconds."
            )

    def _renew(self) -> None:
        while not self._ended.wait(LEASE_SECONDS / 5):
            with suppress(DatabaseError):
                if not self._run("corpus/lease_keep"):
                    return  # lost: the next write is refused

    def _check(self, tx: neo4j.ManagedTransaction) -> None:
        """Refuse a commit where another took the lease; keep others out until it."""
        # A thread that has nothing to do with the corpus may come as the lease is
        # ended.
        kept = list(tx.run(statement("corpus/lease_keep"), self._params()))
        if not kept and not self._ended.is_set():
            raise InputError(
                f"Another process has taken the right to write to corpus "
                f"{self._name!r}, as this one was not heard of for "
                f"{LEASE_SECONDS:.0f} seconds: run it again when that has ended."
            )

"""The right to write to a corpus, among the processes of this machine."""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from typing import TYPE_CHECKING

from knowtrail.graph.errors import InputError
from knowtrail.graph.files import private, private_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from knowtrail.graph.db.connection import Connection


@contextmanager
def corpus_lock(home: Path, connection: Connection, name: str) -> Iterator[None]:
    """Hold the right to write to a corpus; locks are in the home folder.

    Raises:
        InputError: If another process is writing to it.
    """
    import portalocker

    folder = home / "locks"
    private_folder(folder)
    address = connection.driver.get_server_info().address
    place = "\0".join((str(address), connection.database, name))
    data = place.encode("utf-8", "surrogatepass")
    path = folder / f"{hashlib.blake2b(data, digest_size=16).hexdigest()}.lock"
    try:
        with portalocker.Lock(
            path, mode="a", timeout=0, fail_when_locked=True, opener=private
        ):
            yield
    except portalocker.AlreadyLocked as error:
        msg = f"Corpus {name!r} is being written by another process: wait for it."
        raise InputError(msg) from error

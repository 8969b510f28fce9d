"""Files of JSON lines that only grow: what is finished there is not done twice.

A line is handed to the operating system whole or not at all, which outlives the end of
the process however it came, and then flushed to the disk, which outlives the machine's.
Half a line at the end is dropped when the file is opened again; a line that is damaged
is left out, and told by its number.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import time
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

import portalocker

from knowtrail.graph.errors import InputError, StorageError
from knowtrail.graph.files.whole import locking, private, private_folder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_LOG = logging.getLogger(__name__)


class LineJournal:
    """A file of JSON lines that one process at a time adds to, in any thread of it."""

    def __init__(
        self, path: Path, *, to_read: bool = False, sync_seconds: float = 0.0
    ) -> None:
        """Open a file, which no other run may add to; its folder is made."""
        self.path = path
        self._writes = not to_read
        self._every, self._synced = sync_seconds, time.monotonic()
        self._guard = Lock()
        try:
            if not path.parent.exists():
                private_folder(path.parent)
            self._file = open(  # noqa: SIM115 - closed at the end
                path, "rb" if to_read else "ab", buffering=0, opener=private
            )
            self._reader = path.open("rb")
        except OSError as error:
            raise StorageError(self._problem(error)) from error
        if self._writes:
            self._lock()

    def __enter__(self) -> Self:
        """Return the journal."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()

    def close(self) -> None:
        """Flush to the disk and close."""
        try:
            if self._writes:
                os.fsync(self._file.fileno())
        finally:
            self._file.close()
            self._reader.close()

    def _lock(self) -> None:
        """Keep other runs away while this one is at work."""
        try:
            with locking(self.path):
                portalocker.lock(self._file, portalocker.LOCK_EX | portalocker.LOCK_NB)
        except (portalocker.AlreadyLocked, StorageError) as error:
            self._file.close()
            self._reader.close()
            if isinstance(error, StorageError):
                raise
            msg = f"Another run writes to {self.path.parent}: wait, or choose another."
            raise InputError(msg) from error

    def read(self, take: Callable[[int, Any], None]) -> None:
        """Read the file: `take` has where a line begins and what it says.

        What it refuses by a ValueError, KeyError or TypeError is a damaged line.
        """
        end = 0
        for number, line in enumerate(self._reader, start=1):
            if not line.endswith(b"\n"):
                if self._writes:
                    _LOG.info("The last line of %s was cut: dropped.", self.path)
                    self._file.truncate(end)
                return
            try:
                take(end, json.loads(line))
            except (ValueError, KeyError, TypeError, RecursionError):
                _LOG.warning("%s, line %d is damaged: left out.", self.path, number)
            end += len(line)

    def row_at(self, place: int) -> Any:
        """Return what the line says that begins at a place."""
        with self._guard:
            self._reader.seek(place)
            return json.loads(self._reader.readline())

    def append(self, row: dict[str, Any]) -> int:
        """Append a line and return where it begins; all that was before stays."""
        data = (json.dumps(row) + "\n").encode()
        with self._guard:
            begin = self._file.seek(0, os.SEEK_END)
            try:
                while data:
                    data = data[self._file.write(data) :]
                if time.monotonic() - self._synced >= self._every:
                    os.fsync(self._file.fileno())
                    self._synced = time.monotonic()
            except BaseException as error:
                with suppress(OSError):
                    self._file.truncate(begin)
                if isinstance(error, OSError):
                    raise StorageError(self._problem(error)) from error
                raise
        return begin

    def _problem(self, error: OSError) -> str:
        todo = "make room and run the same again"
        if error.errno != errno.ENOSPC:
            todo = "run the same again where the folder can be written"
        return (
            f"Cannot write {self.path}: {error.strerror}. What is finished is kept: "
            f"{todo}."
        )


class State(LineJournal):
    """Finished calls by key, in a folder, counted as `reused` and `added`."""

    def __init__(
        self, folder: Path, *, name: str = "state.jsonl", sync_seconds: float = 0.0
    ) -> None:
        super().__init__(folder / name, sync_seconds=sync_seconds)
        self.reused = self.added = 0
        self._known: dict[str, Any] = {}
        self.read(self._take)

    def _take(self, _: int, row: Any) -> None:
        self._known[row["key"]] = row["value"]

    def __contains__(self, key: str) -> bool:
        return key in self._known

    def __len__(self) -> int:
        return len(self._known)

    def remove(self) -> None:
        """Forget all and remove the file: the run is complete."""
        self.path.unlink(missing_ok=True)
        self._known.clear()

    def get(self, key: str) -> Any:
        """Return what is known under a key, or None."""
        found = self._known.get(key)
        with self._guard:
            self.reused += found is not None
        return found

    def put(self, key: str, value: Any, **about: Any) -> None:
        """Keep a result."""
        self.append({"key": key, **about, "value": value})
        with self._guard:
            self._known[key] = value
            self.added += 1

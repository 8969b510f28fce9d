"""What a benchmark has finished, on disk: nothing that a model said is asked twice.

A file of JSON lines that only grows. Each line is written and synchronised before its
result is used, so an interrupted run, a crash or a full disk costs at most the call
under way: half a line at the end is dropped when the file is opened again.
"""

from __future__ import annotations

import errno
import json
import logging
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from graph.errors import InputError, StorageError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["State"]

_LOG = logging.getLogger(__name__)
STATE_FILE = "state.jsonl"


class State:
    """Finished calls by key; one process at a time.

    Attributes:
        path: The file.
        reused: How many results were taken from an earlier run.
        added: How many are new.
    """

    def __init__(self, folder: Path) -> None:
        """Open the state of an output folder, which is made where it is missing.

        Args:
            folder: The output folder.

        Raises:
            InputError: If another run is using the folder.
            StorageError: If it cannot be written.
        """
        self.path = folder / STATE_FILE
        self.reused = self.added = 0
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("ab", buffering=0)
            self._lock()
            self._known = self._read()
        except OSError as error:
            raise StorageError(self._problem(error)) from error

    def __enter__(self) -> Self:
        """Return the state."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._file.close()

    def _lock(self) -> None:
        """Keep other runs away while this one is at work."""
        import portalocker

        try:
            portalocker.lock(self._file, portalocker.LOCK_EX | portalocker.LOCK_NB)
        except portalocker.LockException as error:
            self._file.close()
            msg = f"Another run writes to {self.path.parent}: wait, or choose another."
            raise InputError(msg) from error

    def _read(self) -> dict[str, Any]:
        """Return what is known; cut off half a line at the end."""
        known: dict[str, Any] = {}
        whole, _, half = self.path.read_bytes().rpartition(b"\n")
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                entry = json.loads(line)
                known[entry["key"]] = entry["value"]
            except (ValueError, KeyError, TypeError, RecursionError):
                _LOG.warning("%s, line %d is damaged: left out.", self.path, number)
        if half:
            self._file.truncate(len(whole) + bool(whole))
        return known

    def get(self, key: str) -> Any:
        """Return what is known under a key, or None."""
        found = self._known.get(key)
        self.reused += found is not None
        return found

    def put(self, key: str, value: Any, **about: Any) -> None:
        """Keep a result.

        Args:
            key: What it is the result of.
            value: Any JSON value but null.
            **about: What a reader of the file would like to know.

        Raises:
            StorageError: If it cannot be written; all that was kept before stays.
        """
        line = json.dumps({"key": key, **about, "value": value}) + "\n"
        try:
            end = self._file.seek(0, os.SEEK_END)
            self._append(line.encode(), end)
        except OSError as error:
            raise StorageError(self._problem(error)) from error
        self._known[key] = value
        self.added += 1

    def _append(self, data: bytes, end: int) -> None:
        """Write a line whole or not at all."""
        try:
            while data:
                data = data[self._file.write(data) :]
            os.fsync(self._file.fileno())
        except BaseException:
            with suppress(OSError):
                self._file.truncate(end)
            raise

    def _problem(self, error: OSError) -> str:
        """Return what is told about an error."""
        todo = "make room and run the same again"
        if error.errno != errno.ENOSPC:
            todo = "run the same again where the folder can be written"
        return (
            f"Cannot write {self.path}: {error.strerror}. What is finished is kept: "
            f"{todo}."
        )

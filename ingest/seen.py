"""Keys met in a run, kept on disk so that memory stays bounded."""

from __future__ import annotations

import sqlite3
from typing import Self

from graph.errors import StorageError

__all__ = ["Seen"]


class Seen:
    """Keys met in this run, on disk so that memory stays bounded."""

    def __enter__(self) -> Self:
        """Open a database without a name: it goes with the process."""
        self._database = sqlite3.connect("", check_same_thread=False)
        self._database.execute("CREATE TABLE seen (id TEXT PRIMARY KEY) WITHOUT ROWID")
        return self

    def __exit__(self, *_: object) -> None:
        """Close and so delete it."""
        self._database.close()

    def add(self, key: str) -> bool:
        """Take note of a key; return whether it is new.

        Raises:
            StorageError: If there is no space.
        """
        try:
            cursor = self._database.execute(
                "INSERT OR IGNORE INTO seen VALUES (?)", (key,)
            )
        except sqlite3.OperationalError as error:
            msg = f"No space for temporary files ({error}): free some or set TMPDIR."
            raise StorageError(msg) from error
        return cursor.rowcount == 1

    def __contains__(self, key: str) -> bool:
        """Return whether a key was met."""
        row = self._database.execute("SELECT 1 FROM seen WHERE id = ?", (key,))
        return row.fetchone() is not None

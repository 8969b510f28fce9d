"""Judgements on disk, each appended as soon as it is made.

A working folder has one append-only file with one judgement a line, by which an
interrupted run continues: what it holds is not asked for again. Judgements are known
by what was judged, by whom and from which texts, so a file may hold those of several
runs, and changed texts are judged anew.

A line is handed to the operating system whole when the judgement is there, which
outlives the end of the process however it came; it is flushed to the disk at least once
a second, which outlives the machine's. A last line that was cut is dropped.
"""

from __future__ import annotations

import json
import logging
import os
import time
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal

import portalocker

from eval.zelo.judgements import Judgement
from graph.errors import InputError, StorageError
from ingest.keys import content_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from eval.zelo.judgements import Judge, Matchup

__all__ = ["Journal", "State", "judgement_key", "open_journal", "read_journal"]

_LOG = logging.getLogger(__name__)

JOURNAL = "judgements.jsonl"
LOCK = "lock"
SYNC_SECONDS = 1.0

State = Literal["scored", "useless", "unanswered"]
"""What became of a judgement: an answer may have come and be of no use."""

_FIELDS = tuple(field.name for field in fields(Judgement))


def judgement_key(matchup: Matchup, judge: Judge) -> str:
    """Return what a judgement is known by.

    Args:
        matchup: The pair in its own order.
        judge: Who is asked.
    """
    left, right = matchup.left, matchup.right
    return content_key(
        "zelo-judgement",
        judge.name,
        judge.fingerprint,
        matchup.query.id,
        matchup.query.query,
        *(left.id, left.content, _canonical(left.metadata)),
        *(right.id, right.content, _canonical(right.metadata)),
        matchup.repetition,
    )


def _canonical(metadata: dict[str, Any]) -> str:
    return json.dumps(metadata, sort_keys=True, default=str)


class Journal:
    """The judgements of a working folder; made by `open_journal`.

    Only keys and places are in memory, about 200 bytes a judgement.

    Attributes:
        folder: The working folder.
        spent: What the judgements in the file cost, in USD.
    """

    def __init__(self, folder: Path, *, flags: int = os.O_RDWR | os.O_CREAT) -> None:
        self.folder = folder
        self.spent = 0.0
        self._places: dict[str, int] = {}
        self._failed: dict[str, State] = {}
        self._rounds: dict[str, list[list[tuple[int, int]]]] = {}
        self._writes = flags != os.O_RDONLY
        self._file = os.open(folder / JOURNAL, flags | os.O_APPEND, 0o644)
        self._reader = (folder / JOURNAL).open("rb")
        self._synced = time.monotonic()
        self._end = self._read()

    @classmethod
    def to_read(cls, folder: Path) -> Journal:
        """Open a journal to which nothing can be added, without a lock."""
        return cls(folder, flags=os.O_RDONLY)

    def __contains__(self, key: str) -> bool:
        """Return whether there is a judgement of a key."""
        return key in self._places

    def __len__(self) -> int:
        """Return how many judgements there are."""
        return len(self._places)

    def get(self, key: str) -> Judgement | None:
        """Return a judgement, None where there is none."""
        place = self._places.get(key)
        if place is None:
            return None
        self._reader.seek(place)
        return _judgement(json.loads(self._reader.readline()))

    def state(self, key: str) -> State | None:
        """Return what became of a judgement, None where it was never asked for."""
        if key not in self._places:
            return None
        return self._failed.get(key, "scored")

    def settled(self, key: str, *, retry_failed: bool = False) -> bool:
        """Return whether a judgement need not be asked for.

        Args:
            key: What it is known by.
            retry_failed: Whether to ask again where an answer was of no use.
        """
        state = self.state(key)
        return state == "scored" or (state == "useless" and not retry_failed)

    def add(self, key: str, judgement: Judgement) -> None:
        """Append a judgement.

        Raises:
            StorageError: If it cannot be written.
        """
        self._note(key, self._append(_row_of(key, judgement)), judgement)

    def _note(self, key: str, place: int, judgement: Judgement) -> None:
        """Take note of a judgement, which takes the place of an earlier one."""
        self._places[key] = place
        self.spent += judgement.cost
        self._failed.pop(key, None)
        if judgement.score is None:
            self._failed[key] = "useless" if judgement.came else "unanswered"

    def rounds(self, plan: str) -> list[list[tuple[int, int]]]:
        """Return the rounds of pairs that were chosen for a query before.

        Args:
            plan: What the choice depends on.
        """
        return self._rounds.get(plan, [])

    def add_round(self, plan: str, pairs: Iterable[tuple[int, int]]) -> None:
        """Append a round of pairs, as later answers would choose another."""
        chosen = list(pairs)
        self._append({"plan": plan, "pairs": chosen})
        self._rounds.setdefault(plan, []).append(chosen)

    def close(self) -> None:
        """Flush to the disk and close."""
        try:
            if self._writes:
                os.fsync(self._file)
        finally:
            os.close(self._file)
            self._reader.close()

    def _append(self, row: dict[str, Any]) -> int:
        """Append a line and return where it begins."""
        line = (json.dumps(row) + "\n").encode()
        begin = self._end
        try:
            written = os.write(self._file, line)
            if written < len(line):
                # The next attempt must not continue half a line.
                os.ftruncate(self._file, begin)
                msg = "No space left"
                raise OSError(msg)
            if time.monotonic() - self._synced >= SYNC_SECONDS:
                os.fsync(self._file)
                self._synced = time.monotonic()
        except OSError as error:
            where = self.folder / JOURNAL
            msg = f"{where} cannot be written: {error.strerror or error}."
            raise StorageError(msg) from error
        self._end += len(line)
        return begin

    def _read(self) -> int:
        """Read the file, drop half a line at its end, and return its length."""
        end = 0
        for number, line in enumerate(self._reader, start=1):
            if not line.endswith(b"\n"):
                if self._writes:
                    _LOG.info("The last line of %s was cut: dropped.", self.folder)
                    os.ftruncate(self._file, end)
                break
            self._take(line, end, number)
            end += len(line)
        return end

    def _take(self, line: bytes, place: int, number: int) -> None:
        """Take note of a line."""
        try:
            row = json.loads(line)
            if "plan" in row:
                pairs = [(int(i), int(j)) for i, j in row["pairs"]]
                self._rounds.setdefault(row["plan"], []).append(pairs)
                return
            self._note(row["key"], place, _judgement(row))
        except (ValueError, KeyError, TypeError, RecursionError):
            _LOG.warning(
                "%s, line %d is damaged: its judgement will be asked for again.",
                self.folder / JOURNAL,
                number,
            )


def _row_of(key: str, judgement: Judgement) -> dict[str, Any]:
    """Return the line of a judgement."""
    return {"key": key, **{name: getattr(judgement, name) for name in _FIELDS}}


def _judgement(row: dict[str, Any]) -> Judgement:
    """Return the judgement of a line."""
    return Judgement(**{name: row[name] for name in row if name in _FIELDS})


def read_journal(folder: Path) -> Iterator[Judgement]:
    """Yield the judgements of a working folder, the last of each key, without a lock.

    Args:
        folder: The working folder.

    Yields:
        Judgements in the order in which they were made.

    Raises:
        InputError: If there are none.
    """
    path = folder / JOURNAL
    if not path.is_file():
        msg = f"{folder} is no working folder of an annotation: {JOURNAL} is missing."
        raise InputError(msg)
    last: dict[str, int] = {}
    for number, row in _rows(path):
        last[row["key"]] = number
    for number, row in _rows(path):
        if last[row["key"]] == number:
            yield _judgement(row)


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the lines with judgements that are whole."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                row = json.loads(line)
                whole = isinstance(row, dict) and "key" in row
                whole = whole and bool(_judgement(row))
            except (ValueError, TypeError, RecursionError):
                continue
            if whole:
                yield number, row


@contextmanager
def open_journal(folder: Path) -> Iterator[Journal]:
    """Yield the journal of a working folder, which nobody else may write meanwhile.

    Args:
        folder: The working folder, made where it is not there.

    Raises:
        InputError: If another run writes it.
        StorageError: If it cannot be made or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / LOCK).open("a") as lock:
            try:
                portalocker.lock(
                    lock,
                    portalocker.LockFlags.EXCLUSIVE
                    | portalocker.LockFlags.NON_BLOCKING,
                )
            except portalocker.LockException as error:
                msg = (
                    f"Another run writes {folder}: wait for its end, or choose "
                    "another working folder."
                )
                raise InputError(msg) from error
            journal = Journal(folder)
            try:
                yield journal
            finally:
                journal.close()
    except (FileExistsError, NotADirectoryError, PermissionError) as error:
        if isinstance(error, StorageError):
            raise
        msg = f"{folder} is no folder to work in: {error.strerror}."
        raise StorageError(msg) from error

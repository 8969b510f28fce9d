"""Rankings on disk as they come, by which a run that was interrupted goes on.

One file a run, named after all that the rankings depend on; one ranking a line. A last
line that was cut is dropped. When a run is complete its file goes, so that the next
one measures anew.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from eval.retrieval.system import (
    RankedDocument,
    Ranking,
    ReturnedChunk,
    ReturnedSentence,
    WalkStep,
)
from graph.errors import StorageError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Journal"]


class Journal:
    """The rankings that an interrupted run has left behind, and those that come."""

    def __init__(self, folder: Path, key: str) -> None:
        """Read what is there.

        Args:
            folder: Where journals are; made at the first ranking.
            key: All that the rankings depend on, as a key.
        """
        self.path = folder / f"retrieval-{key}.jsonl"
        self._found: dict[tuple[str, str], Ranking] = {}
        self._torn = False
        if self.path.is_file():
            self._read()

    def __len__(self) -> int:
        """Return how many rankings there are."""
        return len(self._found)

    def _read(self) -> None:
        """Take the rankings of the file."""
        text = self.path.read_text("utf-8", errors="replace")
        self._torn = bool(text) and not text.endswith("\n")
        for line in text.split("\n"):
            try:
                row = json.loads(line)
                self._found[row["system"], row["question"]] = _ranking(row["ranking"])
            except (ValueError, KeyError, TypeError, RecursionError):
                continue

    def get(self, system: str, question: str) -> Ranking | None:
        """Return a ranking that was kept, None where there is none.

        Args:
            system: Name of the system.
            question: Id of the question.
        """
        return self._found.get((system, question))

    def add(self, system: str, question: str, ranking: Ranking) -> None:
        """Keep a ranking.

        Args:
            system: Name of the system.
            question: Id of the question.
            ranking: What it found.

        Raises:
            StorageError: If it cannot be written.
        """
        row = {"system": system, "question": question, "ranking": asdict(ranking)}
        line = json.dumps(row, ensure_ascii=False)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8", errors="replace") as file:
                file.write(f"\n{line}\n" if self._torn else f"{line}\n")
        except OSError as error:
            msg = f"Cannot write {self.path}: {error.strerror}. Free space or rights."
            raise StorageError(msg) from error
        self._torn = False
        self._found[system, question] = ranking

    def remove(self) -> None:
        """Forget all rankings: the run is complete."""
        self.path.unlink(missing_ok=True)
        self._found.clear()


def _ranking(row: dict[str, Any]) -> Ranking:
    """Return a ranking from its line."""
    parts = {
        "documents": tuple(RankedDocument(**each) for each in row["documents"]),
        "chunks": tuple(ReturnedChunk(**each) for each in row["chunks"]),
        "sentences": tuple(ReturnedSentence(**each) for each in row["sentences"]),
        "steps": tuple(WalkStep(**each) for each in row["steps"]),
    }
    return Ranking(**{**row, **parts})

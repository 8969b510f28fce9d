"""Judgements on disk, each appended as soon as it is made.

A working folder has one append-only file with one judgement a line, by which an
interrupted run continues: what it holds is not asked for again. Judgements are known
by what was judged, by whom and from which texts, so a file may hold those of several
runs, and changed texts are judged anew.

A line is on the disk after a second at most, see `knowtrail.eval.journal`.
"""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from knowtrail.eval.journal import LineJournal
from knowtrail.eval.zelo.judgements import Judgement
from knowtrail.ingest.keys import content_key

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from knowtrail.eval.zelo.judgements import Judge, Matchup

JOURNAL = "judgements.jsonl"
SYNC_SECONDS = 1.0

_FIELDS = tuple(field.name for field in fields(Judgement))


def judgement_key(matchup: Matchup, judge: Judge) -> str:
    """Return what a judgement is known by."""
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


class Journal(LineJournal):
    """The judgements of a working folder.

    Only keys and places are in memory, about 200 bytes a judgement.

    Attributes:
        spent: What the judgements in the file cost, in USD.
    """

    def __init__(self, folder: Path, *, to_read: bool = False) -> None:
        """Open the journal of a working folder, which is made where it is missing."""
        super().__init__(folder / JOURNAL, to_read=to_read, sync_seconds=SYNC_SECONDS)
        self.folder = folder
        self.spent = 0.0
        self._places: dict[str, int] = {}
        self._failed: dict[str, bool] = {}
        self._rounds: dict[str, list[list[tuple[int, int]]]] = {}
        self.read(self._take)

    def get(self, key: str) -> Judgement | None:
        """Return a judgement, None where there is none."""
        place = self._places.get(key)
        if place is None:
            return None
        return _judgement(self.row_at(place))

    def settled(self, key: str, *, retry_failed: bool = False) -> bool:
        """Return whether a judgement need not be asked for.

        Where an answer came and was of no use, it is asked again if that is wanted;
        where none came, always.
        """
        if key not in self._places:
            return False
        came = self._failed.get(key)
        return came is None or (came and not retry_failed)

    def add(self, key: str, judgement: Judgement) -> None:
        """Append a judgement."""
        self._note(key, self.append({"key": key, **asdict(judgement)}), judgement)

    def _note(self, key: str, place: int, judgement: Judgement) -> None:
        """Take note of a judgement, which takes the place of an earlier one."""
        self._places[key] = place
        self.spent += judgement.cost
        self._failed.pop(key, None)
        if judgement.score is None:
            self._failed[key] = judgement.came

    def rounds(self, plan: str) -> list[list[tuple[int, int]]]:
        """Return the rounds of pairs that were chosen for a query before."""
        return self._rounds.get(plan, [])

    def add_round(self, plan: str, pairs: Iterable[tuple[int, int]]) -> None:
        """Append a round of pairs, as later answers would choose another."""
        chosen = list(pairs)
        self.append({"plan": plan, "pairs": chosen})
        self._rounds.setdefault(plan, []).append(chosen)

    def _take(self, place: int, row: Any) -> None:
        """Take note of a line."""
        if "plan" in row:
            pairs = [(int(i), int(j)) for i, j in row["pairs"]]
            self._rounds.setdefault(row["plan"], []).append(pairs)
        else:
            self._note(row["key"], place, _judgement(row))


def _judgement(row: dict[str, Any]) -> Judgement:
    """Return the judgement of a line."""
    return Judgement(**{name: row[name] for name in row if name in _FIELDS})

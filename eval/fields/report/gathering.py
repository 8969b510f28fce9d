"""What a report keeps of the records that pass by: bounded, however many there are."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eval.fields.paths import schema_path
from eval.fields.results import MATCH, SCORED
from eval.records import value_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eval.fields.results import FieldResult, RecordResult

__all__ = ["HeatMap", "ReportGatherer", "ShownField", "WorstRecord"]

COLUMNS = 64
FIELDS = 1_000
WORST = 25
SHOWN_FIELDS = 60
SHOWN_MATCHES = 20
SHOWN_TEXT = 400
_REASON_TEXT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownField:
    """One field of a record, its values as text of a bounded length.

    Attributes:
        path: Where in the record.
        status: Its status.
        gold: The gold value as JSON; None where gold lacks the field.
        extracted: The extracted value as JSON, or None.
        reason: Why it is not a match.
    """

    path: str
    status: str
    gold: str | None
    extracted: str | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstRecord:
    """One of the records with the lowest F1.

    Attributes:
        record_id: Its id.
        precision: Its precision.
        recall: Its recall.
        f1: Its F1.
        wrong: Fields that are no match, the first of them.
        right: Fields that match, the first of them.
        more_wrong: How many fields that are no match are not among `wrong`.
        more_right: How many that match are not among `right`.
    """

    record_id: str
    precision: float
    recall: float
    f1: float
    wrong: tuple[ShownField, ...]
    right: tuple[ShownField, ...]
    more_wrong: int
    more_right: int


@dataclass(slots=True)
class HeatMap:
    """Mean score of each field over the records, in at most `COLUMNS` columns.

    A column is a run of records that follow each other. Whenever there are more columns
    than are kept, every two become one.

    Attributes:
        width: Records a column.
        records: How many records were counted.
        cells: Schema path to (sum of scores, number of fields) of each column.
        left_out: Fields that came after the first `FIELDS` and are not drawn.
    """

    width: int = 1
    records: int = 0
    cells: dict[str, list[tuple[float, int]]] = field(default_factory=dict)
    left_out: set[str] = field(default_factory=set)

    def add(self, results: Iterable[FieldResult]) -> None:
        """Count the fields of the next record."""
        column = self.records // self.width
        if column >= COLUMNS:
            self._halve()
            column = self.records // self.width
        self.records += 1
        for result in results:
            if result.status in SCORED:
                self._count(schema_path(result.path), column, result.score)

    def _count(self, path: str, column: int, score: float) -> None:
        """Count one field."""
        row = self.cells.get(path)
        if row is None:
            if len(self.cells) >= FIELDS:
                if len(self.left_out) < FIELDS:
                    self.left_out.add(path)
                return
            row = self.cells[path] = []
        while len(row) <= column:
            row.append((0.0, 0))
        total, count = row[column]
        row[column] = (total + score, count + 1)

    def _halve(self) -> None:
        """Make every two columns one."""
        self.width *= 2
        for row in self.cells.values():
            if len(row) % 2:
                row.append((0.0, 0))
            row[:] = [
                (a[0] + b[0], a[1] + b[1])
                for a, b in zip(row[::2], row[1::2], strict=True)
            ]

    def mean(self, path: str) -> float:
        """Return the mean score of a field."""
        row = self.cells[path]
        return sum(total for total, _ in row) / sum(count for _, count in row)


class ReportGatherer:
    """Takes the records of a run one by one, and keeps what the report shows."""

    def __init__(self) -> None:
        self.heat = HeatMap()
        self._worst: list[tuple[float, int, WorstRecord]] = []

    def add(self, record: RecordResult) -> None:
        """Take the next record."""
        number = self.heat.records
        self.heat.add(record.field_results)
        if all(
            r.status == MATCH or r.status not in SCORED for r in record.field_results
        ):
            return
        # A heap of the least bad on top: what is pushed out is shown least.
        place = (-record.f1, -number)
        if len(self._worst) == WORST and place < self._worst[0][:2]:
            return
        entry = (*place, _shown_record(record))
        if len(self._worst) < WORST:
            heapq.heappush(self._worst, entry)
        else:
            heapq.heapreplace(self._worst, entry)

    @property
    def worst(self) -> tuple[WorstRecord, ...]:
        """The records with the lowest F1, the worst first, then by their order."""
        return tuple(
            entry[2] for entry in sorted(self._worst, key=lambda e: (-e[0], -e[1]))
        )


def _shown_record(record: RecordResult) -> WorstRecord:
    """Return what is shown of a record."""
    scored = [r for r in record.field_results if r.status in SCORED]
    wrong = [r for r in scored if r.status != MATCH]
    right = [r for r in scored if r.status == MATCH]
    return WorstRecord(
        record_id=str(record.record_id)[:SHOWN_TEXT],
        precision=record.precision,
        recall=record.recall,
        f1=record.f1,
        wrong=tuple(map(_shown_field, wrong[:SHOWN_FIELDS])),
        right=tuple(map(_shown_field, right[:SHOWN_MATCHES])),
        more_wrong=max(0, len(wrong) - SHOWN_FIELDS),
        more_right=max(0, len(right) - SHOWN_MATCHES),
    )


def _shown_field(result: FieldResult) -> ShownField:
    """Return what is shown of a field."""
    return ShownField(
        path=result.path[:SHOWN_TEXT] or "(the whole record)",
        status=result.status,
        gold=None if result.status == "hallucination" else _cut(result.gold_value),
        extracted=(
            None if result.status == "omission" else _cut(result.extracted_value)
        ),
        reason=(result.reason or "")[:_REASON_TEXT],
    )


def _cut(value: object) -> str:
    """Return a value as JSON of a bounded length."""
    text = value_text(value)
    return text if len(text) <= SHOWN_TEXT else f"{text[:SHOWN_TEXT]}..."

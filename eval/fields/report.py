"""A report on an extraction: one page of HTML that needs nothing else.

What it keeps of the records that pass by is bounded, however many there are.
"""

from __future__ import annotations

import re
from bisect import insort
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from knowtrail.eval.fields.paths import schema_path
from knowtrail.eval.fields.results import HALLUCINATION, MATCH, OMISSION, SCORED
from knowtrail.eval.report import Table, filled, shown_text
from knowtrail.eval.store import value_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from knowtrail.eval.fields.results import FieldResult, RecordResult, RunResult
    from knowtrail.eval.statistics import Interval

_PIECES = re.compile(r"\w+|\s+|[^\w\s]")


def marked_difference(gold: str, extracted: str) -> tuple[str, str]:
    """Return both texts as HTML; what only one of them has stands in `<mark>`."""
    left, right = _PIECES.findall(gold), _PIECES.findall(extracted)
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    if matcher.ratio() < 0.3:
        return shown_text(gold), shown_text(extracted)
    one, two = [], []
    for kind, a, b, c, d in matcher.get_opcodes():
        same = kind == "equal"
        one.append(_marked("".join(left[a:b]), same=same))
        two.append(_marked("".join(right[c:d]), same=same))
    return "".join(one), "".join(two)


def _marked(text: str, *, same: bool) -> str:
    shown = shown_text(text)
    return shown if same or not text else f"<mark>{shown}</mark>"


COLUMNS = 64
FIELDS = 1_000
WORST = 25
SHOWN_FIELDS = 60
SHOWN_MATCHES = 20
SHOWN_TEXT = 400
_REASON_TEXT = 200
_WRONG = SCORED - {MATCH}


@dataclass(slots=True)
class HeatMap:
    """Mean score of each field over the records, in at most `COLUMNS` columns.

    A column is a run of records; whenever there are too many, every two become one.
    Fields after the first `FIELDS` are `left_out`.
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
        self.width *= 2
        for row in self.cells.values():
            if len(row) % 2:
                row.append((0.0, 0))
            row[:] = [
                (a[0] + b[0], a[1] + b[1])
                for a, b in zip(row[::2], row[1::2], strict=True)
            ]

    def drawn(self, path: str) -> Iterator[tuple[int, str] | None]:
        """Yield step of colour and title of each column, None where it is blank."""
        row = self.cells[path]
        for column in range(-(-self.records // self.width)):
            total, count = row[column] if column < len(row) else (0.0, 0)
            if not count:
                yield None
                continue
            first = column * self.width + 1
            last = min(first + self.width - 1, self.records)
            where = f"record {first}" if first == last else f"records {first} to {last}"
            step = round(min(1.0, max(0.0, total / count)) * _STEPS)
            yield step, f"{where}: {total / count:.2f} of {count}"

    def mean(self, path: str) -> float:
        """Return the mean score of a field."""
        row = self.cells[path]
        return sum(total for total, _ in row) / sum(count for _, count in row)


class ReportGatherer:
    """Takes the records of a run one by one, and keeps what the report shows."""

    def __init__(self) -> None:
        self.heat = HeatMap()
        self._worst: list[tuple[float, int, dict[str, Any]]] = []

    def add(self, record: RecordResult) -> None:
        """Take the next record."""
        number = self.heat.records
        self.heat.add(record.field_results)
        if not any(result.status in _WRONG for result in record.field_results):
            return
        if len(self._worst) < WORST or record.f1 < self._worst[-1][0]:
            insort(self._worst, (record.f1, number, _shown_record(record)))
            del self._worst[WORST:]

    @property
    def worst(self) -> tuple[dict[str, Any], ...]:
        """The records with the lowest F1, the worst first, then by their order."""
        return tuple(entry[2] for entry in self._worst)


def _shown_record(record: RecordResult) -> dict[str, Any]:
    wrong = [r for r in record.field_results if r.status in _WRONG]
    right = [r for r in record.field_results if r.status == MATCH]
    return {
        "record_id": str(record.record_id)[:SHOWN_TEXT],
        "precision": record.precision,
        "recall": record.recall,
        "f1": record.f1,
        "wrong": tuple(map(_shown_field, wrong[:SHOWN_FIELDS])),
        "right": tuple(map(_shown_field, right[:SHOWN_MATCHES])),
        "more_wrong": max(0, len(wrong) - SHOWN_FIELDS),
        "more_right": max(0, len(right) - SHOWN_MATCHES),
    }


def _shown_field(result: FieldResult) -> FieldResult:
    """Return what is shown of a field: JSON of a bounded length, None for nothing."""
    gold, extracted = _cut(result.gold_value), _cut(result.extracted_value)
    return replace(
        result,
        path=result.path[:SHOWN_TEXT] or "(the whole record)",
        gold_value=None if result.status == HALLUCINATION else gold,
        extracted_value=None if result.status == OMISSION else extracted,
        reason=(result.reason or "")[:_REASON_TEXT],
        gold_compared=None,
        extracted_compared=None,
    )


def _cut(value: object) -> str:
    text = value_text(value)
    return text if len(text) <= SHOWN_TEXT else f"{text[:SHOWN_TEXT]}..."


FIELD_ROWS = 150
_STEPS = 10


def report_page(
    result: RunResult,
    intervals: Mapping[str, Interval],
    gathered: ReportGatherer,
    *,
    title: str,
    facts: Mapping[str, str],
    tables: Sequence[Table] = (),
) -> str:
    """Return the report as HTML."""
    heat = gathered.heat
    return filled(
        "fields/report.html",
        title=title,
        facts_told=facts,
        intervals=intervals,
        result=result,
        by_position=by_position_text(result.by_position),
        heat=heat,
        paths=sorted(heat.cells, key=lambda path: (heat.mean(path), path)),
        rows=FIELD_ROWS,
        tables=tables,
        worst=gathered.worst,
        marked=_marked_values,
    )


def by_position_text(found: Mapping[str, int]) -> str:
    """Return which arrays were paired by position, and how many of them."""
    return ", ".join(
        f"{path or 'the whole record'} ({count} array{'s' if count > 1 else ''})"
        for path, count in found.items()
    )


def _marked_values(field: FieldResult) -> tuple[str, str]:
    gold, extracted = field.gold_value, field.extracted_value
    if field.status == MATCH or gold is None or extracted is None:
        return shown_text(gold or ""), shown_text(extracted or "")
    return marked_difference(gold, extracted)

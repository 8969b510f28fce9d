"""A report on an extraction: one page of HTML that needs nothing else.

What it keeps of the records that pass by is bounded, however many there are.
"""

from __future__ import annotations

import heapq
import re
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from importlib import resources
from typing import TYPE_CHECKING

from knowtrail.eval.fields.paths import schema_path
from knowtrail.eval.fields.results import MATCH, SCORED
from knowtrail.eval.report import Table, html_page, interval_cells, shown_text, table
from knowtrail.eval.report import facts as facts_list
from knowtrail.eval.store import value_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from knowtrail.eval.fields.results import (
        FieldAggregation,
        FieldResult,
        RecordResult,
        RunResult,
    )
    from knowtrail.eval.statistics import Interval

__all__ = [
    "HeatMap",
    "ReportGatherer",
    "ShownField",
    "Table",
    "WorstRecord",
    "by_position_text",
    "marked_difference",
    "report_page",
    "shown_text",
]


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
    """Return a piece of a text, marked where it differs."""
    shown = shown_text(text)
    return shown if same or not text else f"<mark>{shown}</mark>"


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


FIELD_ROWS = 150
_STEPS = 10
_STATUSES = ("match", "mismatch", "omission", "hallucination")


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
    style = resources.files("knowtrail.eval.fields").joinpath("report.css")
    body = [
        *facts_list(facts),
        *_metrics(intervals),
        *_counts(result),
        *_heat_map(gathered.heat, result.per_schema_path),
        *(line for one in tables for line in table(one)),
        *_worst(gathered.worst, result.total_records),
    ]
    return html_page(title, body, style=style.read_text("utf-8"))


def _metrics(intervals: Mapping[str, Interval]) -> Iterator[str]:
    """Yield the metrics with their intervals, as numbers and drawn."""
    level = next((interval.level for interval in intervals.values()), 0.95)
    yield (
        "<h2>How good it is</h2><p>Means over the records, and below them ratios over "
        f"all fields at once, each with its {level:.0%} bootstrap interval.</p>"
        '<table class="metrics"><tbody>'
    )
    for name, interval in intervals.items():
        cells = interval_cells(
            interval.value, interval.low, interval.high, none="one record: no interval"
        )
        label = shown_text(name.replace("_f", " F").replace("_", " "))
        yield f"<tr><th>{label}</th>{cells}</tr>"
    yield "</tbody></table>"


def _counts(result: RunResult) -> Iterator[str]:
    """Yield how many of what there were."""
    counts = {
        "records": result.total_records,
        "scored fields": result.total_fields,
        "omissions": result.total_omissions,
        "hallucinations": result.total_hallucinations,
        "fields whose comparator failed": result.total_batch_errors,
    }
    if not result.total_batch_errors:
        counts.popitem()
    shown = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    yield f"<p>{shown}.</p>"
    if result.by_position:
        yield (
            "<p>Paired by position, as there were too many elements to find what fits "
            f"best: {shown_text(by_position_text(result.by_position))}.</p>"
        )


def by_position_text(found: Mapping[str, int]) -> str:
    """Return which arrays were paired by position, and how many of them."""
    return ", ".join(
        f"{path or 'the whole record'} ({count} array{'s' if count > 1 else ''})"
        for path, count in found.items()
    )


def _heat_map(heat: HeatMap, fields: Mapping[str, FieldAggregation]) -> Iterator[str]:
    """Yield one row for each field, the worst first, and one cell for each column."""
    paths = sorted(heat.cells, key=lambda path: (heat.mean(path), path))
    columns = -(-heat.records // heat.width)
    each = "one record" if heat.width == 1 else f"{heat.width} records in a row"
    yield (
        "<h2>Fields</h2><p>The worst first. Shares are "
        + ", ".join(f'<b class="key {s}">{s}</b>' for s in _STATUSES)
        + f". In the map a column is {each}, from the first on the left to the last: "
        'red is 0, blue is 1, blank is "no such field". Rest the pointer on a cell for '
        "its number.</p>"
        f'<div class="wide"><table class="fields{" few" * (columns < 33)}">'
        "<thead><tr><th>field</th>"
        "<th>score</th><th>fields</th><th>shares</th>"
        f'<th colspan="{columns or 1}">records</th></tr></thead><tbody>'
    )
    for path in paths[:FIELD_ROWS]:
        yield _heat_row(heat, path, columns, fields.get(path))
    yield "</tbody></table></div>"
    if left := max(0, len(paths) - FIELD_ROWS) + len(heat.left_out):
        yield f"<p>{left} more fields are not shown.</p>"


def _heat_row(
    heat: HeatMap, path: str, columns: int, field: FieldAggregation | None
) -> str:
    """Return the row of a field."""
    cells = []
    row = heat.cells[path]
    for column in range(columns):
        total, count = row[column] if column < len(row) else (0.0, 0)
        if not count:
            cells.append("<td></td>")
            continue
        mean = total / count
        first = column * heat.width + 1
        last = min(first + heat.width - 1, heat.records)
        where = f"record {first}" if first == last else f"records {first} to {last}"
        step = round(min(1.0, max(0.0, mean)) * _STEPS)
        cells.append(
            f'<td class="s{step}" title="{where}: {mean:.2f} of {count}"></td>'
        )
    counts = _status_counts(field)
    return (
        f"<tr><th><bdi>{shown_text(path[:200]) or '(the whole record)'}</bdi></th>"
        f'<td class="number">{heat.mean(path):.2f}</td>'
        f'<td class="number">{sum(count for _, count in row):,}</td>'
        f"<td>{_bar(counts)}</td>{''.join(cells)}</tr>"
    )


def _status_counts(field: FieldAggregation | None) -> dict[str, int]:
    """Return how often a field has each status."""
    if field is None:
        return {}
    return {
        "match": field.matches,
        "mismatch": field.mismatches,
        "omission": field.omissions,
        "hallucination": field.hallucinations,
    }


def _bar(counts: Mapping[str, int]) -> str:
    """Return the shares of the statuses as a bar."""
    total = sum(counts.values()) or 1
    parts = "".join(
        f'<i class="{name}" style="width:{count / total:.1%}"></i>'
        for name, count in counts.items()
        if count
    )
    told = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
    return f'<span class="bar" title="{told}">{parts}</span>'


def _worst(records: Sequence[WorstRecord], total: int) -> Iterator[str]:
    """Yield the worst records, gold beside what was extracted."""
    yield "<h2>Worst records</h2>"
    if not records:
        yield f"<p>None: every scored field of the {total:,} records is a match.</p>"
        return
    yield (
        "<p>Gold on the left, what was extracted on the right; words in which they "
        "differ are marked.</p>"
    )
    for place, record in enumerate(records):
        opened = " open" if place < 3 else ""
        yield (
            f"<details{opened}><summary><b><bdi>{shown_text(record.record_id)}</bdi></b>"
            f" F1 {record.f1:.2f}, precision {record.precision:.2f}, recall "
            f"{record.recall:.2f}</summary>"
        )
        yield from _side_by_side(record.wrong, record.more_wrong, "wrong")
        if record.right:
            count = len(record.right) + record.more_right
            yield f"<details><summary>{count} fields that match</summary>"
            yield from _side_by_side(record.right, record.more_right, "matching")
            yield "</details>"
        yield "</details>"


def _side_by_side(fields: Sequence[ShownField], more: int, what: str) -> Iterator[str]:
    """Yield the table of some fields of a record."""
    yield (
        '<table class="diff"><thead><tr><th>field</th><th>gold</th><th>extracted</th>'
        "<th>status</th></tr></thead><tbody>"
    )
    for one in fields:
        gold, extracted = _values(one)
        reason = ""
        if one.reason and one.reason != one.status:
            reason = f"<small>{shown_text(one.reason)}</small>"
        yield (
            f"<tr><th><bdi>{shown_text(one.path)}</bdi></th><td>{gold}</td>"
            f'<td>{extracted}</td><td><b class="key {shown_text(one.status)}">'
            f"{shown_text(one.status)}</b>{reason}</td></tr>"
        )
    yield "</tbody></table>"
    if more:
        yield f"<p>{more:,} more {what} fields are not shown.</p>"


def _values(field: ShownField) -> tuple[str, str]:
    """Return both values of a field as HTML."""
    nothing = '<span class="nothing">nothing</span>'
    if field.gold is None or field.extracted is None:
        texts = [
            nothing if text is None else shown_text(text)
            for text in (field.gold, field.extracted)
        ]
    elif field.status == "match":
        texts = [shown_text(field.gold), shown_text(field.extracted)]
    else:
        texts = list(marked_difference(field.gold, field.extracted))
    one, two = (
        text if text is nothing else f"<code dir='auto'>{text}</code>" for text in texts
    )
    return one, two

"""The report's page: one HTML text with its style inside, no script, no address.

Every value is escaped, and the page forbids the browser to load anything. Its size is
bounded by what `ReportGatherer` keeps.
"""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

from eval.fields.report.differing import marked_difference
from eval.report import Table, html_page, interval_cells, shown_text, table
from eval.report import facts as facts_list

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eval.fields.report.gathering import (
        HeatMap,
        ReportGatherer,
        ShownField,
        WorstRecord,
    )
    from eval.fields.results import FieldAggregation, RunResult
    from eval.statistics import Interval

__all__ = ["Table", "report_page"]

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
    """Return the report as HTML.

    Args:
        result: The run.
        intervals: Its metrics.
        gathered: What was kept of its records.
        title: Heading of the page.
        facts: What was evaluated and how, by name.
        tables: Comparisons and whatever else there is to show.
    """
    style = resources.files("eval.fields.report").joinpath("report.css")
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
    for field in fields:
        gold, extracted = _values(field)
        reason = ""
        if field.reason and field.reason != field.status:
            reason = f"<small>{shown_text(field.reason)}</small>"
        yield (
            f"<tr><th><bdi>{shown_text(field.path)}</bdi></th><td>{gold}</td>"
            f'<td>{extracted}</td><td><b class="key {shown_text(field.status)}">'
            f"{shown_text(field.status)}</b>{reason}</td></tr>"
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

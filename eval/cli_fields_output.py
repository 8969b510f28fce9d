"""How `knowtrail eval fields` shows numbers: tables for people, JSON for machines."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from eval.fields.report import Table
    from eval.fields.running import Finished
    from eval.statistics import Interval

__all__ = [
    "as_dict",
    "as_number",
    "draw_run",
    "draw_table",
    "interval_dict",
    "json_text",
]

SHOWN_FIELDS = 25


def as_number(value: float) -> float | None:
    """Return a number as JSON can say it: NaN is null."""
    return value if value == value else None


def json_text(value: Any, *, indent: int | None = None) -> str:
    """Return JSON to be written; half characters stay as the escapes they came as."""
    from eval.records import sendable

    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    return sendable(text)


def interval_dict(interval: Interval) -> dict[str, Any]:
    """Return an interval for JSON."""
    return {
        "value": interval.value,
        "low": as_number(interval.low),
        "high": as_number(interval.high),
        "level": interval.level,
    }


def as_dict(finished: Finished) -> dict[str, Any]:
    """Return an evaluation for JSON."""
    result = finished.result
    return {
        "run": finished.run_id,
        "records": result.total_records,
        "fields": result.total_fields,
        "omissions": result.total_omissions,
        "hallucinations": result.total_hallucinations,
        "batch_errors": result.total_batch_errors,
        "metrics": {
            name: interval_dict(interval)
            for name, interval in finished.intervals.items()
        },
        "per_field": {
            path: asdict(field) for path, field in result.per_schema_path.items()
        },
    }


def draw_run(name: str, finished: Finished) -> None:
    """Write an evaluation for people: metrics, counts, the worst fields."""
    result = finished.result
    click.echo(
        f"{name}: {result.total_records} records, {result.total_fields} fields, "
        f"{result.total_omissions} omissions, {result.total_hallucinations} "
        f"hallucinations"
    )
    if result.total_batch_errors:
        click.echo(
            f"{result.total_batch_errors} fields have no score: their comparator "
            "failed, as the warnings say.",
            err=True,
        )
    _draw(
        ["metric", "value", "from", "to"],
        [
            [metric, f"{one.value:.3f}", _end(one.low), _end(one.high)]
            for metric, one in finished.intervals.items()
        ],
    )
    fields = sorted(
        result.per_schema_path.items(), key=lambda item: (item[1].mean_score, item[0])
    )
    _draw(
        ["field", "score", "matches", "mismatches", "omissions", "hallucinations"],
        [
            [
                path or "(the whole record)",
                f"{one.mean_score:.3f}",
                str(one.matches),
                str(one.mismatches),
                str(one.omissions),
                str(one.hallucinations),
            ]
            for path, one in fields[:SHOWN_FIELDS]
        ],
    )
    if len(fields) > SHOWN_FIELDS:
        click.echo(
            f"The worst {SHOWN_FIELDS} of {len(fields)} fields; --json and --report "
            "have more.",
            err=True,
        )


def _end(value: float) -> str:
    """Return an end of an interval; there is none for one record."""
    return f"{value:.3f}" if value == value else "-"


def draw_table(table: Table) -> None:
    """Write a further table for people."""
    click.echo(f"\n{table.title}. {table.note}")
    _draw(list(table.columns), [list(row) for row in table.rows])


def _draw(columns: list[str], rows: list[list[str]]) -> None:
    """Draw rows on standard output; the first column is text, the others numbers."""
    from rich import box
    from rich.console import Console
    from rich.table import Table as Drawn
    from rich.text import Text

    from graph.rows import cell_text

    console = Console(file=sys.stdout, highlight=False)
    if not console.is_terminal:
        console = Console(file=sys.stdout, highlight=False, width=1_000)
    table = Drawn(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for place, name in enumerate(columns):
        table.add_column(name, justify="right" if place else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell_text(cell)) for cell in row))
    click.echo()
    console.print(table)

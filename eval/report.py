"""What is shown of evaluations alike: pages of HTML, tables, intervals, JSON.

A page is one file that needs nothing else: its style is inside, it has no script and no
address, and it forbids the browser to load anything.
"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Any

import click

from knowtrail.eval.store import sendable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from knowtrail.eval.statistics import Interval

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def shown_text(text: str) -> str:
    """Return a text as HTML shows it: escaped, control characters made visible."""
    plain = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", sendable(text))
    return escape(plain, quote=True)


TABLE_ROWS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A further table of a report.

    Attributes:
        title: Its heading.
        note: One sentence below the heading.
        columns: Names of its columns.
        rows: Its cells as text.
    """

    title: str
    note: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def facts(named: Mapping[str, str]) -> Iterator[str]:
    """Yield what was evaluated and how."""
    yield '<dl class="facts">'
    for name, value in named.items():
        yield f"<div><dt>{shown_text(name)}</dt><dd>{shown_text(value)}</dd></div>"
    yield "</dl>"


def interval_cells(value: float, low: float, high: float, *, none: str) -> str:
    """Return three cells: a number, its interval, both drawn from 0 to 1."""
    drawn, ends = "", none
    if low == low:
        left, right = min(1.0, max(0.0, low)), min(1.0, max(0.0, high))
        ends = f"{low:.3f} to {high:.3f}"
        drawn = (
            f'<i class="range" style="left:{left:.1%};width:{right - left:.1%}"></i>'
        )
    place = min(1.0, max(0.0, value))
    return (
        f'<td class="number">{value:.3f}</td><td class="ends">{ends}</td>'
        f'<td class="axis"><span>{drawn}<i class="point" '
        f'style="left:{place:.1%}"></i></span></td>'
    )


def table(shown: Table) -> Iterator[str]:
    """Yield a table with its heading, no more than its first 200 rows."""
    yield f"<h2>{shown_text(shown.title)}</h2><p>{shown_text(shown.note)}</p>"
    yield '<div class="wide"><table class="plain"><thead><tr>'
    yield "".join(f"<th>{shown_text(name)}</th>" for name in shown.columns)
    yield "</tr></thead><tbody>"
    for row in shown.rows[:TABLE_ROWS]:
        cells = "".join(f"<td><bdi>{shown_text(cell)}</bdi></td>" for cell in row)
        yield f"<tr>{cells}</tr>"
    yield "</tbody></table></div>"
    if (left := len(shown.rows) - TABLE_ROWS) > 0:
        yield f"<p>{left} more rows are not shown.</p>"


_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def html_page(
    title: str, body: Iterable[str], *, style: str = "", images: bool = False
) -> str:
    """Return a page."""
    common = resources.files("knowtrail.eval").joinpath("report.css").read_text("utf-8")
    policy = f"{_POLICY}; img-src data:" if images else _POLICY
    return "\n".join([
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{shown_text(title)}</title>",
        f"<style>{common}{style}</style></head><body><main>",
        f"<h1>{shown_text(title)}</h1>",
        *body,
        "</main></body></html>",
        "",
    ])


def as_number(value: float) -> float | None:
    """Return a number as JSON can say it: NaN is null."""
    return value if value == value else None


def json_text(value: Any, *, indent: int | None = None) -> str:
    """Return JSON to be written; half characters stay as the escapes they came as."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    return sendable(text)


def interval_dict(interval: Interval) -> dict[str, Any]:
    """Return an interval for JSON."""
    return {
        "value": interval.value,
        "low": as_number(interval.low),
        "high": as_number(interval.high),
        "level": interval.level,
        "n": interval.n,
    }


def draw_table(table: Table) -> None:
    """Write a further table for people."""
    click.echo(f"\n{table.title}. {table.note}")
    draw_columns(table.columns, table.rows)


def draw_columns(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Draw rows on standard output, an empty line above."""
    from knowtrail.graph.cli.tables import draw_rows

    click.echo()
    draw_rows(list(columns), [list(row) for row in rows], more="--json")


@contextmanager
def telling_what_is_kept(folder: Path) -> Iterator[None]:
    """Say what is not lost when a run that keeps its state is interrupted or fails."""
    from knowtrail.graph.errors import ModelError

    try:
        yield
    except (KeyboardInterrupt, ModelError):
        state = folder / "state.jsonl"
        if state.exists() and state.stat().st_size:
            click.echo(
                f"What is finished is kept in {folder}: the same command goes on.",
                err=True,
            )
        raise

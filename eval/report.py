"""What is shown of evaluations alike: pages of HTML, tables, intervals, JSON.

A page is one file that needs nothing else: its style is inside, it has no script and no
address, and it forbids the browser to load anything.
"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from knowtrail.eval.store import sendable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from jinja2 import Environment

    from knowtrail.eval.statistics import Interval

TABLE_ROWS = 200
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def _visible(value: Any) -> Any:
    """Return a value of a template, the control characters of a text made visible."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", sendable(value))


def shown_text(text: str) -> str:
    """Return a text as HTML shows it: escaped, control characters made visible."""
    return escape(_visible(text), quote=True)


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


def _share(value: float) -> float:
    """Return a number as a share of an axis from 0 to 1."""
    return min(1.0, max(0.0, value))


@cache
def _templates() -> Environment:
    """Return the templates of evaluations: whatever stands in them is escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        finalize=_visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["place"] = lambda value: f"{_share(value):.1%}"
    made.filters["width"] = lambda low, high: f"{_share(high) - _share(low):.1%}"
    return made


def _macro(name: str, *args: Any) -> str:
    """Return what a macro of all reports makes."""
    made: str = getattr(_templates().get_template("macros.html").module, name)(*args)
    return made


def facts(named: Mapping[str, str]) -> Iterator[str]:
    """Yield what was evaluated and how."""
    yield _macro("facts", named)


def interval_cells(value: float, low: float, high: float, *, none: str) -> str:
    """Return three cells: a number, its interval or `none`, both drawn from 0 to 1."""
    return _macro("interval_cells", value, low, high, none)


def table(shown: Table) -> Iterator[str]:
    """Yield a table with its heading, no more than its first 200 rows."""
    yield _macro("table", shown, TABLE_ROWS)


def html_page(
    title: str, body: Iterable[str], *, style: str = "", images: bool = False
) -> str:
    """Return a page of HTML that is escaped already, with CSS after all reports' own.

    It may hold pictures, as data inside it, where that is said.
    """
    return filled("page.html", title=title, body=body, style=style, images=images)


def filled(template: str, **given: Any) -> str:
    """Return a template below this folder with what is given put in."""
    page = {"most": TABLE_ROWS, "style": "", "images": False, **given}
    return _templates().get_template(template).render(page)


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

"""What is shown of evaluations alike: pages of HTML, tables, intervals, JSON.

A page is one file that needs nothing else: its style is inside, it has no script and no
address, and it forbids the browser to load anything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, partial
from html import escape
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any

import click

from knowtrail.eval.store import sendable
from knowtrail.graph.cli.answers import told_by
from knowtrail.graph.files.packaged import packaged
from knowtrail.graph.files.templates import templates

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from jinja2 import Environment

TABLE_ROWS = 200
NOTES: dict[str, str] = packaged("knowtrail.eval", "texts.toml")["notes"]
"""What people are told beside tables and pictures."""
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
    """A further table of a report: heading, one sentence below it, cells as text."""

    title: str
    note: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


WHOLE = "(the whole record)"
_CUT = 60


class _Cells(Formatter):
    """Makes cells of rows by the words of `tables.toml`; see there."""

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        """Return a value, None where a row has no such place or key."""
        try:
            return super().get_field(field_name, args, kwargs)
        except LookupError:
            return None, field_name

    def convert_field(self, value: Any, conversion: Any) -> Any:
        """Return a value as `!w`, `!c` or `!y` say."""
        if conversion == "c":
            from knowtrail.retrieval.views.labels import cut

            return cut(value, _CUT)
        if conversion == "w":
            return value or WHOLE
        return ("yes" if value else "no") if conversion == "y" else value

    def format_field(self, value: Any, format_spec: str) -> str:
        """Return a cell: an interval with its ends, a dash for what is not defined."""
        if value is None or value != value:
            return "-"
        if not hasattr(value, "low"):
            return "" if value == "" else f"{value:{format_spec}}"
        whole, low, high = (
            f"{number:{format_spec}}" for number in (value.value, value.low, value.high)
        )
        return f"{whole} ({low} to {high})" if value.low == value.low else whole


def table(
    name: str,
    rows: Iterable[Any],
    columns: Mapping[str, str] | None = None,
    /,
    **given: Any,
) -> Table:
    """Return rows as a table of `tables.toml`, with what else its words name.

    Further columns, heading -> cell, stand behind its own.
    """
    about, form = packaged("knowtrail.eval", "tables.toml")[name], _Cells().format
    cells = {**about["cells"], **(columns or {})}
    return Table(
        title=form(about["title"], **given),
        note=form(about["note"], **given),
        columns=tuple(form(head, **given) for head in cells),
        rows=[[form(cell, one=one) for cell in cells.values()] for one in rows],
    )


def _share(value: float) -> float:
    return min(1.0, max(0.0, value))


@cache
def _templates() -> Environment:
    """Return the templates of evaluations: whatever stands in them is escaped."""
    made = templates(Path(__file__).parent).overlay(finalize=_visible)
    made.filters["place"] = lambda value: f"{_share(value):.1%}"
    made.filters["width"] = lambda low, high: f"{_share(high) - _share(low):.1%}"
    return made


def filled(template: str, **given: Any) -> str:
    """Return a template below this folder with what is given put in."""
    page = {"most": TABLE_ROWS, "images": False, **given}
    return _templates().get_template(template).render(page)


told = partial(told_by, Path(__file__).parent)
"""Return a text of a template below this folder, with what is given put in."""


def known(value: float | None, form: str = ".2f") -> str:
    """Return a number as people read it, a dash where it is not defined."""
    return "-" if value is None or value != value else f"{value:{form}}"


def as_number(value: float) -> float | None:
    """Return a number as JSON can say it: NaN and infinities are null."""
    return value if value - value == 0 else None


def json_lines(rows: Iterable[Any]) -> str:
    """Return JSON Lines; half characters stay as the escapes they came as."""
    texts = (json.dumps(row, ensure_ascii=False, allow_nan=False) for row in rows)
    return "".join(f"{sendable(text)}\n" for text in texts)


def plain(value: Any) -> Any:
    """Return a value as JSON has it: data classes as objects, NaN as null."""
    if is_dataclass(value):
        value = {one.name: getattr(value, one.name) for one in fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return as_number(value) if isinstance(value, float) else value


def draw_tables(tables: Iterable[Table], *, above: str = "") -> None:
    """Write tables for people, and what stands above them."""
    if above:
        click.echo(above)
    for one in tables:
        click.echo(f"\n{one.title}. {one.note}")
        draw_columns(one.columns, one.rows)


def draw_columns(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Draw rows on standard output, an empty line above."""
    from knowtrail.graph.cli.tables import draw_rows

    click.echo()
    draw_rows(list(columns), [list(row) for row in rows], more="--json")


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield rows as lines of columns; the first is text, the others are numbers."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *rest in rows:
        cells = (f"{c:>{w}}" for c, w in zip(rest, widths[1:], strict=True))
        yield "  ".join([f"{first:<{widths[0]}}", *cells]).rstrip()


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

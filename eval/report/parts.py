"""Parts of reports: facts, plain tables, a number with its interval drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eval.report.text import shown_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["Table", "facts", "interval_cells", "table"]

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
    """Yield what was evaluated and how.

    Args:
        named: Each fact by its name.
    """
    yield '<dl class="facts">'
    for name, value in named.items():
        yield f"<div><dt>{shown_text(name)}</dt><dd>{shown_text(value)}</dd></div>"
    yield "</dl>"


def interval_cells(value: float, low: float, high: float, *, none: str) -> str:
    """Return three cells: a number, its interval, both drawn from 0 to 1.

    Args:
        value: The number.
        low: Lower end of the interval, NaN where there is none.
        high: Upper end.
        none: What is said where there is no interval.
    """
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
    """Yield a table with its heading, no more than its first 200 rows.

    Args:
        shown: The table; every cell is escaped.
    """
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

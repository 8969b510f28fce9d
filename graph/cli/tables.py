"""Rows drawn as a table that people read, in a terminal or where it is piped to."""

from __future__ import annotations

import re
import sys
from contextlib import nullcontext
from typing import IO, TYPE_CHECKING, Any, TextIO

from knowtrail.graph.cli.rows import cell_text
from knowtrail.graph.settings import asked_width, keep_rows_whole_in_less

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from rich.console import Console
    from rich.table import Table

PIPE_WIDTH = 199
"""Columns where the output is no terminal and `COLUMNS` is not set."""
_WIDEST = 100_000
_GAP = 3
"""Spaces between two columns, as rich draws them."""
_TEXTS = frozenset({"found", "text"})
"""Columns that have half of a narrow table before those behind them have any."""
_IDS = frozenset({"traversal", "run"})
"""Columns of ids to go on with: below their row where they do not fit beside it."""
_BELOW = "\x1f"
"""What stands in a table where the ids of a row come; no cell has it."""


class _Unpadded:
    """A file whose lines have no blanks at their ends, which rich fills up."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, text: str) -> int:
        """Write what rich does at once, which is whole lines."""
        return self._file.write(re.sub(" +$", "", text, flags=re.MULTILINE))


def table_console(file: TextIO | None = None, *, wide: bool = False) -> Console:
    """Return a console as wide as the terminal; `COLUMNS`, or wide, where is none."""
    from rich.console import Console

    console = Console(file=file or sys.stdout, highlight=False)
    if console.is_terminal and not wide:
        return console
    width = _WIDEST if wide else asked_width() or PIPE_WIDTH
    out: Any = console.file if console.is_terminal else _Unpadded(console.file)
    return Console(file=out, highlight=False, width=width)


def write_wrapped(text: str, file: TextIO) -> None:
    """Write a text without controls, broken between words, as wide as tables are."""
    from rich.text import Text

    table_console(file).print(Text(text, overflow="fold"))


def draw_rows(
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    file: TextIO | None = None,
    wide: bool = False,
    once: bool = False,
    more: str = "A wider terminal",
) -> None:
    """Draw rows, whole columns as far as their words fit: no word is split.

    Columns of numbers, and of text that reads as one, stand to the right. `wide` draws
    all columns, one line a row, whatever its length, in a pager on a terminal. With
    `once`, where a width is given that rows do not fit in, what is the same in all of
    them is told once below, and ids to go on with below their rows. Standard error
    names columns that do not fit, and that `more` shows them.
    """
    terminal = table_console(file).is_terminal
    console = table_console(file, wide=wide)
    names = [cell_text(name) for name in columns]
    cells = [names, *([cell_text(value) for value in row] for row in rows)]
    once = once and not wide and bool(terminal or asked_width())
    same = _same(cells, console.width) if once else frozenset()
    widths = _widths(cells, console.width, without=same, roomy=once)
    below = [
        i
        for i, name in enumerate(names)
        if once and name in _IDS and i not in same and i not in widths
    ]
    table = _table(cells, rows, widths, below=bool(below))
    paged = wide and terminal
    if paged:
        keep_rows_whole_in_less()
    with console.pager() if paged else nullcontext():
        if below:
            ids = (
                ", ".join(f"{names[i]} {row[i]}" for i in below) for row in cells[1:]
            )
            _print_with(ids, table, console)
        else:
            console.print(table)
    if told := [f"{names[i]}: {cells[1][i]}" for i in sorted(same) if cells[1][i]]:
        write_wrapped(f"In all rows: {'; '.join(told)}", file or sys.stdout)
    seen = {*widths, *same, *below}
    if hidden := [name for i, name in enumerate(names) if i not in seen]:
        said = f"Not shown: {', '.join(hidden)}. {more} shows them."
        write_wrapped(said, sys.stderr)


def _same(cells: Sequence[Sequence[str]], room: int) -> frozenset[int]:
    from rich.cells import cell_len

    columns = list(zip(*cells, strict=True))
    whole = sum(max(map(cell_len, column)) + _GAP for column in columns) - _GAP
    same = frozenset(i for i, c in enumerate(columns) if len(set(c[1:])) == 1)
    told = len(cells) > 2 and whole > room and len(same) < len(columns)
    return same if told else frozenset()


def _table(
    cells: Sequence[Sequence[str]],
    rows: Sequence[Sequence[Any]],
    widths: Mapping[int, int],
    *,
    below: bool,
) -> Table:
    """Return the columns that fit as a table, with a mark below each row or without."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for i, width in widths.items():
        table.add_column(
            Text(cells[0][i]),
            justify="right" if all(_is_number(row[i]) for row in rows) else "left",
            overflow="fold",
            width=width,
        )
    for cell in cells[1:]:
        table.add_row(*(Text(cell[i]) for i in widths))
        if below:
            table.add_row(_BELOW)
    return table


def _is_number(value: Any) -> bool:
    """Return whether a value is a number, or a text that reads as a short one."""
    if isinstance(value, str):
        return len(value) < 20 and not value.strip("0123456789.,-+% ")
    return isinstance(value, int | float)


def _print_with(below: Iterator[str], table: Table, console: Console) -> None:
    with console.capture() as drawn:
        console.print(table)
    text = re.sub(f".*{_BELOW}.*", lambda _: f"  {next(below)}", drawn.get())
    console.file.write(text)


def _widths(
    cells: Sequence[Sequence[str]],
    room: int,
    *,
    without: Collection[int] = (),
    roomy: bool = False,
) -> dict[int, int]:
    """Return the columns that fit without a word split, and how wide each is."""
    from rich.cells import cell_len

    half = room // 2
    widths: dict[int, int] = {}
    wanted: dict[int, int] = {}
    for i in (i for i in range(len(cells[0])) if i not in without):
        column = [row[i] for row in cells]
        words = (word for text in column for word in text.split())
        need = max(map(cell_len, words), default=1)
        if roomy and cells[0][i] in _TEXTS:
            need = max(need, min(max(map(cell_len, column)), half, room - _GAP))
        if not widths or need + _GAP <= room:
            widths[i] = min(need, room)
            wanted[i] = max(map(cell_len, column))
            room -= need + _GAP
    # What is left is shared out, the least wishes first.
    for left, i in enumerate(sorted(widths, key=lambda i: wanted[i] - widths[i])):
        more = max(0, min(wanted[i] - widths[i], room // (len(widths) - left)))
        widths[i] += more
        room -= more
    return widths

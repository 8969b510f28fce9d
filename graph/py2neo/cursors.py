"""Cursors: the rows of a result, one after the other, and all at once as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graph.errors import InputError, MissingExtraError
from graph.py2neo.hydration import PLAIN
from graph.py2neo.records import Record, united
from graph.py2neo.summaries import CypherPlan, CypherStats

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import neo4j

    from graph.py2neo.subgraphs import Subgraph
    from graph.py2neo.table import Table

__all__ = ["Cursor"]


class Cursor:
    """A window on rows that moves forward only, and begins before the first.

    The rows have all been read, and the server's side is closed, when a statement
    returns its cursor; so a cursor may be kept, left or dropped at any row.

    Args:
        keys: Names of the columns.
        rows: The values of each row, as the driver gave them.
        summary: What the driver says of the whole, None where nothing was run.
        hydrate: Makes our values of the driver's.
    """

    def __init__(
        self,
        keys: Sequence[str],
        rows: Sequence[Sequence[Any]],
        *,
        summary: neo4j.ResultSummary | None = None,
        hydrate: Callable[[Any], Any] | None = None,
    ) -> None:
        self._keys = tuple(keys)
        self._rows = rows
        self._next = 0
        self._summary = summary
        self._hydrate = hydrate
        self._current: Record | None = None
        self._made: list[Record] = []
        self._first_made = 0

    @property
    def current(self) -> Record | None:
        """Return the row that the cursor is at, None before the first."""
        return self._current

    @property
    def closed(self) -> bool:
        """Return whether no row is left."""
        return self._next >= len(self._rows)

    def close(self) -> None:
        """Drop the rows that are left."""
        self._next = len(self._rows)

    def keys(self) -> list[str]:
        """Return the names of the columns."""
        return list(self._keys)

    def summary(self) -> neo4j.ResultSummary | None:
        """Return what the driver says of the whole result."""
        return self._summary

    def plan(self) -> CypherPlan | None:
        """Return how the server runs an `EXPLAIN` or `PROFILE`, None for others."""
        if self._summary is None:
            return None
        found = self._summary.profile or self._summary.plan
        return CypherPlan(found) if found else None

    @property
    def profile(self) -> dict[str, Any] | None:
        """Return the measured plan of a `PROFILE`, None for other statements."""
        return None if self._summary is None else self._summary.profile

    def stats(self) -> CypherStats:
        """Return what was changed: `stats().nodes_created`, or by that name."""
        return CypherStats(None if self._summary is None else self._summary.counters)

    def forward(self, amount: int = 1) -> int:
        """Move on by some rows, as far as there are any.

        Args:
            amount: How many rows.

        Returns:
            How many it was.

        Raises:
            InputError: If the amount is negative.
        """
        if amount < 0:
            msg = f"forward({amount}): a cursor moves forward only, give 0 or more."
            raise InputError(msg)
        moved = min(amount, len(self._rows) - self._next)
        if moved:
            self._next += moved
            self._current = self._record(self._next - 1)
        return moved

    def next(self) -> Record:
        """Move on by one row and return it.

        Raises:
            StopIteration: If there is none.
        """
        return next(self)

    def __next__(self) -> Record:
        """Move on by one row and return it."""
        if not self.forward() or self._current is None:
            raise StopIteration
        return self._current

    def __iter__(self) -> Iterator[Record]:
        """Yield the rows that are left."""
        return self

    def __getitem__(self, key: int | str) -> Any:
        """Return a value of the row that the cursor is at.

        Raises:
            IndexError: If the cursor is at no row yet, or there is no such position.
            KeyError: If there is no such column.
        """
        if self._current is None:
            msg = "The cursor is at no row yet: move it forward first."
            raise IndexError(msg)
        return self._current[key]

    def _record(self, index: int) -> Record:
        """Return the record of a row, made with those that follow."""
        place = index - self._first_made
        if not 0 <= place < len(self._made):
            rows = self._rows[index : index + _AHEAD]
            self._made = [Record(self._keys, self._values(row)) for row in rows]
            self._first_made, place = index, 0
        return self._made[place]

    def _values(self, row: Sequence[Any]) -> Iterable[Any]:
        """Return our values of a row; one of plain values is left as it is."""
        if self._hydrate is None or PLAIN.issuperset(map(type, row)):
            return row
        return [self._hydrate(value) for value in row]

    def _rest(self) -> list[Record]:
        """Move to the last row and return the records of all that were left."""
        rows = self._rows[self._next :]
        rest = [Record(self._keys, self._values(row)) for row in rows]
        if rest:
            self._next, self._current = len(self._rows), rest[-1]
        return rest

    def evaluate(self, field: int | str = 0) -> Any:
        """Move on by one row and return one value of it.

        Args:
            field: Position or name of the column.

        Returns:
            The value; None where there is no row or no such position.

        Raises:
            KeyError: If there is no column of that name.
        """
        if not self.forward() or self._current is None:
            return None
        if isinstance(field, int) and field >= len(self._current):
            return None
        return self._current[field]

    def data(self, *keys: int | str) -> list[dict[str, Any]]:
        """Return the rows that are left as dictionaries.

        Args:
            *keys: Positions or names of the columns to keep; all without any.

        Raises:
            IndexError: If there is no such position.
        """
        if keys:
            return [record.data(*keys) for record in self._rest()]
        rows, names = self._rows[self._next :], self._keys
        made = [dict(zip(names, self._values(row), strict=True)) for row in rows]
        if made:
            self._next = len(self._rows)
            self._current = Record(names, made[-1].values())
        return made

    def preview(self, limit: int | None = None) -> Table | None:
        """Return the next rows as a table, without moving.

        Args:
            limit: How many rows; 3 where nothing is said.

        Returns:
            The table; None for a result without columns.
        """
        from graph.py2neo.table import Table

        if not self._keys:
            return None
        stop = min(len(self._rows), self._next + (_PREVIEW if limit is None else limit))
        rows = [self._record(index) for index in range(self._next, stop)]
        return Table(rows, self.keys())

    def to_table(self) -> Table:
        """Return the rows that are left as a table."""
        from graph.py2neo.table import Table

        return Table(self._rest(), self.keys())

    def to_subgraph(self) -> Subgraph | None:
        """Return all nodes, relationships and paths of the rows that are left as one.

        Returns:
            Their union; None where there are none.
        """
        return united(self._rest())

    def to_ndarray(self, dtype: Any = None, order: str = "K") -> Any:
        """Return the rows that are left as an array of numpy.

        Raises:
            MissingExtraError: If numpy is not installed.
        """
        numpy = _imported("numpy")
        return numpy.array(
            [list(record) for record in self._rest()], dtype=dtype, order=order
        )

    def to_series(
        self, field: int | str = 0, index: Any = None, dtype: Any = None
    ) -> Any:
        """Return a column of the rows that are left as a series of pandas.

        Raises:
            MissingExtraError: If pandas is not installed.
        """
        pandas = _imported("pandas")
        values = [record[field] for record in self._rest()]
        return pandas.Series(values, index=index, dtype=dtype)

    def to_data_frame(
        self, index: Any = None, columns: Any = None, dtype: Any = None
    ) -> Any:
        """Return the rows that are left as a data frame of pandas.

        Args:
            index: Labels of the rows.
            columns: Columns to keep, in order; all as they came without any.
            dtype: Type to force on all values.

        Raises:
            MissingExtraError: If pandas is not installed.
        """
        pandas = _imported("pandas")
        wanted = self.keys() if columns is None else list(columns)
        rows = [record.values(*wanted) for record in self._rest()]
        return pandas.DataFrame(rows, index=index, columns=wanted, dtype=dtype)

    def to_matrix(self, *, mutable: bool = False) -> Any:
        """Return the rows that are left as a matrix of sympy.

        Args:
            mutable: Whether the matrix can be changed.

        Raises:
            MissingExtraError: If sympy is not installed.
        """
        sympy = _imported("sympy")
        made = sympy.MutableMatrix if mutable else sympy.ImmutableMatrix
        return made([list(record) for record in self._rest()])

    def __repr__(self) -> str:
        """Return the next rows as a table of text."""
        table = self.preview()
        return "" if table is None else repr(table)


_AHEAD = 1000
"""Records made at a time, so that what they lack is read with one statement."""
_PREVIEW = 3


def _imported(name: str) -> Any:
    """Import a library that only some results need.

    Raises:
        MissingExtraError: If it is not installed.
    """
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        msg = f"This needs {name}: pip install {name}."
        raise MissingExtraError(msg) from error

"""What py2neo has in `py2neo.cypher`: cursors, records, and the writing of Cypher."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import chain
from typing import Any

import neo4j

from knowtrail.graph.errors import InputError, MissingExtraError
from knowtrail.graph.extras import installing
from knowtrail.graph.py2neo.cypher_writing import PLAIN, value_text
from knowtrail.graph.py2neo.cypher_writing import CypherExpression as CypherExpression
from knowtrail.graph.py2neo.cypher_writing import cypher_escape as cypher_escape
from knowtrail.graph.py2neo.cypher_writing import cypher_join as cypher_join
from knowtrail.graph.py2neo.cypher_writing import cypher_repr as cypher_repr
from knowtrail.graph.py2neo.cypher_writing import cypher_str as cypher_str
from knowtrail.graph.py2neo.data import Subgraph
from knowtrail.graph.py2neo.table import Table

_AHEAD = 1000
"""Records made at a time, so that what they lack is read with one statement."""


class Record(neo4j.Record):
    """A row: a tuple of values that are also found by the names of their columns."""

    def __new__(cls, keys: Iterable[str], values: Iterable[Any]) -> Record:
        """Make a row."""
        make: Any = super().__new__  # the driver's is not typed
        row: Record = make(cls, zip(keys, values, strict=True))
        return row

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return Record(self.keys()[key], tuple.__getitem__(self, key))
        place = self.index(key) if isinstance(key, str) else key
        try:
            return tuple.__getitem__(self, place)
        except IndexError:
            msg = f"There is no column {key}: the row has {len(self)}."
            raise IndexError(msg) from None

    def get(self, key: int | str, default: Any = None) -> Any:
        """Return the value at a position or under a key, or what stands in for it."""
        try:
            return self[key]
        except (IndexError, KeyError):
            return default

    def data(self, *keys: int | str) -> dict[str, Any]:
        """Return a dictionary of all or of some columns."""
        columns = self.keys()
        names = [key if isinstance(key, str) else columns[key] for key in keys]
        return dict(zip(names or columns, self.values(*keys), strict=True))

    def to_subgraph(self) -> Subgraph | None:
        """Return all nodes, relationships and paths as one; None without any."""
        return _united(self)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Record({self.data()!r})"

    def __str__(self) -> str:
        return "\t".join(map(value_text, self))

    def __reduce__(self) -> Any:
        return Record, (self.keys(), tuple(self))


def _united(values: Iterable[Any]) -> Subgraph | None:
    """Return the union of what is a subgraph, also inside lists; None without any."""
    parts = list(_subgraphs(values))
    if len(parts) < 2:
        return parts[0] if parts else None
    edges = dict.fromkeys(chain.from_iterable(part.relationships for part in parts))
    return Subgraph(chain.from_iterable(part.nodes for part in parts), edges)


def _subgraphs(values: Iterable[Any]) -> Iterator[Subgraph]:
    for value in values:
        if isinstance(value, Subgraph):
            yield value
        elif isinstance(value, list | Record):
            yield from _subgraphs(value)
        elif isinstance(value, dict):
            yield from _subgraphs(value.values())


class Cursor(Iterator[Record]):
    """A window on rows that moves forward only, and begins before the first.

    The rows have all been read, and the server's side is closed, when a statement
    returns its cursor; so a cursor may be kept, left or dropped at any row. `current`
    is the row that it is at, None before the first.
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
        self.current: Record | None = None
        self._made: dict[int, Record] = {}

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
        found = self.profile or getattr(self._summary, "plan", None)
        return CypherPlan(found) if found else None

    @property
    def profile(self) -> dict[str, Any] | None:
        """Return the measured plan of a `PROFILE`, None for other statements."""
        return getattr(self._summary, "profile", None)

    def stats(self) -> CypherStats:
        """Return what was changed: `stats().nodes_created`, or by that name."""
        return CypherStats(getattr(self._summary, "counters", None))

    def forward(self, amount: int = 1) -> int:
        """Move on by some rows, as far as there are any, and return by how many."""
        if amount < 0:
            msg = f"forward({amount}): a cursor moves forward only, give 0 or more."
            raise InputError(msg)
        moved = min(amount, len(self._rows) - self._next)
        if moved:
            self._next += moved
            self.current = self._record(self._next - 1)
        return moved

    def next(self) -> Record:
        """Move on by one row and return it; `StopIteration` if there is none."""
        return next(self)

    def __next__(self) -> Record:
        if not self.forward() or self.current is None:
            raise StopIteration
        return self.current

    def __getitem__(self, key: int | str) -> Any:
        if self.current is None:
            raise IndexError("The cursor is at no row yet: move it forward first.")
        return self.current[key]

    def _record(self, index: int) -> Record:
        """Return the record of a row, made with those that follow."""
        if index not in self._made:
            rows = self._rows[index : index + _AHEAD]
            made = (Record(self._keys, self._values(row)) for row in rows)
            self._made = dict(enumerate(made, start=index))
        return self._made[index]

    def _values(self, row: Sequence[Any]) -> Iterable[Any]:
        """Return our values of a row; one of plain values is left as it is."""
        if self._hydrate is None or PLAIN.issuperset(map(type, row)):
            return row
        return [self._hydrate(value) for value in row]

    def _rest(self) -> list[Record]:
        """Return the rows that are left; the cursor moves once all are made."""
        rows = self._rows[self._next :]
        rest = [Record(self._keys, self._values(row)) for row in rows]
        if rest:
            self._next, self.current = len(self._rows), rest[-1]
        return rest

    def evaluate(self, field: int | str = 0) -> Any:
        """Move on by one row and return one value of it, None where there is none."""
        record = next(self, None)
        if record is None or (isinstance(field, int) and field >= len(record)):
            return None
        return record[field]

    def data(self, *keys: int | str) -> list[dict[str, Any]]:
        """Return the rows that are left as dictionaries, of all or of some columns."""
        if keys:
            return [record.data(*keys) for record in self._rest()]
        rows, names = self._rows[self._next :], self._keys
        made = [dict(zip(names, self._values(row), strict=True)) for row in rows]
        if made:
            self._next = len(self._rows)
            self.current = Record(names, made[-1].values())
        return made

    def preview(self, limit: int | None = None) -> Table | None:
        """Return the next rows, 3 or `limit`, as a table, without moving."""
        if not self._keys:
            return None
        stop = min(len(self._rows), self._next + (3 if limit is None else limit))
        rows = [self._record(index) for index in range(self._next, stop)]
        return Table(rows, self.keys())

    def to_table(self) -> Table:
        """Return the rows that are left as a table."""
        return Table(self._rest(), self.keys())

    def to_subgraph(self) -> Subgraph | None:
        """Return all nodes, relationships and paths that are left; None without any."""
        return _united(self._rest())

    def to_ndarray(self, dtype: Any = None, order: str = "K") -> Any:
        """Return the rows that are left as an array of numpy."""
        rows = list(map(list, self._rest()))
        return _imported("numpy").array(rows, dtype=dtype, order=order)

    def to_series(
        self, field: int | str = 0, index: Any = None, dtype: Any = None
    ) -> Any:
        """Return a column of the rows that are left as a series of pandas."""
        pandas = _imported("pandas")
        values = [record[field] for record in self._rest()]
        return pandas.Series(values, index=index, dtype=dtype)

    def to_data_frame(
        self, index: Any = None, columns: Any = None, dtype: Any = None
    ) -> Any:
        """Return the rows that are left, or some columns, as a data frame of pandas."""
        pandas = _imported("pandas")
        wanted = self.keys() if columns is None else list(columns)
        rows = [record.values(*wanted) for record in self._rest()]
        return pandas.DataFrame(rows, index=index, columns=wanted, dtype=dtype)

    def to_matrix(self, *, mutable: bool = False) -> Any:
        """Return the rows that are left as a matrix of sympy."""
        sympy = _imported("sympy")
        made = sympy.MutableMatrix if mutable else sympy.ImmutableMatrix
        return made(list(map(list, self._rest())))

    def __repr__(self) -> str:
        table = self.preview()
        return "" if table is None else repr(table)


def _imported(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtraError(f"This needs {name}: {installing(name)}.") from error


class _Named(dict[str, Any]):
    """Values by name that are attributes too."""

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        msg = f"{type(self).__name__} has no {name!r}: there are {', '.join(self)}."
        raise AttributeError(msg)

    def __repr__(self) -> str:
        return "\n".join(f"{name}: {value!r}" for name, value in self.items())


class CypherStats(_Named):
    """What a statement changed: every count, 0 too, and `contained_updates`."""

    def __init__(self, counters: neo4j.SummaryCounters | None = None) -> None:
        names = sorted(neo4j.SummaryCounters.__annotations__)
        counts = {name: int(getattr(counters, name, 0) or 0) for name in names}
        super().__init__(counts | {"contained_updates": any(counts.values())})


class CypherPlan(_Named):
    """A step of a plan: `operator_type`, `identifiers`, `args` and `children`."""

    def __init__(self, plan: Mapping[str, Any]) -> None:
        super().__init__({
            "operator_type": plan.get("operatorType"),
            "identifiers": list(plan.get("identifiers") or ()),
            "args": dict(plan.get("args") or {}),
            "children": [CypherPlan(child) for child in plan.get("children") or ()],
        })

"""Records: one row of a result, by position and by key."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from graph.py2neo.cypher_writing import value_text
from graph.py2neo.subgraphs import SetView, Subgraph

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Record", "united"]


class Record(tuple[Any, ...]):
    """A row: a tuple of values that are also found by the names of their columns.

    Iteration gives the values; `keys`, `values`, `items`, `get`, `data` and `dict` see
    it as a mapping.

    Args:
        keys: Names of the columns.
        values: As many values.
    """

    _keys: tuple[str, ...]

    def __new__(cls, keys: Iterable[str], values: Iterable[Any]) -> Record:
        """Make a row."""
        record = super().__new__(cls, values)
        record._keys = tuple(keys)
        return record

    def __getitem__(self, key: Any) -> Any:
        """Return the value at a position or under a key, or a record of a slice.

        Raises:
            IndexError: If there is no such position.
            KeyError: If there is no such key.
        """
        if isinstance(key, slice):
            return Record(self._keys[key], tuple.__getitem__(self, key))
        if isinstance(key, str):
            return tuple.__getitem__(self, self.index(key))
        try:
            return tuple.__getitem__(self, key)
        except IndexError:
            msg = f"There is no column {key}: the row has {len(self)}."
            raise IndexError(msg) from None

    def index(self, key: Any, *_: Any) -> int:
        """Return the position of a key, or a position that there is.

        Raises:
            IndexError: If there is no such position.
            KeyError: If there is no such key.
        """
        if isinstance(key, str):
            try:
                return self._keys.index(key)
            except ValueError:
                raise KeyError(key) from None
        if not 0 <= key < len(self):
            raise IndexError(key)
        return int(key)

    def get(self, key: int | str, default: Any = None) -> Any:
        """Return the value at a position or under a key, or what stands in for it."""
        try:
            return self[key]
        except (IndexError, KeyError):
            return default

    def keys(self) -> list[str]:
        """Return the names of the columns."""
        return list(self._keys)

    def values(self, *keys: int | str) -> list[Any]:
        """Return all values, or those of some columns; None for keys that are not."""
        return [value for _, value in self.items(*keys)]

    def items(self, *keys: int | str) -> list[tuple[str, Any]]:
        """Return names with values, of all or of some columns.

        Raises:
            IndexError: If there is no such position.
        """
        if not keys:
            return list(zip(self._keys, self, strict=True))
        return [
            (key, self.get(key))
            if isinstance(key, str)
            else (self._keys[self.index(key)], self[key])
            for key in keys
        ]

    def data(self, *keys: int | str) -> dict[str, Any]:
        """Return a dictionary of all or of some columns."""
        return dict(self.items(*keys))

    def to_subgraph(self) -> Subgraph | None:
        """Return all nodes, relationships and paths as one; None without any."""
        return united(self)

    def __eq__(self, other: object) -> bool:
        """Return whether a record or dictionary has equal values under equal keys."""
        if isinstance(other, Record):
            return self._keys == other._keys and tuple(self) == tuple(other)
        if isinstance(other, dict):
            return self.data() == other
        return tuple(self) == other

    def __ne__(self, other: object) -> bool:
        """Return whether they are not equal."""
        return not self == other

    def __hash__(self) -> int:
        """Return the hash of the values."""
        return hash(tuple(self))

    def __repr__(self) -> str:
        """Return the keys with their values."""
        return f"Record({self.data()!r})"

    def __str__(self) -> str:
        """Return the values as Cypher writes them, with tabs between."""
        return "\t".join(map(value_text, self))

    def __reduce__(self) -> Any:
        """Copy and pickle as keys and values."""
        return Record, (self._keys, tuple(self))


def united(values: Iterable[Any]) -> Subgraph | None:
    """Return the union of what is a subgraph, also inside lists; None without any."""
    parts = list(_subgraphs(values))
    if len(parts) < 2:
        return parts[0] if parts else None
    return Subgraph(
        chain.from_iterable(part.nodes for part in parts),
        SetView(chain.from_iterable(part.relationships for part in parts)),
    )


def _subgraphs(values: Iterable[Any]) -> Iterator[Subgraph]:
    """Yield the values that are subgraphs, also those inside lists and maps."""
    for value in values:
        if isinstance(value, Subgraph):
            yield value
        elif isinstance(value, list | Record):
            yield from _subgraphs(value)
        elif isinstance(value, dict):
            yield from _subgraphs(value.values())

"""Rows of bulk data, and the Cypher that reads their parts.

Lists are sent as they are and read by position; dictionaries are read by key, and are
split beforehand where some of their properties are to be treated differently.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graph.errors import InputError
from graph.py2neo.cypher_writing import cypher_escape
from graph.py2neo.entities import Node
from graph.py2neo.errors import UnsupportedValueError
from graph.py2neo.matching import identity_function

__all__ = ["EndShape", "RowShape", "labels_text", "parsed_key"]

NodeKey = Sequence[Any]
"""`("Person", "name")`: a label or tuple of labels, then the keys of properties."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowShape:
    """How the properties of a row are sent and read.

    Attributes:
        base: Cypher of the properties of a row, such as `r`.
        keys: Keys of the values, where rows are lists; None for dictionaries.
        merged: Keys that a node or relationship is found by.
        kept: Keys that are only set in what is new.
    """

    base: str
    keys: tuple[str, ...] | None = None
    merged: tuple[str, ...] = ()
    kept: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Refuse keys that cannot be.

        Raises:
            InputError: If a key is empty, twice, or not among the keys of the lists.
        """
        for key in (*(self.keys or ()), *self.merged, *self.kept):
            cypher_escape(key)
        keys = self.keys
        if keys is None:
            return
        if len(set(keys)) < len(keys):
            msg = f"The keys {list(keys)} name a property twice: give each once."
            raise InputError(msg)
        missing = [key for key in self.merged if key not in keys]
        if missing:
            msg = f"{missing[0]!r} is to merge by, but is not among the keys {keys}."
            raise InputError(msg)

    @property
    def _split(self) -> bool:
        """Return whether dictionaries are sent in two parts."""
        return self.keys is None and bool(self.kept)

    def value(self, key: str) -> str:
        """Return the Cypher of one value."""
        if self.keys is not None:
            return f"{self.base}[{self.keys.index(key)}]"
        return f"{self.base}{'[0]' if self._split else ''}.{cypher_escape(key)}"

    def pattern(self) -> str:
        """Return the Cypher of the properties to merge by, empty without any."""
        pairs = (f"{cypher_escape(key)}: {self.value(key)}" for key in self.merged)
        return f" {{{', '.join(pairs)}}}" if self.merged else ""

    def always(self) -> str | None:
        """Return the Cypher of the properties that are set in any case."""
        if self.keys is None:
            return f"{self.base}[0]" if self._split else self.base
        return self._map(set(self.keys) - self.kept - set(self.merged))

    def first(self) -> str | None:
        """Return the Cypher of the properties that only what is new gets."""
        if self.keys is None:
            return f"{self.base}[1]" if self._split else None
        return self._map(self.kept - set(self.merged))

    def _map(self, keys: Iterable[str]) -> str | None:
        """Return the Cypher of a map of values of a list, None for an empty one."""
        chosen = set(keys)
        pairs = (
            f"{cypher_escape(key)}: {self.value(key)}"
            for key in self.keys or ()
            if key in chosen
        )
        text = ", ".join(pairs)
        return f"{{{text}}}" if text else None

    def sent(self, row: Any, number: int) -> Any:
        """Return a row as it is sent.

        Args:
            row: A dictionary, or a list of values.
            number: Which row it is, for messages.

        Raises:
            InputError: If it lacks a value to merge by, or has not one for each key.
            TypeError: If it is neither dictionary nor list.
        """
        if self.keys is not None:
            values = self._values(row, number)
            for key in self.merged:
                if values[self.keys.index(key)] is None:
                    self._check(None, key, number)
            return values
        if row is None:
            row = {}
        if type(row) is not dict and not isinstance(row, Mapping):
            msg = f"Row {number} is no dictionary: for lists of values give keys=[...]."
            raise UnsupportedValueError(msg)
        for key in self.merged:
            self._check(row.get(key), key, number)
        if not self._split:
            return row if type(row) is dict else dict(row)
        apart = self.kept - set(self.merged)
        return [
            {key: value for key, value in row.items() if key not in apart},
            {key: value for key, value in row.items() if key in apart},
        ]

    def _values(self, row: Any, number: int) -> list[Any]:
        """Return the values of a row in the order of the keys."""
        keys = self.keys or ()
        if type(row) is list and len(row) == len(keys):
            return row
        if isinstance(row, Mapping):
            return [row.get(key) for key in keys]
        if not isinstance(row, Sequence) or isinstance(row, str | bytes):
            msg = f"Row {number} is no list of values: {row!r}."
            raise UnsupportedValueError(msg)
        if len(row) != len(keys):
            msg = (
                f"Row {number} has {len(row)} values for {len(keys)} keys: give as "
                "many, None where there is none."
            )
            raise InputError(msg)
        return list(row)

    def _check(self, value: Any, key: str, number: int) -> None:
        """Refuse a row that cannot be found by a key."""
        if value is None:
            msg = f"Row {number} has no value for {key!r}, which it is merged by."
            raise InputError(msg)


class EndShape:
    """How an end of a relationship is sent and found.

    Args:
        variable: Variable of the node.
        place: Where it stands in a row.
        key: Label and property keys; None for identities.

    Raises:
        InputError: If the key has no property, or a name is empty.
    """

    def __init__(self, variable: str, place: int, key: NodeKey | None) -> None:
        self._variable = variable
        self._place = place
        self._labels, self._keys = parsed_key(key) if key is not None else ((), ())
        self._known = key is None

    def clause(self, rows: Sequence[Sequence[Any]]) -> str:
        """Return the clause that finds the node.

        Args:
            rows: The rows as they are sent, whose identities must be of one kind.

        Raises:
            TypeError: If identities are of several kinds, or no identities.
        """
        source = f"r[{self._place}]"
        if self._known:
            kind = identity_function([row[self._place] for row in rows])
            return f"MATCH ({self._variable}) WHERE {kind}({self._variable}) = {source}"
        many = len(self._keys) > 1
        pairs = ", ".join(
            f"{cypher_escape(key)}: {source}{f'[{place}]' if many else ''}"
            for place, key in enumerate(self._keys)
        )
        return f"MATCH ({self._variable}{labels_text(self._labels)} {{{pairs}}})"

    def sent(self, end: Any, number: int) -> Any:
        """Return an end as it is sent.

        Args:
            end: An identity, a node, or a value a key.
            number: Which row it is of, for messages.

        Raises:
            InputError: If it is a node that is not stored, or has not a value a key.
        """
        if self._known:
            if isinstance(end, Node):
                if end.identity is None:
                    msg = f"Row {number} has a node that is not stored: {end!r}."
                    raise InputError(msg)
                return end.identity
            return end
        if len(self._keys) == 1:
            return end
        if not isinstance(end, list | tuple) or len(end) != len(self._keys):
            keys = ", ".join(self._keys)
            msg = f"Row {number} finds a node by {keys}: give a value for each."
            raise InputError(msg)
        return list(end)


def parsed_key(key: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return labels and property keys of a key such as `("Person", "name")`.

    Args:
        key: A label or tuple of labels, then the keys of properties.

    Raises:
        InputError: If there is no property, or a name is empty.
    """
    if isinstance(key, str) or not isinstance(key, Sequence) or len(key) < 2:
        msg = (
            f"{key!r} finds no node: give a label and keys, such as ('Person', 'name')."
        )
        raise InputError(msg)
    labels = (key[0],) if isinstance(key[0], str) else tuple(key[0])
    for name in (*labels, *key[1:]):
        cypher_escape(name)
    return labels, tuple(key[1:])


def labels_text(labels: Iterable[str] | None) -> str:
    """Return labels as Cypher writes them behind a variable.

    Args:
        labels: Their names; one text is one label.

    Raises:
        InputError: If one is empty.
    """
    if isinstance(labels, str):
        labels = (labels,)
    return "".join(f":{name}" for name in sorted(map(cypher_escape, labels or ())))

"""Bulk loading: many nodes or relationships from plain data, by UNWIND in batches.

Labels, types and keys are escaped and values are parameters. The first argument of each
function is a transaction: one from `graph.begin()` takes a statement a batch, one from
`graph.auto()` all data in its one statement. A graph in its place commits each batch by
itself, and so takes any amount of data from a generator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from knowtrail.graph.batches import batched
from knowtrail.graph.errors import InputError
from knowtrail.graph.py2neo.cypher_writing import as_map, cypher_escape
from knowtrail.graph.py2neo.data import Node
from knowtrail.graph.py2neo.database import Graph, Transaction
from knowtrail.graph.py2neo.errors import UnsupportedValueError
from knowtrail.graph.py2neo.matching import identity_function, type_names
from knowtrail.graph.py2neo.transactions import BATCH

Names: TypeAlias = "Iterable[str] | None"
Target: TypeAlias = "Transaction | Graph"
_UNWIND = "UNWIND $data AS r"


def create_nodes(
    tx: Target, data: Iterable[Any], labels: Names = None, keys: Names = None
) -> None:
    """Create a node for each row, a dictionary, or a list in the order of `keys`."""
    shape = _Properties(keys)
    text = f"{_UNWIND}\nCREATE (_{_labels_text(labels)}){shape.sets()}"
    _run(tx, data, shape.sent, lambda _: text)


def merge_nodes(
    tx: Target,
    data: Iterable[Any],
    merge_key: Sequence[Any],
    labels: Names = None,
    keys: Names = None,
    preserve: Names = None,
) -> None:
    """Create a node for each row, or change the one that is there.

    `merge_key` is a label, or a tuple of labels, and the property keys by which a node
    is found, such as `("Person", "name")`. `labels` are more labels, which nodes that
    are there get too; what is under the keys of `preserve` stays as it is in these.
    """
    own, merged = _parsed_key(merge_key)
    shape = _Properties(keys, merged, preserve)
    text = f"{_UNWIND}\nMERGE (_{_labels_text(own)}{shape.pattern()}){shape.sets()}"
    if more := _labels_text(labels):
        text += f" SET _{more}"
    _run(tx, data, shape.sent, lambda _: text)


def create_relationships(
    tx: Target,
    data: Iterable[Any],
    rel_type: Any,
    start_node_key: Sequence[Any] | None = None,
    end_node_key: Sequence[Any] | None = None,
    keys: Names = None,
) -> None:
    """Create a relationship for each row, between nodes that are there.

    A row is a triple of start node, properties and end node. Nodes are given by the
    values of their key, such as `("Person", "name")`, or as nodes or identities where
    there is no key; properties as a dictionary, or a list of values in the order of
    `keys`. A row whose nodes are not there creates nothing.
    """
    types = _one_type(rel_type)
    shape = _Properties(keys)
    write = f"CREATE (a)-[_:{types}]->(b){shape.sets()}"
    _relate(tx, data, shape, write, start_node_key, end_node_key)


def merge_relationships(
    tx: Target,
    data: Iterable[Any],
    merge_key: Any,
    start_node_key: Sequence[Any] | None = None,
    end_node_key: Sequence[Any] | None = None,
    keys: Names = None,
    preserve: Names = None,
) -> None:
    """Create a relationship for each row, or change the one that is there.

    `merge_key` is a type, or a tuple of a type and the property keys by which a
    relationship between two nodes is found, such as `("KNOWS", "since")`; what is under
    the keys of `preserve` stays as it is in those that are there.
    """
    parts = tuple(merge_key) if isinstance(merge_key, list | tuple) else (merge_key,)
    if not parts:
        raise InputError("There is nothing to merge by: give a type, such as 'KNOWS'.")
    types = _one_type(parts[0])
    shape = _Properties(keys, parts[1:], preserve)
    write = f"MERGE (a)-[_:{types}{shape.pattern()}]->(b){shape.sets()}"
    _relate(tx, data, shape, write, start_node_key, end_node_key)


def _relate(
    tx: Target,
    data: Iterable[Any],
    shape: _Properties,
    write: str,
    *keys: Sequence[Any] | None,
) -> None:
    start, end = _End("a", "s", keys[0]), _End("b", "e", keys[1])

    def sent(row: Any, number: int) -> list[Any]:
        if not isinstance(row, list | tuple) or len(row) != 3:
            msg = f"Row {number} is no triple of start node, properties, end node."
            raise InputError(msg)
        a, r, b = row
        return [start.sent(a, number), shape.sent(r, number), end.sent(b, number)]

    def text(rows: Sequence[Any]) -> str:
        ends = (part.clause([r[i] for r in rows]) for i, part in ((0, start), (2, end)))
        parts = "WITH r[0] AS s, r[1] AS r, r[2] AS e"
        return "\n".join((_UNWIND, parts, *ends, write))

    _run(tx, data, sent, text)


def _run(
    tx: Target,
    data: Iterable[Any],
    sent: Callable[[Any, int], Any],
    text: Callable[[Sequence[Any]], str],
) -> None:
    """Send rows with the statement that takes them, all of them where it is one."""
    rows = (sent(row, number) for number, row in enumerate(data, start=1))
    alone = isinstance(tx, Transaction) and tx._auto
    for batch in [list(rows)] if alone else batched(rows, BATCH):
        tx.run(text(batch), {"data": batch})


class _Properties:
    """How the properties of a row are sent and read."""

    # Lists are sent as they are and read by position, dictionaries by key.

    def __init__(
        self, keys: Names, merged: Sequence[str] = (), preserve: Names = None
    ) -> None:
        if isinstance(keys, str):
            msg = f"keys={keys!r} is one text: give a list, such as keys=[{keys!r}]."
            raise InputError(msg)
        kept = (preserve,) if isinstance(preserve, str) else preserve or ()
        self._merged = merged
        self._keys = None if keys is None else tuple(keys)
        self._kept = dict.fromkeys(key for key in kept if key not in merged)
        names = self._keys or ()
        for key in (*names, *merged, *self._kept):
            cypher_escape(key)
        if len(set(names)) < len(names):
            msg = f"The keys {list(names)} name a property twice: give each once."
            raise InputError(msg)
        missing = [key for key in merged if key not in names]
        if missing and self._keys is not None:
            msg = f"{missing[0]!r} is to merge by, but is not among the keys {names}."
            raise InputError(msg)

    def _map(self, keys: Iterable[str]) -> str:
        if self._keys is None:
            return as_map((key, f"r.{cypher_escape(key)}") for key in keys)
        return as_map((key, f"r[{self._keys.index(key)}]") for key in keys)

    def pattern(self) -> str:
        """Return the Cypher of the properties to merge by, empty without any."""
        return f" {self._map(self._merged)}" if self._merged else ""

    def sets(self) -> str:
        """Return the clauses that set properties: of what is new, and of all."""
        if self._keys is None and not self._kept:
            return " SET _ += r"
        if self._keys is None:
            names = map(cypher_escape, self._kept)
            stay = "".join(f", {name}: _.{name}" for name in names)
            return f" ON CREATE SET _ += r ON MATCH SET _ += r {{.*{stay}}}"
        ours = [key for key in self._keys if key not in self._merged]
        first = [key for key in ours if key in self._kept]
        always = [key for key in ours if key not in self._kept]
        clauses = {" ON CREATE SET _ += ": first, " SET _ += ": always}
        return "".join(text + self._map(some) for text, some in clauses.items() if some)

    def sent(self, row: Any, number: int) -> Any:
        if self._keys is not None:
            row = self._values(row, self._keys, number)
        elif row is None:
            row = {}
        elif type(row) is not dict:
            if not isinstance(row, Mapping):
                msg = f"Row {number} is no dictionary: for lists give keys=[...]."
                raise UnsupportedValueError(msg)
            row = dict(row)
        for key in self._merged:
            value = row.get(key) if self._keys is None else row[self._keys.index(key)]
            if value is None:
                msg = f"Row {number} has no value for {key!r}, which it is merged by."
                raise InputError(msg)
        return row

    @staticmethod
    def _values(row: Any, keys: tuple[str, ...], number: int) -> list[Any]:
        if type(row) is list and len(row) == len(keys):
            return row
        if isinstance(row, Mapping) and not isinstance(row, tuple):  # no record
            return [row.get(key) for key in keys]
        if not isinstance(row, Sequence) or isinstance(row, str | bytes):
            raise UnsupportedValueError(f"Row {number} is no list of values: {row!r}.")
        if len(row) != len(keys):
            raise InputError(
                f"Row {number} has {len(row)} values for {len(keys)} keys: give as "
                "many, None where there is none."
            )
        return list(row)


class _End:
    """How an end of a relationship, in Cypher `source`, is sent and found."""

    def __init__(self, variable: str, source: str, key: Sequence[Any] | None) -> None:
        self._variable, self._source = variable, source
        self._labels, self._keys = ((), ()) if key is None else _parsed_key(key)

    def clause(self, ends: Sequence[Any]) -> str:
        """Return the clause that finds the node; identities must be of one kind."""
        node, source = self._variable, self._source
        if not self._keys:
            return f"MATCH ({node}) WHERE {identity_function(ends)}({node}) = {source}"
        places = [f"{source}[{place}]" for place in range(len(self._keys))]
        values = places if len(places) > 1 else [source]
        found = as_map(zip(self._keys, values, strict=True))
        return f"MATCH ({node}{_labels_text(self._labels)} {found})"

    def sent(self, end: Any, number: int) -> Any:
        """Return an end, an identity, node or value a key, as it is sent."""
        if not self._keys and isinstance(end, Node):
            if end.identity is None:
                msg = f"Row {number} has a node that is not stored: {end!r}."
                raise InputError(msg)
            return end.identity
        if len(self._keys) < 2:
            return end
        if not isinstance(end, list | tuple) or len(end) != len(self._keys):
            keys = ", ".join(self._keys)
            msg = f"Row {number} finds a node by {keys}: give a value for each."
            raise InputError(msg)
        return list(end)


def _parsed_key(key: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return labels and property keys of a key such as `("Person", "name")`."""
    if isinstance(key, str) or not isinstance(key, Sequence) or len(key) < 2:
        raise InputError(
            f"{key!r} finds no node: give a label and keys, such as ('Person', 'name')."
        )
    labels = (key[0],) if isinstance(key[0], str) else tuple(key[0])
    for name in (*labels, *key[1:]):
        cypher_escape(name)
    return labels, tuple(key[1:])


def _labels_text(labels: Names) -> str:
    if isinstance(labels, str):
        labels = (labels,)
    return "".join(f":{name}" for name in sorted(map(cypher_escape, labels or ())))


def _one_type(rel_type: Any) -> str:
    if rel_type is None or isinstance(rel_type, list | tuple | set | frozenset):
        raise UnsupportedValueError(f"{rel_type!r} is not one type of relationships.")
    return type_names(rel_type)[0]

"""Bulk loading: many nodes or relationships from plain data, by UNWIND in batches.

Labels, types and keys are escaped and values are parameters. The first argument of each
function is a transaction: one from `graph.begin()` takes a statement a batch, one from
`graph.auto()` all data in its one statement. A graph in its place commits each batch by
itself, and so takes any amount of data from a generator.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from graph.errors import InputError
from graph.py2neo.bulk_rows import EndShape, RowShape, labels_text, parsed_key
from graph.py2neo.errors import UnsupportedValueError
from graph.py2neo.graph import Graph
from graph.py2neo.matches import type_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from graph.py2neo.transactions import Transaction

__all__ = ["create_nodes", "create_relationships", "merge_nodes", "merge_relationships"]

BATCH = 10_000
"""Rows that a statement takes at a time, where it need not take all."""

_UNWIND = "UNWIND $data AS r"


def create_nodes(
    tx: Transaction | Graph,
    data: Iterable[Any],
    labels: Iterable[str] | None = None,
    keys: Iterable[str] | None = None,
) -> None:
    """Create a node for each row.

    Args:
        tx: Where to do it, see the module.
        data: Dictionaries of properties, or lists of values in the order of `keys`.
        labels: Labels of all nodes.
        keys: Property keys, for lists.

    Raises:
        ClientError: If the server refuses it, as when a constraint is broken.
        InputError: If a row has not a value for each key, or a name is empty.
        TypeError: If a row is neither dictionary nor list.
    """
    shape = RowShape(base="r", keys=_keys(keys))
    create = f"CREATE (_{labels_text(labels)})"
    text = f"{_UNWIND}\n{create}{_set('', shape.always())}"
    _run(tx, data, shape.sent, lambda _: text)


def merge_nodes(
    tx: Transaction | Graph,
    data: Iterable[Any],
    merge_key: Sequence[Any],
    labels: Iterable[str] | None = None,
    keys: Iterable[str] | None = None,
    preserve: Iterable[str] | None = None,
) -> None:
    """Create a node for each row, or change the one that is there.

    Args:
        tx: Where to do it, see the module.
        data: Dictionaries of properties, or lists of values in the order of `keys`.
        merge_key: Label, or tuple of labels, and the property keys by which a node is
            found, such as `("Person", "name")`.
        labels: More labels, which nodes that are there get too.
        keys: Property keys, for lists.
        preserve: Property keys that stay as they are in nodes that are there.

    Raises:
        ClientError: If the server refuses it.
        InputError: If there is no key to merge by, or a row has no value for one, or
            not a value for each key.
        TypeError: If a row is neither dictionary nor list.
    """
    own, merged = parsed_key(merge_key)
    shape = _shape("r", keys, merged, preserve)
    more = labels_text(labels)
    text = (
        f"{_UNWIND}\nMERGE (_{labels_text(own)}{shape.pattern()})"
        f"{_set('ON CREATE ', shape.first())}{_set('', shape.always())}"
        f"{f' SET _{more}' if more else ''}"
    )
    _run(tx, data, shape.sent, lambda _: text)


def create_relationships(
    tx: Transaction | Graph,
    data: Iterable[Any],
    rel_type: Any,
    start_node_key: Sequence[Any] | None = None,
    end_node_key: Sequence[Any] | None = None,
    keys: Iterable[str] | None = None,
) -> None:
    """Create a relationship for each row, between nodes that are there.

    A row whose nodes are not there creates nothing.

    Args:
        tx: Where to do it, see the module.
        data: Triples of start node, properties and end node. Nodes are given by the
            values of their key, or as nodes or identities where there is no key;
            properties as a dictionary, or a list of values in the order of `keys`.
        rel_type: Type of all relationships.
        start_node_key: Label, or tuple of labels, and the property keys by which a
            start node is found, such as `("Person", "name")`.
        end_node_key: The same for end nodes.
        keys: Property keys, for lists.

    Raises:
        ClientError: If the server refuses it.
        InputError: If a row is no triple, lacks a value, or a name is empty.
        TypeError: If something is no identity.
    """
    types = _one_type(rel_type)
    shape = RowShape(base="r[1]", keys=_keys(keys))
    write = f"CREATE (a)-[_:{types}]->(b){_set('', shape.always())}"
    _relate(tx, data, shape, write, start_node_key, end_node_key)


def merge_relationships(
    tx: Transaction | Graph,
    data: Iterable[Any],
    merge_key: Any,
    start_node_key: Sequence[Any] | None = None,
    end_node_key: Sequence[Any] | None = None,
    keys: Iterable[str] | None = None,
    preserve: Iterable[str] | None = None,
) -> None:
    """Create a relationship for each row, or change the one that is there.

    Args:
        tx: Where to do it, see the module.
        data: As for `create_relationships`.
        merge_key: A type, or a tuple of a type and the property keys by which a
            relationship between two nodes is found, such as `("KNOWS", "since")`.
        start_node_key: As for `create_relationships`.
        end_node_key: As for `create_relationships`.
        keys: Property keys, for lists.
        preserve: Property keys that stay as they are in relationships that are there.

    Raises:
        ClientError: If the server refuses it.
        InputError: If a row is no triple, lacks a value, or a name is empty.
        TypeError: If something is no identity.
    """
    parts = tuple(merge_key) if isinstance(merge_key, list | tuple) else (merge_key,)
    if not parts:
        msg = "There is nothing to merge by: give a type, such as 'KNOWS'."
        raise InputError(msg)
    types = _one_type(parts[0])
    shape = _shape("r[1]", keys, parts[1:], preserve)
    write = (
        f"MERGE (a)-[_:{types}{shape.pattern()}]->(b)"
        f"{_set('ON CREATE ', shape.first())}{_set('', shape.always())}"
    )
    _relate(tx, data, shape, write, start_node_key, end_node_key)


def _relate(
    tx: Transaction | Graph,
    data: Iterable[Any],
    shape: RowShape,
    write: str,
    *keys: Sequence[Any] | None,
) -> None:
    """Write a relationship for each row."""
    start, end = EndShape("a", 0, keys[0]), EndShape("b", 2, keys[1])

    def sent(row: Any, number: int) -> list[Any]:
        if not isinstance(row, list | tuple) or len(row) != 3:
            msg = f"Row {number} is no triple of start node, properties, end node."
            raise InputError(msg)
        return [
            start.sent(row[0], number),
            shape.sent(row[1], number),
            end.sent(row[2], number),
        ]

    def text(rows: Sequence[Any]) -> str:
        return "\n".join((_UNWIND, start.clause(rows), end.clause(rows), write))

    _run(tx, data, sent, text)


def _run(
    tx: Transaction | Graph,
    data: Iterable[Any],
    sent: Callable[[Any, int], Any],
    text: Callable[[Sequence[Any]], str],
) -> None:
    """Send rows with the statement that takes them."""
    rows = (sent(row, number) for number, row in enumerate(data, start=1))
    one = not isinstance(tx, Graph) and tx._auto
    for batch in [list(rows)] if one else _batches(rows):
        tx.run(text(batch), {"data": batch})


def _batches(rows: Iterator[Any]) -> Iterator[list[Any]]:
    """Yield the rows in lists; nothing where there are none."""
    while batch := list(islice(rows, BATCH)):
        yield batch


def _shape(
    base: str,
    keys: Iterable[str] | None,
    merged: Sequence[str],
    preserve: Iterable[str] | None,
) -> RowShape:
    """Return the shape of rows that are merged."""
    kept = (preserve,) if isinstance(preserve, str) else preserve or ()
    return RowShape(
        base=base, keys=_keys(keys), merged=tuple(merged), kept=frozenset(kept)
    )


def _keys(keys: Iterable[str] | None) -> tuple[str, ...] | None:
    """Return the keys of lists of values, None where rows are dictionaries.

    Raises:
        InputError: If they are one text.
    """
    if isinstance(keys, str):
        msg = f"keys={keys!r} is one text: give a list, such as keys=[{keys!r}]."
        raise InputError(msg)
    return None if keys is None else tuple(keys)


def _set(when: str, properties: str | None) -> str:
    """Return the clause that sets properties, empty without any."""
    return f" {when}SET _ += {properties}" if properties else ""


def _one_type(rel_type: Any) -> str:
    """Return the escaped name of a type.

    Raises:
        TypeError: If it is not one type.
    """
    if rel_type is None or isinstance(rel_type, list | tuple | set | frozenset):
        msg = f"{rel_type!r} is not one type of relationships."
        raise UnsupportedValueError(msg)
    return type_names(rel_type)[0]

"""What a transaction does with subgraphs: create, merge, push, pull, delete.

Labels, types and property keys travel as parameters wherever Neo4j takes them so; the
primary label and key of a merge and the type of a relationship are written into the
statement, escaped, so that indexes are used.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeVar

from graph.errors import InputError
from graph.py2neo.cypher_writing import cypher_escape
from graph.py2neo.entities import Node
from graph.py2neo.errors import ClientError, UniquenessError
from graph.py2neo.relationships import Relationship
from graph.py2neo.subgraphs import SetView, Subgraph
from graph.statements import statement

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from graph.py2neo.entities import Entity
    from graph.py2neo.transactions import Transaction

__all__ = ["create", "delete", "exists", "merge", "pull", "push", "separate"]

T = TypeVar("T")
BATCH = 10_000
"""Rows that one statement is given."""


def create(tx: Transaction, subgraph: Subgraph) -> None:
    """Store what is local, see `Transaction.create`."""
    nodes, edges = _members(tx, subgraph, "create")
    local = [node for node in nodes if not node._bound_to(tx.graph)]
    for node in local:
        _check_labels(node)
    rows = [{"labels": sorted(n.labels), "properties": dict(n)} for n in local]
    _bind_rows(tx, local, rows, statement("py2neo/create_nodes"))
    _join(tx, edges)


def merge(
    tx: Transaction,
    subgraph: Subgraph,
    primary_label: str | None = None,
    primary_key: str | tuple[str, ...] | None = None,
) -> None:
    """Store what is local over what is like it, see `Transaction.merge`."""
    nodes, edges = _members(tx, subgraph, "merge")
    wishes = [
        (*_merge_key(node, primary_label, primary_key), node)
        for node in nodes
        if not node._bound_to(tx.graph)
    ]
    wishes.sort(key=lambda wish: wish[:2])
    for (label, keys), group in groupby(wishes, key=lambda wish: wish[:2]):
        local = [node for _, _, node in group]
        pattern = ", ".join(
            f"{cypher_escape(key)}: row.key[{place}]" for place, key in enumerate(keys)
        )
        text = (
            "UNWIND $rows AS row "
            f"MERGE (n:{cypher_escape(label)} {{{pattern}}}) "
            "SET n:$(row.labels), n += row.properties "
            "RETURN collect({index: row.index, identity: elementId(n)}) AS answers"
        )
        rows = [
            {
                "labels": sorted(n.labels),
                "properties": dict(n),
                "key": [n[key] for key in keys],
            }
            for n in local
        ]
        _bind_rows(tx, local, rows, text)
    _join(tx, edges)


def _merge_key(
    node: Node, label: str | None, key: str | tuple[str, ...] | None
) -> tuple[str, tuple[str, ...]]:
    """Return the label and keys by which a node is looked for.

    Raises:
        InputError: If one of them is not known.
    """
    label = node.__primarylabel__ or label
    key = node.__primarykey__ or key
    keys = tuple(key) if isinstance(key, list | tuple) else (key,) if key else ()
    if not label or not keys:
        msg = (
            "Primary label and primary key are required for MERGE operation: write "
            f'graph.merge(subgraph, "Label", "key"); {node!r} has none.'
        )
        raise InputError(msg)
    _check_labels(node)
    return label, keys


def _join(tx: Transaction, edges: Iterable[Relationship]) -> None:
    """Store local relationships, over those of the same type between the same nodes.

    Raises:
        ClientError: If a node at an end is not stored any more.
        InputError: If a type is empty.
        UniquenessError: If there are several such relationships.
    """
    local = [edge for edge in edges if not edge._bound_to(tx.graph)]
    local.sort(key=lambda edge: type(edge).__name__)
    for name, group in groupby(local, key=lambda edge: type(edge).__name__):
        members = list(group)
        text = (
            "UNWIND $rows AS row "
            "MATCH (a) WHERE elementId(a) = row.start "
            "MATCH (b) WHERE elementId(b) = row.end "
            f"MERGE (a)-[r:{cypher_escape(name)}]->(b) "
            "SET r += row.properties "
            "RETURN collect({index: row.index, identity: elementId(r)}) AS answers"
        )
        rows = [
            {
                "start": edge.start_node.identity,
                "end": edge.end_node.identity,
                "properties": dict(edge),
            }
            for edge in members
        ]
        _bind_rows(tx, members, rows, text)


def _bind_rows(
    tx: Transaction,
    entities: Sequence[Entity],
    rows: Sequence[dict[str, Any]],
    text: str,
) -> None:
    """Run a statement over rows and bind each entity to the identity of its row.

    Raises:
        ClientError: If a row gave nothing.
        UniquenessError: If a row gave several.
    """
    identities = _answers(tx, text, entities, rows)
    for entity, answer in zip(entities, identities, strict=True):
        tx._rebind(entity, tx.graph, answer["identity"])


def _answers(
    tx: Transaction,
    text: str,
    entities: Sequence[Entity],
    rows: Sequence[dict[str, Any]],
) -> list[dict[str, Any]]:
    """Run a statement over rows in batches and return the answer to each row."""
    numbered = [{"index": index, **row} for index, row in enumerate(rows)]
    answers: dict[int, dict[str, Any]] = {}
    for batch in _batches(numbered):
        for answer in tx.evaluate(text, {"rows": batch}) or ():
            index = answer["index"]
            if answers.setdefault(index, answer) is not answer:
                msg = (
                    f"Several stored ones are like {entities[index]!r}, and merging "
                    "needs at most one: delete the others, or use another key."
                )
                raise UniquenessError(msg)
    for index, entity in enumerate(entities):
        if index not in answers:
            raise _gone(entity)
    return [answers[index] for index in range(len(entities))]


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield slices that one statement can be given."""
    for start in range(0, len(items), BATCH):
        yield items[start : start + BATCH]


def _gone(entity: Entity) -> ClientError:
    """Return the error for an entity that is not stored any more."""
    msg = (
        f"{entity!r} with identity {entity.identity!r} is not in the database: it was "
        "deleted."
    )
    if entity.identity is None:
        msg = f"A node at an end of {entity!r} is not in the database: it was deleted."
    return ClientError(msg, "Neo.ClientError.Statement.EntityNotFound")


def push(tx: Transaction, subgraph: Subgraph) -> None:
    """Change what is stored, see `Transaction.push`."""
    nodes, edges = _bound_members(tx, subgraph, "push")
    for node in nodes:
        _check_labels(node)
    rows = [
        {
            "identity": n.identity,
            "labels": sorted(n.labels),
            "gone": sorted(n._gone),
            "properties": dict(n),
        }
        for n in nodes
    ]
    _answers(tx, statement("py2neo/push_nodes"), nodes, rows)
    for node in nodes:
        tx._forget_gone(node)
    rows = [{"identity": edge.identity, "properties": dict(edge)} for edge in edges]
    _answers(tx, statement("py2neo/push_relationships"), edges, rows)


def pull(tx: Transaction, subgraph: Subgraph) -> None:
    """Change what is local, see `Transaction.pull`."""
    nodes, edges = _bound_members(tx, subgraph, "pull")
    rows = [{"identity": node.identity} for node in nodes]
    answers = _answers(tx, statement("py2neo/pull_nodes"), nodes, rows)
    for node, answer in zip(nodes, answers, strict=True):
        node._stale = None
        node._labels = dict.fromkeys(answer["labels"])
        node._gone = frozenset()
        node._replace(answer["properties"])
    rows = [{"identity": edge.identity} for edge in edges]
    answers = _answers(tx, statement("py2neo/pull_relationships"), edges, rows)
    for edge, answer in zip(edges, answers, strict=True):
        edge._replace(answer["properties"])


def delete(tx: Transaction, subgraph: Subgraph) -> None:
    """Delete what is stored, see `Transaction.delete`."""
    nodes, edges = _members(tx, subgraph, "delete")
    _delete(tx, edges, "py2neo/delete_relationships")
    _delete(tx, nodes, "py2neo/delete_nodes")


def separate(tx: Transaction, subgraph: Subgraph) -> None:
    """Delete stored relationships, see `Transaction.separate`."""
    _, edges = _members(tx, subgraph, "separate")
    _delete(tx, edges, "py2neo/delete_relationships")


def _delete(tx: Transaction, entities: Sequence[Entity], name: str) -> None:
    """Delete the bound ones of some entities, and make them local."""
    bound = [entity for entity in entities if entity._bound_to(tx.graph)]
    for entity in bound:
        entity._freshen()
    for batch in _batches(bound):
        tx.run(statement(name), identities=[entity.identity for entity in batch])
    for entity in bound:
        tx._rebind(entity, None, None)


def exists(tx: Transaction, subgraph: Subgraph) -> bool:
    """Return whether all is stored, see `Transaction.exists`."""
    nodes, edges = _members(tx, subgraph, "find")
    parts: tuple[tuple[Sequence[Entity], str], ...] = (
        (nodes, "py2neo/count_nodes"),
        (edges, "py2neo/count_relationships"),
    )
    for entities, name in parts:
        if not all(entity._bound_to(tx.graph) for entity in entities):
            return False
        for batch in _batches(entities):
            identities = [entity.identity for entity in batch]
            if tx.evaluate(statement(name), identities=identities) != len(batch):
                return False
    return True


def _members(
    tx: Transaction, subgraph: Subgraph, wish: str
) -> tuple[list[Node], list[Relationship]]:
    """Return the nodes and relationships of a subgraph, each once.

    Raises:
        TypeError: If it is no subgraph.
    """
    if not isinstance(subgraph, Subgraph):
        msg = (
            f"Cannot {wish} {subgraph!r}: give a node, relationship, path or subgraph."
        )
        raise TypeError(msg)
    nodes, edges = SetView(subgraph.nodes), SetView(subgraph.relationships)
    for members, kind in ((nodes, Node), (edges, Relationship)):
        for member in members:
            if not isinstance(member, kind):
                msg = f"Cannot {wish} {member!r}: it is no {kind.__name__}."
                raise TypeError(msg)
    return list(nodes), list(edges)


def _bound_members(
    tx: Transaction, subgraph: Subgraph, wish: str
) -> tuple[list[Node], list[Relationship]]:
    """Return what of a subgraph is bound to the graph of a transaction.

    Raises:
        InputError: If nothing is.
        TypeError: If it is no subgraph.
    """
    nodes, edges = _members(tx, subgraph, wish)
    nodes = [node for node in nodes if node._bound_to(tx.graph)]
    edges = [edge for edge in edges if edge._bound_to(tx.graph)]
    if not nodes and not edges:
        msg = (
            f"There is nothing to {wish}: {subgraph!r} is not bound to this graph; "
            "create or merge it first."
        )
        raise InputError(msg)
    return nodes, edges


def _check_labels(node: Node) -> None:
    """Refuse labels that Neo4j refuses, before anything is run."""
    for label in node.labels:
        cypher_escape(label)

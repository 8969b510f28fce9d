"""Values of the driver as those of this package: nodes, relationships and paths.

Temporal values stay those of `neo4j.time`, points those of `neo4j.spatial`.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from graph.py2neo.entities import Node
from graph.py2neo.relationships import Relationship
from graph.py2neo.walkables import Path
from graph.statements import statement

if TYPE_CHECKING:
    from collections.abc import Iterable

    import neo4j.graph

    from graph.py2neo.graph import Graph
    from graph.py2neo.transactions import Transaction

__all__ = ["PLAIN", "Hydrant"]


BATCH = 10_000
"""Nodes that one statement reads."""

PLAIN = frozenset({type(None), bool, int, float, str})
"""Types of values that stay what they are."""


class Hydrant:
    """Makes our entities of those of one result.

    A stored node or relationship becomes one object in a result, however often it
    stands there. The ends of a relationship whose nodes are not in the result are
    known by identity only; all that were met are read when one is asked for something.

    Args:
        graph: Where the entities are bound to.
        tx: The transaction of the result, which sees what others do not see yet.
    """

    def __init__(self, graph: Graph, tx: Transaction | None = None) -> None:
        from neo4j import graph as driver

        self._driver = driver
        self._graph = graph
        self._tx = None if tx is None else weakref.ref(tx)
        self._nodes: dict[str, Node] = {}
        self._edges: dict[str, Relationship] = {}
        self._stale: dict[str, Node] = {}

    def value(self, value: Any) -> Any:
        """Return a value of the driver as one of ours, also inside lists and maps."""
        kind = type(value)
        if kind in PLAIN:
            return value
        if kind is list:
            return [self.value(item) for item in value]
        if kind is dict:
            return {key: self.value(item) for key, item in value.items()}
        if kind is self._driver.Node:
            return self.node(value)
        if isinstance(value, self._driver.Relationship):
            return self.edge(value)
        if isinstance(value, self._driver.Path):
            return self._path(value)
        return value

    def node(self, value: neo4j.graph.Node) -> Node:
        """Return the node for one of the driver."""
        identity = value.element_id
        node = self._nodes.get(identity)
        if node is None:
            node = Node._of(value.labels, dict(value.items()))
            node._bind(self._graph, identity)
            self._nodes[identity] = node
            return node
        if node._stale is not None:
            _fill(node, value.labels, dict(value.items()))
            self._stale.pop(identity, None)
        return node

    def edge(self, value: neo4j.graph.Relationship) -> Relationship:
        """Return the relationship for one of the driver."""
        identity = value.element_id
        edge = self._edges.get(identity)
        if edge is None:
            ends = (self._end(value.nodes[0]), self._end(value.nodes[1]))
            edge = Relationship._of(value.type, ends, dict(value.items()))
            edge._bind(self._graph, identity)
            self._edges[identity] = edge
        return edge

    def _end(self, value: neo4j.graph.Node | None) -> Node:
        """Return the end of a relationship, known by identity unless it was met."""
        identity = "" if value is None else value.element_id
        node = self._nodes.get(identity)
        if node is None:
            if value is not None and (value.labels or len(value)):
                return self.node(value)
            node = Node._of((), {})
            node._bind(self._graph, identity)
            node._stale = self
            self._nodes[identity] = self._stale[identity] = node
        return node

    def read_stale(self) -> None:
        """Read the nodes that are known by identity only; deleted ones stay empty."""
        stale = list(self._stale.values())
        text = statement("py2neo/pull_nodes")
        for start in range(0, len(stale), BATCH):
            batch = stale[start : start + BATCH]
            rows = [
                {"index": index, "identity": node.identity}
                for index, node in enumerate(batch)
            ]
            for answer in self._read(text, {"rows": rows}):
                _fill(batch[answer["index"]], answer["labels"], answer["properties"])
        for node in stale:
            node._stale = None
        self._stale.clear()

    def _read(self, text: str, parameters: dict[str, Any]) -> Any:
        """Read in the transaction of the result, as long as that lasts."""
        tx = None if self._tx is None else self._tx()
        if tx is not None and not tx.closed:
            return tx.evaluate(text, parameters)
        return self._graph.query(text, parameters).evaluate()

    def _path(self, value: neo4j.graph.Path) -> Path:
        """Return the path for one of the driver."""
        nodes = [self.node(node) for node in value.nodes]
        sequence: list[Any] = [nodes[0]]
        for edge, node in zip(value.relationships, nodes[1:], strict=True):
            sequence += [self.edge(edge), node]
        return Path._walked(sequence)


def _fill(node: Node, labels: Iterable[str], properties: dict[str, Any]) -> None:
    """Give a node what is stored of it."""
    node._labels = dict.fromkeys(labels)
    node._replace(properties)
    node._stale = None  # last: another thread may look

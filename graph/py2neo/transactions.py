"""Transactions: statements and changes that take effect together, or not at all.

Labels, types and property keys travel as parameters wherever Neo4j takes them so; the
primary label and key of a merge and the type of a relationship are written into the
statement, escaped, so that indexes are used. Temporal values stay those of
`neo4j.time`, points those of `neo4j.spatial`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from itertools import groupby, repeat
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

import neo4j.graph

from knowtrail.graph.batches import batched
from knowtrail.graph.db.statements import statement
from knowtrail.graph.errors import InputError
from knowtrail.graph.py2neo.cypher import Cursor
from knowtrail.graph.py2neo.cypher_writing import PLAIN, as_map, cypher_escape, sendable
from knowtrail.graph.py2neo.data import Entity, Node, Path, Relationship, Subgraph
from knowtrail.graph.py2neo.errors import (
    ClientError,
    TransactionFinished,
    UniquenessError,
    translated,
)

if TYPE_CHECKING:
    from knowtrail.graph.py2neo.database import Graph

BATCH = 10_000
"""Rows that one statement is given."""
F = TypeVar("F", bound=Callable[..., Any])
Values: TypeAlias = "Mapping[str, Any] | None"


def _lasting(change: F) -> F:
    """Make a change here; an auto-commit transaction makes it in another."""

    @wraps(change)
    def make(self: Transaction, *args: Any, **kwargs: Any) -> Any:
        self._check_open(change.__name__)
        if not self._auto:
            return change(self, *args, **kwargs)
        self._finish()
        with Transaction(self.graph, readonly=self.readonly) as tx:
            return change(tx, *args, **kwargs)

    return make  # type: ignore[return-value]


class Transaction:
    """Statements and changes that take effect together, or not at all.

    `Graph.begin` and `Graph.auto`, whose first statement is all of it, make one. As a
    context manager it commits at the end of the block, and rolls back when the block
    fails. A failed statement finishes it. What a rolled back transaction had created is
    local again; what it had deleted is bound again. Not to be shared between threads.
    What is no node, relationship, path or subgraph is a `TypeError`.
    """

    def __init__(
        self,
        graph: Graph,
        autocommit: bool = False,
        readonly: bool = False,
        *,
        _bolt: neo4j.ManagedTransaction | None = None,
    ) -> None:
        self.graph = graph
        self._auto = autocommit
        self.readonly = readonly
        self._finished = False
        self._journal: list[Callable[[], object]] = []
        self._bolt: Any = _bolt
        self._managed = _bolt is not None
        if self._managed:  # the driver commits it, and tries it again
            return
        self._session = graph._session(readonly=readonly)
        self._closing = weakref.finalize(self, self._session.close)
        if not autocommit:
            with translated(graph.service.uri):
                try:
                    self._bolt = self._session.begin_transaction()
                except BaseException:
                    self._finish()
                    raise

    @property
    def closed(self) -> bool:
        """Return whether it was committed, rolled back, or failed."""
        return self._finished

    def finished(self) -> bool:
        """Return whether it was committed, rolled back, or failed."""
        return self._finished

    def _check_open(self, wish: str) -> None:
        if self._finished:
            raise TransactionFinished(
                f"Cannot {wish} in a finished transaction: begin a new one with "
                "graph.begin()."
            )

    def _finish(self) -> None:
        self._finished = True
        if not self._managed:
            self._closing()

    def run(self, /, cypher: str, parameters: Values = None, **more: Any) -> Cursor:
        """Run a statement and return its rows."""
        self._check_open("run a statement")
        if not isinstance(cypher, str):
            msg = f"A statement is text, not {type(cypher).__name__}: {cypher!r}."
            raise TypeError(msg)
        if not cypher.strip():
            msg = "The statement is empty: write one, such as 'RETURN 1'."
            raise ClientError(msg, "Neo.ClientError.Statement.SyntaxError")
        values = sendable({
            name: dict(value) if isinstance(value, Entity) else value
            for name, value in {**dict(parameters or {}), **more}.items()
        })
        with self._undone_on_error():
            runner = self._session if self._auto else self._bolt
            cursor = read_all(runner.run(cypher, values), self.graph, self)
        if self._auto:
            self._finish()
        return cursor

    def evaluate(self, /, cypher: str, parameters: Values = None, **more: Any) -> Any:
        """Run a statement and return the first value of its first row, or None."""
        return self.run(cypher, parameters, **more).evaluate()

    def update(self, cypher: str, parameters: Values = None, **more: Any) -> None:
        """Run a statement and drop its rows."""
        self.run(cypher, parameters, **more)

    def commit(self) -> None:
        """Make everything take effect."""
        self._check_open("commit")
        if self._managed:
            msg = "graph.update commits when its function returns: leave commit out."
            raise TransactionFinished(msg)
        if not self._auto:
            with self._undone_on_error():
                self._bolt.commit()
        self._finish()

    def rollback(self) -> None:
        """Make nothing take effect; without meaning once it is finished."""
        if not self._finished:
            self._undo()

    def _undo(self) -> None:
        """Take everything back, here and on the server, and finish."""
        while self._journal:
            self._journal.pop()()
        self._finish()

    @contextmanager
    def _undone_on_error(self) -> Iterator[None]:
        try:
            with translated(self.graph.service.uri):
                yield
        except BaseException:
            self._undo()
            raise

    def _rebind(self, entity: Entity, identity: str | None) -> None:
        """Bind an entity, until the transaction is rolled back."""
        self._journal.append(partial(entity._bind, entity.graph, entity.identity))
        entity._bind(None if identity is None else self.graph, identity)

    @_lasting
    def create(self, subgraph: Subgraph) -> None:
        """Store all that is local in a subgraph, and bind it."""
        nodes, edges = _members(subgraph, "create")
        local = [node for node in nodes if not node._bound_to(self.graph)]
        rows = [_row(node) for node in local]
        _bind_rows(self, local, rows, statement("py2neo/create_nodes"))
        _join(self, edges)

    @_lasting
    def merge(
        self,
        subgraph: Subgraph,
        primary_label: str | None = None,
        primary_key: str | tuple[str, ...] | None = None,
    ) -> None:
        """Store all that is local in a subgraph, over what is stored and like it.

        A stored node is like a local one if it has the primary label and the same
        values of the primary key; it gets the labels and properties of the local one
        besides its own. A stored relationship is like a local one if it is of the same
        type between the same nodes. A node's `__primarylabel__` and `__primarykey__`
        win over the arguments. Several that are alike are a `UniquenessError`.
        """
        nodes, edges = _members(subgraph, "merge")
        local = [node for node in nodes if not node._bound_to(self.graph)]
        wish = partial(_merge_key, label=primary_label, key=primary_key)
        for (label, keys), group in groupby(sorted(local, key=wish), key=wish):
            members = list(group)
            pattern = as_map((key, f"row.key[{i}]") for i, key in enumerate(keys))
            text = (
                "UNWIND $rows AS row "
                f"MERGE (n:{cypher_escape(label)} {pattern}) "
                "SET n:$(row.labels), n += row.properties "
                "RETURN collect({index: row.index, identity: elementId(n)}) AS answers"
            )
            rows = [_row(node, key=[node[key] for key in keys]) for node in members]
            _bind_rows(self, members, rows, text)
        _join(self, edges)

    @_lasting
    def push(self, subgraph: Subgraph) -> None:
        """Give stored entities the labels and properties of the local ones.

        Labels that others gave in the meantime stay; their properties do not.
        """
        nodes, edges = _members(subgraph, "push", self.graph)
        rows = [_row(node, gone=sorted(node._gone)) for node in nodes]
        _answers(self, statement("py2neo/push_nodes"), nodes, rows)
        for node in nodes:
            self._journal.append(partial(setattr, node, "_gone", node._gone))
            node._gone = frozenset()
        rows = [{"properties": dict(edge)} for edge in edges]
        _answers(self, statement("py2neo/push_relationships"), edges, rows)

    @_lasting
    def pull(self, subgraph: Subgraph) -> None:
        """Give local entities what the stored ones have."""
        nodes, edges = _members(subgraph, "pull", self.graph)
        found = _answers(self, statement("py2neo/pull_nodes"), nodes)
        for node, answer in zip(nodes, found, strict=True):
            node._gone = frozenset()
            _fill(node, answer["labels"], answer["properties"])
        found = _answers(self, statement("py2neo/pull_relationships"), edges)
        for edge, answer in zip(edges, found, strict=True):
            edge._replace(answer["properties"])

    @_lasting
    def delete(self, subgraph: Subgraph) -> None:
        """Delete the stored entities of a subgraph; the local ones stay, unbound."""
        nodes, edges = _members(subgraph, "delete")
        _delete(self, edges, "py2neo/delete_relationships")
        _delete(self, nodes, "py2neo/delete_nodes")

    @_lasting
    def separate(self, subgraph: Subgraph) -> None:
        """Delete the stored relationships of a subgraph; its nodes stay."""
        _, edges = _members(subgraph, "separate")
        _delete(self, edges, "py2neo/delete_relationships")

    @_lasting
    def exists(self, subgraph: Subgraph) -> bool:
        """Return whether all of a subgraph is stored; what is not bound is not."""
        nodes, edges = _members(subgraph, "find")
        if not all(entity._bound_to(self.graph) for entity in (*nodes, *edges)):
            return False
        counts = (("count_nodes", nodes), ("count_relationships", edges))
        return all(
            self.evaluate(statement(f"py2neo/{name}"), identities=batch) == len(batch)
            for name, entities in counts
            for batch in batched((one.identity for one in entities), BATCH)
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is not None:
            self.rollback()
        elif not self._finished:
            self.commit()


def _members(
    subgraph: Subgraph, wish: str, graph: Graph | None = None
) -> tuple[list[Node], list[Relationship]]:
    """Return nodes and relationships, each once; only those bound to a graph."""
    if not isinstance(subgraph, Subgraph):
        raise TypeError(
            f"Cannot {wish} {subgraph!r}: give a node, relationship, path or subgraph."
        )
    nodes, edges = (list(members) for members in subgraph._sets())
    for members, kind in ((nodes, Node), (edges, Relationship)):
        for member in members:
            if not isinstance(member, kind):
                raise TypeError(f"Cannot {wish} {member!r}: it is no {kind.__name__}.")
    if graph is None:
        return nodes, edges
    nodes = [node for node in nodes if node._bound_to(graph)]
    edges = [edge for edge in edges if edge._bound_to(graph)]
    if not nodes and not edges:
        raise InputError(
            f"There is nothing to {wish}: {subgraph!r} is not bound to this graph; "
            "create or merge it first."
        )
    return nodes, edges


def _labels(node: Node) -> list[str]:
    """Return the labels of a node, none of which Neo4j refuses."""
    for label in node.labels:
        cypher_escape(label)
    return list(node.labels)


def _row(node: Node, **more: Any) -> dict[str, Any]:
    return {"labels": _labels(node), "properties": dict(node), **more}


def _merge_key(
    node: Node, label: str | None, key: str | tuple[str, ...] | None
) -> tuple[str, tuple[str, ...]]:
    label = node.__primarylabel__ or label
    key = node.__primarykey__ or key
    keys = tuple(key) if isinstance(key, list | tuple) else (key,) if key else ()
    if not label or not keys:
        raise InputError(
            "Primary label and primary key are required for MERGE operation: write "
            f'graph.merge(subgraph, "Label", "key"); {node!r} has none.'
        )
    _labels(node)
    return label, keys


def _join(tx: Transaction, edges: Iterable[Relationship]) -> None:

    def name(edge: Relationship) -> str:
        return type(edge).__name__

    local = [edge for edge in edges if not edge._bound_to(tx.graph)]
    for kind, group in groupby(sorted(local, key=name), key=name):
        members = list(group)
        text = (
            "UNWIND $rows AS row "
            "MATCH (a) WHERE elementId(a) = row.ends[0] "
            "MATCH (b) WHERE elementId(b) = row.ends[1] "
            f"MERGE (a)-[r:{cypher_escape(kind)}]->(b) "
            "SET r += row.properties "
            "RETURN collect({index: row.index, identity: elementId(r)}) AS answers"
        )
        rows = [
            {"ends": [node.identity for node in edge.nodes], "properties": dict(edge)}
            for edge in members
        ]
        _bind_rows(tx, members, rows, text)


def _bind_rows(
    tx: Transaction, entities: Sequence[Entity], rows: list[dict[str, Any]], text: str
) -> None:
    answers = _answers(tx, text, entities, rows)
    for entity, answer in zip(entities, answers, strict=True):
        tx._rebind(entity, answer["identity"])


def _answers(
    tx: Transaction,
    text: str,
    entities: Sequence[Entity],
    rows: Iterable[dict[str, Any]] = repeat({}),
) -> list[dict[str, Any]]:
    """Run a statement over entities and rows in batches; return the answer to each."""
    numbered = [
        {"index": index, "identity": entity.identity, **row}
        for index, (entity, row) in enumerate(zip(entities, rows, strict=False))
    ]
    answers: dict[int, dict[str, Any]] = {}
    for batch in batched(numbered, BATCH):
        for answer in tx.evaluate(text, {"rows": batch}) or ():
            index = answer["index"]
            if answers.setdefault(index, answer) is not answer:
                raise UniquenessError(
                    f"Several stored ones are like {entities[index]!r}, and merging "
                    "needs at most one: delete the others, or use another key."
                )
    for index, entity in enumerate(entities):
        if index not in answers:
            what = f"{entity!r} with identity {entity.identity!r}"
            if entity.identity is None:
                what = f"A node at an end of {entity!r}"
            msg = f"{what} is not in the database: it was deleted."
            raise ClientError(msg, "Neo.ClientError.Statement.EntityNotFound")
    return [answers[index] for index in range(len(entities))]


def _delete(tx: Transaction, entities: Sequence[Entity], name: str) -> None:
    bound = [entity for entity in entities if entity._bound_to(tx.graph)]
    for entity in bound:
        entity._freshen()
    for batch in batched(bound, BATCH):
        tx.run(statement(name), identities=[entity.identity for entity in batch])
    for entity in bound:
        tx._rebind(entity, None)


class _Hydrant:
    """Makes our entities of those of one result."""

    # A stored node or relationship becomes one object in a result, however often it
    # stands there. The ends of a relationship whose nodes are not in the result are
    # known by identity only; all that were met are read when one is asked for
    # something, in the transaction of the result, as long as that lasts.

    def __init__(self, graph: Graph, tx: Transaction | None = None) -> None:
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
        if kind is neo4j.graph.Node:
            return self._node(value)
        if isinstance(value, neo4j.graph.Relationship):
            return self._edge(value)
        if isinstance(value, neo4j.graph.Path):
            sequence: list[Any] = [self._node(value.nodes[0])]
            for edge, node in zip(value.relationships, value.nodes[1:], strict=True):
                end = self._node(node)
                sequence += [self._edge(edge), end]
            return Path._walked(sequence)
        return value

    def _node(self, value: neo4j.graph.Node) -> Node:
        identity = value.element_id
        node = self._nodes.get(identity)
        if node is None:
            node = Node._of(value.labels, dict(value.items()))
            node._bind(self._graph, identity)
            self._nodes[identity] = node
        elif node._stale is not None:
            _fill(node, value.labels, dict(value.items()))
            self._stale.pop(identity, None)
        return node

    def _edge(self, value: neo4j.graph.Relationship) -> Relationship:
        identity = value.element_id
        edge = self._edges.get(identity)
        if edge is None:
            ends = (self._end(value.nodes[0]), self._end(value.nodes[1]))
            edge = Relationship._of(value.type, ends, dict(value.items()))
            edge._bind(self._graph, identity)
            self._edges[identity] = edge
        return edge

    def _end(self, value: Any) -> Node:
        """Return the end of a relationship, known by identity unless it was met."""
        node = self._nodes.get(value.element_id)
        if node is None and (value.labels or len(value)):
            return self._node(value)
        if node is None:
            node = Node._of((), {})
            node._bind(self._graph, value.element_id)
            node._stale = self
            self._nodes[value.element_id] = self._stale[value.element_id] = node
        return node

    def read_stale(self) -> None:
        """Read the nodes that are known by identity only; deleted ones stay empty."""
        stale = list(self._stale.values())
        tx = None if self._tx is None else self._tx()
        read = self._graph.query if tx is None or tx.closed else tx.run
        for batch in batched(stale, BATCH):
            rows = [{"index": i, "identity": n.identity} for i, n in enumerate(batch)]
            found = read(statement("py2neo/pull_nodes"), {"rows": rows}).evaluate()
            for answer in found:
                _fill(batch[answer["index"]], answer["labels"], answer["properties"])
        for node in stale:
            node._stale = None
        self._stale.clear()


def _fill(node: Node, labels: Iterable[str], properties: dict[str, Any]) -> None:
    node._labels = dict.fromkeys(labels)
    node._replace(properties)
    node._stale = None  # last: another thread may look


def read_all(
    result: neo4j.Result, graph: Graph, tx: Transaction | None = None
) -> Cursor:
    """Read a result to its end; of a transaction, if more can be run there."""
    keys = result.keys()
    rows = list(result)
    summary = result.consume()
    return Cursor(keys, rows, summary=summary, hydrate=_Hydrant(graph, tx).value)

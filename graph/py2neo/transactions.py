"""Transactions: statements that take effect together, or not at all."""

from __future__ import annotations

import weakref
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from graph.py2neo import writing
from graph.py2neo.cursors import Cursor
from graph.py2neo.errors import ClientError, TransactionFinished, translated
from graph.py2neo.hydration import Hydrant
from graph.py2neo.parameters import sendable
from graph.py2neo.properties import PropertyDict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import neo4j

    from graph.py2neo.entities import Entity, Node
    from graph.py2neo.graph import Graph
    from graph.py2neo.subgraphs import Subgraph

__all__ = ["Transaction"]


class Transaction:
    """Statements and changes that take effect together, or not at all.

    `Graph.begin` and `Graph.auto` make one. As a context manager it commits at the end
    of the block, and rolls back when the block fails. A failed statement finishes it.
    What a rolled back transaction had created is local again; what it had deleted is
    bound again. Not to be shared between threads.

    Args:
        graph: Where the statements run.
        autocommit: Whether the first statement is all of it.
        readonly: Whether it may change nothing.
    """

    def __init__(
        self, graph: Graph, autocommit: bool = False, readonly: bool = False
    ) -> None:
        self._graph = graph
        self._auto = autocommit
        self._readonly = readonly
        self._finished = False
        self._journal: list[Callable[[], object]] = []
        self._bolt: Any = None
        self._managed = False
        self._session = graph._session(readonly=readonly)
        self._closing = weakref.finalize(self, self._session.close)
        if not autocommit:
            with translated(graph.service.uri):
                try:
                    self._bolt = self._session.begin_transaction()
                except BaseException:
                    self._finish()
                    raise

    @classmethod
    def _over(cls, graph: Graph, bolt: neo4j.ManagedTransaction) -> Transaction:
        """Wrap a transaction that the driver commits and tries again."""
        made = cls.__new__(cls)
        made._graph, made._auto, made._readonly = graph, False, False
        made._finished, made._journal, made._bolt = False, [], bolt
        made._managed = True
        return made

    @property
    def graph(self) -> Graph:
        """Return the graph that it belongs to."""
        return self._graph

    @property
    def readonly(self) -> bool:
        """Return whether it may change nothing."""
        return self._readonly

    @property
    def closed(self) -> bool:
        """Return whether it was committed, rolled back, or failed."""
        return self._finished

    def finished(self) -> bool:
        """Return whether it was committed, rolled back, or failed."""
        return self._finished

    def _check_open(self, wish: str) -> None:
        """Refuse to be used again."""
        if self._finished:
            msg = (
                f"Cannot {wish} in a finished transaction: begin a new one with "
                "graph.begin()."
            )
            raise TransactionFinished(msg)

    def _finish(self) -> None:
        """Close the session; nothing can be run any more."""
        self._finished = True
        if not self._managed:
            self._closing()

    def run(
        self,
        cypher: str,
        parameters: Mapping[str, Any] | None = None,
        **kwparameters: Any,
    ) -> Cursor:
        """Run a statement and return its rows.

        Args:
            cypher: The statement.
            parameters: Its parameters.
            **kwparameters: More of them, which win.

        Raises:
            ClientError: If the server refuses the statement or its data.
            TransactionFinished: If the transaction is finished.
            UnsupportedValueError: If a parameter is of a type that Neo4j lacks.
        """
        self._check_open("run a statement")
        if not isinstance(cypher, str):
            msg = f"A statement is text, not {type(cypher).__name__}: {cypher!r}."
            raise TypeError(msg)
        if not cypher.strip():
            msg = "The statement is empty: write one, such as 'RETURN 1'."
            raise ClientError(msg, "Neo.ClientError.Statement.SyntaxError")
        values = sendable({
            name: dict(value) if isinstance(value, PropertyDict) else value
            for name, value in {**dict(parameters or {}), **kwparameters}.items()
        })
        try:
            with translated(self._graph.service.uri):
                runner = self._session if self._auto else self._bolt
                cursor = read_all(runner.run(cypher, values), self._graph, self)
        except BaseException:
            self._undo()
            raise
        if self._auto:
            self._finish()
        return cursor

    def evaluate(
        self,
        cypher: str,
        parameters: Mapping[str, Any] | None = None,
        **kwparameters: Any,
    ) -> Any:
        """Run a statement and return the first value of its first row, or None."""
        return self.run(cypher, parameters, **kwparameters).evaluate()

    def update(
        self,
        cypher: str,
        parameters: Mapping[str, Any] | None = None,
        **kwparameters: Any,
    ) -> None:
        """Run a statement and drop its rows."""
        self.run(cypher, parameters, **kwparameters)

    def commit(self) -> None:
        """Make everything take effect.

        Raises:
            TransactionFinished: If the transaction is finished, or `Graph.update`
                commits it.
            ClientError: If the server refuses, as when a constraint is broken.
        """
        self._check_open("commit")
        if self._managed:
            msg = "graph.update commits when its function returns: leave commit out."
            raise TransactionFinished(msg)
        if self._auto:
            self._finish()
            return
        try:
            with translated(self._graph.service.uri):
                self._bolt.commit()
        except BaseException:
            self._undo()
            raise
        self._finish()

    def rollback(self) -> None:
        """Make nothing take effect; without meaning once it is finished."""
        if not self._finished:
            self._undo()

    def _undo(self) -> None:
        """Take everything back, here and on the server, and finish."""
        for undo in reversed(self._journal):
            undo()
        self._journal.clear()
        self._finish()

    def _rebind(
        self, entity: Entity, graph: Graph | None, identity: str | None
    ) -> None:
        """Bind an entity, until the transaction is rolled back."""
        self._journal.append(partial(entity._bind, entity.graph, entity.identity))
        entity._bind(graph, identity)

    def _forget_gone(self, node: Node) -> None:
        """Forget which labels a node lost, until the transaction is rolled back."""
        self._journal.append(partial(setattr, node, "_gone", node._gone))
        node._gone = frozenset()

    def create(self, subgraph: Subgraph) -> None:
        """Store all that is local in a subgraph, and bind it.

        Raises:
            ClientError: If a value cannot be a property, or an end does not exist.
            InputError: If a label or type is empty.
            TypeError: If it is no subgraph.
        """
        self._change(writing.create, subgraph)

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
        win over the arguments.

        Raises:
            ClientError: If a node has no value for its primary key.
            InputError: If a node has no primary label or key.
            TypeError: If it is no subgraph.
            UniquenessError: If several stored ones are like a local one.
        """
        self._change(writing.merge, subgraph, primary_label, primary_key)

    def push(self, subgraph: Subgraph) -> None:
        """Give stored entities the labels and properties of the local ones.

        Labels that others gave in the meantime stay; their properties do not.

        Raises:
            ClientError: If an entity is no longer stored.
            InputError: If nothing of the subgraph is bound to this graph.
            TypeError: If it is no subgraph.
        """
        self._change(writing.push, subgraph)

    def pull(self, subgraph: Subgraph) -> None:
        """Give local entities the labels and properties of the stored ones.

        Raises:
            ClientError: If an entity is no longer stored.
            InputError: If nothing of the subgraph is bound to this graph.
            TypeError: If it is no subgraph.
        """
        self._change(writing.pull, subgraph)

    def delete(self, subgraph: Subgraph) -> None:
        """Delete the stored entities of a subgraph; the local ones stay, unbound.

        Raises:
            TypeError: If it is no subgraph.
        """
        self._change(writing.delete, subgraph)

    def separate(self, subgraph: Subgraph) -> None:
        """Delete the stored relationships of a subgraph; its nodes stay.

        Raises:
            TypeError: If it is no subgraph.
        """
        self._change(writing.separate, subgraph)

    def exists(self, subgraph: Subgraph) -> bool:
        """Return whether all of a subgraph is stored; what is not bound is not.

        Raises:
            TypeError: If it is no subgraph.
        """
        return bool(self._change(writing.exists, subgraph))

    def _change(self, work: Any, subgraph: Subgraph, *args: Any) -> Any:
        """Do a piece of work here; an auto-commit transaction does it in another."""
        self._check_open(work.__name__)
        if not self._auto:
            return work(self, subgraph, *args)
        self._finish()
        with Transaction(self._graph, readonly=self._readonly) as tx:
            return work(tx, subgraph, *args)

    def __enter__(self) -> Self:
        """Return the transaction."""
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Commit, or roll back when the block failed; finished ones are left."""
        if kind is not None:
            self.rollback()
        elif not self._finished:
            self.commit()


def read_all(
    result: neo4j.Result, graph: Graph, tx: Transaction | None = None
) -> Cursor:
    """Read a result to its end.

    Args:
        result: What the driver returned.
        graph: Where its entities are bound to.
        tx: Where it was run, if more can be run there.
    """
    keys = result.keys()
    rows = list(result)
    summary = result.consume()
    return Cursor(keys, rows, summary=summary, hydrate=Hydrant(graph, tx).value)

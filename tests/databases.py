"""What is in the database of a worker, so that tests that only read share it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from knowtrail.graph.db.schema import vector_dimensions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from knowtrail.graph.db.connection import Connection

_EMPTY = """
MATCH (n) WHERE NOT n:SchemaVersion
CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 10000 ROWS
"""
_NODES = "MATCH (n) RETURN elementId(n), labels(n), properties(n)"
_EDGES = "MATCH (a)-[r]->(b) RETURN elementId(a), type(r), elementId(b), properties(r)"
_INDEXES = "SHOW INDEXES YIELD name RETURN name ORDER BY name"
_VECTOR_INDEXES = ("chunk_embedding", "sentence_embedding", "theme_embedding")


def allow_vectors(connection: Connection, dimensions: int = 32) -> None:
    """Let vectors of this length follow; what of the schema may stay does.

    A server that drops an index forgets the plans of all statements.
    """
    if vector_dimensions(connection) not in {None, dimensions}:
        drop_vector_indexes(connection)


def drop_vector_indexes(connection: Connection) -> None:
    """Let vectors of any length follow; the rest of the schema stays."""
    for name in _VECTOR_INDEXES:
        connection.run_schema(f"DROP INDEX {name} IF EXISTS")


def plan_steps(
    connection: Connection, text: str, params: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return every step of the plan that a statement has now.

    A plan that was made while other data was stored is kept by the server, so it is
    told to make another. Those of other statements stay.

    Args:
        connection: A connection that may write.
        text: A statement that begins with EXPLAIN, or with PROFILE, which runs it.
        params: Its parameters.
    """
    kind, statement = text.split(maxsplit=1)
    anew = f"{kind} CYPHER replan=force\n{statement}"
    summary = connection.driver.execute_query(anew, dict(params)).summary
    steps: list[dict[str, Any]] = [summary.profile or summary.plan or {}]
    for step in steps:
        steps += step.get("children", [])
    return steps


class Database:
    """A database that is filled anew only where it has to be.

    A bookmark names the last transaction that changed anything, whoever made it. While
    it is the one from after the last filling, the content is what was filled in.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._held: tuple[str, frozenset[str]] | None = None
        self._filled: tuple[list[str], list[str]] = ([], [])

    def holding(
        self, content: str, fill: Callable[[], object], *, small: bool = False
    ) -> Connection:
        """Return a connection to a database with this content and no other.

        Args:
            content: A name that no other content has.
            fill: Writes the content into the empty database.
            small: Whether the content is so small that what tests add to it is found
                by looking at all of it; that alone is then deleted.
        """
        if self._held != (content, self._last_change()):
            known = small and self._held is not None and self._held[0] == content
            if not (known and self._tidied()):
                self._empty()
                fill()
                self._filled = self._everything() if small else ([], [])
            self._held = (content, self._last_change())
        return self._connection

    def _tidied(self) -> bool:
        """Delete added nodes; return whether all is as it was filled in then."""
        nodes, _ = self._filled
        text = "MATCH (n) WHERE NOT elementId(n) IN $nodes DETACH DELETE n"
        self._connection.run_schema(text, nodes=nodes)
        return self._everything() == self._filled

    def _everything(self) -> tuple[list[str], list[str]]:
        """Return the ids of all nodes, and all that is stored, in a fixed order."""
        nodes = self._connection.values(_NODES, {})
        edges = self._connection.values(_EDGES, {})
        stored = [repr((*ids, sorted(held.items()))) for *ids, held in (*nodes, *edges)]
        stored += map(repr, self._connection.values(_INDEXES, {}))
        return sorted(str(name) for name, *_ in nodes), sorted(stored)

    def _last_change(self) -> frozenset[str]:
        """Return what the server calls its last transaction that wrote."""
        driver, name = self._connection.driver, self._connection.database
        with driver.session(database=name, default_access_mode="READ") as session:
            session.run("RETURN 1").consume()
            return session.last_bookmarks().raw_values

    def _empty(self) -> None:
        """Delete everything, also what is not ours, such as RDF that a test read."""
        self._connection.run_schema(_EMPTY)
        allow_vectors(self._connection)

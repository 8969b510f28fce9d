"""What is in the database of a worker, so that tests that only read share it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowtrail.graph.db.schema import vector_dimensions

if TYPE_CHECKING:
    from collections.abc import Callable

    from knowtrail.graph.db.connection import Connection

_EMPTY = """
MATCH (n) WHERE NOT n:SchemaVersion
CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 10000 ROWS
"""
_VECTOR_INDEXES = ("chunk_embedding", "sentence_embedding", "theme_embedding")


def drop_vector_indexes(connection: Connection) -> None:
    """Let vectors of any length follow; the rest of the schema stays."""
    for name in _VECTOR_INDEXES:
        connection.run_schema(f"DROP INDEX {name} IF EXISTS")


class Database:
    """A database that is filled anew only where it has to be.

    A bookmark names the last transaction that changed anything, whoever made it. While
    it is the one from after the last filling, the content is what was filled in.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._held: tuple[str, frozenset[str]] | None = None

    def holding(self, content: str, fill: Callable[[], object]) -> Connection:
        """Return a connection to a database with this content and no other.

        Args:
            content: A name that no other content has.
            fill: Writes the content into the empty database.
        """
        if self._held != (content, self._last_change()):
            self._empty()
            fill()
            self._held = (content, self._last_change())
        return self._connection

    def _last_change(self) -> frozenset[str]:
        """Return what the server calls its last transaction that wrote."""
        driver, name = self._connection.driver, self._connection.database
        with driver.session(database=name, default_access_mode="READ") as session:
            session.run("RETURN 1").consume()
            return session.last_bookmarks().raw_values

    def _empty(self) -> None:
        """Delete everything, also what is not ours, such as RDF that a test read."""
        self._connection.run_schema(_EMPTY)
        if vector_dimensions(self._connection) not in {None, 32}:
            drop_vector_indexes(self._connection)

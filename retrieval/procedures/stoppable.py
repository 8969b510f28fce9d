"""A connection whose user can be told to stop from another thread."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from graph.connection import Connection
from graph.driver import Counters, translate_errors
from graph.errors import DatabaseError
from graph.statements import statement

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterator, Mapping, Sequence

    import neo4j

__all__ = ["StoppableConnection", "check_stopped", "stopping"]

WRITE_SECONDS = 10.0
"""Recording may wait for a lock that the caller's own transaction holds, and the caller
for the recording; nobody would see that they wait for each other."""

_STOP: ContextVar[threading.Event | None] = ContextVar("told to stop", default=None)


@contextmanager
def stopping(stop: threading.Event) -> Iterator[None]:
    """Let an event stop the work of this thread at its next statement."""
    token = _STOP.set(stop)
    try:
        yield
    finally:
        _STOP.reset(token)


def check_stopped() -> None:
    """Raise if this thread was told to stop.

    Raises:
        DatabaseError: If it was.
    """
    stop = _STOP.get()
    if stop is not None and stop.is_set():
        msg = "The caller's transaction ended before the answer was ready."
        raise DatabaseError(msg)


class StoppableConnection(Connection):
    """A connection that asks before each statement whether to go on.

    Writes and schema commands have a time limit.
    """

    def query(
        self, text: str, params: Mapping[str, Any] | None = None
    ) -> list[dict[str, Any]]:
        """Run a Cypher text, see `Connection.query`."""
        check_stopped()
        return super().query(text, params)

    def values(self, text: str, params: Mapping[str, Any]) -> list[list[Any]]:
        """Run a Cypher text, see `Connection.values`: every hop of a walk does."""
        check_stopped()
        return super().values(text, params)

    def stream(self, name: str, /, **params: Any) -> Iterator[neo4j.Record]:
        """Yield the rows of a stored statement, see `Connection.stream`."""
        for record in super().stream(name, **params):
            check_stopped()
            yield record

    def write_all(self, steps: Sequence[tuple[str, Mapping[str, Any]]]) -> Counters:
        """Run stored statements, see `Connection.write_all`, once and not for long."""
        check_stopped()
        total = Counters()
        with (
            translate_errors(),
            self.driver.session(
                database=self.database,
                bookmark_manager=self.driver.execute_query_bookmark_manager,
            ) as session,
            session.begin_transaction(timeout=WRITE_SECONDS) as transaction,
        ):
            for name, params in steps:
                result = transaction.run(statement(name), dict(params))
                total += Counters.of(result.consume())
            transaction.commit()
        return total

    def run_schema(self, text: str, /, **params: Any) -> Counters:
        """Run a schema command, see `Connection.run_schema`, for not long either."""
        import neo4j

        check_stopped()
        query = neo4j.Query(text, timeout=WRITE_SECONDS)
        with (
            translate_errors(),
            self.driver.session(
                database=self.database,
                bookmark_manager=self.driver.execute_query_bookmark_manager,
            ) as session,
        ):
            return Counters.of(session.run(query, params).consume())

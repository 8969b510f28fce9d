"""`CALL knowtrail.*` in the managed server: the procedures as Neo4j's own.

The server's process is Python that hosts Java, so a procedure is a Python object that
implements Neo4j's interface. It reads and records through a connection of its own to
the same server, as any client does: it sees what is committed, and a recorded walk is
committed whether or not the caller's transaction is.

A call works in a thread of its own while the server's thread looks whether the caller
is still there. When the caller's transaction ends early (a time limit, a termination)
the call is told so, and ends at its next question to the database or its next word of
the language model; the caller does not wait for that.
"""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import CancelledError, ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graph.errors import DatabaseError, KnowtrailError
from graph.server.folder import ServerFolder
from graph.settings import Settings
from retrieval.procedures.java import JavaTypes
from retrieval.procedures.stoppable import (
    StoppableConnection,
    check_stopped,
    stopping,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from retrieval.procedures.registry import Procedure
    from retrieval.procedures.rows import Row

__all__ = ["register"]

POLL_SECONDS = 0.05
STATE_SECONDS = 60.0
CALLS_AT_ONCE = 16

_log = logging.getLogger(__name__)


def register(resolver: Any) -> None:
    """Register the procedures; the server calls this once it has started.

    Nothing heavy is loaded here. Where the server is to stay and has a corpus, its
    embedder is loaded in the background; else the first call loads it.

    Args:
        resolver: The database's dependency resolver, a Java object.
    """
    from jpype import JClass

    from retrieval.procedures.registry import PROCEDURES

    java = JavaTypes()
    settings = JClass("org.neo4j.configuration.GraphDatabaseSettings")
    config = resolver.resolveDependency(JClass("org.neo4j.configuration.Config"))
    root = Path(str(config.get(settings.neo4j_home)))
    server = _Server(ServerFolder(root.parent))
    registry = resolver.resolveDependency(
        JClass("org.neo4j.kernel.api.procedure.GlobalProcedures")
    )
    for procedure in PROCEDURES.values():
        registry.register(_callable(java, procedure, server))
    threading.Thread(target=server.warm, name="embedder", daemon=True).start()


class _Server:
    """The server as seen from within: a connection, a pool of threads, settings."""

    def __init__(self, folder: ServerFolder) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._connection: StoppableConnection | None = None
        self.settings = replace(Settings.from_env(), home=folder.home)
        self.pool = ThreadPoolExecutor(CALLS_AT_ONCE, thread_name_prefix="procedure")

    def connection(self) -> StoppableConnection:
        """Return the connection, made at first use.

        Raises:
            DatabaseError: If the server is not ready, or refuses.
        """
        with self._lock:
            if self._connection is None:
                state = self._folder.read_state()
                if state is None:
                    msg = "The server has not finished its start: call again."
                    raise DatabaseError(msg)
                info = self._folder.info(state)
                self._connection = StoppableConnection.open(
                    self.settings.with_server(
                        uri=info.uri, username=info.username, password=info.password
                    )
                )
            return self._connection

    def warm(self) -> None:
        """Load the embedders of the corpora, if the server is one that stays."""
        end = time.monotonic() + STATE_SECONDS
        while (state := self._folder.read_state()) is None:
            if time.monotonic() > end:
                return
            time.sleep(POLL_SECONDS)
        if not state.stays:
            return
        try:
            self._load()
        except KnowtrailError as error:
            _log.info("No embedder was loaded beforehand: %s", error)
        except Exception:  # a server runs on without a model that fails to load
            _log.exception("No embedder was loaded beforehand")

    def _load(self) -> None:
        """Embed a word for each corpus with its embedder."""
        from retrieval.corpora import agreed_embedder, corpora

        began = time.monotonic()
        for name in corpora(self.connection()):
            agreed_embedder(name, None, self.settings).embed_query("ice")
            _log.info(
                "The embedder of corpus %r is loaded after %.1f s",
                name.name,
                time.monotonic() - began,
            )

    def rows(
        self,
        procedure: Procedure,
        values: tuple[dict[str, Any], dict[str, Any]],
        stop: threading.Event,
        *,
        may_record: bool,
    ) -> list[Row]:
        """Run a procedure in this thread, until it ends or is told to stop."""
        from retrieval.procedures.registry import call

        with stopping(stop):
            return call(
                procedure.name,
                self.connection(),
                *values,
                settings=self.settings,
                may_record=may_record,
                on_text=lambda _: check_stopped(),
            )


def _callable(java: JavaTypes, procedure: Procedure, server: _Server) -> Any:
    """Return a procedure as an object that Neo4j can call."""
    from jpype import JImplements, JOverride

    signature = java.signature(procedure)

    def signature_of(_: object) -> Any:
        return signature

    def apply(_: object, context: Any, values: Any, monitor: Any) -> Any:
        # Whatever leaves this function must be an exception that the server can tell
        # its client, who would otherwise wait for ever.
        try:
            found = _called(java, procedure, server, context, values)
            return java.rows(procedure, found)
        except KnowtrailError as error:
            raise java.failure(procedure.name, error) from None
        except _CallerGoneError:
            return java.rows(procedure, [])  # the server sees to the rest
        except Exception as error:
            _log.exception("knowtrail.%s failed", procedure.name)
            raise java.failure(procedure.name, error) from None

    body: dict[str, Callable[..., Any]] = {
        "signature": JOverride(signature_of),
        "apply": JOverride(apply),
    }
    kind = type(f"Procedure_{procedure.name}", (), body)
    interface = "org.neo4j.kernel.api.procedure.CallableProcedure"
    return JImplements(interface)(kind)()


class _CallerGoneError(Exception):
    """The caller's transaction ended while the call was at work."""


def _called(
    java: JavaTypes, procedure: Procedure, server: _Server, context: Any, values: Any
) -> list[Row]:
    """Work in another thread; return the rows, or give up when the caller is gone.

    Raises:
        KnowtrailError: What the procedure raises.
        _CallerGoneError: If the caller's transaction ended.
    """
    transaction = context.internalTransactionOrNull()
    mapper = context.valueMapper()
    *given, options = [java.to_python(value.map(mapper)) for value in values]
    arguments = dict(
        zip((field.name for field in procedure.arguments), given, strict=True)
    )
    stop = threading.Event()
    work = server.pool.submit(
        server.rows,
        procedure,
        (arguments, options or {}),
        stop,
        may_record=java.may_write(transaction),
    )
    while not wait([work], POLL_SECONDS).done:
        if transaction is not None and java.is_terminated(transaction):
            stop.set()
            work.cancel()
            raise _CallerGoneError
    try:
        return work.result()
    except CancelledError:
        raise _CallerGoneError from None

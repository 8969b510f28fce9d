"""`CALL knowtrail.*` in the managed server: the procedures as Neo4j's own.

The server's process is Python that hosts Java, so a procedure is a Python object that
implements Neo4j's interface. It reads and records through a connection of its own to
the same server, as any client does: it sees what is committed, and a recorded walk is
committed whether or not the caller's transaction is.

A call works in a thread of its own while the server's thread looks whether the caller
is still there. When the caller's transaction ends early (a time limit, a termination)
the call is told so, and ends at its next question to the database or its next word of
the language model; the caller does not wait for that.

The two Neo4j lines differ in how an error must be made so that the server can tell it:
what one line can encode leaves the client of the other waiting for ever. So
constructors are looked for, and the last resort is an exception that both can tell.
"""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import CancelledError, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knowtrail.graph.cli.rows import shown_value
from knowtrail.graph.db.connection import Connection
from knowtrail.graph.db.driver import Counters, translate_errors
from knowtrail.graph.db.statements import statement
from knowtrail.graph.errors import (
    CorpusDriftError,
    DatabaseError,
    InputError,
    KnowtrailError,
    SettingsError,
)
from knowtrail.graph.models.prompts import whole_characters
from knowtrail.graph.server.folder import ServerFolder
from knowtrail.graph.settings import Settings
from knowtrail.retrieval.procedures.registry import EMBED, OPTIONS, PROCEDURES, call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import neo4j

    from knowtrail.retrieval.procedures.registry import Kind, Procedure, Row

_PROCEDURES = "org.neo4j.internal.kernel.api.procs"
_DEEPEST = 20


class JavaTypes:
    """The Java classes that procedures are made of, found once."""

    def __init__(self) -> None:
        from jpype import JClass

        self._class = JClass
        self._name = JClass(f"{_PROCEDURES}.QualifiedName")
        self._signature = JClass(f"{_PROCEDURES}.ProcedureSignature")
        self._default = JClass(f"{_PROCEDURES}.DefaultParameterValue")
        types = JClass(f"{_PROCEDURES}.Neo4jTypes")
        self._types: dict[Kind, Any] = {
            "STRING": types.NTString,
            "INTEGER": types.NTInteger,
            "FLOAT": types.NTFloat,
            "BOOLEAN": types.NTBoolean,
            "MAP": types.NTMap,
            "LIST<STRING>": types.NTList(types.NTString),
            "LIST<FLOAT>": types.NTList(types.NTFloat),
        }
        self._values = JClass("org.neo4j.values.storable.Values")
        self._lists = JClass("org.neo4j.values.virtual.VirtualValues")
        self._any = JClass("org.neo4j.values.AnyValue")
        self._rows = JClass("org.neo4j.collection.ResourceRawIterator")
        self._status = JClass("org.neo4j.kernel.api.exceptions.Status")
        self._error = JClass(
            "org.neo4j.internal.kernel.api.exceptions.ProcedureException"
        )
        self._runtime_error = JClass("java.lang.RuntimeException")

    def signature(self, procedure: Procedure) -> Any:
        """Return the signature of a procedure, typed and described."""
        builder = self._signature.procedureSignature(
            self._name("knowtrail", procedure.name)
        )
        for field in procedure.arguments:
            builder = builder.in_(field.name, self._types[field.kind])
        no_options = self._default.ntMap(self._class("java.util.HashMap")())
        builder = builder.in_("options", self._types["MAP"], no_options)
        for column in procedure.columns:
            builder = builder.out(column.name, self._types[column.kind])
        mode = self._class("org.neo4j.procedure.Mode")
        return builder.mode(mode.READ).description(_description(procedure)).build()

    def to_python(
        self, value: Any, depth: int = _DEEPEST, name: str = "A value"
    ) -> Any:
        """Return a Java value as Python's own, with what it holds; refuse a node."""
        from jpype import JArray

        if depth == 0:
            raise InputError(f"{name} is nested more than {_DEEPEST} deep: flatten it.")
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, self._class("java.lang.Boolean")):
            return bool(value)
        if isinstance(value, self._class("java.lang.String")):
            return str(value)
        if isinstance(value, float):
            return float(value)
        if isinstance(value, int):
            return int(value)
        if isinstance(value, self._class("java.util.Map")):
            return {
                (key := str(entry.getKey())): self.to_python(
                    entry.getValue(), depth - 1, key[:80]
                )
                for entry in value.entrySet()
            }
        if isinstance(value, self._class("java.util.List") | JArray):
            return [self.to_python(part, depth - 1, name) for part in value]
        known = self._values.unsafeOf(value, True)
        kind = "Node, Relationship or Path" if known is None else known.getTypeName()
        msg = f"{name} is a {kind}: give texts, numbers, booleans, lists and maps."
        raise InputError(msg)

    def rows(self, procedure: Procedure, rows: Sequence[Row]) -> Any:
        """Return rows as Neo4j takes them."""
        from jpype import JArray

        array = JArray(self._any)
        made = [
            array([self._value(c.kind, row[c.name]) for c in procedure.columns])
            for row in rows
        ]
        return self._rows.of(JArray(array)(made))

    def _value(self, kind: Kind, value: Any) -> Any:
        from jpype import JArray, JDouble

        if value is None:
            return self._values.NO_VALUE
        if kind == "INTEGER":
            return self._values.longValue(value)
        if kind == "FLOAT":
            return self._values.doubleValue(value)
        if kind == "BOOLEAN":
            return self._values.booleanValue(value)
        if kind == "LIST<FLOAT>":
            return self._values.doubleArray(JArray(JDouble)(value))
        if kind == "LIST<STRING>":
            texts = [self._values.stringValue(whole_characters(text)) for text in value]
            return self._lists.list(JArray(self._any)(texts))
        return self._values.stringValue(whole_characters(value))

    def failure(self, name: str, error: Exception) -> Any:
        """Return an error as the exception that this Neo4j line can tell.

        What the caller can mend is an argument error; the rest is a failed call.
        """
        mendable = InputError | SettingsError | CorpusDriftError
        status = (
            self._status.Statement.ArgumentError
            if isinstance(error, mendable)
            else self._status.Procedure.ProcedureCallFailed
        )
        message = str(error) if isinstance(error, KnowtrailError) else repr(error)
        message = whole_characters(f"knowtrail.{name}: {message}")
        make = getattr(self._error, "generalProcedureExceptionNoCause", None)
        try:
            if make is not None:
                return make(f"knowtrail.{name}", status, self._runtime_error(message))
            return self._error(status, message, [])
        except TypeError:
            return self._runtime_error(message)

    def is_terminated(self, transaction: Any) -> bool:
        """Return whether a transaction ended while its call was at work."""
        return bool(transaction.terminationReason().isPresent())

    def may_write(self, transaction: Any) -> bool:
        """Return whether the caller's session may write; one that reads may not."""
        routing = None if transaction is None else transaction.routingInfo()
        return routing is None or str(routing.accessMode()) != "READ"


def _description(procedure: Procedure) -> str:
    options = ", ".join(
        f"{OPTIONS[name].name} ({OPTIONS[name].kind})" for name in procedure.options
    )
    return procedure.description + (f" Options: {options}." if options else "")


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


def _check_stopped() -> None:
    stop = _STOP.get()
    if stop is not None and stop.is_set():
        msg = "The caller's transaction ended before the answer was ready."
        raise DatabaseError(msg)


class StoppableConnection(Connection):
    """A connection that asks before each statement whether to go on.

    Writes and schema commands have a time limit.
    """

    asks_for_models = False
    """The server would ask itself, with a thread that waits for another."""
    schema_seconds = retry_seconds = WRITE_SECONDS

    def query(
        self, text: str, params: Mapping[str, Any] | None = None
    ) -> list[dict[str, Any]]:
        """Run a Cypher text, see `Connection.query`."""
        _check_stopped()
        return super().query(text, params)

    def values(self, text: str, params: Mapping[str, Any]) -> list[list[Any]]:
        """Run a Cypher text, see `Connection.values`: every hop of a walk does."""
        _check_stopped()
        return super().values(text, params)

    def stream(self, name: str, /, **params: Any) -> Iterator[neo4j.Record]:
        """Yield the rows of a stored statement, see `Connection.stream`."""
        for record in super().stream(name, **params):
            _check_stopped()
            yield record

    def write_all(self, steps: Sequence[tuple[str, Mapping[str, Any]]]) -> Counters:
        """Run stored statements, see `Connection.write_all`, once and not for long."""
        _check_stopped()
        total = Counters()
        with (
            translate_errors(),
            self.session() as session,
            session.begin_transaction(timeout=WRITE_SECONDS) as transaction,
        ):
            for name, params in steps:
                result = transaction.run(statement(name), dict(params))
                total += Counters.of(result.consume())
            transaction.commit()
        return total

    def run_schema(self, text: str, /, **params: Any) -> Counters:
        """Run a schema command, see `Connection.run_schema`, for not long either."""
        _check_stopped()
        return super().run_schema(text, **params)


POLL_SECONDS = 0.05
CORPUS_SECONDS = 5.0
"""How often a server without a corpus is asked whether it has one."""
STATE_SECONDS = 60.0
CALLS_AT_ONCE, EMBED_AT_ONCE = 16, 4

_log = logging.getLogger(__name__)


def register(resolver: Any) -> None:
    """Register the procedures; the server calls this once it has started.

    Nothing heavy is loaded here. Where the server is to stay, the embedder of its
    corpora is loaded in the background as soon as there is one; else the first call
    loads it.
    """
    from jpype import JClass

    java = JavaTypes()
    settings = JClass("org.neo4j.configuration.GraphDatabaseSettings")
    config = resolver.resolveDependency(JClass("org.neo4j.configuration.Config"))
    root = Path(str(config.get(settings.neo4j_home)))
    threads = JClass("org.neo4j.configuration.connectors.BoltConnector")
    most = int(config.get(threads.thread_pool_max_size)) // 2
    server = _Server(ServerFolder(root.parent), most)
    registry = resolver.resolveDependency(
        JClass("org.neo4j.kernel.api.procedure.GlobalProcedures")
    )
    for procedure in (*PROCEDURES.values(), EMBED):
        registry.register(_callable(java, procedure, server))
    threading.Thread(target=server.warm, name="embedder", daemon=True).start()


class _Server:
    """The server as seen from within: a connection, a pool of threads, settings.

    Args:
        folder: Its folder.
        most: Calls that may wait or work at once. Each holds a thread of the server,
            and asks the server, which needs threads for that.
    """

    def __init__(self, folder: ServerFolder, most: int) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._connection: StoppableConnection | None = None
        self._most = most
        self._admitted = threading.BoundedSemaphore(most)
        self.settings = replace(Settings.from_env(), home=folder.home)
        self.pool = ThreadPoolExecutor(CALLS_AT_ONCE, thread_name_prefix="procedure")
        self.embedding = ThreadPoolExecutor(EMBED_AT_ONCE, thread_name_prefix="embed")

    def connection(self) -> StoppableConnection:
        """Return the connection, made at first use."""
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

    @contextmanager
    def admitted(self) -> Iterator[None]:
        """Let a call wait and work, if not too many do."""
        if not self._admitted.acquire(blocking=False):
            raise DatabaseError(
                f"The server is at work on {self._most} calls of knowtrail, and takes "
                "no more: call again in a moment, or fewer at once."
            )
        try:
            yield
        finally:
            self._admitted.release()

    def warm(self) -> None:
        """Load the embedders of the first corpora, if the server is to stay."""
        end = time.monotonic() + STATE_SECONDS
        while (state := self._folder.read_state()) is None:
            if time.monotonic() > end:
                return
            time.sleep(POLL_SECONDS)
        if not state.stays:
            return
        try:
            while not self._load():
                time.sleep(CORPUS_SECONDS)
        except KnowtrailError as error:
            _log.info("No embedder was loaded beforehand: %s", error)
        except Exception:  # a server runs on without a model that fails to load
            _log.exception("No embedder was loaded beforehand")

    def _load(self) -> bool:
        """Embed a word for each corpus with its embedder; tell whether there is one."""
        from knowtrail.retrieval.corpora import agreed_embedder, corpora

        began = time.monotonic()
        whole = [one for one in corpora(self.connection()) if one.dimensions]
        for one in whole:
            agreed_embedder(one, None, self.settings).embed_query("ice")
            _log.info(
                "The embedder of corpus %r is loaded after %.1f s",
                one.name,
                time.monotonic() - began,
            )
        return bool(whole)

    def rows(
        self,
        procedure: Procedure,
        values: tuple[dict[str, Any], dict[str, Any]],
        stop: threading.Event,
        *,
        may_record: bool,
    ) -> list[Row]:
        """Run a procedure in this thread, until it ends or is told to stop."""
        with stopping(stop):
            if procedure is EMBED:
                return self.embedded(**values[0])
            return call(
                procedure.name,
                self.connection(),
                *values,
                settings=self.settings,
                may_record=may_record,
                on_text=lambda _: _check_stopped(),
            )

    def embedded(self, model: str, texts: list[str]) -> list[Row]:
        """Embed texts with a corpus's model that is loaded here, or soon will be."""
        from knowtrail.graph.models.embedders import embed_texts
        from knowtrail.graph.models.served import MOST_TEXTS
        from knowtrail.retrieval.corpora import agreed_embedder, corpora

        if not texts or not all(isinstance(text, str) for text in texts):
            msg = f"texts is {shown_value(texts)[:80]}: give a list of texts."
            raise InputError(msg)
        if len(texts) > MOST_TEXTS:
            msg = f"texts has {len(texts)}: give at most {MOST_TEXTS} at once."
            raise InputError(msg)
        stored = [one for one in corpora(self.connection()) if one.embedder == model]
        state = self._folder.read_state()
        if not stored or state is None:
            return []
        embedder = agreed_embedder(stored[0], None, self.settings)
        if not (state.stays or getattr(embedder, "loaded", False)):
            return []
        return [{"vector": vector} for vector in embed_texts(embedder, texts)]


def _callable(java: JavaTypes, procedure: Procedure, server: _Server) -> Any:
    from jpype import JImplements, JOverride

    signature = java.signature(procedure)

    def signature_of(_: object) -> Any:
        return signature

    def apply(_: object, context: Any, values: Any, monitor: Any) -> Any:
        # Whatever leaves this function must be an exception that the server can tell
        # its client, who would otherwise wait for ever.
        try:
            with server.admitted():
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
    """Work in another thread; return the rows, or give up when the caller is gone."""
    transaction = context.internalTransactionOrNull()
    mapper = context.valueMapper()
    *given, options = [java.to_python(value.map(mapper)) for value in values]
    arguments = dict(
        zip((field.name for field in procedure.arguments), given, strict=True)
    )
    stop = threading.Event()
    pool = server.embedding if procedure is EMBED else server.pool
    work = pool.submit(
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
